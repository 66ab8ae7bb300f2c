//! `backward`, and gradients with respect to chosen tensors.

use super::modes;
use crate::error::OrRaise;
use crate::interp::{Node, Sweep, SweepOptions};
use crate::location::{self, Line};
use crate::tensor::Value;
use crate::{Error, ErrorKind, Shape, Tensor, catch};
use rustc_hash::FxHashMap;
use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

/// How `backward` treats the reverse graph.
///
/// ```
/// use wengert::prelude::*;
/// let x = Tensor::from([1.0, 2.0, 3.0]).require_grad();
/// let y = &x * &x;
/// y.backward_with(Backward::new().seed(&Tensor::from([10.0, 1.0, 0.1])));
/// assert!(x.grad().unwrap().all_close(&Tensor::from([20.0, 4.0, 0.6]), 1e-15));
/// ```
#[derive(Clone, Default)]
pub struct Backward {
    seeds: Vec<Tensor>,
    retain_graph: bool,
    create_graph: bool,
    early: Vec<Arc<Node>>,
}

impl Backward {
    /// The default: a scalar output, and the graph is freed.
    pub fn new() -> Backward {
        Backward::default()
    }

    /// Uses this cotangent as the seed; call once for each output.
    pub fn seed(mut self, seed: &Tensor) -> Backward {
        self.seeds.push(seed.clone());
        self
    }

    /// Keeps the graph for another `backward`.
    pub fn retain_graph(mut self) -> Backward {
        self.retain_graph = true;
        self
    }

    /// Records the backward pass itself, so that gradients can be differentiated.
    pub fn create_graph(mut self) -> Backward {
        self.create_graph = true;
        self
    }

    /// Names a leaf for [`backward_early`](Tensor::backward_early), which identifies leaves by the order in which they were named. A leaf
    /// named twice keeps its first index.
    #[track_caller]
    pub fn early(mut self, leaf: &Tensor) -> Backward {
        let line = location::resolve(Line::caller());
        let node = root("backward", leaf).map_err(|error| error.at(line)).or_raise();
        if !leaf.is_leaf() {
            let message = format!("the tensor of {} is no leaf, so no gradient is handed over", leaf.spec());
            Error::new(ErrorKind::Argument, "backward", message)
                .at(line)
                .help("register_hook sees the adjoint of a tensor that was computed")
                .raise();
        }
        self.early.push(node.clone());
        self
    }

    /// Records the sweep if it is to be differentiated, even inside `no_grad`.
    fn run<R>(&self, sweep: impl FnOnce() -> R) -> R {
        if self.create_graph { modes::enable_grad(sweep) } else { sweep() }
    }

    fn sweep_options(&self) -> SweepOptions {
        SweepOptions { keep: self.retain_graph || self.create_graph, create_graph: self.create_graph }
    }
}

impl Tensor {
    /// Computes the gradient of this scalar with respect to every leaf that it depends on, and adds it to the leaf's
    /// [`grad`](Tensor::grad).
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let (x, y) = (Tensor::from(2.0).require_grad(), Tensor::from(3.0).require_grad());
    /// (&x * &y + x.sin()).backward();
    /// assert_eq!(y.grad().unwrap().item(), 2.0);
    /// ```
    #[track_caller]
    pub fn backward(&self) {
        self.backward_with(Backward::new());
    }

    /// [`backward`](Tensor::backward) with options, such as a seed or a retained graph.
    #[track_caller]
    pub fn backward_with(&self, options: Backward) {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let none_early = expect_none_early("backward", &options);
        none_early.and_then(|()| run_backward(self, &options, None)).map_err(|error| error.at(line)).or_raise();
    }

