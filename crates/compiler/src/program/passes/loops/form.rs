//! Takes a scan apart, and reassembles it.

use super::super::known::*;
use super::around::Around;
use crate::location::Line;
use crate::primitive::{Cost, Dependency, Layout, SpecRef};
use crate::program::ProgramAttrs;
use crate::program::control::ScanForm;
use crate::program::{Equation, Program, ProgramAttr, Var};
use smallvec::SmallVec;

/// A value stacked by this pass may take at most this multiple of the bytes of the loop's operands and outputs.
const MOST: usize = 8;

/// A scan: inner variables are those of its body, outer variables those of the program around it.
pub(super) struct Loop {
    /// Its inputs and outputs are the lists below.
    pub body: Program,
    pub consts: Vec<Pair>,
    pub carries: Vec<Carry>,
    pub elements: Vec<Pair>,
    /// The outputs of every step, and their stacks.
    pub given: Vec<Pair>,
    pub length: usize,
    pub reverse: bool,
    pub line: Option<Line>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Pair {
    pub inside: Var,
    pub outside: Var,
}

#[derive(Clone, Copy)]
pub(super) struct Carry {
    /// Before and after a step.
    pub inside: Var,
    pub next: Var,
    /// Before and after the loop.
    pub first: Var,
    pub last: Var,
}

impl Loop {
    pub fn of(equation: &Equation) -> Loop {
        let ScanForm { consts, carry, length, reverse, body } = ScanForm::of(&equation.attrs);
        let body = Program::clone(&body);
        let pair = |(inside, outside): (&Var, &Var)| Pair { inside: *inside, outside: *outside };
        let operands: Vec<Pair> = body.inputs.iter().zip(&equation.inputs).map(pair).collect();
        let outputs: Vec<Pair> = body.outputs.iter().zip(&equation.outputs).map(pair).collect();
        let join = |(before, after): (&Pair, &Pair)| Carry {
            inside: before.inside,
            next: after.inside,
            first: before.outside,
            last: after.outside,
        };
        Loop {
            consts: operands[..consts].to_vec(),
            carries: operands[consts..consts + carry].iter().zip(&outputs).map(join).collect(),
            elements: operands[consts + carry..].to_vec(),
            given: outputs[carry..].to_vec(),
            body,
            length,
            reverse,
            line: equation.line,
        }
    }

    /// The equation of the scan; `None` if it has no results.
    pub fn equation(self) -> Option<Equation> {
        let Loop { mut body, consts, carries, elements, given, length, reverse, line } = self;
        let inside = |pairs: &[Pair]| pairs.iter().map(|pair| pair.inside).collect::<Vec<_>>();
        let outside = |pairs: &[Pair]| pairs.iter().map(|pair| pair.outside).collect::<Vec<_>>();
        let carried = |part: fn(&Carry) -> Var| carries.iter().map(part).collect::<Vec<_>>();
        body.inputs = [inside(&consts), carried(|carry| carry.inside), inside(&elements)].concat();
        body.outputs = [carried(|carry| carry.next), inside(&given)].concat();
        let body = super::super::prune::run(body).0;
        let form =
            ScanForm { consts: consts.len(), carry: carries.len(), length, reverse, body: ProgramAttr::from(body) };
        let outputs = [carried(|carry| carry.last), outside(&given)].concat();
        (!outputs.is_empty()).then(|| Equation {
            op: SCAN,
            attrs: form.attrs(),
            inputs: [outside(&consts), carried(|carry| carry.first), outside(&elements)].concat(),
            outputs,
            line,
            from_rule: false,
        })
    }

    pub fn bytes(&self, inside: Var) -> usize {
        self.body.spec(inside).bytes()
    }

    /// The maximum number of bytes of a stacked value.
    pub fn limit(&self, around: &Around) -> usize {
        let carried = self.carries.iter().flat_map(|carry| [carry.first, carry.last]);
        let pairs = self.consts.iter().chain(&self.elements).chain(&self.given);
        let all = carried.chain(pairs.map(|pair| pair.outside));
        MOST.saturating_mul(all.map(|var| around.spec(var).bytes()).sum())
    }

    /// Replaces `var` by `other` in the body, wherever it is read.
    pub fn replace(&mut self, var: Var, other: Var) {
        let replace = |read: &mut Var| *read = if *read == var { other } else { *read };
        self.body.equations.iter_mut().flat_map(|equation| &mut equation.inputs).for_each(replace);
        self.carries.iter_mut().for_each(|carry| replace(&mut carry.next));
        self.given.iter_mut().for_each(|pair| replace(&mut pair.inside));
    }

    /// A new inner variable.
    pub fn fresh(&mut self, like: Var) -> Var {
        let spec = self.body.spec(like).clone();
        self.body.specs.push(spec);
        Var(self.body.specs.len() as u32 - 1)
    }

