//! NumPy's `.npy` files: one array each.

use super::stored_array::{Element, StoredArray};
use crate::files::limit::refused;
use crate::files::{atomic, limit};
use crate::prelude::*;
use std::path::Path;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Reads the array of a file.
///
/// ```
/// use wengert::nn::data::npy;
/// use wengert::prelude::*;
/// let path = std::env::temp_dir().join("wengert_npy_example.npy");
/// let x = Tensor::from([[1.5, 2.5], [3.5, 4.5]]);
/// npy::save(&x, &path)?;
/// assert_eq!(npy::read(&path)?, x);
/// # Ok::<(), Error>(())
/// ```
pub fn read(path: impl AsRef<Path>) -> Result<Tensor, Error> {
    limit::parse(path.as_ref(), parse)
}

/// Writes a tensor to a file, beside the old one, and renames it.
pub fn save(tensor: &Tensor, path: impl AsRef<Path>) -> Result<(), Error> {
    atomic::write(path.as_ref(), &bytes(tensor)?)
}

/// The array in the bytes of a file of version 1, 2 or 3.
///
/// Floats of 2, 4 and 8 bytes, integers of 4 and 8, `uint8` and `bool` keep their type. `int8`, `int16` and `uint16` become i32, `uint32`
/// becomes i64: nothing is rounded. Both byte orders and both axis orders are read.
///
/// ```
/// use wengert::nn::data::npy;
/// use wengert::prelude::*;
/// let mut bytes = b"\x93NUMPY\x01\x00\x38\x00".to_vec();
/// bytes.extend(b"{'descr': '>i2', 'fortran_order': False, 'shape': (2,)}\n");
/// bytes.extend([0, 1, 255, 255]);
/// assert_eq!(npy::parse(&bytes)?, Tensor::from([1i32, -1]));
/// # Ok::<(), Error>(())
/// ```
pub fn parse(bytes: &[u8]) -> Result<Tensor, Error> {
    let short = || refused("the file ends within its header");
    let rest =
        bytes.strip_prefix(MAGIC).ok_or_else(|| refused("not a .npy file: it does not begin with \\x93NUMPY"))?;
    let (version, rest) = rest.split_at_checked(2).ok_or_else(short)?;
    let width = match version[0] {
        1 => 2,
        2 | 3 => 4,
        other => return Err(refused(format!("version {other} of .npy is not known"))),
    };
    let (length, rest) = rest.split_at_checked(width).ok_or_else(short)?;
    let length = length.iter().rev().fold(0, |length, byte| length << 8 | usize::from(*byte));
    let (header, elements) = rest.split_at_checked(length).ok_or_else(short)?;
    let header = std::str::from_utf8(header).map_err(|_| refused("the header is not text"))?;
    array(header)?.tensor(elements)
}

/// The bytes of a file of version 1.
///
/// ```
/// use wengert::nn::data::npy;
/// use wengert::prelude::*;
/// let bytes = npy::bytes(&Tensor::from([1.0f32, 2.0]))?;
/// assert_eq!(npy::parse(&bytes)?, Tensor::from([1.0f32, 2.0]));
/// # Ok::<(), Error>(())
/// ```
pub fn bytes(tensor: &Tensor) -> Result<Vec<u8>, Error> {
    let descr = match tensor.dtype() {
        DType::F64 => "<f8",
        DType::F32 => "<f4",
        DType::F16 => "<f2",
        DType::I64 => "<i8",
        DType::I32 => "<i4",
        DType::U8 => "|u1",
        DType::Bool => "|b1",
        other => {
            let message = format!("NumPy has no dtype {other}");
            return Err(Error::new(ErrorKind::DType(vec![other]), "save", message).help("cast to f32, which is exact"));
        }
    };
    let sizes: String = tensor.shape().iter().map(|size| format!("{size}, ")).collect();
    let shape = if tensor.rank() == 1 { sizes.trim_end() } else { sizes.trim_end_matches(", ") };
    let mut header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({shape}), }}");
    // NumPy aligns the elements to 64 bytes.
    let before = MAGIC.len() + 4;
    let length = (before + header.len() + 1).next_multiple_of(64) - before;
    header.extend(std::iter::repeat_n(' ', length - header.len() - 1));
    let whole = tensor.detach().contiguous();
    let mut bytes = [MAGIC, &[1, 0], &(length as u16).to_le_bytes(), header.as_bytes(), b"\n"].concat();
    bytes.extend_from_slice(whole.try_as_bytes()?);
    Ok(bytes)
}

