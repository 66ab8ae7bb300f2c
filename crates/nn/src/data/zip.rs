//! Zip archives with stored or deflated entries, as NumPy writes them. Encryption and archives over 4 GiB (zip64) are refused.

use super::inflate::inflate;
use crate::files::limit::{expect_within, refused};
use crate::prelude::*;
use flate2::Crc;
use flate2::bufread::DeflateDecoder;
use std::borrow::Cow;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
/// Names are UTF-8.
const UTF8: u16 = 1 << 11;
/// The first day of the format, 1980-01-01: equal contents give equal archives.
const DATE: u16 = 1 << 5 | 1;

/// A file of an archive.
#[derive(Debug)]
pub(super) struct Entry<'b> {
    pub(super) name: &'b str,
    is_deflated: bool,
    checksum: u32,
    size: u32,
    stored: &'b [u8],
}

impl<'b> Entry<'b> {
    /// Its bytes.
    pub(super) fn contents(&self) -> Result<Cow<'b, [u8]>, Error> {
        let contents = if self.is_deflated {
            let stream = DeflateDecoder::new(self.stored);
            Cow::Owned(inflate(stream, self.stored.len(), u64::from(self.size))?)
        } else {
            Cow::Borrowed(self.stored)
        };
        if contents.len() as u64 != u64::from(self.size) || checksum(&contents) != self.checksum {
            return Err(refused("the size or the checksum differs"));
        }
        Ok(contents)
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut sum = Crc::new();
    sum.update(bytes);
    sum.sum()
}

/// The entries of an archive, as its directory at the end lists them. Entries that overlap, or that together are over the limit, are refused.
pub(super) fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, Error> {
    let damaged = || refused("the zip archive is damaged");
    let end = end_of_directory(bytes).ok_or_else(|| refused("not a zip archive, or not all of it"))?;
    let count = end.u16(10).ok_or_else(damaged)?;
    let (size, start) = (end.u32(12).ok_or_else(damaged)?, end.u32(16).ok_or_else(damaged)?);
    if start == u32::MAX || count == u16::MAX {
        return Err(refused("zip archives over 4 GiB (zip64) are not supported"));
    }
    let directory = Fields(bytes).slice(start as usize, size as usize).ok_or_else(damaged)?;
    let mut entries = Vec::new();
    let (mut rest, mut total, mut taken) = (directory, 0u64, 0u64);
    for _ in 0..count {
        let (entry, length) = entry(bytes, rest)?;
        total += u64::from(entry.size);
        taken += entry.stored.len() as u64;
        rest = &rest[length..];
        entries.push(entry);
    }
    if taken > bytes.len() as u64 {
        return Err(refused("entries of the zip archive overlap"));
    }
    expect_within(total, "the archive")?;
    Ok(entries)
}

/// The record at the end, before a comment of up to 65,535 bytes.
fn end_of_directory(bytes: &[u8]) -> Option<Fields<'_>> {
    const LENGTH: usize = 22;
    let last = bytes.len().checked_sub(LENGTH)?;
    let first = last.saturating_sub(usize::from(u16::MAX));
    let ends_here = |start: &usize| {
        let record = Fields(&bytes[*start..]);
        record.u32(0) == Some(END) && record.u16(20).map(usize::from) == Some(bytes.len() - start - LENGTH)
    };
    (first..=last).rev().find(ends_here).map(|start| Fields(&bytes[start..]))
}

