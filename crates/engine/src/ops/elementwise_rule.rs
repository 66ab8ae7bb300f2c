//! The rule shape *elementwise*: y = f(x) element by element, dy = f'(x) dx.
//!
//! Value and slopes are written once, as expressions. The macros paste each into native loops for f64 and f32, into the
//! fused loop `g * slope`, and into Tensor operations for higher order, so a new function is one line.

use crate::autograd::modes;
use crate::bind::bind1;
use crate::ops::elementwise::neg::NEG;
use crate::primitive::{
    Adjoints, Attrs, Case, Dependency, Device, Gradient, Gradients, Held, Jet, Mask, Outputs, Primitive, Rule, Sample,
    Saves, Spec, SpecRef, Specs, expect_arithmetic, expect_float, expect_same_dtype,
};
use crate::tensor::Value;
use crate::{DType, Error, ErrorKind, Shape, Tensor};
use smallvec::{SmallVec, smallvec};
use wengert_kernels::view::{Out, View};

/// An elementwise primitive of one or two operands.
pub struct Elementwise {
    pub(crate) name: &'static str,
    pub(crate) rule_text: &'static str,
    pub(crate) f64: Loops<f64>,
    pub(crate) f32: Loops<f32>,
    /// Absent where whole numbers make no sense.
    pub(crate) i64: Option<Loops<i64>>,
    /// One for each operand.
    pub(crate) slopes: &'static [Slope],
    pub(crate) jet: Jet,
    /// The value in plain f64, by another formula than the kernel's.
    pub(crate) reference: fn(f64, f64) -> f64,
    pub(crate) domain: Domain,
    /// Points where the value is prescribed: borders, infinities.
    pub(crate) edges: &'static [(f64, f64)],
}

/// Where random test points may lie.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Domain {
    Reals,
    Positive,
}

