//! The rule shape *elementwise*: y = f(x) element by element, dy = f'(x) dx.
//!
//! Value and slopes are written once, as expressions ([`elementwise!`](super::elementwise), [`slope!`](super::slope)). The macros paste
//! each into native loops for f64 and f32, into the fused loop `g * slope`, and into Tensor operations for higher order, so a new function
//! is one line. Parameters are real attributes of the call, such as the slope of leaky_relu.

use super::slopes::Native;
use super::{Factor, Needs, Product, SavedValue, Slope, SlopeExpression, align_batch, lane, narrow};
use crate::autograd::modes;
use crate::bind::bind1;
use crate::ground::file_methods::{GuardedMulMethods, ZeroMulMethods};
use crate::ground::internal::slope::staged;
use crate::primitive::{
    Adjoints, Attrs, Case, Dependency, Expression, Gradient, Gradients, Held, Jet, Lower, Mask, Outputs, Primitive,
    Rule, Saved, Saves, SpecRef, Specs, expect_arithmetic, expect_float, expect_reals, expect_same_dtype,
};
use crate::tensor::{Dense, Value};
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use smallvec::{SmallVec, smallvec};
use std::any::Any;
use wengert_kernels::dtype::Compute;
use wengert_kernels::functions::vocabulary::CONSTANTS;
use wengert_kernels::functions::{Loops, Parameters};
use wengert_kernels::tiled::Lane;
use wengert_kernels::view::{Out, View};

/// An elementwise primitive of one or two operands.
pub struct Elementwise {
    #[doc(hidden)]
    pub name: &'static str,
    #[doc(hidden)]
    pub rule_text: &'static str,
    /// The names of its real attributes, at most three.
    #[doc(hidden)]
    pub parameters: &'static [&'static str],
    /// The value as written: the names of its operands, and the expression.
    #[doc(hidden)]
    pub operand_names: &'static [&'static str],
    #[doc(hidden)]
    pub text: &'static str,
    /// The value of integers as written, in the same names.
    #[doc(hidden)]
    pub integer_text: Option<&'static str>,
    #[doc(hidden)]
    pub f64: &'static Loops<f64>,
    #[doc(hidden)]
    pub f32: &'static Loops<f32>,
    /// `None` if the operation makes no sense for integers.
    #[doc(hidden)]
    pub i64: Option<&'static Loops<i64>>,
    /// One for each operand.
    #[doc(hidden)]
    pub slopes: &'static [Slope],
    #[doc(hidden)]
    pub jet: Jet,
    #[cfg(feature = "cases")]
    #[doc(hidden)]
    pub tested: super::Tested,
}

/// A loop as an instruction of fused loops.
fn lane_of<T: Compute>(loops: &Loops<T>, p: Parameters<T>, output: DType) -> Lane {
    let slices = loops.slices;
    lane(output, move |inputs: &[&[T]], out: &mut [T]| slices(inputs[0], inputs[inputs.len() - 1], out, p))
}

/// `cotangent * slope`, zero where the cotangent is zero. On plain values it is one fused kernel, written over the cotangent if no other
/// handle shares it; otherwise Tensor operations.
#[inline]
fn scaled(
    op: &'static Elementwise,
    slope: &'static SlopeExpression,
    position: usize,
    rule: &Rule<'_>,
    g: Tensor,
    p: Parameters<f64>,
) -> Tensor {
    let saved: SmallVec<[&Tensor; 4]> = slope.sources.iter().map(|source| source.of(rule)).collect();
    if !g.is_at_hand() || !saved.iter().all(|tensor| tensor.is_at_hand()) || modes::detects_anomalies() {
        // In a program this becomes one equation.
        let mut all = std::iter::once(&g).chain(saved.iter().copied());
        if !slope.is_source
            && all.clone().any(Tensor::is_staged)
            && all.all(|tensor| tensor.is_plain() || tensor.is_staged())
        {
            return staged(op, position, &g, &saved, p);
        }
        let slopes = (slope.tensor)(&saved, p);
        return if slope.keeps_both { g.zero_mul(&slopes) } else { g.guarded_mul(&slopes) };
    }
    let (a, b) = (&saved[0].value, &saved[saved.len() - 1].value);
    Tensor::from(slope.times(g.value, a, b, p))
}

