//! Translates elementwise expressions from Rust to C and C++.

use std::iter::Peekable;
use std::str::Chars;
use wengert_core::primitive::Expression;

/// The operations that expressions are written in, with the types of their arguments: `r` for the compute type and `d` for double. Those
/// from `wrapping_add` on are for integers.
const WORDS: &[(&str, &str)] = &[
    ("lit", "d"),
    ("constant", "d"),
    ("recip", "r"),
    ("square", "r"),
    ("abs", "r"),
    ("scale", "rd"),
    ("shift", "rd"),
    ("over", "rd"),
    ("at_most", "rd"),
    ("nan_below", "rd"),
    ("nan_beyond", "rd"),
    ("sign", "r"),
    ("above", "rrrr"),
    ("at_zero", "rrr"),
    ("least_slope", "r"),
    ("between", "rrrrr"),
    ("within", "rrrrr"),
    ("ratio", "rr"),
    ("gap", "rr"),
    ("bounded", "rrr"),
    ("finite", "rrrr"),
    ("is_nan", "r"),
    ("passes", "rr"),
    ("share", "rr"),
    ("share_of_numbers", "rr"),
    ("guarded", "rr"),
    ("both", "rr"),
    ("sqrt", "r"),
    ("cbrt", "r"),
    ("rsqrt", "r"),
    ("lgamma", "r"),
    ("logit", "r"),
    ("logsigmoid", "r"),
    ("softplus", "r"),
    ("logaddexp", "rr"),
    ("xlogy", "rr"),
    ("log_weight", "rr"),
    ("xlog1py", "rr"),
    ("log1p_weight", "rr"),
    ("exp", "r"),
    ("exp2", "r"),
    ("expm1", "r"),
    ("log", "r"),
    ("log2", "r"),
    ("log10", "r"),
    ("log1p", "r"),
    ("sin", "r"),
    ("cos", "r"),
    ("tan", "r"),
    ("asin", "r"),
    ("acos", "r"),
    ("atan", "r"),
    ("atan2", "rr"),
    ("sinh", "r"),
    ("cosh", "r"),
    ("tanh", "r"),
    ("asinh", "r"),
    ("acosh", "r"),
    ("atanh", "r"),
    ("erf", "r"),
    ("erfc", "r"),
    ("hypot", "rr"),
    ("powf", "rr"),
    ("power", "rr"),
    ("power_slope", "rr"),
    ("base_slope", "rr"),
    ("exponent_slope", "rr"),
    ("fmod", "rr"),
    ("remainder", "rr"),
    ("quotient", "rrr"),
    ("floor", "r"),
    ("ceil", "r"),
    ("trunc", "r"),
    ("round", "r"),
    ("copysign", "rr"),
    ("sigmoid", "r"),
    ("normal_density", "r"),
    ("ndtr", "r"),
    ("erfcx", "r"),
    ("erfinv", "r"),
    ("ndtri", "r"),
    ("log_ndtr", "r"),
    ("tanhshrink", "r"),
    ("sinc", "r"),
    ("sinc_slope", "rr"),
    ("digamma", "r"),
    ("trigamma", "r"),
    ("polygamma", "rr"),
    ("i0", "r"),
    ("i0e", "r"),
    ("i1", "r"),
    ("i1e", "r"),
    ("wrapping_add", "rr"),
    ("wrapping_sub", "rr"),
    ("wrapping_mul", "rr"),
    ("wrapping_neg", "r"),
    ("wrapping_abs", "r"),
    ("wrapping_div", "rr"),
    ("wrapping_rem", "rr"),
    ("wrapping_pow", "rr"),
    ("signum", "r"),
    ("max", "rr"),
    ("min", "rr"),
    ("from", "r"),
];

/// Numbers of the language, under their names in Rust.
const NUMBERS: &[(&str, f64)] = &[("INFINITY", f64::INFINITY), ("NEG_INFINITY", f64::NEG_INFINITY), ("NAN", f64::NAN)];

/// The body of a function: its statements, and the operations that it calls.
pub struct Body {
    /// Statements, the last of which returns the value.
    pub text: String,
    /// The names of operations.
    pub words: Vec<&'static str>,
}

