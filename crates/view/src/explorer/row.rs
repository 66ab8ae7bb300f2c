//! Rows of JSON lists: most of a page consists of them, so they are short.

use std::collections::HashMap;

/// A list of written values without the `null`s at its end.
pub(super) fn row(mut cells: Vec<String>) -> String {
    while cells.last().is_some_and(|cell| cell == "null") {
        cells.pop();
    }
    format!("[{}]", cells.join(","))
}

/// A count, or `null` if it is the usual one.
pub(super) fn unless(usual: usize, count: usize) -> String {
    if count == usual { "null".to_string() } else { count.to_string() }
}

/// Texts that occur several times, by their numbers.
#[derive(Default)]
pub(super) struct Texts {
    numbers: HashMap<String, usize>,
    pub all: Vec<String>,
}

impl Texts {
    /// The number of a text; `null` for an empty one.
    pub fn number(&mut self, text: &str) -> String {
        if text.is_empty() {
            return "null".to_string();
        }
        let known = self.numbers.get(text).copied();
        let number = known.unwrap_or_else(|| {
            self.all.push(text.to_string());
            self.numbers.insert(text.to_string(), self.all.len() - 1);
            self.all.len() - 1
        });
        number.to_string()
    }
}
