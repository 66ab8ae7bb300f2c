//! The memory of a program that was laid out in advance: regions, and spans of bytes in them.
//!
//! A plan names its buffers by spans. A call provides the regions: inputs, outputs and workspace. Code that takes spans declares all its
//! reads and writes at once, and overlaps are rejected.

mod stripes;

pub use stripes::Stripes;

use smallvec::SmallVec;
use std::marker::PhantomData;
use stripes::Share;

/// A range of bytes in a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Span {
    /// The region's number.
    pub region: usize,
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub length: usize,
}

impl Span {
    /// Whether the two have a byte in common.
    ///
    /// ```
    /// use wengert_kernels::memory::Span;
    /// let a = Span { region: 0, start: 0, length: 8 };
    /// assert!(a.overlaps(&Span { start: 4, ..a }) && !a.overlaps(&Span { start: 8, ..a }));
    /// assert!(!a.overlaps(&Span { region: 1, ..a }));
    /// ```
    pub fn overlaps(&self, other: &Span) -> bool {
        let apart = self.start + self.length <= other.start || other.start + other.length <= self.start;
        self.region == other.region && !apart && self.length > 0 && other.length > 0
    }
}

/// The source of a region of a nested program.
#[derive(Clone, Copy)]
pub enum RegionSource<'a> {
    /// Bytes that are only read.
    Read(Span),
    /// Bytes that may be written; no other span overlaps them.
    Write(Span),
    /// External bytes, which are only read.
    Bytes(&'a [u8]),
}

impl RegionSource<'_> {
    fn span(&self) -> Option<&Span> {
        match self {
            RegionSource::Read(span) | RegionSource::Write(span) => Some(span),
            RegionSource::Bytes(_) => None,
        }
    }
}

#[derive(Clone, Copy)]
struct Region {
    start: *mut u8,
    length: usize,
    is_writable: bool,
}

/// Storage for the regions of one call, reused between calls so that a call allocates nothing.
#[derive(Default)]
pub struct Regions(Vec<Region>);

// SAFETY: the pointers are only dereferenced through a `Memory`, which clears them when it is created and borrows the regions it adds. In
// between they are plain values that may be sent anywhere.
unsafe impl Send for Regions {}

/// The regions of one call.
///
/// ```
/// use wengert_kernels::memory::{Memory, Regions, Span};
/// let (mut regions, input, mut output) = (Regions::default(), [1u8, 2, 3], [0u8; 3]);
/// let mut memory = Memory::new(&mut regions);
/// memory.read(&input);
/// memory.write(&mut output);
/// let span = |region| Span { region, start: 0, length: 3 };
/// memory.access(&[span(0)], &[span(1)], |reads, writes| writes[0].copy_from_slice(reads[0]));
/// drop(memory);
/// assert_eq!(output, [1, 2, 3]);
/// ```
pub struct Memory<'a> {
    regions: &'a mut Vec<Region>,
    /// This task's share of regions that other tasks use at the same time.
    share: Option<Share<'a>>,
    /// The lifetime of the borrowed regions.
    borrows: PhantomData<&'a mut [u8]>,
}

