//! The most memory that a reader takes.

use crate::base::*;
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

/// The bytes of a file, if it is not larger than the limit.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Error> {
    let failed = |error: std::io::Error| wrong(path, &error.to_string());
    let size = std::fs::metadata(path).map_err(failed)?.len();
    expect_within(size, &path.display().to_string())?;
    std::fs::read(path).map_err(failed)
}

/// The error that a file is not what it should be.
pub(crate) fn wrong(path: &Path, reason: &str) -> Error {
    Error::new(ErrorKind::File, "read", format!("{}: {reason}", path.display()))
}