    /// The results of a step.
    pub fn results(&self) -> impl Iterator<Item = Var> + '_ {
        self.carries.iter().map(|carry| carry.next).chain(self.given.iter().map(|pair| pair.inside))
    }

    /// The part of a step that computes `outputs` from `inputs`.
    pub fn between(&self, inputs: &[Var], outputs: &[Var]) -> Program {
        let mut needed = vec![false; self.body.specs.len()];
        outputs.iter().for_each(|var| needed[var.index()] = true);
        let mut equations: Vec<Equation> = Vec::new();
        for equation in self.body.equations.iter().rev() {
            if equation.outputs.iter().any(|var| needed[var.index()] && !inputs.contains(var)) {
                equation.inputs.iter().for_each(|var| needed[var.index()] = true);
                equations.push(equation.clone());
            }
        }
        equations.reverse();
        self.body.with(inputs, equations, outputs)
    }

    /// Whether an equation is a view.
    pub fn is_view(&self, equation: &Equation) -> bool {
        let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) else { return false };
        let layout = Layout::contiguous(self.body.spec(*x).shape.clone());
        is_built_in(equation.op) && equation.op.view(&equation.attrs, &layout, self.body.spec(*y)).is_some()
    }

    /// Whether an equation does much work per element, so that it is better done for all steps at once.
    pub fn is_heavy(&self, equation: &Equation) -> bool {
        let controls = equation.attrs.bodies().next().is_some();
        if !is_built_in(equation.op) || controls || is_elementwise(equation.op) || equation.outputs.len() != 1 {
            return false;
        }
        match equation.op.dependency() {
            Dependency::Product { .. } => true,
            Dependency::Elementwise | Dependency::Movement | Dependency::None => false,
            _ => {
                let numbers = equation.inputs.iter().chain(&equation.outputs);
                let numbers: usize = numbers.map(|var| self.body.spec(*var).shape.elements()).sum();
                self.cost(equation).flops >= 8.0 * numbers as f64
            }
        }
    }

    fn cost(&self, equation: &Equation) -> Cost {
        let operands: SmallVec<[SpecRef<'_>; 4]> =
            equation.inputs.iter().map(|var| self.body.spec(*var).as_ref()).collect();
        let outputs: SmallVec<[_; 2]> = equation.outputs.iter().map(|var| self.body.spec(*var).clone()).collect();
        equation.op.cost(&equation.attrs, &operands, &outputs)
    }
}

/// Facts about the inner variables.
pub(super) struct Facts {
    /// The equation that defines it.
    pub maker: Vec<Option<usize>>,
    /// Whether it depends on elements or the carry.
    pub varies: Vec<bool>,
    /// Whether it depends on the carry, on a user-defined operation or on one with an effect; these stay in the loop.
    pub moves: Vec<bool>,
    /// How often it is read, including as a result.
    pub readers: Vec<usize>,
}

impl Facts {
    pub fn of(scan: &Loop) -> Facts {
        let count = scan.body.specs.len();
        let mut facts = Facts {
            maker: vec![None; count],
            varies: vec![false; count],
            moves: vec![false; count],
            readers: vec![0; count],
        };
        for carry in &scan.carries {
            facts.varies[carry.inside.index()] = true;
            facts.moves[carry.inside.index()] = true;
        }
        scan.elements.iter().for_each(|pair| facts.varies[pair.inside.index()] = true);
        for (number, equation) in scan.body.equations.iter().enumerate() {
            let stays = !is_built_in(equation.op) || equation.has_effect();
            let varies = stays || equation.inputs.iter().any(|var| facts.varies[var.index()]);
            let moves = stays || equation.inputs.iter().any(|var| facts.moves[var.index()]);
            equation.inputs.iter().for_each(|var| facts.readers[var.index()] += 1);
            for var in &equation.outputs {
                facts.maker[var.index()] = Some(number);
                facts.varies[var.index()] = varies;
                facts.moves[var.index()] = moves;
            }
        }
        scan.results().for_each(|var| facts.readers[var.index()] += 1);
        facts
    }

    /// The term that is added to a carry that nothing else reads.
    pub fn addend(&self, scan: &Loop, carry: &Carry) -> Option<Var> {
        let equation = &scan.body.equations[self.maker[carry.next.index()]?];
        let is_sum = equation.op.is(ADD);
        if !is_sum || self.readers[carry.next.index()] != 1 || self.readers[carry.inside.index()] != 1 {
            return None;
        }
        match equation.inputs[..] {
            [x, y] if x == carry.inside => Some(y),
            [x, y] if y == carry.inside => Some(x),
            _ => None,
        }
    }
}
