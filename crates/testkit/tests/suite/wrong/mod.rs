//! Four correct primitives, written as a user would write them, and mistakes that can be made in them.

use wengert::prelude::*;
use wengert::primitive::{
    Adjoints, Attrs, Case, Dependency, Device, Gradient, Gradients, GuardedMulMethods, Jet, Mask, Out, Outputs,
    Primitive, Rule, Sample, Saves, Spec, SpecRef, Specs, View, bind1, expect_float,
};

/// The mistake in a primitive.
#[derive(Clone, Copy, PartialEq)]
pub enum Mistake {
    /// Nothing.
    None,
    /// The gradient has the opposite sign.
    Sign,
    /// Both derivatives are too large by a factor of two.
    Factor,
    /// The rules use the output where the operand is needed.
    SavedOutput,
    /// The slope itself is saved, as a value without a derivative.
    SavedNumber,
    /// The gradient is broadcast along another axis.
    Axis,
    /// The kernel computes f64 for any dtype.
    OutputDtype,
    /// The gradient is f64 for any operand dtype.
    GradientDtype,
    /// The slope is treated as a constant when the rule is differentiated.
    DetachedSlope,
    /// The cotangent is treated as a constant when the rule is differentiated.
    DetachedCotangent,
    /// The batch rule ignores that axes move.
    Batch,
    /// 0 times infinity.
    Unguarded,
    /// The output is saved and never read.
    UnnecessarySave,
    /// The operand is read and not saved.
    UndeclaredRead,
    /// The value is off in the tenth digit.
    Value,
    /// The attributes have wrong names.
    Attributes,
    /// The shape rule accepts any kind of attribute.
    AttributeKind,
    /// The rule reads the output, which is never negative, to find where the operand is negative.
    Alternative,
    /// The declared class ignores that the axis is an attribute.
    Dependency,
    /// An alternative to the residual does not suffice for the rules.
    PoorAlternative,
    /// The kernel does not write the last element of its output.
    Unwritten,
    /// It is declared to act on Taylor coefficients one by one, or by division.
    JetClass,
}

/// y = f(x) for every element, in the dtype of `spec`.
fn map(x: &Tensor, spec: &Spec, f: impl Fn(f64) -> f64) -> Outputs {
    let numbers: Vec<f64> = x.to_f64_vec().into_iter().map(f).collect();
    Outputs::from_vec(vec![Tensor::from_vec(numbers, spec.shape.clone()).cast(spec.dtype)])
}

/// The same in given memory.
fn map_into(x: View<'_>, out: &mut Out<'_>, f: impl Fn(f64) -> f64) -> Result<bool, Error> {
    (0..x.len()).for_each(|i| out.put(i, f(x.at_linear(i))));
    Ok(true)
}

fn same_spec(name: &str, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
    expect_float(name, operands[0].dtype)?;
    Ok(Specs::from_vec(vec![operands[0].to_spec()]))
}

fn one(gradient: Tensor) -> Gradients {
    Gradients::from_vec(vec![Gradient::Dense(gradient)])
}

/// y = x^3,   dy = 3 x^2 dx.
pub struct Cube {
    pub name: &'static str,
    pub mistake: Mistake,
}

impl Cube {
    fn slope(&self, rule: &Rule<'_>) -> Tensor {
        let slope = |x: &Tensor| x * x * 3.0;
        match self.mistake {
            Mistake::Factor => slope(rule.operand(0)) * 2.0,
            Mistake::SavedOutput => slope(rule.output(0)),
            Mistake::SavedNumber => rule.residual().clone(),
            Mistake::DetachedSlope => slope(&rule.operand(0).detach()),
            _ => slope(rule.operand(0)),
        }
    }
}

