//! Arrays as files store them: elements of some width, byte order and axis order.

use crate::files::limit::{expect_shape, refused};
use crate::prelude::*;

/// The elements of a stored array.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Element {
    Float,
    Signed,
    Unsigned,
    Bool,
}

/// What a header says of the bytes that follow it.
#[derive(Debug)]
pub(super) struct StoredArray {
    pub(super) element: Element,
    /// The bytes of an element: 1, 2, 4 or 8.
    pub(super) width: usize,
    pub(super) is_big_endian: bool,
    /// Whether the first axis is the one whose neighbours lie side by side.
    pub(super) is_fortran: bool,
    pub(super) shape: Vec<usize>,
}

impl StoredArray {
    /// The dtype that holds every value of these elements.
    fn dtype(&self) -> Option<DType> {
        Some(match (self.element, self.width) {
            (Element::Float, 2) => DType::F16,
            (Element::Float, 4) => DType::F32,
            (Element::Float, 8) => DType::F64,
            (Element::Signed, 1 | 2 | 4) | (Element::Unsigned, 2) => DType::I32,
            (Element::Signed, 8) | (Element::Unsigned, 4) => DType::I64,
            (Element::Unsigned, 1) => DType::U8,
            (Element::Bool, 1) => DType::Bool,
            _ => return None,
        })
    }

    /// The tensor of these bytes, which must be exactly those of the array.
    pub(super) fn tensor(&self, bytes: &[u8]) -> Result<Tensor, Error> {
        let Some(dtype) = self.dtype() else {
            return Err(refused(format!("elements of {} bytes ({:?}) fit no dtype", self.width, self.element)));
        };
        expect_shape(&self.shape, dtype.size())?;
        let stored = expect_shape(&self.shape, self.width)?;
        if bytes.len() != stored {
            let found = bytes.len();
            return Err(refused(format!("an array of shape {:?} has {stored} bytes, here are {found}", self.shape)));
        }
        if self.element == Element::Bool && bytes.iter().any(|byte| *byte > 1) {
            return Err(refused("a boolean is neither 0 nor 1"));
        }
        let is_as_in_memory = self.width == dtype.size() && !self.is_big_endian && !self.is_fortran;
        match dtype {
            _ if is_as_in_memory => Tensor::try_from_bytes(bytes, dtype, &self.shape[..]),
            DType::F64 => self.converted::<f64>(bytes),
            DType::F32 => self.converted::<f32>(bytes),
            DType::F16 => self.converted::<f16>(bytes),
            DType::I64 => self.converted::<i64>(bytes),
            DType::I32 => self.converted::<i32>(bytes),
            DType::U8 => self.converted::<u8>(bytes),
            _ => self.converted::<bool>(bytes),
        }
    }

    /// The elements in row-major order, one by one.
    fn converted<T: Scalar>(&self, bytes: &[u8]) -> Result<Tensor, Error> {
        let mut numbers: Vec<T> = Vec::new();
        let count = bytes.len() / self.width;
        numbers.try_reserve_exact(count).map_err(|error| refused(error.to_string()))?;
        let read = |position: usize| T::from_bits64(self.bits(&bytes[position * self.width..][..self.width]));
        if self.is_fortran {
            numbers.extend(ColumnMajor::of(&self.shape, count).map(read));
        } else {
            numbers.extend((0..count).map(read));
        }
        Tensor::try_from_vec(numbers, &self.shape[..])
    }

    /// The bits of an element, integers extended by their sign.
    fn bits(&self, bytes: &[u8]) -> u64 {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        if self.is_big_endian {
            word[..bytes.len()].reverse();
        }
        let bits = u64::from_le_bytes(word);
        let unused = 64 - 8 * bytes.len() as u32;
        if self.element == Element::Signed { ((bits << unused) as i64 >> unused) as u64 } else { bits }
    }
}

/// The positions in column-major memory of the elements in row-major order.
struct ColumnMajor<'s> {
    shape: &'s [usize],
    index: Vec<usize>,
    strides: Vec<usize>,
    position: usize,
    left: usize,
}

impl ColumnMajor<'_> {
    fn of(shape: &[usize], count: usize) -> ColumnMajor<'_> {
        let strides = shape.iter().scan(1, |stride, size| Some(std::mem::replace(stride, *stride * size))).collect();
        ColumnMajor { shape, index: vec![0; shape.len()], strides, position: 0, left: count }
    }
}

impl Iterator for ColumnMajor<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        self.left = self.left.checked_sub(1)?;
        let position = self.position;
        for axis in (0..self.shape.len()).rev() {
            self.index[axis] += 1;
            self.position += self.strides[axis];
            if self.index[axis] < self.shape[axis] {
                break;
            }
            self.position -= self.index[axis] * self.strides[axis];
            self.index[axis] = 0;
        }
        Some(position)
    }
}
