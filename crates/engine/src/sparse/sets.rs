//! Sets of input elements, one for each element of a tensor, stored once where they are equal.
//!
//! A table belongs to the tensors that use it and goes with them, so that a long loop keeps no sets of its past. Movements
//! share the table of their operand. A union that one of its parts already contains is that part: sums of a few numbers
//! into a full row cost their own length, not the row's.

use rustc_hash::{FxHashMap, FxHasher};
use smallvec::SmallVec;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// Number `k` is `members[starts[k]..starts[k + 1]]`, ascending; number 0 is empty.
#[derive(Debug)]
struct Table {
    starts: Vec<usize>,
    members: Vec<u32>,
}

impl Table {
    fn set(&self, number: u32) -> &[u32] {
        &self.members[self.starts[number as usize]..self.starts[number as usize + 1]]
    }
}

/// A set for each element of a tensor, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    table: Arc<Table>,
    of: Arc<Vec<u32>>,
}

impl Sets {
    /// Each of `count` elements alone, numbered from `first`.
    pub fn singletons(first: usize, count: usize) -> Sets {
        let starts = std::iter::once(0).chain(0..=count).collect();
        let members = (first..first + count).map(|column| column as u32).collect();
        Sets { table: Arc::new(Table { starts, members }), of: Arc::new((1..=count as u32).collect()) }
    }

    /// The set of one element.
    pub fn of(&self, element: usize) -> &[u32] {
        self.table.set(self.of[element])
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// The sets of the elements at these places; `None` has nothing.
    pub fn select(&self, places: impl Iterator<Item = Option<usize>>) -> Sets {
        let of = places.map(|place| place.map_or(0, |place| self.of[place])).collect();
        Sets { table: self.table.clone(), of: Arc::new(of) }
    }

    /// The sets of elements of several tensors, each named by the number of its tensor and its place there.
    pub fn choose(parts: &[&Sets], columns: usize, places: impl Iterator<Item = Option<(usize, usize)>>) -> Sets {
        if let [only] = parts {
            return only.select(places.map(|place| place.map(|(_, element)| element)));
        }
        let mut unions = Unions::new(parts, columns);
        let number = |place: Option<(usize, usize)>| match place {
            None => 0,
            Some((part, element)) => {
                let key = unions.key(part, parts[part].of[element]);
                unions.unite(&mut key.into_iter().collect())
            }
        };
        let of = places.map(number).collect();
        unions.finish(of)
    }

    /// For each of `groups`, the union of the sets of all elements that `group` sends there, by part and place.
    pub fn unite(
        parts: &[&Sets],
        columns: usize,
        groups: usize,
        group: impl Fn(usize, usize) -> Option<usize>,
    ) -> Sets {
        let mut unions = Unions::new(parts, columns);
        // Keys ordered by group, by counting.
        let mut starts = vec![0usize; groups + 1];
        let contributions = |visit: &mut dyn FnMut(usize, Key)| {
            for (part, sets) in parts.iter().enumerate() {
                for (element, &number) in sets.of.iter().enumerate() {
                    if let (Some(key), Some(group)) = (unions.key(part, number), group(part, element)) {
                        visit(group, key);
                    }
                }
            }
        };
        contributions(&mut |group, _| starts[group + 1] += 1);
        for group in 0..groups {
            starts[group + 1] += starts[group];
        }
        let mut keys = vec![0; starts[groups]];
        let mut next = starts.clone();
        contributions(&mut |group, key| {
            keys[next[group]] = key;
            next[group] += 1;
        });
        let mut list = Keys::new();
        let mut of = Vec::with_capacity(groups);
        for group in 0..groups {
            list.clear();
            list.extend_from_slice(&keys[starts[group]..starts[group + 1]]);
            of.push(unions.unite(&mut list));
        }
        unions.finish(of)
    }

    /// Whether no element has anything.
    pub fn is_empty(&self) -> bool {
        self.of.iter().all(|&number| self.table.set(number).is_empty())
    }
}

/// A set of one of the sources: the source in the upper half.
type Key = u64;
type Keys = SmallVec<[Key; 4]>;

/// Lists of more sets than this are not looked up: each is met once.
const LONGEST_KNOWN: usize = 16;

/// Where a result lies.
#[derive(Clone, Copy)]
enum Place {
    /// It is a set of a source.
    Source(Key),
    /// Members of a new set.
    New(usize, usize),
}

/// Unions of sets of some tables, each found once.
struct Unions {
    columns: usize,
    /// The different tables, and which of them each part has.
    tables: Vec<Arc<Table>>,
    table_of: SmallVec<[usize; 4]>,
    known: FxHashMap<Keys, u32>,
    /// New sets by a hash of their members.
    equals: FxHashMap<u64, SmallVec<[u32; 1]>>,
    /// Result `k + 1`.
    results: Vec<Place>,
    members: Vec<u32>,
    /// Marks of columns while a large union is made.
    marks: Vec<u64>,
}

impl Unions {
    fn new(parts: &[&Sets], columns: usize) -> Unions {
        let mut tables: Vec<Arc<Table>> = Vec::new();
        let place = |part: &&Sets| match tables.iter().position(|table| Arc::ptr_eq(table, &part.table)) {
            Some(place) => place,
            None => {
                tables.push(part.table.clone());
                tables.len() - 1
            }
        };
        let table_of = parts.iter().map(place).collect();
        Unions {
            columns,
            tables,
            table_of,
            known: FxHashMap::default(),
            equals: FxHashMap::default(),
            results: Vec::new(),
            members: Vec::new(),
            marks: Vec::new(),
        }
    }

