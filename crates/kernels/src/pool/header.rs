//! The header before the data of every block.

use std::sync::atomic::AtomicUsize;

/// The number of bytes before the data of a block of the pool: one cache line, so that the data is aligned to 64 as well.
pub(super) const HEADER: usize = 64;

/// The bookkeeping of one block. `count` and `length` are only meaningful while the block is on no list.
#[repr(C)]
pub(super) struct Header {
    pub(super) count: AtomicUsize,
    /// The number of bytes requested, at most `capacity`.
    pub(super) length: usize,
    /// The number of bytes after the header, in a block of the pool.
    pub(super) capacity: usize,
    /// The index of the size class, or one of the values in [`super::class`] for blocks without a class.
    pub(super) class: u32,
    /// The owner's mark and words, written once in `Block::labelled`.
    pub(super) mark: u32,
    pub(super) words: [usize; 3],
    pub(super) link: Link,
}

/// The pointer of a block.
#[derive(Clone, Copy)]
pub(super) union Link {
    /// While in use: its data.
    pub(super) data: *mut u8,
    /// While on a list: the next free block of the same list.
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
