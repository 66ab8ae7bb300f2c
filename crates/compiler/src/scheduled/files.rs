//! States in files. A manifest says which there are, with their lengths and checksums, so that another process can go on from them.
//!
//! Every loop has a folder of its own, named by a checksum of what it computes and of its operands. It holds the states at the starts of the
//! parts that the loop is cut into, the last state, and the cotangents at the end of the part that is reversed next. A manifest is replaced
//! as a whole, and after the files that it names are complete; files that it no longer names are removed afterwards.

use crate::primitive::Spec;
use crate::{Error, ErrorKind, Tensor};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};
use wengert_core::memory::part;
pub(super) use wengert_kernels::spill::checksum;
use wengert_kernels::spill::{Fault, SpillError};

/// The first line of a manifest.
const TITLE: &str = "wengert loop 1";

const MANIFEST: &str = "manifest";

/// A checksum of the elements of concrete tensors.
pub(super) fn checksum_of(tensors: &[Tensor]) -> u64 {
    let sums: Vec<u8> = tensors
        .iter()
        .flat_map(|tensor| {
            let spec = checksum(tensor.spec().to_string().as_bytes());
            [spec, checksum(tensor.contiguous().row_major_bytes())].map(u64::to_le_bytes).concat()
        })
        .collect();
    checksum(&sums)
}

/// A number that differs for other names and other tensors.
pub fn identity_of(name: &str, tensors: &[Tensor]) -> u64 {
    checksum(&[checksum(name.as_bytes()), checksum_of(tensors)].map(u64::to_le_bytes).concat())
}

/// A file: the step that its contents belong to, their length and checksum.
#[derive(Clone, Copy, PartialEq)]
struct Entry {
    length: u64,
    checksum: u64,
}

/// A number that no other process has: that of this one, with the time when it first asked.
fn process() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos() as u64;
        checksum(&[u64::from(std::process::id()), time].map(u64::to_le_bytes).concat())
    })
}

/// A number that differs for other programs: a body that was changed is compiled again.
fn program() -> u64 {
    static NUMBER: OnceLock<u64> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let about =
            std::env::current_exe().and_then(fs::metadata).and_then(|about| Ok((about.len(), about.modified()?)));
        about.map_or(0, |about| checksum(format!("{about:?}").as_bytes()))
    })
}

/// The folder of a loop's files, which are for a process that is killed: whoever drops this in good order has no use for them any more.
pub(super) struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            // A file that cannot be removed is not needed either.
            let _ = fs::remove_dir_all(&self.0);
        }
    }
}

/// What the manifest says.
#[derive(Clone, Default, PartialEq)]
struct Contents {
    /// The process that wrote it.
    process: u64,
    /// States by step.
    states: BTreeMap<usize, Entry>,
    /// The number of steps and the last state, once the loop has ended.
    end: Option<(usize, Entry)>,
    /// The step whose state has these cotangents, and a checksum of the cotangents that the pass started with.
    adjoint: Option<(usize, u64, Entry)>,
    /// The distance between states, if the number of steps is not known.
    stride: usize,
}

impl Contents {
    fn new() -> Contents {
        Contents { process: process(), stride: 1, ..Contents::default() }
    }

    fn text(&self) -> String {
        let mut text = format!("{TITLE}\nprocess {:016x}\nstride {}\n", self.process, self.stride);
        let entry = |Entry { length, checksum }: &Entry| format!("{length} {checksum:016x}");
        let mut line = |words: String| writeln!(text, "{words}").expect("strings take any text");
        self.states.iter().for_each(|(step, file)| line(format!("state {step} {}", entry(file))));
        self.end.iter().for_each(|(steps, file)| line(format!("end {steps} {}", entry(file))));
        self.adjoint
            .iter()
            .for_each(|(step, seeds, file)| line(format!("adjoint {step} {} {seeds:016x}", entry(file))));
        let sum = checksum(text.as_bytes());
        format!("{text}checksum {sum:016x}\n")
    }

