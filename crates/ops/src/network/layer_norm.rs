//! layer_norm - rows of mean 0 and variance 1.   y = (x - m) r w + b with m = mean x, r = 1 / sqrt(mean (x - m)^2 + e),   dx = r (h - mean h - u mean(h u)) with h = dy w, u = (x - m) r.   Along
//! the last axis; m and r are outputs too. Sums are wide.
//!
//! layer_norm_gradient - the gradients of layer_norm.   From x, w, m, r and the cotangent of y: those of x, w and b.
//!
//! rms_norm - rows of mean square 1.   y = x r w with r = 1 / sqrt(mean x^2 + e),   dx = r (h - u mean(h u)) with h = dy w, u = x r.
//!
//! rms_norm_gradient - the gradients of rms_norm.   From x, w, r and the cotangent of y: those of x and w.

use crate::prelude::*;
use crate::primitive::streaming_cost;
use crate::tensor::Numbers;
use wengert_kernels::rows::{self, Affine, Float, NormGradient};

/// The scale and shift of a normalisation, and the epsilon that keeps its division finite.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([[1.0, 3.0]]);
/// let y = x.layer_norm(&[2], &Norm::new().weight(&Tensor::from([1.0, 2.0])).bias(&Tensor::from([10.0, 10.0])).epsilon(0.0));
/// assert_eq!(y, Tensor::from([[9.0, 12.0]]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Norm {
    pub(crate) weight: Option<Tensor>,
    pub(crate) bias: Option<Tensor>,
    epsilon: Option<f64>,
}

impl Norm {
    /// The default: no scale and no shift, epsilon 1e-5 (for `rms_norm`, the machine epsilon of the dtype).
    pub fn new() -> Norm {
        Norm::default()
    }

    /// A scale for each normalised element, or each channel.
    pub fn weight(self, weight: &Tensor) -> Norm {
        Norm { weight: Some(weight.clone()), ..self }
    }

    /// A shift for each normalised element, or each channel.
    pub fn bias(self, bias: &Tensor) -> Norm {
        Norm { bias: Some(bias.clone()), ..self }
    }

    /// The number added to the variance.
    pub fn epsilon(self, epsilon: f64) -> Norm {
        Norm { epsilon: Some(epsilon), ..self }
    }

    pub(crate) fn epsilon_or(&self, usual: f64) -> f64 {
        self.epsilon.unwrap_or(usual)
    }
}

/// The default epsilon.
pub(crate) const EPSILON: f64 = 1e-5;

/// `x` as rows over the last axes, whose sizes are `shape`; and its other axes.
#[track_caller]
fn as_rows<'a>(name: &str, x: &'a Tensor, shape: &[usize]) -> (Tensor, &'a [usize]) {
    let lead = x.rank().checked_sub(shape.len()).filter(|&lead| x.shape()[lead..] == *shape && !shape.is_empty());
    let Some(lead) = lead else {
        let (all, last) = (Shape::from(x.shape()), Shape::from(shape));
        let message = format!("the last axes of shape {all} are not {last}");
        Error::new(ErrorKind::Shape(vec![all, last]), name, message)
            .help("give the sizes of the normalised axes")
            .raise();
    };
    let (outer, n) = (&x.shape()[..lead], shape.iter().product::<usize>());
    (x.reshape(outer.iter().copied().chain([n]).collect::<Shape>()), outer)
}

/// The weight or bias as one row.
#[track_caller]
fn as_row(name: &str, what: &str, tensor: Option<&Tensor>, shape: &[usize]) -> Option<Tensor> {
    let tensor = tensor?;
    if tensor.shape() != shape {
        let (own, expected) = (Shape::from(tensor.shape()), Shape::from(shape));
        let message = format!("the {what} has shape {own}, the normalised axes {expected}");
        Error::new(ErrorKind::Shape(vec![own, expected]), name, message).raise();
    }
    Some(tensor.reshape([shape.iter().product::<usize>()]))
}

