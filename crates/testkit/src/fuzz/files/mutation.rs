//! Small mutations of a saved program's text.

use super::Random;

/// Replacements for a size, an axis or a count.
const SIZES: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "4",
    "5",
    "7",
    "64",
    "1000",
    "1000000",
    "2147483648",
    "4294967296",
    "1152921504606846976",
    "4611686018427387904",
    "9223372036854775807",
    "-1",
    "-2",
    "-3",
    "-9223372036854775808",
];

/// Replacements for a number: boundary values, invalid numbers, and values of other kinds.
const NUMBERS: &[&str] = &[
    "18446744073709551615",
    "99999999999999999999",
    "NaN",
    "inf",
    "-inf",
    "-0.0",
    "0.5",
    "-1.5",
    "1.0",
    "1e308",
    "5e-324",
    "f32",
    "eq",
    "[]",
    "[0]",
    "[0, 0]",
    "[-1, 1]",
    "0x7ff8000000000001",
];

/// Characters that are inserted.
const LETTERS: &[u8] = b"0123456789-+.,:=()[]{}/\\ \nabcefilnprstxz_NI#\x00\xff";

/// A part of a text that is a number or a word.
struct Token {
    start: usize,
    end: usize,
    is_number: bool,
}

/// The numbers and words of a text in order.
fn tokens(text: &[u8]) -> Vec<Token> {
    let in_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'.';
    let mut found = Vec::new();
    let mut start = 0;
    while start < text.len() {
        let signed = text[start] == b'-' && text.get(start + 1).is_some_and(u8::is_ascii_digit);
        let first = start + usize::from(signed);
        let length = text[first..].iter().take_while(|byte| in_word(**byte)).count();
        let end = first + length;
        if length > 0 {
            found.push(Token { start, end, is_number: text[first].is_ascii_digit() });
        }
        start = end.max(start + 1);
    }
    found
}

/// The numbers or the words of a text, mostly only those of equations: constants have many, all alike.
fn chosen(text: &[u8], numbers: bool, random: &mut Random) -> Vec<Token> {
    let all: Vec<Token> = tokens(text).into_iter().filter(|token| token.is_number == numbers).collect();
    let line = |token: &Token| {
        let start = text[..token.start].iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        text[start..].split(|byte| *byte == b'\n').next().unwrap_or_default()
    };
    let equations = random.below(4) > 0;
    let (inside, outside): (Vec<Token>, Vec<Token>) = all.into_iter().partition(|token| line(token).contains(&b'('));
    if inside.is_empty() || (!equations && !outside.is_empty()) { outside } else { inside }
}

/// The words of a text that may replace others.
pub(super) fn words(text: &[u8]) -> Vec<String> {
    let words = tokens(text).into_iter().filter(|token| !token.is_number);
    words.map(|token| String::from_utf8_lossy(&text[token.start..token.end]).into_owned()).collect()
}

/// The text after a few random mutations; `words` may replace its own.
pub(super) fn mutated(text: &[u8], words: &[String], random: &mut Random) -> Vec<u8> {
    let changes = 1 + random.below(4) / 2;
    (0..changes).fold(text.to_vec(), |text, _| changed(text, words, random))
}

/// The text with a part replaced.
fn replaced(text: &[u8], start: usize, end: usize, by: &[u8]) -> Vec<u8> {
    [&text[..start], by, &text[end..]].concat()
}

fn changed(mut text: Vec<u8>, words: &[String], random: &mut Random) -> Vec<u8> {
    if text.is_empty() {
        return text;
    }
    let place = random.below(text.len());
    match random.below(24) {
        0 => {
            text[place] ^= 1 << random.below(8);
            text
        }
        1 => {
            text[place] = *random.pick(LETTERS);
            text
        }
        2 => replaced(&text, place, (place + 1 + random.below(8)).min(text.len()), &[]),
        3 => {
            let more: Vec<u8> = (0..1 + random.below(4)).map(|_| *random.pick(LETTERS)).collect();
            replaced(&text, place, place, &more)
        }
        4..=6 => by_lines(&text, random),
        7..=9 => by_fields(&text, random),
        10..=14 => number(&text, false, random),
        15..=20 => number(&text, true, random),
        _ => word(&text, words, random),
    }
}

