//! Text inside XML.

/// Escapes text for XML, in elements and attributes. Characters that XML does not allow become `\u{fffd}`.
pub(crate) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            '\t' | '\n' | '\r' => escaped.push(' '),
            '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

/// About how wide text is in a sans-serif font of some size. The fonts of the reader are unknown, so this errs on the wide side.
pub(crate) fn width(text: &str, size: f64) -> f64 {
    text.chars().map(|c| width_of(c, size)).sum()
}

fn width_of(c: char, size: f64) -> f64 {
    if c.is_ascii() { 0.62 * size } else { size }
}

/// Text of at most some width, with `…` in place of what does not fit.
pub(crate) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_string();
    }
    // Room for the sign of what is left out.
    let mut used = size;
    let first = text.char_indices().find(|(_, c)| {
        used += width_of(*c, size);
        used > most
    });
    text[..first.map_or(text.len(), |(place, _)| place)].trim_end().to_string() + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped() {
        assert_eq!(escaped("a < b && \"c\" > 'd'"), "a &lt; b &amp;&amp; &quot;c&quot; &gt; &apos;d&apos;");
        assert_eq!(escaped("two\nlines\x1b[0m\0"), "two lines\u{fffd}[0m\u{fffd}");
        assert_eq!(escaped("‖∇f‖²"), "‖∇f‖²");
    }

    #[test]
    fn long_text_is_shortened() {
        assert_eq!(shortened("short", 10.0, 100.0), "short");
        let short = shortened(&"long ".repeat(100), 10.0, 100.0);
        assert!(short.ends_with('…') && width(&short, 10.0) <= 100.0, "{short}");
    }
}
