//! Files that are written whole or not at all.

use crate::prelude::*;
use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

/// Writes a file beside the old one and renames it.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), Error> {
    let mut name = path.file_name().unwrap_or_default().to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let part = path.with_file_name(name);
    let written = File::create(&part).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).map_err(|error| {
        let _ = fs::remove_file(&part);
        Error::new(ErrorKind::File, "save", format!("{}: {error}", path.display()))
    })
}
