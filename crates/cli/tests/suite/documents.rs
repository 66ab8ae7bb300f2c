//! The committed pages of the operations are what would be generated.

use std::path::Path;
use wengert_cli::docs::faults;

#[test]
fn committed_pages_are_fresh() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/ops");
    let faults = faults(&directory).expect("the pages can be read");
    assert!(faults.is_empty(), "run `cargo run -- docs` at the root of the project: {faults:?}");
}