#[track_caller]
fn normalise<const CENTERED: bool>(x: &Tensor, shape: &[usize], norm: &Norm, epsilon: f64) -> Outputs {
    let name = NormForward::<CENTERED>::NAME;
    let (x, _) = as_rows(name, x, shape);
    let weight = as_row(name, "weight", norm.weight.as_ref(), shape);
    let bias = as_row(name, "bias", norm.bias.as_ref(), shape);
    let attrs = Attrs::new()
        .with_real("epsilon", epsilon)
        .with_int("weight", i64::from(weight.is_some()))
        .with_int("bias", i64::from(bias.is_some()));
    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&x).chain(&weight).chain(&bias).collect();
    match CENTERED {
        true => bind(&LAYER_NORM, attrs, &operands),
        false => bind(&RMS_NORM, attrs, &operands),
    }
}

/// The shape with every normalised axis set to size 1.
fn with_ones(lead: &[usize], axes: usize) -> Shape {
    lead.iter().copied().chain((0..axes).map(|_| 1)).collect()
}

/// The methods of `layer_norm`.
#[ext(LayerNormMethods)]
impl Tensor {
    /// Normalises the last axes, whose sizes are `shape`, to mean 0 and variance 1, then scales and shifts them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[1.0, 3.0], [5.0, 5.0]]).layer_norm(&[2], &Norm::new().epsilon(0.01));
    /// assert!(y.all_close(&Tensor::from([[-0.995037, 0.995037], [0.0, 0.0]]), 1e-6));
    /// ```
    #[track_caller]
    pub fn layer_norm(&self, shape: &[usize], norm: &Norm) -> Tensor {
        self.layer_norm_with_statistics(shape, norm).0
    }

    /// [`layer_norm`](Tensor::layer_norm), returning also the mean and `1 / sqrt(variance + epsilon)` of each row, with normalised axes of
    /// size 1.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (_, mean, rstd) = Tensor::from([[3.0, 7.0]]).layer_norm_with_statistics(&[2], &Norm::new().epsilon(0.0));
    /// assert_eq!((mean, rstd), (Tensor::from([[5.0]]), Tensor::from([[0.5]])));
    /// ```
    #[track_caller]
    pub fn layer_norm_with_statistics(&self, shape: &[usize], norm: &Norm) -> (Tensor, Tensor, Tensor) {
        let outputs = normalise::<true>(self, shape, norm, norm.epsilon_or(EPSILON));
        let ones = with_ones(&self.shape()[..self.rank() - shape.len()], shape.len());
        (outputs[0].reshape(self.shape()), outputs[1].reshape(ones.clone()), outputs[2].reshape(ones))
    }

    /// Divides the last axes, whose sizes are `shape`, by their root mean square, then scales them.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let y = Tensor::from([[1.0, 7.0]]).rms_norm(&[2], &Norm::new().epsilon(0.0));
    /// assert!(y.all_close(&Tensor::from([[0.2, 1.4]]), 1e-15));
    /// ```
    #[track_caller]
    pub fn rms_norm(&self, shape: &[usize], norm: &Norm) -> Tensor {
        let usual = match self.dtype() {
            DType::F64 => f64::EPSILON,
            DType::BF16 => 2f64.powi(-7),
            DType::F16 => 2f64.powi(-10),
            _ => f64::from(f32::EPSILON),
        };
        normalise::<false>(self, shape, norm, norm.epsilon_or(usual))[0].reshape(self.shape())
    }
}

/// The primitive `layer_norm`.
pub static LAYER_NORM: FusedOp<NormForward<true>> = FusedOp::NEW;

/// The primitive `layer_norm_gradient`.
pub static LAYER_NORM_GRADIENT: FusedOp<NormBackward<true>> = FusedOp::NEW;

/// The primitive `rms_norm`.
pub static RMS_NORM: FusedOp<NormForward<false>> = FusedOp::NEW;

/// The primitive `rms_norm_gradient`.
pub static RMS_NORM_GRADIENT: FusedOp<NormBackward<false>> = FusedOp::NEW;

/// See the module.
pub struct NormForward<const CENTERED: bool>;

/// See the module.
pub struct NormBackward<const CENTERED: bool>;

fn flag(attrs: &Attrs, name: &str) -> usize {
    usize::from(attrs.int(name) != 0)
}

