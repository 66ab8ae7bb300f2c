//! Maps elements to integers of the same order.

use crate::dtype::Compute;

/// `f64`, `f32` or `i64`: types with a total order in which NaN is greatest and all NaN are equal.
///
/// ```
/// use wengert_kernels::order::Sortable;
/// assert_eq!((-0.0f64).key(), 0.0f64.key());
/// assert!(f64::NAN.key() > f64::INFINITY.key());
/// ```
pub trait Sortable: Compute {
    /// A key with room for a position in its low half.
    #[doc(hidden)]
    type Packed: Ord + Copy + Send + Sync;

    /// An integer in the order of the values.
    #[doc(hidden)]
    fn key(self) -> u64;

    /// The key (complemented if `descending`) in the high half and the position, which must be below 2^32, in the low half.
    #[doc(hidden)]
    fn pack(self, position: usize, descending: bool) -> Self::Packed;

    /// The position.
    #[doc(hidden)]
    fn position(packed: Self::Packed) -> usize;
}

impl Sortable for f32 {
    type Packed = u64;

    #[inline(always)]
    fn key(self) -> u64 {
        // Adding 0 turns -0 into 0.
        let bits = (self + 0.0).to_bits();
        let flipped = if bits >> 31 == 1 { !bits } else { bits | 1 << 31 };
        (if self.is_nan() { u32::MAX } else { flipped }) as u64
    }

    #[inline(always)]
    fn pack(self, position: usize, descending: bool) -> u64 {
        let key = if descending { !(self.key() as u32) } else { self.key() as u32 };
        (key as u64) << 32 | position as u64
    }

    #[inline(always)]
    fn position(packed: u64) -> usize {
        packed as u32 as usize
    }
}

macro_rules! sortable_64 {
    ($($rust:ty => $key:expr;)*) => { $(impl Sortable for $rust {
        type Packed = (u64, u32);

        #[inline(always)]
        fn key(self) -> u64 {
            let key: fn($rust) -> u64 = $key;
            key(self)
        }

        #[inline(always)]
        fn pack(self, position: usize, descending: bool) -> (u64, u32) {
            (if descending { !self.key() } else { self.key() }, position as u32)
        }

        #[inline(always)]
        fn position(packed: (u64, u32)) -> usize {
            packed.1 as usize
        }
    })* };
}
sortable_64! {
    f64 => |x| {
        let bits = (x + 0.0).to_bits();
        let flipped = if bits >> 63 == 1 { !bits } else { bits | 1 << 63 };
        if x.is_nan() { u64::MAX } else { flipped }
    };
    i64 => |x| x as u64 ^ 1 << 63;
}

/// Packs a row. Panics if it has 2^32 elements or more.
pub(super) fn pack_row<T: Sortable>(x: &[T], descending: bool, packed: &mut Vec<T::Packed>) {
    assert!(x.len() <= u32::MAX as usize, "order: a row of {} elements is too long", x.len());
    packed.clear();
    packed.extend(x.iter().enumerate().map(|(position, &x)| x.pack(position, descending)));
}
