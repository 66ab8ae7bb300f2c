//! Reference values from another system: values, gradients and second gradients of whole calls.
//!
//! `data/golden_ops.jsonl.gz` holds calls of 447 operations with PyTorch's results. Every call also runs under `compile`, `jvp` and `vmap`,
//! and is compared with itself. An operation counts as covered if its adapter, one public call, is in the table of its family under
//! `golden/`, and one of its recorded outputs has elements. `WENGERT_GOLDEN=<file>` reads another record, plain or compressed.
//! `cargo test -p wengert-testkit golden -- --nocapture` prints what is missing and what is excused.

mod call;
mod case;
mod compare;
mod elementwise;
mod indexing;
mod linalg;
mod modes;
mod networks;
mod products;
mod reductions;
mod shape;

use call::Call;
use case::{Case, Check};
use flate2::read::GzDecoder;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use wengert::Tensor;

/// One public call on the recorded arguments; returns all outputs, in the recorded order.
pub type Adapter = fn(&Call) -> Vec<Tensor>;

/// Checks that are expected to fail: the operation, its cases, the checks, and the reason.
pub type Exception = (&'static str, &'static [usize], &'static [Check], &'static str);

/// A table of adapters, sorted by name, and their exceptions.
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

/// The number of operations covered when this file was last changed. It only grows.
const FLOOR: usize = 427;

#[test]
fn recorded_calls_have_the_recorded_numbers_and_the_same_ones_in_every_mode() {
    let mut cases: BTreeMap<String, Vec<Case>> = BTreeMap::new();
    for case in recorded() {
        cases.entry(case.op.clone()).or_default().push(case);
    }
    let adapters: BTreeMap<&str, Adapter> =
        FAMILIES.iter().flat_map(|(_, table, _)| *table).map(|(name, adapter)| (*name, *adapter)).collect();
    let mut counts: BTreeMap<Check, usize> = BTreeMap::new();
    let (mut passed, mut failures, mut excused) = (0, Vec::new(), BTreeSet::new());
    for (op, cases) in &cases {
        let Some(adapter) = adapters.get(op.as_str()) else { continue };
        for case in cases {
            for (check, wrong) in case.run(*adapter) {
                *counts.entry(check).or_default() += 1;
                match wrong {
                    None => passed += 1,
                    Some(_) if is_excused(case, check) => drop(excused.insert((op.as_str(), case.number, check))),
                    Some(text) => failures.push(format!("{op} case {}: {check}: {text}", case.number)),
                }
            }
        }
    }
    failures.iter().for_each(|line| println!("{line}"));

    for (op, numbers, checks, reason) in exceptions() {
        let count = numbers.len() * checks.len();
        println!("excused {count}: {op}, cases {numbers:?}, {checks:?}: {reason}");
    }
    let of_exception = |(op, numbers, checks, _): &'static Exception| {
        numbers.iter().flat_map(move |number| checks.iter().map(move |check| (*op, *number, *check)))
    };
    let idle: Vec<_> = exceptions().flat_map(of_exception).filter(|check| !excused.contains(check)).collect();
    idle.iter().for_each(|(op, number, check)| println!("exception that nothing needs: {op} case {number}: {check}"));

    // An operation whose outputs have no elements was not compared.
    let is_covered =
        |(op, cases): &(&String, &Vec<Case>)| adapters.contains_key(op.as_str()) && !cases.iter().all(Case::is_empty);
    let (covered, missing): (Vec<_>, Vec<_>) = cases.iter().partition(is_covered);
    let missing: Vec<&str> = missing.into_iter().map(|(op, _)| op.as_str()).collect();
    println!("not covered: {}", missing.join(" "));
    let (covered, all, failed) = (covered.len(), cases.len(), failures.len());
    let counts: Vec<String> =
        Check::ALL.iter().map(|check| format!("{check} {}", counts.get(check).unwrap_or(&0))).collect();
    println!(
        "golden: {passed} passed, {failed} failed, {} excused ({covered} operations covered of {all}, checks: {})",
        excused.len(),
        counts.join(", ")
    );
    assert!(failed == 0, "{failed} checks failed; run with --nocapture for the list");
    // Another record may lack the cases of an exception.
    let chosen_record = std::env::var_os("WENGERT_GOLDEN").is_some();
    assert!(chosen_record || idle.is_empty(), "exceptions that nothing needs: {idle:?}");
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

fn is_excused(case: &Case, check: Check) -> bool {
    exceptions()
        .any(|(op, numbers, checks, _)| *op == case.op && numbers.contains(&case.number) && checks.contains(&check))
}

/// The built-in record, or the one named by the environment variable.
fn recorded() -> Vec<Case> {
    let built_in = || Path::new(env!("CARGO_MANIFEST_DIR")).join("data/golden_ops.jsonl.gz");
    let path = std::env::var_os("WENGERT_GOLDEN").map_or_else(built_in, Into::into);
    let file = File::open(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let plain: Box<dyn Read> = match path.extension().is_some_and(|extension| extension == "gz") {
        true => Box::new(GzDecoder::new(file)),
        false => Box::new(file),
    };
    let lines = BufReader::new(plain).lines().map(|line| line.expect("a line of text"));
    lines.map(|line| Case::new(&serde_json::from_str(&line).expect("a line is a case"))).collect()
}
