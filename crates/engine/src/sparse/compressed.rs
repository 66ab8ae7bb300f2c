//! Compressed evaluation: one seed per colour, all in one batched pass. The entries are then picked from the results.

use super::{Colouring, Compression};
use crate::methods::*;
use crate::primitive::Spec;
use crate::{DType, Error, ErrorKind, Shape, Tensor, Tree, TreePath};

/// Maximum number of elements in one batch of seeds or results; more seeds need several passes.
const BATCH: usize = 1 << 22;

/// Maximum size in bytes of a dense matrix.
const DENSE: usize = 1 << 30;

/// The leaves of a tree, and the total number of elements of the differentiable ones.
#[derive(Clone)]
pub(super) struct Side {
    leaves: Vec<Leaf>,
    pub length: usize,
}

#[derive(Clone)]
struct Leaf {
    spec: Spec,
    /// Whether its elements are columns or rows.
    counts: bool,
}

impl Side {
    /// Leaves that are differentiated with respect to: real and not frozen.
    pub fn input(tree: &impl Tree) -> Side {
        Side::of(tree, |path, leaf| leaf.dtype().is_float() && !path.is_frozen())
    }

    /// Leaves that are differentiated: real.
    pub fn output(tree: &impl Tree) -> Side {
        Side::of(tree, |_, leaf| leaf.dtype().is_float())
    }

    fn of(tree: &impl Tree, counts: impl Fn(&TreePath, &Tensor) -> bool) -> Side {
        let mut leaves = Vec::new();
        tree.visit(&mut TreePath::root(), &mut |path, leaf| {
            leaves.push(Leaf { spec: leaf.spec(), counts: counts(path, leaf) });
        });
        let length = leaves.iter().filter(|leaf| leaf.counts).map(|leaf| leaf.spec.shape.elements()).sum();
        Side { leaves, length }
    }

    /// The tensors, one per leaf, of the leaves that count.
    pub fn counted<T>(&self, tensors: impl IntoIterator<Item = T>) -> impl Iterator<Item = T> {
        self.leaves.iter().zip(tensors).filter(|(leaf, _)| leaf.counts).map(|(_, tensor)| tensor)
    }

    /// The dtype of the computation: that of the leaves, or f64 if they differ.
    pub fn dtype(&self) -> DType {
        let mut floats = self.leaves.iter().filter(|leaf| leaf.counts).map(|leaf| leaf.spec.dtype);
        let first = floats.next().unwrap_or(DType::F64);
        if floats.all(|dtype| dtype == first) { first } else { DType::F64 }
    }

    /// Returns an error for the first leaf whose spec differs from that at the time of `new`.
    pub fn expect(&self, name: &str, tree: &impl Tree) -> Result<(), Error> {
        let leaves = tree.named_leaves();
        if leaves.len() != self.leaves.len() {
            let message = format!("the function gave {} tensors, and {} before", leaves.len(), self.leaves.len());
            return Err(Error::new(ErrorKind::Tree, name, message));
        }
        for ((path, leaf), Leaf { spec, .. }) in leaves.iter().zip(&self.leaves) {
            if leaf.spec() != *spec {
                let at = if path.is_empty() { String::new() } else { format!(" at '{path}'") };
                let message = format!("the function gave {}{at}, and {spec} before", leaf.spec());
                return Err(Error::new(ErrorKind::Tree, name, message)
                    .help("the structure is that of the first point; make another for another shape"));
            }
        }
        Ok(())
    }

    /// Concatenates the counted leaves of a batch as `[batch, length]`.
    fn joined(&self, leaves: &[&Tensor], batch: usize) -> Tensor {
        let dtype = self.dtype();
        let row = |leaf: &Tensor| leaf.reshape([batch, leaf.elements() / batch]).cast(dtype);
        let rows: Vec<Tensor> = self.counted(leaves).map(|leaf| row(leaf)).collect();
        if rows.len() == 1 { rows[0].clone() } else { Tensor::concat(&rows, 1) }
    }
}

/// Some colours, and where the entries are in the results of their seeds.
struct Pass {
    colours: std::ops::Range<u32>,
    index: Tensor,
}

/// A plan: seeds on one side, results on the other.
pub(super) struct Compressed {
    seeded: Side,
    colouring: Colouring,
    passes: Vec<Pass>,
    /// The index of each entry among those of all passes; `None` if the order is the same.
    order: Option<Tensor>,
    /// The seeds, if there is only one pass.
    seeds: Option<Vec<Tensor>>,
    entries: usize,
}

