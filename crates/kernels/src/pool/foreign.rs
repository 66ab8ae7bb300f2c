//! Blocks over foreign memory: a vector that was handed over, or memory borrowed from an owner for as long as the owner lives.
//!
//! The owner is stored after the header, in an allocation from the system, and is dropped with the last reference.

use super::Block;
use super::class::{FOREIGN, VECTOR};
use super::header::{Header, Link};
use bytemuck::NoUninit;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;

/// `header` and `release` are at the same offsets for every type of owner.
#[repr(C)]
struct Held<O> {
    header: Header,
    release: unsafe fn(NonNull<Header>),
    owner: O,
}

impl Block {
    /// A block over the memory of a vector, without copying. It can be written in place, like a block of the pool.
    ///
    /// ```
    /// use wengert_kernels::Block;
    /// let numbers = vec![1.0, 2.0];
    /// let address = numbers.as_ptr();
    /// let mut block = Block::from_vec(numbers);
    /// block.as_mut_slice::<f64>().unwrap()[1] = 3.0;
    /// assert_eq!(block.as_slice::<f64>(), [1.0, 3.0]);
    /// assert_eq!(block.as_slice::<f64>().as_ptr(), address);
    /// ```
    pub fn from_vec<T: NoUninit + Send + Sync>(numbers: Vec<T>) -> Block {
        let mut numbers = ManuallyDrop::new(numbers);
        let (data, length, capacity) = (numbers.as_mut_ptr(), size_of_val(&numbers[..]), numbers.capacity());
        // SAFETY: these are the parts of a vector that is no longer used. `MaybeUninit<T>` has the layout of `T`, and the new vector has no
        // elements, so bytes written later are never interpreted as a `T`.
        let owner = unsafe { Vec::from_raw_parts(data.cast::<MaybeUninit<T>>(), 0, capacity) };
        // SAFETY: `length` bytes, all initialised, which the vector keeps until it is dropped and to which there is no other reference.
        unsafe { hold(owner, VECTOR, |_| (data.cast(), length)) }
    }

    /// A block over foreign memory, which is never written. The owner is dropped with the last reference to the block.
    ///
    /// ```
    /// use wengert_kernels::Block;
    /// let numbers = std::sync::Arc::<[f32]>::from([1.0, 2.0]);
    /// let mut block = Block::from_owner(numbers.clone());
    /// assert_eq!(block.as_slice::<f32>().as_ptr(), numbers.as_ptr());
    /// assert!(block.bytes_mut().is_none());
    /// ```
    pub fn from_owner<T: NoUninit>(owner: impl AsRef<[T]> + Send + Sync + 'static) -> Block {
        let lent = |numbers: &[T]| (numbers.as_ptr().cast_mut().cast(), size_of_val(numbers));
        // SAFETY: the slice is borrowed from an owner that does not move until it is dropped, and its bytes are initialised. Nothing can
        // change them: the borrow is shared, and this kind of block is never written.
        unsafe { hold(owner, FOREIGN, |owner| lent(owner.as_ref())) }
    }
}

/// A block of this kind over the bytes that `find` returns. If `find` panics, the owner is dropped.
///
/// # Safety
/// The bytes are initialised and do not move until the owner is dropped. Those of a [`VECTOR`] have no other owner; those of a foreign
/// owner are not written while it is borrowed.
unsafe fn hold<O: Send + Sync + 'static>(owner: O, kind: u32, find: impl FnOnce(&O) -> (*mut u8, usize)) -> Block {
    let header = Header { count: AtomicUsize::new(1), ..Header::new(0, kind) };
    let held = NonNull::from(Box::leak(Box::new(Held { header, release: free::<O>, owner })));
    let block = Block { header: held.cast() };
    // SAFETY: the owner was just stored there and is only read until it is dropped.
    let (data, length) = find(unsafe { &(*held.as_ptr()).owner });
    // SAFETY: the block is new, so no other code reads its header.
    unsafe {
        (*block.header.as_ptr()).length = length;
        (*block.header.as_ptr()).link = Link { data };
    }
    block
}

/// Drops the owner of a block and frees its header.
///
/// # Safety
/// The block came from [`hold`] and nothing refers to it any more.
#[cold]
#[inline(never)]
pub(super) unsafe fn release(header: NonNull<Header>) {
    // SAFETY: `hold` stored a function after the header, at the same offset for every owner, which frees exactly such a block.
    unsafe { ((*header.cast::<Held<()>>().as_ptr()).release)(header) };
}

/// # Safety
/// As for [`release`], where the owner is an `O`.
unsafe fn free<O>(header: NonNull<Header>) {
    // SAFETY: `hold` leaked this box.
    drop(unsafe { Box::from_raw(header.cast::<Held<O>>().as_ptr()) });
}
