//! Memory: reference-counted blocks, 64-byte aligned, recycled through per-thread lists; and blocks over foreign memory, with the alignment
//! of its elements.
//!
//! A block of the pool is `[header: 64 bytes][data]`. The header holds the reference count, the length, the capacity, the size class and a
//! pointer to the data, so a [`Block`] is one word. Data up to 32 KiB comes from 2 MiB chunks that are cut into size classes and never
//! released; larger data comes from the system through a bounded cache. A free block is on exactly one list.
//!
//! Every byte is initialised: fresh memory is zero, recycled memory holds old data.

mod budget;
mod buffer;
mod class;
mod counters;
mod foreign;
mod header;
mod large;
mod limit;
mod local;
mod shared;
mod statistics;
mod system;

pub use budget::{measured, within};
pub use buffer::Buffer;
pub use limit::{Excess, OutOfMemory, attempt, request, resume};
pub use statistics::{PoolStatistics, reset_peak, statistics};

use crate::dtype::Element;
use class::{CLASSES, FOREIGN, LARGE, SMALL_LIMIT};
use header::{HEADER, Header, Link};
use std::fmt;
use std::ptr::NonNull;
use std::sync::atomic::{Ordering, fence};

/// Whether a tool watches the memory of the process (set by `.ci/sanitize`). Blocks then have exactly the requested length, come from the
/// system and are returned at once, so that the tool detects leaks and uses after free.
const IS_WATCHED: bool = cfg!(wengert_watched);

/// A shared piece of memory. One word; cloning increments the reference count, dropping decrements it.
///
/// ```
/// use wengert_kernels::Block;
/// let mut block = Block::new(16);
/// block.as_mut_slice::<f64>().unwrap().copy_from_slice(&[1.0, 2.0]);
/// let shared = block.clone();
/// assert!(block.bytes_mut().is_none());
/// assert_eq!(shared.as_slice::<f64>(), [1.0, 2.0]);
/// assert_eq!(size_of::<Option<Block>>(), size_of::<usize>());
/// ```
#[repr(transparent)]
pub struct Block {
    header: NonNull<Header>,
}

// SAFETY: the count is atomic, and the data is only written through `bytes_mut`, which needs the only reference.
unsafe impl Send for Block {}
// SAFETY: `&Block` gives read access and clones, both safe from many threads.
unsafe impl Sync for Block {}

impl Block {
    /// A block of `bytes` bytes with arbitrary but initialised contents, aligned to 64 bytes. Panics if memory runs out, also if a large
    /// block exceeds what the machine has left; inside [`attempt`], that is returned as a value.
    ///
    /// ```
    /// let block = wengert_kernels::Block::new(100);
    /// assert_eq!(block.len(), 100);
    /// assert_eq!(block.bytes().as_ptr() as usize % 64, 0);
    /// ```
    #[inline]
    pub fn new(bytes: usize) -> Block {
        let is_small = bytes <= SMALL_LIMIT && !IS_WATCHED;
        Block::from_header(bytes, if is_small { local::take(class::of(bytes)) } else { large::take(bytes) })
    }

    /// Like [`new`](Block::new), but a large block has at most a page more room than it needs, while a usual one may be larger by a quarter:
    /// for blocks that stay, such as the workspace of a plan.
    ///
    /// ```standalone_crate
    /// use wengert_kernels::{Block, pool};
    /// drop(Block::new(5_900_000));
    /// let before = pool::statistics().live_bytes;
    /// let block = Block::tight(5_000_000);
    /// assert!(pool::statistics().live_bytes - before <= block.len() + 4096);
    /// ```
    pub fn tight(bytes: usize) -> Block {
        if bytes <= SMALL_LIMIT { Block::new(bytes) } else { Block::from_header(bytes, large::take_tight(bytes)) }
    }

    /// A block of a header that was just taken.
    #[inline]
    fn from_header(bytes: usize, header: NonNull<Header>) -> Block {
        // SAFETY: `take` returns a live header that no list and no other block refers to. Its data begins `HEADER` bytes after it, in the
        // same allocation.
        unsafe {
            (*header.as_ptr()).length = bytes;
            (*header.as_ptr()).link = Link { data: header.as_ptr().cast::<u8>().add(HEADER) };
            (*header.as_ptr()).count.store(1, Ordering::Relaxed);
        }
        Block { header }
    }

