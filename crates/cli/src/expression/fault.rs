//! What is wrong with an expression, and where.

use crate::failure::Failure;
use wengert::{Error, Line};

/// A part of the text of an expression, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    pub start: usize,
    pub end: usize,
}

/// The file that the lines of operations name: the expression itself.
const FILE: &str = "expression";

impl Span {
    /// The source line of an operation at this place: its column is the byte, whatever lines the text has.
    pub fn line(self) -> Line {
        Line::new(FILE, 1, self.start as u32 + 1)
    }

    /// Whether an operation with this source line starts here.
    pub fn is_at(self, line: Line) -> bool {
        line.file() == FILE && line.column() as usize == self.start + 1
    }
}

/// A mistake in an expression, its place, and what could be done.
#[derive(Debug)]
pub struct Fault {
    message: String,
    place: Option<Span>,
    help: Vec<String>,
}

impl Fault {
    /// A fault without a place yet.
    pub fn new(message: impl Into<String>) -> Fault {
        Fault { message: message.into(), place: None, help: Vec::new() }
    }

    /// The error of an operation. Its suggestion is for those who write Rust.
    pub fn of(error: &Error) -> Fault {
        Fault::new(format!("{}: {}", error.operation(), error.message()))
    }

    /// With the place that it points to.
    pub fn at(self, place: impl Into<Option<Span>>) -> Fault {
        Fault { place: place.into(), ..self }
    }

    /// With a line of advice.
    pub fn help(mut self, text: impl Into<String>) -> Fault {
        self.help.push(text.into());
        self
    }

    /// The message, the line of `source` with a caret below the place, and the advice.
    pub fn text(&self, source: &str) -> String {
        let place = self.place.map(|place| underlined(source, place));
        let help = self.help.iter().map(|line| format!("\n  {line}"));
        self.message.clone() + &place.unwrap_or_default() + &help.collect::<String>()
    }

    /// The fault as an invalid request.
    pub fn failure(&self, source: &str) -> Failure {
        Failure::usage(self.text(source))
    }
}

/// The characters of a longer line that are shown before and after the start of the place.
const SHOWN: (usize, usize) = (50, 40);

/// Characters that turn the direction of writing: with them, a caret would point to another place.
const DIRECTIONS: [char; 12] = [
    '\u{200e}', '\u{200f}', '\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}',
    '\u{2068}', '\u{2069}', '\u{61c}',
];

/// The line of the text that contains the start of the place, and carets below it.
fn underlined(text: &str, Span { start, end }: Span) -> String {
    let from = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let to = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
    let before: Vec<char> = text[from..start].chars().collect();
    let after: Vec<char> = text[start..to].chars().collect();
    let carets = text[start..end.clamp(start, to)].chars().count().clamp(1, SHOWN.1);

    let (first, is_cut) = (before.len().saturating_sub(SHOWN.0), after.len() > SHOWN.1);
    let (left, right) = (if first > 0 { "..." } else { "" }, if is_cut { "..." } else { "" });
    let shown = |c: &char| if c.is_control() && *c != '\t' || DIRECTIONS.contains(c) { '\u{fffd}' } else { *c };
    let mut line: String = left.chars().chain(before[first..].iter().map(shown)).collect();
    let indent: String = line.chars().map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
    line.extend(after.iter().take(SHOWN.1).map(shown));
    format!("\n  {}{right}\n  {indent}{}", line.trim_end(), "^".repeat(carets))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(source: &str, start: usize, end: usize) -> String {
        Fault::new("wrong").at(Span { start, end }).text(source)
    }

    #[test]
    fn carets_stand_below_the_place() {
        assert_eq!(text("x + sni(y)", 4, 7), "wrong\n  x + sni(y)\n      ^^^");
        assert_eq!(text("x +", 3, 3), "wrong\n  x +\n     ^");
        assert_eq!(text("a;\n\té + $ - b\nc", 9, 10), "wrong\n  \té + $ - b\n  \t    ^");
        assert_eq!(Fault::new("wrong").help("right").text("x"), "wrong\n  right");
    }

    #[test]
    fn a_long_line_is_cut_around_the_place() {
        let source = "x + ".repeat(1000) + "x";
        let shown = text(&source, 2000, 2001);
        assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
        let [_, line, caret] = shown.lines().collect::<Vec<_>>()[..] else { panic!("{shown}") };
        assert!(line.starts_with("  ...") && line.ends_with("..."), "{shown}");
        assert_eq!(&line[caret.len() - 1..caret.len()], "x", "{shown}");
    }
}