/// The value in one native type; unary functions ignore the second operand.
pub(crate) struct Loops<T> {
    pub one: fn(T, T) -> T,
    pub slices: fn(&[T], &[T], &mut [T]),
    pub update: Option<fn(&mut [T], &[T])>,
    pub many: fn(&[View<'_>], Out<'_>),
    pub in_place: Option<fn(&mut [T], &[usize], &View<'_>)>,
}

/// The derivative for one operand.
pub(crate) enum Slope {
    One,
    MinusOne,
    Expression(SlopeExpression),
}

/// A slope computed from one saved tensor, or from two.
pub(crate) struct SlopeExpression {
    /// What the expression's names stand for.
    pub sources: &'static [Source],
    pub tensor: fn(&[&Tensor]) -> Tensor,
    pub f64: SlopeLoops<f64>,
    pub f32: SlopeLoops<f32>,
}

/// A saved tensor that a slope is computed from.
#[derive(Clone, Copy)]
pub(crate) enum Source {
    Operand(usize),
    Output(usize),
}

impl Source {
    fn of<'r>(self, rule: &'r Rule<'_>) -> &'r Tensor {
        match self {
            Source::Operand(position) => rule.operand(position),
            Source::Output(position) => rule.output(position),
        }
    }

    /// Where it stands among what `saves` asked for; elementwise operations save no shapes.
    #[inline]
    fn place(self, saves: Saves) -> usize {
        match self {
            Source::Operand(position) => saves.operands.before(position),
            Source::Output(position) => saves.operands.count() + saves.outputs.before(position),
        }
    }
}

/// `g * slope`, 0 where g is 0.
pub(crate) struct SlopeLoops<T> {
    pub one: fn(T, T, T) -> T,
    pub slices: fn(&[T], &[T], &[T], &mut [T]),
    pub many: fn(View<'_>, &[View<'_>], Out<'_>),
}

/// Makes the slope of an expression in Tensor operations.
pub(crate) trait IntoSlope {
    fn into_slope(self) -> Tensor;
}
impl IntoSlope for Tensor {
    fn into_slope(self) -> Tensor {
        self
    }
}
impl IntoSlope for &Tensor {
    fn into_slope(self) -> Tensor {
        self.clone()
    }
}

/// The argument itself inside its domain, NaN below: gradients outside a domain are NaN like values.
pub(crate) trait NanBelow {
    type Output;
    fn nan_below(self, border: f64) -> Self::Output;
}
impl NanBelow for f64 {
    type Output = f64;
    fn nan_below(self, border: f64) -> f64 {
        if self < border { f64::NAN } else { self }
    }
}
impl NanBelow for f32 {
    type Output = f32;
    fn nan_below(self, border: f64) -> f32 {
        if self < border as f32 { f32::NAN } else { self }
    }
}
impl NanBelow for &Tensor {
    type Output = Tensor;
    fn nan_below(self, border: f64) -> Tensor {
        self.lt(border).where_(f64::NAN, self)
    }
}

/// `slope!(one)`, `slope!(minus_one)`, `slope!(|y: output 0| 1.0 - y * y)`, `slope!(|x: operand 0, y: operand 1| ..)`.
macro_rules! slope {
    (one) => { $crate::ops::elementwise_rule::Slope::One };
    (minus_one) => { $crate::ops::elementwise_rule::Slope::MinusOne };
    (|$a:ident: $ka:ident $ia:literal| $expression:expr) => {
        $crate::ops::elementwise_rule::Slope::Expression($crate::ops::elementwise_rule::SlopeExpression {
            sources: &[slope!(@source $ka $ia)],
            tensor: |saved| { let $a = saved[0]; $crate::ops::elementwise_rule::IntoSlope::into_slope($expression) },
            f64: slope!(@loops f64, |$a| $expression),
            f32: slope!(@loops f32, |$a| $expression),
        })
    };
    (|$a:ident: $ka:ident $ia:literal, $b:ident: $kb:ident $ib:literal| $expression:expr) => {
        $crate::ops::elementwise_rule::Slope::Expression($crate::ops::elementwise_rule::SlopeExpression {
            sources: &[slope!(@source $ka $ia), slope!(@source $kb $ib)],
            tensor: |saved| {
                let ($a, $b) = (saved[0], saved[1]);
                $crate::ops::elementwise_rule::IntoSlope::into_slope($expression)
            },
            f64: slope!(@loops f64, |$a, $b| $expression),
            f32: slope!(@loops f32, |$a, $b| $expression),
        })
    };
    (@source operand $position:literal) => { $crate::ops::elementwise_rule::Source::Operand($position) };
    (@source output $position:literal) => { $crate::ops::elementwise_rule::Source::Output($position) };
    (@loops $t:ty, |$a:ident| $expression:expr) => {
        $crate::ops::elementwise_rule::SlopeLoops::<$t> {
            one: |g, $a, _| if g == 0.0 { 0.0 } else { g * ($expression) },
            slices: |g, a, _, out| {
                wengert_kernels::map::loop2(g, a, out, |g: $t, $a: $t| if g == 0.0 { 0.0 } else { g * ($expression) })
            },
            many: |g, saved, out| {
                let body = |[g, a]: [&[$t]; 2], out: &mut [$t]| {
                    wengert_kernels::map::loop2(g, a, out, |g: $t, $a: $t| if g == 0.0 { 0.0 } else { g * ($expression) })
                };
                wengert_kernels::map::map::<$t, $t, 2>([g, saved[0]], out, &body)
            },
        }
    };
    (@loops $t:ty, |$a:ident, $b:ident| $expression:expr) => {
        $crate::ops::elementwise_rule::SlopeLoops::<$t> {
            one: |g, $a, $b| if g == 0.0 { 0.0 } else { g * ($expression) },
            slices: |g, a, b, out| {
                wengert_kernels::map::loop3(g, a, b, out, |g: $t, $a: $t, $b: $t| {
                    if g == 0.0 { 0.0 } else { g * ($expression) }
                })
            },
            many: |g, saved, out| {
                let body = |[g, a, b]: [&[$t]; 3], out: &mut [$t]| {
                    wengert_kernels::map::loop3(g, a, b, out, |g: $t, $a: $t, $b: $t| {
                        if g == 0.0 { 0.0 } else { g * ($expression) }
                    })
                };
                wengert_kernels::map::map::<$t, $t, 3>([g, saved[0], saved[1]], out, &body)
            },
        }
    };
}
pub(crate) use slope;

/// The loops of one value expression in one native type.
macro_rules! loops {
    ($t:ty, |$x:ident| $value:expr) => {
        $crate::ops::elementwise_rule::Loops::<$t> {
            one: |$x, _| $value,
            slices: |x, _, out| wengert_kernels::map::loop1(x, out, |$x: $t| $value),
            update: None,
            many: |inputs, out| {
                let body = |[x]: [&[$t]; 1], out: &mut [$t]| wengert_kernels::map::loop1(x, out, |$x: $t| $value);
                wengert_kernels::map::map::<$t, $t, 1>([inputs[0]], out, &body)
            },
            in_place: None,
        }
    };
    ($t:ty, |$x:ident, $y:ident| $value:expr) => {
        $crate::ops::elementwise_rule::Loops::<$t> {
            one: |$x, $y| $value,
            slices: |x, y, out| wengert_kernels::map::loop2(x, y, out, |$x: $t, $y: $t| $value),
            update: Some(|x, y| wengert_kernels::map::loop2_in_place(x, y, |$x: $t, $y: $t| $value)),
            many: |inputs, out| {
                let body = |[x, y]: [&[$t]; 2], out: &mut [$t]| {
                    wengert_kernels::map::loop2(x, y, out, |$x: $t, $y: $t| $value)
                };
                wengert_kernels::map::map::<$t, $t, 2>([inputs[0], inputs[1]], out, &body)
            },
            in_place: Some(|target, shape, other| {
                let body =
                    |x: &mut [$t], [y]: [&[$t]; 1]| wengert_kernels::map::loop2_in_place(x, y, |$x: $t, $y: $t| $value);
                wengert_kernels::map::map_in_place::<$t, 1>(target, shape, [*other], &body)
            }),
        }
    };
}
pub(crate) use loops;

/// One elementwise primitive: the value, a slope for each operand, the rule in words, and an independent reference.
macro_rules! elementwise {
    (
        $static:ident = $name:literal,
        value: |$($x:ident),+| $value:expr,
        $(integer: |$($i:ident),+| $integer:expr,)?
        slopes: [$($slope:expr),+],
        rule: $rule:literal,
        reference: |$($r:pat_param),+| $reference:expr,
        domain: $domain:ident,
        $(edges: $edges:expr,)?
        jet: $jet:ident $(,)?
    ) => {
        #[doc = concat!("The primitive `", $name, "`.")]
        pub static $static: $crate::ops::elementwise_rule::Elementwise = $crate::ops::elementwise_rule::Elementwise {
            name: $name,
            rule_text: $rule,
            f64: $crate::ops::elementwise_rule::loops!(f64, |$($x),+| $value),
            f32: $crate::ops::elementwise_rule::loops!(f32, |$($x),+| $value),
            i64: elementwise!(@integer $(|$($i),+| $integer)?),
            slopes: &[$($slope),+],
            jet: $crate::primitive::Jet::$jet,
            reference: elementwise!(@reference |$($r),+| $reference),
            domain: $crate::ops::elementwise_rule::Domain::$domain,
            edges: elementwise!(@edges $($edges)?),
        };
    };
    (@integer) => { None };
    (@integer |$($i:ident),+| $integer:expr) => {
        Some($crate::ops::elementwise_rule::loops!(i64, |$($i),+| $integer))
    };
    (@reference |$x:pat_param| $reference:expr) => { |$x: f64, _: f64| $reference };
    (@reference |$x:pat_param, $y:pat_param| $reference:expr) => { |$x: f64, $y: f64| $reference };
    (@edges) => { &[] };
    (@edges $edges:expr) => { $edges };
}
pub(crate) use elementwise;

/// `cotangent * slope`, zero where the cotangent is zero: one fused kernel on numbers, Tensor operations otherwise.
#[inline]
fn scaled(slope: &'static SlopeExpression, rule: &Rule<'_>, g: &Tensor) -> Tensor {
    let saved: SmallVec<[&Tensor; 2]> = slope.sources.iter().map(|source| source.of(rule)).collect();
    if !g.is_plain() || !saved.iter().all(|tensor| tensor.is_plain()) || modes::detects_anomalies() {
        return g.guarded_mul(&(slope.tensor)(&saved));
    }
    match scaled_directly(slope, &g.value, &saved[0].value, &saved[saved.len() - 1].value) {
        Some(product) => product,
        None => fused(slope, g, &saved),
    }
}

/// The same for one element and for short rows that are alike, past views and tiles.
#[inline]
fn scaled_directly(slope: &SlopeExpression, g: &Value, a: &Value, b: &Value) -> Option<Tensor> {
    match (g, a, b) {
        (Value::One(g), Value::One(a), Value::One(b)) => {
            let bits = match g.dtype {
                DType::F64 => {
                    let read = f64::from_bits;
                    (slope.f64.one)(read(g.bits), read(a.bits), read(b.bits)).to_bits()
                }
                DType::F32 => {
                    let read = |bits: u64| f32::from_bits(bits as u32);
                    u64::from((slope.f32.one)(read(g.bits), read(a.bits), read(b.bits)).to_bits())
                }
                _ => return None,
            };
            Some(Tensor::one(bits, g.dtype, g.rank as usize))
        }
        (Value::Dense(x), Value::Dense(a), Value::Dense(b)) if x.is_like(a) && x.is_like(b) && x.is_short() => {
            match x.dtype() {
                DType::F64 => Some(x.new_like(|out| (slope.f64.slices)(x.slice(), a.slice(), b.slice(), out))),
                DType::F32 => Some(x.new_like(|out| (slope.f32.slices)(x.slice(), a.slice(), b.slice(), out))),
                _ => None,
            }
        }
        _ => None,
    }
}

fn fused(slope: &SlopeExpression, g: &Tensor, saved: &[&Tensor]) -> Tensor {
    let many = if g.dtype() == DType::F64 { slope.f64.many } else { slope.f32.many };
    let (first, last) = (saved[0].value.view(), saved[saved.len() - 1].value.view());
    Tensor::build(&g.spec(), |out| many(g.value.view(), &[first, last], out)).0
}

impl Elementwise {
    #[inline]
    fn derivative(&'static self, rule: &Rule<'_>, position: usize, g: &Tensor) -> Tensor {
        match &self.slopes[position] {
            Slope::One => g.clone(),
            Slope::MinusOne => -g,
            Slope::Expression(slope) => scaled(slope, rule, g),
        }
    }
}

impl Primitive for Elementwise {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        self.slopes.len()
    }

    #[inline]
    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let first = operands[0];
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

    #[inline]
    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let many = match outputs[0].dtype.compute() {
            DType::F64 => self.f64.many,
            DType::F32 => self.f32.many,
            _ => self.i64.as_ref().expect("the shape rule refused integers").many,
        };
        let (first, last) = (operands[0].value.view(), operands[operands.len() - 1].value.view());
        Ok(smallvec![Tensor::build(&outputs[0], |out| many(&[first, last], out)).0])
    }