/// The mean along the last axis, which is kept.
fn row_mean(x: &Tensor) -> Tensor {
    let rank = x.rank();
    (x.sum_over(-1) * (1.0 / x.shape()[rank - 1] as f64)).unsqueeze(rank - 1)
}

/// The sum over all axes except the last.
fn sum_rows(x: &Tensor) -> Tensor {
    let lead: Vec<isize> = (0..x.rank() as isize - 1).collect();
    x.sum_over(&lead)
}

fn wrong_operands(name: &str, operands: &[SpecRef<'_>]) -> Error {
    let shapes: Vec<Shape> = operands.iter().map(|operand| Shape::from(operand.shape)).collect();
    let list: Vec<String> = shapes.iter().map(Shape::to_string).collect();
    Error::new(ErrorKind::Shape(shapes), name, format!("shapes {} do not fit", list.join(", ")))
        .help("x is [.., n]; weight and bias are [n]; means and cotangents have the leading axes of x")
}

fn expect_rows(name: &str, operands: &[SpecRef<'_>], count: usize) -> Result<usize, Error> {
    let x = operands[0];
    expect_float(name, x.dtype)?;
    operands.iter().try_for_each(|operand| expect_same_dtype(name, x.dtype, operand.dtype))?;
    match x.shape.last() {
        Some(&n) if n > 0 && operands.len() == count => Ok(n),
        _ => Err(wrong_operands(name, operands).help("there must be something to normalise along the last axis")),
    }
}

impl<const CENTERED: bool> NormForward<CENTERED> {
    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) {
        let (x, n) = (numbers::<T>(operands[0]), operands[0].shape[operands[0].shape.len() - 1]);
        let weight = (flag(attrs, "weight") == 1).then(|| numbers::<T>(operands[1]));
        let bias = (flag(attrs, "bias") == 1).then(|| numbers::<T>(operands[1 + flag(attrs, "weight")]));
        let affine = Affine { gain: weight.as_deref(), bias: bias.as_deref() };
        let (x, epsilon) = (&x[..], T::from_f64(attrs.real("epsilon")));
        match outputs {
            [y, mean, rstd] => fill(y.reborrow(), |y| {
                fill(mean.reborrow(), |mean| {
                    fill(rstd.reborrow(), |rstd| rows::layer_norm(x, n, affine, epsilon, y, mean, rstd));
                });
            }),
            [y, rstd] => fill(y.reborrow(), |y| {
                fill(rstd.reborrow(), |rstd| rows::rms_norm(x, n, affine, epsilon, y, rstd));
            }),
            _ => unreachable!("the result and its statistics"),
        }
    }

    /// The contribution of the cotangents of mean and rstd to dx: dmean = mean of dx, drstd = -rstd^3 mean of (x - mean) dx.
    fn through_statistics(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Tensor> {
        let x = rule.operand(0);
        let axis = x.rank() - 1;
        let share = 1.0 / x.shape()[axis] as f64;
        let by_mean = |g: &Tensor| (g * share).unsqueeze(axis).broadcast_to(x.shape());
        let by_rstd = |g: &Tensor| {
            let rstd = rule.output(1 + usize::from(CENTERED));
            let slope = (g * (rstd * rstd * rstd) * -share).unsqueeze(axis);
            if CENTERED { (x - rule.output(1).unsqueeze(axis)) * slope } else { x * slope }
        };
        let (mean, rstd) = cotangents.split_at(usize::from(CENTERED));
        let mean = mean.iter().flatten().map(by_mean);
        mean.chain(rstd.iter().flatten().map(by_rstd)).reduce(|a, b| a + b)
    }
}

impl<const CENTERED: bool> Fused for NormForward<CENTERED> {
    const NAME: &'static str = if CENTERED { "layer_norm" } else { "rms_norm" };
    const ATTRIBUTES: &'static [&'static str] = &["epsilon", "weight", "bias"];
    const RULE: &'static str = match CENTERED {
        true => "h = dy w, u = (x - m) r, dx = r (h - mean h - u mean(h u)), dw = sum dy u, db = sum dy",
        false => "h = dy w, u = x r, dx = r (h - u mean(h u)), dw = sum dy u",
    };
    const OPERANDS: (usize, usize) = (1, 3);
    const COVERED: Mask = Mask::NONE.with(0).with(1).with(2);

    fn outputs(_attrs: &Attrs) -> usize {
        2 + usize::from(CENTERED)
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_reals(attrs, &["epsilon"]);
        expect_flags(Self::NAME, attrs, &["weight", "bias"])?;
        let n = expect_rows(Self::NAME, operands, 1 + flag(attrs, "weight") + flag(attrs, "bias"))?;
        if operands[1..].iter().any(|operand| operand.shape != [n]) {
            return Err(wrong_operands(Self::NAME, operands));
        }
        let x = operands[0].to_spec();
        let row = Spec { shape: Shape::from(&x.shape[..x.shape.rank() - 1]), dtype: x.dtype };
        Ok(std::iter::once(x).chain((1..Self::outputs(attrs)).map(|_| row.clone())).collect())
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, outputs));
        Ok(())
    }

    /// For each element: one operation for the mean, three for the variance, two for the result, and weight and bias; for each row: one
    /// sum, one root and one inverse.
    fn cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let each = if CENTERED { 6 } else { 3 } + flag(attrs, "weight") + flag(attrs, "bias");
        let flops = each * outputs[0].shape.elements() + 3 * outputs[1].shape.elements();
        Cost { flops: flops as f64, ..streaming_cost(operands, outputs) }
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let x = &operands[0];
        let mean = CENTERED.then(|| row_mean(x));
        let centered = mean.as_ref().map_or_else(|| x.clone(), |mean| x - mean);
        let rstd = (row_mean(&(&centered * &centered)) + attrs.real("epsilon")).sqrt().recip();
        let y = &centered * &rstd;
        let y = if flag(attrs, "weight") == 1 { y * &operands[1] } else { y };
        let y = if flag(attrs, "bias") == 1 { y + &operands[1 + flag(attrs, "weight")] } else { y };
        let row = Shape::from(&x.shape()[..x.rank() - 1]);
        let statistics = mean.into_iter().chain([rstd]).map(|number| number.reshape(row.clone()));
        std::iter::once(y).chain(statistics).collect()
    }

    fn saves(attrs: &Attrs, _wanted: Mask) -> Saves {
        let saves = Saves::NOTHING.operand(0).output(1);
        let saves = if CENTERED { saves.output(2) } else { saves };
        if flag(attrs, "weight") == 1 { saves.operand(1) } else { saves }
    }

    fn restore(rule: &Rule<'_>) -> Vec<Tensor> {
        let x = rule.operand(0).clone();
        let zero = Tensor::constant(0.0, &Spec::new([x.shape()[x.rank() - 1]], x.dtype()));
        let weight = (flag(rule.attrs, "weight") == 1).then(|| rule.operand(1).clone());
        let bias = (flag(rule.attrs, "bias") == 1).then_some(zero);
        std::iter::once(x).chain(weight).chain(bias).collect()
    }

    fn gradient(rule: &Rule<'_>, cotangents: &[Option<Tensor>]) -> Option<Gradients> {
        let [Some(g), statistics @ ..] = cotangents else { return None };
        let (weight, bias) = (flag(rule.attrs, "weight"), flag(rule.attrs, "bias"));
        let wants = |there: usize, position: usize| i64::from(there == 1 && rule.wants(position));
        let (dweight, dbias) = (wants(weight, 1), wants(bias, 1 + weight));
        let attrs =
            Attrs::new().with_int("weight", weight as i64).with_int("dweight", dweight).with_int("dbias", dbias);
        let mut operands: SmallVec<[&Tensor; 8]> = smallvec![rule.operand(0)];
        operands.extend((weight == 1).then(|| rule.operand(1)));
        operands.extend((1..Self::outputs(rule.attrs)).map(|output| rule.output(output)));
        operands.push(g);
        let mut found = match CENTERED {
            true => bind(&LAYER_NORM_GRADIENT, attrs, &operands),
            false => bind(&RMS_NORM_GRADIENT, attrs, &operands),
        }
        .into_iter()
        .map(Gradient::Dense);
        let mut next = |wanted: bool| if wanted { found.next().unwrap_or(Gradient::Zero) } else { Gradient::Zero };
        let mut gradients: Gradients = smallvec![next(true)];
        (0..weight).for_each(|_| gradients.push(next(dweight == 1)));
        (0..bias).for_each(|_| gradients.push(next(dbias == 1)));
        if let (Some(more), Gradient::Dense(dx)) = (Self::through_statistics(rule, statistics), &mut gradients[0]) {
            *dx += more;
        }
        Some(gradients)
    }

    fn batch(
        op: &'static dyn Primitive,
        attrs: &Attrs,
        size: usize,
        operands: &[Tensor],
        batched: Mask,
    ) -> Option<Outputs> {
        if batched == Mask::only(0) {
            return Some(bind(op, attrs.clone(), &operands.iter().collect::<SmallVec<[&Tensor; 4]>>()));
        }
        // Each call has its own weight and bias: all rows are normalised together, then scaled and shifted.
        let aligned = align_batch(size, operands, batched);
        let (x, weight) = (&aligned[0], flag(attrs, "weight"));
        if !matches!(x.dtype(), DType::F64 | DType::F32) {
            return None;
        }
        let mut outputs = bind(op, attrs.clone().with_int("weight", 0).with_int("bias", 0), &[x]);
        let (n, ones) = (x.shape()[x.rank() - 1], (0..x.rank() - 2).map(|_| 1));
        let shape: Shape = std::iter::once(size).chain(ones).chain([n]).collect();
        if weight == 1 {
            outputs[0] = &outputs[0] * aligned[1].reshape(shape.clone());
        }
        if flag(attrs, "bias") == 1 {
            outputs[0] = &outputs[0] + aligned[1 + weight].reshape(shape);
        }
        Some(outputs)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: Shape, epsilon: f64, weight: bool, bias: bool| {
            let attrs = Attrs::new()
                .with_real("epsilon", epsilon)
                .with_int("weight", i64::from(weight))
                .with_int("bias", i64::from(bias));
            let n = shape[shape.rank() - 1];
            let mut operands = vec![Sample::wave(shape.clone(), 0.3)];
            operands.extend(weight.then(|| Sample::positive([n], 0.7)));
            operands.extend(bias.then(|| Sample::wave([n], 0.1)));
            let row = Shape::from(&shape[..shape.rank() - 1]);
            Case::new(format!("{shape}, epsilon {epsilon}, {weight} {bias}"), attrs, operands, move |s| {
                let (mut y, mut means, mut rstds) = (vec![], vec![], vec![]);
                for x in s[0].data.chunks(n) {
                    let mean = if CENTERED { x.iter().sum::<f64>() / n as f64 } else { 0.0 };
                    let square = x.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / n as f64;
                    let rstd = (square + epsilon).powf(-0.5);
                    y.extend(x.iter().enumerate().map(|(i, x)| {
                        let weight = if weight { s[1].data[i] } else { 1.0 };
                        (x - mean) * rstd * weight + if bias { s[s.len() - 1].data[i] } else { 0.0 }
                    }));
                    means.push(mean);
                    rstds.push(rstd);
                }
                let mean = CENTERED.then(|| Sample::new(row.clone(), means));
                std::iter::once(Sample::new(shape.clone(), y))
                    .chain(mean)
                    .chain([Sample::new(row.clone(), rstds)])
                    .collect()
            })
        };
        vec![
            case(Shape::from([2, 3]), 0.25, true, true),
            case(Shape::from([4]), 0.25, false, false),
            case(Shape::from([2, 1, 3]), 0.5, true, false),
            case(Shape::from([2, 2]), 0.25, false, true),
            case(Shape::from([0, 3]), 0.25, true, true),
            case(Shape::from([2, 1]), 0.5, true, true),
            case(Shape::from([40, 3]), 0.25, true, true).values_only(),
        ]
    }
}

