//! JSON as text, for everything that the project prints or writes: whole values on one line.

use std::fmt::Write;

/// An object, from names and written values.
pub fn object(fields: &[(&str, String)]) -> String {
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{}:{value}", string(name))).collect();
    format!("{{{}}}", fields.join(","))
}

/// A list of written values.
pub fn array(items: impl Iterator<Item = String>) -> String {
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// A written value, or `null`.
pub fn optional<T>(value: &Option<T>, written: impl FnOnce(&T) -> String) -> String {
    value.as_ref().map_or_else(|| "null".to_string(), written)
}

/// A number; JSON has none that are not finite, so they become strings.
pub fn number(number: f64) -> String {
    match number.is_finite() {
        // The shortest text that reads back as the same number.
        true => format!("{number:?}"),
        false if number.is_nan() => "\"NaN\"".to_string(),
        false => format!("\"{}Infinity\"", if number < 0.0 { "-" } else { "" }),
    }
}

/// Text, in which nothing can end the script of a page that it stands in.
pub fn string(text: &str) -> String {
    let mut written = String::with_capacity(text.len() + 2);
    written.push('"');
    for c in text.chars() {
        match c {
            '"' | '\\' => written.extend(['\\', c]),
            '<' | '>' | '&' | '\0'..='\x1f' | '\x7f'.. => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    write!(written, "\\u{unit:04x}").expect("strings take any text");
                }
            }
            c => written.push(c),
        }
    }
    written.push('"');
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_inert() {
        assert_eq!(string("a\"b\\c</script>&\n"), r#""a\"b\\c\u003c/script\u003e\u0026\u000a""#);
        assert_eq!(string("v\u{2028}·😀"), r#""v\u2028\u00b7\ud83d\ude00""#);
    }

    #[test]
    fn names_are_texts() {
        assert_eq!(object(&[("a\"b", number(1.0)), ("é", array([].into_iter()))]), r#"{"a\"b":1.0,"\u00e9":[]}"#);
    }

    #[test]
    fn numbers_read_back() {
        assert_eq!([0.1 + 0.2, -0.0, 1e300, 3.0].map(number), ["0.30000000000000004", "-0.0", "1e300", "3.0"]);
        assert_eq!([f64::NAN, f64::INFINITY, -f64::INFINITY].map(number), ["\"NaN\"", "\"Infinity\"", "\"-Infinity\""]);
    }
}