    #[inline]
    fn eval_direct(&self, operands: &[&Tensor]) -> Option<Tensor> {
        if operands.len() != self.slopes.len() {
            return None;
        }
        match (&operands[0].value, &operands[operands.len() - 1].value) {
            (Value::One(x), Value::One(y)) if x.dtype == y.dtype && x.rank == y.rank => {
                let bits = match x.dtype {
                    DType::F64 => (self.f64.one)(f64::from_bits(x.bits), f64::from_bits(y.bits)).to_bits(),
                    DType::F32 => {
                        let read = |bits: u64| f32::from_bits(bits as u32);
                        u64::from((self.f32.one)(read(x.bits), read(y.bits)).to_bits())
                    }
                    _ => return None,
                };
                Some(Tensor::one(bits, x.dtype, x.rank as usize))
            }
            (Value::Dense(x), Value::Dense(y)) if x.is_like(y) && x.is_short() => match x.dtype() {
                DType::F64 => Some(x.new_like(|out| (self.f64.slices)(x.slice(), y.slice(), out))),
                DType::F32 => Some(x.new_like(|out| (self.f32.slices)(x.slice(), y.slice(), out))),
                _ => None,
            },
            _ => None,
        }
    }

    #[inline]
    fn update_direct(&self, target: &mut Tensor, other: &Tensor) -> bool {
        let (Value::Dense(x), Value::Dense(y)) = (&mut target.value, &other.value) else { return false };
        if !x.is_like(y) || !x.is_short() {
            return false;
        }
        match (x.dtype(), self.f64.update, self.f32.update) {
            (DType::F64, Some(update), _) => x.slice_mut().map(|x| update(x, y.slice())).is_some(),
            (DType::F32, _, Some(update)) => x.slice_mut().map(|x| update(x, y.slice())).is_some(),
            _ => false,
        }
    }

