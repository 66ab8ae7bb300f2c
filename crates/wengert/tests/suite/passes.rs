//! Passes as text: a program before and after. `WENGERT_BLESS=1` rewrites the part after the line.
//!
//! The files of a pass are in the folder with its name. The first line of a file names the rule it shows, or its subject.

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

/// The text of the first line of a file.
fn title(text: &str) -> &str {
    text.lines().next().unwrap_or("").trim_start_matches("//").trim()
}

/// The rule of a pass that the first line of a file names.
fn equality(pass: &Pass, text: &str) -> Equality {
    pass.rules.iter().find(|rule| rule.equation == title(text)).map_or(Equality::Bits, |rule| rule.equality)
}

const WAVES: usize = 3;
const EDGES: [f64; 9] = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 0.0, -0.0, 5e-324, 1.5, -2.25, 1e300];

/// Values for an input: ordinary ones in the first rounds, then edge cases, in all combinations.
fn input(spec: &Spec, number: usize, round: usize) -> Tensor {
    let (float, count) = (spec.dtype.is_float(), spec.shape.elements());
    let element = |place: usize| match round.checked_sub(WAVES) {
        _ if spec.dtype == DType::Bool => f64::from((place + number + round).is_multiple_of(2)),
        None if float => 1.7 * (1.3 * place as f64 + 2.1 * number as f64 + 0.9 * round as f64 + 0.2).sin(),
        None => ((place * 7 + number * 3 + round) % 11) as f64,
        Some(edge) if float => EDGES[(place + edge / EDGES.len().pow(number as u32)) % EDGES.len()],
        Some(edge) => ((place + edge + number) % 5) as f64,
    };
    Tensor::from_vec((0..count).map(element).collect::<Vec<f64>>(), spec.shape.clone()).cast(spec.dtype)
}

/// The first element where two outputs differ more than allowed.
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

/// The pass turns the first program into the second, which computes the same.
fn check(pass: &Pass, path: &Path) -> Result<(), String> {
    let text = fs::read_to_string(path).unwrap();
    let name = format!("{}/{}", pass.name, path.file_stem().unwrap().to_str().unwrap());
    let (before, expected) = text.split_once("---\n").unwrap_or((&text, ""));
    let program = Program::parse(before).map_err(|error| format!("{name}: {error}"))?;
    let after = pass.run(program.clone());
    after.verify().unwrap();
    if std::env::var_os("WENGERT_BLESS").is_some() {
        fs::write(path, format!("{before}---\n{after}")).unwrap();
    } else if after.to_string() != expected {
        let help = "WENGERT_BLESS=1 cargo test -p wengert passes accepts the new text";
        return Err(format!("{name} gives\n{after}{help}"));
    }
    let types = |program: &Program, vars: &[wengert::program::Var]| -> Vec<Spec> {
        vars.iter().map(|var| program.spec(*var).clone()).collect()
    };
    assert_eq!(types(&after, after.inputs()), types(&program, program.inputs()), "{name}: inputs");
    assert_eq!(types(&after, after.outputs()), types(&program, program.outputs()), "{name}: outputs");
    let again = pass.run(after.clone());
    if again.to_string() != after.to_string() {
        return Err(format!("{name}: a second run gives\n{again}"));
    }
    let specs = types(&program, program.inputs());
    // Two inputs take every pair of edge cases.
    for round in 0..WAVES + EDGES.len() * EDGES.len() {
        let inputs: Vec<Tensor> = specs.iter().enumerate().map(|(number, spec)| input(spec, number, round)).collect();
        match (program.evaluate(&inputs), after.evaluate(&inputs)) {
            (Ok(right), Ok(got)) => {
                for (position, (got, right)) in got.iter().zip(&right).enumerate() {
                    if let Some(found) = difference(got, right, equality(pass, &text)) {
                        return Err(format!("{name}: output {position} for {inputs:?} is {found}"));
                    }
                }
            }
            (Err(right), Err(got)) if right.kind() == got.kind() => {}
            (right, got) => return Err(format!("{name}: {right:?} became {got:?}")),
        }
    }
    Ok(())
}