impl Primitive for Cube {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        same_spec(self.name, operands)
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let dtype = if self.mistake == Mistake::OutputDtype { DType::F64 } else { outputs[0].dtype };
        Ok(map(operands[0], &Spec { dtype, ..outputs[0].clone() }, |x| x * x * x))
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        map_into(operands[0], &mut outputs[0], |x| x * x * x)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        match self.mistake {
            Mistake::SavedOutput => Saves::NOTHING.output(0),
            Mistake::SavedNumber => Saves::NOTHING.residual(),
            Mistake::UnnecessarySave => Saves::NOTHING.operand(0).output(0),
            Mistake::UndeclaredRead => Saves::NOTHING,
            _ => Saves::NOTHING.operand(0),
        }
    }

    fn residual(&'static self, _attrs: &Attrs, operands: &[&Tensor], _outputs: &[&Tensor]) -> Tensor {
        (operands[0] * operands[0] * 3.0).detach()
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let g = if self.mistake == Mistake::DetachedCotangent { g.detach() } else { g };
        let gradient = g.guarded_mul(&self.slope(rule));
        one(match self.mistake {
            Mistake::Sign => -gradient,
            Mistake::GradientDtype => gradient.cast(DType::F64),
            _ => gradient,
        })
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        tangents.iter().map(|tangent| tangent.as_ref().map(|dx| dx.guarded_mul(&self.slope(rule)))).collect()
    }

    fn batch(&'static self, attrs: &Attrs, _: usize, operands: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        Ok(Outputs::from_vec(vec![bind1(self, attrs.clone(), &[&operands[0]])]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        if self.mistake == Mistake::JetClass { Jet::Linear } else { Jet::Nested }
    }

    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape| {
            Case::new(format!("shape {shape}"), Attrs::new(), [Sample::wave(shape, 0.4)], |s| {
                let data: Vec<f64> = s[0].data.iter().map(|x| x.powi(3)).collect();
                vec![Sample::new(s[0].shape.clone(), data)]
            })
        };
        vec![case(Shape::from([])), case(Shape::from([2, 3])), case(Shape::from([0]))]
    }
}

/// y = sqrt x,   dy = dx / (2 y).
pub struct Root {
    pub name: &'static str,
    pub mistake: Mistake,
}

impl Root {
    fn derivative(&self, rule: &Rule<'_>, g: &Tensor) -> Tensor {
        let slope = 0.5 / rule.output(0);
        if self.mistake == Mistake::Unguarded { g * slope } else { g.guarded_mul(&slope) }
    }
}

impl Primitive for Root {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        same_spec(self.name, operands)
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let error = if self.mistake == Mistake::Value { 1e-10 } else { 0.0 };
        map_into(operands[0], &mut outputs[0], |x| x.sqrt() + error)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.output(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        cotangents[0].take().map_or_else(Gradients::new, |g| one(self.derivative(rule, &g)))
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        tangents.iter().map(|tangent| tangent.as_ref().map(|dx| self.derivative(rule, dx))).collect()
    }

    fn batch(&'static self, attrs: &Attrs, _: usize, operands: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        Ok(Outputs::from_vec(vec![bind1(self, attrs.clone(), &[&operands[0]])]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn jet(&self) -> Jet {
        if self.mistake == Mistake::JetClass { Jet::Quotient(0) } else { Jet::Nested }
    }

    fn cases(&self) -> Vec<Case> {
        let case = |label: &str, x: Sample| {
            Case::new(label, Attrs::new(), [x], |s| {
                let data: Vec<f64> = s[0].data.iter().map(|x| x.powf(0.5)).collect();
                vec![Sample::new(s[0].shape.clone(), data)]
            })
        };
        vec![
            case("positive", Sample::positive([2, 2], 0.1)),
            case("border", Sample::new([3], [0.0, 4.0, f64::INFINITY])).values_only(),
        ]
    }
}

/// The sum of a matrix along one axis.
pub struct Column {
    pub name: &'static str,
    pub mistake: Mistake,
}

impl Primitive for Column {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        1
    }

    fn attributes(&self) -> &'static [&'static str] {
        if self.mistake == Mistake::Attributes { &["axes"] } else { &["axis"] }
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let any = || attrs.iter().find_map(|(_, value)| value.to_string().parse().ok()).unwrap_or(0);
        let axis = if self.mistake == Mistake::AttributeKind { any() } else { attrs.axis("axis") };
        let x = operands[0];
        expect_float(self.name, x.dtype)?;
        if axis >= x.shape.len() {
            return Err(Error::new(ErrorKind::Range, self.name, format!("there is no axis {axis}")));
        }
        let shape: Shape = (0..x.shape.len()).filter(|other| *other != axis).map(|other| x.shape[other]).collect();
        Ok(Specs::from_vec(vec![Spec { shape, dtype: x.dtype }]))
    }

    fn run(&self, attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let (x, axis) = (operands[0], attrs.axis("axis"));
        let kept: Vec<usize> = [&x.shape[..axis], &x.shape[axis + 1..]].concat();
        for (place, i) in Sample::indices(&kept).iter().enumerate() {
            let term = |k: usize| x.get::<f64>(&[&i[..axis], &[k], &i[axis..]].concat());
            outputs[0].put(place, (0..x.shape[axis]).map(term).sum::<f64>());
        }
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.shape(0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let Some(g) = cotangents[0].take() else { return Gradients::new() };
        let axis = rule.attrs.axis("axis");
        let axis = if self.mistake == Mistake::Axis { 1 - axis } else { axis };
        one(g.unsqueeze(axis).broadcast_to(rule.shape(0)))
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        tangents.iter().map(|tangent| tangent.as_ref().map(|dx| bind1(self, rule.attrs.clone(), &[dx]))).collect()
    }

    fn batch(&'static self, attrs: &Attrs, _: usize, operands: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        let moved = if self.mistake == Mistake::Batch { 0 } else { 1 };
        let attrs = Attrs::new().with_int("axis", attrs.int("axis") + moved);
        Ok(Outputs::from_vec(vec![bind1(self, attrs, &[&operands[0]])]))
    }

    fn dependency(&self) -> Dependency {
        if self.mistake == Mistake::Dependency { Dependency::Blocks(1) } else { Dependency::Reduction }
    }

    /// Square matrices only: the mistakes keep every shape right.
    fn cases(&self) -> Vec<Case> {
        let case = |axis: usize| {
            let attrs = Attrs::new().with_int("axis", axis as i64);
            Case::new(format!("along {axis}"), attrs, [Sample::wave([3, 3], 0.2)], move |s| {
                let at = |i: usize, k: usize| if axis == 0 { s[0].at(&[k, i]) } else { s[0].at(&[i, k]) };
                vec![Sample::build([3], |i| at(i[0], 0) + at(i[0], 1) + at(i[0], 2))]
            })
        };
        vec![case(0), case(1)]
    }
}

