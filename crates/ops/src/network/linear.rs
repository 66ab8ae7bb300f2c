//! linear - rows times weights.   y = x w^T + b,   dy = dx w^T + x dw^T + db,   so xbar = ybar w, wbar = ybar^T x and bbar is the sum of
//! the rows of ybar.   Weights are [out, in] and never transposed by copying; their gradient has the same layout. The bias is optional; it is
//! added where the product is written.

use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::product::matmul::{multiply, multiply_plus};

/// The methods of `linear`.
#[ext(LinearMethods)]
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
        map_rows(self, w, None)
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
        map_rows(self, w, Some(bias))
    }
}

#[track_caller]
fn map_rows(x: &Tensor, w: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let wrong = |first: &Tensor, message: &dyn Fn(&Shape, &Shape) -> String, help: &str| {
        let (first, weights) = (Shape::from(first.shape()), Shape::from(w.shape()));
        let message = message(&first, &weights);
        Error::new(ErrorKind::Shape(vec![first, weights]), "linear", message).help(help)
    };
    let (Some(&width), [outputs, inputs]) = (x.shape().last(), w.shape()) else {
        let message = |x: &Shape, w: &Shape| format!("input of shape {x} with weights of shape {w}");
        wrong(x, &message, "they are [.., in] and [out, in]").raise();
    };
    if width != *inputs {
        let message = |_: &Shape, w: &Shape| format!("the input has {width} features, the weight {w} expects {inputs}");
        let help = match width == *outputs {
            true => "a weight is [out, in]: transpose it with .t()",
            false => "the last axes of input and weights must have one size",
        };
        wrong(x, &message, help).raise();
    }
    if let Some(bias) = bias.filter(|bias| bias.shape() != [*outputs]) {
        let message = |bias: &Shape, w: &Shape| format!("the bias has shape {bias}, the weights {w}");
        wrong(bias, &message, "give one number for each output").raise();
    }
    let lead = &x.shape()[..x.rank() - 1];
    let rows = if x.rank() == 2 { x.clone() } else { x.reshape([lead.iter().product(), width]) };
    let y = match bias {
        Some(bias) => bind1(&LINEAR, Attrs::new(), &[&rows, w, bias]),
        None => bind1(&LINEAR, Attrs::new(), &[&rows, w]),
    };
    if x.rank() == 2 {
        return y;
    }
    y.reshape(lead.iter().copied().chain([*outputs]).collect::<Shape>())
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

    fn accepts(&self, count: usize) -> bool {
        count == 2 || count == 3
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
            let message = format!("the input has {inner} features, the weight {} expects {other}", shapes[1]);
            return Err(Error::new(ErrorKind::Shape(shapes), "linear", message));
        }
        if let Some(bias) = operands.get(2) {
            if bias.shape != [*outputs] {
                let message = format!("{outputs} outputs with a bias of shape {}", Shape::from(bias.shape));
                return Err(Error::new(ErrorKind::Shape(vec![Shape::from(bias.shape)]), "linear", message));
            }
            expect_same_dtype("linear", x.dtype, bias.dtype)?;
        }
        expect_same_dtype("linear", x.dtype, w.dtype)?;
        expect_arithmetic("linear", x.dtype)?;
        Ok(smallvec![Spec::new([*rows, *outputs], x.dtype)])
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, w, out) = (operands[0], operands[1], outputs[0].reborrow());
        let ([rows, columns], [along, across]) = (w.shape, w.strides) else { unreachable!("weights are a matrix") };
        let (shape, strides) = ([*columns, *rows], [*across, *along]);
        let w = View { shape: &shape, strides: &strides, ..w };
        computing!(out.dtype, T => match operands.get(2) {
            Some(bias) => multiply_plus::<T>(x, w, *bias, out),
            None => multiply::<T>(x, w, out),
        });
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let saves = if wanted.has(0) { Saves::NOTHING.operand(1) } else { Saves::NOTHING };
        match (wanted.has(1), wanted.has(2)) {
            (true, _) => saves.operand(0),
            // The tangent of the bias alone needs the number of rows.
            (false, true) => saves.shape(0),
            (false, false) => saves,
        }
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let mut gradients: Gradients = smallvec![
            if rule.wants(0) { Gradient::Dense(g.matmul(rule.operand(1))) } else { Gradient::Zero },
            if rule.wants(1) { Gradient::Dense(g.t().matmul(rule.operand(0))) } else { Gradient::Zero },
        ];
        if rule.wants(2) {
            gradients.push(Gradient::Dense(g.sum_over(0)));
        }
        gradients
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let left = tangents[0].as_ref().map(|dx| bind1(self, Attrs::new(), &[dx, rule.operand(1)]));
        let right = tangents[1].as_ref().map(|dw| bind1(self, Attrs::new(), &[rule.operand(0), dw]));
        let product = left.into_iter().chain(right).reduce(|a, b| a + b);
        let Some(db) = tangents.get(2).and_then(Option::as_ref) else { return smallvec![product] };
        smallvec![Some(match product {
            Some(product) => product + db,
            None => {
                let rows = if rule.has_operand(0) { rule.operand(0).shape()[0] } else { rule.shape(0)[0] };
                db.broadcast_to([rows, db.shape()[0]])
            }
        })]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        // One weight matrix for the whole batch: the rows of all elements form a single product.
        if let ([_, rows, inner], [outputs, _]) = (operands[0].shape(), operands[1].shape())
            && !batched.has(1)
            && !batched.has(2)
        {
            let stacked = operands[0].reshape([size * rows, *inner]);
            let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&stacked).chain(&operands[1..]).collect();
            return Ok(smallvec![bind1(self, attrs.clone(), &operands).reshape([size, *rows, *outputs])]);
        }
        let y = operands[0].matmul(&operands[1].t());
        Ok(smallvec![match operands.get(2) {
            Some(bias) if batched.has(2) => y + bias.unsqueeze(1),
            Some(bias) => y + bias,
            None => y,
        }])
    }

    fn cost(&self, _attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let inner = operands[0].shape.last().copied().unwrap_or(0);
        Cost { flops: 2.0 * (outputs[0].shape.elements() * inner) as f64, ..streaming_cost(operands, outputs) }
    }

    fn dependency(&self) -> Dependency {
        Dependency::Product { transposed: true }
    }

    fn jet(&self) -> Jet {
        Jet::Bilinear
    }

    fn rule_text(&self) -> &'static str {
        "dx = dy w, dw = dy^T x, db = sum(dy)"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        let case = |rows: usize, inner: usize, outputs: usize| {
            let operands = [Sample::wave([rows, inner], 0.25), Sample::wave([outputs, inner], 0.65)];
            Case::new(format!("{rows} rows, {inner} to {outputs}"), Attrs::new(), operands, move |s| {
                vec![Sample::build([rows, outputs], |i| {
                    (0..inner).map(|k| s[0].at(&[i[0], k]) * s[1].at(&[i[1], k])).sum()
                })]
            })
        };
        let biased = |rows: usize, inner: usize, outputs: usize| {
            let operands = [
                Sample::wave([rows, inner], 0.25),
                Sample::wave([outputs, inner], 0.65),
                Sample::wave([outputs], 0.45),
            ];
            Case::new(format!("{rows} rows, {inner} to {outputs}, bias"), Attrs::new(), operands, move |s| {
                vec![Sample::build([rows, outputs], |i| {
                    let product: f64 = (0..inner).map(|k| s[0].at(&[i[0], k]) * s[1].at(&[i[1], k])).sum();
                    product + s[2].at(&[i[1]])
                })]
            })
        };
        vec![
            case(2, 3, 4),
            case(1, 1, 1),
            case(0, 2, 3),
            case(2, 0, 3),
            biased(2, 3, 4),
            biased(0, 2, 3),
            biased(2, 0, 3),
        ]
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for LinearMap {
    fn leads(&self) -> bool {
        true
    }
}
