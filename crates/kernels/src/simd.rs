//! One instruction-set level per process, chosen on first use.
//!
//! `vectorised!` compiles a function three times (baseline, AVX2+FMA, AVX-512) and selects one at run time. The body is the same Rust code
//! each time and Rust never contracts `a * b + c`, so every level gives the same bits.

use std::sync::atomic::{AtomicU8, Ordering};

/// The widest instruction set that the loops may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Level {
    /// The features that the compilation target guarantees (SSE2 on x86-64).
    Baseline = 1,
    /// 256-bit vectors.
    Avx2 = 2,
    /// 512-bit vectors.
    Avx512 = 3,
}

const UNKNOWN: u8 = 0;
static LEVEL: AtomicU8 = AtomicU8::new(UNKNOWN);

/// The level of this machine; a relaxed load after the first call.
#[inline(always)]
pub(crate) fn level() -> Level {
    match LEVEL.load(Ordering::Relaxed) {
        1 => Level::Baseline,
        2 => Level::Avx2,
        3 => Level::Avx512,
        _ => detect(),
    }
}

#[cold]
fn detect() -> Level {
    let level = widest();
    LEVEL.store(level as u8, Ordering::Relaxed);
    level
}

#[cfg(target_arch = "x86_64")]
fn widest() -> Level {
    let avx2 = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c");
    let avx512 = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl");
    match (avx2, avx512) {
        (true, true) => Level::Avx512,
        (true, false) => Level::Avx2,
        _ => Level::Baseline,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn widest() -> Level {
    Level::Baseline
}

/// Defines a function whose body is compiled for every [`Level`].
///
/// Generic parameters and bounds are in square brackets: `fn name[T: Copy, F: Fn(T) -> T](x: T, f: F) -> T { .. }`.
macro_rules! vectorised {
    ($(#[$meta:meta])* $vis:vis fn $name:ident [$($generics:tt)*] ($($arg:ident : $ty:ty),* $(,)?) $(-> $ret:ty)? $body:block) => {
        $(#[$meta])*
        #[inline]
        $vis fn $name<$($generics)*>($($arg: $ty),*) $(-> $ret)? {
            #[inline(always)]
            fn body<$($generics)*>($($arg: $ty),*) $(-> $ret)? $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2,f16c")]
            fn avx512<$($generics)*>($($arg: $ty),*) $(-> $ret)? { body($($arg),*) }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi2,f16c")]
            fn avx2<$($generics)*>($($arg: $ty),*) $(-> $ret)? { body($($arg),*) }

            match $crate::simd::level() {
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `level` reports Avx512 only after detecting every feature that `avx512` enables.
                $crate::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                // SAFETY: `level` reports Avx2 only after detecting every feature that `avx2` enables.
                $crate::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
                _ => body($($arg),*),
            }
        }
    };
}
pub(crate) use vectorised;

/// Runs `body` with subnormal numbers treated as zero, if the machine supports that.
///
/// A product whose operands decay towards zero (the gradient of a long recurrence) is a hundred times slower on subnormal numbers, each of
/// which costs a microcode assist. The mode is restored on every exit path, so no other code runs in it.
#[inline]
pub(crate) fn without_subnormals<R>(body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    let _restore = control::Restore::flushing();
    body()
}

#[cfg(target_arch = "x86_64")]
mod control {
    use std::arch::asm;

    /// Flush results to zero, and read operands as zero.
    const FLUSH: u32 = 0x8040;

    pub(super) struct Restore(u32);

    impl Restore {
        #[inline]
        pub fn flushing() -> Restore {
            let mut before = 0u32;
            // SAFETY: `stmxcsr` writes the four bytes of `before`.
            unsafe { asm!("stmxcsr [{}]", in(reg) &mut before, options(nostack, preserves_flags)) };
            set(before | FLUSH);
            Restore(before)
        }
    }

    impl Drop for Restore {
        #[inline]
        fn drop(&mut self) {
            set(self.0);
        }
    }

    #[inline]
    fn set(mode: u32) {
        // SAFETY: `ldmxcsr` reads the four bytes of `mode`, which differ from the current mode only in the two flush bits. Rounding and
        // exception masks do not change, so the compiler's assumptions about floating point hold except for subnormal numbers.
        unsafe { asm!("ldmxcsr [{}]", in(reg) &mode, options(nostack, preserves_flags, readonly)) };
    }
}

/// Runs `body` once per level that this machine supports. For tests that compare levels; not for concurrent use.
#[cfg(test)]
pub(crate) fn at_every_level(mut body: impl FnMut(Level)) {
    let top = widest();
    for level in [Level::Baseline, Level::Avx2, Level::Avx512] {
        if level as u8 <= top as u8 {
            LEVEL.store(level as u8, Ordering::Relaxed);
            body(level);
        }
    }
    LEVEL.store(top as u8, Ordering::Relaxed);
}
