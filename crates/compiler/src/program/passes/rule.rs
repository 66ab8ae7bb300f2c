//! A rule: an equation that is applied from left to right.
//!
//! Its text is the rule wherever it can be: `neg(neg(x)) = x` is read and matched as it stands. What depends on attributes, such
//! as the composition of two permutations, is a function, and the text says what it does.

use super::edit::{Edit, Rewrite};
use super::known::is_elementwise;
use super::pattern::Formula;
use crate::program::{Equation, Var};
use rustc_hash::FxHashMap;

/// How equal the two sides of a rule are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Equality {
    /// The same bits, but for those of a NaN.
    Bits,
    /// The same numbers; a zero may have the other sign.
    Zeros,
    /// The same but for rounding: sums in another order.
    Rounding,
}

/// An equation that is applied from left to right.
#[derive(Clone, Copy)]
pub struct Rule {
    /// The equation. Names without parentheses stand for anything, numbers for that number at every place, `f` for any
    /// elementwise operation; operands of sums and products stand in either order. What follows `for` restricts it.
    pub equation: &'static str,
    /// How equal its sides are.
    pub equality: Equality,
    function: Option<fn(&mut Edit<'_>, &Equation) -> Option<Var>>,
    condition: Option<fn(&Edit<'_>, &Equation) -> bool>,
}

impl Rule {
    /// A rule that its text says.
    pub(super) const fn new(equation: &'static str) -> Rule {
        Rule { equation, equality: Equality::Bits, function: None, condition: None }
    }

    /// By a function, which is given calls of the operation on the left.
    pub(super) const fn by(self, function: fn(&mut Edit<'_>, &Equation) -> Option<Var>) -> Rule {
        Rule { function: Some(function), ..self }
    }

    /// Only where this holds of the call.
    pub(super) const fn when(self, condition: fn(&Edit<'_>, &Equation) -> bool) -> Rule {
        Rule { condition: Some(condition), ..self }
    }

    /// Equal to this degree.
    pub(super) const fn up_to(self, equality: Equality) -> Rule {
        Rule { equality, ..self }
    }

    /// The operation on the left.
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

/// A rule as it is applied.
struct Ready {
    rule: Rule,
    /// The text, where it says everything.
    formula: Option<Formula>,
}

/// Rules by the operation on their left sides.
pub(super) struct Index {
    by_name: FxHashMap<&'static str, Vec<Ready>>,
    /// Those of any elementwise operation.
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

    /// As a function of equations.
    pub fn rewrite(&'static self) -> Box<Rewrite> {
        Box::new(|edit, equation| self.apply(edit, equation))
    }

    /// What the first rule that fits makes of an equation.
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
