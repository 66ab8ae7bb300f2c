//! Rows of a table, looked up one by one or reduced in bags.

use crate::autograd::modes::within;
use crate::prelude::*;

/// How the rows of a bag are reduced.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Bag {
    /// Their sum.
    Sum,
    /// Their mean; 0 for an empty bag.
    #[default]
    Mean,
    /// Their largest elements; 0 for an empty bag.
    Max,
}

/// Options for bags of embeddings.
///
/// ```
/// use wengert::prelude::*;
/// let table = Tensor::from([[1.0], [10.0]]);
/// let starts = Tensor::from([0i64, 1]);
/// let bags = table.embedding_bag(&Tensor::from([0i64, 1, 1]), &EmbeddingBag::new().offsets(&starts).mode(Bag::Sum));
/// assert_eq!(bags, Tensor::from([[1.0], [20.0]]));
/// ```
#[derive(Clone, Debug, Default)]
pub struct EmbeddingBag {
    mode: Bag,
    offsets: Option<Tensor>,
    include_last_offset: bool,
    weights: Option<Tensor>,
    padding: Option<i64>,
}

impl EmbeddingBag {
    /// The default: means, and every row of a matrix of indices is a bag.
    pub fn new() -> EmbeddingBag {
        EmbeddingBag::default()
    }

    /// Sets how the rows of a bag are reduced.
    pub fn mode(self, mode: Bag) -> EmbeddingBag {
        EmbeddingBag { mode, ..self }
    }

    /// The start of each bag in a vector of indices; the last bag extends to the end.
    pub fn offsets(self, offsets: &Tensor) -> EmbeddingBag {
        EmbeddingBag { offsets: Some(offsets.clone()), ..self }
    }

    /// Whether the last offset is the end of the last bag instead of the start of another.
    pub fn include_last_offset(self, included: bool) -> EmbeddingBag {
        EmbeddingBag { include_last_offset: included, ..self }
    }

    /// A factor for each index.
    pub fn weights(self, weights: &Tensor) -> EmbeddingBag {
        EmbeddingBag { weights: Some(weights.clone()), ..self }
    }

    /// The index whose row is ignored; negative indices count from the end.
    pub fn padding_index(self, padding: i64) -> EmbeddingBag {
        EmbeddingBag { padding: Some(padding), ..self }
    }
}

/// The methods of `embedding`.
#[ext(EmbeddingMethods)]
impl Tensor {
    /// Looks up rows of this table `[V, ..]` by index: `[index.., ..]`. Gradients of repeated rows are added in order.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// assert_eq!(table.embedding(&Tensor::from([1i64, 1, 0])), Tensor::from([[3.0, 4.0], [3.0, 4.0], [1.0, 2.0]]));
    /// ```
    #[track_caller]
    pub fn embedding(&self, index: &Tensor) -> Tensor {
        let _name = within("embedding");
        if self.rank() == 0 {
            Error::new(ErrorKind::Shape(vec![Shape::default()]), "embedding", "a scalar has no rows").raise();
        }
        self.take_rows(index)
    }

    /// [`embedding`](Tensor::embedding) where row `padding` gets no gradient.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let f = |table: &Tensor| table.embedding_with_padding(&Tensor::from([0i64, 1]), 0).sum();
    /// assert_eq!(grad(f)(&Tensor::zeros([2, 1])), Tensor::from([[0.0], [1.0]]));
    /// ```
    #[track_caller]
    pub fn embedding_with_padding(&self, index: &Tensor, padding: i64) -> Tensor {
        let _name = within("embedding_with_padding");
        let padding = if padding < 0 { padding + self.shape().first().copied().unwrap_or(0) as i64 } else { padding };
        let rows = self.embedding(index);
        let mut mask = index.equal(padding);
        for _ in index.rank()..rows.rank() {
            mask = mask.unsqueeze(mask.rank());
        }
        mask.where_(rows.detach(), &rows)
    }

    /// Reduces bags of rows of this table `[V, D]` to `[bags, D]`. Indices are `[bags, L]`, or `[N]` with offsets.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = Tensor::from([[1.0, 2.0], [3.0, 4.0]]);
    /// let bags = table.embedding_bag(&Tensor::from([[0i64, 1], [1, 1]]), &EmbeddingBag::new());
    /// assert_eq!(bags, Tensor::from([[2.0, 3.0], [3.0, 4.0]]));
    /// ```
    #[track_caller]
    pub fn embedding_bag(&self, index: &Tensor, options: &EmbeddingBag) -> Tensor {
        let _name = within("embedding_bag");
        let fits = self.rank() == 2 && index.rank() == if options.offsets.is_some() { 1 } else { 2 };
        if !fits || options.weights.as_ref().is_some_and(|weights| weights.shape() != index.shape()) {
            let shapes = vec![Shape::from(self.shape()), Shape::from(index.shape())];
            let message = format!("a table of shape {} with indices of shape {}", shapes[0], shapes[1]);
            Error::new(ErrorKind::Shape(shapes), "embedding_bag", message)
                .help("they are [V, D] and [bags, L], or [N] with offsets; weights have the shape of the indices")
                .raise();
        }
        let (count, width) = (index.elements(), self.shape()[1]);
        let flat = index.cast(DType::I64).reshape([count]);
        let mut rows = self.embedding(&flat);
        if let Some(weights) = &options.weights {
            rows *= weights.reshape([count, 1]);
        }
        let padding = options.padding.map(|row| if row < 0 { row + self.shape()[0] as i64 } else { row });
        let counts = padding.map(|row| flat.not_equal(row));
        // The bag of each index.
        let (bags, number) = match &options.offsets {
            None => {
                let (bags, length) = (index.shape()[0], index.shape()[1]);
                (bags, Tensor::arange(bags).unsqueeze(1).broadcast_to([bags, length]).reshape([count]))
            }
            Some(offsets) => {
                let bags = offsets.elements() - usize::from(options.include_last_offset && offsets.elements() > 0);
                let starts = offsets.cast(DType::I64).slice(0..bags);
                // The bag of a position is the last one that starts at or before it.
                let started = Tensor::arange(count).unsqueeze(1).ge(&starts);
                (bags, started.cast(DType::I64).sum_over(1) - 1)
            }
        };
        let zeros = Tensor::constant(0.0, &Spec::new([bags, width], self.dtype()));
        if count == 0 {
            return zeros;
        }
        if options.mode == Bag::Max {
            let mut inside = Tensor::arange(bags).unsqueeze(1).equal(&number);
            if let Some(counts) = counts {
                inside = counts.broadcast_to(inside.shape()).where_(&inside, inside.full_like(0.0));
            }
            let candidates = inside.unsqueeze(2).where_(rows.unsqueeze(0), f64::NEG_INFINITY);
            let empty = inside.cast(DType::I64).sum_over(1).equal(0).unsqueeze(1);
            return empty.where_(0.0, candidates.max_along(1).0);
        }
        if let Some(counts) = &counts {
            rows = counts.unsqueeze(1).where_(&rows, 0.0);
        }
        let total = zeros.scatter_add(0, &number.unsqueeze(1).broadcast_to([count, width]), &rows);
        if options.mode == Bag::Sum {
            return total;
        }
        let ones = counts.map_or_else(|| Tensor::full([count], 1i64), |counts| counts.cast(DType::I64));
        let sizes = Tensor::full([bags], 0i64).scatter_add(0, &number, &ones);
        let sizes = sizes.equal(0).where_(1, &sizes).cast(self.dtype());
        total / sizes.unsqueeze(1)
    }
}
