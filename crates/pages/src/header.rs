//! The `//!` header of an operation's file.
//!
//! It begins `name - title.   formula,   derivative.   remarks`: three spaces separate its fields, a comma continues the formula.

/// A parsed header.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// The title of the operation, in a few words.
    pub title: String,
    /// The formula, its derivative and related formulas, each without the comma or period at its end.
    pub formulas: Vec<String>,
    /// The remarks after the formula, in the same paragraph.
    pub remarks: String,
    /// The other paragraphs, line by line.
    pub paragraphs: Vec<Vec<String>>,
}

impl Header {
    /// The header of `name` in the text of its file. Operations that share a file have a paragraph each.
    ///
    /// ```
    /// use wengert_pages::header::Header;
    /// let header = Header::parse("exp", "//! exp - exponential.   y = e^x,   dy = y dx.   Domain: all reals.\nuse std;");
    /// assert_eq!(header.title, "exponential");
    /// assert_eq!(header.formulas, ["y = e^x", "dy = y dx"]);
    /// assert_eq!(header.remarks, "Domain: all reals.");
    /// ```
    pub fn parse(name: &str, source: &str) -> Header {
        let mut paragraphs = paragraphs(source);
        let own = paragraphs.iter().position(|lines| subject(&lines[0]) == Some(name)).unwrap_or(0);
        let first = if paragraphs.is_empty() { String::new() } else { paragraphs.remove(own).join(" ") };
        paragraphs.retain(|lines| subject(&lines[0]).is_none());

        // The domain begins a field, even if a line break replaced the spaces before it.
        let first = first.replace(". Domain:", ".   Domain:");
        let mut fields = first.split("   ").map(str::trim).filter(|field| !field.is_empty()).peekable();
        let title = fields.next().unwrap_or_default();
        let title = title.split_once(" - ").map_or(title, |(_, title)| title).trim_end_matches('.').to_string();
        let mut formulas = Vec::new();
        while let Some(field) = fields.next_if(|field| !is_remark(field)) {
            formulas.push(field.trim_end_matches([',', '.']).to_string());
            if !field.ends_with(',') {
                break;
            }
        }
        Header { title, formulas, remarks: fields.collect::<Vec<_>>().join(" "), paragraphs }
    }

    /// The domain of the function, and the other remarks.
    ///
    /// ```
    /// use wengert_pages::header::Header;
    /// let header = Header::parse("log", "//! log - logarithm.   y = ln x.   Domain: x > 0. Below it, NaN.\n");
    /// assert_eq!(header.domain_and_conventions(), (Some("x > 0"), "Below it, NaN.".to_string()));
    /// ```
    pub fn domain_and_conventions(&self) -> (Option<&str>, String) {
        let Some(start) = self.remarks.find("Domain: ") else { return (None, self.remarks.clone()) };
        let (before, rest) = (&self.remarks[..start], &self.remarks[start + "Domain: ".len()..]);
        let (domain, after) = rest.split_once(". ").unwrap_or((rest.trim_end_matches('.'), ""));
        (Some(domain), format!("{before}{after}").trim().to_string())
    }
}

/// `exp` of a line that begins `exp - exponential`.
fn subject(line: &str) -> Option<&str> {
    let (name, _) = line.split_once(" - ")?;
    let is_name = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    (!name.is_empty() && name.chars().all(is_name)).then_some(name)
}

fn is_remark(field: &str) -> bool {
    field.starts_with("Domain:") || field.starts_with("No derivative")
}

/// Splits lines into paragraphs at empty lines; a line that introduces an operation also begins a paragraph.
fn paragraphs(source: &str) -> Vec<Vec<String>> {
    let mut paragraphs: Vec<Vec<String>> = Vec::new();
    let mut begins = true;
    for line in source.lines().map_while(|line| line.strip_prefix("//!")) {
        let line = line.strip_prefix(' ').unwrap_or(line).trim_end();
        if line.is_empty() {
            begins = true;
            continue;
        }
        match paragraphs.last_mut() {
            Some(paragraph) if !begins && subject(line).is_none() => paragraph.push(line.to_string()),
            _ => paragraphs.push(vec![line.to_string()]),
        }
        begins = false;
    }
    paragraphs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_formula_goes_on_over_lines_and_ends_with_its_period() {
        let source = "//! matmul - product.   C = A B,   dC = dA B + A dB,   so\n//! Abar = Cbar B^T.   Leading axes\n//! batch.\n";
        let header = Header::parse("matmul", source);
        assert_eq!(header.formulas, ["C = A B", "dC = dA B + A dB", "so Abar = Cbar B^T"]);
        assert_eq!(header.remarks, "Leading axes batch.");
    }

    #[test]
    fn operations_that_share_a_file_have_their_own_paragraph() {
        let source = "//! sinh - one.   y = sinh x.\n//! cosh - two.   y = cosh x.\n//!\n//! Both are fine.\n";
        let header = Header::parse("cosh", source);
        assert_eq!(header.title, "two");
        assert_eq!(header.formulas, ["y = cosh x"]);
        assert_eq!(header.paragraphs, [["Both are fine."]]);
    }

    #[test]
    fn a_domain_is_not_part_of_the_formula_before_it() {
        let header = Header::parse("f", "//! f - f.   y = f(x),   dy = dx\n//! or 0. Domain: all reals.\n");
        assert_eq!(header.formulas, ["y = f(x)", "dy = dx or 0"]);
        assert_eq!(header.domain_and_conventions(), (Some("all reals"), String::new()));
    }

    #[test]
    fn a_file_without_a_header_gives_an_empty_one() {
        assert_eq!(Header::parse("x", "use std;").title, "");
    }
}
