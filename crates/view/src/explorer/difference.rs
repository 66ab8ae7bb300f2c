//! What two texts of programs have in common: the shortest edit of lines (Myers, "An O(ND) difference algorithm and its variations", 1986).
//!
//! Passes rename variables, so lines are compared without the names of variables; lines that then differ in what the names refer to are
//! changed.

use std::collections::{HashMap, HashSet};

/// With more edits than this, what is left is replaced as a whole: the search takes time and memory for their square.
const MOST_EDITS: usize = 3000;

/// What became of some lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Same,
    /// The same operation of other values.
    Changed,
    Removed,
    Added,
}

/// Several lines of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Run {
    pub kind: Kind,
    pub count: usize,
}

/// What becomes of the lines of one text in another.
pub(super) fn difference(left: &[String], right: &[String]) -> Vec<Run> {
    let [left_names, right_names] = [left, right].map(names);
    let parse = |lines: &[String], names: &HashSet<String>| -> Vec<Line> {
        lines.iter().map(|line| Line::new(line, names)).collect()
    };
    let (left, right) = (parse(left, &left_names), parse(right, &right_names));
    let mut renamed: HashMap<Name, Name> = HashMap::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut add = |kind: Kind| match runs.last_mut().filter(|run| run.kind == kind) {
        Some(run) => run.count += 1,
        None => runs.push(Run { kind, count: 1 }),
    };
    for step in edits(&left, &right) {
        match step {
            (Some(one), Some(other)) => {
                let is_same = left[one].is_renamed(&right[other], &mut renamed);
                add(if is_same { Kind::Same } else { Kind::Changed });
            }
            (Some(_), None) => add(Kind::Removed),
            (None, _) => add(Kind::Added),
        }
    }
    runs
}

/// A variable: the depth of its program, and its name.
type Name = (usize, String);

/// A line of a program.
struct Line {
    /// The text without the names of variables.
    text: String,
    /// The variables, and whether they are defined here.
    names: Vec<(Name, bool)>,
}

impl Line {
    fn new(line: &str, names: &HashSet<String>) -> Line {
        let depth = (line.len() - line.trim_start().len()) / 2;
        let equals = line.find(" = ").unwrap_or(0);
        let (mut text, mut found) = (String::new(), Vec::new());
        for (start, word, rest) in words(line) {
            let is_name = names.contains(word) && !rest.starts_with(['(', '[', '=']);
            if !is_name {
                text += word;
                continue;
            }
            let is_defined = rest.starts_with(": ");
            // What a line defines on its right side are the inputs of a program that follows.
            let inner = usize::from(is_defined && start >= equals);
            found.push(((depth + inner, word.to_string()), is_defined));
            text.push('_');
        }
        Line { text, names: found }
    }

    /// Whether another line is the same but for the names of variables, which it adds to those that are known.
    fn is_renamed(&self, other: &Line, renamed: &mut HashMap<Name, Name>) -> bool {
        self.names.iter().zip(&other.names).fold(true, |is_same, ((name, is_defined), (new, _))| {
            if *is_defined {
                renamed.insert(name.clone(), new.clone());
            }
            is_same && renamed.get(name) == Some(new)
        })
    }
}

/// The words of a line and what stands between them: where each begins, and what follows.
fn words(line: &str) -> impl Iterator<Item = (usize, &str, &str)> {
    let mut start = 0;
    std::iter::from_fn(move || {
        let rest = &line[start..];
        let first = rest.chars().next()?;
        let is_word = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
        let end = rest.find(|c: char| is_word(c) != is_word(first)).unwrap_or(rest.len());
        let item = (start, &rest[..end], &rest[end..]);
        start += end;
        Some(item)
    })
}

/// The names of all variables: words before a colon.
fn names(lines: &[String]) -> HashSet<String> {
    let all = lines.iter().flat_map(|line| words(line));
    all.filter(|(_, _, rest)| rest.starts_with(": ")).map(|(_, word, _)| word.to_string()).collect()
}

/// A line that both texts have, or that one of them has.
type Edit = (Option<usize>, Option<usize>);

/// Where a search got to: a line of the left text, the diagonal (that line less the one of the right text), and the edits so far.
#[derive(Clone, Copy)]
struct Reached {
    x: usize,
    diagonal: isize,
    edits: usize,
}

impl Reached {
    fn y(&self) -> usize {
        (self.x as isize - self.diagonal) as usize
    }
}

/// By diagonal, how far each number of edits leads: a row for each number, with every other diagonal.
struct Search(Vec<Vec<usize>>);

impl Search {
    fn at(&self, edits: usize, diagonal: isize) -> Option<usize> {
        let place = diagonal + edits as isize;
        if place < 0 { None } else { self.0.get(edits)?.get(place as usize / 2).copied() }
    }

    /// How far one edit more than these leads, by a line of the right text and by one of the left.
    fn next(&self, edits: usize, diagonal: isize) -> [Option<usize>; 2] {
        [self.at(edits, diagonal + 1), self.at(edits, diagonal - 1).map(|x| x + 1)]
    }
}

