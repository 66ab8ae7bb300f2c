//! Lossless compression of numbers: first the bytes that agree most, those of signs and exponents, then LZ4.

#[cfg(feature = "compression")]
use lz4_flex::{compress, decompress_into};

/// A way to compress. Without the feature there is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Codec {
    #[cfg(feature = "compression")]
    Lz4,
}

impl Codec {
    /// Numbers of `width` bytes each, compressed; `None` if that does not save an eighth.
    #[cfg_attr(not(feature = "compression"), allow(unused_variables))]
    pub fn compressed(self, bytes: &[u8], width: usize) -> Option<Vec<u8>> {
        match self {
            #[cfg(feature = "compression")]
            Codec::Lz4 => {
                if bytes.is_empty() || !bytes.len().is_multiple_of(width) {
                    return None;
                }
                let mut planes = vec![0; bytes.len()];
                for (place, plane) in by_place(&mut planes, width) {
                    plane.iter_mut().zip(bytes[place..].iter().step_by(width)).for_each(|(to, from)| *to = *from);
                }
                let small = compress(&planes);
                (small.len() <= bytes.len() - bytes.len() / 8).then_some(small)
            }
        }
    }

    /// Fills `into` with the numbers that were compressed. Returns whether the bytes are those of so many numbers.
    #[must_use]
    #[cfg_attr(not(feature = "compression"), allow(unused_variables))]
    pub fn decompress(self, small: &[u8], width: usize, into: &mut [u8]) -> bool {
        match self {
            #[cfg(feature = "compression")]
            Codec::Lz4 => {
                let mut planes = vec![0; into.len()];
                if decompress_into(small, &mut planes).ok() != Some(into.len()) {
                    return false;
                }
                for (place, plane) in by_place(&mut planes, width) {
                    into[place..].iter_mut().step_by(width).zip(plane).for_each(|(to, from)| *to = *from);
                }
                true
            }
        }
    }
}

/// The parts of a buffer for the first bytes of all numbers, the second ones, and so on.
#[cfg(feature = "compression")]
fn by_place(planes: &mut [u8], width: usize) -> impl Iterator<Item = (usize, &mut [u8])> {
    let count = planes.len() / width;
    planes.chunks_exact_mut(count).enumerate()
}
