//! Why a recording within a limit cannot go on.

use crate::spill::SpillError;
use std::fmt;
use std::path::PathBuf;

/// Why a recording [within a limit](super::Limit) cannot begin or go on.
#[derive(Clone, Debug, PartialEq)]
pub enum Failure {
    /// The limit is too small.
    Small {
        /// The least limit that is enough up to this point, in bytes.
        needed: usize,
        /// The limit.
        allowed: usize,
    },
    /// The name of the folder is empty.
    NoFolder,
    /// No file can be created in the folder.
    Folder(SpillError),
    /// The disk has too little room.
    Disk {
        /// The folder of the files.
        folder: PathBuf,
        /// The bytes that are needed.
        needed: u64,
        /// The bytes that are left.
        available: u64,
    },
    /// A file cannot be written or read, or was changed.
    File(SpillError),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Small { needed, allowed } => {
                write!(f, "a limit of {allowed} bytes is too small: this needs at least {needed}")
            }
            Failure::NoFolder => f.write_str("the name of the folder for files is empty"),
            Failure::Folder(error) | Failure::File(error) => error.fmt(f),
            Failure::Disk { folder, needed, available } => {
                write!(f, "{} has {available} bytes left, and {needed} are needed", folder.display())
            }
        }
    }
}
