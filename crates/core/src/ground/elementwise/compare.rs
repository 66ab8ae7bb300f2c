//! compare - booleans from comparing two tensors.   c = x < y and the like.   No derivative: only the executed branch is differentiated.
//! Written `x.lt(y)`, `le`, `gt`, `ge`, `equal`, `not_equal`. Every comparison with NaN is false, except `not_equal`.

use crate::ground::prelude::*;
use std::sync::Arc;
use wengert_kernels::dtype::Compute;
use wengert_kernels::map::{loop2, map};

macro_rules! comparisons {
    ($($(#[$doc:meta])* $method:ident: $word:literal;)*) => {
        impl Tensor {$(
            $(#[$doc])*
            #[track_caller]
            pub fn $method(&self, other: impl Operand) -> Tensor {
                let attrs = Attrs::new().with_word("relation", $word);
                binary(&COMPARE, attrs, self, &other.tensor(self.dtype()))
            }
        )*}
    };
}

comparisons! {
    /// True where this is less.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 3.0]).lt(2.0), Tensor::from([true, false]));
    /// ```
    lt: "lt";
    /// True where this is less or equal.
    le: "le";
    /// True where this is greater.
    gt: "gt";
    /// True where this is greater or equal.
    ge: "ge";
    /// True where both are equal.
    equal: "eq";
    /// True where they differ.
    not_equal: "ne";
}

/// The primitive `compare`.
pub static COMPARE: Compare = Compare;

/// See the module.
pub struct Compare;

fn run<T: Compute>(x: View<'_>, y: View<'_>, out: Out<'_>, holds: impl Fn(T, T) -> bool + Sync) {
    map::<T, u8, 2>([x, y], out, &|[x, y]: [&[T]; 2], out: &mut [u8]| loop2(x, y, out, |x, y| u8::from(holds(x, y))));
}

fn instruction<T: Compute>(holds: impl Fn(T, T) -> bool + Send + Sync + 'static) -> Lane {
    Arc::new(move |inputs, out| {
        let (x, y): (&[T], &[T]) = (bytemuck::cast_slice(inputs[0]), bytemuck::cast_slice(inputs[1]));
        loop2(x, y, out, |x, y| u8::from(holds(x, y)));
    })
}

/// The relations by name, as kernel, instruction and text.
macro_rules! relations {
    ($($word:literal: $relation:tt)*) => {
        const RELATIONS: &[&str] = &[$($word),*];

        fn compare<T: Compute>(relation: &str, x: View<'_>, y: View<'_>, out: Out<'_>) {
            match relation {
                $($word => run::<T>(x, y, out, |x, y| x $relation y),)*
                _ => unreachable!("the shape rule knows {relation}"),
            }
        }

        fn compared<T: Compute>(relation: &str) -> Lane {
            match relation {
                $($word => instruction::<T>(|x, y| x $relation y),)*
                _ => unreachable!("the shape rule knows {relation}"),
            }
        }

        fn text(relation: &str) -> &'static str {
            match relation {
                $($word => concat!("x ", stringify!($relation), " y"),)*
                _ => unreachable!("the shape rule knows {relation}"),
            }
        }
    };
}

relations!("lt": < "le": <= "gt": > "ge": >= "eq": == "ne": !=);

impl Primitive for Compare {
    fn name(&self) -> &'static str {
        "compare"
    }

    fn operands(&self) -> usize {
        2
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["relation"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, y) = (operands[0], operands[1]);
        if !RELATIONS.contains(&attrs.word("relation")) {
            let message = format!("'{}' is not one of {RELATIONS:?}", attrs.word("relation"));
            return Err(Error::new(ErrorKind::Argument, "compare", message));
        }
        expect_same_dtype("compare", x.dtype, y.dtype)?;
        if x.shape != y.shape {
            let shapes = vec![Shape::from(x.shape), Shape::from(y.shape)];
            let message = format!("shapes {} and {} differ", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "compare", message));
        }
        Ok(smallvec![Spec::new(x.shape, DType::Bool)])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, y, out) = (operands[0], operands[1], outputs[0].reborrow());
        computing!(x.dtype, T => compare::<T>(attrs.word("relation"), x, y, out));
        Ok(true)
    }

    fn differentiable(&self) -> bool {
        false
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 4]> = aligned.iter().collect();
        Ok(smallvec![bind1(self, attrs.clone(), &aligned)])
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |relation: &'static str, holds: fn(f64, f64) -> bool| {
            let x = Sample::new([2, 3], [1.0, 2.0, f64::NAN, -1.0, 0.0, 5.0]);
            let y = Sample::new([2, 3], [1.0, 3.0, f64::NAN, -2.0, -0.0, f64::INFINITY]);
            Case::new(relation, Attrs::new().with_word("relation", relation), [x, y], move |s| {
                let data: Vec<bool> = s[0].data.iter().zip(&s[1].data).map(|(&x, &y)| holds(x, y)).collect();
                vec![Sample::booleans(s[0].shape.clone(), data)]
            })
            .values_only()
        };
        vec![
            case("lt", |x, y| x - y < 0.0),
            case("le", |x, y| x - y <= 0.0),
            case("gt", |x, y| y < x),
            case("ge", |x, y| y <= x),
            case("eq", |x, y| x == y),
            case("ne", |x, y| !(x == y)),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Compare {
    fn lane(&self, attrs: &Attrs, operands: &[DType], _output: DType) -> Option<Lane> {
        let relation = attrs.word("relation");
        match operands[0] {
            DType::Bool => None,
            dtype => Some(computing!(dtype, T => compared::<T>(relation))),
        }
    }

    fn expression(&self, attrs: &Attrs, _operands: &[DType], _output: DType) -> Option<Expression> {
        Some(Expression::of(&["x", "y"], text(attrs.word("relation"))))
    }
}
