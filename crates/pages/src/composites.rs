//! The composite functions, read from their files.

use crate::methods::{Method, methods};
use wengert::primitive::{COMPOSITES, CONSTRUCTORS};

/// A method that is composed of other operations and needs no derivative rule.
#[derive(Clone, Debug, PartialEq)]
pub struct Composite {
    /// The file that it is in.
    pub theme: &'static str,
    /// The method with its documentation.
    pub method: Method,
}

impl Composite {
    /// Every composite, in the order of the files; before them the constructors.
    pub fn all() -> Vec<Composite> {
        CONSTRUCTORS.iter().chain(COMPOSITES).flat_map(|&(theme, source)| Composite::of(theme, source)).collect()
    }

    /// The composites in the text of one file.
    ///
    /// ```
    /// use wengert_pages::composites::Composite;
    /// let source = "impl Tensor {\n    /// The cube. It is fast.\n    pub fn cube(&self) -> Tensor {\n    }\n}\n";
    /// let cube = &Composite::of("powers", source)[0];
    /// assert_eq!((cube.name(), cube.summary()), ("cube", "The cube".to_string()));
    /// ```
    pub fn of(theme: &'static str, source: &str) -> Vec<Composite> {
        methods(source).into_iter().map(|method| Composite { theme, method }).collect()
    }

    /// The name that users call: `mean`; for types other than `Tensor`, with the type: `CrossEntropy::reduction`.
    pub fn name(&self) -> &str {
        self.method.path.strip_prefix("Tensor::").unwrap_or(&self.method.path)
    }

    /// The first sentence of the documentation, with links as plain text.
    pub fn summary(&self) -> String {
        let paragraph: Vec<&str> =
            self.method.documentation.iter().map(String::as_str).take_while(|line| !line.is_empty()).collect();
        let text = paragraph.join(" ");
        without_links(text.split(". ").next().unwrap_or_default().trim_end_matches(['.', ':']))
    }
}

/// ``[`dot`](Tensor::dot)`` as `dot`.
fn without_links(text: &str) -> String {
    let mut parts = text.split("[`");
    let mut plain = parts.next().unwrap_or_default().to_string();
    for part in parts {
        match part.split_once("`](").and_then(|(name, rest)| Some((name, rest.split_once(')')?.1))) {
            Some((name, rest)) => plain.extend([name, rest]),
            None => plain.extend(["[`", part]),
        }
    }
    plain
}

/// The themes in order, each with its methods.
pub fn themes(all: &[Composite]) -> Vec<(&'static str, &[Composite])> {
    all.chunk_by(|a, b| a.theme == b.theme).map(|members| (members[0].theme, members)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_has_no_links_and_a_builder_keeps_its_type() {
        let source = "pub struct Bag;\nimpl Bag {\n    /// As [`sum`](Tensor::sum), `[N]` at once.\n    pub fn mode(self) {\n    }\n}\n";
        let mode = &Composite::of("network", source)[0];
        assert_eq!((mode.name(), mode.summary().as_str()), ("Bag::mode", "As sum, `[N]` at once"));
    }
}
