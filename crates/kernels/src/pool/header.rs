//! What stands before the data of every block.

use std::sync::atomic::AtomicUsize;

/// Bytes before the data of a block of the pool: one cache line, so that the data is aligned to 64 too.
pub(super) const HEADER: usize = 64;

/// The bookkeeping of one block. `count` and `length` are meaningful while the block is on no list.
#[repr(C)]
pub(super) struct Header {
    pub(super) count: AtomicUsize,
    /// Bytes the user asked for, at most `capacity`.
    pub(super) length: usize,
    /// Bytes after the header, in a block of the pool.
    pub(super) capacity: usize,
    /// Index of the size class, or one of the kinds in [`super::class`] that have none.
    pub(super) class: u32,
    /// The owner's mark and words, written once in `Block::labelled`.
    pub(super) mark: u32,
    pub(super) words: [usize; 3],
    pub(super) link: Link,
}

/// Where a block leads.
#[derive(Clone, Copy)]
pub(super) union Link {
    /// In use: to its data.
    pub(super) data: *mut u8,
    /// On a list: to the next free block of the same list.
    pub(super) next: *mut Header,
}

const _: () = assert!(size_of::<Header>() == HEADER);

impl Header {
    /// The header of a block on no list.
    pub(super) fn new(capacity: usize, class: u32) -> Header {
        Header {
            count: AtomicUsize::new(0),
            length: 0,
            capacity,
            class,
            mark: 0,
            words: [0; 3],
            link: Link { next: std::ptr::null_mut() },
        }
    }
}
