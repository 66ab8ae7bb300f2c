//! The doctor finds planted faults and names their lines, and finds nothing in healthy networks.

use wengert::nn::{BatchNorm, Context, Conv2d, Flatten, Gru, Layer, Linear, Relu, Sequential, sequential};
use wengert::prelude::*;
use wengert_view::{Diagnosis, Doctor, Fault, Finding, doctor};

/// The only fault; notes are not counted.
#[track_caller]
fn only(diagnosis: &Diagnosis) -> &Finding {
    let faults: Vec<&Finding> = diagnosis.findings().iter().filter(|finding| !finding.fault.is_note()).collect();
    assert_eq!(faults.len(), 1, "{diagnosis}");
    faults[0]
}

/// The only fault is of this kind, at this line of this file, and concerns these parameters.
#[track_caller]
fn is(diagnosis: &Diagnosis, fault: Fault, line: u32, parameters: &[&str]) {
    let finding = only(diagnosis);
    assert_eq!(finding.fault, fault, "{diagnosis}");
    let found = finding.line.unwrap_or_else(|| panic!("no line: {diagnosis}"));
    assert!(found.file().ends_with("doctor.rs") && found.line() == line, "not line {line}: {diagnosis}");
    assert_eq!(finding.parameters, parameters, "{diagnosis}");
    let text = diagnosis.to_string();
    assert!(text.contains(fault.name()) && text.contains("help:") && text.contains("doctor.rs"), "{text}");
}

type Layers = (Tensor, Tensor, Tensor);

/// Three square matrices.
fn layers() -> Layers {
    let mut key = Key::new(0);
    let mut matrix = || key.next().normal([8, 8], DType::F64) * 0.35;
    (matrix(), matrix(), matrix())
}

fn input() -> Tensor {
    Tensor::randn([16, 8], 5)
}

#[test]
fn a_detached_branch() {
    let x = input();
    let line = line!() + 2;
    let loss = |(a, b, c): &Layers| {
        let hidden = x.matmul(a).tanh().detach();
        hidden.matmul(b).tanh().matmul(c).square().mean()
    };
    is(&doctor(loss, &layers()), Fault::Detached, line, &["0"]);
}

#[test]
fn a_branch_under_no_grad() {
    let x = input();
    let line = line!() + 2;
    let loss = |(a, b, c): &Layers| {
        let hidden = no_grad(|| x.matmul(a));
        hidden.tanh().matmul(b).tanh().matmul(c).square().mean()
    };
    is(&doctor(loss, &layers()), Fault::Detached, line, &["0"]);
}

#[test]
fn an_unused_parameter() {
    let x = input();
    let line = line!() + 1;
    let loss = |(a, _, c): &Layers| x.matmul(a).tanh().matmul(c).square().mean();
    is(&doctor(loss, &layers()), Fault::Unused, line, &["1"]);
    // A loss that depends on nothing has no record: the line is that of the call.
    let (line, diagnosis) = (line!(), doctor(|_: &Tensor| Tensor::from(1.0), &Tensor::from([1.0])));
    is(&diagnosis, Fault::Unused, line, &[""]);
}

#[test]
fn an_integer_parameter() {
    let x = input();
    let model = (Tensor::randn([8, 2], 0), Tensor::from([3i64, 4]));
    let line = line!() + 1;
    let loss = |(w, shift): &(Tensor, Tensor)| (x.matmul(w) + shift.cast(DType::F64)).square().mean();
    is(&doctor(loss, &model), Fault::Integer, line, &["1"]);
}

#[test]
fn a_layer_scaled_to_almost_nothing() {
    let (x, (a, b, c)) = (input(), layers());
    let line = line!() + 2;
    let loss = |(a, b, c): &Layers| {
        let y = x.matmul(a).tanh().matmul(b);
        (y.tanh().matmul(c) - 1.0).square().mean()
    };
    is(&doctor(loss, &(a, b * 1e-12, c)), Fault::Vanishing, line, &["0"]);
}

#[test]
fn a_layer_scaled_to_a_million() {
    let (x, (a, b, c)) = (input(), layers());
    let line = line!() + 2;
    let loss = |(a, b, c): &Layers| {
        let y = x.matmul(a).tanh().matmul(b);
        y.matmul(c).abs().mean()
    };
    is(&doctor(loss, &(a, b * 1e6, c)), Fault::Exploding, line, &["0"]);
}

#[test]
fn the_logarithm_of_zero() {
    let x = Tensor::from([[1.0, 0.0], [2.0, 3.0]]);
    let line = line!() + 1;
    let loss = |w: &Tensor| (&x * w).log().sum();
    let diagnosis = doctor(loss, &Tensor::from([2.0, 0.5]));
    let first = &diagnosis.findings()[0];
    assert_eq!((first.fault, first.operation.as_deref()), (Fault::NotFinite, Some("log")), "{diagnosis}");
    assert!(first.message.contains("-inf at [0, 1] from 0"), "{diagnosis}");
    assert_eq!(first.line.map(|found| found.line()), Some(line));
}

#[test]
fn the_slope_of_a_root_at_zero() {
    let x = Tensor::from([[1.0, 0.0], [2.0, 3.0]]);
    let line = line!() + 1;
    is(&doctor(|w: &Tensor| (&x * w).sqrt().sum(), &Tensor::from([2.0, 0.5])), Fault::GradientNotFinite, line, &[""]);
}

