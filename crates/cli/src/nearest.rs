//! Suggestions for misspelt names.

/// The number of suggestions.
const SUGGESTED: usize = 3;

/// The nearest names: first those that contain the word or are contained in it, then by edit distance.
///
/// ```
/// let near = wengert_cli::nearest::nearest("matmull", ["mul", "exp", "matmul", "sum"]);
/// assert_eq!(near[0], "matmul");
/// ```
pub fn nearest<'n>(word: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let word = word.to_lowercase();
    let distance = |name: &str| {
        let related = !word.is_empty() && (name.contains(&word) || word.contains(name));
        (!related, edits(&word, name))
    };
    let mut names: Vec<&str> = names.into_iter().collect();
    names.sort_by_key(|name| distance(name));
    names.truncate(SUGGESTED);
    names
}

/// The number of insertions, deletions and replacements (Levenshtein distance), row by row of the table of prefixes.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.chars().enumerate() {
            let replaced = diagonal + usize::from(from != to);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.chars().count()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_counts_insertions_deletions_and_replacements() {
        assert_eq!(edits("", "abc"), 3);
        assert_eq!(edits("kitten", "sitting"), 3);
        assert_eq!(edits("sum", "sum"), 0);
        assert_eq!(edits("abc", ""), 3);
    }
}