/// What a header says: a Python dictionary with the keys `descr`, `fortran_order` and `shape`, in any order.
fn array(header: &str) -> Result<StoredArray, Error> {
    let wrong = || {
        let start: String = header.trim_end().chars().take(120).collect();
        refused(format!("the header is not that of an array of numbers: {start}"))
    };
    let (mut descr, mut is_fortran, mut shape) = (None, None, None);
    let mut rest = Words(header);
    rest.word("{").ok_or_else(wrong)?;
    while rest.word("}").is_none() {
        let key = rest.text().ok_or_else(wrong)?;
        rest.word(":").ok_or_else(wrong)?;
        let is_first = match key {
            "descr" => descr.replace(rest.text().ok_or_else(wrong)?).is_none(),
            "fortran_order" => is_fortran.replace(rest.boolean().ok_or_else(wrong)?).is_none(),
            "shape" => shape.replace(rest.sizes().ok_or_else(wrong)?).is_none(),
            _ => false,
        };
        if !is_first {
            return Err(wrong());
        }
        if rest.word(",").is_none() {
            rest.word("}").ok_or_else(wrong)?;
            break;
        }
    }
    let (Some(descr), Some(is_fortran), Some(shape), "") = (descr, is_fortran, shape, rest.0.trim()) else {
        return Err(wrong());
    };
    let (element, width, is_big_endian) =
        dtype(descr).ok_or_else(|| refused(format!("the NumPy dtype '{descr}' is not supported")))?;
    Ok(StoredArray { element, width, is_big_endian, is_fortran, shape })
}

/// The element, its width and whether it is big-endian.
fn dtype(descr: &str) -> Option<(Element, usize, bool)> {
    let (element, width) = match descr.get(1..)? {
        "f2" => (Element::Float, 2),
        "f4" => (Element::Float, 4),
        "f8" => (Element::Float, 8),
        "i1" => (Element::Signed, 1),
        "i2" => (Element::Signed, 2),
        "i4" => (Element::Signed, 4),
        "i8" => (Element::Signed, 8),
        "u1" => (Element::Unsigned, 1),
        "u2" => (Element::Unsigned, 2),
        "u4" => (Element::Unsigned, 4),
        "b1" => (Element::Bool, 1),
        _ => return None,
    };
    match descr.as_bytes()[0] {
        b'<' => Some((element, width, false)),
        b'>' => Some((element, width, true)),
        b'|' if width == 1 => Some((element, width, false)),
        _ => None,
    }
}

/// The rest of a header.
struct Words<'h>(&'h str);

impl<'h> Words<'h> {
    fn word(&mut self, word: &str) -> Option<()> {
        self.0 = self.0.trim_start().strip_prefix(word)?;
        Some(())
    }

    /// A text in single or double quotes, without escapes: no key and no dtype of numbers has one.
    fn text(&mut self) -> Option<&'h str> {
        let rest = self.0.trim_start();
        let quote = rest.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
        let (text, rest) = rest[1..].split_once(quote)?;
        self.0 = rest;
        Some(text)
    }

    fn boolean(&mut self) -> Option<bool> {
        match self.word("True") {
            Some(()) => Some(true),
            None => self.word("False").map(|()| false),
        }
    }

    fn sizes(&mut self) -> Option<Vec<usize>> {
        let mut sizes = Vec::new();
        self.word("(")?;
        while self.word(")").is_none() {
            let rest = self.0.trim_start();
            let digits = rest.find(|c: char| !c.is_ascii_digit())?;
            sizes.push(rest[..digits].parse().ok()?);
            // Python 2 wrote 3L.
            self.0 = rest[digits..].strip_prefix('L').unwrap_or(&rest[digits..]);
            match (self.word(","), sizes.len()) {
                (None, 1) => return None,
                (None, _) => return self.word(")").map(|()| sizes),
                // A tensor has at most 64 axes.
                (Some(()), 0..=64) => {}
                _ => return None,
            }
        }
        Some(sizes)
    }
}
