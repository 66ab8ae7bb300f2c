//! Adjoints of statements, and where a sweep finds them.

/// The adjoint of a statement: one number, or several that are swept at once.
pub trait Adjoint: bytemuck::Pod {
    /// Nothing yet.
    const ZERO: Self;

    /// Whether the adjoint is zero, so that nothing needs to be propagated.
    fn is_zero(&self) -> bool;

    /// Whether the adjoint is nonzero and finite, so that 0 times it is 0.
    fn is_plain(&self) -> bool;

    /// Its components.
    fn lanes(&self) -> &[f64];

    /// Its components, for writing.
    fn lanes_mut(&mut self) -> &mut [f64];

    /// Adds `partial` times another adjoint, with a single rounding if `FUSED`: for machines with a fused multiply-add instruction.
    fn add_scaled<const FUSED: bool>(&mut self, partial: f64, other: &Self);

    /// The same, but a zero adjoint contributes zero for any partial derivative, and a zero partial derivative stops an infinite adjoint.
    #[cold]
    fn add_stopped(&mut self, partial: f64, other: &Self) {
        let passes = |other: f64| other != 0.0 && (partial != 0.0 || other.is_nan());
        let lanes = self.lanes_mut().iter_mut().zip(other.lanes());
        lanes.filter(|(_, other)| passes(**other)).for_each(|(own, other)| *own += partial * other);
    }
}

impl Adjoint for f64 {
    const ZERO: f64 = 0.0;

    #[inline(always)]
    fn is_zero(&self) -> bool {
        *self == 0.0
    }

    #[inline(always)]
    #[allow(clippy::eq_op)]
    fn is_plain(&self) -> bool {
        // One comparison: the difference is 0 for finite values and NaN otherwise.
        self - self < self.abs()
    }

    fn lanes(&self) -> &[f64] {
        std::slice::from_ref(self)
    }

    fn lanes_mut(&mut self) -> &mut [f64] {
        std::slice::from_mut(self)
    }

    #[inline(always)]
    fn add_scaled<const FUSED: bool>(&mut self, partial: f64, other: &f64) {
        *self = if FUSED { partial.mul_add(*other, *self) } else { *self + partial * other };
    }
}

impl<const N: usize> Adjoint for [f64; N] {
    const ZERO: [f64; N] = [0.0; N];

    #[inline(always)]
    fn is_zero(&self) -> bool {
        self.iter().all(|number| *number == 0.0)
    }

    #[inline(always)]
    fn is_plain(&self) -> bool {
        self.iter().all(|number| number.is_finite()) && !self.is_zero()
    }

    fn lanes(&self) -> &[f64] {
        self
    }

    fn lanes_mut(&mut self) -> &mut [f64] {
        self
    }

    #[inline(always)]
    fn add_scaled<const FUSED: bool>(&mut self, partial: f64, other: &[f64; N]) {
        match partial.is_finite() {
            true => self.iter_mut().zip(other).for_each(|(own, other)| own.add_scaled::<FUSED>(partial, other)),
            // Some components may be zero, though not all are.
            false => self.add_stopped(partial, other),
        }
    }
}

/// Where adjoints are.
pub(super) trait Room<A> {
    /// The adjoint of a statement, valid until the next call.
    ///
    /// # Safety
    /// There is room for the statement.
    unsafe fn at(&mut self, index: u32) -> *mut A;
}

/// Adjoints one after the other, from statement 0 on.
pub(super) struct Flat<A> {
    pub adjoints: *mut A,
}

impl<A> Room<A> for Flat<A> {
    #[inline(always)]
    unsafe fn at(&mut self, index: u32) -> *mut A {
        // SAFETY: there are adjoints up to this statement, as the caller guarantees.
        unsafe { self.adjoints.add(index as usize) }
    }
}
