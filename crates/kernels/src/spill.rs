//! Files for data that does not fit into memory.
//!
//! A file holds records: byte strings with a position, a length and a checksum, which the caller keeps. They are written and read with plain
//! calls, because a memory map of a full disk kills the process. A record is checked whenever it is read, so a file that was removed, cut or
//! changed by somebody else is an error and never a wrong number.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// What went wrong with a file.
///
/// ```
/// use wengert_kernels::spill::{Fault, SpillFile};
/// let refused = SpillFile::create("/no/such/folder".as_ref()).unwrap_err();
/// assert!(matches!(refused.fault, Fault::System { kind: std::io::ErrorKind::NotFound, .. }));
/// assert!(refused.to_string().contains("/no/such/folder"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Fault {
    /// The system refused a call.
    System {
        /// What was attempted: "create", "write" or "read".
        attempt: &'static str,
        /// The kind of the system's error.
        kind: io::ErrorKind,
        /// Its text.
        text: String,
    },
    /// The file ends before the record does.
    Short {
        /// The length that the file had.
        expected: u64,
        /// The length that it has now.
        found: u64,
    },
    /// The bytes of a record are others than those that were written.
    Altered {
        /// Where the record begins.
        position: u64,
    },
}

/// A fault and the file or folder that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpillError {
    /// The file, or the folder where it could not be created.
    pub path: PathBuf,
    /// What is wrong.
    pub fault: Fault,
}

impl fmt::Display for SpillError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        match &self.fault {
            Fault::System { attempt, text, .. } => write!(f, "cannot {attempt} {path}: {text}"),
            Fault::Short { expected, found } => {
                write!(f, "{path} was cut: it has {found} bytes, and {expected} were written")
            }
            Fault::Altered { position } => {
                write!(f, "{path} was changed: the bytes from {position} on are not those that were written")
            }
        }
    }
}

impl std::error::Error for SpillError {}

impl SpillError {
    fn system(path: &Path, attempt: &'static str, error: &io::Error) -> SpillError {
        let fault = Fault::System { attempt, kind: error.kind(), text: error.to_string() };
        SpillError { path: path.into(), fault }
    }
}

/// Where a record is, and how to recognise it. Whoever wrote it keeps this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    position: u64,
    length: usize,
    checksum: u64,
}

impl Record {
    /// The number of bytes.
    pub fn length(&self) -> usize {
        self.length
    }
}

/// A file of records in a folder of the user's choice. It is removed when this is dropped, also by a panic. The space of records that were
/// released is used again.
///
/// ```
/// use wengert_kernels::spill::SpillFile;
/// let mut file = SpillFile::create(&std::env::temp_dir())?;
/// let path = file.path().to_owned();
/// let record = file.write(&[1, 2, 3])?;
/// let mut bytes = vec![0; record.length()];
/// file.read(record, &mut bytes)?;
/// assert_eq!(bytes, [1, 2, 3]);
/// drop(file);
/// assert!(!path.exists());
/// # Ok::<(), wengert_kernels::spill::SpillError>(())
/// ```
#[derive(Debug)]
pub struct SpillFile {
    path: PathBuf,
    writer: File,
    /// The end of the last record in use.
    end: u64,
    /// Space before the end that no record uses: position and length. No two pieces touch each other, and none touches the end.
    free: BTreeMap<u64, u64>,
}