impl Elementwise {
    /// The primitive as an elementwise one: every gradient is the cotangent times a slope, element by element.
    pub fn of(op: &'static dyn Primitive) -> Option<&'static Elementwise> {
        let op: &'static dyn Any = op;
        op.downcast_ref()
    }

    /// `None` is a zero.
    #[inline]
    fn derivative(&'static self, rule: &Rule<'_>, position: usize, g: Tensor) -> Option<Tensor> {
        match &self.slopes[position] {
            Slope::Zero => None,
            Slope::One => Some(g),
            Slope::MinusOne => Some(-g),
            Slope::Parameter(place) => Some(g * self.values_of(rule.attrs)[*place]),
            Slope::Expression(slope) => Some(scaled(self, slope, position, rule, g, self.values_of(rule.attrs))),
        }
    }

    /// The factors of a long cotangent for each wanted operand, if every saved value is a contiguous row.
    #[doc(hidden)]
    pub fn factors(
        &'static self,
        rule: &Rule<'_>,
        product: &Product,
    ) -> Option<SmallVec<[(usize, Option<Factor>); 2]>> {
        let mut factors = SmallVec::new();
        for (position, slope) in self.slopes.iter().enumerate().filter(|(position, _)| rule.wants(*position)) {
            let factor = match slope {
                Slope::Zero => return None,
                Slope::One => None,
                Slope::MinusOne => Some(Factor::Number(-1.0)),
                Slope::Parameter(place) => Some(Factor::Number(self.values_of(rule.attrs)[*place])),
                Slope::Expression(slope) => {
                    let (a, b) = (slope.sources[0].of(rule), slope.sources[slope.sources.len() - 1].of(rule));
                    if !product.accepts(a) || !product.accepts(b) {
                        return None;
                    }
                    let parameters = self.values_of(rule.attrs);
                    Some(Factor::Slope { slope, a: a.clone(), b: b.clone(), parameters })
                }
            };
            factors.push((position, factor));
        }
        Some(factors)
    }

    /// The saved values that the slopes of the wanted operands need.
    #[inline]
    fn needs(&self, wanted: Mask) -> Needs {
        let mut needs = Needs(0);
        for (position, slope) in self.slopes.iter().enumerate() {
            if let (Slope::Expression(slope), true) = (slope, wanted.has(position)) {
                needs.0 |= slope.needs.0;
            }
        }
        needs
    }

    /// The gradients of a short row; the last one is written over the cotangent if no other handle shares it.
    #[inline]
    fn pull_row<'v, T: Native>(
        &self,
        wanted: Mask,
        g: Dense,
        row: impl Fn(SavedValue) -> &'v Dense,
        give: &mut dyn FnMut(usize, Tensor),
    ) {
        let mut give = |position: usize, gradient: Dense| give(position, Tensor::from(Value::Dense(gradient)));
        let mut rest = wanted;
        while let Some(position) = rest.first() {
            rest = rest.without(position);
            let slope = &self.slopes[position];
            if rest.is_empty() {
                let times = |slope: &SlopeExpression, g| {
                    slope.times_row::<T>(g, row(slope.first()), row(slope.last()), [0.0; 3])
                };
                slope.of(g, |g| g, Dense::negated::<T>, times).into_iter().for_each(|x| give(position, x));
                return;
            }
            let times =
                |slope: &SlopeExpression, g| slope.times_new::<T>(g, row(slope.first()), row(slope.last()), [0.0; 3]);
            slope.of(&g, Dense::clone, Dense::opposite::<T>, times).into_iter().for_each(|x| give(position, x));
        }
    }

    /// The cotangent times one of its slopes, with these parameters, as text.
    #[doc(hidden)]
    pub fn slope_text(&self, slope: &SlopeExpression, p: Parameters<f64>) -> Expression {
        let guard = if slope.keeps_both { "both" } else { "guarded" };
        let sources = slope.names[..slope.sources.len()].iter().copied();
        Expression {
            operands: std::iter::once("cotangent").chain(sources).collect(),
            parameters: slope.parameters.iter().copied().zip(p).collect(),
            constants: CONSTANTS,
            text: format!("{guard}(cotangent, {})", slope.text).into(),
        }
    }

    /// Whether it is the length of a two-dimensional vector.
    fn is_length(&self) -> bool {
        self.text == "hypot(x, y)"
    }

    /// The values of its parameters in one call.
    #[inline]
    fn values_of(&self, attrs: &Attrs) -> Parameters<f64> {
        let mut values = [0.0; 3];
        for (value, name) in values.iter_mut().zip(self.parameters) {
            *value = attrs.real(name);
        }
        values
    }
}

/// Zero; but its derivative with respect to an operand is NaN where the length, and so both operands, are 0: the gradient has no derivative
/// there.
fn unsteady_at_origin(rule: &Rule<'_>, position: usize) -> Tensor {
    let x = rule.operand(position);
    let nothing = x.full_like(0.0);
    x.guarded_mul(&rule.output(0).equal(0.0).where_(nothing.full_like(f64::NAN), nothing))
}