impl<const CENTERED: bool> NormBackward<CENTERED> {
    /// x, weight, mean, rstd and cotangent among the operands.
    fn parts<'a, T>(attrs: &Attrs, operands: &'a [T]) -> (&'a T, Option<&'a T>, Option<&'a T>, &'a T, &'a T) {
        let weight = flag(attrs, "weight");
        let last = operands.len() - 1;
        (
            &operands[0],
            (weight == 1).then(|| &operands[1]),
            CENTERED.then(|| &operands[1 + weight]),
            &operands[last - 1],
            &operands[last],
        )
    }

    fn write<T: Float>(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) {
        let numbers: SmallVec<[Numbers<'_, T>; 5]> = operands.iter().map(|operand| numbers(*operand)).collect();
        let (x, weight, mean, rstd, g) = Self::parts(attrs, &numbers);
        let n = operands[0].shape[operands[0].shape.len() - 1];
        let run = |dx: &mut [T], dgain: Option<&mut [T]>, dbias: Option<&mut [T]>| {
            let to = NormGradient { dx, dgain, dbias };
            match mean {
                Some(mean) => rows::layer_norm_gradient(
                    &x[..],
                    n,
                    weight.map(|weight| &weight[..]),
                    &mean[..],
                    &rstd[..],
                    &g[..],
                    to,
                ),
                None => rows::rms_norm_gradient(&x[..], n, weight.map(|weight| &weight[..]), &rstd[..], &g[..], to),
            }
        };
        match (outputs, flag(attrs, "dweight")) {
            ([dx], _) => fill(dx.reborrow(), |dx| run(dx, None, None)),
            ([dx, dw], 1) => fill(dx.reborrow(), |dx| fill(dw.reborrow(), |dw| run(dx, Some(dw), None))),
            ([dx, db], _) => fill(dx.reborrow(), |dx| fill(db.reborrow(), |db| run(dx, None, Some(db)))),
            ([dx, dw, db], _) => fill(dx.reborrow(), |dx| {
                fill(dw.reborrow(), |dw| fill(db.reborrow(), |db| run(dx, Some(dw), Some(db))));
            }),
            _ => unreachable!("one to three outputs"),
        }
    }
}

