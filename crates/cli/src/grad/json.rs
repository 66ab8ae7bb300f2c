//! JSON, written by hand.

use std::fmt;

/// A value of JSON.
pub enum Json {
    Null,
    Number(f64),
    Text(String),
    List(Vec<Json>),
    /// Names and values, in this order.
    Object(Vec<(String, Json)>),
}

/// The shortest text that round-trips, with an exponent for very large and very small numbers.
pub fn number(number: f64) -> String {
    match number.abs() {
        size if size != 0.0 && size.is_finite() && !(1e-5..1e16).contains(&size) => format!("{number:e}"),
        _ => number.to_string(),
    }
}

/// On one line. JSON has no infinities and no NaN: they become text.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Number(value) if value.is_finite() => f.write_str(&number(*value)),
            Json::Number(value) => write!(f, "\"{value}\""),
            Json::Text(text) => quoted(text, f),
            Json::List(items) => {
                f.write_str("[")?;
                separated(items, f, |item, f| write!(f, "{item}"))?;
                f.write_str("]")
            }
            Json::Object(entries) => {
                f.write_str("{")?;
                separated(entries, f, |(name, value), f| {
                    quoted(name, f)?;
                    write!(f, ":{value}")
                })?;
                f.write_str("}")
            }
        }
    }
}

fn separated<T>(
    items: &[T],
    f: &mut fmt::Formatter<'_>,
    mut each: impl FnMut(&T, &mut fmt::Formatter<'_>) -> fmt::Result,
) -> fmt::Result {
    items.iter().enumerate().try_for_each(|(place, item)| {
        f.write_str(if place > 0 { "," } else { "" })?;
        each(item, f)
    })
}

fn quoted(text: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    f.write_str("\"")?;
    text.chars().try_for_each(|c| match c {
        '"' | '\\' => write!(f, "\\{c}"),
        '\n' => f.write_str("\\n"),
        c if c.is_control() => write!(f, "\\u{:04x}", u32::from(c)),
        c => write!(f, "{c}"),
    })?;
    f.write_str("\"")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_escaped_and_numbers_are_json() {
        let all = Json::Object(vec![
            ("a \"b\"\n".into(), Json::List(vec![Json::Number(-0.5), Json::Number(f64::NAN), Json::Null])),
            ("c\\\u{1}".into(), Json::List([f64::INFINITY, 1e300, 1e-7, 3.0].map(Json::Number).into())),
        ]);
        assert_eq!(all.to_string(), r#"{"a \"b\"\n":[-0.5,"NaN",null],"c\\\u0001":["inf",1e300,1e-7,3]}"#);
    }
}
