//! `gradcheck` detects wrong derivatives, locates them, and distinguishes them from kinks.

use wengert::prelude::*;
use wengert::primitive::{
    Adjoints, Attrs, Case, Device, Gradient, Gradients, Mask, Outputs, Primitive, Rule, Saves, Spec, SpecRef, Specs,
    bind1,
};
use wengert::{GradFault, GradReport};

/// The mistake in a faulty square.
#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    Reverse,
    Forward,
    /// The first derivative is right, but uses a constant.
    Second,
}

/// my_square - y = x^2, possibly with a mistake.
struct Square(Mistake);

static RIGHT: Square = Square(Mistake::None);
static WRONG_REVERSE: Square = Square(Mistake::Reverse);
static WRONG_FORWARD: Square = Square(Mistake::Forward);
static WRONG_SECOND: Square = Square(Mistake::Second);

impl Primitive for Square {
    fn name(&self) -> &'static str {
        "my_square"
    }
    fn operands(&self) -> usize {
        1
    }
    fn infer(&self, _: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        Ok(Specs::from_iter([operands[0].to_spec()]))
    }
    fn eval(&self, _: Device, _: &Attrs, operands: &[&Tensor], outputs: &[Spec]) -> Result<Outputs, Error> {
        let squares: Vec<f64> = operands[0].to_f64_vec().iter().map(|x| x * x).collect();
        Ok(Outputs::from_iter([Tensor::from_vec(squares, outputs[0].shape.clone())]))
    }
    fn saves(&self, _: &Attrs, _: Mask) -> Saves {
        Saves::NOTHING.operand(0)
    }
    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let g = cotangents[0].take().expect("the only output has a cotangent");
        let factor = if self.0 == Mistake::Reverse { 3.0 } else { 2.0 };
        let x = rule.operand(0);
        let x = if self.0 == Mistake::Second { x.detach() } else { x.clone() };
        Gradients::from_iter([Gradient::Dense(g * x * factor)])
    }
    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let factor = if self.0 == Mistake::Forward { -2.0 } else { 2.0 };
        Adjoints::from_iter([tangents[0].as_ref().map(|tangent| tangent * rule.operand(0) * factor)])
    }
    fn cases(&self) -> Vec<Case> {
        vec![]
    }
}

fn square(op: &'static Square, x: &Tensor) -> Tensor {
    bind1(op, Attrs::new(), &[x])
}

#[derive(Tree)]
struct Layer {
    weight: Tensor,
    bias: Option<Tensor>,
    labels: Tensor,
}

fn layer() -> Layer {
    Layer {
        weight: Tensor::from([[0.3, -0.7], [0.2, 0.9]]),
        bias: Some(Tensor::from([0.1, -0.4])),
        labels: Tensor::from([1i64, 0]),
    }
}

#[test]
fn a_right_operation_passes_to_second_order_in_both_modes() {
    let f = |x: &Tensor| square(&RIGHT, &x.sin()).sum();
    let report = GradCheck::new().second_order().run(f, &Tensor::from([0.4, -1.3, 2.0])).unwrap();
    assert_eq!(report.checked(), 3 * 2 + 3 * 2);
    assert!(report.rows().is_empty() && report.largest_error() < 1e-9, "{report}");
    assert!(report.to_string().starts_with("gradcheck: 12 of 12 derivatives agree"), "{report}");
}

#[test]
fn trees_go_in_and_out_and_whole_numbers_are_passed_along() {
    let f = |layer: &Layer| {
        let y = layer.weight.matmul(&layer.weight) + layer.bias.as_ref().unwrap();
        (y.gather(1, &layer.labels.reshape([2, 1])), y.tanh(), layer.labels.clone())
    };
    let report = gradcheck(f, &layer()).unwrap();
    assert_eq!(report.checked(), 6 * 2 * 2);
}

#[test]
fn a_wrong_reverse_rule_is_named_by_mode_leaf_and_element() {
    let f = |layer: &Layer| square(&WRONG_REVERSE, layer.bias.as_ref().unwrap()).sum() + layer.weight.sum();
    let mismatch = gradcheck(f, &layer()).unwrap_err();
    let wrong: Vec<&str> = mismatch.report().wrong().map(|row| row.input()).collect();
    assert_eq!(wrong, ["bias[0]", "bias[1]"]);
    let row = &mismatch.report().rows()[1];
    assert_eq!(row.output(), "y");
    assert!((row.analytic() + 1.2).abs() < 1e-12 && (row.numeric() + 0.8).abs() < 1e-9);
    let text = mismatch.to_string();
    assert!(text.starts_with("gradcheck: 2 of 12 derivatives are wrong; the largest error elsewhere is "), "{text}");
    let lines: Vec<&str> = text.lines().skip(1).collect();
    assert_eq!(lines[0], "  mode     of  by       analytic       numeric         error");
    assert!(lines[2].starts_with("  reverse  y   bias[1]  -1.20000000e0  -"), "{text}");
    assert!(lines[2].ends_with("4.0e-1  wrong"), "{text}");
}