/// The first entry of a directory, and the length of its record.
fn entry<'b>(bytes: &'b [u8], directory: &'b [u8]) -> Result<(Entry<'b>, usize), Error> {
    let record = Fields(directory);
    let read = || {
        (record.u32(0)? == CENTRAL).then_some(())?;
        let name_length = usize::from(record.u16(28)?);
        let name = record.slice(46, name_length)?;
        let length = 46 + name_length + usize::from(record.u16(30)?) + usize::from(record.u16(32)?);
        record.slice(0, length)?;
        let (stored, size, local) = (record.u32(20)?, record.u32(24)?, record.u32(42)?);
        Some((name, length, [stored, size, local]))
    };
    let (name, length, [stored, size, local]) = read().ok_or_else(|| refused("the zip directory is damaged"))?;
    let name = std::str::from_utf8(name).map_err(|_| refused("a name in the zip archive is not UTF-8"))?;
    let wrong = |reason: &str| refused(format!("{name}: {reason}"));
    if [stored, size, local].contains(&u32::MAX) {
        return Err(wrong("zip archives over 4 GiB (zip64) are not supported"));
    }
    if record.u16(8).is_some_and(|flags| flags & 1 != 0) {
        return Err(wrong("it is encrypted"));
    }
    let is_deflated = match record.u16(10) {
        Some(0) => false,
        Some(8) => true,
        _ => return Err(wrong("it is compressed by another method than deflate")),
    };
    let contents = || {
        let header = Fields(bytes.get(local as usize..)?);
        (header.u32(0)? == LOCAL).then_some(())?;
        let start = 30 + usize::from(header.u16(26)?) + usize::from(header.u16(28)?);
        header.slice(start, stored as usize)
    };
    let stored = contents().ok_or_else(|| wrong("its bytes are not there"))?;
    let checksum = record.u32(16).unwrap_or_default();
    Ok((Entry { name, is_deflated, checksum, size, stored }, length))
}

/// Little-endian numbers at places of a record.
#[derive(Clone, Copy)]
struct Fields<'b>(&'b [u8]);

impl<'b> Fields<'b> {
    fn slice(self, start: usize, length: usize) -> Option<&'b [u8]> {
        self.0.get(start..)?.get(..length)
    }

    fn u16(self, start: usize) -> Option<u16> {
        self.slice(start, 2)?.try_into().ok().map(u16::from_le_bytes)
    }

    fn u32(self, start: usize) -> Option<u32> {
        self.slice(start, 4)?.try_into().ok().map(u32::from_le_bytes)
    }
}

/// An archive of stored entries.
#[derive(Default)]
pub(super) struct Writer {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u16,
}

impl Writer {
    /// Adds a file.
    pub(super) fn add(&mut self, name: &str, contents: &[u8]) -> Result<(), Error> {
        let (size, local) = (small(contents.len())?, small(self.bytes.len())?);
        let name_length = u16::try_from(name.len()).map_err(|_| refused("a name is over 65,535 bytes"))?;
        self.count = self.count.checked_add(1).filter(|count| *count < u16::MAX).ok_or_else(too_large)?;
        // Version 2.0, flags, not compressed, time and date; checksum and sizes; the lengths of the name and of nothing else.
        let shared = [
            &20u16.to_le_bytes()[..],
            &UTF8.to_le_bytes(),
            &[0; 4],
            &DATE.to_le_bytes(),
            &checksum(contents).to_le_bytes(),
            &size.to_le_bytes(),
            &size.to_le_bytes(),
            &name_length.to_le_bytes(),
            &[0; 2],
        ]
        .concat();
        let name = name.as_bytes();
        self.directory.extend([&CENTRAL.to_le_bytes()[..], &[20, 0], &shared, &[0; 10]].concat());
        self.directory.extend([&local.to_le_bytes()[..], name].concat());
        self.bytes.extend([&LOCAL.to_le_bytes()[..], &shared, name].concat());
        self.bytes.extend_from_slice(contents);
        Ok(())
    }

    /// The bytes of the archive.
    pub(super) fn finish(mut self) -> Result<Vec<u8>, Error> {
        let (start, size) = (small(self.bytes.len())?, small(self.directory.len())?);
        self.bytes.append(&mut self.directory);
        let count = self.count.to_le_bytes();
        let sizes = [size.to_le_bytes(), start.to_le_bytes()].concat();
        self.bytes.extend([&END.to_le_bytes()[..], &[0; 4], &count, &count, &sizes, &[0; 2]].concat());
        Ok(self.bytes)
    }
}

fn small(bytes: usize) -> Result<u32, Error> {
    u32::try_from(bytes).ok().filter(|bytes| *bytes < u32::MAX).ok_or_else(too_large)
}

fn too_large() -> Error {
    let message = "the tensors are too many or too large for a zip archive of 4 GiB";
    Error::new(ErrorKind::File, "save", message).help("save as safetensors, which has no such limit")
}