/// Gradients for a cotangent of the square of a length; an infinite length uses the slopes of the length itself.
fn pull_square_of_length(rule: &Rule<'_>, g: Tensor) -> Gradients {
    let by = |i: usize| {
        if !rule.wants(i) {
            return Gradient::Zero;
        }
        let (x, length) = (rule.operand(i), rule.output(0));
        Gradient::Dense(length.equal(f64::INFINITY).where_(x / length, x * 2.0) * &g)
    };
    smallvec![by(0), by(1)]
}

impl Primitive for Elementwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        self.slopes.len()
    }

    fn attributes(&self) -> &'static [&'static str] {
        self.parameters
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let first = operands[0];
        expect_reals(attrs, self.parameters);
        if self.i64.is_none() {
            expect_float(self.name, first.dtype)?;
        }
        if let Some(second) = operands.get(1) {
            expect_same_dtype(self.name, first.dtype, second.dtype)?;
            expect_same_shape(self.name, first, *second)?;
        }
        expect_arithmetic(self.name, first.dtype)?;
        Ok(smallvec![first.to_spec()])
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let p = self.values_of(attrs);
        let out = outputs[0].reborrow();
        match out.dtype.compute() {
            DType::F64 => self.f64.run(operands, out, p),
            DType::F32 => self.f32.run(operands, out, narrow(p)),
            _ => {
                let loops = self.i64.expect("the shape rule refused integers");
                loops.run(operands, out, p.map(|value| value as i64));
            }
        }
        Ok(true)
    }

    fn eval_direct(&self, operands: &[&Tensor]) -> Option<Tensor> {
        if operands.len() != self.slopes.len() || !self.parameters.is_empty() {
            return None;
        }
        match (&operands[0].value, &operands[operands.len() - 1].value) {
            (Value::One(x), Value::One(y)) if x.dtype == y.dtype && x.rank == y.rank => {
                let bits = match x.dtype {
                    DType::F64 => (self.f64.one)(f64::from_bits(x.bits), f64::from_bits(y.bits), [0.0; 3]).to_bits(),
                    DType::F32 => {
                        let read = |bits: u64| f32::from_bits(bits as u32);
                        u64::from((self.f32.one)(read(x.bits), read(y.bits), [0.0; 3]).to_bits())
                    }
                    _ => return None,
                };
                Some(Tensor::one(bits, x.dtype, x.rank as usize))
            }
            (Value::Dense(x), Value::Dense(y)) if x.is_like(y) && x.is_short() => match x.dtype() {
                DType::F64 => Some(x.new_like(|out| (self.f64.slices)(x.slice(), y.slice(), out, [0.0; 3]))),
                DType::F32 => Some(x.new_like(|out| (self.f32.slices)(x.slice(), y.slice(), out, [0.0; 3]))),
                _ => None,
            },
            _ => None,
        }
    }

    fn update_direct(&self, target: &mut Tensor, other: &Tensor) -> bool {
        let (Value::Dense(x), Value::Dense(y)) = (&mut target.value, &other.value) else { return false };
        if !x.is_like(y) || !x.is_short() || !self.parameters.is_empty() {
            return false;
        }
        match (x.dtype(), self.f64.update, self.f32.update) {
            (DType::F64, Some(update), _) => x.slice_mut().map(|x| update(x, y.slice(), [0.0; 3])).is_some(),
            (DType::F32, _, Some(update)) => x.slice_mut().map(|x| update(x, y.slice(), [0.0; 3])).is_some(),
            _ => false,
        }
    }

    fn eval_in_place(&self, attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        let [other] = rest else { return Ok(false) };
        let (p, spec, other) = (self.values_of(attrs), target.spec(), other.value.view());
        let bytes = target.unique_bytes().expect("the driver found it unique");
        Ok(match spec.dtype {
            DType::F64 => self.f64.run_in_place(bytes, &spec.shape, other, p),
            DType::F32 => self.f32.run_in_place(bytes, &spec.shape, other, narrow(p)),
            _ => false,
        })
    }

    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        self.needs(wanted).saves()
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(mut g) = cotangents[0].take() else { return Gradients::new() };
        if !self.differentiable() {
            // Explicit zeros: a leaf that only such functions read still has a gradient.
            return self.slopes.iter().map(|_| Gradient::Dense(g.full_like(0.0))).collect();
        }
        let last = self.slopes.len() - 1;
        let mut gradients = Gradients::new();
        for position in 0..=last {
            // The last gradient may overwrite the cotangent.
            let mine =
                if position == last { std::mem::replace(&mut g, Tensor::one(0, DType::F64, 0)) } else { g.clone() };
            let mut gradient = if rule.wants(position) { self.derivative(rule, position, mine) } else { None };
            if self.is_length()
                && let Some(gradient) = gradient.as_mut().filter(|gradient| !gradient.is_at_hand())
            {
                *gradient = &*gradient + unsteady_at_origin(rule, position);
            }
            gradients.push(gradient.map_or(Gradient::Zero, Gradient::Dense));
        }
        gradients
    }

    /// Judged by the expression as written.
    fn is_square(&self, attrs: &Attrs) -> bool {
        match self.text {
            "x * x" | "x * y" => true,
            "power(x, exponent)" => attrs.real("exponent") == 2.0,
            _ => false,
        }
    }

    fn vjp_of_square(&'static self, _attrs: &Attrs) -> Option<fn(&Rule<'_>, Tensor) -> Gradients> {
        self.is_length().then_some(pull_square_of_length)
    }

    fn vjp_direct(&self, wanted: Mask, g: &mut Option<Tensor>, held: Held<'_>, give: &mut dyn FnMut(usize, Tensor)) {
        if !self.parameters.is_empty() || matches!(self.slopes[0], Slope::Zero) {
            return;
        }
        let needs = self.needs(wanted);
        let alike = |value: &Value| {
            held.0[..needs.count()]
                .iter()
                .all(|saved| matches!(saved, Saved::Held(saved) if value.is_short_like(saved)))
        };
        let Some(cotangent) = g.take_if(|g| g.value.is_short_like(&g.value) && alike(&g.value)) else { return };
        let at = |source: SavedValue| match &held.0[needs.place(source)] {
            Saved::Held(value) => value,
            _ => unreachable!("everything held is alike"),
        };
        let one = |source: SavedValue| if let Value::One(one) = at(source) { one } else { unreachable!("alike") };
        let row = |source: SavedValue| if let Value::Dense(row) = at(source) { row } else { unreachable!("alike") };
        match cotangent.value {
            Value::One(g) => {
                for position in wanted.iter() {
                    let times = |slope: &SlopeExpression, _| {
                        slope.times_one(g, one(slope.first()), one(slope.last()), [0.0; 3])
                    };
                    if let Some(bits) = self.slopes[position].of(g.bits, |bits| bits, |_| g.opposite(), times) {
                        give(position, Tensor::one(bits, g.dtype, g.rank as usize));
                    }
                }
            }
            Value::Dense(g) if g.dtype() == DType::F64 => self.pull_row::<f64>(wanted, g, row, give),
            Value::Dense(g) => self.pull_row::<f32>(wanted, g, row, give),
            _ => unreachable!("only numbers are short"),
        }
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let parts = tangents
            .iter()
            .enumerate()
            .filter_map(|(position, tangent)| self.derivative(rule, position, tangent.clone()?));
        smallvec![parts.reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned: SmallVec<[Tensor; 2]> = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 4]> = aligned.iter().collect();
        Ok(smallvec![bind1(self, attrs.clone(), &aligned)])
    }

    /// A piecewise constant function has only zero gradients.
    fn differentiable(&self) -> bool {
        !self.slopes.iter().all(|slope| matches!(slope, Slope::Zero))
    }

    fn records(&self) -> bool {
        true
    }

    fn dependency(&self) -> Dependency {
        if self.differentiable() { Dependency::Elementwise } else { Dependency::None }
    }

    fn jet(&self) -> Jet {
        self.jet
    }

    fn rule_text(&self) -> &'static str {
        self.rule_text
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        self.tested.cases(self.slopes.len(), self.parameters, self.i64.is_some())
    }

    fn lower(&'static self) -> Option<&'static dyn Lower> {
        Some(self)
    }
}

impl Lower for Elementwise {
    fn lane(&self, attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Lane> {
        let p = self.values_of(attrs);
        match output.compute() {
            DType::F64 => Some(lane_of(self.f64, p, output)),
            DType::F32 => Some(lane_of(self.f32, narrow(p), output)),
            _ => self.i64.map(|loops| lane_of(loops, p.map(|value| value as i64), output)),
        }
    }

    fn expression(&self, attrs: &Attrs, _operands: &[DType], output: DType) -> Option<Expression> {
        Some(Expression {
            operands: self.operand_names.into(),
            parameters: self.parameters.iter().copied().zip(self.values_of(attrs)).collect(),
            constants: CONSTANTS,
            text: if output.is_float() { self.text } else { self.integer_text? }.into(),
        })
    }
}

fn expect_same_shape(name: &str, a: SpecRef<'_>, b: SpecRef<'_>) -> Result<(), Error> {
    if a.shape == b.shape {
        return Ok(());
    }
    let (left, right) = (Shape::from(a.shape), Shape::from(b.shape));
    let message = format!("shapes {left} and {right} differ");
    Err(Error::new(ErrorKind::Shape(vec![left, right]), name, message))
}
