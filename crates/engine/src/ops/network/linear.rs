//! linear - rows times weights.   y = x w^T,   dy = dx w^T + x dw^T,   so xbar = ybar w and wbar = ybar^T x.   Weights are [out, in] and
//! never transposed by copying; their gradient comes out in the same order.

use crate::ops::prelude::*;
use crate::primitive::streaming_cost;

impl Tensor {
    /// `x w^T` along the last axis, with weights `[out, in]`; any leading axes.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let w = Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]);
    /// assert_eq!(Tensor::from([1.0, 10.0]).linear(&w), Tensor::from([21.0, 43.0, 65.0]));
    /// ```
    #[track_caller]
    pub fn linear(&self, w: &Tensor) -> Tensor {
        let (Some(&width), [outputs, inputs]) = (self.shape().last(), w.shape()) else {
            let shapes = vec![Shape::from(self.shape()), Shape::from(w.shape())];
            let message = format!("input of shape {} with weights of shape {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "linear", message).help("they are [.., in] and [out, in]").raise();
        };
        if width != *inputs {
            let shapes = vec![Shape::from(self.shape()), Shape::from(w.shape())];
            let message = format!("rows of {width} numbers with weights of shape {} for {inputs}", shapes[1]);
            let help = match width == *outputs {
                true => "weights are [out, in]: transpose them",
                false => "the last axes of input and weights must have one size",
            };
            Error::new(ErrorKind::Shape(shapes), "linear", message).help(help).raise();
        }
        if self.rank() == 2 {
            return bind1(&LINEAR, Attrs::new(), &[self, w]);
        }
        let lead = &self.shape()[..self.rank() - 1];
        let rows = self.reshape([lead.iter().product(), width]);
        let y = bind1(&LINEAR, Attrs::new(), &[&rows, w]);
        y.reshape(lead.iter().copied().chain([*outputs]).collect::<Shape>())
    }

    /// `x w^T + b` along the last axis, with weights `[out, in]` and biases `[out]`.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (w, b) = (Tensor::from([[1.0, 2.0]]), Tensor::from([0.5]));
    /// assert_eq!(Tensor::from([[1.0, 10.0]]).linear_bias(&w, &b), Tensor::from([[21.5]]));
    /// ```
    #[track_caller]
    pub fn linear_bias(&self, w: &Tensor, bias: &Tensor) -> Tensor {
        let mut y = self.linear(w);
        if bias.shape() != &y.shape()[y.rank() - 1..] {
            let shapes = vec![Shape::from(bias.shape()), Shape::from(w.shape())];
            let message = format!("the bias has shape {}, the weights {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "linear", message).help("give one number for each output").raise();
        }
        y += bias;
        y
    }
}

/// The primitive `linear`.
pub static LINEAR: LinearMap = LinearMap;

/// See the module.
pub struct LinearMap;

impl Primitive for LinearMap {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn operands(&self) -> usize {
        2
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let (x, w) = (operands[0], operands[1]);
        let ([rows, inner], [outputs, other]) = (x.shape, w.shape) else {
            let shapes = vec![Shape::from(x.shape), Shape::from(w.shape)];
            let message = format!("needs two matrices, got {} and {}", shapes[0], shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "linear", message));
        };
        if inner != other {
            let shapes = vec![Shape::from(x.shape), Shape::from(w.shape)];
            let message = format!("rows of {inner} numbers with weights for {other}");
            return Err(Error::new(ErrorKind::Shape(shapes), "linear", message));
        }
        expect_same_dtype("linear", x.dtype, w.dtype)?;
        expect_arithmetic("linear", x.dtype)?;
        Ok(smallvec![Spec::new([*rows, *outputs], x.dtype)])
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(smallvec![operands[0].plain().matmul(&operands[1].plain().t())])
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = if wanted.has(0) { Saves::NOTHING.operand(1) } else { Saves::NOTHING };
        if wanted.has(1) { saves.operand(0) } else { saves }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        smallvec![
            if rule.wants(0) { Gradient::Dense(g.matmul(rule.operand(1))) } else { Gradient::Zero },
            if rule.wants(1) { Gradient::Dense(g.t().matmul(rule.operand(0))) } else { Gradient::Zero },
        ]
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let left = tangents[0].as_ref().map(|dx| bind1(self, Attrs::new(), &[dx, rule.operand(1)]));
        let right = tangents[1].as_ref().map(|dw| bind1(self, Attrs::new(), &[rule.operand(0), dw]));
        smallvec![left.into_iter().chain(right).reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        // One matrix of weights for the whole batch: the rows of all elements make one product.
        if let ([_, rows, inner], false) = (operands[0].shape(), batched.has(1)) {
            let stacked = operands[0].reshape([size * rows, *inner]);
            let y = bind1(self, attrs.clone(), &[&stacked, &operands[1]]);
            return Ok(smallvec![y.reshape([size, *rows, operands[1].shape()[0]])]);
        }
        Ok(smallvec![operands[0].matmul(&operands[1].t())])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let inner = operands[0].shape.last().copied().unwrap_or(0);
        Cost { flops: 2.0 * (outputs[0].shape.elements() * inner) as f64, ..streaming_cost(operands, outputs) }
    }

    fn jet(&self) -> Jet {
        Jet::Bilinear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy w, dw = dy^T x"
    }

    fn cases(&self) -> Vec<Case> {
        let case = |rows: usize, inner: usize, outputs: usize| {
            let operands = [Sample::wave([rows, inner], 0.25), Sample::wave([outputs, inner], 0.65)];
            Case::new(format!("{rows} rows, {inner} to {outputs}"), Attrs::new(), operands, move |s| {
                vec![Sample::build([rows, outputs], |i| {
                    (0..inner).map(|k| s[0].at(&[i[0], k]) * s[1].at(&[i[1], k])).sum()
                })]
            })
        };
        vec![case(2, 3, 4), case(1, 1, 1), case(0, 2, 3), case(2, 0, 3)]
    }
}
