//! Compressed bytes, of a declared size.

use crate::files::limit::{expect_within, refused};
use crate::prelude::*;
use std::io::Read;

/// A byte of a deflate stream stands for no more bytes than this.
const MOST_EXPANSION: u64 = 1032;

/// The bytes of a stream that inflates `compressed` bytes to exactly `size`. Memory grows with what is there, so a false size costs none.
pub(super) fn inflate(mut stream: impl Read, compressed: usize, size: u64) -> Result<Vec<u8>, Error> {
    if size > MOST_EXPANSION.saturating_mul(compressed as u64) {
        return Err(refused(format!("{compressed} compressed bytes cannot be {size} bytes")));
    }
    expect_within(size, "the compressed array")?;
    let size = usize::try_from(size).map_err(|_| refused(format!("{size} bytes are larger than memory")))?;
    let damaged = |error: std::io::Error| refused(format!("the compressed bytes are damaged: {error}"));
    let mut bytes = Vec::new();
    while bytes.len() < size {
        let (start, end) = (bytes.len(), size.min((2 * bytes.len()).max(1 << 16)));
        bytes.try_reserve_exact(end - start).map_err(|error| refused(error.to_string()))?;
        bytes.resize(end, 0);
        stream.read_exact(&mut bytes[start..]).map_err(damaged)?;
    }
    // Reading past the end is what compares the checksum of a gzip stream.
    match stream.read(&mut [0]).map_err(damaged)? {
        0 => Ok(bytes),
        _ => Err(refused(format!("the compressed bytes are more than the declared {size}"))),
    }
}