    /// A block that stores a mark and three words of the owner beside its data, at no cost: the header has room for them.
    ///
    /// ```
    /// let block = wengert_kernels::Block::labelled(16, 7, [1, 2, 3]);
    /// assert_eq!((block.mark(), block.words()), (7, &[1, 2, 3]));
    /// ```
    #[inline]
    pub fn labelled(bytes: usize, mark: u32, words: [usize; 3]) -> Block {
        let block = Block::new(bytes);
        // SAFETY: the block is new, so no other code reads its header.
        unsafe { block.write_label(mark, words) };
        block
    }

    /// This block with a mark and three words, as from [`labelled`](Block::labelled). Panics if it is shared.
    ///
    /// ```
    /// let block = wengert_kernels::Block::from_vec(vec![1.0]).with_label(7, [1, 2, 3]);
    /// assert_eq!((block.mark(), block.words()), (7, &[1, 2, 3]));
    /// ```
    pub fn with_label(self, mark: u32, words: [usize; 3]) -> Block {
        assert!(self.is_unique(), "others may read the label of a shared block");
        // SAFETY: this is the only reference, so no other code reads its header.
        unsafe { self.write_label(mark, words) };
        self
    }

    /// # Safety
    /// There is no other reference to the block.
    #[inline]
    unsafe fn write_label(&self, mark: u32, words: [usize; 3]) {
        // SAFETY: the header lives as long as this reference is counted, and the caller has the only reference.
        unsafe {
            (*self.header.as_ptr()).mark = mark;
            (*self.header.as_ptr()).words = words;
        }
    }

    /// The mark given at creation; arbitrary for a block without a label.
    #[inline]
    pub fn mark(&self) -> u32 {
        // SAFETY: the header lives as long as this reference is counted; labels are only written to blocks without other references.
        unsafe { (*self.header.as_ptr()).mark }
    }

    /// The words given at creation; arbitrary for a block without a label.
    #[inline]
    pub fn words(&self) -> &[usize; 3] {
        // SAFETY: the header lives as long as this reference is counted; the words are only written in `labelled`.
        unsafe { &(*self.header.as_ptr()).words }
    }

    /// The number of bytes requested, or handed over.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::Block::new(3).len(), 3);
    /// ```
    #[inline]
    pub fn len(&self) -> usize {
        // SAFETY: the header lives as long as this reference is counted; `length` is only written at
        // creation.
        unsafe { (*self.header.as_ptr()).length }
    }

    /// Whether the block has zero bytes.
    ///
    /// ```
    /// assert!(wengert_kernels::Block::new(0).is_empty());
    /// ```
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The address of the contents. Bytes written through it must not be borrowed through any reference to this block.
    #[inline]
    pub(crate) fn data(&self) -> *mut u8 {
        // SAFETY: the header lives as long as this reference is counted; the link of a block in use points to its data.
        unsafe { (*self.header.as_ptr()).link.data }
    }

