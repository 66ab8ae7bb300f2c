//! sum - sum over axes.   y = sum of x over the axes,   dy likewise.   Its transpose repeats. The sum of nothing is 0.
//!
//! Half-precision sums accumulate in f32 or wider, f32 sums pairwise or wider; the order is fixed, whatever the threads.

use crate::error::OrRaise;
use crate::ops::prelude::*;
use crate::primitive::streaming_cost;
use wengert_kernels::reduce;

impl Tensor {
    /// The sum of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).sum().item(), 10.0);
    /// ```
    #[track_caller]
    pub fn sum(&self) -> Tensor {
        let axes: Vec<isize> = (0..self.rank() as isize).collect();
        self.sum_axes(&axes)
    }

    /// The sum over some axes, which disappear; negative axes count from the end.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([[1.0, 2.0], [3.0, 4.0]]).sum_axes(&[0]), Tensor::from([4.0, 6.0]));
    /// ```
    #[track_caller]
    pub fn sum_axes(&self, axes: &[isize]) -> Tensor {
        let checked: Result<Vec<usize>, Error> =
            axes.iter().map(|&axis| checked_axis("sum", axis, self.shape())).collect();
        let mut axes = checked.or_raise();
        axes.sort_unstable();
        bind1(&SUM, Attrs::new().with_sizes("axes", &axes), &[self])
    }

    /// The mean of all elements.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// assert_eq!(Tensor::from([1.0, 2.0, 6.0]).mean().item(), 3.0);
    /// ```
    #[track_caller]
    pub fn mean(&self) -> Tensor {
        expect_float("mean", self.dtype()).or_raise();
        match self.dtype() {
            // The sum and the count may both be beyond a half-precision number.
            half @ (DType::BF16 | DType::F16) => self.cast(DType::F32).mean().cast(half),
            _ => self.sum() / self.elements() as f64,
        }
    }
}

/// An axis in range; negative ones count from the end.
pub(crate) fn checked_axis(name: &str, axis: isize, shape: &[usize]) -> Result<usize, Error> {
    let rank = shape.len() as isize;
    let checked = if axis < 0 { axis + rank } else { axis };
    if (0..rank).contains(&checked) {
        return Ok(checked as usize);
    }
    let shape = Shape::from(shape);
    let message = format!("axis {axis} is not one of the {rank} axes of shape {shape}");
    let help =
        if rank == 0 { "a scalar has no axes".into() } else { format!("axes go from {} to {}", -rank, rank - 1) };
    Err(Error::new(ErrorKind::Range, name, message).help(help))
}

/// The primitive `sum`.
pub static SUM: Sum = Sum;

/// See the module.
pub struct Sum;

fn reduced(attrs: &Attrs, rank: usize) -> Vec<bool> {
    let axes = attrs.sizes("axes");
    (0..rank).map(|axis| axes.contains(&axis)).collect()
}

impl Primitive for Sum {
    fn name(&self) -> &'static str {
        "sum"
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["axes"]
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, axes) = (operands[0], attrs.sizes("axes"));
        let in_order = axes.windows(2).all(|pair| pair[0] < pair[1]);
        if !in_order || axes.last().is_some_and(|&axis| axis >= x.shape.len()) {
            let message = format!("axes {axes} are not distinct axes of shape {}", Shape::from(x.shape));
            return Err(Error::new(ErrorKind::Range, "sum", message));
        }
        expect_arithmetic("sum", x.dtype)?;
        let shape = Shape::from(x.shape).without(&reduced(attrs, x.shape.len()));
        Ok(smallvec![Spec { shape, dtype: x.dtype }])
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let x = operands[0].value.view();
        Ok(smallvec![Tensor::build(&outputs[0], |out| reduce::sum(x, &reduced(attrs, x.shape.len()), out)).0])
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let mut kept = rule.shape(0).clone();
        for axis in rule.attrs.sizes("axes").iter() {
            kept.sizes_mut()[*axis] = 1;
        }
        smallvec![Gradient::Dense(g.reshape(kept).broadcast_to(rule.shape(0)))]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        smallvec![tangents[0].as_ref().map(|tangent| bind1(self, rule.attrs.clone(), &[tangent]))]
    }

    fn batch(
        &'static self,
        attrs: &Attrs,
        _size: usize,
        operands: &[Tensor],
        _batched: Mask,
    ) -> Result<Outputs, Error> {
        let axes: Shape = attrs.sizes("axes").iter().map(|&axis| axis + 1).collect();
        Ok(smallvec![bind1(self, Attrs::new().with_sizes("axes", axes.iter()), &[&operands[0]])])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let elements: usize = operands[0].shape.iter().product();
        Cost { flops: elements as f64, ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Reduction
    }

    fn jet(&self) -> Jet {
        Jet::Linear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy repeated along the axes"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape, axes: Shape| {
            let attrs = Attrs::new().with_sizes("axes", axes.iter());
            Case::new(format!("{shape} over {axes}"), attrs, [Sample::wave(shape.clone(), 0.8)], move |s| {
                let dropped: Vec<bool> = (0..shape.rank()).map(|axis| axes.contains(&axis)).collect();
                let to = shape.without(&dropped);
                let mut y = Sample::build(to, |_| 0.0);
                for i in Sample::indices(&shape) {
                    let kept: Vec<usize> = (0..i.len()).filter(|&axis| !dropped[axis]).map(|axis| i[axis]).collect();
                    let place = y.position(&kept);
                    y.data[place] += s[0].at(&i);
                }
                vec![y]
            })
        };
        vec![
            case(Shape::from([2, 3]), Shape::from([0])),
            case(Shape::from([2, 3]), Shape::from([1])),
            case(Shape::from([2, 3, 2]), Shape::from([0, 2])),
            case(Shape::from([3]), Shape::from([0])),
            case(Shape::from([2, 3]), Shape::from([])),
            case(Shape::from([]), Shape::from([])),
            case(Shape::from([0, 3]), Shape::from([0])),
        ]
    }
}
