//! Translates elementwise expressions from Rust to C.

use std::iter::Peekable;
use std::str::Chars;
use wengert::primitive::Expression;

/// The operations that the C program supports: the types of their arguments, `r` for the compute type and `d` for double, and whether the
/// result is bitwise equal to ours. Functions of the C library are not: they round the last place differently.
const WORDS: &[(&str, &str, bool)] = &[
    ("sqrt", "r", true),
    ("recip", "r", true),
    ("square", "r", true),
    ("scale", "rd", true),
    ("shift", "rd", true),
    ("lit", "d", true),
    ("constant", "d", true),
    ("nan_below", "rd", true),
    ("guarded", "rr", true),
    ("both", "rr", true),
    ("exp", "r", false),
    ("log1p", "r", false),
    ("tanh", "r", false),
    ("sigmoid", "r", false),
];

/// The operations in C, for the type `R` whose names end in `S`.
pub const PRELUDE: &str = r"
#define WORDS(R, S) \
    static R sqrt_##S(R x) { return (R)sqrt((double)x); } \
    static R recip_##S(R x) { return (R)1 / x; } \
    static R square_##S(R x) { return x * x; } \
    static R scale_##S(R x, double factor) { return x * (R)factor; } \
    static R shift_##S(R x, double amount) { return x + (R)amount; } \
    static R lit_##S(double value) { return (R)value; } \
    static R constant_##S(double value) { return (R)value; } \
    static R nan_below_##S(R x, double border) { return x < (R)border ? (R)NAN : x; } \
    static R guarded_##S(R g, R s) { return g == 0 || (s == 0 && (g < 0 || g > 0)) ? (R)0 : g * s; } \
    static R both_##S(R a, R b) { return a == 0 || b == 0 ? (R)0 : a * b; } \
    static R exp_##S(R x) { return (R)exp((double)x); } \
    static R log1p_##S(R x) { return (R)log1p((double)x); } \
    static R tanh_##S(R x) { return (R)tanh((double)x); } \
    static R sigmoid_##S(R x) { return (R)(1 / (1 + exp(-(double)x))); }
WORDS(float, f32)
WORDS(double, f64)
";

/// The body of a C function: its statements, and whether all of its operations are exact.
pub struct Body {
    pub text: String,
    pub is_exact: bool,
}

/// Translates an expression for the type `real`, whose names end in `suffix`. An unknown operation is an error that names it.
pub fn translate(expression: &Expression, real: &str, suffix: &str) -> Result<Body, String> {
    let mut text = String::new();
    for (name, value) in expression.parameters.iter().filter(|(name, _)| !name.starts_with('_')) {
        text += &format!("const {real} {name} = ({real}){}; ", number(*value));
    }
    for (name, value) in expression.constants {
        text += &format!("const double {name} = {}; ", number(*value));
    }
    let mut names: Vec<String> = expression.operands.iter().map(ToString::to_string).collect();
    names.extend(expression.parameters.iter().map(|(name, _)| name.to_string()));
    names.extend(expression.constants.iter().map(|(name, _)| name.to_string()));
    let tokens = tokens(&expression.text)?;
    let mut parser = Parser { tokens: &tokens, real, suffix, names, statements: text, is_exact: true };
    let value = parser.expression("r")?;
    match parser.tokens {
        [] => Ok(Body { text: format!("{}return {value};", parser.statements), is_exact: parser.is_exact }),
        [rest, ..] => Err(rest.clone()),
    }
}

/// A double-precision literal, exactly.
fn number(value: f64) -> String {
    match value {
        _ if value.is_nan() => "NAN".to_string(),
        f64::INFINITY => "INFINITY".to_string(),
        f64::NEG_INFINITY => "-INFINITY".to_string(),
        _ => format!("{value:?}"),
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
            let word = take(&mut chars, |next| next.is_alphanumeric() || matches!(next, '_' | ':'));
            tokens.push(word.rsplit("::").next().unwrap_or_default().to_string());
        } else if next.is_ascii_digit() {
            tokens.push(take(&mut chars, |next| next.is_ascii_digit() || matches!(next, '_' | '.')).replace('_', ""));
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
    suffix: &'a str,
    names: Vec<String>,
    statements: String,
    is_exact: bool,
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
        if self.names.contains(&token) { Ok(token) } else { Err(token) }
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
        let Some((_, kinds, is_exact)) = WORDS.iter().find(|(known, ..)| *known == word) else {
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
        self.is_exact &= is_exact;
        Ok(format!("{word}_{}({})", self.suffix, arguments.join(", ")))
    }
}

#[test]
fn expressions_become_c() {
    let of = |text: &str| Expression {
        operands: ["x", "y"].into_iter().collect(),
        parameters: [("alpha", 0.5)].into_iter().collect(),
        constants: &[],
        text: text.to_string().into(),
    };
    let c = |text: &str| {
        let text = translate(&of(text), "float", "f32").map(|body| body.text)?;
        Ok::<String, String>(text.replace("const float alpha = (float)0.5; ", ""))
    };
    assert_eq!(c("1.0 - y * y").unwrap(), "return (((float)1.0) - (y * y));");
    assert_eq!(c("if x <= 0.0 { -x } else { x }").unwrap(), "return ((x <= ((float)0.0)) ? (-x) : x);");
    assert_eq!(c("scale(x, 3.0 * 0.25)").unwrap(), "return scale_f32(x, (3.0 * 0.25));");
    assert_eq!(c("{ let s = exp(x); s * s }").unwrap(), "const float s = exp_f32(x); return (s * s);");
    assert_eq!(c("given(exp(x), |s| s * s)").unwrap(), "const float s = exp_f32(x); return (s * s);");
    assert_eq!(c("crate::rules::guarded(x, alpha)").unwrap(), "return guarded_f32(x, alpha);");
    assert_eq!(c("x.recip()").unwrap(), "return recip_f32(x);");
    assert_eq!(c("power(x, alpha)").unwrap_err(), "power");
}
