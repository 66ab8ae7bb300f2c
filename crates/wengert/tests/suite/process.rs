//! Tests that run in their own process, without other tests.

use std::process::Command;

/// This binary again, running only one test: `module` is its `module_path!()`.
pub fn only(module: &str, test: &str) -> Command {
    let module = module.split_once("::").map_or("", |(_, inside)| inside);
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", &format!("{module}::{test}"), "--nocapture", "--test-threads=1"]);
    command
}

/// Runs the test in its own process; true inside that process.
pub fn alone(module: &str, test: &str) -> bool {
    if std::env::var_os("WENGERT_ALONE").is_some() {
        return true;
    }
    let status = only(module, test).env("WENGERT_ALONE", "1").status().unwrap();
    assert!(status.success(), "{test}");
    false
}
