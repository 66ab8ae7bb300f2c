//! Shuffled batches, epoch by epoch.

use super::Data;
use crate::prelude::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, sync_channel};

/// The place of a loader in its data. The order of an epoch follows from the seed and its number, so this is all that resuming needs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The number of epochs that are complete.
    pub epoch: u64,
    /// The number of batches of the current epoch that were handed out.
    pub batch: u64,
}

/// Batches of a set of examples, in a new random order in each epoch.
///
/// ```
/// use wengert::nn::data::{Loader, Tensors};
/// use wengert::prelude::*;
/// let data = Tensors::new(Tensor::arange(0..10));
/// let mut loader = Loader::new(data, 4).shuffled(7);
/// let mut sizes = Vec::new();
/// for batch in loader.epoch() {
///     sizes.push(batch?.elements());
/// }
/// assert_eq!(sizes, [4, 4, 2]);
/// assert_eq!(loader.position().epoch, 1);
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Loader<D> {
    data: Arc<D>,
    batch: usize,
    seed: Option<u64>,
    drops_last: bool,
    ahead: usize,
    position: Position,
}

impl<D: Data> Loader<D> {
    /// Batches of this size, in the order of the data.
    ///
    /// # Panics
    /// If the size is 0 or the data is empty.
    #[track_caller]
    pub fn new(data: D, batch: usize) -> Loader<D> {
        if batch == 0 || data.is_empty() {
            let message =
                if batch == 0 { "batches of 0 examples have nothing to learn from" } else { "the data is empty" };
            Error::new(ErrorKind::Argument, "Loader", message).at(Line::caller()).raise();
        }
        Loader { data: Arc::new(data), batch, seed: None, drops_last: false, ahead: 0, position: Position::default() }
    }

    /// In another random order in each epoch, the same for the same seed.
    #[must_use]
    pub fn shuffled(self, seed: u64) -> Loader<D> {
        Loader { seed: Some(seed), ..self }
    }

    /// Without the last batch of an epoch if it is smaller than the others.
    #[must_use]
    pub fn drop_last(self) -> Loader<D> {
        Loader { drops_last: true, ..self }
    }

    /// Prepares this many batches of an epoch ahead, on another thread.
    #[must_use]
    pub fn prefetch(self, batches: usize) -> Loader<D> {
        Loader { ahead: batches, ..self }
    }

    /// The data.
    pub fn data(&self) -> &D {
        &self.data
    }

    /// The number of batches of an epoch.
    pub fn batches(&self) -> usize {
        let count = self.data.len();
        if self.drops_last { count / self.batch } else { count.div_ceil(self.batch) }
    }

    /// What decides its batches, besides the data: a run goes on as it was only with the same.
    ///
    /// ```
    /// use wengert::nn::data::{Loader, Tensors};
    /// use wengert::prelude::*;
    /// let loader = Loader::new(Tensors::new(Tensor::arange(0..10)), 4).shuffled(7);
    /// assert_eq!(loader.describe(), "10 examples in batches of 4, shuffled with seed 7");
    /// ```
    pub fn describe(&self) -> String {
        let order = self.seed.map_or_else(|| "in order".to_string(), |seed| format!("shuffled with seed {seed}"));
        let last = if self.drops_last { ", without a smaller last batch" } else { "" };
        format!("{} examples in batches of {}, {order}{last}", self.data.len(), self.batch)
    }

    /// Where it stands.
    pub fn position(&self) -> Position {
        self.position
    }

    /// Goes to a place, such as that of a checkpoint.
    pub fn seek(&mut self, position: Position) {
        self.position = position;
    }

    /// The rest of the current epoch. When the last batch has been taken, the next epoch begins. A batch that could not be read is passed
    /// when another one is asked for; until then the loader stays before it.
    pub fn epoch(&mut self) -> Epoch<'_, D> {
        let order = order(self.data.len(), self.seed, self.position.epoch);
        let mut parts: Vec<Vec<usize>> = order.chunks(self.batch).map(<[usize]>::to_vec).collect();
        parts.truncate(self.batches());
        let rest = parts.split_off((self.position.batch as usize).min(parts.len()));
        let supply = match self.ahead {
            0 => Supply::Here(rest.into_iter()),
            ahead => Supply::Ahead(prepare(self.data.clone(), rest, ahead)),
        };
        Epoch { loader: self, supply, has_failed: false, is_over: false }
    }
}

/// The positions of all examples in the order of an epoch.
fn order(count: usize, seed: Option<u64>, epoch: u64) -> Vec<usize> {
    let Some(seed) = seed else { return (0..count).collect() };
    let key = Key::from_tensor(Tensor::from([seed as i64, epoch as i64 + 1]));
    key.permutation(count).to_vec::<i64>().into_iter().map(|position| position as usize).collect()
}

/// Prepares batches on another thread, which ends when the receiver is dropped.
fn prepare<D: Data>(data: Arc<D>, parts: Vec<Vec<usize>>, ahead: usize) -> Receiver<Prepared<D>> {
    let (sender, receiver) = sync_channel(ahead.min(parts.len()));
    std::thread::spawn(move || {
        for part in parts {
            let batch = catch_unwind(AssertUnwindSafe(|| data.batch(&part)));
            let has_failed = batch.is_err();
            if sender.send(batch).is_err() || has_failed {
                return;
            }
        }
    });
    receiver
}

/// A batch, or the panic of its thread.
type Prepared<D> = std::thread::Result<Result<<D as Data>::Batch, Error>>;

/// The batches of an epoch; see [`Loader::epoch`].
pub struct Epoch<'l, D: Data> {
    loader: &'l mut Loader<D>,
    supply: Supply<D>,
    /// Whether the last batch could not be read: the position is still before it.
    has_failed: bool,
    is_over: bool,
}

enum Supply<D: Data> {
    Here(std::vec::IntoIter<Vec<usize>>),
    Ahead(Receiver<Prepared<D>>),
}

impl<D: Data> Epoch<'_, D> {
    /// The loader, whose position is after the last batch that was handed out.
    pub fn loader(&self) -> &Loader<D> {
        self.loader
    }
}

impl<D: Data> Iterator for Epoch<'_, D> {
    type Item = Result<D::Batch, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = match &mut self.supply {
            Supply::Here(parts) => parts.next().map(|part| self.loader.data.batch(&part)),
            Supply::Ahead(receiver) => {
                receiver.recv().ok().map(|batch| batch.unwrap_or_else(|panic| resume_unwind(panic)))
            }
        };
        let position = &mut self.loader.position;
        position.batch += u64::from(std::mem::take(&mut self.has_failed));
        match &batch {
            Some(Ok(_)) => position.batch += 1,
            Some(Err(_)) => self.has_failed = true,
            None if !self.is_over => {
                self.is_over = true;
                *position = Position { epoch: position.epoch + 1, batch: 0 };
            }
            None => {}
        }
        batch
    }
}
