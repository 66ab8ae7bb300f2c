//! Adjoints within a limit: pages, of which a bounded number is in memory, and the others in a file. A page of zeros is nowhere.

use super::failure::Failure;
use crate::spill::{Record, SpillError, SpillFile};
use crate::tape::adjoint::{Adjoint, Room};
use std::path::PathBuf;

/// The number of floats in a page.
const FLOATS: usize = 512;
const BYTES: usize = FLOATS * size_of::<f64>();

/// Where a page is: a word, so that a billion statements need 8 MB of them.
#[derive(Clone, Copy, PartialEq)]
struct Entry(u32);

impl Entry {
    const ZERO: Entry = Entry(0);

    fn frame(number: usize) -> Entry {
        Entry(2 * number as u32 + 1)
    }

    fn record(number: usize) -> Entry {
        Entry(2 * number as u32 + 2)
    }

    fn is_frame(self) -> bool {
        self.0 % 2 == 1
    }

    fn number(self) -> usize {
        (self.0 as usize - 1) / 2
    }
}

/// What a frame holds.
#[derive(Clone, Copy)]
struct Held {
    owner: u32,
    page: u32,
    is_recent: bool,
}

const NOTHING: Held = Held { owner: u32::MAX, page: 0, is_recent: false };

pub(in crate::tape) struct Pages {
    folder: PathBuf,
    file: Option<SpillFile>,
    /// The first frame is never read: adjoints go there after a failure.
    frames: Vec<Box<[f64]>>,
    held: Vec<Held>,
    vacant: Vec<usize>,
    most: usize,
    /// The frame to look at next when one is needed.
    hand: usize,
    /// Where the pages of each owner are.
    tables: Vec<Vec<Entry>>,
    owners: Vec<usize>,
    records: Vec<Option<Record>>,
    unused: Vec<usize>,
    failure: Option<SpillError>,
}

impl Pages {
    pub fn new(bytes: usize, folder: PathBuf) -> Pages {
        Pages {
            folder,
            file: None,
            frames: vec![zeros()],
            held: vec![NOTHING],
            vacant: Vec::new(),
            most: bytes / (BYTES + size_of::<Held>() + size_of::<Box<[f64]>>()),
            hand: 0,
            tables: Vec::new(),
            owners: Vec::new(),
            records: Vec::new(),
            unused: Vec::new(),
            failure: None,
        }
    }

    /// The number of pages of a new owner.
    pub fn open(&mut self) -> usize {
        self.owners.pop().unwrap_or_else(|| {
            self.tables.push(Vec::new());
            self.tables.len() - 1
        })
    }

    /// Forgets the pages of an owner.
    pub fn close(&mut self, owner: usize) {
        self.forget(owner, 0..self.tables[owner].len());
        self.tables[owner] = Vec::new();
        self.owners.push(owner);
    }

    /// The bytes of the frames.
    pub fn memory(&self) -> usize {
        self.frames.len() * BYTES
    }

    pub fn disk(&self) -> u64 {
        self.file.as_ref().map_or(0, SpillFile::length)
    }

    /// The bytes of lists, if an owner has adjoints of statements up to `next`. They grow by doubling.
    pub fn lists(&self, next: u32) -> usize {
        let entries: usize = self.tables.iter().map(Vec::capacity).sum();
        entries.max(2 * (next as usize / FLOATS + 1)) * size_of::<Entry>()
            + self.records.capacity() * size_of::<Option<Record>>()
    }

    /// The first failure: adjoints are lost since then.
    pub fn failure(&self) -> Option<Failure> {
        self.failure.clone().map(Failure::File)
    }

    /// Ensures that an owner has an entry for every statement before `next`.
    pub fn extend<A: Adjoint>(&mut self, owner: usize, next: u32) {
        let pages = (next as usize).div_ceil(per::<A>());
        let table = &mut self.tables[owner];
        if table.len() < pages {
            table.resize(pages, Entry::ZERO);
        }
    }

    /// The adjoint of a statement.
    #[inline(always)]
    pub fn at<A: Adjoint>(&mut self, owner: usize, index: u32) -> &mut A {
        let (page, offset) = (index as usize / per::<A>(), index as usize % per::<A>());
        let entry = self.tables[owner][page];
        let frame = if entry.is_frame() { entry.number() } else { self.fetch(owner, page) };
        self.held[frame].is_recent = true;
        &mut adjoints(&mut self.frames[frame])[offset]
    }

