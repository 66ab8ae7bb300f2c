//! Staging: traces a function once per signature, then runs the program.

mod cache;
mod captured;
mod debug;
mod loaded;
mod staged;
mod step;
mod twice;

pub use cache::{SignatureSummary, log_compilations};
pub use debug::{Debugger, Run, RunStep, Statistics};
pub use loaded::Loaded;
pub use step::{CompiledStep, compile_step};

use crate::Tree;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::plan::{Place, PlanSummary};
use crate::program::{Precision, Program, Split};
use staged::{Cache, Pair, Staged};
use std::sync::Arc;

/// A function that is traced once for each signature of its input.
pub struct Compiled<X, Y, F> {
    function: F,
    line: Line,
    cache: Cache<(), Y>,
    input: std::marker::PhantomData<fn(&X)>,
}

/// Stages `f`: its Rust code runs once for each new signature of shapes, dtypes and static fields; calls run the recorded program. Captured
/// tensors are constants of the program, except leaves that require gradients: these are operands of every call, receive gradients, and are
/// read with their current values, also after updates inside `no_grad`; values computed only from them are part of the program. Plain Rust
/// values, and tensors behind a `RefCell` that do not require gradients, are frozen at the first call: pass anything that changes as an
/// input. If several threads call with a new signature at the same time, each may run the code; one program is kept.
///
/// On tensors of a transform or of the imperative tape, a call is a single operation whose derivatives are programs too: built once, and
/// run as plans ([`pullback_program`](Compiled::pullback_program)). So pullbacks can be called again with other cotangents, and every
/// derivative can be differentiated. Inside another compiled function, or the body of a loop, the equations become part of the outer
/// program. Hooks can only be registered outside of the function: inside, registering one is an error, and so is `backward`.
///
/// ```
/// use wengert::prelude::*;
/// let f = compile(vmap(grad(|x: &Tensor| (x * x).sum())));
/// assert_eq!(f.call(&Tensor::from([[1.0], [2.0]])), Tensor::from([[2.0], [4.0]]));
/// assert_eq!(grad(|x: &Tensor| f.call(x).sum())(&Tensor::from([[1.0], [2.0]])), Tensor::from([[2.0], [2.0]]));
/// assert_eq!(f.signatures(), 1);
/// ```
#[track_caller]
pub fn compile<X: Tree, Y: Tree, F: Fn(&X) -> Y>(f: F) -> Compiled<X, Y, F> {
    let line = location::resolve(Line::caller());
    Compiled { function: f, line, cache: Cache::new(), input: std::marker::PhantomData }
}

impl<X: Tree, Y: Tree, F: Fn(&X) -> Y> Compiled<X, Y, F> {
    /// Runs the program for this input's signature; the input may belong to any transform.
    #[track_caller]
    pub fn call(&self, x: &X) -> Y {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.staged(x);
        let mut slots = staged.take();
        slots.read(x);
        let outputs = staged.outputs(&mut slots, line);
        staged.give(slots);
        staged.output.rebuild(outputs.map_err(|error| error.at(line)).or_raise())
    }

    /// Runs the program and writes its result to `y`, reusing the memory of its tensors if they are not shared. Apart from the first call,
    /// nothing is allocated. If a call fails, the contents of `y` are unspecified.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x.exp() + 1.0);
    /// let mut y = f.call(&Tensor::from([0.0, 0.0]));
    /// f.call_into(&Tensor::from([0.0, f64::NEG_INFINITY]), &mut y);
    /// assert_eq!(y, Tensor::from([2.0, 1.0]));
    /// ```
    #[track_caller]
    pub fn call_into(&self, x: &X, y: &mut Y) {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let staged = self.staged(x);
        let mut slots = staged.take();
        slots.read(x);
        staged.read_captured(&mut slots);
        let mut result = Ok(());
        match staged.runs_on_numbers(&slots.inputs) {
            true => {
                slots.take_output(y);
                result = staged.run(&mut slots, line);
                match result {
                    Ok(()) => staged.put_output(y, &mut slots),
                    Err(_) => Staged::<(), Y>::leave_output(y, &mut slots),
                }
            }
            false => match staged.bind(&slots.inputs, line) {
                Ok(outputs) => *y = staged.output.rebuild(outputs),
                Err(error) => result = Err(error),
            },
        }
        staged.give(slots);
        result.map_err(|error| error.at(line)).or_raise();
    }

    /// The program for this input's signature.
    #[track_caller]
    pub fn program(&self, x: &X) -> Program {
        let _scope = location::scope(location::resolve(Line::caller()));
        self.staged(x).program()
    }

    /// The two programs that compute a gradient for this input's signature: a forward program, which also returns the residuals, and a
    /// backward program, which maps the residuals and the cotangents of the real outputs to the gradients of the real leaves. Captured
    /// leaves come after those of the input. Pullbacks ([`vjp`](crate::vjp())), `backward` and `grad` run these two as plans.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x.exp().sin());
    /// let split = f.pullback_program(&Tensor::from([1.0, 2.0]));
    /// assert_eq!(split.residuals.len(), 1);
    /// assert!(split.to_string().starts_with("forward program(a: f64[2]) {"));
    /// ```
    #[track_caller]
    pub fn pullback_program(&self, x: &X) -> Split {
        let _scope = location::scope(location::resolve(Line::caller()));
        self.staged(x).pullback()
    }

    /// How the program for this input's signature runs on concrete tensors: its kernels and the memory that they need.
    #[track_caller]
    pub fn plan(&self, x: &X) -> PlanSummary {
        let _scope = location::scope(location::resolve(Line::caller()));
        self.staged(x).summary()
    }

