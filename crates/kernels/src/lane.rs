//! SIMD traits for scalars: numbers with one lane.

/// Implements the trait `SimdValue` of the crate `simba`, given by its path, for a number with a single lane: itself. The trait declares
/// two methods as `unsafe`, so the implementation lives in this crate; every index is valid, and nothing in them is unsafe.
///
/// ```
/// mod simd {
///     pub trait SimdValue: Sized {
///         const LANES: usize;
///         type Element;
///         type SimdBool;
///         fn splat(element: Self::Element) -> Self;
///         fn extract(&self, lane: usize) -> Self::Element;
///         unsafe fn extract_unchecked(&self, lane: usize) -> Self::Element;
///         fn replace(&mut self, lane: usize, element: Self::Element);
///         unsafe fn replace_unchecked(&mut self, lane: usize, element: Self::Element);
///         fn select(self, condition: Self::SimdBool, other: Self) -> Self;
///     }
/// }
/// use simd::SimdValue;
///
/// #[derive(Clone, Copy, Debug, PartialEq)]
/// struct Metres<T>(T);
/// wengert_kernels::one_lane!(simd::SimdValue, [T: Copy] Metres<T>);
///
/// let mut x = Metres(2.0);
/// assert_eq!(x.select(false, Metres(3.0)), Metres(3.0));
/// x.replace(0, Metres(4.0));
/// assert_eq!((x.extract(0), Metres::<f64>::LANES), (Metres(4.0), 1));
/// ```
#[macro_export]
macro_rules! one_lane {
    ($SimdValue:path, [$($generics:tt)*] $Number:ty) => {
        impl<$($generics)*> $SimdValue for $Number {
            const LANES: usize = 1;
            type Element = Self;
            type SimdBool = bool;

            #[inline(always)]
            fn splat(number: Self) -> Self {
                number
            }

            #[inline(always)]
            fn extract(&self, _: usize) -> Self {
                *self
            }

            #[inline(always)]
            unsafe fn extract_unchecked(&self, _: usize) -> Self {
                *self
            }

            #[inline(always)]
            fn replace(&mut self, _: usize, number: Self) {
                *self = number;
            }

            #[inline(always)]
            unsafe fn replace_unchecked(&mut self, _: usize, number: Self) {
                *self = number;
            }

            #[inline(always)]
            fn select(self, is_this: bool, other: Self) -> Self {
                if is_this { self } else { other }
            }
        }
    };
}