    /// Zeroes the adjoints of statements in a range.
    pub fn clear<A: Adjoint>(&mut self, owner: usize, (first, behind): (u32, u32)) {
        let per = per::<A>();
        let behind = (behind as usize).min(self.tables[owner].len() * per);
        let mut index = first as usize;
        while index < behind {
            let (page, to) = (index / per, behind.min((index / per + 1) * per));
            if to - index == per {
                self.forget(owner, page..page + 1);
            } else if self.tables[owner][page] != Entry::ZERO {
                let entry = self.tables[owner][page];
                let frame = if entry.is_frame() { entry.number() } else { self.fetch(owner, page) };
                adjoints::<A>(&mut self.frames[frame])[index - page * per..to - page * per].fill(A::ZERO);
            }
            index = to;
        }
    }

    /// Zeroes whole pages.
    fn forget(&mut self, owner: usize, pages: std::ops::Range<usize>) {
        for page in pages {
            let entry = std::mem::replace(&mut self.tables[owner][page], Entry::ZERO);
            if entry.is_frame() {
                self.held[entry.number()] = NOTHING;
                self.vacant.push(entry.number());
            } else if entry != Entry::ZERO {
                self.release(entry);
            }
        }
    }

    /// Brings a page into memory; the number of its frame.
    #[cold]
    #[inline(never)]
    fn fetch(&mut self, owner: usize, page: usize) -> usize {
        match self.try_fetch(owner, page) {
            Ok(frame) => frame,
            Err(error) => {
                self.failure.get_or_insert(error);
                0
            }
        }
    }

    fn try_fetch(&mut self, owner: usize, page: usize) -> Result<usize, SpillError> {
        if let Some(error) = &self.failure {
            return Err(error.clone());
        }
        let frame = self.empty_frame()?;
        let entry = self.tables[owner][page];
        if entry == Entry::ZERO {
            self.frames[frame].fill(0.0);
        } else {
            let record = self.records[entry.number()].expect("the page is in the file");
            let bytes = bytemuck::cast_slice_mut(&mut self.frames[frame]);
            if let Err(error) = self.file.as_ref().expect("it has records").read(record, bytes) {
                self.vacant.push(frame);
                return Err(error);
            }
            self.release(entry);
        }
        self.held[frame] = Held { owner: owner as u32, page: page as u32, is_recent: true };
        self.tables[owner][page] = Entry::frame(frame);
        Ok(frame)
    }

    /// A frame that holds nothing. If there is none, the page that was not used for the longest time, roughly, leaves.
    fn empty_frame(&mut self) -> Result<usize, SpillError> {
        if let Some(frame) = self.vacant.pop() {
            return Ok(frame);
        }
        if self.frames.len() < self.most {
            self.frames.push(zeros());
            self.held.push(NOTHING);
            return Ok(self.frames.len() - 1);
        }
        loop {
            self.hand = if self.hand + 1 < self.frames.len() { self.hand + 1 } else { 1 };
            if std::mem::take(&mut self.held[self.hand].is_recent) {
                continue;
            }
            let (Held { owner, page, .. }, frame) = (self.held[self.hand], &self.frames[self.hand]);
            // A negative zero is not what a new page holds.
            let entry = match frame.iter().all(|adjoint| adjoint.to_bits() == 0) {
                true => Entry::ZERO,
                false => self.write(self.hand)?,
            };
            self.tables[owner as usize][page as usize] = entry;
            self.held[self.hand] = NOTHING;
            return Ok(self.hand);
        }
    }

    fn write(&mut self, frame: usize) -> Result<Entry, SpillError> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(SpillFile::create(&self.folder)?),
        };
        let record = file.write(bytemuck::cast_slice(&self.frames[frame]))?;
        let number = self.unused.pop().unwrap_or_else(|| {
            self.records.push(None);
            self.records.len() - 1
        });
        self.records[number] = Some(record);
        Ok(Entry::record(number))
    }

    fn release(&mut self, entry: Entry) {
        let record = self.records[entry.number()].take();
        self.unused.push(entry.number());
        if let (Some(record), Some(file)) = (record, &mut self.file) {
            file.release(record);
        }
    }
}

fn zeros() -> Box<[f64]> {
    vec![0.0; FLOATS].into_boxed_slice()
}

/// The number of adjoints in a page.
const fn per<A: Adjoint>() -> usize {
    FLOATS / (size_of::<A>() / size_of::<f64>())
}

fn adjoints<A: Adjoint>(frame: &mut [f64]) -> &mut [A] {
    bytemuck::cast_slice_mut(&mut frame[..per::<A>() * (size_of::<A>() / size_of::<f64>())])
}

/// The adjoints of an owner, for a sweep.
pub(in crate::tape) struct Paged<'p> {
    pub pages: &'p mut Pages,
    pub owner: usize,
}

impl<A: Adjoint> Room<A> for Paged<'_> {
    #[inline(always)]
    unsafe fn at(&mut self, index: u32) -> *mut A {
        self.pages.at(self.owner, index)
    }
}
