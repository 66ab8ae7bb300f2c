//! Saved values in a file: written by a background thread, and read back before the backward pass asks for them.

use super::compression::Codec;
use crate::autograd::modes;
use crate::autograd::packing::{self, Packed, Purpose, Saver, save_around, with_saver};
use crate::interp::{Node, Role};
use crate::location::Line;
use crate::primitive::{Saved, Spec};
use crate::tensor::{Layout, Value};
use crate::{Error, ErrorKind, Tensor};
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, Weak};
use wengert_kernels::Block;
use wengert_kernels::pool;
use wengert_kernels::spill::{Record, SpillError, SpillFile};

/// Values that wait to be written stay in memory, so there are at most this many.
const MOST_WAITING: usize = 4;

/// How many values are read before they are needed.
const AHEAD: usize = 2;

/// Which saved values [`offload`] writes.
///
/// ```
/// use wengert::memory::Threshold;
/// assert_eq!(Threshold::bytes(1 << 20), Threshold::bytes(1 << 20));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Threshold {
    bytes: usize,
    codec: Option<Codec>,
}

impl Threshold {
    /// Values of at least so many bytes.
    pub fn bytes(bytes: usize) -> Threshold {
        Threshold { bytes, codec: None }
    }

    /// The same values, compressed without loss where that makes them smaller (feature `compression`). It pays on a slow disk, for values
    /// with many zeros or equal numbers; of other floats little more than signs and exponents becomes smaller.
    ///
    /// ```
    /// use wengert::{prelude::*, memory::{Threshold, offload}};
    /// let x = Tensor::linspace(-1.0, 1.0, 10_000).require_grad();
    /// let loss = || x.relu().square().relu().sum();
    /// loss().backward();
    /// let plain = x.take_grad().unwrap();
    /// offload(std::env::temp_dir(), Threshold::bytes(1 << 10).compressed(), || loss().backward());
    /// assert_eq!(x.take_grad().unwrap(), plain);
    /// ```
    #[cfg(feature = "compression")]
    pub fn compressed(self) -> Threshold {
        Threshold { codec: Some(Codec::Lz4), ..self }
    }
}

/// Runs `f`. Values that its operations save for the backward pass, if they are large enough, are written to a file in `folder` and dropped
/// from memory. The backward pass reads them back, in `f` or later, and has the same bits.
///
/// Inside a checkpointed function nothing is kept, so nothing is written either.
///
/// One background thread writes while `f` computes, and reads ahead while the backward pass does. Leaves stay in memory. The file is removed
/// when no record needs it any more, also after a panic. It is checked by length and checksum: a disk that is full, or a file that was
/// removed, cut or changed meanwhile, is an [`ErrorKind::File`] with its path, and no gradient changes.
///
/// ```
/// use wengert::{prelude::*, memory::{Threshold, offload}};
/// let x = Tensor::linspace(0.0, 1.0, 10_000).require_grad();
/// let loss = || (0..8).fold(x.clone(), |y, _| y.sin()).sum();
/// loss().backward();
/// let plain = x.take_grad().unwrap();
/// offload(std::env::temp_dir(), Threshold::bytes(1 << 10), || loss().backward());
/// assert_eq!(x.take_grad().unwrap(), plain);
/// ```
#[track_caller]
pub fn offload<R>(folder: impl AsRef<Path>, threshold: Threshold, f: impl FnOnce() -> R) -> R {
    let line = Line::caller();
    let refused = |message: String| Error::new(ErrorKind::Argument, "offload", message).at(line);
    if modes::is_tracing() {
        refused("a function that is traced has no numbers to write".into())
            .help("call offload around the call of the compiled function, or use checkpoint inside it")
            .raise();
    }
    let folder = folder.as_ref();
    if folder.as_os_str().is_empty() {
        refused("the folder has no name".into()).help("std::env::temp_dir() is one that exists").raise();
    }
    if packing::saver().is_some_and(|saver| saver.runs_again()) {
        return f();
    }
    let file = SpillFile::create(folder).unwrap_or_else(|error| refused(error.to_string()).raise());
    let disk = Disk::start(file, threshold.codec);
    let result = with_saver(Some(Arc::new(Offload { disk: disk.clone(), threshold, outer: packing::saver() })), f);
    disk.settle().unwrap_or_else(|error| file_error(&error).at(line).raise());
    result
}

fn file_error(error: &SpillError) -> Error {
    Error::new(ErrorKind::File, "offload", error.to_string())
        .help("give it another folder, and repeat the call: no gradient has changed")
}

struct Offload {
    disk: Arc<Disk>,
    threshold: Threshold,
    /// What is too small is stored by the saver around this one.
    outer: Option<Arc<dyn Saver>>,
}

