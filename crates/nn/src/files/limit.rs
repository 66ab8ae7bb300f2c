//! The most memory that a reader takes.

use crate::prelude::*;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

static LIMIT: AtomicU64 = AtomicU64::new(4 << 30);

/// The most bytes that a file may decode to: 4 GiB unless [`set_limit`] changed it.
pub fn limit() -> u64 {
    LIMIT.load(Ordering::Relaxed)
}

/// Sets the most bytes that a file may decode to, for all readers of this process.
pub fn set_limit(bytes: u64) {
    LIMIT.store(bytes, Ordering::Relaxed);
}

/// An error if this many bytes are too many.
pub(crate) fn expect_within(bytes: u64, what: &str) -> Result<(), Error> {
    if bytes <= limit() {
        return Ok(());
    }
    let message = format!("{what} needs {bytes} bytes, more than the limit of {}", limit());
    Err(Error::new(ErrorKind::File, "read", message).help("files::set_limit raises the limit"))
}

/// The bytes of a file, if it is not larger than the limit. Devices and growing files have no size, so the limit holds while reading too.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error: std::io::Error| wrong(path, &error.to_string());
    let file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    expect_within(size, &path.display().to_string())?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(size as usize).map_err(|error| wrong(path, &error.to_string()))?;
    file.take(limit().saturating_add(1)).read_to_end(&mut bytes).map_err(failed)?;
    expect_within(bytes.len() as u64, &path.display().to_string())?;
    Ok(bytes)
}

/// What `parse` finds in a file. Its errors get the path.
pub(crate) fn parse<T>(path: &Path, parse: impl FnOnce(&[u8]) -> Result<T, Error>) -> Result<T, Error> {
    let bytes = read(path)?;
    parse(&bytes).map_err(|error| wrong(path, error.message()).help_of(&error))
}

/// The error that the contents of a file are not what they should be; [`parse`] adds the path.
pub(crate) fn refused(reason: impl Into<String>) -> Error {
    Error::new(ErrorKind::File, "read", reason)
}

/// The number of bytes of an array, or an error if no tensor has this shape or it is over the limit. Axes of size 0 do not hide others: the
/// strides of an empty tensor must fit too.
pub(crate) fn expect_shape(shape: &[usize], width: usize) -> Result<usize, Error> {
    const MOST_AXES: usize = 64;
    if shape.len() > MOST_AXES {
        return Err(refused(format!("an array of {} axes is more than the {MOST_AXES} of a tensor", shape.len())));
    }
    let span = shape.iter().try_fold(8usize, |span, size| span.checked_mul((*size).max(1)));
    if span.is_none_or(|span| span > isize::MAX as usize) {
        return Err(refused(format!("an array of shape {shape:?} is larger than memory")));
    }
    let bytes = shape.iter().product::<usize>() * width;
    expect_within(bytes as u64, "the array")?;
    Ok(bytes)
}

/// The error that a file is not what it should be.
pub(crate) fn wrong(path: &Path, reason: &str) -> Error {
    Error::new(ErrorKind::File, "read", format!("{}: {reason}", path.display()))
}
