//! Functions with a custom reverse-mode rule.
//!
//! The residuals that `forward` leaves for `backward` depend on the input too, and second derivatives pass through them. So under a
//! transform the call is made as [`Opened`], which returns the residuals beside the output. The output has the derivative given by the
//! rule, the residuals that of the operations that computed them. Residuals that are inputs or outputs are not returned again.

use super::super::given;
use super::{bind_below, expect_form, form_of, owned};
use crate::custom::{Function, Residual, added};
use crate::error::OrRaise;
use crate::interp::Apart;
use crate::primitive::{self, SpecRef};
use crate::primitive::{Mask, Spec};
use crate::program::identity;
use crate::program::infer_by_trial;
use crate::{Tensor, Tree, jvp, vjp};
use std::sync::{Arc, OnceLock};

/// Both closures, for inputs of one structure.
pub(super) struct Call<X, Y, R, F, B> {
    closures: Arc<(F, B)>,
    input: X,
    /// The structures of the output and of the residuals, once they are known.
    seen: OnceLock<(Y, R)>,
    sources: OnceLock<Vec<ResidualSource>>,
}

/// Where a leaf of the residuals comes from.
#[derive(Clone, Copy)]
enum ResidualSource {
    Input(usize),
    Output(usize),
    Own(usize),
}

/// Finds where each residual comes from. Tensors computed without the inputs have no derivative, whatever their source.
fn sources(apart: &Apart, y: &[Tensor], left: &[Tensor]) -> Vec<ResidualSource> {
    let place = |tensors: &[Tensor], leaf| tensors.iter().position(|tensor| identity(tensor) == identity(leaf));
    let mut own = 0;
    let source = |leaf| match (place(&apart.operands, leaf), place(y, leaf)) {
        (Some(place), _) if apart.is_of(leaf) => ResidualSource::Input(place),
        (None, Some(place)) if apart.is_of(leaf) => ResidualSource::Output(place),
        _ => {
            own += 1;
            ResidualSource::Own(own - 1)
        }
    };
    left.iter().map(source).collect()
}

/// Specs of inputs and outputs, for those without a derivative.
struct Specs {
    inputs: Vec<Spec>,
    outputs: Vec<Spec>,
}

impl Specs {
    fn of(inputs: &[Tensor], outputs: &[Tensor]) -> Specs {
        let specs = |tensors: &[Tensor]| tensors.iter().map(Tensor::spec).collect();
        Specs { inputs: specs(inputs), outputs: specs(outputs) }
    }
}

fn zeros(specs: &[Spec]) -> Vec<Option<Tensor>> {
    vec![None; specs.len()]
}

/// A tree of this form with these leaves, and zeros for the missing ones.
fn completed<T: Tree>(form: &T, specs: &[Spec], leaves: &[Option<Tensor>]) -> T {
    let leaves = leaves.iter().zip(specs);
    let leaves = leaves.map(|(leaf, spec)| leaf.clone().unwrap_or_else(|| Tensor::constant(0.0, spec)));
    form.rebuild(leaves.collect::<Vec<_>>())
}

impl<X, Y, R, F, B> Call<X, Y, R, F, B>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
    F: Fn(&X) -> (Y, R) + Send + Sync + 'static,
    B: Fn(&R, &Y) -> X + Send + Sync + 'static,
{
    pub fn new(closures: &Arc<(F, B)>, x: &X) -> Arc<Self> {
        Arc::new(Call {
            closures: closures.clone(),
            input: form_of(x),
            seen: OnceLock::new(),
            sources: OnceLock::new(),
        })
    }

    pub fn function(self: &Arc<Self>) -> Arc<dyn Function> {
        Arc::new(Ruled(self.clone()))
    }

    pub fn rebuilt(&self, leaves: Vec<Tensor>) -> Y {
        self.seen().0.rebuild(leaves)
    }

    fn seen(&self) -> &(Y, R) {
        self.seen.get().expect("the function has run")
    }

    fn results(&self) -> usize {
        self.seen().0.leaves().len()
    }

    /// The output and the residuals.
    fn run(&self, x: &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>) {
        let (y, left) = (self.closures.0)(&self.input.rebuild(x.iter().cloned()));
        self.seen.get_or_init(|| (form_of(&y), form_of(&left)));
        (owned(&y), owned(&left))
    }

    /// The outputs of an opened call: the output, and the residuals that are neither inputs nor outputs.
    fn open(&self, x: &[Tensor]) -> Vec<Tensor> {
        let (mut outputs, left) = match self.sources.get() {
            Some(_) => self.run(x),
            None => {
                let apart = Apart::new(x);
                let (y, left) = self.run(&apart.operands);
                self.sources.get_or_init(|| sources(&apart, &y, &left));
                (apart.below(y), apart.below(left))
            }
        };
        let sources = self.sources.get().expect("they are known by now");
        let own = left.into_iter().zip(sources).filter(|(_, source)| matches!(source, ResidualSource::Own(_)));
        outputs.extend(own.map(|(leaf, _)| leaf));
        outputs
    }

    /// The residuals, from the inputs and the outputs of an opened call.
    fn left(&self, x: &[Tensor], outputs: &[Tensor]) -> Vec<Tensor> {
        let results = self.results();
        let from = |source: &ResidualSource| match *source {
            ResidualSource::Input(place) => x[place].clone(),
            ResidualSource::Output(place) => outputs[place].clone(),
            ResidualSource::Own(place) => outputs[results + place].clone(),
        };
        self.sources.get().expect("the call was opened").iter().map(from).collect()
    }

    fn pull(&self, left: &[Tensor], specs: &Specs, cotangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let cotangent = completed(&self.seen().0, &specs.outputs, cotangents);
        given(&self.pulled(&self.seen().1.rebuild(left.iter().cloned()), specs, &cotangent))
    }

    fn pulled(&self, left: &R, specs: &Specs, cotangent: &Y) -> X {
        let pulled = (self.closures.1)(left, cotangent);
        expect_form("custom_vjp", "what `backward` returned", &pulled, &self.input, &specs.inputs).or_raise();
        pulled
    }

    fn push(&self, left: &[Tensor], specs: &Specs, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let left = self.seen().1.rebuild(left.iter().cloned());
        let zero = completed(&self.seen().0, &specs.outputs, &zeros(&specs.outputs));
        let (_, transposed) = vjp(|cotangent: &Y| self.pulled(&left, specs, cotangent), &zero);
        let pushed = transposed.call_named(&completed(&self.input, &specs.inputs, tangents));
        pushed.into_iter().map(|(_, tangent)| tangent).collect()
    }
}