impl Saver for Offload {
    fn save(self: Arc<Self>, level: u64, value: &Tensor, purpose: &Purpose<'_>) -> Saved {
        let keep = || save_around(&self.outer, level, value, purpose);
        let is_leaf = purpose.maker.is_some_and(|maker| maker.role() == Role::Leaf);
        let Some(holders) = value.holders().filter(|_| !is_leaf) else { return keep() };
        let bytes = value.spec().bytes();
        // A part of a large block, or an expanded view of a small one, is not what takes the memory.
        if bytes < self.threshold.bytes.max(1) || holders.bytes < bytes || holders.bytes > 2 * bytes {
            return keep();
        }
        let item = self.disk.write(value).unwrap_or_else(|error| file_error(&error).at(purpose.line).raise());
        let link = if level == 0 { None } else { value.link.clone() };
        Saved::packed(Stored { item, link })
    }

    fn outer(&self) -> Option<&Arc<dyn Saver>> {
        self.outer.as_ref()
    }
}

/// A saved value that is, or will be, in the file.
struct Stored {
    item: Arc<Item>,
    /// Its place in the graph, which the records of the tape find through their edges.
    link: Option<Arc<Node>>,
}

impl Packed for Stored {
    fn unpack(&self) -> Result<Tensor, Error> {
        let value = self.item.take().map_err(|error| file_error(&error))?;
        Ok(Tensor { link: self.link.clone(), ..value })
    }
}

/// The file and its thread. The last value that needs the file removes it.
struct Disk {
    shared: Arc<Shared>,
}

/// What the thread knows.
struct Shared {
    /// Present until no value needs it.
    file: Mutex<Option<SpillFile>>,
    codec: Option<Codec>,
    jobs: Mutex<Jobs>,
    changed: Condvar,
}

#[derive(Default)]
struct Jobs {
    writes: VecDeque<Weak<Item>>,
    reads: VecDeque<Weak<Item>>,
    /// Whether the thread is writing.
    is_busy: bool,
    has_ended: bool,
    /// The first write that failed, until somebody is told.
    failed: Option<SpillError>,
    /// All values, in the order in which they were saved.
    items: Vec<Weak<Item>>,
}

/// A value.
struct Item {
    disk: Arc<Disk>,
    number: usize,
    spec: Spec,
    /// The length of its block.
    bytes: usize,
    layout: Layout,
    is_dense: bool,
    place: Mutex<Place>,
    read: Condvar,
}

enum Place {
    Memory(Tensor),
    File(Record),
    /// The thread is reading it.
    Coming(Record),
    /// Read ahead.
    Both(Record, Result<Tensor, SpillError>),
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Shared {
    /// The thread: one job after the other.
    fn work(&self) {
        loop {
            let mut jobs = lock(&self.jobs);
            while jobs.writes.is_empty() && jobs.reads.is_empty() && !jobs.has_ended {
                jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
            }
            if jobs.has_ended {
                return;
            }
            // The backward pass waits for what it reads.
            if let Some(item) = jobs.reads.pop_front() {
                drop(jobs);
                if let Some(item) = item.upgrade() {
                    item.read_ahead();
                }
            } else if let Some(item) = jobs.writes.pop_front() {
                jobs.is_busy = true;
                drop(jobs);
                let failed = item.upgrade().and_then(|item| item.write().err());
                let mut jobs = lock(&self.jobs);
                jobs.is_busy = false;
                jobs.failed = jobs.failed.take().or(failed);
                self.changed.notify_all();
            }
        }
    }

    fn with_file<R>(&self, f: impl FnOnce(&mut SpillFile) -> R) -> R {
        f(lock(&self.file).as_mut().expect("it is there as long as a value needs it"))
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        lock(&self.shared.jobs).has_ended = true;
        self.shared.changed.notify_all();
        let file = lock(&self.shared.file).take();
        drop(file);
    }
}

impl Disk {
    fn start(file: SpillFile, codec: Option<Codec>) -> Arc<Disk> {
        let (jobs, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { file: Mutex::new(Some(file)), codec, jobs, changed });
        let of_thread = shared.clone();
        std::thread::spawn(move || of_thread.work());
        Arc::new(Disk { shared })
    }