    /// The plan with the time of each kernel, averaged over `calls` calls.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x.exp().matmul(x));
    /// assert_eq!(f.profile(&Tensor::ones([4, 4]), 10).times().len(), 2);
    /// ```
    #[track_caller]
    pub fn profile(&self, x: &X, calls: usize) -> PlanSummary {
        self.call(x);
        self.staged(x).profile(calls, &mut || drop(self.call(x)))
    }

    /// Traces every signature twice and compares the programs. A function that depends on a counter, on random numbers of the host or on
    /// the order of a `HashMap` raises an error that shows the first difference. `WENGERT_CHECK=trace` in the environment enables this for
    /// all compiled functions. Side effects of the function happen twice.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// use std::cell::Cell;
    /// let count = Cell::new(0.0);
    /// let f = compile(|x: &Tensor| {
    ///     count.set(count.get() + 1.0);
    ///     x * count.get()
    /// });
    /// let error = catch(|| f.checked().call(&Tensor::from(1.0))).unwrap_err();
    /// assert_eq!(error.kind(), &ErrorKind::Retraced);
    /// ```
    #[must_use]
    pub fn checked(mut self) -> Self {
        self.cache.checks = true;
        self
    }

    /// Keeps the programs of at most `signatures` signatures (default 64), and drops the least recently used one.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x * 2.0).at_most(2);
    /// (1..=5).for_each(|size| drop(f.call(&Tensor::ones([size]))));
    /// assert_eq!(f.signatures(), 2);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn at_most(mut self, signatures: usize) -> Self {
        self.cache.bound(signatures, location::resolve(Line::caller()));
        self
    }

    /// Limits the memory of a call to this many bytes, including inputs, constants and outputs ([`total_bytes`](PlanSummary::total_bytes)),
    /// and the operand that the kernel of a large product packs. Other memory that kernels take while they run is not counted: usually less
    /// than a percent.
    ///
    /// Long-lived values are recomputed when they are read, starting with those that are cheapest for their size. If that is not enough,
    /// the first call raises an error that says how low it got. On tensors of a transform or of the tape the limit holds for each of the
    /// programs that run, forward and backward, with everything that one passes to the other
    /// ([`pullback_program`](Compiled::pullback_program)).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let chain = |x: &Tensor| (0..24).fold(x.clone(), |y, _| y.matmul(x).tanh()).sum();
    /// let x = Tensor::ones([96, 96]) / 96.0;
    /// let free = compile(grad(chain));
    /// let half = free.plan(&x).total_bytes() / 2;
    /// assert_eq!(compile(grad(chain)).within(half).call(&x), free.call(&x));
    /// let error = catch(|| compile(grad(chain)).within(half / 10).call(&x)).unwrap_err();
    /// assert!(matches!(error.kind(), ErrorKind::Budget { .. }));
    /// ```
    #[must_use]
    pub fn within(mut self, bytes: usize) -> Self {
        self.cache.plan(|planning| planning.options.budget = Some(bytes));
        self
    }

    /// How many digits products and attention keep in programs of f32: the operands are cast in the program, gradients are those of the casts,
    /// and all sums are in f32. Call it before the function is differentiated or called.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x.matmul(x)).precision(Precision::Bf16);
    /// let x = Tensor::from([[1.0f32, 2.0], [3.0, 1.0 + 1.0 / 1024.0]]);
    /// assert_eq!(f.call(&x).to_vec::<f32>(), [7.0, 4.0, 6.0, 7.0]);
    /// assert!(f.program(&x).to_string().contains("cast[dtype=bf16]"));
    /// ```
    #[must_use]
    pub fn precision(mut self, precision: Precision) -> Self {
        self.cache.plan(|planning| planning.options.precision = precision);
        self
    }

    /// Runs on a device: every call reads and writes its memory. Tensors of this machine are copied there, a state once; results stay there
    /// until they are read as numbers. A device that this build or this machine does not have is an error.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x * 2.0).on(Device::Cpu);
    /// assert_eq!(f.call(&Tensor::from(3.0)).item(), 6.0);
    /// let error = catch(|| compile(|x: &Tensor| x * 2.0).on(Device::Cuda(99))).err().unwrap();
    /// assert_eq!(error.kind(), &ErrorKind::Device);
    /// ```
    #[must_use]
    #[track_caller]
    pub fn on(mut self, place: impl Place) -> Self {
        let line = location::resolve(Line::caller());
        let backend = place.backend().map_err(|error| error.at(line)).or_raise();
        self.cache.plan(|planning| planning.backend = backend);
        self
    }

    /// Runs operations that the device does not have on the CPU, between two copies; without it they are an error. The plan says which
    /// ([`PlanSummary::segments`]). Loops and branches run on one side as a whole. Derivatives of a call fall back too. A memory budget
    /// holds for each part. Call it before the function is differentiated or called.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = compile(|x: &Tensor| x.matmul(x).det() * 2.0).with_host_fallback();
    /// let x = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert!((f.call(&x).item() - 8.0).abs() < 1e-12);
    /// // The CPU has all operations.
    /// assert_eq!(f.plan(&x).segments().len(), 1);
    /// ```
    #[must_use]
    pub fn with_host_fallback(mut self) -> Self {
        self.cache.plan(|planning| planning.options.falls_back = true);
        self
    }

    /// A summary of every cached signature and what was built for it, most recently used first.
    pub fn inspect(&self) -> Vec<SignatureSummary> {
        self.cache.inspect()
    }

    /// The number of cached signatures.
    pub fn signatures(&self) -> usize {
        self.cache.len()
    }

    fn staged(&self, x: &X) -> Arc<Staged<(), Y>> {
        self.cache.get(&Pair(&(), x), self.line, &|lift| ((), (self.function)(&x.map_leaves(lift))))
    }
}