    /// The contents.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::Block::new(5).bytes().len(), 5);
    /// ```
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // SAFETY: there are `len` initialised bytes there for as long as the block lives; writers need the only reference, mutably, and
        // never write to foreign memory.
        unsafe { std::slice::from_raw_parts(self.data(), self.len()) }
    }

    /// Whether this is the only reference.
    ///
    /// ```
    /// let block = wengert_kernels::Block::new(8);
    /// assert!(block.is_unique());
    /// let other = block.clone();
    /// assert!(!block.is_unique());
    /// ```
    #[inline]
    pub fn is_unique(&self) -> bool {
        // SAFETY: the header lives as long as this reference is counted. Acquire pairs with the release in `drop`, so reads through dropped
        // references happened before.
        unsafe { (*self.header.as_ptr()).count.load(Ordering::Acquire) == 1 }
    }

    /// The number of references.
    ///
    /// ```
    /// let block = wengert_kernels::Block::new(8);
    /// let other = block.clone();
    /// assert_eq!(block.holders(), 2);
    /// drop(other);
    /// ```
    pub fn holders(&self) -> usize {
        // SAFETY: the header lives as long as this reference is counted.
        unsafe { (*self.header.as_ptr()).count.load(Ordering::Relaxed) }
    }

    /// The contents for writing, or `None` if the block is shared or its memory is foreign.
    ///
    /// ```
    /// let mut block = wengert_kernels::Block::new(1);
    /// block.bytes_mut().unwrap()[0] = 7;
    /// assert_eq!(block.bytes(), [7]);
    /// ```
    #[inline]
    pub fn bytes_mut(&mut self) -> Option<&mut [u8]> {
        // SAFETY: the header lives as long as this reference is counted; its class is only written at creation.
        if !self.is_unique() || unsafe { (*self.header.as_ptr()).class } == FOREIGN {
            return None;
        }
        // SAFETY: as in `bytes`; the memory is ours; the only reference is borrowed mutably for the life of the slice.
        Some(unsafe { std::slice::from_raw_parts_mut(self.data(), self.len()) })
    }

    /// The contents as elements. Panics if the length is not a multiple of the element size.
    ///
    /// ```
    /// assert_eq!(wengert_kernels::Block::new(8).as_slice::<f32>().len(), 2);
    /// ```
    #[inline]
    pub fn as_slice<T: Element>(&self) -> &[T] {
        bytemuck::cast_slice(self.bytes())
    }

    /// The contents as elements for writing, or `None` as for [`bytes_mut`](Block::bytes_mut).
    ///
    /// ```
    /// let mut block = wengert_kernels::Block::new(8);
    /// block.as_mut_slice::<i32>().unwrap().fill(3);
    /// assert_eq!(block.as_slice::<i32>(), [3, 3]);
    /// ```
    #[inline]
    pub fn as_mut_slice<T: Element>(&mut self) -> Option<&mut [T]> {
        self.bytes_mut().map(bytemuck::cast_slice_mut)
    }

    /// A number that is unique among all live blocks, even if two of them share foreign memory.
    ///
    /// ```
    /// use wengert_kernels::Block;
    /// let numbers = std::sync::Arc::<[f32]>::from([1.0, 2.0]);
    /// let blocks = [(); 2].map(|()| Block::from_owner(numbers.clone()));
    /// assert_eq!(blocks[0].bytes().as_ptr(), blocks[1].bytes().as_ptr());
    /// assert_ne!(blocks[0].identity(), blocks[1].identity());
    /// ```
    #[inline]
    pub fn identity(&self) -> usize {
        self.header.as_ptr() as usize
    }

    /// Whether both are references to the same block.
    ///
    /// ```
    /// let block = wengert_kernels::Block::new(8);
    /// assert!(block.same(&block.clone()));
    /// assert!(!block.same(&wengert_kernels::Block::new(8)));
    /// ```
    #[inline]
    pub fn same(&self, other: &Block) -> bool {
        self.header == other.header
    }
}

impl Clone for Block {
    #[inline]
    fn clone(&self) -> Block {
        // SAFETY: the header lives as long as this reference is counted. Relaxed is enough: the existing reference keeps the block alive.
        let before = unsafe { (*self.header.as_ptr()).count.fetch_add(1, Ordering::Relaxed) };
        assert!(before < usize::MAX / 2, "a block has too many references");
        Block { header: self.header }
    }
}

impl Drop for Block {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: the header lives as long as this reference is counted.
        let count = unsafe { &(*self.header.as_ptr()).count };
        // The holder of the only reference needs no read-modify-write: no other code can increment the count.
        if count.load(Ordering::Acquire) != 1 {
            if count.fetch_sub(1, Ordering::Release) != 1 {
                return;
            }
            fence(Ordering::Acquire);
        }
        // SAFETY: the last reference is gone, so the header can return to where its class says it came from.
        unsafe {
            match (*self.header.as_ptr()).class as usize {
                small @ ..CLASSES => local::give(self.header, small),
                kind if kind == LARGE as usize => large::give(self.header),
                _ => foreign::release(self.header),
            }
        }
    }
}

impl fmt::Debug for Block {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "Block({} bytes at {:p})", self.len(), self.data())
    }
}

#[cfg(test)]
mod tests;