impl<'a> Memory<'a> {
    /// A memory without regions.
    pub fn new(regions: &'a mut Regions) -> Memory<'a> {
        regions.0.clear();
        Memory { regions: &mut regions.0, share: None, borrows: PhantomData }
    }

    /// Adds a read-only region.
    pub fn read(&mut self, bytes: &'a [u8]) {
        self.regions.push(Region { start: bytes.as_ptr().cast_mut(), length: bytes.len(), is_writable: false });
    }

    /// Adds a writable region.
    pub fn write(&mut self, bytes: &'a mut [u8]) {
        self.regions.push(Region { start: bytes.as_mut_ptr(), length: bytes.len(), is_writable: true });
    }

    /// Calls `f` with the bytes of the spans it reads and of those it writes. Panics if a span is out of bounds, if a read-only region is
    /// written, or if a written span overlaps any other.
    pub fn access<R>(&mut self, reads: &[Span], writes: &[Span], f: impl FnOnce(&[&[u8]], &mut [&mut [u8]]) -> R) -> R {
        for (number, write) in writes.iter().enumerate() {
            let alone = reads.iter().chain(&writes[..number]).all(|other| !write.overlaps(other));
            assert!(alone, "a span is written that is used otherwise at the same time");
        }
        // SAFETY: `start_of` checks the bounds; no written span overlaps another, as just checked; regions are borrowed for as long as this
        // lives, writable ones exclusively.
        unsafe {
            let (mut read, mut written) = (SmallVec::<[&[u8]; 16]>::new(), SmallVec::<[&mut [u8]; 8]>::new());
            let part = |span: &Span| std::slice::from_raw_parts(self.start_of(span, false), span.length);
            read.extend(reads.iter().map(part));
            let part = |span: &Span| std::slice::from_raw_parts_mut(self.start_of(span, true), span.length);
            written.extend(writes.iter().map(part));
            f(&read, &mut written)
        }
    }

    /// The regions of a nested program: parts of these regions, and external bytes that are only read. Panics as [`access`](Memory::access)
    /// does.
    ///
    /// ```
    /// use wengert_kernels::memory::{Memory, RegionSource, Regions, Span};
    /// let (mut regions, mut inner, mut bytes) = (Regions::default(), Regions::default(), [1u8, 2, 3, 4]);
    /// let mut memory = Memory::new(&mut regions);
    /// memory.write(&mut bytes);
    /// let half = |start| Span { region: 0, start, length: 2 };
    /// let mut nested = memory.nest(&mut inner, &[RegionSource::Read(half(0)), RegionSource::Write(half(2))]);
    /// let whole = |region| Span { region, start: 0, length: 2 };
    /// nested.access(&[whole(0)], &[whole(1)], |reads, writes| writes[0].copy_from_slice(reads[0]));
    /// drop(nested);
    /// drop(memory);
    /// assert_eq!(bytes, [1, 2, 1, 2]);
    /// ```
    pub fn nest<'b>(&'b mut self, regions: &'b mut Regions, parts: &[RegionSource<'b>]) -> Memory<'b> {
        let mut nested = Memory::new(regions);
        for (number, part) in parts.iter().enumerate() {
            if let RegionSource::Write(span) = part {
                let others = parts.iter().enumerate().filter(|(other, _)| *other != number);
                let alone = others.into_iter().all(|(_, other)| other.span().is_none_or(|other| !other.overlaps(span)));
                assert!(alone, "a span is written that is used otherwise at the same time");
            }
            match part {
                RegionSource::Bytes(bytes) => nested.read(bytes),
                RegionSource::Read(span) | RegionSource::Write(span) => {
                    let is_writable = matches!(part, RegionSource::Write(_));
                    // This memory stays borrowed while the nested one lives.
                    let start = self.start_of(span, is_writable);
                    nested.regions.push(Region { start, length: span.length, is_writable });
                }
            }
        }
        nested
    }

    /// The address of a span, in bounds.
    pub(crate) fn start_of(&self, span: &Span, is_written: bool) -> *mut u8 {
        let region = &self.regions[span.region];
        let fits = span.start <= region.length && span.length <= region.length - span.start;
        assert!(fits, "{span:?} leaves its region of {} bytes", region.length);
        assert!(!is_written || region.is_writable, "{span:?} is written, its region only read");
        if let Some(share) = &self.share {
            share.expect(span, is_written);
        }
        region.start.wrapping_add(span.start)
    }
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        self.regions.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn span(region: usize, start: usize, length: usize) -> Span {
        Span { region, start, length }
    }

    #[test]
    #[should_panic(expected = "used otherwise")]
    fn what_is_read_cannot_be_written_at_the_same_time() {
        let (mut regions, mut bytes) = (Regions::default(), [0u8; 8]);
        let mut memory = Memory::new(&mut regions);
        memory.write(&mut bytes);
        memory.access(&[span(0, 0, 5)], &[span(0, 4, 4)], |_, _| ());
    }

    #[test]
    #[should_panic(expected = "only read")]
    fn a_region_that_is_read_is_not_written() {
        let (mut regions, bytes) = (Regions::default(), [0u8; 8]);
        let mut memory = Memory::new(&mut regions);
        memory.read(&bytes);
        memory.access(&[], &[span(0, 4, 4)], |_, _| ());
    }

    #[test]
    #[should_panic(expected = "leaves its region")]
    fn a_span_stays_in_its_region() {
        let (mut regions, bytes) = (Regions::default(), [0u8; 8]);
        let mut memory = Memory::new(&mut regions);
        memory.read(&bytes);
        memory.access(&[span(0, 4, usize::MAX)], &[], |_, _| ());
    }
}