    /// [`backward_with`](Tensor::backward_with) that hands over gradients of leaves early. As soon as the gradient of a leaf named with
    /// [`Backward::early`] is complete, `deliver` receives the index of the leaf among those named and the gradient, and no copy is kept.
    /// So a parameter can be updated, and its gradient freed, before the next one is computed.
    ///
    /// The [`grad`](Tensor::grad) of these leaves does not change, and accumulate hooks do not run; hooks on adjoints do. A leaf that the
    /// output does not depend on is not delivered. Other leaves receive their gradients at the end. After an error, the message says which
    /// gradients `deliver` has received, and no leaf has received anything else.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let mut layers: Vec<Tensor> = (1..=3).map(|k| Tensor::from(k as f64).require_grad()).collect();
    /// let y = layers.iter().fold(Tensor::from(1.0), |x, w| x * w);
    /// let options = layers.iter().fold(Backward::new(), Backward::early);
    /// let mut order = Vec::new();
    /// y.backward_early(options, |place, gradient| {
    ///     order.push(place);
    ///     no_grad(|| layers[place] -= gradient * 0.1);
    /// });
    /// assert_eq!(order, [2, 1, 0]);
    /// assert!(layers[2].grad().is_none() && (layers[2].item() - 2.8).abs() < 1e-15);
    /// ```
    #[track_caller]
    pub fn backward_early(&self, options: Backward, mut deliver: impl FnMut(usize, Tensor)) {
        let line = location::resolve(Line::caller());
        let _scope = location::scope(line);
        let mut delivered: Vec<usize> = Vec::new();
        let mut note = |place: usize, gradient: Tensor| {
            delivered.push(place);
            deliver(place, gradient);
        };
        // Rules and `deliver` raise errors as panics.
        let result = catch(|| run_backward(self, &options, Some(&mut note))).and_then(|result| result);
        let told = |error: Error| match delivered.is_empty() {
            true => error,
            false => error.and(&format!("; gradients were handed over before, at the places {delivered:?}")),
        };
        result.map_err(|error| told(error).at(line)).or_raise();
    }
}

/// An error if leaves were named for early delivery, but the caller does not deliver.
fn expect_none_early(caller: &str, options: &Backward) -> Result<(), Error> {
    if options.early.is_empty() {
        return Ok(());
    }
    let message = format!("{} leaves are named for early gradients, which nobody takes", options.early.len());
    Err(Error::new(ErrorKind::Argument, caller, message).help("call y.backward_early(options, |place, gradient| ..)"))
}

/// Receives the indices of leaves and their gradients.
type Deliver<'a> = &'a mut dyn FnMut(usize, Tensor);

fn run_backward(output: &Tensor, options: &Backward, deliver: Option<Deliver<'_>>) -> Result<(), Error> {
    let seeds = seeds("backward", &[output], options)?;
    let root = root("backward", output)?;
    if modes::is_tracing() {
        let message = "a function that is traced runs once: its gradients would be added once, and not in every call";
        return Err(Error::new(ErrorKind::WrongLevel, "backward", message)
            .help("differentiate inside it with wengert::grad(f), or call backward on what it returns"));
    }
    let mut places: FxHashMap<u64, usize> = FxHashMap::default();
    for (place, leaf) in options.early.iter().enumerate() {
        places.entry(leaf.id()).or_insert(place);
    }
    let mut sweep = Sweep::prepare_early(&[root], None, &places, options.sweep_options())?;
    sweep.seed(root, seeds.into_iter().next().expect("one output, one seed"));
    let swept = options.run(|| match deliver {
        Some(deliver) => sweep.run_early(deliver),
        None => sweep.run(),
    })?;
    let slots = swept.leaves.into_iter().filter_map(|leaf| {
        leaf.node.extras(|extras| extras.slot.upgrade()).flatten().map(|slot| (slot, leaf.cotangent))
    });
    let mut committed: Vec<Shape> = Vec::new();
    for (slot, cotangent) in slots.chain(swept.retained) {
        let shape = Shape::from(cotangent.shape());
        if let Err(payload) = std::panic::catch_unwind(AssertUnwindSafe(|| slot.commit(cotangent))) {
            committed.push(shape);
            let message = format!(
                "a hook failed after {} leaves had received their gradients, of shapes {committed:?}: {}",
                committed.len(),
                panic_text(payload.as_ref())
            );
            return Err(Error::new(ErrorKind::Hook, "backward", message));
        }
        committed.push(shape);
    }
    Ok(())
}

fn panic_text(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<Error>().map(|error| error.message().to_string());
    let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
    text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_else(|| "a panic".to_string())
}

/// The gradients of `outputs` (scalars) with respect to `inputs`, leaves or intermediates. Nothing is accumulated. Inputs that the outputs
/// do not depend on get zeros.
///
/// ```
/// use wengert::{autograd, prelude::*};
/// let x = Tensor::from(2.0).require_grad();
/// let y = &x * &x;
/// let z = &y * 3.0;
/// assert_eq!(autograd::grad(&[&z], &[&x, &y]), [Tensor::from(12.0), Tensor::from(3.0)]);
/// ```
#[track_caller]
pub fn grad(outputs: &[&Tensor], inputs: &[&Tensor]) -> Vec<Tensor> {
    let gradients = grad_with(outputs, inputs, Backward::new());
    gradients
        .into_iter()
        .zip(inputs)
        .map(|(gradient, input)| gradient.unwrap_or_else(|| input.full_like(0.0)))
        .collect()
}

