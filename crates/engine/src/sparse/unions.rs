//! Unions of sets. Large unions are computed once, and a union that equals one of its sets is not stored again.

use super::sets::{Sets, Table};
use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// A set of one of the sources, with the index of the source in the upper half.
pub(super) type Key = u64;
pub(super) type Keys = SmallVec<[Key; 4]>;

/// Unions of sets with more members than this in total are looked up, and stored once.
pub(super) const SMALL: usize = 32;

/// Lists of more sets than this are not looked up: each occurs once.
const LONGEST_KNOWN: usize = 16;

/// Where a result is stored.
#[derive(Clone, Copy)]
enum Place {
    /// It is a set of a source.
    Source(Key),
    /// It is a new set, with these members.
    New(usize, usize),
}

/// The distinct tables, and the one that each part uses.
pub(super) fn tables_of(parts: &[&Sets]) -> (Vec<Arc<Table>>, SmallVec<[usize; 4]>) {
    let mut tables: Vec<Arc<Table>> = Vec::new();
    let place = |part: &&Sets| match tables.iter().position(|table| Arc::ptr_eq(table, &part.table)) {
        Some(place) => place,
        None => {
            tables.push(part.table.clone());
            tables.len() - 1
        }
    };
    let table_of = parts.iter().map(place).collect();
    (tables, table_of)
}

/// Unions of sets of some tables, each computed once.
pub(super) struct Unions {
    columns: usize,
    /// The distinct tables, and the one that each part uses.
    tables: Vec<Arc<Table>>,
    table_of: SmallVec<[usize; 4]>,
    known: FxHashMap<Keys, u32>,
    /// The previous list, which often repeats.
    last: (Keys, u32),
    /// New sets by a hash of their members.
    equals: FxHashMap<u64, SmallVec<[u32; 1]>>,
    /// Result `k + 1`.
    results: Vec<Place>,
    members: Vec<u32>,
    /// Marks of columns while a large union is built.
    marks: Vec<u64>,
}

