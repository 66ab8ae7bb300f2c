//! Rewrite rules: equations that are applied from left to right.
//!
//! Where possible, the text is the rule: `neg(neg(x)) = x` is parsed and matched as it is. A rule that depends on attributes, such as the
//! composition of two permutations, is a function, and the text describes it.

use super::edit::{Edit, Rewrite};
use super::known::is_elementwise;
use super::pattern::Formula;
use crate::program::{Equation, Var};
use rustc_hash::FxHashMap;

/// How equal the two sides of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// The same bits, except for the payload of a NaN.
    Bits,
    /// The same values, but a zero may have the other sign.
    Zeros,
    /// The same up to rounding, for example sums in another order.
    Rounding,
}

/// An equation that is applied from left to right.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The equation. A name without parentheses matches anything, a number matches a tensor filled with it, and `f` matches any elementwise
    /// operation; operands of commutative operations match in either order. The text after `for` restricts the rule.
    pub equation: &'static str,
    /// How equal its sides are.
    pub equality: Equality,
    function: Option<fn(&mut Edit<'_>, &Equation) -> Option<Var>>,
    condition: Option<fn(&Edit<'_>, &Equation) -> bool>,
}

impl Rule {
    /// A rule defined by its text.
    pub(super) const fn new(equation: &'static str) -> Rule {
        Rule { equation, equality: Equality::Bits, function: None, condition: None }
    }

    /// Implements the rule by a function, which is given calls of the operation on the left.
    pub(super) const fn by(self, function: fn(&mut Edit<'_>, &Equation) -> Option<Var>) -> Rule {
        Rule { function: Some(function), ..self }
    }

    /// Restricts the rule to calls that satisfy a condition.
    pub(super) const fn when(self, condition: fn(&Edit<'_>, &Equation) -> bool) -> Rule {
        Rule { condition: Some(condition), ..self }
    }

    /// Sets how equal the two sides are.
    pub(super) const fn up_to(self, equality: Equality) -> Rule {
        Rule { equality, ..self }
    }

    /// The operation on the left-hand side.
    fn head(&self) -> &'static str {
        let end = self.equation.find(['(', '[']).expect("the left side is a call");
        &self.equation[..end]
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.equation)
    }
}

/// A rule prepared for matching.
struct Ready {
    rule: Rule,
    /// The parsed text, if it defines the rule completely.
    formula: Option<Formula>,
}

/// Rules by the operation on their left-hand side.
pub(super) struct Index {
    by_name: FxHashMap<&'static str, Vec<Ready>>,
    /// Rules for any elementwise operation.
    elementwise: Vec<Ready>,
}

impl Index {
    pub fn of(rules: &'static [Rule]) -> Index {
        let mut index = Index { by_name: FxHashMap::default(), elementwise: Vec::new() };
        for rule in rules {
            let formula = rule.function.is_none().then(|| Formula::parse(rule.equation));
            let ready = Ready { rule: *rule, formula };
            match rule.head() {
                "f" => index.elementwise.push(ready),
                name => index.by_name.entry(name).or_default().push(ready),
            }
        }
        index
    }

    /// The rules as a function of equations.
    pub fn rewrite(&'static self) -> Box<Rewrite> {
        Box::new(|edit, equation| self.apply(edit, equation))
    }

    /// Applies the first rule that matches an equation.
    fn apply(&self, edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
        let named = self.by_name.get(equation.op.name()).into_iter().flatten();
        let named = named.filter(|_| super::known::is_built_in(equation.op));
        let elementwise = self.elementwise.iter().filter(|_| is_elementwise(equation.op));
        named.chain(elementwise).find_map(|ready| ready.apply(edit, equation))
    }
}

impl Ready {
    fn apply(&self, edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
        if self.rule.condition.is_some_and(|holds| !holds(edit, equation)) {
            return None;
        }
        let var = match (&self.formula, self.rule.function) {
            (Some(formula), _) => formula.apply(edit, equation)?,
            (None, Some(function)) => function(edit, equation)?,
            (None, None) => unreachable!("a rule is its text or a function"),
        };
        debug_assert_eq!(edit.spec(var), edit.spec(equation.outputs[0]), "{} changes the spec", self.rule.equation);
        Some(var)
    }
}