impl SpillFile {
    /// A new, empty file in `folder`, which must exist.
    pub fn create(folder: &Path) -> Result<SpillFile, SpillError> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        loop {
            let number = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("wengert-{}-{number}.spill", std::process::id()));
            match OpenOptions::new().write(true).create_new(true).open(&path) {
                Ok(writer) => return Ok(SpillFile { path, writer, end: 0, free: BTreeMap::new() }),
                // Left behind by a process that was killed and had the same number.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(SpillError::system(&path, "create", &error)),
            }
        }
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The length of the file, in bytes.
    pub fn length(&self) -> u64 {
        self.end
    }

    /// Writes a record. After an error the file has the records that it had before.
    pub fn write(&mut self, bytes: &[u8]) -> Result<Record, SpillError> {
        let record =
            Record { position: self.reserve(bytes.len() as u64), length: bytes.len(), checksum: checksum(bytes) };
        let mut write = || {
            self.writer.seek(SeekFrom::Start(record.position))?;
            self.writer.write_all(bytes)
        };
        if let Err(error) = write() {
            self.release(record);
            return Err(SpillError::system(&self.path, "write", &error));
        }
        Ok(record)
    }

    /// Reads a record into `into`, which has its length.
    pub fn read(&self, record: Record, into: &mut [u8]) -> Result<(), SpillError> {
        assert_eq!(into.len(), record.length, "a record is read as a whole");
        let refused = |error: io::Error| SpillError::system(&self.path, "read", &error);
        // Opened by its name: a file that was removed or replaced is noticed.
        let mut file = File::open(&self.path).map_err(refused)?;
        let found = file.metadata().map_err(refused)?.len();
        if found < record.position + record.length as u64 {
            return Err(SpillError { path: self.path.clone(), fault: Fault::Short { expected: self.end, found } });
        }
        file.seek(SeekFrom::Start(record.position)).map_err(refused)?;
        file.read_exact(into).map_err(refused)?;
        if checksum(into) != record.checksum {
            return Err(self.altered(record));
        }
        Ok(())
    }

    /// The error for a record whose bytes are others than those that were written.
    pub fn altered(&self, record: Record) -> SpillError {
        SpillError { path: self.path.clone(), fault: Fault::Altered { position: record.position } }
    }

    /// Gives the space of a record back. It must not be read again.
    pub fn release(&mut self, record: Record) {
        let (mut start, mut end) = (record.position, record.position + record.length as u64);
        if start == end {
            return;
        }
        if let Some((&before, &length)) = self.free.range(..start).next_back()
            && before + length == start
        {
            self.free.remove(&before);
            start = before;
        }
        if let Some(length) = self.free.remove(&end) {
            end += length;
        }
        if end == self.end {
            self.end = start;
            // Only the disk would miss it.
            let _ = self.writer.set_len(start);
        } else {
            self.free.insert(start, end - start);
        }
    }

    /// A place for so many bytes: the first gap that is large enough, or the end.
    fn reserve(&mut self, length: u64) -> u64 {
        if length == 0 {
            // It takes no place, so it stays readable wherever the file ends.
            return 0;
        }
        let gap = self.free.iter().find(|(_, free)| **free >= length).map(|(position, free)| (*position, *free));
        let Some((position, free)) = gap else {
            self.end += length;
            return self.end - length;
        };
        self.free.remove(&position);
        if free > length {
            self.free.insert(position + length, free - length);
        }
        position
    }
}

impl Drop for SpillFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The number of bytes that the file system of `folder` has left for this user; `None` if the system does not say.
///
/// ```
/// assert!(wengert_kernels::spill::available(&std::env::temp_dir()) > Some(0));
/// ```
pub fn available(folder: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        use std::os::unix::ffi::OsStrExt;
        let folder = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
        let mut state = std::mem::MaybeUninit::<libc::statvfs>::uninit();
        // SAFETY: the path ends with a zero byte, and the call writes at most one `statvfs` to the place for one.
        if unsafe { libc::statvfs(folder.as_ptr(), state.as_mut_ptr()) } != 0 {
            return None;
        }
        // SAFETY: the call succeeded, so it has filled in the struct.
        let state = unsafe { state.assume_init() };
        #[allow(clippy::unnecessary_cast)] // The widths of the fields differ between systems.
        Some((state.f_bavail as u64).saturating_mul(state.f_frsize as u64))
    }
    #[cfg(not(unix))]
    {
        let _ = folder;
        None
    }
}

