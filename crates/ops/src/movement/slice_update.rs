//! slice_add - addition to a part.   y = x with y[part] += v,   dy likewise.   The transpose of slice; updates in place if possible.
//! Written `x.slice_mut(..).add(v)`.
//!
//! slice_assign - replacement of a part.   y = x with y[part] = v,   dy likewise.   Overwritten elements get gradient 0. Written
//! `x.slice_mut(..).assign(v)`.

use super::slice::SlicePart;
use crate::prelude::*;

/// The primitive `slice_add`.
pub static SLICE_ADD: PartUpdate<SlicePart> = PartUpdate::adding("slice_add");

/// The primitive `slice_assign`.
pub static SLICE_ASSIGN: PartUpdate<SlicePart> = PartUpdate::replacing("slice_assign");
