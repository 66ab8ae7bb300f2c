//! Programs loaded from files.

use super::cache::place;
use super::staged::within_memory;
use super::{Compiled, CompiledStep};
use crate::autograd::modes::{detects_anomalies, is_packing, records_tape};
use crate::bind::try_bind;
use crate::location::{self, Line};
use crate::plan::{Input, Plan, PlanSummary, Runner, Target, runner};
use crate::primitive::{Primitive, Spec};
use crate::program::{File, Program};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Tensor, Tree};
use std::path::Path;
use std::sync::OnceLock;

/// A saved program, perhaps from another process. It does not need the function that was traced.
///
/// ```
/// use wengert::prelude::*;
/// let path = std::env::temp_dir().join(format!("wengert-loaded-{}.txt", std::process::id()));
/// let f = compile(|(x, w): &(Tensor, Tensor)| (x.matmul(w)).tanh());
/// let (x, w) = (Tensor::ones([2, 3]), Tensor::ones([3]));
/// f.save(&(x.clone(), w.clone()), &path).unwrap();
///
/// let loaded = Program::load(&path).unwrap();
/// let names: Vec<&str> = loaded.inputs().map(|(name, _)| name).collect();
/// assert_eq!(names, ["0", "1"]);
/// assert_eq!(loaded.call(&[x.clone(), w.clone()]).unwrap()[0], f.call(&(x.clone(), w.clone())));
///
/// // It can be differentiated, batched and compiled as any function.
/// let slope = grad(|w: &Tensor| loaded.call(&[x.clone(), w.clone()]).unwrap()[0].sum())(&w);
/// assert_eq!(slope.shape(), [3]);
/// # std::fs::remove_file(path).unwrap();
/// ```
pub struct Loaded {
    file: File,
    /// How it runs on concrete tensors, built on first use: the plan summary, and the runner.
    plan: OnceLock<(PlanSummary, Box<dyn Runner>)>,
}

fn failed(operation: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::File, operation, format!("{}: {error}", path.display()))
}

impl Program {
    /// Writes the program to a file that [`load`](Program::load) reads: versioned text with a checksum, exact to the bit. Inputs and
    /// outputs are named after their variables. Tensors that require gradients are saved as constants with their current values; functions
    /// with custom rules cannot be saved.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let path = std::env::temp_dir().join(format!("wengert-program-{}.txt", std::process::id()));
    /// let program = Program::parse("program(a: f64[]) {\n  b: f64[] = mul(a, a)\n  return b\n}").unwrap();
    /// program.save(&path).unwrap();
    /// assert_eq!(Program::load(&path).unwrap().program().to_string(), program.to_string());
    /// # std::fs::remove_file(path).unwrap();
    /// ```
    #[track_caller]
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let line = location::resolve(Line::caller());
        let names = |vars: &[crate::program::Var]| vars.iter().map(ToString::to_string).collect();
        save(self, "", names(self.inputs()), names(self.outputs()), path.as_ref()).map_err(|error| error.at(line))
    }

    /// Loads a program from a file.
    #[track_caller]
    pub fn load(path: impl AsRef<Path>) -> Result<Loaded, Error> {
        Program::load_with(path, &[])
    }

    /// Loads a program that may use the additional primitives in `extra`.
    #[track_caller]
    pub fn load_with(path: impl AsRef<Path>, extra: &[&'static dyn Primitive]) -> Result<Loaded, Error> {
        let (path, line) = (path.as_ref(), location::resolve(Line::caller()));
        let bytes = std::fs::read(path).map_err(|error| failed("load", path, &error));
        let file = bytes.and_then(|bytes| {
            let named = |error: Error| {
                let message = format!("{}: {}", path.display(), error.message());
                Error::new(error.kind().clone(), "load", message).help_of(&error)
            };
            File::read(&bytes, extra).map_err(named)
        });
        let file = file.map_err(|error| error.at(line))?;
        Ok(Loaded { file, plan: OnceLock::new() })
    }
}

/// Writes a program with the names of its inputs and outputs to a file.
pub(super) fn save(
    program: &Program,
    function: &str,
    inputs: Vec<String>,
    outputs: Vec<String>,
    path: &Path,
) -> Result<(), Error> {
    let file = File { function: function.into(), inputs, outputs, program: program.clone() };
    std::fs::write(path, file.text()?).map_err(|error| failed("save", path, &error))
}

impl<X: Tree, Y: Tree, F: Fn(&X) -> Y> Compiled<X, Y, F> {
    /// Writes the program of this input's signature to a file. Another process can run it without the function; see [`Loaded`] and
    /// [`Program::save`].
    #[track_caller]
    pub fn save(&self, x: &X, path: impl AsRef<Path>) -> Result<(), Error> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.staged(x);
        save(&staged.program(), &place(self.line), names("", x), names("", &staged.output), path.as_ref())
            .map_err(|error| error.at(line))
    }
}