/// A checksum of bytes: four interleaved sums of words, each multiplied on, so that any change within one word changes the result. It
/// notices accidents, not attacks.
///
/// ```
/// use wengert_kernels::spill::checksum;
/// assert_ne!(checksum(&[0; 8]), checksum(&[0; 9]));
/// assert_ne!(checksum(&[1, 0]), checksum(&[0, 1]));
/// ```
pub fn checksum(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |sum: u64, word: u64| (sum ^ word).wrapping_mul(FACTOR).rotate_left(29);
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        word[..bytes.len()].copy_from_slice(bytes);
        u64::from_le_bytes(word)
    };
    let mut lanes = [1, 2, 3, 4];
    let mut blocks = bytes.chunks_exact(32);
    for block in &mut blocks {
        for (lane, bytes) in lanes.iter_mut().zip(block.chunks_exact(8)) {
            *lane = mix(*lane, word(bytes));
        }
    }
    let rest = blocks.remainder().chunks(8).fold(bytes.len() as u64, |sum, bytes| mix(sum, word(bytes)));
    lanes.into_iter().fold(rest, mix)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file() -> SpillFile {
        SpillFile::create(&std::env::temp_dir()).unwrap()
    }

    fn contents(file: &SpillFile, record: Record) -> Result<Vec<u8>, SpillError> {
        let mut bytes = vec![0; record.length()];
        file.read(record, &mut bytes).map(|()| bytes)
    }

    #[test]
    fn released_space_is_used_again_and_neighbours_are_untouched() {
        let mut file = file();
        let mut records: Vec<(Record, Vec<u8>)> = Vec::new();
        let mut longest = 0;
        for round in 0..200_usize {
            let bytes: Vec<u8> = (0..round * 37 % 101).map(|k| (round + k) as u8).collect();
            records.push((file.write(&bytes).unwrap(), bytes));
            if records.len() > 8 {
                let (record, _) = records.remove(round * 7 % 8);
                file.release(record);
            }
            for (record, bytes) in &records {
                assert_eq!(contents(&file, *record).as_ref(), Ok(bytes));
            }
            longest = longest.max(file.length());
        }
        assert!(longest < 3 * 8 * 101, "{longest}");
        records.drain(..).for_each(|(record, _)| file.release(record));
        assert_eq!((file.length(), file.free.len()), (0, 0));
        assert_eq!(std::fs::metadata(file.path()).unwrap().len(), 0);
    }

    #[test]
    fn changed_cut_and_removed_files_are_errors_with_the_path() {
        let mut file = file();
        let first = file.write(&[7; 100]).unwrap();
        let second = file.write(&[8; 100]).unwrap();
        let mut bytes = std::fs::read(file.path()).unwrap();
        bytes[150] ^= 1;
        std::fs::write(file.path(), &bytes).unwrap();
        assert_eq!(contents(&file, first), Ok(vec![7; 100]));
        assert_eq!(contents(&file, second).unwrap_err().fault, Fault::Altered { position: 100 });
        std::fs::write(file.path(), &bytes[..150]).unwrap();
        let short = contents(&file, second).unwrap_err();
        assert_eq!(short.fault, Fault::Short { expected: 200, found: 150 });
        std::fs::remove_file(file.path()).unwrap();
        let gone = contents(&file, first).unwrap_err();
        assert!(matches!(gone.fault, Fault::System { kind: io::ErrorKind::NotFound, .. }), "{gone}");
        assert!([short, gone].iter().all(|error| error.path == file.path()));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_an_error_and_keeps_what_was_written() {
        let mut file = file();
        let kept = file.write(&[1; 10]).unwrap();
        // This device has never any space.
        let disk = std::mem::replace(&mut file.writer, File::options().write(true).open("/dev/full").unwrap());
        let full = file.write(&[2; 10]).unwrap_err();
        assert!(matches!(full.fault, Fault::System { kind: io::ErrorKind::StorageFull, .. }), "{full}");
        file.writer = disk;
        let next = file.write(&[3; 10]).unwrap();
        assert_eq!((contents(&file, kept).unwrap(), contents(&file, next).unwrap()), (vec![1; 10], vec![3; 10]));
    }

    #[test]
    fn a_panic_removes_the_file() {
        let file = file();
        let path = file.path().to_owned();
        assert!(path.exists());
        let panicked = std::thread::spawn(move || {
            let _file = file;
            std::panic::resume_unwind(Box::new(()))
        });
        assert!(panicked.join().is_err() && !path.exists());
    }
}
