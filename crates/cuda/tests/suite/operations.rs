//! Every primitive on its test cases: what has kernels gives the numbers of the processor, what has none is an error, and stands in a list.

use super::emulator::Emulator;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "device")]
use wengert::backend::Place;
use wengert::backend::{Backend, Cpu, Plan, Runner, Target};
use wengert::prelude::*;
use wengert::primitive::{Case, Dependency, PRIMITIVES, Primitive, bind};
use wengert_cuda::lower::lower;

/// A primitive on a case, whose floats have this dtype, or the gradient of the sum of its outputs.
struct Trial {
    op: &'static dyn Primitive,
    case: Case,
    dtype: DType,
    is_gradient: bool,
}

/// Only asks whether a plan has kernels.
struct Asked;

impl Backend for Asked {
    fn target(&self) -> Target {
        wengert_cuda::TARGET
    }

    fn runner(&self, plan: Plan) -> Result<Box<dyn Runner>, Error> {
        lower(&plan, 90)?;
        Err(Error::new(ErrorKind::Device, "asked", "it has kernels"))
    }
}

impl Trial {
    fn operands(&self) -> Vec<Tensor> {
        self.case.operands.iter().map(|sample| sample.tensor(self.dtype)).collect()
    }

    fn call(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let call = |x: &Vec<Tensor>| bind(self.op, self.case.attrs.clone(), &x.iter().collect::<Vec<_>>()).into_vec();
        match self.is_gradient {
            true => grad(|x: &Vec<Tensor>| call(x)[0].sum())(&operands.to_vec()),
            false => call(&operands.to_vec()),
        }
    }

    /// What a device lacks for it; `None` if it has kernels.
    fn missing(&self) -> Option<String> {
        let called = compile(|x: &Vec<Tensor>| self.call(x)).on(Arc::new(Asked));
        let error = catch(|| called.call(&self.operands())).err()?;
        (error.operation() != "asked").then(|| error.message().to_string())
    }
}

/// All trials on a backend, as one program.
fn run(trials: &[Trial], backend: Arc<dyn Backend>) -> Vec<Vec<Tensor>> {
    let all = |x: &Vec<Vec<Tensor>>| trials.iter().zip(x).map(|(trial, x)| trial.call(x)).collect::<Vec<_>>();
    compile(all).on(backend).call(&trials.iter().map(Trial::operands).collect())
}

fn is_near(a: f64, b: f64, tolerance: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * (1.0 + b.abs())
}

/// All trials that have kernels, and what the others lack, a line for each primitive.
fn trials() -> (Vec<Trial>, String) {
    let (mut trials, mut missing) = (Vec::new(), String::new());
    for &op in PRIMITIVES.iter() {
        let mut lacks = None;
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            for case in op.cases() {
                let trial = Trial { op, case, dtype, is_gradient: false };
                match trial.missing() {
                    None => trials.push(trial),
                    Some(message) => lacks = lacks.or(Some(message)),
                }
            }
        }
        if let Some(message) = lacks {
            writeln!(missing, "{}: {message}", op.name()).unwrap();
        }
    }
    (trials, missing)
}

/// The numbers of a backend that are not those of the processor.
fn wrong(trials: &[Trial], backend: &dyn Fn() -> Arc<dyn Backend>) -> Vec<String> {
    let mut wrong = Vec::new();
    for some in trials.chunks(60) {
        let (found, right) = (run(some, backend()), run(some, Arc::new(Cpu)));
        for (trial, (found, right)) in some.iter().zip(found.iter().zip(&right)) {
            let tolerance = match trial.dtype {
                DType::F64 => 1e-11,
                DType::F32 => 3e-5,
                _ => 2e-2,
            };
            for (output, (found, right)) in found.iter().zip(right).enumerate() {
                let mut numbers = found.to_f64_vec().into_iter().zip(right.to_f64_vec());
                if let Some((a, b)) = numbers.find(|(a, b)| !is_near(*a, *b, tolerance)) {
                    let Trial { op, case, dtype, is_gradient } = trial;
                    let of = if *is_gradient { "gradient of " } else { "" };
                    wrong.push(format!("{of}{} ({}) in {dtype}, output {output}: {a}, not {b}", op.name(), case.label));
                }
            }
        }
    }
    wrong
}

#[test]
fn every_primitive_has_the_numbers_of_the_processor_or_is_refused() {
    let (trials, missing) = trials();
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/missing.txt");
    if std::env::var_os("WENGERT_BLESS").is_some() {
        std::fs::write(&file, &missing).unwrap();
    }
    assert_eq!(std::fs::read_to_string(&file).unwrap_or_default(), missing, "WENGERT_BLESS=1 writes the list anew");
    assert!(trials.len() > 300, "{} cases have kernels", trials.len());
    let wrong = wrong(&trials, &|| Arc::new(Emulator("operations")));
    assert!(wrong.is_empty(), "{} wrong numbers:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn slopes_of_elementwise_primitives_have_the_numbers_of_the_processor() {
    let (mut trials, mut missing) = (Vec::new(), Vec::new());
    let elementwise = |op: &&&'static dyn Primitive| op.dependency() == Dependency::Elementwise && op.differentiable();
    for &op in PRIMITIVES.iter().filter(elementwise) {
        for dtype in [DType::F32, DType::F64] {
            for case in op.cases().into_iter().filter(|case| case.operands.iter().all(|it| it.dtype.is_float())) {
                let values = Trial { op, case, dtype, is_gradient: false };
                if !values.call(&values.operands())[0].dtype().is_float() {
                    continue;
                }
                let trial = Trial { is_gradient: true, ..values };
                missing.extend(trial.missing().map(|message| format!("{}: {message}", op.name())));
                trials.push(trial);
            }
        }
    }
    assert!(missing.is_empty(), "{}", missing.join("\n"));
    let wrong = wrong(&trials, &|| Arc::new(Emulator("slopes")));
    assert!(wrong.is_empty(), "{} wrong numbers:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn conversions_of_numbers_that_do_not_fit() {
    let x = Tensor::from([0.5f32, -0.25, 0.0, 256.0, f32::NAN, -3.7]);
    let f = |x: &Tensor| (x.cast(DType::Bool), x.cast(DType::I64), x.cast(DType::I64).cast(DType::Bool));
    let (truth, whole, both) = compile(f).on(Arc::new(Emulator("casts"))).call(&x);
    let right = compile(f).call(&x);
    assert_eq!((truth, whole, both), right);
    assert_eq!(right.1.to_vec::<i64>(), [0, 0, 0, 256, 0, -3]);
}

#[test]
fn a_refused_operation_is_named_with_its_line() {
    let (f, line) = (compile(|x: &Tensor| x.sort(0).0), line!());
    let error = catch(|| f.on(Arc::new(Asked)).call(&Tensor::from([2.0f32, 1.0]))).unwrap_err();
    let place = error.line().expect("a line").to_string();
    assert!(error.message().contains("sort") && place.contains(&format!("operations.rs:{line}:")), "{error}");
}

#[cfg(feature = "device")]
#[test]
fn every_primitive_has_the_numbers_of_the_processor_on_a_gpu() {
    let wrong = wrong(&trials().0, &|| Device::Cuda(0).backend().unwrap());
    assert!(wrong.is_empty(), "{} wrong numbers:\n{}", wrong.len(), wrong.join("\n"));
}