/// The shortest edit from one text to another, in order.
fn edits(left: &[Line], right: &[Line]) -> Vec<Edit> {
    let (n, m) = (left.len(), right.len());
    let slide = |mut x: usize, diagonal: isize| {
        while x < n
            && let Some(other) = right.get((x as isize - diagonal) as usize)
            && left[x].text == other.text
        {
            x += 1;
        }
        x
    };
    let mut search = Search(vec![vec![slide(0, 0)]]);
    let mut best = Reached { x: search.0[0][0], diagonal: 0, edits: 0 };
    while best.x + best.y() < n + m && search.0.len() <= MOST_EDITS {
        let edits = search.0.len();
        let mut row = Vec::with_capacity(edits + 1);
        for place in 0..=edits {
            let diagonal = 2 * place as isize - edits as isize;
            let [down, across] = search.next(edits - 1, diagonal);
            let x = slide(down.max(across).unwrap_or(0), diagonal);
            row.push(x);
            let reached = Reached { x, diagonal, edits };
            // The search also runs past the ends, where nothing is equal.
            if x <= n && reached.y() <= m && x + reached.y() > best.x + best.y() {
                best = reached;
            }
        }
        search.0.push(row);
    }
    way_back(&search, best, n, m)
}

/// The edits on the way to where the search ended; what it did not reach is replaced.
fn way_back(search: &Search, end: Reached, n: usize, m: usize) -> Vec<Edit> {
    let mut edits: Vec<Edit> = (end.y()..m).rev().map(|y| (None, Some(y))).collect();
    edits.extend((end.x..n).rev().map(|x| (Some(x), None)));
    let mut at = end;
    loop {
        let [down, across] = if at.edits == 0 { [None, None] } else { search.next(at.edits - 1, at.diagonal) };
        let start = down.max(across).unwrap_or(0);
        while at.x > start {
            at.x -= 1;
            edits.push((Some(at.x), Some(at.y())));
        }
        if at.edits == 0 {
            edits.reverse();
            return edits;
        }
        at.edits -= 1;
        if down >= across {
            at.diagonal += 1;
            edits.push((None, Some(at.y())));
        } else {
            at.diagonal -= 1;
            at.x -= 1;
            edits.push((Some(at.x), None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Kind::{Added, Changed, Removed, Same};

    fn lines(text: &str) -> Vec<String> {
        text.lines().map(str::to_string).collect()
    }

    fn runs(left: &str, right: &str) -> Vec<(Kind, usize)> {
        difference(&lines(left), &lines(right)).into_iter().map(|Run { kind, count }| (kind, count)).collect()
    }

    #[test]
    fn renamed_variables_are_no_difference() {
        let before =
            "program(a: f64[]) {\n  b: f64[] = exp(a)\n  c: f64[] = sin(a)\n  d: f64[] = mul(c, c)\n  return d\n}";
        let after = "program(a: f64[]) {\n  b: f64[] = sin(a)\n  c: f64[] = mul(b, b)\n  return c\n}";
        assert_eq!(runs(before, after), [(Same, 1), (Removed, 1), (Same, 4)]);
        assert_eq!(runs(after, before), [(Same, 1), (Added, 1), (Same, 4)]);
        assert_eq!(runs(before, before), [(Same, 6)]);
    }

    #[test]
    fn an_operation_of_other_values_is_changed() {
        let before = "program(a: f64[], b: f64[]) {\n  c: f64[] = exp(a)\n  return c\n}";
        let after = "program(a: f64[], b: f64[]) {\n  c: f64[] = exp(b)\n  return c\n}";
        assert_eq!(runs(before, after), [(Same, 1), (Changed, 1), (Same, 2)]);
    }

    #[test]
    fn a_body_has_variables_of_its_own() {
        let text = |own: &str| {
            let call = "  b: f64[3] = scan[length=3](a) body(a: f64[]) {\n    b: f64[] = exp(a)";
            format!("program(a: f64[3]) {{\n{call}\n    return b\n  }}\n  {own}: f64[3] = sin(a)\n  return {own}\n}}")
        };
        assert_eq!(runs(&text("c"), &text("d")), [(Same, 8)]);
    }

    /// Pseudorandom numbers below `n`.
    fn random(state: &mut u64, n: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % n
    }

    #[test]
    fn edits_are_complete_and_as_few_as_there_can_be() {
        let mut state = 1;
        for _ in 0..200 {
            let mut some = || -> Vec<String> {
                (0..random(&mut state, 12)).map(|_| ["x", "y", "z"][random(&mut state, 3)].to_string()).collect()
            };
            let (left, right) = (some(), some());
            // The longest common subsequence, by its definition.
            let mut longest = vec![vec![0; right.len() + 1]; left.len() + 1];
            for (i, one) in left.iter().enumerate() {
                for (j, other) in right.iter().enumerate() {
                    longest[i + 1][j + 1] = match one == other {
                        true => longest[i][j] + 1,
                        false => longest[i][j + 1].max(longest[i + 1][j]),
                    };
                }
            }
            let runs = difference(&left, &right);
            let count = |kind: Kind| runs.iter().filter(|run| run.kind == kind).map(|run| run.count).sum::<usize>();
            let common = longest[left.len()][right.len()];
            assert_eq!((count(Same), count(Changed)), (common, 0), "{left:?} {right:?}");
            assert_eq!((count(Removed), count(Added)), (left.len() - common, right.len() - common));
        }
    }
}
