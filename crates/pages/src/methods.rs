//! The user-facing methods in an operation's file, read from its text.

/// A public method with its documentation.
#[derive(Clone, Debug, PartialEq)]
pub struct Method {
    /// `Tensor::tanh`.
    pub path: String,
    /// `fn tanh(&self) -> Tensor`.
    pub signature: String,
    /// The lines of its documentation.
    pub documentation: Vec<String>,
}

impl Method {
    /// `tanh`.
    pub fn name(&self) -> &str {
        self.path.rsplit("::").next().unwrap_or(&self.path)
    }
}

/// The documented methods of `Tensor`, and of public types declared in the file.
///
/// ```
/// let source = "impl Tensor {\n    /// The sine.\n    #[track_caller]\n    pub fn sin(&self) -> Tensor {\n    }\n}\n";
/// let methods = wengert_pages::methods::methods(source);
/// assert_eq!(methods[0].path, "Tensor::sin");
/// assert_eq!(methods[0].signature, "fn sin(&self) -> Tensor");
/// assert_eq!(methods[0].documentation, ["The sine."]);
/// ```
pub fn methods(source: &str) -> Vec<Method> {
    let mut methods = Vec::new();
    let mut owner: Option<&str> = None;
    let mut documentation: Vec<String> = Vec::new();
    let mut lines = source.lines();
    while let Some(line) = lines.next() {
        if let Some(rest) = line.strip_prefix("impl ") {
            owner = rest.strip_suffix(" {").filter(|name| is_public(source, name));
        } else if line == "}" {
            owner = None;
        }
        let Some(name) = owner else { continue };
        let inner = line.trim_start();
        if let Some(text) = inner.strip_prefix("///") {
            documentation.push(text.strip_prefix(' ').unwrap_or(text).to_string());
        } else if let Some(start) = inner.strip_prefix("pub fn ").filter(|_| !documentation.is_empty()) {
            // A long signature ends on the line of its opening brace.
            let mut signature = format!("fn {start}");
            while !signature.ends_with('{') {
                let Some(more) = lines.next() else { break };
                signature = format!("{signature} {}", more.trim());
            }
            let signature = signature.trim_end_matches([' ', '{']).replace("( ", "(").replace(", )", ")");
            let signature = without_comments(&signature);
            let end = start.find(['(', '<']).unwrap_or(start.len());
            let path = format!("{name}::{}", &start[..end]);
            methods.push(Method { path, signature, documentation: std::mem::take(&mut documentation) });
        } else if !inner.starts_with("#[") || inner == "#[doc(hidden)]" {
            documentation.clear();
        }
    }
    methods
}

/// A signature without `/* .. */`: those comments are for readers of compiler errors.
fn without_comments(signature: &str) -> String {
    let mut kept = String::new();
    let mut rest = signature;
    while let Some((before, after)) = rest.split_once("/*") {
        kept += before.trim_end();
        rest = after.split_once("*/").map_or("", |(_, rest)| rest);
    }
    kept + rest
}

/// The words in calls of macros that the same file defines: methods generated in several variants, such as `max_pool1d` to `max_pool3d`,
/// appear there by name.
///
/// ```
/// let source = "macro_rules! pools {\n}\npools! {\n    1 max_pool1d;\n    2 max_pool2d;\n}\nother! {\n    word;\n}\n";
/// assert_eq!(wengert_pages::methods::variants(source), ["max_pool1d", "max_pool2d"]);
/// ```
pub fn variants(source: &str) -> Vec<&str> {
    let mut inside = false;
    let mut words = Vec::new();
    for line in source.lines() {
        if let Some(name) = line.strip_suffix("! {") {
            inside = source.contains(&format!("macro_rules! {name} {{"));
        } else if line == "}" {
            inside = false;
        } else if inside && !line.trim_start().starts_with("//") {
            let code =
                line.split('"').step_by(2).flat_map(|code| code.split(|c: char| !c.is_alphanumeric() && c != '_'));
            words.extend(code.filter(|word| word.starts_with(char::is_alphabetic)));
        }
    }
    words
}

fn is_public(source: &str, name: &str) -> bool {
    let declares = |line: &str| {
        let rest = line.strip_prefix("pub struct ").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
    };
    name == "Tensor" || source.lines().any(declares)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn private_types_and_undocumented_methods_are_left_out() {
        let source = "pub(crate) struct Part;\nimpl Part {\n    /// Hidden.\n    pub fn of() {\n    }\n}\n\
                      impl Tensor {\n    pub fn bare(&self) {\n    }\n    /// Inner.\n    pub(crate) fn inner(&self) {\n    }\n}\n";
        assert_eq!(methods(source), []);
    }

    #[test]
    fn comments_in_signatures_are_left_out() {
        let source = "impl Tensor {\n    /// Adds.\n    pub fn sum(&self /* of some axes: sum_over(axes) */) -> Tensor {\n    }\n}\n";
        assert_eq!(methods(source)[0].signature, "fn sum(&self) -> Tensor");
    }

    #[test]
    fn a_long_signature_is_joined() {
        let source = "impl Tensor {\n    /// Adds.\n    pub fn add_at(\n        &self,\n        axis: isize,\n    ) -> Tensor {\n    }\n}\n";
        assert_eq!(methods(source)[0].signature, "fn add_at(&self, axis: isize) -> Tensor");
    }
}