impl Unions {
    pub fn new(parts: &[&Sets], columns: usize) -> Unions {
        let (tables, table_of) = tables_of(parts);
        Unions {
            columns,
            tables,
            table_of,
            known: FxHashMap::default(),
            last: (Keys::new(), 0),
            equals: FxHashMap::default(),
            results: Vec::new(),
            members: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The key of a set of a part; `None` for an empty set.
    pub fn key(&self, part: usize, number: u32) -> Option<Key> {
        let table = self.table_of[part];
        let empty = number == 0 || self.tables[table].set(number).is_empty();
        (!empty).then_some((table as u64) << 32 | u64::from(number))
    }

    fn set(&self, key: Key) -> &[u32] {
        self.tables[(key >> 32) as usize].set(key as u32)
    }

    /// The number of the union of these sets.
    pub fn unite(&mut self, keys: &mut Keys) -> u32 {
        if keys.len() > 1 {
            keys.sort_unstable();
            keys.dedup();
        }
        if keys.is_empty() {
            return 0;
        }
        if *keys == self.last.0 {
            return self.last.1;
        }
        if let [only] = keys[..]
            && self.set(only).len() <= SMALL
        {
            return self.push(Place::Source(only));
        }
        let known = keys.len() <= LONGEST_KNOWN && keys.iter().map(|&key| self.set(key).len()).sum::<usize>() > SMALL;
        if let Some(&number) = self.known.get(keys).filter(|_| known) {
            return number;
        }
        let number = self.find(keys);
        if known {
            self.known.insert(keys.clone(), number);
        }
        if !keys.spilled() {
            self.last.0.clone_from(keys);
            self.last.1 = number;
        }
        number
    }

    fn find(&mut self, keys: &Keys) -> u32 {
        let largest = *keys.iter().max_by_key(|key| self.set(**key).len()).expect("there are some");
        let whole = self.set(largest);
        let full = whole.len() == self.columns;
        if full || keys.iter().all(|&key| key == largest || is_subset(self.set(key), whole)) {
            if keys.len() > 1 {
                return self.unite(&mut Keys::from_slice(&[largest]));
            }
            return self.push(Place::Source(largest));
        }
        let start = self.members.len();
        let total: usize = keys.iter().map(|&key| self.set(key).len()).sum();
        match &keys[..] {
            [a, b] => {
                let (a, b) =
                    (self.tables[(a >> 32) as usize].set(*a as u32), self.tables[(b >> 32) as usize].set(*b as u32));
                merge(a, b, &mut self.members);
            }
            _ if total > self.columns / 16 => self.mark(keys),
            _ => {
                for &key in keys {
                    self.members.extend_from_slice(self.tables[(key >> 32) as usize].set(key as u32));
                }
                self.members[start..].sort_unstable();
                let mut last = start;
                for place in start + 1..self.members.len() {
                    if self.members[place] != self.members[last] {
                        last += 1;
                        self.members[last] = self.members[place];
                    }
                }
                self.members.truncate(last + 1);
            }
        }
        self.intern(start)
    }

    /// Appends the union, by marking columns.
    fn mark(&mut self, keys: &Keys) {
        let words = self.columns.div_ceil(64);
        self.marks.resize(words, 0);
        for &key in keys {
            for &column in self.tables[(key >> 32) as usize].set(key as u32) {
                self.marks[column as usize / 64] |= 1 << (column % 64);
            }
        }
        for (word, marks) in self.marks.iter_mut().enumerate() {
            let mut rest = std::mem::take(marks);
            while rest != 0 {
                self.members.push(word as u32 * 64 + rest.trailing_zeros());
                rest &= rest - 1;
            }
        }
    }

    /// The number of the set that was just appended; an equal existing set is reused.
    fn intern(&mut self, start: usize) -> u32 {
        if self.members.len() - start <= SMALL {
            return self.push(Place::New(start, self.members.len()));
        }
        let mut hasher = FxHasher::default();
        self.members[start..].hash(&mut hasher);
        let hash = hasher.finish();
        let equal = |number: &u32| match self.results[*number as usize - 1] {
            Place::New(from, to) => self.members[from..to] == self.members[start..],
            Place::Source(_) => false,
        };
        if let Some(&number) = self.equals.get(&hash).and_then(|numbers| numbers.iter().find(|number| equal(number))) {
            self.members.truncate(start);
            return number;
        }
        let number = self.push(Place::New(start, self.members.len()));
        self.equals.entry(hash).or_default().push(number);
        number
    }

    fn push(&mut self, place: Place) -> u32 {
        self.results.push(place);
        self.results.len() as u32
    }

    /// The sets of elements, given the number of the result for each.
    pub fn finish(self, mut of: Vec<u32>) -> Sets {
        let source = |place: &Place| match place {
            Place::Source(key) => Some((key >> 32) as usize),
            Place::New(..) => None,
        };
        let first = self.results.first().and_then(source);
        if let Some(table) = first.filter(|&table| self.results.iter().all(|place| source(place) == Some(table))) {
            for number in of.iter_mut().filter(|number| **number != 0) {
                if let Place::Source(key) = self.results[*number as usize - 1] {
                    *number = key as u32;
                }
            }
            return Sets { table: self.tables[table].clone(), of: Arc::new(of) };
        }
        let mut starts = vec![0, 0];
        if self.results.iter().all(|place| matches!(place, Place::New(..))) {
            starts.extend(self.results.iter().map(|place| match place {
                Place::New(_, to) => *to,
                Place::Source(_) => unreachable!("all are new"),
            }));
            return Sets { table: Arc::new(Table { starts, members: self.members }), of: Arc::new(of) };
        }
        let mut members = Vec::new();
        for place in &self.results {
            members.extend_from_slice(match *place {
                Place::Source(key) => self.set(key),
                Place::New(from, to) => &self.members[from..to],
            });
            starts.push(members.len());
        }
        Sets { table: Arc::new(Table { starts, members }), of: Arc::new(of) }
    }
}

fn is_subset(part: &[u32], whole: &[u32]) -> bool {
    if part.len() > whole.len() {
        return false;
    }
    if part.len() * 16 < whole.len() {
        return part.iter().all(|member| whole.binary_search(member).is_ok());
    }
    let mut rest = whole.iter();
    part.iter().all(|member| rest.by_ref().find(|other| *other >= member) == Some(member))
}

fn merge(a: &[u32], b: &[u32], to: &mut Vec<u32>) {
    let (mut i, mut j) = (0, 0);
    while let (Some(&x), Some(&y)) = (a.get(i), b.get(j)) {
        to.push(x.min(y));
        i += usize::from(x <= y);
        j += usize::from(y <= x);
    }
    to.extend_from_slice(&a[i..]);
    to.extend_from_slice(&b[j..]);
}
