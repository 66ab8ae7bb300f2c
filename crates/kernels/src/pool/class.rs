//! Size classes: 64, 128, 192, 256, then two per power of two (384, 512, 768, 1024, ..) up to 32 KiB.
//!
//! Above 256 bytes, at most a third of a block is unused.

/// The largest size that is served from a size class.
pub(super) const SMALL_LIMIT: usize = 32 * 1024;

/// The number of classes.
pub(super) const CLASSES: usize = 18;

/// The class value of blocks that are too large for a size class.
pub(super) const LARGE: u32 = u32::MAX;

/// The class value of blocks over a vector that was handed over: outside the pool, but writable like blocks of the pool.
pub(super) const VECTOR: u32 = u32::MAX - 1;

/// The class value of blocks over foreign memory, which is only read.
pub(super) const FOREIGN: u32 = u32::MAX - 2;

/// The smallest class whose capacity is at least `bytes <= SMALL_LIMIT`.
#[inline]
pub(super) fn of(bytes: usize) -> usize {
    let last = bytes.saturating_sub(1);
    if last < 256 {
        return last / 64;
    }
    let exponent = last.ilog2() as usize;
    4 + (exponent - 8) * 2 + ((last >> (exponent - 1)) & 1)
}

/// The number of data bytes in a block of each class.
pub(super) static CAPACITY: [usize; CLASSES] = {
    let mut table = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        table[class] = capacity(class);
        class += 1;
    }
    table
};

/// The number of blocks of each class that move between a thread's list and the shared one at a time: about 256 KiB.
pub(super) static BATCH: [usize; CLASSES] = {
    let mut table = [0; CLASSES];
    let mut class = 0;
    while class < CLASSES {
        let count = (256 << 10) / capacity(class);
        table[class] = if count > 512 { 512 } else { count };
        class += 1;
    }
    table
};

const fn capacity(class: usize) -> usize {
    if class < 4 {
        return (class + 1) * 64;
    }
    let power = 256 << ((class - 4) / 2);
    if class.is_multiple_of(2) { power + power / 2 } else { power * 2 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_size_gets_the_smallest_class_that_fits() {
        for bytes in 0..=SMALL_LIMIT {
            let class = of(bytes);
            assert!(class < CLASSES && capacity(class) >= bytes, "{bytes}");
            assert!(class == 0 || capacity(class - 1) < bytes, "{bytes}");
        }
        assert_eq!(capacity(CLASSES - 1), SMALL_LIMIT);
    }
}
