//! The reverse sweep: runs the rules backward.
//!
//! Creation order is a topological order, so the newest record with a cotangent has received all of its contributions. The sweep takes it,
//! runs its rule and passes the results down. A first traversal reserves every record, so that a graph that was already freed is detected
//! before anything is accumulated. Leaves are collected and committed by the caller at the end, except those to be handed over early: a
//! leaf is complete once the sweep is past the oldest record that leads to it.

use super::window::Window;
use super::{Node, Role};
use crate::autograd::{GradientSlot, Hook, modes, times};
use crate::bind::{bind_owned, bind1};
use crate::location;
use crate::primitive::{Adjoints, Gradient, Gradients, Mask, Patch, Rule};
use crate::rules::{Elementwise, Product, Terms};
use crate::{Error, ErrorKind, Tensor};
use rustc_hash::FxHashMap;
use smallvec::smallvec;
use std::cmp::Reverse;
use std::sync::Arc;

/// The number of unevaluated products at a time: each keeps saved values alive.
const MOST_PRODUCTS: usize = 8;

/// How a sweep treats the graph.
#[derive(Clone, Copy, Default)]
pub struct SweepOptions {
    /// Leave saved values in place for another sweep.
    pub keep: bool,
    /// Reattach saved values to the imperative graph, so that the sweep itself is recorded.
    pub create_graph: bool,
}

/// The complete cotangent of a leaf or target.
pub struct Contribution<'g> {
    pub node: &'g Arc<Node>,
    pub cotangent: Tensor,
}

struct Pending<'g> {
    node: &'g Arc<Node>,
    adjoints: Adjoints,
}

/// One reverse sweep over the graph below some roots.
pub struct Sweep<'g> {
    options: SweepOptions,
    window: Window,
    pending: Vec<Pending<'g>>,
    free: Vec<usize>,
    leaves: Vec<(&'g Arc<Node>, Option<Tensor>)>,
    leaf_places: FxHashMap<u64, usize>,
    last_leaf: usize,
    /// The contributions to records and leaves that have only received long products so far; few at a time.
    products: Vec<(&'g Arc<Node>, Terms)>,
    /// If given, only these matter; their complete cotangents are collected here.
    targets: Option<FxHashMap<u64, Option<Tensor>>>,
    /// Leaves to be handed over early, the next one last.
    early: Vec<Early<'g>>,
    /// The oldest record that leads to the next early leaf; 0 if there is none.
    next_early: u64,
}

/// A leaf to be handed over as soon as its cotangent is complete.
struct Early<'g> {
    /// No record older than this one leads to it.
    oldest: u64,
    /// Its index among the named leaves.
    place: usize,
    node: &'g Arc<Node>,
}

impl<'g> Sweep<'g> {
    /// Traverses the graph below `roots` and reserves it; on an error the graph is unchanged.
    pub fn prepare(
        roots: &[&'g Arc<Node>],
        targets: Option<&[Arc<Node>]>,
        options: SweepOptions,
    ) -> Result<Sweep<'g>, Error> {
        Sweep::prepare_early(roots, targets, &FxHashMap::default(), options)
    }

    /// [`prepare`](Sweep::prepare) for a sweep that hands over some leaves early; `early` maps their identifiers to indices.
    pub fn prepare_early(
        roots: &[&'g Arc<Node>],
        targets: Option<&[Arc<Node>]>,
        early: &FxHashMap<u64, usize>,
        options: SweepOptions,
    ) -> Result<Sweep<'g>, Error> {
        let top = roots.iter().map(|node| node.id()).max().unwrap_or(0);
        let mut sweep = Sweep {
            options,
            window: Window::below(top),
            pending: Vec::new(),
            free: Vec::new(),
            leaves: Vec::new(),
            leaf_places: FxHashMap::default(),
            last_leaf: 0,
            products: Vec::new(),
            targets: targets.map(|nodes| nodes.iter().map(|node| (node.id(), None)).collect()),
            early: Vec::new(),
            next_early: 0,
        };
        sweep.reserve(roots, early)?;
        Ok(sweep)
    }