    /// `None` if it is not what [`text`](Contents::text) wrote.
    fn parse(text: &str) -> Option<Contents> {
        let (body, sum) = text.strip_suffix('\n')?.rsplit_once("checksum ")?;
        if u64::from_str_radix(sum, 16).ok()? != checksum(body.as_bytes()) {
            return None;
        }
        let mut contents = Contents::default();
        for line in body.strip_prefix(TITLE)?.trim().lines() {
            let words: Vec<&str> = line.split(' ').collect();
            let number = |place: usize| -> Option<usize> { words.get(place)?.parse().ok() };
            let hex = |place: usize| u64::from_str_radix(words.get(place)?, 16).ok();
            let entry = || Some(Entry { length: number(2)? as u64, checksum: hex(3)? });
            match words[0] {
                "process" => contents.process = hex(1)?,
                "stride" => contents.stride = number(1)?,
                "state" => contents.states.extend([(number(1)?, entry()?)]),
                "end" => contents.end = Some((number(1)?, entry()?)),
                "adjoint" => contents.adjoint = Some((number(1)?, hex(4)?, entry()?)),
                _ => return None,
            }
        }
        Some(contents)
    }
}

/// The elements of tensors, one after the other.
fn bytes_of(tensors: &[Tensor]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(tensors.iter().map(|tensor| tensor.spec().bytes()).sum());
    tensors.iter().for_each(|tensor| bytes.extend_from_slice(tensor.contiguous().row_major_bytes()));
    bytes
}

/// The files of one loop.
pub(super) struct Files {
    name: &'static str,
    folder: PathBuf,
    snapshots: usize,
    length: Option<usize>,
    /// The specs of a state.
    specs: Vec<Spec>,
    contents: Contents,
}

fn system(path: &Path, attempt: &'static str, error: &io::Error) -> SpillError {
    SpillError { path: path.into(), fault: Fault::System { attempt, kind: error.kind(), text: error.to_string() } }
}

