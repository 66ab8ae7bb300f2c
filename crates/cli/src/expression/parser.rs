//! Parses an expression: precedence climbing over tokens.
//!
//! ```text
//! text       = { "let" name "=" expression ";" } sequence
//! sequence   = expression { "," expression } [ "," ]
//! expression = operand { operator operand }      with + - below * / below unary minus below ^, which is right associative
//! operand    = number | name | name "(" arguments ")" | "(" sequence ")" | "[" expression { "," expression } "]"
//!            | operand "[" expression "]"
//! arguments  = expression { "," expression } | name "in" expression ( ".." | "..=" ) expression "," expression
//! ```

use super::fault::{Fault, Span};
use super::functions::{Function, is_function};
use super::lexer::{Kind as Lexeme, Token, tokens};
use super::tree::{Each, Id, Kind, Tree};
use std::f64::consts::{E, PI};

/// How deeply parentheses, signs and powers may lie in each other.
const DEEPEST: usize = 200;

/// How tightly an operator binds its operands.
const SUM: u8 = 1;
const PRODUCT: u8 = 2;
const SIGN: u8 = 3;
const POWER: u8 = 4;

/// Words that are no names.
const WORDS: [&str; 2] = ["let", "in"];

/// The value of a constant.
pub fn constant(name: &str) -> Option<f64> {
    match name {
        "pi" | "π" => Some(PI),
        "e" => Some(E),
        _ => None,
    }
}

/// The tree of `text`.
pub fn parse(text: &str) -> Result<Tree, Fault> {
    let tokens = tokens(text)?;
    if tokens[0].kind == Lexeme::End {
        return Err(Fault::new("there is nothing to read").help("an expression is x1*x2 + sin(x1), for example"));
    }
    let mut parser = Parser { text, tokens, next: 0, depth: 0, ranges: 0, names: Vec::new(), tree: Tree::default() };
    while parser.take_word("let") {
        parser.definition()?;
    }
    let result = parser.sequence(Lexeme::End)?;
    if parser.kind() != Lexeme::End {
        return Err(parser.unexpected("an operator or the end should follow"));
    }
    Ok(Tree { result, ..parser.tree })
}

/// What a name stands for.
#[derive(Clone, Copy)]
enum Meaning {
    Value(Id),
    Counter(usize),
}

struct Parser<'t> {
    text: &'t str,
    tokens: Vec<Token>,
    /// The position of the next token.
    next: usize,
    depth: usize,
    /// The number of ranges around the next token.
    ranges: usize,
    /// Names that are defined in the expression; later ones hide earlier ones.
    names: Vec<(&'t str, Meaning)>,
    tree: Tree,
}

impl<'t> Parser<'t> {
    fn token(&self) -> Token {
        self.tokens[self.next]
    }

    fn kind(&self) -> Lexeme {
        self.token().kind
    }

    fn place(&self) -> Span {
        self.token().place
    }

