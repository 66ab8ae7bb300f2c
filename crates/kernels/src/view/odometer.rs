//! Iterates over the elements of some axes in row-major order while tracking the memory position.

use smallvec::SmallVec;

/// A position in a shape together with its offset in memory. Wraps around at the end.
pub(crate) struct Odometer<'a> {
    shape: &'a [usize],
    strides: &'a [isize],
    coordinates: SmallVec<[usize; 6]>,
    /// The sum of coordinates times strides.
    pub(crate) offset: isize,
}

impl<'a> Odometer<'a> {
    /// Starts at row-major position `linear` of a shape without zero sizes.
    pub(crate) fn at(shape: &'a [usize], strides: &'a [isize], linear: usize) -> Odometer<'a> {
        let mut coordinates = SmallVec::from_elem(0, shape.len());
        let mut rest = linear;
        let mut offset = 0;
        for axis in (0..shape.len()).rev() {
            if rest == 0 {
                break;
            }
            coordinates[axis] = rest % shape[axis];
            rest /= shape[axis];
            offset += coordinates[axis] as isize * strides[axis];
        }
        Odometer { shape, strides, coordinates, offset }
    }

    /// Moves to the next position.
    #[inline]
    pub(crate) fn advance(&mut self) {
        for axis in (0..self.shape.len()).rev() {
            self.coordinates[axis] += 1;
            self.offset += self.strides[axis];
            if self.coordinates[axis] < self.shape[axis] {
                return;
            }
            self.offset -= self.shape[axis] as isize * self.strides[axis];
            self.coordinates[axis] = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advancing_equals_starting_later() {
        let (shape, strides) = ([2, 3, 4], [-7, 0, 5]);
        let mut walker = Odometer::at(&shape, &strides, 0);
        for linear in 0..24 {
            assert_eq!(walker.offset, Odometer::at(&shape, &strides, linear).offset);
            walker.advance();
        }
        assert_eq!(walker.offset, 0);
    }
}