impl<const CENTERED: bool> Fused for NormBackward<CENTERED> {
    const NAME: &'static str = if CENTERED { "layer_norm_gradient" } else { "rms_norm_gradient" };
    const ATTRIBUTES: &'static [&'static str] = &["weight", "dweight", "dbias"];
    const RULE: &'static str = "by its formula";
    const OPERANDS: (usize, usize) = (3 + CENTERED as usize, 4 + CENTERED as usize);

    fn outputs(attrs: &Attrs) -> usize {
        1 + flag(attrs, "dweight") + flag(attrs, "dbias")
    }

    fn infer(attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        expect_flags(Self::NAME, attrs, Self::ATTRIBUTES)?;
        // The cotangent may have 16 bits.
        let mut alike: SmallVec<[SpecRef<'_>; 5]> = operands.iter().copied().collect();
        if let (Some(g), DType::F32) = (alike.last_mut(), operands[0].dtype)
            && matches!(g.dtype, DType::BF16 | DType::F16)
        {
            g.dtype = DType::F32;
        }
        let n = expect_rows(Self::NAME, &alike, Self::OPERANDS.0 + flag(attrs, "weight"))?;
        let (x, weight, mean, rstd, g) = Self::parts(attrs, operands);
        let row = &x.shape[..x.shape.len() - 1];
        let fits = g.shape == x.shape
            && rstd.shape == row
            && mean.is_none_or(|mean| mean.shape == row)
            && weight.is_none_or(|weight| weight.shape == [n]);
        if !fits {
            return Err(wrong_operands(Self::NAME, operands));
        }
        let columns = Spec::new([n], x.dtype);
        Ok(std::iter::once(x.to_spec()).chain((1..Self::outputs(attrs)).map(|_| columns.clone())).collect())
    }

    fn run(attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<(), Error> {
        computing_float!(outputs[0].dtype, T => Self::write::<T>(attrs, operands, outputs));
        Ok(())
    }

    /// For each element: one operation for u, two for its mean with h, two for the subtraction and one for the scale; three more if
    /// centred; the product with the weight, two for its gradient, one for that of the bias.
    fn cost(attrs: &Attrs, operands: &[SpecRef<'_>], outputs: &[Spec]) -> Cost {
        let parameters = flag(attrs, "weight") + 2 * flag(attrs, "dweight") + flag(attrs, "dbias");
        let each = if CENTERED { 9 } else { 6 } + parameters;
        Cost { flops: (each * outputs[0].shape.elements()) as f64, ..streaming_cost(operands, outputs) }
    }

    fn expand(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
        let (x, weight, mean, rstd, g) = Self::parts(attrs, operands);
        let axis = x.rank() - 1;
        let rstd = rstd.unsqueeze(axis);
        let centered = mean.map_or_else(|| x.clone(), |mean| x - mean.unsqueeze(axis));
        let u = centered * &rstd;
        let h = weight.map_or_else(|| g.clone(), |weight| g * weight);
        let flat = if CENTERED { &h - row_mean(&h) } else { h.clone() };
        let dx = (flat - &u * row_mean(&(&h * &u))) * rstd;
        let dweight = (flag(attrs, "dweight") == 1).then(|| sum_rows(&(g * &u)));
        let dbias = (flag(attrs, "dbias") == 1).then(|| sum_rows(g));
        std::iter::once(dx).chain(dweight).chain(dbias).collect()
    }

    fn operand_count(attrs: &Attrs) -> usize {
        Self::OPERANDS.0 + flag(attrs, "weight")
    }

    /// The gradients of weight and bias are sums over all rows, so calls that have them are not merged.
    fn takes_batches(attrs: &Attrs) -> bool {
        Self::outputs(attrs) == 1
    }

    fn shared(attrs: &Attrs) -> Option<usize> {
        (flag(attrs, "weight") == 1).then_some(1)
    }

    #[cfg(feature = "cases")]
    fn cases() -> Vec<Case> {
        let case = |shape: Shape, weight: bool, dweight: bool, dbias: bool| {
            let attrs = Attrs::new()
                .with_int("weight", i64::from(weight))
                .with_int("dweight", i64::from(dweight))
                .with_int("dbias", i64::from(dbias));
            let (n, row) = (shape[shape.rank() - 1], Shape::from(&shape[..shape.rank() - 1]));
            let mut operands = vec![Sample::wave(shape.clone(), 0.3)];
            operands.extend(weight.then(|| Sample::positive([n], 0.7)));
            operands.extend(CENTERED.then(|| Sample::wave(row.clone(), 0.5)));
            operands.push(Sample::positive(row, 0.2));
            operands.push(Sample::wave(shape.clone(), 0.9));
            let kept = attrs.clone();
            Case::new(format!("{shape}, {weight} {dweight} {dbias}"), attrs, operands, move |s| {
                let (x, weight, mean, rstd, g) = Self::parts(&kept, s);
                let (mut dx, mut dw, mut db) = (vec![], vec![0.0; n], vec![0.0; n]);
                for (row, x) in x.data.chunks(n).enumerate() {
                    let (mean, rstd) = (mean.map_or(0.0, |mean| mean.data[row]), rstd.data[row]);
                    let at = |i: usize| (g.data[row * n + i], (x[i] - mean) * rstd);
                    let h = |i: usize| at(i).0 * weight.map_or(1.0, |weight| weight.data[i]);
                    let average = |f: &dyn Fn(usize) -> f64| (0..n).map(f).sum::<f64>() / n as f64;
                    let (flat, slope) = (average(&h), average(&|i| h(i) * at(i).1));
                    let flat = if CENTERED { flat } else { 0.0 };
                    dx.extend((0..n).map(|i| rstd * (h(i) - flat - at(i).1 * slope)));
                    (0..n).for_each(|i| dw[i] += at(i).0 * at(i).1);
                    (0..n).for_each(|i| db[i] += at(i).0);
                }
                let dw = dweight.then(|| Sample::new([n], dw));
                let db = dbias.then(|| Sample::new([n], db));
                std::iter::once(Sample::new(shape.clone(), dx)).chain(dw).chain(db).collect()
            })
        };
        vec![
            case(Shape::from([2, 3]), true, true, CENTERED),
            case(Shape::from([3]), false, false, false),
            case(Shape::from([2, 1, 2]), true, false, CENTERED),
            case(Shape::from([2, 2]), true, true, false),
            case(Shape::from([2, 2]), true, false, false),
            case(Shape::from([0, 3]), true, true, CENTERED),
        ]
    }
}
