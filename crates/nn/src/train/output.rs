//! Files that a run writes: whether they can be written is known before anything is trained.

use crate::prelude::*;
use std::fs::{OpenOptions, remove_file};
use std::io;
use std::path::Path;

/// Writes a text.
pub(super) fn write(path: &Path, what: &str, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(|error| failed(path, what, error))
}

/// An error unless a file can be written here.
pub(super) fn expect_writable(path: &Path, what: &str) -> Result<(), Error> {
    open(path).map_err(|error| failed(path, what, error))
}

/// An error unless a file can be written beside this one and then renamed.
#[cfg(feature = "files")]
pub(super) fn expect_replaceable(path: &Path, what: &str) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let opened = if path.is_dir() { Err(io::ErrorKind::IsADirectory.into()) } else { open(&path.with_file_name(name)) };
    opened.map_err(|error| failed(path, what, error))
}

/// Opens a file for writing. One that exists is left as it is, a new one is removed again.
fn open(path: &Path) -> io::Result<()> {
    let is_new = path.symlink_metadata().is_err();
    OpenOptions::new().append(true).create(true).open(path)?;
    if is_new { remove_file(path) } else { Ok(()) }
}

fn failed(path: &Path, what: &str, error: io::Error) -> Error {
    let failed = Error::new(ErrorKind::File, what, format!("{}: {error}", path.display()));
    match path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.exists()) {
        Some(folder) => failed.help(format!("there is no folder {}", folder.display())),
        None => failed,
    }
}
