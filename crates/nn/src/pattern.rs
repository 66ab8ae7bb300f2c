//! Patterns of paths.

use crate::prelude::*;

/// Whether a path matches a pattern, in which `*` stands for any characters, also none.
///
/// ```
/// use wengert::nn::matches;
/// assert!(matches("*.bias", "encoder.0.bias"));
/// assert!(matches("encoder.*", "encoder.0.bias"));
/// assert!(!matches("bias", "encoder.0.bias"));
/// ```
pub fn matches(pattern: &str, path: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == path };
    let Some(path) = path.strip_prefix(head) else { return false };
    path.char_indices().map(|(start, _)| start).chain([path.len()]).any(|start| matches(rest, &path[start..]))
}

/// That each pattern matches a leaf: one that does not is misspelt.
///
/// # Panics
/// If one does not.
#[track_caller]
pub(crate) fn expect_matches<'p>(
    operation: &'static str,
    mut patterns: impl Iterator<Item = &'p str>,
    parameters: &impl Tree,
) {
    let Some(first) = patterns.next() else { return };
    let names: Vec<String> = parameters.named_leaves().into_iter().map(|(name, _)| name).collect();
    let is_lost = |pattern: &&str| !names.iter().any(|name| matches(pattern, name));
    if let Some(pattern) = std::iter::once(first).chain(patterns).find(is_lost) {
        let message = format!("no leaf matches the pattern {pattern:?}");
        let help = format!("there are {}", names.join(", "));
        Error::new(ErrorKind::Tree, operation, message).help(&help).at(Line::caller()).raise();
    }
}
