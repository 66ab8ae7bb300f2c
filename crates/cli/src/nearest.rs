//! Suggestions for misspelt names.

use std::collections::HashSet;

/// The number of suggestions.
const SUGGESTED: usize = 3;

/// The characters of a word that are compared and shown.
const LONGEST: usize = 50;

/// A name as it is shown in a message, without the end of a very long one.
pub fn shortened(name: &str) -> String {
    match name.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}..", &name[..end]),
        None => name.to_string(),
    }
}

/// The nearest names: first those that contain the word or are contained in it, then by edit distance.
///
/// ```
/// let near = wengert_cli::nearest::nearest("matmull", ["mul", "exp", "matmul", "sum"]);
/// assert_eq!(near[0], "matmul");
/// ```
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let word: String = word.chars().take(LONGEST).collect::<String>().to_lowercase();
    let distance = |name: &str| {
        let related = !word.is_empty() && (name.contains(&word) || word.contains(name));
        (!related, edits(&word, name))
    };
    let mut seen = HashSet::new();
    let mut names: Vec<&str> = names.into_iter().filter(|name| seen.insert(*name)).collect();
    names.sort_by_cached_key(|name| distance(name));
    names.truncate(SUGGESTED);
    names
}

/// The number of insertions, deletions, replacements and swaps of neighbours, row by row of the table of prefixes.
fn edits(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut rows = vec![(0..=b.len()).collect::<Vec<usize>>()];
    for i in 0..a.len() {
        let (above, mut row) = (&rows[i], vec![i + 1]);
        for j in 0..b.len() {
            let replaced = above[j] + usize::from(a[i] != b[j]);
            let is_swapped = i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j];
            let swapped = if is_swapped { rows[i - 1][j - 1] + 1 } else { replaced };
            row.push(replaced.min(swapped).min(above[j + 1] + 1).min(row[j] + 1));
        }
        rows.push(row);
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_counts_insertions_deletions_replacements_and_swaps() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("sum", "sum"), 0);
        assert_eq!(edits("abc", ""), 3);
        assert_eq!(edits("sni", "sin"), 1);
        assert_eq!(edits("ab", "ba"), 1);
    }
}