/// Translates an expression for the type `real`; `spell` is the name of an operation in the target language. An unknown operation is an
/// error that names it.
pub fn translate(expression: &Expression, real: &str, spell: &dyn Fn(&str) -> String) -> Result<Body, String> {
    let mut text = String::new();
    for (name, value) in expression.parameters.iter().filter(|(name, _)| !name.starts_with('_')) {
        text +=
            &format!("const {real} {name} = ({real}){}; ", if real == "i64" { whole(*value) } else { number(*value) });
    }
    for (name, value) in expression.constants.iter().filter(|(name, _)| expression.text.contains(name)) {
        text += &format!("const double {name} = {}; ", number(*value));
    }
    let mut names: Vec<String> = expression.operands.iter().map(ToString::to_string).collect();
    names.extend(expression.parameters.iter().map(|(name, _)| name.to_string()));
    names.extend(expression.constants.iter().map(|(name, _)| name.to_string()));
    let tokens = tokens(&expression.text)?;
    let mut parser = Parser { tokens: &tokens, real, spell, names, statements: text, words: Vec::new() };
    let value = parser.expression("r")?;
    match parser.tokens {
        [] => Ok(Body { text: format!("{}return {value};", parser.statements), words: parser.words }),
        [rest, ..] => Err(rest.clone()),
    }
}

/// A double-precision literal, exactly.
pub fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NAN".to_string(),
        f64::INFINITY => "INFINITY".to_string(),
        f64::NEG_INFINITY => "-INFINITY".to_string(),
        _ => format!("{value:?}"),
    }
}

/// A number as an integer, at most the limits of its type.
fn whole(value: f64) -> String {
    match value as i64 {
        // The digits alone would be too large for a literal.
        i64::MIN => format!("({} - 1)", -i64::MAX),
        value => value.to_string(),
    }
}

fn tokens(text: &str) -> Result<Vec<String>, String> {
    let (mut tokens, mut chars) = (Vec::new(), text.chars().peekable());
    let take = |chars: &mut Peekable<Chars<'_>>, belongs: fn(char) -> bool| -> String {
        std::iter::from_fn(|| chars.next_if(|next| belongs(*next))).collect()
    };
    while let Some(&next) = chars.peek() {
        if next.is_whitespace() {
            chars.next();
        } else if next.is_alphabetic() || next == '_' {
            tokens.push(take(&mut chars, |next| next.is_alphanumeric() || next == '_'));
        } else if next == ':' {
            // The path of a name.
            take(&mut chars, |next| next == ':');
            tokens.pop();
        } else if next.is_ascii_digit() {
            let mut number = take(&mut chars, |next| next.is_ascii_digit() || matches!(next, '_' | '.' | 'e'));
            if number.ends_with('e') {
                // The sign of the exponent.
                number += &take(&mut chars, |next| next.is_ascii_digit() || next == '-');
            }
            tokens.push(number.replace('_', ""));
        } else if "<>=!&|".contains(next) {
            tokens.push(take(&mut chars, |next| "<>=!&|".contains(next)));
        } else if "+-*/(){},;.".contains(next) {
            tokens.push(chars.next().into_iter().collect());
        } else {
            return Err(next.to_string());
        }
    }
    Ok(tokens)
}

/// Operators by increasing precedence, as in Rust.
const OPERATORS: [&[&str]; 7] =
    [&["||"], &["&&"], &["==", "!=", "<", "<=", ">", ">="], &["|"], &["&"], &["+", "-"], &["*", "/"]];

/// The rest of an expression. A `kind` is a type of numbers: `r` for the compute type, `d` for double.
struct Parser<'a> {
    tokens: &'a [String],
    real: &'a str,
    spell: &'a dyn Fn(&str) -> String,
    names: Vec<String>,
    statements: String,
    words: Vec<&'static str>,
}