/// [`grad`] with options, such as seeds or a retained graph; inputs that the outputs do not depend on get `None`.
///
/// ```
/// use wengert::{autograd, prelude::*};
/// let x = Tensor::from(2.0).require_grad();
/// let y = &x * &x * &x;
/// let dx = autograd::grad_with(&[&y], &[&x], Backward::new().create_graph()).remove(0).unwrap();
/// let ddx = autograd::grad(&[&dx], &[&x]).remove(0);
/// assert_eq!(ddx.item(), 12.0);
/// ```
#[track_caller]
pub fn grad_with(outputs: &[&Tensor], inputs: &[&Tensor], options: Backward) -> Vec<Option<Tensor>> {
    let line = location::resolve(Line::caller());
    let _scope = location::scope(line);
    run_grad(outputs, inputs, &options).map_err(|error| error.at(line)).or_raise()
}

fn run_grad(outputs: &[&Tensor], inputs: &[&Tensor], options: &Backward) -> Result<Vec<Option<Tensor>>, Error> {
    expect_none_early("grad", options)?;
    let targets = inputs.iter().map(|input| root("grad", input).cloned()).collect::<Result<Vec<_>, _>>()?;
    let seeds = seeds("grad", outputs, options)?;
    let roots = outputs.iter().map(|output| root("grad", output)).collect::<Result<Vec<_>, _>>()?;
    let mut sweep = Sweep::prepare(&roots, Some(&targets), options.sweep_options())?;
    for (root, seed) in roots.iter().zip(seeds) {
        sweep.seed(root, seed);
    }
    let swept = options.run(|| sweep.run())?;
    Ok(targets.iter().map(|target| swept.targets.get(&target.id()).cloned().flatten()).collect())
}

fn root<'t>(caller: &str, output: &'t Tensor) -> Result<&'t Arc<Node>, Error> {
    if let Value::Tracer(tracer) = &output.value {
        let message = format!("a tensor inside {} does not belong to the imperative tape", tracer.level.name);
        return Err(Error::new(ErrorKind::WrongLevel, caller, message)
            .help("inside a transform, differentiate with wengert::grad(f) instead"));
    }
    output.link.as_ref().ok_or_else(|| {
        let message = format!("the tensor of {} does not require a gradient", output.spec());
        let help = match output.dtype().is_float() {
            true => {
                "call require_grad() on an input before computing, outside no_grad, or update in place: no_grad(|| w -= step)"
            }
            false => "integers and booleans carry no gradient; convert the inputs with .cast(DType::F64)",
        };
        Error::new(ErrorKind::NoGradient, caller, message).help(help)
    })
}

fn seeds(caller: &str, outputs: &[&Tensor], options: &Backward) -> Result<Vec<Tensor>, Error> {
    for output in outputs {
        root(caller, output)?;
    }
    if options.seeds.is_empty() {
        return outputs.iter().map(|output| unit_seed(caller, output)).collect();
    }
    if options.seeds.len() != outputs.len() {
        let message = format!("{} seeds for {} outputs", options.seeds.len(), outputs.len());
        return Err(Error::new(ErrorKind::Argument, caller, message).help("call .seed(..) once for each output"));
    }
    let check = |(output, seed): (&&Tensor, &Tensor)| {
        if seed.spec() != output.spec() {
            let message = format!("the seed is {}, the output {}", seed.spec(), output.spec());
            let shapes = vec![Shape::from(seed.shape()), Shape::from(output.shape())];
            return Err(Error::new(ErrorKind::Shape(shapes), caller, message)
                .help("a seed has the shape and dtype of its output"));
        }
        let seed = seed.placed(output)?;
        Ok(if options.create_graph { seed } else { seed.plain() })
    };
    outputs.iter().zip(&options.seeds).map(check).collect()
}

fn unit_seed(caller: &str, output: &Tensor) -> Result<Tensor, Error> {
    if output.elements() == 1 {
        return Ok(output.full_like(1.0));
    }
    let shape = Shape::from(output.shape());
    let message = format!("the output has shape {shape}, so it has many gradients");
    Err(Error::new(ErrorKind::SeedNeeded(shape), caller, message)
        .help("reduce it, as in y.sum().backward(), or pass a seed: y.backward_with(Backward::new().seed(&s))"))
}