    /// Visits every record below `roots` once, until `visit` returns false.
    fn walk(
        window: &mut Window,
        roots: &[&'g Arc<Node>],
        mut visit: impl FnMut(&'g Arc<Node>) -> bool,
    ) -> Option<&'g Arc<Node>> {
        let mut stack: Vec<&'g Arc<Node>> = roots.iter().copied().filter(|node| node.role() != Role::Leaf).collect();
        while let Some(node) = stack.pop() {
            if !window.see(node.id()) {
                continue;
            }
            if !visit(node) {
                return Some(node);
            }
            stack.extend(node.edges().iter().flatten().filter(|edge| edge.role() != Role::Leaf));
        }
        None
    }

    /// Reserves every record below `roots`. With targets, finds the records that lead to one; for each leaf in `early`, finds the oldest
    /// record that leads to it.
    fn reserve(&mut self, roots: &[&'g Arc<Node>], early: &FxHashMap<u64, usize>) -> Result<(), Error> {
        let mut visited: Vec<&'g Arc<Node>> = Vec::new();
        let (keep, listing, watching) = (self.options.keep, self.targets.is_some(), !early.is_empty());
        let mut found: FxHashMap<u64, Early<'g>> = FxHashMap::default();
        let mut meet = |leaf: &'g Arc<Node>, oldest: u64| {
            if let Some(&place) = early.get(&leaf.id()) {
                let known = found.entry(leaf.id()).or_insert(Early { oldest, place, node: leaf });
                known.oldest = known.oldest.min(oldest);
            }
        };
        roots.iter().filter(|root| root.role() == Role::Leaf).for_each(|root| meet(root, u64::MAX));
        let refused = Sweep::walk(&mut self.window, roots, |node| {
            if listing {
                visited.push(node);
            }
            if watching {
                let leaves = node.edges().iter().flatten().filter(|edge| edge.role() == Role::Leaf);
                leaves.for_each(|leaf| meet(leaf, node.id()));
            }
            if keep { !node.is_consumed() } else { node.consume() }
        });
        if let Some(refused) = refused {
            if !keep {
                // The same traversal reaches the same records in the same order.
                Sweep::walk(&mut Window::below(self.window.top()), roots, |node| {
                    let mine = !Arc::ptr_eq(node, refused);
                    if mine {
                        node.release();
                    }
                    mine
                });
            }
            return Err(freed(refused));
        }
        self.early = found.into_values().collect();
        self.early.sort_unstable_by_key(|leaf| (leaf.oldest, Reverse(leaf.place)));
        self.next_early = self.early.last().map_or(0, |leaf| leaf.oldest);
        let Some(targets) = &self.targets else { return Ok(()) };
        visited.sort_unstable_by_key(|node| node.id());
        for node in visited {
            let leads = node.edges().iter().flatten().any(|edge| match edge.role() {
                Role::Leaf => targets.contains_key(&edge.id()),
                _ => self.window.is_needed(edge.id()),
            });
            if leads || targets.contains_key(&node.id()) {
                self.window.need(node.id());
            }
        }
        Ok(())
    }

    /// Adds to the cotangent of a root.
    pub fn seed(&mut self, root: &'g Arc<Node>, cotangent: Tensor) {
        self.deposit(root, 0, Gradient::Dense(cotangent));
    }

    fn is_wanted(&mut self, node: &Arc<Node>) -> bool {
        match &self.targets {
            None => true,
            Some(targets) if node.role() == Role::Leaf => targets.contains_key(&node.id()),
            Some(_) => self.window.is_needed(node.id()),
        }
    }

    /// The sum that holds the cotangent of an output of `node`.
    #[inline]
    fn sum_of(&mut self, node: &'g Arc<Node>, output: usize) -> &mut Option<Tensor> {
        if let Some(terms) = self.take_products(node) {
            let sum = self.slot_of(node, output);
            *sum = Some(Product::add_up(terms));
            return sum;
        }
        self.slot_of(node, output)
    }

    #[inline]
    fn take_products(&mut self, node: &Arc<Node>) -> Option<Terms> {
        if self.products.is_empty() {
            return None;
        }
        let place = self.products.iter().position(|(known, _)| Arc::ptr_eq(known, node))?;
        Some(self.products.remove(place).1)
    }

    /// Products are evaluated when the record's rule runs, or at the end of the sweep, unless a dense sum already exists.
    fn give_product(&mut self, node: &'g Arc<Node>, product: Product) {
        if let Some((_, terms)) = self.products.iter_mut().find(|(known, _)| Arc::ptr_eq(known, node)) {
            terms.push(product);
        } else {
            let waits = matches!(node.role(), Role::Operation | Role::Leaf) && !product.is_multiplied_out();
            match self.slot_of(node, 0) {
                Some(sum) => product.add_to(sum),
                None if waits => self.products.push((node, smallvec![product])),
                empty => *empty = Some(product.evaluate()),
            }
        }
        if self.products.iter().map(|(_, terms)| terms.len()).sum::<usize>() > MOST_PRODUCTS {
            let oldest = self.products[0].0;
            self.sum_of(oldest, 0);
        }
    }

    #[inline]
    fn slot_of(&mut self, node: &'g Arc<Node>, output: usize) -> &mut Option<Tensor> {
        if node.role() == Role::Leaf {
            let place = self.leaf_place(node);
            return &mut self.leaves[place].1;
        }
        let place = match self.window.pending(node.id()) {
            Some(place) => place,
            None => {
                let place = self.free.pop().unwrap_or(self.pending.len());
                match self.pending.get_mut(place) {
                    // Its adjoints were cleared after use.
                    Some(used) => used.node = node,
                    None => self.pending.push(Pending { node, adjoints: Adjoints::new() }),
                }
                self.window.set_pending(node.id(), place);
                place
            }
        };
        let adjoints = &mut self.pending[place].adjoints;
        if adjoints.is_empty() && output == 0 {
            adjoints.push(None);
        } else if adjoints.len() <= output {
            adjoints.resize_with(output + 1, || None);
        }
        &mut adjoints[output]
    }

    /// A loop over one parameter looks up the same leaf every time.
    #[inline]
    fn leaf_place(&mut self, node: &'g Arc<Node>) -> usize {
        if let Some((known, _)) = self.leaves.get(self.last_leaf)
            && Arc::ptr_eq(known, node)
        {
            return self.last_leaf;
        }
        self.last_leaf = *self.leaf_places.entry(node.id()).or_insert_with(|| {
            self.leaves.push((node, None));
            self.leaves.len() - 1
        });
        self.last_leaf
    }

    fn deposit(&mut self, node: &'g Arc<Node>, output: usize, gradient: Gradient) {
        match gradient {
            Gradient::Zero => {}
            Gradient::Dense(gradient) => add(self.sum_of(node, output), gradient),
            Gradient::Patch(patch) => {
                let sum = self.sum_of(node, output);
                let Patch { op, attrs, values, spec } = *patch;
                let base = sum.take().unwrap_or_else(|| Tensor::constant(0.0, &spec));
                let values: smallvec::SmallVec<[&Tensor; 4]> = values.iter().collect();
                *sum = Some(bind_owned(op, attrs, base, &values));
            }
        }
    }

    /// Hands over the leaves that no record from `id` on downward leads to.
    #[cold]
    fn hand_over(
        &mut self,
        id: u64,
        retained: &mut Retained,
        deliver: &mut dyn FnMut(usize, Tensor),
    ) -> Result<(), Error> {
        let _line = location::inherit(None);
        while let Some(Early { place, node, .. }) = self.early.pop_if(|leaf| leaf.oldest > id) {
            let mut adjoints = Adjoints::from_iter([self.sum_of(node, 0).take()]);
            if node.is_decorated() {
                decorate(node, &mut adjoints, retained, self.options.create_graph)?;
            }
            if let Some(cotangent) = adjoints.pop().flatten() {
                deliver(place, cotangent);
            }
        }
        self.next_early = self.early.last().map_or(0, |leaf| leaf.oldest);
        Ok(())
    }

    /// Runs every rule once, newest record first; returns the cotangents of the leaves, in the order they were met.
    pub fn run(self) -> Result<Swept<'g>, Error> {
        self.run_early(&mut |_, _| unreachable!("no leaf was named"))
    }

