//! Event files of TensorBoard: records with checksums, each a message in the format of protocol buffers.

use crate::prelude::*;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// A file of numbers that TensorBoard draws: `tensorboard --logdir FOLDER`.
///
/// ```
/// use wengert::nn::TensorBoard;
///
/// let folder = std::env::temp_dir().join(format!("wengert-events-{}", std::process::id()));
/// let mut events = TensorBoard::create(&folder)?;
/// for step in 0..100 {
///     events.scalar("loss", step, 1.0 / (1.0 + step as f64))?;
/// }
/// events.flush()?;
/// # std::fs::remove_dir_all(folder).unwrap();
/// # Ok::<(), wengert::Error>(())
/// ```
pub struct TensorBoard {
    path: PathBuf,
    file: BufWriter<File>,
}

/// The number of files that this process has begun: part of their names.
static FILES: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);

impl TensorBoard {
    /// Begins a file in a folder, which is made if it is missing. Files of earlier runs stay; TensorBoard joins them by their steps.
    pub fn create(folder: impl AsRef<Path>) -> Result<TensorBoard, Error> {
        let folder = folder.as_ref();
        let number = FILES.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let (seconds, process) = (seconds() as u64, std::process::id());
        let path = folder.join(format!("events.out.tfevents.{seconds:010}.wengert.{process}.{number}"));
        let made = std::fs::create_dir_all(folder).and_then(|()| File::create_new(&path));
        let file = BufWriter::new(made.map_err(|error| failed(&path, error))?);
        let mut events = TensorBoard { path, file };
        events.event(&Message::default().double(1, seconds as f64).bytes(3, b"brain.Event:2"))?;
        Ok(events)
    }

    /// Writes a number of a step.
    pub fn scalar(&mut self, name: &str, step: u64, value: f64) -> Result<(), Error> {
        self.event(&scalar_event(seconds(), name, step, value as f32))
    }

    /// Hands what is written to the system.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.file.flush().map_err(|error| failed(&self.path, error))
    }

    fn event(&mut self, message: &Message) -> Result<(), Error> {
        self.file.write_all(&record(&message.0)).map_err(|error| failed(&self.path, error))
    }
}

fn failed(path: &Path, error: std::io::Error) -> Error {
    Error::new(ErrorKind::File, "TensorBoard", format!("{}: {error}", path.display()))
}

/// Seconds since 1970.
fn seconds() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_secs_f64())
}

/// `Event { wall_time, step, summary: { value: { tag, simple_value } } }`
fn scalar_event(seconds: f64, name: &str, step: u64, value: f32) -> Message {
    let value = Message::default().bytes(1, name.as_bytes()).float(2, value);
    let summary = Message::default().bytes(1, &value.0);
    Message::default().double(1, seconds).integer(2, step).bytes(5, &summary.0)
}

/// Fields of a protocol buffer: a number and a kind of content, then the content.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut x: u64) {
        while x >= 0x80 {
            self.0.push(x as u8 | 0x80);
            x >>= 7;
        }
        self.0.push(x as u8);
    }

    fn field(mut self, number: u64, kind: u64) -> Message {
        self.varint(number << 3 | kind);
        self
    }

    fn integer(self, number: u64, x: u64) -> Message {
        let mut message = self.field(number, 0);
        message.varint(x);
        message
    }

    fn double(self, number: u64, x: f64) -> Message {
        let mut message = self.field(number, 1);
        message.0.extend(x.to_le_bytes());
        message
    }

    fn bytes(self, number: u64, bytes: &[u8]) -> Message {
        let mut message = self.field(number, 2);
        message.varint(bytes.len() as u64);
        message.0.extend(bytes);
        message
    }

    fn float(self, number: u64, x: f32) -> Message {
        let mut message = self.field(number, 5);
        message.0.extend(x.to_le_bytes());
        message
    }
}

/// Length, its checksum, content, its checksum.
fn record(content: &[u8]) -> Vec<u8> {
    let length = (content.len() as u64).to_le_bytes();
    let sums = [&length[..], content].map(|bytes| masked(crc32c(bytes)).to_le_bytes());
    [&length[..], &sums[0], content, &sums[1]].concat()
}

/// A checksum of data that contains checksums is weak; so these are rotated and shifted.
fn masked(sum: u32) -> u32 {
    sum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// Castagnoli's cyclic redundancy check, bit by bit: records are short.
fn crc32c(bytes: &[u8]) -> u32 {
    const POLYNOMIAL: u32 = 0x82f6_3b78;
    let next = |sum: u32| if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
    !bytes.iter().fold(!0, |sum, byte| (0..8).fold(sum ^ u32::from(*byte), |sum, _| next(sum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_castagnolis() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
    }

    #[test]
    fn a_record_has_the_bytes_that_tensorboard_writes() {
        let recorded = "1b000000000000001a0d9e130900000000004a934010ac022a0d0a0b0a046c6f7373150000803e9e390410";
        let bytes = record(&scalar_event(1234.5, "loss", 300, 0.25).0);
        assert_eq!(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>(), recorded);
    }
}