/// The output as a function of leaves.
struct Ruled<X, Y, R, F, B>(Arc<Call<X, Y, R, F, B>>);

impl<X, Y, R, F, B> Function for Ruled<X, Y, R, F, B>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
    F: Fn(&X) -> (Y, R) + Send + Sync + 'static,
    B: Fn(&R, &Y) -> X + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        "custom_vjp"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> primitive::Specs {
        infer_by_trial(self.name(), |x| self.call(x), operands)
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        self.0.run(x).0
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let (y, tensors) = match x.iter().all(Tensor::is_plain) {
            true => self.0.run(x),
            false => {
                let mut outputs = bind_below(Arc::new(Opened(self.0.clone())), x);
                let left = self.0.left(x, &outputs);
                outputs.truncate(self.0.results());
                (outputs, left)
            }
        };
        let specs = Specs::of(x, &y);
        (y, Residual { tensors, form: Arc::new(specs) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        self.0.pull(&residual.tensors, specs(residual), cotangents)
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        self.0.push(&residual.tensors, specs(residual), tangents)
    }
}

fn specs(residual: &Residual) -> &Specs {
    residual.form.downcast_ref().expect("a residual of this function")
}

/// The output, and the residuals that are neither inputs nor outputs, as a function of leaves.
struct Opened<X, Y, R, F, B>(Arc<Call<X, Y, R, F, B>>);

impl<X, Y, R, F, B> Opened<X, Y, R, F, B>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
    F: Fn(&X) -> (Y, R) + Send + Sync + 'static,
    B: Fn(&R, &Y) -> X + Send + Sync + 'static,
{
    /// The inputs, the residuals for the rule, and the number of outputs that are results.
    fn parts<'r>(&self, residual: &'r Residual) -> (&'r [Tensor], Vec<Tensor>, usize) {
        let (x, outputs) = residual.tensors.split_at(specs(residual).inputs.len());
        (x, self.0.left(x, outputs), specs(residual).outputs.len())
    }

    fn own(&self, x: &[Tensor]) -> Vec<Tensor> {
        self.0.open(x).split_off(self.0.results())
    }
}

impl<X, Y, R, F, B> Function for Opened<X, Y, R, F, B>
where
    X: Tree + Send + Sync + 'static,
    Y: Tree + Send + Sync + 'static,
    R: Tree + Send + Sync + 'static,
    F: Fn(&X) -> (Y, R) + Send + Sync + 'static,
    B: Fn(&R, &Y) -> X + Send + Sync + 'static,
{
    fn name(&self) -> &'static str {
        "custom_vjp"
    }

    fn infer(&self, operands: &[SpecRef<'_>]) -> primitive::Specs {
        infer_by_trial(self.name(), |x| self.call(x), operands)
    }

    fn call(&self, x: &[Tensor]) -> Vec<Tensor> {
        self.0.open(x)
    }

    fn forward(&self, x: &[Tensor]) -> (Vec<Tensor>, Residual) {
        let outputs = bind_below(Arc::new(Opened(self.0.clone())), x);
        let tensors = x.iter().chain(&outputs).cloned().collect();
        let specs = Specs::of(x, &outputs[..self.0.results()]);
        (outputs, Residual { tensors, form: Arc::new(specs) })
    }

    fn pull(&self, residual: &Residual, cotangents: &[Option<Tensor>], _wanted: Mask) -> Vec<Option<Tensor>> {
        let (x, left, results) = self.parts(residual);
        let (of_results, of_own) = cotangents.split_at(results);
        let mut pulled = vec![None; x.len()];
        if of_results.iter().any(Option::is_some) {
            pulled = self.0.pull(&left, specs(residual), of_results);
        }
        if of_own.iter().any(Option::is_some) {
            let (own, pullback) = vjp(|x: &Vec<Tensor>| self.own(x), &x.to_vec());
            let seeds = own.iter().zip(of_own).map(|(own, seed)| seed.clone().unwrap_or_else(|| own.zeros_like()));
            let more = pullback.call_named(&seeds.collect());
            pulled = pulled.into_iter().zip(more).map(|(sum, (_, more))| added(sum, more)).collect();
        }
        pulled
    }

    fn push(&self, residual: &Residual, tangents: &[Option<Tensor>]) -> Vec<Option<Tensor>> {
        let (x, left, _) = self.parts(residual);
        let mut pushed = self.0.push(&left, specs(residual), tangents);
        let dx = x.iter().zip(tangents).map(|(x, dx)| dx.clone().unwrap_or_else(|| x.zeros_like())).collect();
        let (_, own) = jvp(|x: &Vec<Tensor>| self.own(x), &x.to_vec(), &dx);
        pushed.extend(own.into_iter().map(|own| own.dtype().is_float().then_some(own)));
        pushed
    }
}
