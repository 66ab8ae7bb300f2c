//! The format of MNIST: a type, sizes, and elements, all big-endian. Files may be compressed with gzip.

use super::inflate::inflate;
use super::stored_array::{Element, StoredArray};
use crate::files::limit;
use crate::prelude::*;
use flate2::bufread::GzDecoder;
use std::path::Path;

/// Reads the array of a file, compressed or not.
///
/// ```no_run
/// use wengert::nn::data::idx;
/// let images = idx::read("train-images-idx3-ubyte.gz")?;
/// assert_eq!(images.shape(), [60000, 28, 28]);
/// # Ok::<(), wengert::Error>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, Error> {
    limit::parse(path.as_ref(), parse)
}

/// The array in the bytes of a file, compressed or not. Bytes become u8; signed bytes and 16-bit integers become i32.
///
/// ```
/// use wengert::nn::data::idx;
/// use wengert::prelude::*;
/// let labels = idx::parse(&[0, 0, 0x08, 1, 0, 0, 0, 3, 5, 0, 4])?;
/// assert_eq!(labels, Tensor::from([5u8, 0, 4]));
/// # Ok::<(), Error>(())
/// ```
pub fn parse(bytes: &[u8]) -> Result<Tensor, Error> {
    match bytes {
        // A gzip stream ends with the size of what it holds.
        [0x1f, 0x8b, .., a, b, c, d] => {
            let size = u32::from_le_bytes([*a, *b, *c, *d]);
            plain(&inflate(GzDecoder::new(bytes), bytes.len(), u64::from(size))?)
        }
        _ => plain(bytes),
    }
}

fn plain(bytes: &[u8]) -> Result<Tensor, Error> {
    let [0, 0, code, rank, rest @ ..] = bytes else {
        return Err(limit::refused("not an IDX file: it does not begin with two zeros, a type and a rank"));
    };
    let (element, width) = match code {
        0x08 => (Element::Unsigned, 1),
        0x09 => (Element::Signed, 1),
        0x0b => (Element::Signed, 2),
        0x0c => (Element::Signed, 4),
        0x0d => (Element::Float, 4),
        0x0e => (Element::Float, 8),
        _ => return Err(limit::refused(format!("the IDX type 0x{code:02x} is not known"))),
    };
    let Some((sizes, elements)) = rest.split_at_checked(4 * usize::from(*rank)) else {
        return Err(limit::refused(format!("the file ends within its {rank} sizes")));
    };
    let size = |bytes: &[u8]| bytes.iter().fold(0, |size, byte| size << 8 | usize::from(*byte));
    let shape = sizes.chunks_exact(4).map(size).collect();
    StoredArray { element, width, is_big_endian: true, is_fortran: false, shape }.tensor(elements)
}
