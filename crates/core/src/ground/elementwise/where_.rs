//! where - selection by a mask.   y = a where c is true, else b,   dy = da where c, else db.   The side not selected gets gradient 0, even
//! if its slope is infinite or NaN. Written `c.where_(a, b)`.

use crate::ground::prelude::*;
use std::sync::Arc;
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::{Stored, loop3, map};

impl Tensor {
    /// The elements of `a` where this mask is true, those of `b` elsewhere.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::from([0.0, 1.0]).require_grad();
    /// x.gt(0.0).where_(x.log(), 0.0).sum().backward();
    /// assert_eq!(x.grad().unwrap(), Tensor::from([0.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn where_(&self, a: impl Operand, b: impl Operand) -> Tensor {
        let dtype = a.own_dtype().or(b.own_dtype()).unwrap_or(DType::F64);
        let (a, b) = (a.tensor(dtype), b.tensor(dtype));
        let values = common_shape("where", &a, &b);
        let shape = common_shape("where", self, &a.broadcast_to(&values));
        bind1(&WHERE, Attrs::new(), &[&self.broadcast_to(&shape), &a.broadcast_to(&shape), &b.broadcast_to(&shape)])
    }
}

/// The primitive `where`.
pub static WHERE: Where = Where;

/// See the module.
pub struct Where;

fn choose<T: Compute + Stored>(views: [View<'_>; 3], out: Out<'_>) {
    map::<T, T, 3>(views, out, &|[c, a, b]: [&[T]; 3], out: &mut [T]| {
        loop3(c, a, b, out, |c, a, b| if c != T::ZERO { a } else { b })
    });
}

/// The mask is bytes, the other operands are numbers.
fn chosen<T: Compute>() -> Lane {
    Arc::new(|inputs, out| {
        let (a, b): (&[T], &[T]) = (bytemuck::cast_slice(inputs[1]), bytemuck::cast_slice(inputs[2]));
        loop3(inputs[0], a, b, bytemuck::cast_slice_mut(out), |c: u8, a: T, b: T| if c != 0 { a } else { b });
    })
}

impl Primitive for Where {
    fn name(&self) -> &'static str {
        "where"
    }

    fn operands(&self) -> usize {
        3
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let [c, a, b] = *operands else { unreachable!("three operands") };
        if c.dtype != DType::Bool {
            let message = format!("the mask is {}, not bool", c.dtype);
            return Err(Error::new(ErrorKind::DType(vec![c.dtype]), "where", message)
                .help("make a mask with a comparison such as x.gt(0.0)"));
        }
        expect_same_dtype("where", a.dtype, b.dtype)?;
        if c.shape != a.shape || a.shape != b.shape {
            let shapes = vec![Shape::from(c.shape), Shape::from(a.shape), Shape::from(b.shape)];
            let message = format!("shapes {}, {} and {} differ", shapes[0], shapes[1], shapes[2]);
            return Err(Error::new(ErrorKind::Shape(shapes), "where", message));
        }
        Ok(smallvec![a.to_spec()])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let views = [operands[0], operands[1], operands[2]];
        computing!(outputs[0].dtype, T => choose::<T>(views, outputs[0].reborrow()));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operand(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let c = rule.operand(0);
        let side = |wanted: bool, a: &dyn Fn() -> Tensor| if wanted { Gradient::Dense(a()) } else { Gradient::Zero };
        smallvec![
            Gradient::Zero,
            side(rule.wants(1), &|| c.where_(&g, 0.0)),
            side(rule.wants(2), &|| c.where_(0.0, &g)),
        ]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let c = rule.operand(0);
        smallvec![match (&tangents[1], &tangents[2]) {
            (Some(a), Some(b)) => Some(c.where_(a, b)),
            (Some(a), None) => Some(c.where_(a, 0.0)),
            (None, Some(b)) => Some(c.where_(0.0, b)),
            (None, None) => None,
        }]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 4]> = aligned.iter().collect();
        Ok(smallvec![bind1(self, attrs.clone(), &aligned)])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "da = where(c, dy, 0), db = where(c, 0, dy)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let reference = |s: &[Sample]| {
            let pick = |i: &[usize]| if s[0].at(i) != 0.0 { s[1].at(i) } else { s[2].at(i) };
            vec![Sample::build(s[1].shape.clone(), pick)]
        };
        let mask = |shape: Shape| Sample::booleans(shape.clone(), (0..shape.elements()).map(|i| i % 3 == 0));
        let case = |shape: Shape| {
            let operands = [mask(shape.clone()), Sample::wave(shape.clone(), 0.1), Sample::wave(shape.clone(), 0.7)];
            Case::new(format!("shape {shape}"), Attrs::new(), operands, reference)
        };
        vec![case(Shape::from([])), case(Shape::from([2, 4])), case(Shape::from([0]))]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Where {
    fn lane(&self, _attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Lane> {
        match output {
            DType::Bool => None,
            _ => Some(computing!(output, T => chosen::<T>())),
        }
    }

    fn expression(&self, _attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        Some(Expression::of(&["c", "a", "b"], "if c { a } else { b }"))
    }
}
