//! Passes as text: a program before and after. `WENGERT_BLESS=1` rewrites what comes after the line.
//!
//! The files of a pass are in the folder of its name. The first line of a file is the rule that it shows, or what it is about.

use std::fs;
use std::path::{Path, PathBuf};
use wengert::prelude::*;
use wengert::primitive::Spec;
use wengert::program::{Equality, PASSES, Pass};

fn files(pass: &Pass) -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs").join(pass.name);
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

/// What the first line of a file says.
fn title(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim_start_matches("//").trim()
}

/// The rule of a pass that the first line of a file names.
fn equality(pass: &Pass, text: &str) -> Equality {
    pass.rules.iter().find(|rule| rule.equation == title(text)).map_or(Equality::Bits, |rule| rule.equality)
}

const WAVES: usize = 3;
const EDGES: [f64; 9] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 5e-324, 1.5, -2.25, 1e300];

/// Numbers for an input: plain ones in the first rounds, then edges, every one with every other.
fn input(spec: &Spec, number: usize, round: usize) -> Tensor {
    let (float, count) = (spec.dtype.is_float(), spec.shape.elements());
    let element = |place: usize| match round.checked_sub(WAVES) {
        _ if spec.dtype == DType::Bool => f64::from((place + number + round) % 2 == 0),
        None if float => 1.7 * (1.3 * place as f64 + 2.1 * number as f64 + 0.9 * round as f64 + 0.2).sin(),
        None => ((place * 7 + number * 3 + round) % 11) as f64,
        Some(edge) if float => EDGES[(place + edge / EDGES.len().pow(number as u32)) % EDGES.len()],
        Some(edge) => ((place + edge + number) % 5) as f64,
    };
    Tensor::from_vec((0..count).map(element).collect::<Vec<f64>>(), spec.shape.clone()).cast(spec.dtype)
}

/// The first place where two outputs differ more than they may.
fn difference(got: &Tensor, right: &Tensor, equality: Equality) -> Option<String> {
    assert_eq!(got.spec(), right.spec());
    let tolerance = if got.dtype() == DType::F64 { 1e-14 } else { 1e-6 };
    let same = |x: f64, y: f64| match equality {
        _ if x.is_nan() || y.is_nan() => x.is_nan() && y.is_nan(),
        Equality::Bits => x.to_bits() == y.to_bits(),
        Equality::Zeros => x == y,
        Equality::Rounding => x == y || (x - y).abs() <= tolerance * x.abs().max(y.abs()).max(1.0),
    };
    let (got, right) = (got.to_f64_vec(), right.to_f64_vec());
    let place = got.iter().zip(&right).position(|(x, y)| !same(*x, *y))?;
    Some(format!("{:?} at {place}, not {:?}", got[place], right[place]))
}

/// The pass makes of the first program the second, which computes the same.
fn check(pass: &Pass, path: &Path) {
    let text = fs::read_to_string(path).unwrap();
    let name = format!("{}/{}", pass.name, path.file_stem().unwrap().to_str().unwrap());
    let (before, expected) = text.split_once("---\n").unwrap_or((&text, ""));
    let program = Program::parse(before).unwrap_or_else(|error| panic!("{name}: {error}"));
    let after = pass.run(program.clone());
    after.verify().unwrap();
    if std::env::var_os("WENGERT_BLESS").is_some() {
        fs::write(path, format!("{before}---\n{after}")).unwrap();
    } else {
        let help = "WENGERT_BLESS=1 cargo test -p wengert --test passes accepts the new text";
        assert_eq!(after.to_string(), expected, "{name}: {help}");
    }
    let types = |program: &Program, vars: &[wengert::program::Var]| -> Vec<Spec> {
        vars.iter().map(|var| program.spec(*var).clone()).collect()
    };
    assert_eq!(types(&after, after.inputs()), types(&program, program.inputs()), "{name}: inputs");
    assert_eq!(types(&after, after.outputs()), types(&program, program.outputs()), "{name}: outputs");
    assert_eq!(pass.run(after.clone()).to_string(), after.to_string(), "{name}: a second run changes it");
    let specs = types(&program, program.inputs());
    // Two inputs meet at every pair of edges.
    for round in 0..WAVES + EDGES.len() * EDGES.len() {
        let inputs: Vec<Tensor> =
            specs.iter().enumerate().map(|(number, spec)| input(spec, number, round)).collect();
        match (program.evaluate(&inputs), after.evaluate(&inputs)) {
            (Ok(right), Ok(got)) => {
                for (position, (got, right)) in got.iter().zip(&right).enumerate() {
                    if let Some(found) = difference(got, right, equality(pass, &text)) {
                        panic!("{name}: output {position} for {inputs:?} is {found}");
                    }
                }
            }
            (Err(right), Err(got)) => assert_eq!(format!("{:?}", right.kind()), format!("{:?}", got.kind()), "{name}"),
            (right, got) => panic!("{name}: {right:?} became {got:?}"),
        }
    }
}

#[test]
fn every_file_shows_what_its_pass_does() {
    for pass in PASSES {
        let files = files(pass);
        assert!(files.len() >= 5, "{} has {} files", pass.name, files.len());
        files.iter().for_each(|path| check(pass, path));
    }
}

#[test]
fn every_rule_has_a_file_in_which_it_changes_the_program() {
    for pass in PASSES {
        let texts: Vec<String> = files(pass).iter().map(|path| fs::read_to_string(path).unwrap()).collect();
        for rule in pass.rules {
            let shown = |text: &&String| {
                let (before, after) = text.split_once("---\n").unwrap();
                let before = Program::parse(before).unwrap();
                title(text) == rule.equation && before.to_string() != after
            };
            assert!(texts.iter().any(|text| shown(&text)), "{}: no file shows '{}'", pass.name, rule.equation);
        }
    }
}