impl Compressed {
    /// `length` is the length of the results.
    pub fn new(seeded: Side, compression: &Compression, length: usize) -> Compressed {
        let (colouring, places) = (compression.colouring().clone(), compression.places());
        let batch = (BATCH / seeded.length.max(length).max(1)).max(1).min(colouring.count().max(1));
        let mut passes = Vec::new();
        let mut order = vec![0i64; places.len()];
        let mut done = 0;
        for from in (0..colouring.count()).step_by(batch) {
            let colours = from as u32..(from + batch).min(colouring.count()) as u32;
            let mut index = Vec::new();
            for (entry, (colour, place)) in places.iter().enumerate().filter(|(_, (c, _))| colours.contains(c)) {
                order[entry] = (done + index.len()) as i64;
                index.push((*colour as usize - from) as i64 * length as i64 + *place as i64);
            }
            done += index.len();
            let count = index.len();
            passes.push(Pass { colours, index: Tensor::from_vec(index, [count]) });
        }
        let order = (passes.len() > 1).then(|| Tensor::from_vec(order, [places.len()]));
        let mut plan = Compressed { seeded, colouring, passes, order, seeds: None, entries: places.len() };
        plan.seeds = match &plan.passes[..] {
            [only] => Some(plan.seeds(only)),
            _ => None,
        };
        plan
    }

    /// The number of seeds.
    pub fn count(&self) -> usize {
        self.colouring.count()
    }

    /// For each leaf of the seeded side, ones where its elements have the colour of the seed.
    fn seeds(&self, pass: &Pass) -> Vec<Tensor> {
        let mut first = 0;
        let seeds = |Leaf { spec, counts }: &Leaf| {
            let shape = spec.shape.prepended(pass.colours.len());
            if !counts {
                return Tensor::constant(0.0, &Spec::new(shape, spec.dtype));
            }
            let elements = spec.shape.elements();
            let mut seeds = vec![0f32; shape.elements()];
            for (element, colour) in self.colouring.colours()[first..first + elements].iter().enumerate() {
                if pass.colours.contains(colour) {
                    seeds[(colour - pass.colours.start) as usize * elements + element] = 1.0;
                }
            }
            first += elements;
            Tensor::from_vec(seeds, shape).cast(spec.dtype)
        };
        self.seeded.leaves.iter().map(seeds).collect()
    }

    /// Computes the entries with a function that maps a batch of seeds to a batch of results.
    pub fn values<R: Tree>(&self, result: &Side, run: impl Fn(Vec<Tensor>) -> R) -> Tensor {
        if self.entries == 0 {
            return Tensor::constant(0.0, &Spec::new([0], result.dtype()));
        }
        let mut parts = Vec::new();
        for pass in &self.passes {
            let seeds = self.seeds.clone().unwrap_or_else(|| self.seeds(pass));
            let batch = run(seeds);
            let rows = result.joined(&batch.leaves(), pass.colours.len());
            parts.push(rows.reshape([rows.elements()]).gather(0, &pass.index));
        }
        match &self.order {
            None => parts.remove(0),
            Some(order) => Tensor::concat(&parts, 0).gather(0, order),
        }
    }
}

/// A dense matrix with the given entries, and zeros elsewhere.
pub(super) fn dense(
    name: &str,
    size: [usize; 2],
    places: impl Iterator<Item = (usize, usize)>,
    values: &Tensor,
) -> Result<Tensor, Error> {
    let [rows, columns] = size;
    let bytes = rows.saturating_mul(columns).saturating_mul(values.dtype().size());
    if bytes > DENSE {
        let message = format!("a dense matrix of {rows} x {columns} takes {bytes} bytes, the limit is {DENSE}");
        return Err(Error::new(ErrorKind::Shape(vec![Shape::from(size)]), name, message)
            .help("use triplets() and values(), which take a few numbers for each entry"));
    }
    let index: Vec<i64> = places.map(|(row, column)| (row * columns + column) as i64).collect();
    let zeros = Tensor::constant(0.0, &Spec::new([rows * columns], values.dtype()));
    let count = index.len();
    Ok(zeros.scatter_add(0, &Tensor::from_vec(index, [count]), values).reshape(size))
}