#[test]
fn a_layer_of_dead_rectifiers() {
    let x = input();
    let line = line!() + 2;
    let loss = |(a, b, c): &Layers| {
        let hidden = (x.matmul(a) - 50.0).relu();
        (hidden.matmul(b).tanh().matmul(c) - x.matmul(c)).square().mean() + b.square().sum()
    };
    is(&doctor(loss, &layers()), Fault::DeadRectifier, line, &["0"]);
}

#[test]
fn a_rule_with_a_wrong_sign() {
    let x = input();
    // The rule is named by the line where it was made.
    let line = line!() + 1;
    let wrong = custom_vjp(|x: &Tensor| (x.tanh(), x.tanh()), |y: &Tensor, dy: &Tensor| dy * (y.square() - 1.0));
    let loss = |(a, b, c): &Layers| {
        let hidden = wrong(&x.matmul(a));
        hidden.matmul(b).tanh().matmul(c).square().mean()
    };
    is(&doctor(loss, &layers()), Fault::WrongRule, line, &["0"]);
}

#[test]
fn a_parameter_in_two_places_is_a_note() {
    let (x, (a, _, c)) = (input(), layers());
    let line = line!() + 3;
    let loss = |(a, b, c): &Layers| {
        let hidden = x.matmul(a).tanh();
        hidden.matmul(b).tanh().matmul(c).square().mean()
    };
    let diagnosis = doctor(loss, &(a.clone(), a.clone(), c.clone()));
    assert!(diagnosis.is_healthy() && diagnosis.findings().len() == 1, "{diagnosis}");
    let finding = &diagnosis.findings()[0];
    assert_eq!((finding.fault, finding.line.map(|found| found.line())), (Fault::Shared, Some(line)), "{diagnosis}");
    assert_eq!(finding.parameters, ["0", "1"]);
    assert!(Doctor::new().tied("0", "1").run(loss, &(a.clone(), a, c)).findings().is_empty());
}

#[test]
fn a_loss_that_fails_or_is_no_number_is_reported() {
    let failing = doctor(|w: &Tensor| w.matmul(&Tensor::zeros([3, 3])).sum(), &Tensor::zeros([2, 2]));
    assert_eq!((only(&failing).fault, only(&failing).operation.as_deref()), (Fault::Failed, Some("matmul")));
    assert!(only(&failing).line.is_some());
    let vector = doctor(|w: &Tensor| w * 2.0, &Tensor::zeros([2]));
    assert!(only(&vector).message.contains("f64[2], not one number"), "{vector}");
}

#[test]
fn a_recurrence_that_forgets() {
    let line = line!() + 2;
    let loss = |(start, w): &(Tensor, Tensor)| {
        let last = (0..60).fold(start.clone(), |h, _| (h * w).tanh());
        last.sum()
    };
    is(&doctor(loss, &(Tensor::from(1.0), Tensor::from(0.5))), Fault::Vanishing, line, &["0", "1"]);
}

/// Healthy models at their start, in f64 and f32.
#[test]
fn nothing_is_found_in_healthy_networks() {
    let healthy = |diagnosis: Diagnosis| assert!(diagnosis.findings().is_empty(), "{diagnosis}");
    let labels = Tensor::arange(16).remainder(4);
    let cross_entropy = |logits: Tensor| logits.cross_entropy(&labels, &CrossEntropy::new());
    for dtype in [DType::F64, DType::F32] {
        let key = &mut Key::new(0);
        let (perceptron, reader, memory): (Sequential, Sequential, (Gru, Linear)) = default_dtype(dtype, || {
            (
                sequential![Linear::new(8, 32, key), Relu, Linear::new(32, 32, key), Relu, Linear::new(32, 4, key)],
                sequential![Conv2d::new(1, 4, 3, key), BatchNorm::new(4), Relu, Flatten, Linear::new(144, 4, key)],
                (Gru::new(8, 16, key), Linear::new(16, 4, key)),
            )
        });
        let x = input().cast(dtype);
        let training = || Context::training(Key::new(1));
        healthy(doctor(|model: &Sequential| cross_entropy(model.forward(&x, &mut training())), &perceptron));
        let images = Tensor::randn([16, 1, 8, 8], 2).cast(dtype);
        healthy(doctor(|model: &Sequential| cross_entropy(model.forward(&images, &mut training().of(model))), &reader));
        let sequence = Tensor::randn([5, 16, 8], 3).cast(dtype);
        healthy(doctor(
            |(rnn, output): &(Gru, Linear)| {
                cross_entropy(output.forward(&rnn.last(&sequence, &mut training()), &mut training()))
            },
            &memory,
        ));
    }
}

#[test]
fn a_report_is_data_too() {
    let line = line!() + 1;
    let loss = |(a, _): &(Tensor, Tensor)| a.square().sum();
    let diagnosis = doctor(loss, &(Tensor::from(1.0), Tensor::from(2.0)));
    let place = diagnosis.findings()[0].line.expect("a line");
    assert_eq!(place.line(), line);
    assert_eq!(
        diagnosis.json(),
        r#"{"loss":1.0,"parameters":2,"findings":[{"fault":"unused","note":false,"parameters":["1"],"operation":null,"#
            .to_string()
            + &format!(r#""line":"{place}","#)
            + r#""message":"the loss does not depend on `1`","suggestion":"use it, or remove it; a number read with item() or to_vec() is a constant"}]}"#
    );
}
