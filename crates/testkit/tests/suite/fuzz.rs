//! Random programs: every transform agrees with every other.
//!
//! `WENGERT_FUZZ=5000 cargo test -p wengert-testkit fuzz` tries that many; a seed that fails is printed with its program, truncated after
//! the first step that fails.

use std::collections::BTreeMap;
use wengert::primitive::PRIMITIVES;
use wengert_testkit::fuzz::{Composition, Formula, RandomLoop, SavedFiles, verify};
use wengert_testkit::parallel;

/// The number of programs to try.
fn programs(usual: u64) -> u64 {
    let asked = std::env::var("WENGERT_FUZZ").ok();
    asked.map_or(usual, |number| number.parse().expect("WENGERT_FUZZ is a number of programs"))
}

#[test]
fn all_transforms_agree_on_random_compositions() {
    // Primitives take turns, so a longer list of them needs more programs.
    let programs = programs(PRIMITIVES.len() as u64);
    let (mut uses, mut numeric, mut failures) = (BTreeMap::new(), 0, Vec::new());
    let verified = parallel(programs as usize, |seed| verify(&Composition::random(seed as u64, 6 + seed % 9)));
    for (seed, verified) in verified.into_iter().enumerate() {
        match verified {
            Ok(verified) => {
                numeric += u64::from(verified.numeric);
                verified.primitives.into_iter().for_each(|name| *uses.entry(name).or_insert(0usize) += 1);
            }
            Err(message) => failures.push(format!("\nseed {seed}: {message}")),
        }
    }
    assert!(failures.is_empty(), "{} of {programs} disagree:{}", failures.len(), failures.concat());
    println!("{uses:?}\nfinite differences in {numeric} of {programs}");
    assert!(numeric * 10 >= programs * 7, "finite differences were compared in {numeric} of {programs} only");
    for op in PRIMITIVES.iter().filter(|op| op.differentiable()) {
        let count = uses.get(op.name()).copied().unwrap_or(0);
        assert!(count >= 4, "{} was used {count} times only", op.name());
    }
}

#[test]
fn random_formulas_agree_with_hyper_dual_numbers() {
    let mut used = Vec::new();
    for seed in 0..programs(120) {
        let formula = Formula::random(seed, 4 + seed as usize % 12);
        formula.verify().unwrap();
        used.extend(formula.names());
    }
    for name in ["add", "sub", "mul", "div", "neg", "recip", "sqrt", "exp", "log", "sin", "cos", "tanh", "relu"] {
        assert!(used.iter().filter(|used| **used == name).count() >= 20, "{name} was hardly used");
    }
}

#[test]
fn random_loops_agree_with_scans_and_compiled_scans() {
    let failures: Vec<String> = (0..programs(200))
        .filter_map(|seed| RandomLoop::random(seed).verify().err().map(|message| format!("\nseed {seed}: {message}")))
        .collect();
    assert!(failures.is_empty(), "{} loops disagree:{}", failures.len(), failures[..failures.len().min(3)].concat());
}

/// `cargo run --release -p wengert-testkit -- files 1000000` tries more.
#[test]
fn changed_files_are_refused_or_do_what_they_say() {
    let files = SavedFiles::new();
    let tally = files.run(0..programs(4000), |_| ());
    let wrong: Vec<&String> = tally.panics.iter().chain(&tally.differences).take(3).collect();
    assert!(tally.is_clean(), "{tally}\n{wrong:?}");
    println!("{tally}");
    assert!(tally.refused * 2 > tally.tried && tally.ran * 20 > tally.tried, "{tally}");
}
