//! Colours on a terminal.

use std::ffi::OsString;
use std::io::{self, IsTerminal};

/// Whether text is coloured. Everything that is printed is the same text with and without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paint {
    is_on: bool,
}

impl Paint {
    /// No colours.
    pub const PLAIN: Paint = Paint { is_on: false };

    /// For standard output.
    pub fn stdout() -> Paint {
        Paint::wanted(io::stdout().is_terminal(), |name| std::env::var_os(name))
    }

    /// For standard error.
    pub fn stderr() -> Paint {
        Paint::wanted(io::stderr().is_terminal(), |name| std::env::var_os(name))
    }

    /// Colours for a terminal that is not dumb, or if `CLICOLOR_FORCE` demands them; none if `NO_COLOR` is set. Empty variables count as
    /// unset, and `CLICOLOR_FORCE=0` too.
    fn wanted(is_terminal: bool, variable: impl Fn(&str) -> Option<OsString>) -> Paint {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        let is_forced = set("CLICOLOR_FORCE").is_some_and(|value| value != "0");
        let is_dumb = set("TERM").is_some_and(|value| value == "dumb");
        Paint { is_on: set("NO_COLOR").is_none() && (is_forced || is_terminal && !is_dumb) }
    }

    /// What stands above a part.
    pub fn heading(self, text: &str) -> String {
        self.with("1", text)
    }

    /// A result.
    pub fn value(self, text: &str) -> String {
        self.with("36", text)
    }

    /// What went wrong.
    pub fn mistake(self, text: &str) -> String {
        self.with("1;31", text)
    }

    /// A line of a message: carets below a place are part of a mistake.
    pub fn carets(self, line: &str) -> String {
        let carets = line.trim_start();
        match !carets.is_empty() && carets.chars().all(|c| c == '^') {
            true => format!("{}{}", &line[..line.len() - carets.len()], self.mistake(carets)),
            false => line.to_string(),
        }
    }

    fn with(self, code: &str, text: &str) -> String {
        match self.is_on && !text.is_empty() {
            true => format!("\x1b[{code}m{text}\x1b[0m"),
            false => text.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_on(is_terminal: bool, variables: &[(&str, &str)]) -> bool {
        let variable =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).into());
        Paint::wanted(is_terminal, variable).is_on
    }

    #[test]
    fn colours_are_for_terminals_that_want_them() {
        assert!(is_on(true, &[]) && is_on(true, &[("TERM", "xterm-256color")]) && is_on(true, &[("NO_COLOR", "")]));
        assert!(!is_on(false, &[]) && !is_on(false, &[("TERM", "xterm-256color")]));
        assert!(!is_on(true, &[("NO_COLOR", "1")]) && !is_on(true, &[("TERM", "dumb")]));
        assert!(is_on(false, &[("CLICOLOR_FORCE", "1")]) && is_on(true, &[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")]));
        assert!(!is_on(false, &[("CLICOLOR_FORCE", "0")]) && !is_on(false, &[("CLICOLOR_FORCE", "")]));
        assert!(!is_on(true, &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")]));
    }

    #[test]
    fn carets_alone_on_their_line_are_red() {
        let on = Paint { is_on: true };
        assert_eq!(on.carets("    ^^"), "    \x1b[1;31m^^\x1b[0m");
        assert_eq!((on.carets("  x ^ 2"), on.carets("  ")), ("  x ^ 2".into(), "  ".into()));
        assert_eq!(Paint::PLAIN.carets("  ^"), "  ^");
    }
}
