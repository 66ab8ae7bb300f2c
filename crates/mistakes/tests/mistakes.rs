//! The compiler's texts change from release to release, so they are compared with one release only.

use std::process::Command;

const RELEASE: &str = "rustc 1.95.0 ";

#[test]
fn mistakes_name_their_fix() {
    let version = Command::new("rustc").arg("--version").output().expect("the compiler tells its version").stdout;
    match String::from_utf8_lossy(&version).starts_with(RELEASE) {
        true => trybuild::TestCases::new().compile_fail("tests/ui/*.rs"),
        false => println!("skipped: the texts are those of {RELEASE}"),
    }
}