    /// [`run`](Sweep::run) that hands named leaves to `deliver` when they are complete, instead of returning them.
    pub fn run_early(mut self, deliver: &mut dyn FnMut(usize, Tensor)) -> Result<Swept<'g>, Error> {
        let _line = location::inherit(None);
        let mut retained = Vec::new();
        while let Some(place) = self.window.pop_newest() {
            let node = self.pending[place].node;
            if node.id() < self.next_early {
                self.hand_over(node.id(), &mut retained, deliver)?;
            }
            let mut product = None;
            if let Some(mut terms) = self.take_products(node) {
                let is_target = self.targets.as_ref().is_some_and(|targets| targets.contains_key(&node.id()));
                match terms.len() == 1 && !node.is_decorated() && !is_target {
                    true => product = terms.pop(),
                    false => self.pending[place].adjoints[0] = Some(Product::add_up(terms)),
                }
            }
            if node.is_decorated() {
                decorate(node, &mut self.pending[place].adjoints, &mut retained, self.options.create_graph)?;
            }
            if let Some(target) = self.targets.as_mut().and_then(|targets| targets.get_mut(&node.id())) {
                *target = self.pending[place].adjoints[0].clone();
            }
            match node.role() {
                Role::Leaf => unreachable!("leaves are never pending"),
                Role::Output(position) => {
                    let parent = node.edges()[0].as_ref().expect("an output has its call");
                    if let Some(adjoint) = self.pending[place].adjoints[0].take() {
                        self.deposit(parent, position, Gradient::Dense(adjoint));
                    }
                    self.pending[place].adjoints.clear();
                }
                Role::Operation => self.pull_back(node, place, product)?,
            }
            self.free.push(place);
        }
        if self.next_early > 0 {
            self.hand_over(0, &mut retained, deliver)?;
        }
        while let Some((leaf, _)) = self.products.first() {
            self.sum_of(leaf, 0);
        }
        let mut leaves = Vec::with_capacity(self.leaves.len());
        for (node, cotangent) in self.leaves {
            let mut adjoints = Adjoints::from_iter([cotangent]);
            if node.is_decorated() {
                decorate(node, &mut adjoints, &mut retained, self.options.create_graph)?;
            }
            let Some(cotangent) = adjoints.pop().flatten() else { continue };
            if let Some(target) = self.targets.as_mut().and_then(|targets| targets.get_mut(&node.id())) {
                *target = Some(cotangent.clone());
            }
            leaves.push(Contribution { node, cotangent });
        }
        Ok(Swept { leaves, retained, targets: self.targets.unwrap_or_default() })
    }

    /// Runs the operation's shortcut, if nothing observes or records the rule.
    #[inline]
    fn pull_directly(&mut self, node: &'g Arc<Node>, place: usize, needed: Mask) -> bool {
        if self.options.create_graph || modes::is_special() || needed != node.wanted() {
            return false;
        }
        // A cotangent that is itself being differentiated goes through the rule.
        let [adjoint] = &mut self.pending[place].adjoints[..] else { return false };
        let mut cotangent = adjoint.take_if(|adjoint| adjoint.is_at_hand());
        if cotangent.is_none() {
            return false;
        }
        let (keep, edges) = (self.options.keep, node.edges());
        node.pull_directly(keep, &mut cotangent, &mut |position, gradient| {
            if let Some(edge) = &edges[position] {
                add(self.sum_of(edge, 0), gradient);
            }
        });
        let done = cotangent.is_none();
        match done {
            true => self.pending[place].adjoints.clear(),
            false => self.pending[place].adjoints[0] = cotangent,
        }
        done
    }

    /// Attaches the slopes of an elementwise operation to a long cotangent as factors; if that is not possible, the cotangent stays.
    fn gather(&mut self, node: &'g Arc<Node>, place: usize, rule: &Rule<'_>, product: Option<Product>) -> bool {
        let adjoint = &mut self.pending[place].adjoints[0];
        let product = match (product, adjoint.take()) {
            (Some(product), _) => Ok(product),
            (None, Some(cotangent)) => Product::of(cotangent),
            (None, None) => return false,
        };
        let mut product = match product {
            Ok(product) => product,
            Err(cotangent) => {
                *adjoint = Some(cotangent);
                return false;
            }
        };
        // A product would keep recomputed values alive, for all segments of a chain.
        let alone = self.options.create_graph || modes::is_special() || rule.is_restored;
        let elementwise = if alone { None } else { Elementwise::of(node.op()) };
        let Some(factors) = elementwise.and_then(|op| op.factors(rule, &product)) else {
            *adjoint = Some(product.evaluate());
            return false;
        };
        self.pending[place].adjoints.clear();
        // A cotangent that several operands receive is multiplied out once.
        if factors.len() > 1 && !product.is_multiplied_out() {
            product = Product::of(product.evaluate()).unwrap_or_else(|_| unreachable!("it was a product before"));
        }
        let mut product = Some(product);
        let last = factors.len().saturating_sub(1);
        for (i, (position, factor)) in factors.into_iter().enumerate() {
            let mine = if i == last { product.take() } else { product.clone() };
            if let (Some(edge), Some(mine)) = (&node.edges()[position], mine) {
                self.give_product(edge, mine.times(factor));
            }
        }
        true
    }

    #[inline]
    fn pull_back(&mut self, node: &'g Arc<Node>, place: usize, product: Option<Product>) -> Result<(), Error> {
        let op = node.op();
        let needed = self.needed(node);
        if needed.is_empty() {
            self.pending[place].adjoints.clear();
            return Ok(());
        }
        if product.is_none() && self.pull_directly(node, place, needed) {
            return Ok(());
        }
        let mut product = product;
        if let Some(root) = node.squared_root()
            && self.passes_by(root)
        {
            if let Some(product) = product.take() {
                self.pending[place].adjoints[0] = Some(product.evaluate());
            }
            return self.pull_square(root, place);
        }
        let adjoints = &mut self.pending[place].adjoints;
        if node.has_several_outputs() {
            adjoints.resize_with(op.outputs(node.attrs()), || None);
        }
        location::set_inherited(node.line);
        let running = times::enter_rule(op);
        let attach = self.options.create_graph.then_some(node);
        let Some(rule) = node.rule(needed, self.options.keep, attach)? else { return Err(freed(node)) };
        if (product.is_some() || Elementwise::of(op).is_some()) && self.gather(node, place, &rule, product) {
            return Ok(());
        }
        let adjoints = &mut self.pending[place].adjoints;
        let gradients = op.vjp(&rule, adjoints);
        if let Some(running) = running {
            running.leave(&gradients);
        }
        drop(rule);
        // Adjoints that the rule did not take are dropped now, not when the entry is reused.
        adjoints.clear();
        if modes::detects_anomalies() || modes::records_values() {
            inspect(node, &gradients)?;
        }
        self.hand_down(node, needed, gradients);
        Ok(())
    }

    fn hand_down(&mut self, node: &'g Arc<Node>, needed: Mask, gradients: Gradients) {
        for (position, gradient) in gradients.into_iter().enumerate() {
            if let Some(Some(edge)) = node.edges().get(position)
                && needed.has(position)
                && !matches!(gradient, Gradient::Zero)
            {
                self.deposit(edge, 0, gradient);
            }
        }
    }

    /// Which gradients of a call are needed.
    #[inline(always)]
    fn needed(&mut self, node: &'g Arc<Node>) -> Mask {
        let edges = node.edges();
        match self.targets {
            None => node.wanted(),
            Some(_) => Mask::of(edges.len(), |i| edges[i].as_ref().is_some_and(|edge| self.is_wanted(edge))),
        }
    }

    /// Whether nothing observes the cotangent of a record, so that a part of it may bypass the record.
    fn passes_by(&self, node: &Arc<Node>) -> bool {
        let is_target = self.targets.as_ref().is_some_and(|targets| targets.contains_key(&node.id()));
        !is_target && !node.is_decorated() && !modes::records_values()
    }

    /// Passes the cotangent of a square directly to the operands of the root: the square is smooth where the root is not.
    fn pull_square(&mut self, root: &'g Arc<Node>, place: usize) -> Result<(), Error> {
        let cotangent = self.pending[place].adjoints[0].take();
        self.pending[place].adjoints.clear();
        let needed = self.needed(root);
        let (Some(cotangent), Some(pull)) = (cotangent, root.op().vjp_of_square(root.attrs())) else { return Ok(()) };
        if !needed.is_empty() {
            location::set_inherited(root.line);
            // The root may have other cotangents, which are handled when its own turn comes.
            let attach = self.options.create_graph.then_some(root);
            let Some(rule) = root.rule(needed, true, attach)? else { return Err(freed(root)) };
            let gradients = pull(&rule, cotangent);
            if modes::detects_anomalies() {
                inspect(root, &gradients)?;
            }
            self.hand_down(root, needed, gradients);
        }
        Ok(())
    }
}