/// y = max(-x, 0),   dy = -dx where x < 0; from booleans, or from the operand or output if they are kept anyway.
pub struct Below {
    pub name: &'static str,
    pub mistake: Mistake,
}

impl Below {
    fn derivative(&self, rule: &Rule<'_>, g: &Tensor) -> Tensor {
        let negative = match (rule.has_residual(), rule.has_operand(0)) {
            (true, _) => rule.residual().clone(),
            (_, true) => rule.operand(0).lt(0.0),
            _ if self.mistake == Mistake::Alternative => rule.output(0).lt(0.0),
            _ => rule.output(0).gt(0.0),
        };
        negative.where_(-g, g.zeros_like())
    }
}

impl Primitive for Below {
    fn name(&self) -> &'static str {
        self.name
    }

    fn operands(&self) -> usize {
        1
    }

    fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        same_spec(self.name, operands)
    }

    fn eval(&self, _device: Device, _attrs: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        Ok(map(operands[0], &outputs[0], |x| if x < 0.0 { -x } else { 0.0 }))
    }

    fn run(&self, _attrs: &Attrs, operands: &[View<'_>], outputs: &mut [Out<'_>]) -> Result<bool, Error> {
        let below = |x: f64| if x < 0.0 { -x } else { 0.0 };
        let written = operands[0].len() - usize::from(self.mistake == Mistake::Unwritten && !operands[0].is_empty());
        (0..written).for_each(|i| outputs[0].put(i, below(operands[0].at_linear(i))));
        Ok(true)
    }

    fn saves(&self, _attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.residual()
    }

    fn alternatives(&self) -> &'static [Saves] {
        const RIGHT: &[Saves] = &[Saves::NOTHING.operand(0), Saves::NOTHING.output(0)];
        const POOR: &[Saves] = &[Saves::NOTHING.shape(0)];
        if self.mistake == Mistake::PoorAlternative { POOR } else { RIGHT }
    }

    fn residual(&'static self, _attrs: &Attrs, operands: &[&Tensor], _outputs: &[&Tensor]) -> Tensor {
        operands[0].lt(0.0)
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        cotangents[0].take().map_or_else(Gradients::new, |g| one(self.derivative(rule, &g)))
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        tangents.iter().map(|tangent| tangent.as_ref().map(|dx| self.derivative(rule, dx))).collect()
    }

    fn batch(&'static self, attrs: &Attrs, _: usize, operands: &[Tensor], _: Mask) -> Result<Outputs, Error> {
        Ok(Outputs::from_vec(vec![bind1(self, attrs.clone(), &[&operands[0]])]))
    }

    fn dependency(&self) -> Dependency {
        Dependency::Elementwise
    }

    fn cases(&self) -> Vec<Case> {
        let case = |shape: Shape| {
            Case::new(format!("shape {shape}"), Attrs::new(), [Sample::wave(shape, 0.4)], |s| {
                let data: Vec<f64> = s[0].data.iter().map(|x| (x.abs() - x) / 2.0).collect();
                vec![Sample::new(s[0].shape.clone(), data)]
            })
        };
        vec![case(Shape::from([])), case(Shape::from([3, 4])), case(Shape::from([0]))]
    }
}