    /// The text of the next token.
    fn word(&self) -> &'t str {
        let Span { start, end } = self.place();
        &self.text[start..end]
    }

    /// Takes the next token; the end stays.
    fn take(&mut self) -> Token {
        let token = self.token();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn take_symbol(&mut self, symbol: &'static str) -> bool {
        let is_next = self.kind() == Lexeme::Symbol(symbol);
        if is_next {
            self.take();
        }
        is_next
    }

    fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.kind() == Lexeme::Name && self.word() == word;
        if is_next {
            self.take();
        }
        is_next
    }

    /// The fault that the next token is not what should be there.
    fn unexpected(&self, expected: &str) -> Fault {
        let found = match self.kind() {
            Lexeme::End => "the expression ends here".to_string(),
            _ => format!("'{}' is unexpected here", self.word()),
        };
        Fault::new(format!("{found}: {expected}")).at(self.place())
    }

    fn expect(&mut self, symbol: &'static str) -> Result<(), Fault> {
        match self.take_symbol(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&format!("'{symbol}' should follow"))),
        }
    }

    /// Takes what closes the bracket at `open`.
    fn close(&mut self, open: Span, symbol: &'static str) -> Result<(), Fault> {
        match self.kind() {
            Lexeme::End => Err(Fault::new(format!("'{}' is not closed", &self.text[open.start..open.end])).at(open)),
            _ => self.expect(symbol),
        }
    }

    /// Takes a name that is to be defined.
    fn new_name(&mut self) -> Result<&'t str, Fault> {
        let name = self.word();
        if self.kind() != Lexeme::Name || WORDS.contains(&name) {
            return Err(self.unexpected("a name should follow"));
        }
        self.take();
        Ok(name)
    }

    /// `name = expression;` after `let`.
    fn definition(&mut self) -> Result<(), Fault> {
        let name = self.new_name()?;
        self.expect("=")?;
        let value = self.expression(SUM)?;
        self.expect(";")?;
        self.names.push((name, Meaning::Value(value)));
        self.tree.defined.push(name.to_string());
        Ok(())
    }

    /// Expressions up to `end`, which stays; with a comma, they are a tuple.
    fn sequence(&mut self, end: Lexeme) -> Result<Id, Fault> {
        let first = self.expression(SUM)?;
        let comma = self.place();
        if self.kind() != Lexeme::Symbol(",") {
            return Ok(first);
        }
        let mut parts = vec![first];
        while self.take_symbol(",") && self.kind() != end {
            parts.push(self.expression(SUM)?);
        }
        Ok(self.tree.push(Kind::Tuple(parts), comma))
    }

    /// An expression of operators that bind at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Result<Id, Fault> {
        self.depth += 1;
        if self.depth > DEEPEST {
            let message = format!("the expression is nested more than {DEEPEST} levels deep");
            return Err(Fault::new(message).at(self.place()).help("name its parts: let t = ..; t * sin(t)"));
        }
        let mut left = match self.kind() {
            Lexeme::Symbol("-") => {
                let place = self.take().place;
                let operand = self.expression(SIGN)?;
                self.call("neg", vec![operand], place)?
            }
            _ => self.operand()?,
        };
        while let Some((name, binding)) = self.operator()? {
            if binding < least {
                break;
            }
            let place = self.take().place;
            let right = self.expression(if binding == POWER { POWER } else { binding + 1 })?;
            left = self.call(name, vec![left, right], place)?;
        }
        self.depth -= 1;
        Ok(left)
    }

    /// The primitive of the next token, if it is an operator, and how tightly it binds.
    fn operator(&self) -> Result<Option<(&'static str, u8)>, Fault> {
        Ok(Some(match self.kind() {
            Lexeme::Symbol("+") => ("add", SUM),
            Lexeme::Symbol("-") => ("sub", SUM),
            Lexeme::Symbol("*") => ("mul", PRODUCT),
            Lexeme::Symbol("/") => ("div", PRODUCT),
            Lexeme::Symbol("^") => ("pow", POWER),
            Lexeme::Number(_) | Lexeme::Symbol("(") => return Err(self.missing_operator()),
            Lexeme::Name if !WORDS.contains(&self.word()) => return Err(self.missing_operator()),
            _ => return Ok(None),
        }))
    }

    fn missing_operator(&self) -> Fault {
        let last = self.tokens[self.next - 1].place;
        // A parenthesis stands for what it encloses.
        let side = |text: &'t str| if matches!(text, "(" | ")") { "(..)" } else { text };
        let pair = format!("{} * {}", side(&self.text[last.start..last.end]), side(self.word()));
        Fault::new("an operator is missing here").at(self.place()).help(format!("a product is written with *: {pair}"))
    }

    fn call(&mut self, name: &str, operands: Vec<Id>, place: Span) -> Result<Id, Fault> {
        let function = Function::find(name, operands.len()).map_err(|fault| fault.at(place))?;
        Ok(self.tree.push(Kind::Call(function, operands), place))
    }

    fn operand(&mut self) -> Result<Id, Fault> {
        let place = self.place();
        let mut operand = match self.kind() {
            Lexeme::Number(number) => {
                self.take();
                self.tree.push(Kind::Number(number), place)
            }
            Lexeme::Name if !WORDS.contains(&self.word()) => self.name()?,
            Lexeme::Symbol("(") => {
                self.take();
                let inside = self.sequence(Lexeme::Symbol(")"))?;
                self.close(place, ")")?;
                inside
            }
            Lexeme::Symbol("[") => {
                self.take();
                let mut elements = vec![self.expression(SUM)?];
                while self.take_symbol(",") {
                    elements.push(self.expression(SUM)?);
                }
                self.close(place, "]")?;
                self.tree.push(Kind::Vector(elements), place)
            }
            Lexeme::Symbol("*") if self.next > 0 && self.tokens[self.next - 1].kind == Lexeme::Symbol("*") => {
                return Err(Fault::new("'**' is no operator").at(place).help("a power is written with ^: x ^ 2"));
            }
            _ => return Err(self.unexpected("a number, a name or a parenthesis should follow")),
        };
        while self.kind() == Lexeme::Symbol("[") {
            let place = self.take().place;
            let index = self.expression(SUM)?;
            self.close(place, "]")?;
            operand = self.tree.push(Kind::Element(operand, index), place);
        }
        Ok(operand)
    }

    /// A name: a call, a definition, a constant or a variable.
    fn name(&mut self) -> Result<Id, Fault> {
        let (name, place) = (self.word(), self.take().place);
        let meaning = self.names.iter().rev().find(|(known, _)| *known == name).map(|(_, meaning)| *meaning);
        if self.kind() == Lexeme::Symbol("(") {
            let is_value = meaning.is_some() || constant(name).is_some() || self.variable(name).is_some();
            return match is_value && !is_function(name) {
                true => Err(self.missing_operator()),
                false => self.arguments(name, place),
            };
        }
        Ok(match (meaning, constant(name)) {
            (Some(Meaning::Value(id)), _) => id,
            (Some(Meaning::Counter(counter)), _) => self.tree.push(Kind::Counter(counter), place),
            (None, Some(number)) => self.tree.push(Kind::Number(number), place),
            (None, None) if is_function(name) => {
                return Err(Fault::new(format!("{name} is a function")).at(place).help(format!("call it: {name}(x)")));
            }
            (None, None) => {
                let number = self.variable(name).unwrap_or_else(|| {
                    self.tree.variables.push((name.to_string(), place));
                    self.tree.variables.len() - 1
                });
                self.tree.push(Kind::Variable(number), place)
            }
        })
    }

    /// The number of a variable that has occurred before.
    fn variable(&self, name: &str) -> Option<usize> {
        self.tree.variables.iter().position(|(known, _)| known == name)
    }

    /// The call of the function `name`.
    fn arguments(&mut self, name: &str, place: Span) -> Result<Id, Fault> {
        let open = self.take().place;
        let mut operands = Vec::new();
        if self.kind() == Lexeme::Name && self.tokens[self.next + 1].kind == Lexeme::Name && self.is_word(1, "in") {
            operands.push(self.each()?);
        } else if self.kind() != Lexeme::Symbol(")") {
            operands.push(self.expression(SUM)?);
            while self.take_symbol(",") {
                operands.push(self.expression(SUM)?);
            }
        }
        if self.kind() == Lexeme::Symbol("=") {
            return Err(self.unexpected("')' should follow").help("a range is written sum(i in 1..=3, x^i)"));
        }
        self.close(open, ")")?;
        self.call(name, operands, place)
    }

    /// Whether the token after `ahead` others is this word.
    fn is_word(&self, ahead: usize, word: &str) -> bool {
        let Span { start, end } = self.tokens[self.next + ahead].place;
        &self.text[start..end] == word
    }

    /// `i in 1..=3, x^i`.
    fn each(&mut self) -> Result<Id, Fault> {
        let name = self.new_name()?;
        self.take();
        let first = self.expression(SUM)?;
        let place = self.place();
        let is_inclusive = self.take_symbol("..=");
        if !is_inclusive && !self.take_symbol("..") {
            return Err(self.unexpected("a range such as 1..=3 should follow"));
        }
        let last = self.expression(SUM)?;
        self.expect(",")?;

        let (counter, id) = (self.ranges, Id(self.tree.nodes.len()));
        let unfinished = Each { counter, first, last, is_inclusive, body: 0..0, result: id };
        self.tree.push(Kind::Each(unfinished.clone()), place);
        self.ranges += 1;
        self.tree.counters = self.tree.counters.max(self.ranges);
        self.names.push((name, Meaning::Counter(counter)));
        self.tree.defined.push(name.to_string());
        let result = self.expression(SUM)?;
        self.names.pop();
        self.ranges -= 1;
        let body = id.0 + 1..self.tree.nodes.len();
        self.tree.nodes[id.0].kind = Kind::Each(Each { body, result, ..unfinished });
        Ok(id)
    }
}
