//! Patterns of paths.

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
