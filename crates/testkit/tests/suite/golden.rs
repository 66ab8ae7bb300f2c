//! Reference numbers of another system: values, gradients and second gradients of whole calls.
//!
//! `data/golden_ops.jsonl.gz` holds calls of 447 operations with PyTorch's numbers for them. An operation counts as covered
//! when its adapter, one public call, is in the table of its family under `golden/`. `WENGERT_GOLDEN=<file>` reads another
//! record, plain or compressed. `cargo test -p wengert-testkit golden -- --nocapture` prints what is missing.

mod call;
mod case;
mod elementwise;
mod indexing;
mod linalg;
mod networks;
mod products;
mod reductions;
mod shape;

use call::Call;
use case::{Case, Part};
use flate2::read::GzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use wengert::Tensor;

/// One public call on the recorded arguments; all outputs, in the recorded order.
pub type Adapter = fn(&Call) -> Vec<Tensor>;

/// Numbers that differ on purpose: the operation, the cases (all of them if empty), the parts, and the reason.
pub type Exception = (&'static str, &'static [usize], &'static [Part], &'static str);

/// A table of adapters, sorted by name, and the deviations among them.
pub type Family = (&'static str, &'static [(&'static str, Adapter)], &'static [Exception]);

const FAMILIES: &[Family] = &[
    ("elementwise", elementwise::ADAPTERS, elementwise::EXCEPTIONS),
    ("indexing", indexing::ADAPTERS, indexing::EXCEPTIONS),
    ("linalg", linalg::ADAPTERS, linalg::EXCEPTIONS),
    ("networks", networks::ADAPTERS, networks::EXCEPTIONS),
    ("products", products::ADAPTERS, products::EXCEPTIONS),
    ("reductions", reductions::ADAPTERS, reductions::EXCEPTIONS),
    ("shape", shape::ADAPTERS, shape::EXCEPTIONS),
];

/// How many operations were covered when this file was last touched. It only grows.
const FLOOR: usize = 428;

#[test]
fn recorded_calls_have_the_recorded_values_gradients_and_second_gradients() {
    let mut cases: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in recorded() {
        cases.entry(case.op.clone()).or_default().push(case);
    }
    let adapters: BTreeMap<&str, Adapter> =
        FAMILIES.iter().flat_map(|(_, table, _)| *table).map(|(name, adapter)| (*name, *adapter)).collect();
    let (mut passed, mut failures, mut needed) = (0, Vec::new(), BTreeSet::new());
    for (op, cases) in &cases {
        let Some(adapter) = adapters.get(op.as_str()) else { continue };
        for case in cases {
            let mut wrong = case.run(*adapter);
            let agrees = wrong.is_empty();
            wrong.retain(|(part, _)| {
                let exception = exceptions().position(|exception| excuses(exception, case, *part));
                needed.extend(exception);
                exception.is_none()
            });
            passed += usize::from(agrees);
            failures.extend((!wrong.is_empty()).then_some((case, wrong)));
        }
    }
    let covered = cases.keys().filter(|op| adapters.contains_key(op.as_str())).count();
    let missing: Vec<&str> = cases.keys().map(String::as_str).filter(|op| !adapters.contains_key(op)).collect();
    println!("not covered: {}", missing.join(" "));
    for (case, wrong) in &failures {
        for (part, text) in wrong {
            println!("{} case {}: {part}: {text}", case.op, case.number);
        }
    }
    for (op, numbers, parts, reason) in exceptions() {
        println!("different on purpose: {op} {numbers:?} {parts:?}: {reason}");
    }
    let idle: Vec<String> = exceptions()
        .enumerate()
        .filter(|(index, exception)| cases.contains_key(exception.0) && !needed.contains(index))
        .map(|(_, (op, _, parts, reason))| format!("{op} {parts:?}: {reason}"))
        .collect();
    idle.iter().for_each(|line| println!("exception that nothing needs: {line}"));
    let (all, failed) = (cases.len(), failures.len());
    println!("golden: {covered} of {all} operations covered, {passed} cases passed, {failed} failed");
    assert!(failed == 0, "{failed} cases differ; run with --nocapture for the list");
    // Another record may lack the cases that an exception is about.
    let chosen_record = std::env::var_os("WENGERT_GOLDEN").is_some();
    assert!(chosen_record || idle.is_empty(), "exceptions that nothing needs: {idle:#?}");
    assert!(chosen_record || covered >= FLOOR, "{covered} operations are covered, {FLOOR} were before");
}

#[test]
fn each_table_is_sorted_and_names_an_operation_once() {
    let mut seen = BTreeSet::new();
    for (family, table, _) in FAMILIES {
        let unsorted = table.windows(2).find(|pair| pair[0].0 >= pair[1].0);
        assert!(unsorted.is_none(), "{family}: {:?} is not in its place", unsorted.map(|pair| pair[1].0));
        for (name, _) in *table {
            assert!(seen.insert(*name), "{family}: {name} has another adapter");
        }
    }
    let recorded: BTreeSet<String> = recorded().into_iter().map(|case| case.op).collect();
    let unknown = seen.iter().find(|name| !recorded.contains(**name));
    assert!(std::env::var_os("WENGERT_GOLDEN").is_some() || unknown.is_none(), "{unknown:?} is not in the record");
}

/// The outputs of a call that returns two.
pub fn pair((first, second): (Tensor, Tensor)) -> Vec<Tensor> {
    vec![first, second]
}

fn exceptions() -> impl Iterator<Item = &'static Exception> {
    FAMILIES.iter().flat_map(|(_, _, exceptions)| *exceptions)
}

fn excuses((op, numbers, parts, _): &Exception, case: &Case, part: Part) -> bool {
    *op == case.op && parts.contains(&part) && (numbers.is_empty() || numbers.contains(&case.number))
}

/// The built-in record, or the one that the environment names.
fn recorded() -> Vec<Case> {
    let built_in = || Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden_ops.jsonl.gz");
    let path = std::env::var_os("WENGERT_GOLDEN").map_or_else(built_in, Into::into);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let plain: Box<dyn Read> = match path.extension().is_some_and(|extension| extension == "gz") {
        true => Box::new(GzDecoder::new(file)),
        false => Box::new(file),
    };
    let lines = BufReader::new(plain).lines().map(|line| line.expect("a line of text"));
    lines.map(|line| Case::new(serde_json::from_str(&line).expect("a line is a case"))).collect()
}