    /// The key of a set of a part; an empty one has none.
    fn key(&self, part: usize, number: u32) -> Option<Key> {
        let table = self.table_of[part];
        let empty = number == 0 || self.tables[table].set(number).is_empty();
        (!empty).then_some((table as u64) << 32 | u64::from(number))
    }

    fn set(&self, key: Key) -> &[u32] {
        self.tables[(key >> 32) as usize].set(key as u32)
    }

    /// The number of the union of these sets.
    fn unite(&mut self, keys: &mut Keys) -> u32 {
        if keys.len() > 1 {
            keys.sort_unstable();
            keys.dedup();
        }
        if keys.is_empty() {
            return 0;
        }
        if keys.len() <= LONGEST_KNOWN
            && let Some(&number) = self.known.get(keys)
        {
            return number;
        }
        let number = self.find(keys);
        if keys.len() <= LONGEST_KNOWN {
            self.known.insert(keys.clone(), number);
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

    /// The number of the set that was just appended; an equal one is used again.
    fn intern(&mut self, start: usize) -> u32 {
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

    /// The sets of elements that have these results.
    fn finish(self, mut of: Vec<u32>) -> Sets {
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn united(parts: &[&Sets], columns: usize, groups: usize, group: impl Fn(usize, usize) -> Option<usize>) -> Sets {
        let sets = Sets::unite(parts, columns, groups, &group);
        for g in 0..groups {
            let mut right = BTreeSet::new();
            for (part, sets) in parts.iter().enumerate() {
                for element in (0..sets.len()).filter(|&element| group(part, element) == Some(g)) {
                    right.extend(sets.of(element));
                }
            }
            assert!(right.iter().eq(sets.of(g)), "group {g}");
        }
        sets
    }

    #[test]
    fn unions_of_random_sets_are_those_of_ordered_sets() {
        let mut state = 1u64;
        let mut random = move |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        for columns in [1, 5, 40, 300, 3000] {
            let one = Sets::singletons(0, columns);
            let target: Vec<usize> = (0..columns).map(|_| random(7)).collect();
            let groups = united(&[&one], columns, 7, |_, element| Some(target[element]).filter(|g| *g != 3));
            let places: Vec<Option<usize>> = (0..columns).map(|_| Some(random(7)).filter(|g| *g != 1)).collect();
            let spread = groups.select(places.into_iter());
            let sums = united(&[&one, &spread], columns, columns, |_, element| Some(element));
            let few: Vec<usize> = (0..columns).map(|_| random(columns)).collect();
            united(&[&sums, &one, &groups], columns, columns, |part, element| match part {
                0 => Some(few[element]),
                1 => Some(element / 2),
                _ => Some(element.min(columns - 1)),
            });
        }
    }

    #[test]
    fn equal_sets_are_stored_once_and_contained_ones_not_at_all() {
        let n = 2000;
        let one = Sets::singletons(0, n);
        let all = Sets::unite(&[&one], n, 1, |_, _| Some(0)).select((0..n).map(|_| Some(0)));
        let sum = Sets::unite(&[&one, &all], n, n, |_, element| Some(element));
        assert!(Arc::ptr_eq(&sum.table, &all.table));
        let half = |from: usize| Sets::unite(&[&one], n, 1, |_, element| Some(0).filter(|_| element % 2 == from));
        let (even, odd) = (half(0).select((0..n).map(|_| Some(0))), half(1).select((0..n).map(|_| Some(0))));
        let both = Sets::unite(&[&even, &odd], n, n, |_, element| Some(element));
        assert_eq!(both.table.members.len(), n);
        assert!(Sets::unite(&[&one], n, 3, |_, _| None).is_empty());
    }

    #[test]
    fn chosen_sets_come_from_their_tensors() {
        let (a, b) = (Sets::singletons(0, 3), Sets::singletons(3, 3));
        let chosen = Sets::choose(&[&a, &b], 6, [Some((1, 2)), None, Some((0, 0)), Some((1, 2))].into_iter());
        let sets: Vec<&[u32]> = (0..4).map(|element| chosen.of(element)).collect();
        assert_eq!(sets, [&[5u32][..], &[], &[0], &[5]]);
    }
}