impl<S: Tree, X: Tree, Y: Tree, F: Fn(&mut S, &X) -> Y> CompiledStep<S, X, Y, F> {
    /// Writes the program of this signature to a file. It maps the leaves of state and input to those of the new state and of the
    /// function's result. See [`Loaded`] and [`Program::save`].
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let path = std::env::temp_dir().join(format!("wengert-step-{}.txt", std::process::id()));
    /// let step = compile_step(|w: &mut Tensor, x: &Tensor| *w += x);
    /// step.save(&Tensor::from(1.0), &Tensor::from(2.0), &path).unwrap();
    /// let loaded = Program::load(&path).unwrap();
    /// assert_eq!(loaded.outputs().next().unwrap().0, "state");
    /// assert_eq!(loaded.call(&[Tensor::from(1.0), Tensor::from(2.0)]).unwrap()[0].item(), 3.0);
    /// # std::fs::remove_file(path).unwrap();
    /// ```
    #[track_caller]
    pub fn save(&self, state: &S, x: &X, path: impl AsRef<Path>) -> Result<(), Error> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.staged(state, x);
        let inputs = [names("state", state), names("", x)].concat();
        let outputs = [names("state", &staged.state), names("", &staged.output)].concat();
        save(&staged.program(), &place(self.line), inputs, outputs, path.as_ref()).map_err(|error| error.at(line))
    }
}

/// The paths of a tree's leaves, below `root`.
pub(super) fn names(root: &str, tree: &impl Tree) -> Vec<String> {
    let name = |(path, _): (String, &Tensor)| match (root.is_empty(), path.is_empty()) {
        (true, _) => path,
        (false, true) => root.into(),
        (false, false) => format!("{root}.{path}"),
    };
    tree.named_leaves().into_iter().map(name).collect()
}

impl Loaded {
    /// Parses the contents of such a file.
    pub fn parse(bytes: &[u8]) -> Result<Loaded, Error> {
        Ok(Loaded { file: File::read(bytes, &[])?, plan: OnceLock::new() })
    }

    /// The tree path and the spec of each input, in the order of a call.
    pub fn inputs(&self) -> impl Iterator<Item = (&str, &Spec)> {
        let specs = self.program().inputs().iter().map(|var| self.program().spec(*var));
        self.file.inputs.iter().map(String::as_str).zip(specs)
    }

    /// The tree path and the spec of each output; those of a step's new state begin with `state`.
    pub fn outputs(&self) -> impl Iterator<Item = (&str, &Spec)> {
        let specs = self.program().outputs().iter().map(|var| self.program().spec(*var));
        self.file.outputs.iter().map(String::as_str).zip(specs)
    }

    /// The source line of the traced function, as `file:line:column`; empty if the program was saved on its own.
    pub fn function(&self) -> &str {
        &self.file.function
    }

    /// The program as it was traced.
    pub fn program(&self) -> &Program {
        &self.file.program
    }

    /// How it runs on concrete tensors: its kernels and the memory that they need.
    pub fn plan(&self) -> PlanSummary {
        self.planned().0.clone()
    }

    fn planned(&self) -> &(PlanSummary, Box<dyn Runner>) {
        self.plan.get_or_init(|| {
            let program = self.program().optimised();
            let plan = Plan::new(&program, vec![None; program.outputs().len()], &Target::CPU);
            (plan.summary(&program), Box::new(runner(plan)))
        })
    }

    /// Computes the outputs for these inputs, which may belong to any transform. An error has the line of the function that was traced, and
    /// says where the program was called.
    #[track_caller]
    pub fn call(&self, inputs: &[Tensor]) -> Result<Vec<Tensor>, Error> {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        self.expect(inputs).map_err(|error| error.at(line))?;
        let number = |x: &Tensor| !matches!(x.value, Value::Tracer(_)) && (x.link.is_none() || !records_tape());
        let has_effect = self.program().has_effect();
        if !inputs.iter().all(number) || detects_anomalies() || (is_packing() && has_effect) {
            return self.step_by_step(inputs, line);
        }
        let (program, (_, runner)) = (self.program(), self.planned());
        let inputs: Vec<Tensor> = inputs.iter().map(Tensor::contiguous).collect();
        let run = || {
            let mut outputs: Vec<Tensor> =
                program.outputs().iter().map(|var| Tensor::blank(program.spec(*var))).collect();
            runner.run(&mut inputs.iter().map(Input::Read), &mut outputs.iter_mut(), line).map(|()| outputs)
        };
        match within_memory(run) {
            Ok(outputs) => Ok(outputs),
            Err(error) if has_effect => Err(error.at(line)),
            Err(error) => self.step_by_step(&inputs, line).and(Err(error.at(line))),
        }
    }

    fn expect(&self, inputs: &[Tensor]) -> Result<(), Error> {
        let wrong = |message: String| Err(Error::new(ErrorKind::Program, "call", message));
        if inputs.len() != self.file.inputs.len() {
            return wrong(format!("the program takes {} inputs, got {}", self.file.inputs.len(), inputs.len()));
        }
        for ((name, spec), input) in self.inputs().zip(inputs) {
            if *spec != input.spec() {
                return wrong(format!("input '{name}' is {}, the program takes {spec}", input.spec()));
            }
        }
        Ok(())
    }

    /// Runs one equation at a time; an error says which one failed, and where it came from.
    fn step_by_step(&self, inputs: &[Tensor], line: Line) -> Result<Vec<Tensor>, Error> {
        self.program().evaluate_by(inputs, |number, equation, operands| {
            let own = equation.line.unwrap_or(line);
            try_bind(equation.op, equation.attrs.clone(), operands, own).map_err(|error| {
                let called = format!("equation {number} of the saved program, called at {}", place(line));
                let message = format!("{} ({called})", error.message());
                let told = Error::new(error.kind().clone(), error.operation(), message).help_of(&error);
                told.at(error.line().unwrap_or(own))
            })
        })
    }
}
