//! Every primitive on its test cases: what has kernels gives the numbers of the processor, what has none is an error, and stands in a list.

use super::emulator::Emulator;
use std::fmt::Write;
use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "device")]
use wengert::backend::Place;
use wengert::backend::{Backend, Cpu, Plan, Runner, Target};
use wengert::prelude::*;
use wengert::primitive::{Attrs, Case, Dependency, PRIMITIVES, Primitive, bind};
use wengert_compiler::program::ProgramAttrs;
use wengert_cuda::calls::TABLE;
use wengert_cuda::lower::lower;
use wengert_kernels::functions::Function;

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

    fn name(&self) -> String {
        let of = if self.is_gradient { "gradient of " } else { "" };
        format!("{of}{} ({}) in {}", self.op.name(), self.case.label, self.dtype)
    }

    /// How numbers differ from the right ones by more than their digits allow.
    fn difference(&self, found: &[Tensor], right: &[Tensor]) -> Option<String> {
        let tolerance = match self.dtype {
            DType::F64 => 1e-11,
            DType::F32 => 3e-5,
            _ => 2e-2,
        };
        found.iter().zip(right).enumerate().find_map(|(output, (found, right))| {
            let mut numbers = found.to_f64_vec().into_iter().zip(right.to_f64_vec());
            let (a, b) = numbers.find(|(a, b)| !is_near(*a, *b, tolerance))?;
            Some(format!("{}, output {output}: {a}, not {b}", self.name()))
        })
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

/// Whether all operands have a few elements.
fn is_short(case: &Case) -> bool {
    case.operands.iter().all(|sample| (2..100).contains(&sample.data.len()))
}

/// The cases of a primitive with a few elements.
fn few(op: &dyn Primitive) -> Vec<Case> {
    op.cases().into_iter().filter(is_short).collect()
}

/// All trials that have kernels, and what the others lack, a line for each primitive.
fn trials() -> (Vec<Trial>, String) {
    let (mut trials, mut missing) = (Vec::new(), String::new());
    for &op in PRIMITIVES.iter() {
        let mut lacks = None;
        for dtype in [DType::F32, DType::F64, DType::BF16] {
            let is_loop = !TABLE.iter().any(|(name, _)| *name == op.name());
            // Loops have the same text for all dtypes; calls choose kernels by them. Programs inside are of f64.
            let is_tried = |case: &Case| match case.attrs.bodies().next() {
                Some(_) => dtype == DType::F64,
                None => dtype == DType::F32 || !is_loop || is_short(case),
            };
            for case in op.cases().into_iter().filter(is_tried) {
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
    for some in trials.chunks(120) {
        let right = run(some, Arc::new(Cpu));
        match catch(|| run(some, backend())) {
            Ok(found) => {
                let each = some.iter().zip(found.iter().zip(&right));
                wrong.extend(each.filter_map(|(trial, (found, right))| trial.difference(found, right)));
            }
            // One by one, to name what fails.
            Err(_) => wrong.extend(some.iter().zip(&right).filter_map(|(trial, right)| {
                match catch(|| run(std::slice::from_ref(trial), backend())) {
                    Ok(found) => trial.difference(&found[0], right),
                    Err(error) => Some(format!("{}: {error}", trial.name())),
                }
            })),
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
            for case in few(op) {
                if !case.operands.iter().all(|sample| sample.dtype.is_float()) {
                    continue;
                }
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
fn functions_far_from_their_usual_arguments() {
    let halves =
        [0.0, 1e-300, 1e-8, 0.03, 0.3, 0.5, 0.7, 0.999, 1.0, 1.5, 2.0, 3.3, 7.5, 12.0, 19.9, 20.1, 26.6, 38.0, 171.5];
    let large = [710.0, 1e3, 1e8, 1e200, f64::INFINITY];
    let x: Vec<f64> = halves.iter().chain(&large).flat_map(|x| [*x, -*x]).chain([f64::NAN]).collect();
    let orders = [0, 1, 2, 3, 30, 171];
    let functions = || PRIMITIVES.iter().copied().filter(|op| Function::ALL.iter().any(|it| it.name() == op.name()));
    let f = |x: &Tensor| {
        let values = functions().map(|op| bind(op, Attrs::new(), &[x])[0].clone());
        values.chain(orders.map(|n| x.polygamma(n))).collect::<Vec<_>>()
    };
    for (dtype, tolerance) in [(DType::F64, 1e-12), (DType::F32, 3e-5)] {
        let x = Tensor::from(&x[..]).cast(dtype);
        let (found, right) = (compile(f).on(Arc::new(Emulator("far"))).call(&x), compile(f).call(&x));
        let mut wrong = Vec::new();
        for (number, (found, right)) in found.iter().zip(&right).enumerate() {
            for (x, (a, b)) in x.to_f64_vec().into_iter().zip(found.to_f64_vec().into_iter().zip(right.to_f64_vec())) {
                let name = functions().nth(number).map_or("polygamma", |op| op.name());
                // Its reflection cancels.
                let absolute = if name == "polygamma" { 1e-14 } else { 1e-300 };
                if !(a == b || (a.is_nan() && b.is_nan()) || (a - b).abs() <= tolerance * b.abs() + absolute) {
                    wrong.push(format!("{name} at {x:e} in {dtype}: {a:e}, not {b:e}"));
                }
            }
        }
        assert!(wrong.is_empty(), "{} wrong numbers:\n{}", wrong.len(), wrong.join("\n"));
    }
}

#[test]
fn integers_wrap_and_saturate_as_on_the_processor() {
    let f = |(x, y): &(Tensor, Tensor)| {
        let whole = [x + y, x - y, x * y, -x, x.abs(), x.square(), x.sign(), x.floor(), x.ceil(), x.trunc(), x.round()];
        let two = [x.fmod(y), x.remainder(y), x.floor_divide(y), x.maximum(y), x.minimum(y)];
        let powers = [0.0, 1.0, 3.0, 63.0].map(|exponent| x.powf(exponent));
        let clamped = [x.clamp(1, 100), x.clamp_min(2), x.clamp_max(2)];
        whole.into_iter().chain(two).chain(powers).chain(clamped).collect::<Vec<_>>()
    };
    let numbers = [0, 1, -1, 2, -7, 100, 1000, i64::from(i32::MIN), i64::from(i32::MAX), i64::MIN, i64::MAX, 3];
    let pairs = || numbers.iter().flat_map(|x| numbers.iter().map(move |y| (*x, *y)));
    let (x, y): (Vec<i64>, Vec<i64>) = pairs().unzip();
    for dtype in [DType::I64, DType::I32, DType::U8] {
        let operands = (Tensor::from(&x[..]).cast(dtype), Tensor::from(&y[..]).cast(dtype));
        let found = compile(f).on(Arc::new(Emulator("integers"))).call(&operands);
        for (number, (found, right)) in found.iter().zip(f(&operands)).enumerate() {
            assert_eq!(found.as_bytes(), right.as_bytes(), "{dtype}, result {number}");
        }
    }
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
    let (f, line) = (compile(|x: &Tensor| x.matmul(x)), line!());
    let error = catch(|| f.on(Arc::new(Asked)).call(&Tensor::from([[2i64, 1], [3, 4]]))).unwrap_err();
    let place = error.line().expect("a line").to_string();
    assert!(error.message().contains("product of i64") && place.contains(&format!("operations.rs:{line}:")), "{error}");
}

#[cfg(feature = "device")]
#[test]
fn every_primitive_has_the_numbers_of_the_processor_on_a_gpu() {
    let wrong = wrong(&trials().0, &|| Device::Cuda(0).backend().unwrap());
    assert!(wrong.is_empty(), "{} wrong numbers:\n{}", wrong.len(), wrong.join("\n"));
}

#[cfg(feature = "device")]
#[test]
fn operations_on_tensors_of_a_gpu() {
    let mut wrong = Vec::new();
    for trial in trials().0.iter().filter(|trial| trial.dtype == DType::F32 && !trial.is_gradient) {
        let operands = trial.operands();
        let right = trial.call(&operands);
        let found =
            catch(|| trial.call(&operands.iter().map(|operand| operand.to(Device::Cuda(0))).collect::<Vec<_>>()));
        match found {
            Ok(found) => wrong.extend(trial.difference(&found, &right)),
            Err(error) => wrong.push(format!("{}: {error}", trial.name())),
        }
    }
    assert!(wrong.is_empty(), "{} wrong numbers:\n{}", wrong.len(), wrong.join("\n"));
}