/// Duplicates, removes or replaces a line.
fn by_lines(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = text.split(|byte| *byte == b'\n').collect();
    let (a, b) = (random.below(lines.len()), random.below(lines.len()));
    match random.below(3) {
        0 => lines.swap(a, b),
        1 => lines.insert(b, lines[a]),
        _ => drop(lines.remove(a)),
    }
    lines.join(&b'\n')
}

/// Duplicates or removes a comma-separated entry, or replaces it by another one of the same line.
fn by_fields(text: &[u8], random: &mut Random) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = text.split(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    let long: Vec<usize> = (0..lines.len()).filter(|&line| lines[line].contains(&b',')).collect();
    if long.is_empty() {
        return text.to_vec();
    }
    let line = *random.pick(&long);
    let mut fields: Vec<&[u8]> = lines[line].split(|byte| *byte == b',').collect();
    let (a, b) = (random.below(fields.len()), random.below(fields.len()));
    match random.below(3) {
        0 => fields.swap(a, b),
        1 => fields.insert(b, fields[a]),
        _ => drop(fields.remove(a)),
    }
    lines[line] = fields.join(&b',');
    lines.join(&b'\n')
}

/// Replaces one number, or all numbers equal to it, so that sizes still agree.
fn number(text: &[u8], everywhere: bool, random: &mut Random) -> Vec<u8> {
    let numbers = chosen(text, true, random);
    if numbers.is_empty() {
        return text.to_vec();
    }
    let chosen = random.pick(&numbers);
    let old = &text[chosen.start..chosen.end];
    let near = String::from_utf8_lossy(old).parse::<i64>().ok().map(|old| old.saturating_add(*random.pick(&[-1, 1])));
    let others = if random.below(4) > 0 { SIZES } else { NUMBERS };
    let new = match near.filter(|_| random.below(3) == 0) {
        Some(near) => near.to_string(),
        None => random.pick(others).to_string(),
    };
    let is_chosen = |token: &&Token| match everywhere {
        true => &text[token.start..token.end] == old,
        false => token.start == chosen.start,
    };
    // From the end, so that earlier positions stay valid.
    let places = numbers.iter().filter(is_chosen).rev();
    places.fold(text.to_vec(), |text, token| replaced(&text, token.start, token.end, new.as_bytes()))
}

/// Replaces a word by one of another file, or of this one.
fn word(text: &[u8], words: &[String], random: &mut Random) -> Vec<u8> {
    let own = chosen(text, false, random);
    if own.is_empty() || words.is_empty() {
        return text.to_vec();
    }
    let (chosen, other) = (random.pick(&own), random.pick(&own));
    let new = match random.below(2) {
        0 => random.pick(words).as_bytes(),
        _ => &text[other.start..other.end],
    };
    replaced(text, chosen.start, chosen.end, new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_words_are_told_apart() {
        let text = b"b: f64[2, -3] = sum[axes=[0]](a)  1.5e3";
        let found: Vec<(&str, bool)> = tokens(text)
            .iter()
            .map(|token| (std::str::from_utf8(&text[token.start..token.end]).unwrap(), token.is_number))
            .collect();
        let word = |text| (text, false);
        let number = |text| (text, true);
        assert_eq!(found[..4], [word("b"), word("f64"), number("2"), number("-3")]);
        assert_eq!(found[4..], [word("sum"), word("axes"), number("0"), word("a"), number("1.5e3")]);
    }

    #[test]
    fn every_change_leaves_other_text_most_of_the_time() {
        let text = b"program(a: f64[2]) {\n  b: f64[] = sum[axes=[0]](a)\n  return b\n}\n";
        let words = words(text);
        let others = (0..1000).filter(|seed| mutated(text, &words, &mut Random::new(*seed)) != text).count();
        assert!(others > 800, "{others}");
    }
}
