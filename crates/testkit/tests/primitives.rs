//! Every built-in primitive, checked on its cases.

use wengert::primitive::PRIMITIVES;
use wengert_testkit::try_check;

#[test]
fn every_primitive_is_right_in_every_aspect() {
    let mut failures = Vec::new();
    for op in PRIMITIVES {
        let start = std::time::Instant::now();
        let wrong = try_check(*op).err().unwrap_or_default();
        println!("{:<16} {:>4} failures, {:>5} ms", op.name(), wrong.len(), start.elapsed().as_millis());
        failures.extend(wrong);
    }
    let lines: Vec<String> = failures.iter().map(|failure| format!("\n  {failure}")).collect();
    assert!(failures.is_empty(), "{} failures:{}", failures.len(), lines.concat());
}