#[test]
fn every_file_shows_what_its_pass_does() {
    let mut failures = Vec::new();
    for pass in PASSES {
        let files = files(pass);
        assert!(files.len() >= 5, "{} has {} files", pass.name, files.len());
        failures.extend(files.iter().filter_map(|path| check(pass, path).err()));
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
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

type Layers = Vec<(Tensor, Tensor)>;

/// Weights and biases of a perceptron with these widths.
fn perceptron(widths: &[usize], dtype: DType) -> Layers {
    let wave = |shape: &[usize], phase: f64| {
        let count = shape.iter().product::<usize>();
        let numbers: Vec<f64> = (0..count).map(|i| 0.4 * (1.7 * i as f64 + phase).sin()).collect();
        Tensor::from_vec(numbers, shape).cast(dtype)
    };
    widths.windows(2).map(|pair| (wave(&[pair[1], pair[0]], 0.3), wave(&[pair[1]], 1.1))).collect()
}

/// The cross-entropy of a batch.
fn loss(layers: &Layers, x: &Tensor, targets: &Tensor) -> Tensor {
    let (last, hidden) = layers.split_last().unwrap();
    let h = hidden.iter().fold(x.clone(), |h, (w, b)| h.linear_bias(w, b).relu());
    h.linear_bias(&last.0, &last.1).cross_entropy(targets, &CrossEntropy::default())
}

/// The program of a training step of a perceptron with three layers, and its inputs.
fn training_step(dtype: DType) -> (Program, Vec<Tensor>) {
    let layers = perceptron(&[16, 32, 32, 10], dtype);
    let x = perceptron(&[16, 8], dtype).remove(0).0;
    let targets = Tensor::from([0i64, 1, 2, 3, 4, 5, 6, 7]);
    let step = |(layers, x): &(Layers, Tensor)| value_and_grad(|layers: &Layers| loss(layers, x, &targets))(layers);
    let inputs = (layers, x);
    (compile(step).program(&inputs), inputs.leaves().into_iter().cloned().collect())
}

fn names(program: &Program) -> Vec<&'static str> {
    program.equations().iter().map(|equation| equation.op.name()).collect()
}

/// Both programs give the same results.
fn agree(before: &Program, after: &Program, inputs: &[Tensor], tolerance: f64) {
    let (right, got) = (before.evaluate(inputs).unwrap(), after.evaluate(inputs).unwrap());
    for (got, right) in got.iter().zip(&right) {
        assert!(got.all_close(right, tolerance), "{got} is not {right}\n{before}{after}");
    }
}

#[test]
fn a_training_step_holds_no_packed_bits_and_nothing_before_a_relu() {
    for (dtype, tolerance) in [(DType::F64, 1e-14), (DType::F32, 1e-6)] {
        let (program, inputs) = training_step(dtype);
        let optimised = program.optimised();
        agree(&program, &optimised, &inputs, tolerance);
        assert!(!names(&optimised).iter().any(|name| ["pack_positive", "select_bits", "div"].contains(name)));
        let relus: Vec<_> = optimised.equations().iter().filter(|equation| equation.op.name() == "relu").collect();
        assert_eq!(relus.len(), 2);
        for relu in relus {
            let readers = optimised.equations().iter().filter(|equation| equation.inputs.contains(&relu.inputs[0]));
            assert_eq!(readers.count(), 1, "only the relu reads what comes before it\n{optimised}");
        }
    }
}

#[test]
fn programs_settle() {
    for program in [training_step(DType::F32).0, long_program(200)] {
        let optimised = program.optimised();
        assert_eq!(optimised.optimised().to_string(), optimised.to_string());
        for pass in PASSES {
            assert_eq!(pass.run(optimised.clone()).to_string(), optimised.to_string(), "{}", pass.name);
        }
    }
}

#[test]
fn equations_keep_the_lines_they_came_from() {
    let x = Tensor::from([[1.0, -2.0], [3.0, 0.5]]);
    let first = line!() + 1;
    let f = |x: &Tensor| (x.relu() * 2.0).sum();
    let program = compile(grad(f)).program(&x).optimised();
    assert!(!program.equations().is_empty());
    for equation in program.equations() {
        let line = equation.line.expect("traced");
        assert!(line.file().ends_with("passes.rs") && (first..first + 2).contains(&line.line()), "{line}");
    }
}

#[test]
fn captured_leaves_are_no_constants() {
    let w = Tensor::from(2.0).require_grad();
    let f = compile(|x: &Tensor| x * &w * &w);
    let program = f.program(&Tensor::from(3.0)).optimised();
    assert_eq!(program.captures().len(), 1);
    assert!(program.captures()[0].1.requires_grad());
    assert_eq!(names(&program), ["mul", "mul"]);
    program.evaluate(&[Tensor::from(3.0)]).unwrap()[0].backward();
    assert_eq!(w.grad().unwrap().item(), 12.0);
}

#[test]
fn empty_tensors_pass() {
    let text = "program(a: f64[0, 3], b: f64[]) {
  c: f64[0, 3] = broadcast[shape=[0, 3]](b)
  d: f64[0, 3] = mul(a, c)
  e: f64[0, 3] = exp(c)
  f: f64[0, 3] = add(d, e)
  g: f64[3] = sum[axes=[0]](f)
  h: f64[3] = sum[axes=[0]](c)
  i: f64[3, 0] = transpose[permutation=[1, 0]](f)
  j: f64[0] = reshape[shape=[0]](i)
  return g, h, j
}";
    let program = Program::parse(text).unwrap();
    let inputs = [Tensor::zeros([0, 3]), Tensor::from(f64::INFINITY)];
    agree(&program, &program.optimised(), &inputs, 0.0);
}

