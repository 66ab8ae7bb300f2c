//! Sets of examples.

use crate::prelude::*;

/// A set of examples that are read in batches.
pub trait Data: Send + Sync + 'static {
    /// A batch.
    type Batch: Tree + Send + 'static;

    /// The number of examples.
    fn len(&self) -> usize;

    /// Whether there is no example.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The examples at these positions, as one batch.
    fn batch(&self, positions: &[usize]) -> Result<Self::Batch, Error>;
}

/// Examples in memory: a tree of tensors whose first axis counts the examples.
///
/// ```
/// use wengert::nn::data::{Data, Tensors};
/// use wengert::prelude::*;
/// let data = Tensors::new((Tensor::from([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), Tensor::from([0i64, 1, 2])));
/// let (x, y) = data.batch(&[2, 0])?;
/// assert_eq!((x, y), (Tensor::from([[5.0, 6.0], [1.0, 2.0]]), Tensor::from([2i64, 0])));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tensors<T> {
    tree: T,
    length: usize,
}

impl<T: Tree> Tensors<T> {
    /// The examples of a tree.
    ///
    /// # Panics
    /// If the leaves differ in the size of their first axis, or there is none.
    #[track_caller]
    pub fn new(tree: T) -> Tensors<T> {
        match Tensors::try_new(tree) {
            Ok(data) => data,
            Err(error) => error.at(Line::caller()).raise(),
        }
    }

    /// The examples of a tree, or an error if the leaves differ in the size of their first axis.
    pub fn try_new(tree: T) -> Result<Tensors<T>, Error> {
        let mut first: Option<(String, usize)> = None;
        for (name, leaf) in tree.named_leaves() {
            let wrong =
                |message: String| Error::new(ErrorKind::Shape(vec![Shape::from(leaf.shape())]), "Tensors", message);
            let Some(length) = leaf.shape().first().copied() else {
                return Err(wrong(format!("`{name}` has rank 0, so it has no axis that counts examples")));
            };
            match &first {
                Some((other, number)) if *number != length => {
                    return Err(wrong(format!("`{name}` has {length} examples, `{other}` has {number}")));
                }
                Some(_) => {}
                None => first = Some((name, length)),
            }
        }
        let Some((_, length)) = first else {
            return Err(Error::new(ErrorKind::Tree, "Tensors", "there is no tensor in the data"));
        };
        Ok(Tensors { tree, length })
    }

    /// All examples.
    pub fn tree(&self) -> &T {
        &self.tree
    }

    /// The first `count` examples, and the others.
    #[track_caller]
    pub fn split_at(self, count: usize) -> (Tensors<T>, Tensors<T>) {
        let part = |from: usize, to: usize| self.tree.map_leaves(|leaf| leaf.slice(from..to));
        let count = count.min(self.length);
        (
            Tensors { tree: part(0, count), length: count },
            Tensors { tree: part(count, self.length), length: self.length - count },
        )
    }
}

impl<T: Tree + Send + Sync + 'static> Data for Tensors<T> {
    type Batch = T;

    fn len(&self) -> usize {
        self.length
    }

    fn batch(&self, positions: &[usize]) -> Result<T, Error> {
        let is_range = positions.windows(2).all(|pair| pair[1] == pair[0] + 1);
        if let (true, Some(first), Some(last)) = (is_range, positions.first(), positions.last()) {
            return catch(|| self.tree.map_leaves(|leaf| leaf.slice(*first..last + 1)));
        }
        let index = Tensor::from(positions.iter().map(|position| *position as i64).collect::<Vec<_>>());
        catch(|| self.tree.map_leaves(|leaf| leaf.index_select(0, &index)))
    }
}
