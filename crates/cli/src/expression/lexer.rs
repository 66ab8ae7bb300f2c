//! The tokens of an expression.

use super::fault::{Fault, Span};

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Number(f64),
    Name,
    Symbol(&'static str),
    End,
}

/// A token and its place.
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: Kind,
    pub place: Span,
}

/// Longer symbols come before their beginnings.
const SYMBOLS: [&str; 14] = ["..=", "..", "+", "-", "*", "/", "^", "(", ")", "[", "]", ",", "=", ";"];

/// The tokens of `text`; the last one is its end.
pub fn tokens(text: &str) -> Result<Vec<Token>, Fault> {
    let (mut tokens, mut start) = (Vec::new(), 0);
    while let Some(first) = text[start..].chars().next() {
        let rest = &text[start..];
        if first.is_whitespace() {
            start += first.len_utf8();
            continue;
        }
        let (kind, length) = if starts_number(rest) {
            number(rest, start)?
        } else if is_of_name(first) {
            (Kind::Name, rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()))
        } else {
            let known = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
            let place = Span { start, end: start + first.len_utf8() };
            let symbol = known.ok_or_else(|| meaningless(first).at(place))?;
            (Kind::Symbol(symbol), symbol.len())
        };
        let place = Span { start, end: start + length };
        if length > LONGEST {
            return Err(Fault::new(format!("a name or number of {length} characters is too long")).at(place));
        }
        tokens.push(Token { kind, place });
        start += length;
    }
    tokens.push(Token { kind: Kind::End, place: Span { start: text.trim_end().len(), end: text.trim_end().len() } });
    Ok(tokens)
}

/// The most bytes of a name or number.
const LONGEST: usize = 1000;

/// Exponents of mathematics are digits to Unicode, but belong to no name.
fn is_of_name(c: char) -> bool {
    (c.is_alphanumeric() || c == '_') && !EXPONENTS.contains(c)
}

const EXPONENTS: &str = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/// A character that begins no token; what people mean by it.
fn meaningless(c: char) -> Fault {
    let help = match c {
        '−' | '–' | '—' => "a difference is written with -: x - y",
        '×' | '·' | '⋅' | '∙' | '•' | '∗' => "a product is written with *: x * y",
        '÷' | '∕' | ':' => "a quotient is written with /: x / y",
        '√' => "a root is written sqrt(x)",
        '%' => "the rest of a division is written remainder(x, y)",
        '!' => "a factorial is written exp(lgamma(x + 1))",
        '|' => "an absolute value is written abs(x)",
        '<' | '>' => "there are no comparisons; see max, min, relu and sign",
        '{' | '}' => "parentheses group: (x + y) * z",
        c if EXPONENTS.contains(c) => "a power is written with ^: x ^ 2",
        _ => "",
    };
    // A control character, or one that turns the direction of writing, is not sent to a terminal.
    let fault = Fault::new(format!("'{}' has no meaning here", c.escape_debug()));
    if help.is_empty() { fault } else { fault.help(help) }
}

/// Digits, or a point and digits: `.5`.
fn starts_number(text: &str) -> bool {
    text.strip_prefix('.').unwrap_or(text).starts_with(|c: char| c.is_ascii_digit())
}

/// The number that `text` starts with, and its length. `1..3` is a range, and `2e` the number 2 and a name.
fn number(text: &str, start: usize) -> Result<(Kind, usize), Fault> {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') && !text[end..].starts_with("..") {
        end += 1 + digits(end + 1);
    }
    let exponent = text[end..].strip_prefix(['e', 'E']).map(|rest| usize::from(rest.starts_with(['+', '-'])));
    if let Some(sign) = exponent
        && digits(end + 1 + sign) > 0
    {
        end += 1 + sign + digits(end + 1 + sign);
    }
    let number = text[..end].parse().ok().filter(|number: &f64| number.is_finite());
    let fault = || Fault::new("the number is too large").at(Span { start, end: start + end });
    Ok((Kind::Number(number.ok_or_else(fault)?), end))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        tokens(text).unwrap().into_iter().map(|token| token.kind).collect()
    }

    #[test]
    fn numbers_end_where_ranges_and_names_begin() {
        use Kind::*;
        assert_eq!(kinds("1..=3"), [Number(1.0), Symbol("..="), Number(3.0), End]);
        assert_eq!(kinds("1.5..2"), [Number(1.5), Symbol(".."), Number(2.0), End]);
        assert_eq!(kinds("1e-3 2.E2 .5 3."), [Number(1e-3), Number(200.0), Number(0.5), Number(3.0), End]);
        assert_eq!(kinds("2e 2e+x"), [Number(2.0), Name, Number(2.0), Name, Symbol("+"), Name, End]);
        assert!(tokens("x + 1e999").is_err());
        assert!(tokens("x ! y").is_err());
    }
}
