//! Names of statements: places, and the stretches of a recording that they belong to; also external functions.

/// A statement of a recording or of a part of one, or none.
///
/// ```
/// use wengert_kernels::tape::Place;
/// assert!(!Place::NONE.is_active());
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// The stretch number, then the statement number: one subtraction compares both.
    bits: u64,
}

impl Place {
    /// The place of a constant.
    pub const NONE: Place = Place { bits: 0 };

    /// Whether it names a statement.
    #[inline(always)]
    pub fn is_active(self) -> bool {
        self.bits != 0
    }

    /// The statement number.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.bits as u32
    }

    pub(super) fn stretch(self) -> Stretch {
        Stretch(self.bits - u64::from(self.index()))
    }
}

/// A recording, or a part of one, with a unique number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Stretch(u64);

impl Stretch {
    pub(super) const NONE: Stretch = Stretch(0);

    pub(super) fn numbered(number: u32) -> Stretch {
        Stretch(u64::from(number) << u32::BITS)
    }

    #[inline(always)]
    pub(super) fn place(self, index: u32) -> Place {
        Place { bits: self.0 | u64::from(index) }
    }

    /// Whether a place belongs to this stretch and is before statement `next`; no constant does. The statement is compared too because
    /// stretch numbers may eventually repeat: sweeps stay in bounds even then.
    #[inline(always)]
    pub(super) fn has(self, place: Place, next: u32) -> bool {
        place.bits.wrapping_sub(self.0) < u64::from(next)
    }
}

/// Maps the adjoints of outputs to those of inputs, which are zero before the call.
pub type Pullback = dyn Fn(&[f64], &mut [f64]);

/// Consecutive outputs, which are statements without arguments, and their pullback to the inputs.
pub(super) struct External {
    /// The first output, and the number after the last.
    pub first: u32,
    pub behind: u32,
    /// The statements of the inputs; 0 for constants.
    pub inputs: Box<[u32]>,
    pub pullback: Box<Pullback>,
}
