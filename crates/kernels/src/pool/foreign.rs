//! Blocks over memory from elsewhere: a vector that was handed over, or what an owner lends for as long as it lives.
//!
//! The owner stands behind the header, in an allocation of the system, and is dropped with the last reference.

use super::Block;
use super::class::{FOREIGN, VECTOR};
use super::header::{Header, Link};
use bytemuck::NoUninit;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ptr::NonNull;
use std::sync::atomic::AtomicUsize;

/// `header` and `release` have the same places for every type of owner.
#[repr(C)]
struct Held<O> {
    header: Header,
    release: unsafe fn(NonNull<Header>),
    owner: O,
}

impl Block {
    /// A block over the memory of a vector, which is not copied. It is written in place, as a block of the pool is.
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
        // SAFETY: the parts of a vector that is not used any more. `MaybeUninit<T>` has the layout of `T`, and the new vector no
        // elements: whatever bytes are written, they never count as a `T`.
        let owner = unsafe { Vec::from_raw_parts(data.cast::<MaybeUninit<T>>(), 0, capacity) };
        // SAFETY: `length` bytes, all initialised, which the vector keeps until it is dropped and nobody else refers to.
        unsafe { hold(owner, VECTOR, |_| (data.cast(), length)) }
    }

    /// A block over memory of others, which is never written. The owner is dropped with the last reference to the block.
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
        // SAFETY: the slice is borrowed from an owner that stays in its place until it is dropped, and its bytes are initialised.
        // Nobody can change them: the borrow is shared, and this kind of block is never written.
        unsafe { hold(owner, FOREIGN, |owner| lent(owner.as_ref())) }
    }
}

/// A block of this kind over the bytes that `find` names. If that panics, the owner is dropped.
///
/// # Safety
/// The bytes are initialised and stay where they are until the owner is dropped. Those of a [`VECTOR`] belong to nobody else;
/// those of an owner are not written as long as it is borrowed.
unsafe fn hold<O: Send + Sync + 'static>(owner: O, kind: u32, find: impl FnOnce(&O) -> (*mut u8, usize)) -> Block {
    let header = Header { count: AtomicUsize::new(1), ..Header::new(0, kind) };
    let held = NonNull::from(Box::leak(Box::new(Held { header, release: free::<O>, owner })));
    let block = Block { header: held.cast() };
    // SAFETY: the owner was just put there and is only read until it is dropped.
    let (data, length) = find(unsafe { &(*held.as_ptr()).owner });
    // SAFETY: the block is new, so nobody else reads its header.
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
    // SAFETY: `hold` put a function behind the header, at the same place for every owner, which frees just such a block.
    unsafe { ((*header.cast::<Held<()>>().as_ptr()).release)(header) };
}

/// # Safety
/// As for [`release`], where the owner is an `O`.
unsafe fn free<O>(header: NonNull<Header>) {
    // SAFETY: `hold` leaked this box.
    drop(unsafe { Box::from_raw(header.cast::<Held<O>>().as_ptr()) });
}
