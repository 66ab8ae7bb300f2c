//! The account of memory agrees with the statistics of the pool, to the byte.

use super::turn;
use wengert::memory::statistics;
use wengert::prelude::*;
use wengert::view::memory_report;

const BYTES: usize = 8 << 16;

#[test]
fn changes_of_operations_add_up_to_the_statistics() {
    let _turn = turn();
    let x = Tensor::linspace(0.1, 0.9, 1 << 16).require_grad();
    let live = || statistics().live_bytes;
    let before = live();
    let (loss, report) = memory_report(|| {
        let y = x.exp();
        (y.sin() * &y).sum()
    });
    let change = live() as isize - before as isize;
    assert_eq!(report.change(), change);
    assert_eq!(report.changes().iter().map(|change| change.bytes).sum::<isize>(), change);
    let of = |operation: Option<&str>| {
        let own = report.changes().into_iter().filter(|change| change.operation == operation);
        own.map(|change| change.bytes).sum::<isize>() as f64 / BYTES as f64
    };
    // Each makes a vector; that of the product is dropped again after the sum.
    for (operation, vectors) in [(Some("exp"), 1.0), (Some("sin"), 1.0), (Some("mul"), 1.0), (None, -1.0)] {
        assert!((of(operation) - vectors).abs() < 0.02, "{operation:?}: {}", of(operation));
    }
    assert!(report.peak() >= before + 3 * BYTES && report.peak() < before + 4 * BYTES);
    // The records keep two of them: the product reads both, and the others read one of them.
    let first: usize = report.saved().iter().filter(|value| value.is_first).map(|value| value.bytes).sum();
    assert_eq!((first, Tape::of(&loss).bytes()), (2 * BYTES, 2 * BYTES));
    let text = report.to_string();
    assert!(text.contains("kept by exp for its output") && text.contains("kept by mul for its operand 0"), "{text}");
    drop(loss);
    assert_eq!(live(), before);
}

#[test]
fn memory_that_is_used_again_holds_another_value() {
    let _turn = turn();
    let x = Tensor::linspace(0.1, 0.9, 1 << 16).require_grad();
    let (y, report) = memory_report(|| {
        for _ in 0..3 {
            x.tanh().sum().backward();
        }
        let y = x.exp();
        y.sum();
        y
    });
    let exp = report.saved().iter().find(|value| value.operation == "exp").expect("exp saves its output");
    assert!(exp.is_first && exp.is_of(&y));
    assert!(report.saved().iter().all(|value| value.operation == "exp" || !value.is_of(&y)));
    let why = report.why_alive(&y);
    assert!(why.len() == 2 && why[0].starts_with("kept by exp for its output"), "{why:?}");
    assert!(report.by_line().iter().any(|(line, bytes)| *line == exp.line && *bytes == BYTES));
}

#[test]
fn what_a_backward_pass_frees_belongs_to_it() {
    let _turn = turn();
    let x = Tensor::linspace(0.1, 0.9, 1 << 16).require_grad();
    let loss = x.tanh().tanh().sum();
    let ((), report) = memory_report(|| loss.backward());
    // Two activations are gone, and a gradient is there.
    assert!((report.change() as f64 / BYTES as f64 + 1.0).abs() < 0.02, "{report}");
    assert!(report.changes().iter().any(|change| change.is_backward && change.operation == Some("tanh")), "{report}");
}