impl Files {
    /// The files of the loop with this key, some of which may be there.
    pub fn open(
        name: &'static str,
        folder: &Path,
        key: u64,
        snapshots: usize,
        length: Option<usize>,
        specs: Vec<Spec>,
    ) -> Result<Files, Error> {
        let key = checksum(&[key, program()].map(u64::to_le_bytes).concat());
        let folder = folder.join(format!("loop-{key:016x}"));
        let mut files = Files { name, folder, snapshots, length, specs, contents: Contents::new() };
        let path = files.path(MANIFEST);
        match fs::read(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(files.failed(system(&path, "read", &error))),
            Ok(bytes) => match std::str::from_utf8(&bytes).ok().and_then(Contents::parse) {
                Some(contents) => files.contents = contents,
                None => {
                    files.remove();
                    return Err(files.failed(SpillError { path, fault: Fault::Altered { position: 0 } }));
                }
            },
        }
        Ok(files)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn failed(&self, error: SpillError) -> Error {
        Error::new(ErrorKind::File, self.name, error.to_string())
            .help("no gradient has changed: call it again, with room on the disk")
    }

    /// The number of steps, if the forward sweep has ended.
    pub fn end(&self) -> Option<usize> {
        self.contents.end.map(|(steps, _)| steps)
    }

    /// The part that a step is in; its end is unknown if the number of steps is.
    pub fn part(&self, number: usize) -> Range<usize> {
        self.length.map_or(number..usize::MAX, |length| part(number, length, self.snapshots))
    }

    /// Writes the state before a step, if a part starts there. Returns whether one does.
    pub fn offer(&mut self, number: usize, state: &[Tensor]) -> Result<bool, Error> {
        let starts = match self.length {
            Some(_) => self.part(number).start == number,
            None => number.is_multiple_of(self.contents.stride),
        };
        let is_there = |contents: &Contents| number == 0 || contents.states.contains_key(&number);
        if let Some(entry) = self.contents.states.get(&number).filter(|_| starts)
            && entry.checksum != checksum(&bytes_of(state))
        {
            // They are those of another body.
            self.remove();
        }
        if !starts || is_there(&self.contents) || self.contents.end.is_some() {
            return Ok(starts && is_there(&self.contents));
        }
        let entry = self.write(&format!("state-{number}"), state)?;
        let mut next = self.contents.clone();
        next.states.insert(number, entry);
        while next.states.len() > self.snapshots && self.length.is_none() {
            next.stride *= 2;
            next.states.retain(|step, _| step % next.stride == 0);
        }
        self.replace(next)?;
        Ok(is_there(&self.contents))
    }

    /// The latest state that is there.
    pub fn latest(&mut self) -> Result<Option<(usize, Vec<Tensor>)>, Error> {
        let Some((&step, _)) = self.contents.states.last_key_value() else { return Ok(None) };
        Ok(Some((step, self.read(step)?)))
    }

    /// Where the part that ends at `end` starts.
    pub fn start_of(&self, end: usize) -> usize {
        self.contents.states.range(..end).next_back().map_or(0, |(step, _)| *step)
    }

    /// The state before a step.
    pub fn read(&mut self, step: usize) -> Result<Vec<Tensor>, Error> {
        let entry = self.contents.states[&step];
        let specs = self.specs.clone();
        let forget = |contents: &mut Contents| contents.states.retain(|other, _| *other != step);
        self.read_or(&format!("state-{step}"), entry, &specs, forget)
    }

    /// Writes the last state.
    pub fn ended(&mut self, steps: usize, state: &[Tensor]) -> Result<(), Error> {
        if let Some((_, entry)) = self.contents.end {
            if entry.checksum == checksum(&bytes_of(state)) {
                return Ok(());
            }
            self.remove();
        }
        let entry = self.write("end", state)?;
        self.replace(Contents { end: Some((steps, entry)), ..self.contents.clone() })
    }

    /// The last state.
    pub fn read_end(&mut self) -> Result<Vec<Tensor>, Error> {
        let (_, entry) = self.contents.end.expect("the loop has ended");
        let specs = self.specs.clone();
        self.read_or("end", entry, &specs, |contents| contents.end = None)
    }

    /// Writes the cotangents of the state before a step, and forgets the states from there on.
    pub fn reached(&mut self, step: usize, seeds: u64, tensors: &[Tensor]) -> Result<(), Error> {
        let entry = self.write(&format!("adjoint-{step}"), tensors)?;
        let mut next = self.contents.clone();
        next.adjoint = Some((step, seeds, entry));
        next.states.retain(|state, _| *state < step);
        self.replace(next)
    }

    /// The cotangents of the last pass that started with these seeds, and the step that it had reached. The specs are those of the first
    /// tensors, and those of the rows for every step of the others.
    pub fn adjoint(
        &mut self,
        seeds: u64,
        (fixed, rows): &(Vec<Spec>, Vec<Spec>),
    ) -> Result<Option<(usize, Vec<Tensor>)>, Error> {
        let (Some((step, of, entry)), Some(steps)) = (self.contents.adjoint, self.end()) else { return Ok(None) };
        if of != seeds {
            return Ok(None);
        }
        let rows = rows.iter().map(|spec| Spec { shape: spec.shape.prepended(steps - step), ..spec.clone() });
        let specs: Vec<Spec> = fixed.iter().cloned().chain(rows).collect();
        let forget = |contents: &mut Contents| (contents.adjoint, contents.end) = (None, None);
        Ok(Some((step, self.read_or(&format!("adjoint-{step}"), entry, &specs, forget)?)))
    }

    /// Removes everything.
    pub fn remove(&mut self) {
        drop(self.folder());
        self.contents = Contents::new();
    }

    /// The folder, to be removed when the loop has been reversed.
    pub fn folder(&self) -> Folder {
        Folder(self.folder.clone())
    }

    /// Begins a forward sweep: it goes on from the files of a process that was killed. Those of this process are of a pass that failed, or was
    /// never reversed, and the numbers that the body captured may have changed since.
    pub fn begin(&mut self) {
        match self.contents.process == process() {
            true => self.remove(),
            false => self.contents.process = process(),
        }
    }

    fn write(&self, name: &str, tensors: &[Tensor]) -> Result<Entry, Error> {
        let bytes = bytes_of(tensors);
        let path = self.path(name);
        let written = fs::create_dir_all(&self.folder).and_then(|()| fs::write(&path, &bytes));
        match written {
            Ok(()) => Ok(Entry { length: bytes.len() as u64, checksum: checksum(&bytes) }),
            Err(error) => {
                // The disk may be full of it.
                let _ = fs::remove_file(&path);
                Err(self.failed(system(&path, "write", &error)))
            }
        }
    }

    fn contents_of(&self, path: &Path, entry: Entry) -> Result<Vec<u8>, SpillError> {
        let bytes = fs::read(path).map_err(|error| system(path, "read", &error))?;
        let found = bytes.len() as u64;
        let wrong = |fault: Fault| Err(SpillError { path: path.into(), fault });
        match () {
            () if found < entry.length => wrong(Fault::Short { expected: entry.length, found }),
            () if found > entry.length || checksum(&bytes) != entry.checksum => wrong(Fault::Altered { position: 0 }),
            () => Ok(bytes),
        }
    }

    /// Reads a file; if it is not what was written, `forget` removes it from the manifest.
    fn read_or(
        &mut self,
        name: &str,
        entry: Entry,
        specs: &[Spec],
        forget: impl FnOnce(&mut Contents),
    ) -> Result<Vec<Tensor>, Error> {
        let path = self.path(name);
        match self.contents_of(&path, entry) {
            Ok(bytes) if specs.iter().map(Spec::bytes).sum::<usize>() == bytes.len() => {
                let mut rest = &bytes[..];
                let take = |spec: &Spec| {
                    let (own, others) = rest.split_at(spec.bytes());
                    rest = others;
                    Tensor::try_from_bytes(own, spec.dtype, spec.shape.clone())
                };
                specs.iter().map(take).collect()
            }
            result => {
                let fault = Fault::Altered { position: 0 };
                let error = result.err().unwrap_or(SpillError { path, fault });
                let mut next = self.contents.clone();
                forget(&mut next);
                self.replace(next)?;
                Err(self.failed(error))
            }
        }
    }

    /// Replaces the manifest, then removes the files that it no longer names.
    fn replace(&mut self, next: Contents) -> Result<(), Error> {
        let (path, trial) = (self.path(MANIFEST), self.path("manifest-next"));
        let written = fs::write(&trial, next.text()).and_then(|()| fs::rename(&trial, &path));
        written.map_err(|error| self.failed(system(&path, "write", &error)))?;
        let before = std::mem::replace(&mut self.contents, next);
        for (step, _) in before.states.iter().filter(|(step, _)| !self.contents.states.contains_key(step)) {
            let _ = fs::remove_file(self.path(&format!("state-{step}")));
        }
        let adjoint = |contents: &Contents| contents.adjoint.map(|(step, ..)| step);
        if let Some(step) = adjoint(&before).filter(|step| adjoint(&self.contents) != Some(*step)) {
            let _ = fs::remove_file(self.path(&format!("adjoint-{step}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_is_read_as_it_was_written_and_a_changed_one_is_noticed() {
        let entry = |length: u64| Entry { length, checksum: length * 77 };
        let contents = Contents {
            states: [(3, entry(5)), (700, entry(6))].into(),
            end: Some((900, entry(7))),
            adjoint: Some((800, 12, entry(8))),
            stride: 4,
            process: 9,
        };
        let text = contents.text();
        assert!(Contents::parse(&text) == Some(contents));
        for place in 0..text.len() {
            let mut changed = text.clone().into_bytes();
            changed[place] ^= 1;
            let changed = String::from_utf8(changed).unwrap();
            assert!(Contents::parse(&changed).is_none(), "{changed}");
            assert!(Contents::parse(&text[..place]).is_none(), "{place}");
        }
    }
}
