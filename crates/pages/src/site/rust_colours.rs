//! Rust code as HTML, with a class for each kind of token.

use super::html::escaped;

const KEYWORDS: &[&str] = &[
    "as", "async", "await", "box", "break", "const", "continue", "crate", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref", "return", "self",
    "Self", "static", "struct", "super", "trait", "true", "type", "unsafe", "use", "where", "while",
];

/// Code as HTML. Tokens that need no colour stand as they are; anything that is not Rust does too.
///
/// ```
/// use wengert_pages::site::rust_colours::coloured;
/// let html = coloured("let x = 2.0; // two\n");
/// assert_eq!(html, "<i class=\"k\">let</i> x = <i class=\"n\">2.0</i>; <i class=\"c\">// two</i>\n");
/// ```
pub fn coloured(code: &str) -> String {
    let mut html = String::new();
    let mut rest = code;
    while !rest.is_empty() {
        let (class, length) = token(rest, html.ends_with('.'));
        let (text, after) = rest.split_at(length);
        match class {
            Some(class) => html += &format!("<i class=\"{class}\">{}</i>", escaped(text)),
            None => html += &escaped(text),
        }
        rest = after;
    }
    html
}

/// The class and the length of the first token.
fn token(rest: &str, after_dot: bool) -> (Option<&'static str>, usize) {
    let first = rest.chars().next().expect("there is text");
    if rest.starts_with("//") {
        return (Some("c"), rest.find('\n').unwrap_or(rest.len()));
    }
    if rest.starts_with("/*") {
        return (Some("c"), block_comment(rest));
    }
    if rest.starts_with("#[") || rest.starts_with("#![") {
        return (Some("a"), attribute(rest));
    }
    if let Some(length) = string(rest) {
        return (Some("s"), length);
    }
    if first == '\'' {
        return quote(rest);
    }
    if first.is_ascii_digit() {
        return (Some("n"), number(rest));
    }
    if first.is_alphabetic() || first == '_' {
        let length = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
        return (word(&rest[..length], &rest[length..], after_dot), length);
    }
    (None, first.len_utf8())
}

fn word(word: &str, after: &str, after_dot: bool) -> Option<&'static str> {
    let is_macro = after.starts_with('!') && !after.starts_with("!=");
    match word {
        _ if KEYWORDS.contains(&word) && !after_dot => Some("k"),
        _ if is_macro => Some("m"),
        _ if word.starts_with(char::is_uppercase) => Some("t"),
        "f16" | "bf16" | "f32" | "f64" | "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64"
        | "isize" | "bool" | "str" | "char" => Some("t"),
        _ if after.starts_with('(') || after.starts_with("::<") => Some("f"),
        _ => None,
    }
}

/// Comments nest.
fn block_comment(rest: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < rest.len() {
        if rest[at..].starts_with("/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if rest[at..].starts_with("*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += rest[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    rest.len()
}

/// Up to the bracket that closes it.
fn attribute(rest: &str) -> usize {
    let mut depth = 0;
    for (at, c) in rest.char_indices() {
        match c {
            '[' => depth += 1,
            ']' if depth == 1 => return at + 1,
            ']' => depth -= 1,
            _ => {}
        }
    }
    rest.len()
}

/// The length of a string literal at the start, with its prefix.
fn string(rest: &str) -> Option<usize> {
    let prefix = ["br", "cr", "b", "c", "r"].into_iter().find(|prefix| {
        let after = rest.strip_prefix(prefix);
        after.is_some_and(|after| after.starts_with('"') || (prefix.ends_with('r') && after.starts_with("#\"")))
    });
    let prefix = prefix.unwrap_or("");
    let body = &rest[prefix.len()..];
    if prefix.ends_with('r') {
        let hashes = body.len() - body.trim_start_matches('#').len();
        let end = format!("\"{}", "#".repeat(hashes));
        let start = hashes + 1;
        return Some(prefix.len() + body[start..].find(&end).map_or(body.len(), |at| start + at + end.len()));
    }
    let inner = body.strip_prefix('"')?;
    let mut is_escaped = false;
    for (at, c) in inner.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(prefix.len() + at + 2),
            _ => {}
        }
    }
    Some(rest.len())
}

/// A character or a lifetime.
fn quote(rest: &str) -> (Option<&'static str>, usize) {
    let mut letters = rest.char_indices().skip(1);
    let close = match rest[1..].starts_with('\\') {
        true => rest.get(3..).and_then(|rest| rest.find('\'')).map(|at| at + 3),
        false => letters.nth(1).filter(|(_, c)| *c == '\'').map(|(at, _)| at),
    };
    match close {
        Some(close) => (Some("s"), close + 1),
        None => {
            let length = rest[1..].find(|c: char| !c.is_alphanumeric() && c != '_').map_or(rest.len(), |at| at + 1);
            (Some("l"), length)
        }
    }
}

/// A number with its suffix; `1..2` is a number and a range, and `1.max(2)` a number and a call.
fn number(rest: &str) -> usize {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let next = bytes.get(at + 1).copied().unwrap_or(b' ');
        match bytes[at] {
            b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' => {}
            b'.' if next.is_ascii_digit() || !(next == b'.' || next == b'_' || next.is_ascii_alphabetic()) => {}
            b'-' | b'+' if at > 0 && matches!(bytes[at - 1], b'e' | b'E') && !rest.starts_with("0x") => {}
            _ => break,
        }
        at += 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tokens with their classes, without those that have none.
    fn classes(code: &str) -> Vec<String> {
        let html = coloured(code);
        let tokens = html.split("<i class=\"").skip(1);
        tokens.map(|token| token.split("</i>").next().unwrap().replace("\">", " ")).collect()
    }

    #[test]
    fn characters_and_lifetimes_are_told_apart() {
        assert_eq!(classes("&'a str, 'x', '\\n', '\\''"), ["l 'a", "t str", "s 'x'", "s '\\n'", "s '\\''"]);
    }

    #[test]
    fn strings_end_where_they_end() {
        assert_eq!(
            classes(r##"a("x \" y", r#"z " w"#, b"q")"##)[1..],
            ["s &quot;x \\&quot; y&quot;", "s r#&quot;z &quot; w&quot;#", "s b&quot;q&quot;"]
        );
        assert_eq!(classes("\"open"), ["s &quot;open"]);
    }

    #[test]
    fn numbers_leave_ranges_and_methods_alone() {
        assert_eq!(
            classes("0..2 1.5e-3 2.0f64.sin() 1..=x 7.max(2) 0x1f"),
            ["n 0", "n 2", "n 1.5e-3", "n 2.0f64", "f sin", "n 1", "n 7", "f max", "n 2", "n 0x1f"]
        );
    }

    #[test]
    fn comments_nest_and_nothing_is_lost() {
        let code = "/* a /* b */ c */ fn f<T>(x: &T) -> Option<u8> { x != 1 && y!(2) } // ü";
        let html = coloured(code);
        let plain: String = html.split('<').map(|part| part.split_once('>').map_or(part, |(_, text)| text)).collect();
        assert_eq!(plain.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"), code);
        assert_eq!(classes(code)[0], "c /* a /* b */ c */");
    }
}