    fn eval_in_place(&self, _attrs: &Attrs, target: &mut Tensor, rest: &[&Tensor]) -> Result<bool, Error> {
        let [other] = rest else { return Ok(false) };
        let (spec, other) = (target.spec(), other.value.view());
        const UNIQUE: &str = "the driver found it unique";
        let bytes = target.unique_bytes().expect(UNIQUE);
        match (spec.dtype, self.f64.in_place, self.f32.in_place) {
            (DType::F64, Some(run), _) => run(bytemuck::cast_slice_mut(bytes), &spec.shape, &other),
            (DType::F32, _, Some(run)) => run(bytemuck::cast_slice_mut(bytes), &spec.shape, &other),
            _ => return Ok(false),
        }
        Ok(true)
    }

    #[inline]
    fn saves(&self, _attrs: &Attrs, wanted: Mask) -> Saves {
        let mut saves = Saves::NOTHING;
        for (position, slope) in self.slopes.iter().enumerate() {
            if let (Slope::Expression(slope), true) = (slope, wanted.has(position)) {
                for source in slope.sources {
                    saves = match *source {
                        Source::Operand(position) => saves.operand(position),
                        Source::Output(position) => saves.output(position),
                    };
                }
            }
        }
        saves
    }

    #[inline]
    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let gradient = |position: usize| match rule.wants(position) {
            true => Gradient::Dense(self.derivative(rule, position, &g)),
            false => Gradient::Zero,
        };
        match self.slopes.len() {
            1 => smallvec![gradient(0)],
            _ => smallvec![gradient(0), gradient(1)],
        }
    }

    #[inline]
    fn vjp_direct(&self, wanted: Mask, g: &Tensor, held: Held<'_>, give: &mut dyn FnMut(usize, Tensor)) -> bool {
        let saves = self.saves(&Attrs::new(), wanted);
        let alike = |value: Option<&Value>| value.is_some_and(|value| g.value.is_short_like(value));
        if !(0..saves.count()).all(|place| alike(held.value(place))) || !alike(Some(&g.value)) {
            return false;
        }
        for position in wanted.iter() {
            let gradient = match &self.slopes[position] {
                Slope::Expression(slope) => {
                    let [first, last] = [slope.sources[0], slope.sources[slope.sources.len() - 1]];
                    let at = |source: Source| held.value(source.place(saves)).expect("everything held is alike");
                    scaled_directly(slope, &g.value, at(first), at(last)).expect("what is alike is short")
                }
                Slope::One => g.clone(),
                Slope::MinusOne => NEG.eval_direct(&[g]).expect("what is alike is short"),
            };
            give(position, gradient);
        }
        true
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let parts = tangents
            .iter()
            .enumerate()
            .filter_map(|(position, tangent)| tangent.as_ref().map(|tangent| self.derivative(rule, position, tangent)));
        smallvec![parts.reduce(|a, b| a + b)]
    }

    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let aligned: SmallVec<[Tensor; 2]> = align_batch(size, operands, batched);
        let aligned: SmallVec<[&Tensor; 2]> = aligned.iter().collect();
        Ok(smallvec![bind1(self, attrs.clone(), &aligned)])
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        self.jet
    }

    fn rule_text(&self) -> &'static str {
        self.rule_text
    }

    fn cases(&self) -> Vec<Case> {
        let reference = self.reference;
        let whole = move |samples: &[Sample]| {
            let second = samples.last().expect("an operand");
            let data: Vec<f64> = samples[0].data.iter().zip(&second.data).map(|(&x, &y)| reference(x, y)).collect();
            vec![Sample::new(samples[0].shape.clone(), data).of(samples[0].dtype)]
        };
        let sample = |shape: Shape, phase: f64| match self.domain {
            Domain::Reals => Sample::wave(shape, phase),
            Domain::Positive => Sample::positive(shape, phase),
        };
        let operands = |shape: Shape| -> Vec<Sample> {
            (0..self.slopes.len()).map(|operand| sample(shape.clone(), operand as f64 + 0.3)).collect()
        };
        let case = |shape: Shape| Case::new(format!("shape {shape}"), Attrs::new(), operands(shape), whole);
        // One element inline, short and long rows, more axes than are held dense, nothing, and enough for several tiles.
        let mut cases = vec![
            case(Shape::from([])),
            case(Shape::from([1, 1])),
            case(Shape::from([7])),
            case(Shape::from([2, 3])),
            case(Shape::from([2, 1, 3])),
            case(Shape::from([0, 2])),
            case(Shape::from([3, 400])),
            case(Shape::from([40_000])).values_only(),
        ];
        if !self.edges.is_empty() {
            let (points, values): (Vec<f64>, Vec<f64>) = self.edges.iter().copied().unzip();
            let expected = Sample::new([values.len()], values);
            let points = vec![Sample::new([points.len()], points)];
            let edge = Case::new("edges", Attrs::new(), points, move |_| vec![expected.clone()]);
            cases.push(edge.values_only());
        }
        if self.i64.is_some() {
            let whole_numbers = (0..self.slopes.len())
                .map(|operand| Sample::integers([4], [3, -2, 7, 1 + operand as i64]))
                .collect::<Vec<_>>();
            cases.push(Case::new("integers", Attrs::new(), whole_numbers, whole).values_only());
        }
        cases
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

/// Every operand with the batch in front: unbatched ones are repeated without copying.
pub(crate) fn align_batch(size: usize, operands: &[Tensor], batched: Mask) -> SmallVec<[Tensor; 2]> {
    let align = |(position, operand): (usize, &Tensor)| match batched.has(position) {
        true => operand.clone(),
        false => operand.broadcast_to(Shape::from(operand.shape()).prepended(size)),
    };
    operands.iter().enumerate().map(align).collect()
}