/// The destination is found first: moving a tensor right after its fields were written would stall on the stores.
#[inline]
fn add(sum: &mut Option<Tensor>, gradient: Tensor) {
    match sum {
        Some(sum) => sum.accumulate(&gradient),
        empty => *empty = Some(gradient),
    }
}

/// Adjoints with their destination slots.
type Retained = Vec<(Arc<GradientSlot>, Tensor)>;

/// The result of a sweep.
pub struct Swept<'g> {
    pub leaves: Vec<Contribution<'g>>,
    /// Complete adjoints of intermediates whose gradient the user keeps.
    pub retained: Retained,
    pub targets: FxHashMap<u64, Option<Tensor>>,
}

/// Hooks see the complete adjoint once and may replace it; retained gradients and recorded values see the adjoint after the hooks.
fn decorate(
    node: &Arc<Node>,
    adjoints: &mut Adjoints,
    retained: &mut Retained,
    create_graph: bool,
) -> Result<(), Error> {
    let Some(adjoint) = adjoints.first_mut().and_then(Option::as_mut) else { return Ok(()) };
    let hooks: Vec<Hook> = node.extras(|extras| extras.hooks.clone()).unwrap_or_default();
    for hook in hooks {
        let _line = location::inherit(None);
        if let Some(replacement) = hook(adjoint) {
            if replacement.spec() != adjoint.spec() {
                let message = format!("a hook returned {} for an adjoint of {}", replacement.spec(), adjoint.spec());
                return Err(Error::new(ErrorKind::Hook, "backward", message)
                    .at(node.line)
                    .help("return a tensor of the same shape and dtype, or None to leave it unchanged"));
            }
            // A hook may compute with leaves; unless the sweep is recorded, the adjoint continues as a plain value.
            *adjoint = if create_graph { replacement } else { replacement.plain() };
        }
    }
    node.extras(|extras| {
        // A call with several outputs has its values and adjoints at their records.
        if extras.records_values && extras.value.is_some() {
            extras.adjoint = Some(adjoint.plain());
        }
        if node.role() != Role::Leaf {
            retained.extend(extras.slot.upgrade().map(|slot| (slot, adjoint.clone())));
        }
    });
    Ok(())
}

