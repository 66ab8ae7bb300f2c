//! The chunks of a limit, in memory or in a file.

use super::failure::Failure;
use crate::spill::{SpillFile, available};
use crate::tape::chunk::{Chunk, MOST, Memory, Stored};
use std::path::PathBuf;

/// The number of standard chunks that the memory for chunks holds.
const CHUNKS: usize = 8;

pub(super) struct Segments {
    file: SpillFile,
    folder: PathBuf,
    /// The limit, and the bytes of it that are for chunks and lists.
    allowed: usize,
    share: usize,
    /// The number of statements in a standard chunk.
    statements: usize,
    /// The number of the first chunk under the limit, and the number after the last one that is in the file.
    first: usize,
    stored: usize,
    /// The chunk of the file that is also in memory.
    loaded: Option<usize>,
    /// Memory without a chunk.
    spare: Vec<Memory>,
    /// The bytes of all memory, and of the largest piece so far: there is always room to load a chunk of that size.
    bytes: usize,
    largest: usize,
    /// The bytes of lists when a chunk was opened last.
    lists: usize,
}

impl Segments {
    pub fn new(allowed: usize, file: SpillFile, folder: PathBuf, first: usize) -> Segments {
        let share = allowed / 4 * 3;
        let statements = (share / CHUNKS / super::STATEMENT).min(MOST);
        let (loaded, spare, stored) = (None, Vec::new(), first);
        Segments {
            file,
            folder,
            allowed,
            share,
            statements,
            first,
            stored,
            loaded,
            spare,
            bytes: 0,
            largest: 0,
            lists: 0,
        }
    }

    pub fn first(&self) -> usize {
        self.first
    }

    /// The bytes of chunks and lists.
    pub fn memory(&self) -> usize {
        self.bytes + self.lists
    }

    pub fn disk(&self) -> u64 {
        self.file.length()
    }

    /// Memory for a chunk after those that are in use, with room for a statement of `most` arguments. The last chunk stays in memory.
    pub fn make_room(&mut self, used: &mut Vec<Chunk>, most: usize, lists: usize) -> Result<Memory, Failure> {
        let (statements, arguments) = (self.statements, most.max(2 * self.statements));
        let bytes = Memory::size(statements, arguments);
        let largest = self.largest.max(bytes);
        // The lists of this limit: they grow by doubling.
        self.lists = lists + used.capacity().saturating_sub(self.first) * size_of::<Chunk>();
        let kept = used[self.first..].last().and_then(|chunk| chunk.memory.as_ref()).map_or(0, Memory::bytes);
        let others = [bytes, largest, self.lists].into_iter().fold(0, usize::saturating_add);
        if others.saturating_add(kept) > self.share {
            // In a larger limit standard chunks, of which one is kept, are larger too.
            let share = others.saturating_add(kept.max(others / (CHUNKS - 1)));
            let needed = share.saturating_add(share / 3).saturating_add(share / 32);
            return Err(Failure::Small { needed, allowed: self.allowed });
        }
        self.largest = largest;
        self.unload(used);
        let last = used.len().saturating_sub(1);
        loop {
            let spare: usize = self.spare.iter().map(Memory::bytes).sum();
            if self.bytes - spare + bytes + largest + self.lists <= self.share || self.stored >= last {
                return Ok(self.take(statements, arguments));
            }
            self.store(&mut used[self.stored])?;
        }
    }

    /// Memory with this room. Spare memory goes back if it stands in the way.
    fn take(&mut self, statements: usize, arguments: usize) -> Memory {
        let fits = self.spare.iter().position(|memory| memory.fits(statements, arguments));
        let found = fits.map(|number| self.spare.swap_remove(number));
        let bytes = if found.is_some() { 0 } else { Memory::size(statements, arguments) };
        while self.bytes + bytes + self.lists > self.share
            && let Some(memory) = self.spare.pop()
        {
            self.bytes -= memory.bytes();
        }
        let memory = found.unwrap_or_else(|| Memory::new(statements, arguments));
        self.bytes += bytes;
        memory
    }

    /// Writes a chunk to the file.
    fn store(&mut self, chunk: &mut Chunk) -> Result<(), Failure> {
        let memory = chunk.memory.as_mut().expect("it is not in the file yet");
        let pieces = memory.pieces((chunk.end - chunk.first) as usize, chunk.used);
        let needed = pieces.iter().map(|piece| piece.len() as u64).sum();
        if let Some(available) = available(&self.folder).filter(|available| *available < needed) {
            return Err(Failure::Disk { folder: self.folder.clone(), needed, available });
        }
        let mut records = Vec::with_capacity(3);
        for piece in pieces {
            match self.file.write(piece) {
                Ok(record) => records.push(record),
                Err(error) => {
                    records.into_iter().rev().for_each(|record| self.file.release(record));
                    return Err(Failure::File(error));
                }
            }
        }
        chunk.stored = Some(Stored([records[0], records[1], records[2]]));
        self.spare.extend(chunk.memory.take());
        self.stored += 1;
        Ok(())
    }

    /// Ensures that a chunk is in memory.
    pub fn load(&mut self, used: &mut [Chunk], number: usize) -> Result<(), Failure> {
        if used[number].memory.is_some() {
            return Ok(());
        }
        self.unload(used);
        let stored = used[number].stored.expect("what is not in memory is in the file");
        let mut memory =
            self.take(stored.statements().max(self.statements), stored.arguments().max(2 * self.statements));
        let pieces = memory.pieces(stored.statements(), stored.arguments());
        let read = stored.0.iter().zip(pieces).try_for_each(|(record, piece)| self.file.read(*record, piece));
        if let Err(error) = read {
            self.spare.push(memory);
            return Err(Failure::File(error));
        }
        used[number].memory = Some(memory);
        self.loaded = Some(number);
        Ok(())
    }

    /// Forgets the memory of the chunk that was loaded.
    fn unload(&mut self, used: &mut [Chunk]) {
        if let Some(number) = self.loaded.take() {
            self.spare.extend(used[number].memory.take());
        }
    }

    /// Takes back the last chunk.
    pub fn forget(&mut self, chunk: Chunk) {
        self.spare.extend(chunk.memory);
        if let Some(stored) = chunk.stored {
            stored.0.into_iter().rev().for_each(|record| self.file.release(record));
        }
    }

    /// After chunks were taken back: memory for a new chunk, if the last of those in use is in the file.
    pub fn reopen(&mut self, used: &[Chunk]) -> Option<Memory> {
        self.loaded = self.loaded.filter(|loaded| *loaded < used.len());
        self.stored = self.stored.min(used.len().max(self.first));
        let is_stored = used.len() > self.first && self.stored == used.len();
        // The chunk that was last until now was in memory.
        is_stored.then(|| self.take(self.statements, 2 * self.statements))
    }
}
