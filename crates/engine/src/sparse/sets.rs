//! Sets of input elements, one per element of a tensor. Equal sets are stored once.
//!
//! A table is owned by the tensors that use it and dropped with them, so that a long loop does not keep the sets of its past. Movements
//! share the table of their operand. Small sets may be stored more than once, or stay for a while after their last use: looking them up
//! costs more than it saves. If one part of a union contains the others, the union is that part, so adding a few elements to a full row
//! costs their number, not the length of the row.

use super::unions::{Key, Keys, SMALL, Unions, tables_of};
use smallvec::SmallVec;
use std::sync::Arc;

/// Set `k` is `members[starts[k]..starts[k + 1]]`, ascending; set 0 is empty.
#[derive(Debug)]
pub(super) struct Table {
    pub starts: Vec<usize>,
    pub members: Vec<u32>,
}

impl Table {
    pub fn set(&self, number: u32) -> &[u32] {
        &self.members[self.starts[number as usize]..self.starts[number as usize + 1]]
    }

    /// Concatenates tables, and returns the offset added to the numbers of each. Returns `None` if the result would hold much more than
    /// small sets for `count` elements.
    fn joined(tables: &[Arc<Table>], count: usize) -> Option<(Table, SmallVec<[u32; 4]>)> {
        let sets: usize = tables.iter().map(|table| table.starts.len()).sum();
        let members: usize = tables.iter().map(|table| table.members.len()).sum();
        if sets > 4 * count + 64 || members > SMALL * sets {
            return None;
        }
        let (mut all, mut first) = (Table { starts: vec![0], members: Vec::with_capacity(members) }, SmallVec::new());
        all.starts.reserve(sets);
        for table in tables {
            first.push(all.starts.len() as u32 - 1);
            let offset = all.members.len();
            all.starts.extend(table.starts[1..].iter().map(|start| start + offset));
            all.members.extend_from_slice(&table.members);
        }
        Some((all, first))
    }
}

/// One set per element of a tensor, row-major.
#[derive(Clone, Debug)]
pub(crate) struct Sets {
    pub(super) table: Arc<Table>,
    pub(super) of: Arc<Vec<u32>>,
}

impl Sets {
    /// A set of its own for each of `count` elements, numbered from `first`.
    pub fn singletons(first: usize, count: usize) -> Sets {
        let starts = std::iter::once(0).chain(0..=count).collect();
        let members = (first..first + count).map(|column| column as u32).collect();
        Sets { table: Arc::new(Table { starts, members }), of: Arc::new((1..=count as u32).collect()) }
    }

    /// The set of one element.
    pub fn of(&self, element: usize) -> &[u32] {
        self.table.set(self.of[element])
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.of.len()
    }

    /// The sets of the elements at these indices; empty for `None`.
    pub fn select(&self, places: impl Iterator<Item = Option<usize>>) -> Sets {
        let of = places.map(|place| place.map_or(0, |place| self.of[place])).collect();
        Sets { table: self.table.clone(), of: Arc::new(of) }
    }

    /// The sets of elements of several tensors, each given by the number of its tensor and its index there.
    pub fn choose(
        parts: &[&Sets],
        columns: usize,
        places: impl ExactSizeIterator<Item = Option<(usize, usize)>>,
    ) -> Sets {
        if let [only] = parts {
            return only.select(places.map(|place| place.map(|(_, element)| element)));
        }
        let (tables, table_of) = tables_of(parts);
        if let Some((table, first)) = Table::joined(&tables, places.len()) {
            let first: SmallVec<[u32; 4]> = table_of.iter().map(|&table| first[table]).collect();
            let number = |(part, element): (usize, usize)| first[part] + parts[part].of[element];
            return Sets {
                table: Arc::new(table),
                of: Arc::new(places.map(|place| place.map_or(0, number)).collect()),
            };
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

    /// For each element, the union of its sets in all parts.
    pub fn unite_each(parts: &[&Sets], columns: usize) -> Sets {
        let mut unions = Unions::new(parts, columns);
        let mut list = Keys::new();
        let unite = |element: usize| {
            list.clear();
            list.extend((0..parts.len()).filter_map(|part| unions.key(part, parts[part].of[element])));
            unions.unite(&mut list)
        };
        let of = (0..parts.first().map_or(0, |part| part.len())).map(unite).collect();
        unions.finish(of)
    }

    /// Unites these sets with others: `target` maps a part and an index to the element that its set is added to, if any.
    pub fn add(&self, parts: &[&Sets], columns: usize, target: impl Fn(usize, usize) -> Option<usize>) -> Sets {
        let places = parts.iter().enumerate().flat_map(|(part, sets)| (0..sets.len()).map(move |place| (part, place)));
        let mut touched: Vec<usize> = places.filter_map(|(part, place)| target(part, place)).collect();
        touched.sort_unstable();
        touched.dedup();
        let before = self.select(touched.iter().map(|&element| Some(element)));
        let all: SmallVec<[&Sets; 4]> = std::iter::once(&before).chain(parts.iter().copied()).collect();
        let sums = Sets::unite(&all, columns, touched.len(), |part, place| match part {
            0 => Some(place),
            _ => target(part - 1, place).and_then(|element| touched.binary_search(&element).ok()),
        });
        let mut next = touched.iter().enumerate().peekable();
        let place = |element: usize| {
            let sum = next.next_if(|(_, touched)| **touched == element);
            Some(sum.map_or((0, element), |(number, _)| (1, number)))
        };
        Sets::choose(&[self, &sums], columns, (0..self.len()).map(place))
    }

    /// For each of `groups`, the union of the sets of all elements that `group` maps there, by part and index.
    pub fn unite(
        parts: &[&Sets],
        columns: usize,
        groups: usize,
        group: impl Fn(usize, usize) -> Option<usize>,
    ) -> Sets {
        let mut unions = Unions::new(parts, columns);
        // Sort the keys by group, with a counting sort.
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

    /// Whether all sets are empty.
    pub fn is_empty(&self) -> bool {
        self.of.iter().all(|&number| self.table.set(number).is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn united(parts: &[&Sets], columns: usize, groups: usize, group: impl Fn(usize, usize) -> Option<usize>) -> Sets {
        let sets = Sets::unite(parts, columns, groups, &group);
        for g in 0..groups {
            let mut right: BTreeSet<u32> = BTreeSet::new();
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
            let each = Sets::unite_each(&[&one, &spread], columns);
            assert!((0..columns).all(|element| each.of(element) == sums.of(element)));
            let patched = one.add(&[&groups, &spread], columns, |part, element| match part {
                0 => Some(element % columns),
                _ => Some(element / 3),
            });
            let whole = united(&[&one, &groups, &spread], columns, columns, |part, element| match part {
                0 => Some(element),
                1 => Some(element % columns),
                _ => Some(element / 3),
            });
            assert!((0..columns).all(|element| patched.of(element) == whole.of(element)));
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