#[test]
fn a_wrong_forward_rule_is_found_although_the_reverse_rule_is_right() {
    let f = |x: &Tensor| square(&WRONG_FORWARD, x);
    let mismatch = gradcheck(f, &Tensor::from([0.5, 1.0])).unwrap_err();
    assert_eq!(mismatch.report().wrong().count(), 2);
    assert!(mismatch.to_string().contains("forward  y   x[1]"), "{mismatch}");
    GradCheck::new().reverse_only().run(f, &Tensor::from([0.5, 1.0])).unwrap();
    assert!(GradCheck::new().forward_only().run(f, &Tensor::from([0.5, 1.0])).is_err());
}

#[test]
fn a_rule_that_is_wrong_to_second_order_only_is_found_there() {
    let f = |x: &Tensor| square(&WRONG_SECOND, x).sum();
    let x = Tensor::from([0.5, 1.0]);
    gradcheck(f, &x).unwrap();
    let mismatch = GradCheck::new().second_order().run(f, &x).unwrap_err();
    assert!(mismatch.to_string().contains("reverse of reverse  d/dx  x[0]"), "{mismatch}");
    assert!(mismatch.to_string().contains("forward of reverse"), "{mismatch}");
}

fn kinks(report: &GradReport) -> Vec<(&str, GradFault)> {
    report.rows().iter().map(|row| (row.input(), row.fault())).collect()
}

#[test]
fn a_kink_is_said_to_be_one_and_is_not_an_error() {
    let f = |x: &Tensor| x.relu().sum();
    for x in [0.0, 3e-5, -3e-5, 6e-5, -9e-5] {
        let report = GradCheck::new().reverse_only().run(f, &Tensor::from([1.0, x, -1.0])).unwrap();
        assert_eq!(kinks(&report), [("x[1]", GradFault::Kink)], "at {x}: {report}");
        assert!(report.to_string().contains("kink: the slope jumps here"), "{report}");
        assert!(report.to_string().starts_with("gradcheck: 2 of 3 derivatives agree, 1 at kinks"), "{report}");
    }
}

#[test]
fn a_wrong_rule_of_a_steep_curve_is_not_called_a_kink() {
    let f = |x: &Tensor| square(&WRONG_REVERSE, &(x * 40.0).sin()).sum();
    let mismatch = gradcheck(f, &Tensor::from([0.3])).unwrap_err();
    assert_eq!(mismatch.report().rows()[0].fault(), GradFault::Wrong);
}

#[test]
fn a_function_that_is_smooth_on_a_small_scale_only_is_right() {
    for (f, x) in [
        ((|x: &Tensor| x.recip()) as fn(&Tensor) -> Tensor, 1e-8),
        (|x| x.square().recip(), 1e-5),
        (|x| (x * 1e6).sin(), 1.0),
    ] {
        let report = gradcheck(f, &Tensor::from(x)).unwrap();
        assert_eq!(report.rows().len(), 0, "{report}");
    }
    // A wrong derivative stays wrong, however small the step.
    let wrong = |x: &Tensor| square(&WRONG_REVERSE, &x.recip());
    assert_eq!(gradcheck(wrong, &Tensor::from(1e-8)).unwrap_err().report().rows()[0].fault(), GradFault::Wrong);
}

#[test]
fn the_edge_of_the_domain_is_said_to_be_one() {
    let report = gradcheck(|x: &Tensor| x.sqrt().sum(), &Tensor::from([1.0, 2e-5])).unwrap();
    assert_eq!(kinks(&report), [("x[1]", GradFault::Edge); 2]);
}

#[test]
fn a_sample_of_elements_is_enough_for_large_leaves() {
    let x = Tensor::arange(1000).cast(DType::F64) * 0.01;
    let report = GradCheck::new().elements(10).run(|x: &Tensor| x.sin(), &x).unwrap();
    assert_eq!(report.checked(), 20);
}

#[test]
fn single_precision_and_functions_with_a_memory_are_errors_with_help() {
    let error = catch(|| gradcheck(|x: &Tensor| x.exp(), &Tensor::from([1.0f32]))).unwrap_err();
    assert!(error.to_string().contains("the input is f32[1]; finite differences need f64"), "{error}");
    assert!(error.line().unwrap().file().ends_with("gradcheck.rs"));
    let error = catch(|| gradcheck(|x: &Tensor| x.cast(DType::F32), &Tensor::from([1.0]))).unwrap_err();
    assert!(error.to_string().contains("the output is f32[1]"), "{error}");
    let calls = std::cell::Cell::new(0.0);
    let counting = |x: &Tensor| {
        calls.set(calls.get() + 1.0);
        x * calls.get()
    };
    let error = catch(|| gradcheck(counting, &Tensor::from([1.0]))).unwrap_err();
    assert!(error.to_string().contains("two calls with the same input"), "{error}");
}

#[test]
fn nothing_to_check_is_fine() {
    assert_eq!(gradcheck(|x: &Tensor| x.exp(), &Tensor::zeros([0])).unwrap().checked(), 0);
    assert_eq!(gradcheck(|(): &()| Tensor::from(1.0), &()).unwrap().checked(), 0);
}