#[test]
fn an_operation_of_the_user_is_not_taken_for_a_built_in_one() {
    use wengert::primitive::{Attrs, Case, Device, Outputs, Primitive, SpecRef, Specs};
    /// Not the negation.
    struct Neg(f64);
    impl Primitive for Neg {
        fn name(&self) -> &'static str {
            "neg"
        }
        fn operands(&self) -> usize {
            1
        }
        fn infer(&self, _attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
            Ok(Specs::from_vec(vec![operands[0].to_spec()]))
        }
        fn eval(&self, _: Device, _: &Attrs, operands: &[&Tensor], _: &[Spec]) -> Result<Outputs, Error> {
            Ok(Outputs::from_vec(vec![operands[0] + self.0]))
        }
        fn cases(&self) -> Vec<Case> {
            vec![]
        }
    }
    static OWN: Neg = Neg(1.0);
    let text = "program(a: f64[]) {\n  b: f64[] = neg(a)\n  c: f64[] = neg(b)\n  return c\n}";
    let program = Program::parse_with(text, &[&OWN]).unwrap();
    assert_eq!(program.optimised().evaluate(&[Tensor::from(3.0)]).unwrap()[0].item(), 5.0);
}

#[test]
fn gradients_of_parts_are_joined_again() {
    let f = |x: &Tensor| {
        let (a, b, c) = (x.slice((.., 0..2)), x.slice((.., 2..5)), x.slice((.., 5..6)));
        a.sin().sum() + b.exp().sum() + c.tanh().sum()
    };
    let x = Tensor::from_vec((0..12).map(|i| 0.1 * f64::from(i)).collect(), [2, 6]);
    let program = compile(grad(f)).program(&x);
    let optimised = program.optimised();
    agree(&program, &optimised, &[x], 1e-15);
    assert!(names(&optimised).contains(&"concat") && !names(&optimised).contains(&"slice_add"), "{optimised}");
}

#[test]
fn weights_shared_by_a_batch_make_one_product() {
    let w = Tensor::from([[0.5, -1.0], [2.0, 0.25], [1.0, 1.0]]);
    let f = vmap(|x: &Tensor| x.matmul(&w).tanh());
    let x = Tensor::from_vec((0..24).map(|i| 0.1 * f64::from(i)).collect(), [4, 2, 3]);
    let program = compile(f).program(&x);
    let optimised = program.optimised();
    agree(&program, &optimised, &[x], 1e-15);
    let product = optimised.equations().iter().find(|equation| equation.op.name() == "matmul").unwrap();
    assert_eq!(optimised.spec(product.outputs[0]).to_string(), "f64[8, 2]", "{optimised}");
}

/// A chain of everything that passes look for, with about `count` equations.
fn long_program(count: usize) -> Program {
    let f = |x: &Tensor| {
        let mut h = x.clone();
        for step in 0..count / 26 {
            let shifted = (&h * 0.5 + 1.0 / (1.0 + step as f64)).tanh();
            h = -(-(shifted.t().t() * 1.0)) + h.sin() * h.sin().detach();
            h = h.reshape([16]).reshape([4, 4]) - (&h - h.sum_over(keepdim(1)) * 0.25).relu();
        }
        h.sum()
    };
    compile(f).program(&Tensor::zeros([4, 4]))
}

#[test]
fn long_programs_shrink_like_short_ones() {
    let [short, long] = [3000, 6000].map(|count| {
        let (before, after) = (long_program(count), long_program(count).optimised());
        (before.equations().len(), after.equations().len())
    });
    assert!((2500..3500).contains(&short.0), "{short:?}");
    assert!(3 * short.1 < 2 * short.0, "{short:?}");
    assert!(long.1.abs_diff(2 * short.1) < 20, "{short:?}, {long:?}");
}