impl Parser<'_> {
    fn is_next(&self, token: &str) -> bool {
        self.tokens.first().is_some_and(|next| next == token)
    }

    fn next(&mut self) -> Result<String, String> {
        let (next, rest) = self.tokens.split_first().ok_or("nothing")?;
        self.tokens = rest;
        Ok(next.clone())
    }

    fn expect(&mut self, token: &str) -> Result<(), String> {
        let next = self.next()?;
        if next == token { Ok(()) } else { Err(next) }
    }

    fn expression(&mut self, kind: &str) -> Result<String, String> {
        if self.is_next("if") {
            self.next()?;
            let condition = self.operators(0, kind)?;
            let then = self.block(kind)?;
            self.expect("else")?;
            let other = if self.is_next("if") { self.expression(kind)? } else { self.block(kind)? };
            return Ok(format!("({condition} ? {then} : {other})"));
        }
        if self.is_next("{") { self.block(kind) } else { self.operators(0, kind) }
    }

    /// `{ let a = ..; .. }`
    fn block(&mut self, kind: &str) -> Result<String, String> {
        self.expect("{")?;
        while self.is_next("let") {
            self.next()?;
            let name = self.next()?;
            self.expect("=")?;
            let value = self.expression(kind)?;
            self.expect(";")?;
            self.statements += &format!("const {} {name} = {value}; ", self.real);
            self.names.push(name);
        }
        let value = self.expression(kind)?;
        self.expect("}")?;
        Ok(value)
    }

    fn operators(&mut self, level: usize, kind: &str) -> Result<String, String> {
        let Some(known) = OPERATORS.get(level) else { return self.unary(kind) };
        let mut left = self.operators(level + 1, kind)?;
        while known.iter().any(|operator| self.is_next(operator)) {
            let operator = self.next()?;
            left = format!("({left} {operator} {})", self.operators(level + 1, kind)?);
        }
        Ok(left)
    }

    fn unary(&mut self, kind: &str) -> Result<String, String> {
        if self.is_next("-") || self.is_next("!") {
            let operator = self.next()?;
            return Ok(format!("({operator}{})", self.unary(kind)?));
        }
        let mut value = self.primary(kind)?;
        while self.is_next(".") {
            self.next()?;
            let word = self.next()?;
            self.expect("(")?;
            value = self.call(&word, vec![value])?;
        }
        if self.is_next("as") {
            self.next()?;
            value = format!("(({}){value})", self.next()?);
        }
        Ok(value)
    }

    fn primary(&mut self, kind: &str) -> Result<String, String> {
        let token = self.next()?;
        if token == "(" {
            let value = self.expression(kind)?;
            self.expect(")")?;
            return Ok(value);
        }
        if token.starts_with(|first: char| first.is_ascii_digit()) {
            return Ok(if kind == "r" { format!("(({}){token})", self.real) } else { token });
        }
        if self.is_next("(") {
            self.next()?;
            return self.call(&token, Vec::new());
        }
        if self.names.contains(&token) {
            return Ok(token);
        }
        let (_, value) = NUMBERS.iter().find(|(name, _)| *name == token).ok_or(token)?;
        Ok(number(*value))
    }

    /// `value, |name| .. )`
    fn given(&mut self) -> Result<String, String> {
        let value = self.expression("r")?;
        self.expect(",")?;
        self.expect("|")?;
        let name = self.next()?;
        self.expect("|")?;
        self.statements += &format!("const {} {name} = {value}; ", self.real);
        self.names.push(name);
        let result = self.expression("r")?;
        self.expect(")")?;
        Ok(result)
    }

    /// An operation with its remaining arguments, up to the closing parenthesis.
    fn call(&mut self, word: &str, mut arguments: Vec<String>) -> Result<String, String> {
        if word == "given" {
            return self.given();
        }
        let Some((known, kinds)) = WORDS.iter().find(|(known, _)| *known == word) else {
            return Err(word.to_string());
        };
        while !self.is_next(")") {
            let kind = kinds.get(arguments.len()..=arguments.len()).ok_or(word)?;
            arguments.push(self.expression(kind)?);
            if self.is_next(",") {
                self.next()?;
            }
        }
        self.expect(")")?;
        self.words.push(known);
        Ok(format!("{}({})", (self.spell)(word), arguments.join(", ")))
    }
}