/// Checks and records the results of each rule, for anomaly mode and value recording.
fn inspect(node: &Arc<Node>, gradients: &[Gradient]) -> Result<(), Error> {
    let tensors: Vec<Option<Tensor>> = gradients
        .iter()
        .map(|gradient| match gradient {
            Gradient::Zero => None,
            Gradient::Dense(tensor) => Some(tensor.clone()),
            Gradient::Patch(patch) => {
                let mut operands = vec![Tensor::constant(0.0, &patch.spec)];
                operands.extend(patch.values.iter().cloned());
                Some(bind1(patch.op, patch.attrs.clone(), &operands.iter().collect::<Vec<_>>()))
            }
        })
        .collect();
    if modes::detects_anomalies() {
        for (position, tensor) in tensors.iter().enumerate() {
            if tensor.as_ref().is_some_and(Tensor::has_nan) {
                let message = format!("its rule produced NaN in the gradient of operand {position}");
                return Err(Error::new(ErrorKind::Anomaly, node.op().name(), message)
                    .at(node.line)
                    .help("look for a value at the border of the operation's domain on this line"));
            }
        }
    }
    node.extras(|extras| {
        if extras.records_values {
            extras.contributions = tensors.into_iter().map(|tensor| tensor.map(|tensor| tensor.plain())).collect();
        }
    });
    Ok(())
}

pub(crate) fn freed(node: &Node) -> Error {
    let name = match node.role() {
        Role::Operation => node.op().name(),
        _ => "output",
    };
    let message = format!("the reverse graph was already used up (at {name}, {})", location::shown(node.line));
    Error::new(ErrorKind::GraphFreed, "backward", message)
        .help("keep it in the first call: y.backward_with(Backward::new().retain_graph())")
}