    /// Hands a value to the thread. An earlier write that failed is reported here.
    fn write(self: &Arc<Disk>, value: &Tensor) -> Result<Arc<Item>, SpillError> {
        let mut jobs = lock(&self.shared.jobs);
        while jobs.writes.len() >= MOST_WAITING && jobs.failed.is_none() {
            jobs = self.shared.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
        if let Some(error) = &jobs.failed {
            return Err(error.clone());
        }
        // A product of a value with itself saves it twice.
        if let Some(last) = jobs.items.last().and_then(Weak::upgrade)
            && last.holds(value)
        {
            return Ok(last);
        }
        let (layout, block) = value.memory().expect("it has a block");
        let item = Arc::new(Item {
            disk: self.clone(),
            number: jobs.items.len(),
            spec: value.spec(),
            bytes: block.len(),
            layout: layout.into_owned(),
            is_dense: matches!(value.value, Value::Dense(_)),
            place: Mutex::new(Place::Memory(value.plain())),
            read: Condvar::new(),
        });
        jobs.items.push(Arc::downgrade(&item));
        jobs.writes.push_back(Arc::downgrade(&item));
        self.shared.changed.notify_all();
        Ok(item)
    }

    /// Waits until everything is written.
    fn settle(&self) -> Result<(), SpillError> {
        let mut jobs = lock(&self.shared.jobs);
        while (!jobs.writes.is_empty() || jobs.is_busy) && jobs.failed.is_none() {
            jobs = self.shared.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
        jobs.failed.take().map_or(Ok(()), Err)
    }

    /// Asks the thread for the values that were saved before this one, which the backward pass reads next.
    fn expect_before(&self, number: usize) {
        let mut jobs = lock(&self.shared.jobs);
        let before: Vec<Arc<Item>> = jobs.items[..number].iter().rev().take(AHEAD).filter_map(Weak::upgrade).collect();
        for item in before {
            let mut place = lock(&item.place);
            if let Place::File(record) = *place {
                *place = Place::Coming(record);
                jobs.reads.push_back(Arc::downgrade(&item));
            }
        }
        self.shared.changed.notify_all();
    }
}

impl Item {
    /// Whether it still holds this value in memory.
    fn holds(&self, value: &Tensor) -> bool {
        let place = lock(&self.place);
        let Place::Memory(own) = &*place else { return false };
        match (own.memory(), value.memory()) {
            (Some((layout, block)), Some((other_layout, other))) => {
                block.same(other) && layout == other_layout && own.dtype() == value.dtype()
            }
            _ => false,
        }
    }

    /// Writes the value and drops it from memory.
    fn write(&self) -> Result<(), SpillError> {
        let value = match &*lock(&self.place) {
            Place::Memory(value) => value.clone(),
            _ => return Ok(()),
        };
        let (_, block) = value.memory().expect("it has a block");
        let bytes = block.bytes();
        let small = self.disk.shared.codec.and_then(|codec| codec.compressed(bytes, self.spec.dtype.size()));
        let record = self.disk.shared.with_file(|file| file.write(small.as_deref().unwrap_or(bytes)))?;
        *lock(&self.place) = Place::File(record);
        Ok(())
    }

    fn read(&self, record: Record) -> Result<Tensor, SpillError> {
        let mut block = Block::new(self.bytes);
        let bytes = block.bytes_mut().expect("a new block is unique");
        let Shared { codec, .. } = &*self.disk.shared;
        self.disk.shared.with_file(|file| match codec.filter(|_| record.length() < bytes.len()) {
            None => file.read(record, bytes),
            Some(codec) => {
                let mut small = vec![0; record.length()];
                file.read(record, &mut small)?;
                let is_whole = codec.decompress(&small, self.spec.dtype.size(), bytes);
                is_whole.then_some(()).ok_or_else(|| file.altered(record))
            }
        })?;
        Ok(match self.is_dense {
            true => Tensor::from_block(self.spec.clone(), block),
            false => Tensor::from_array(self.spec.dtype, self.layout.clone(), block),
        })
    }

    fn read_ahead(&self) {
        let Place::Coming(record) = *lock(&self.place) else { return };
        // Without memory it stays in the file: whoever needs it reads it, and is told.
        let place = pool::attempt(|| self.read(record)).map_or(Place::File(record), |value| Place::Both(record, value));
        *lock(&self.place) = place;
        self.read.notify_all();
    }

    /// The value. It stays in the file, for another sweep.
    fn take(&self) -> Result<Tensor, SpillError> {
        self.disk.expect_before(self.number);
        let mut place = lock(&self.place);
        while let Place::Coming(_) = *place {
            place = self.read.wait(place).unwrap_or_else(PoisonError::into_inner);
        }
        let record = match &*place {
            Place::Memory(value) => return Ok(value.clone()),
            Place::File(record) | Place::Coming(record) | Place::Both(record, _) => *record,
        };
        match std::mem::replace(&mut *place, Place::File(record)) {
            Place::Both(_, value) => value,
            _ => {
                drop(place);
                self.read(record)
            }
        }
    }
}

impl Drop for Item {
    fn drop(&mut self) {
        if let Place::File(record) | Place::Coming(record) | Place::Both(record, _) = *lock(&self.place) {
            self.disk.shared.with_file(|file| file.release(record));
        }
    }
}
