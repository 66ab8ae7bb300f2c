//! The cost of a program: arithmetic, and memory traffic in bytes.

use super::{Equation, Program};
use crate::location;
use crate::primitive::{Cost, SpecRef};
use smallvec::SmallVec;
use std::fmt::Write;

impl Program {
    /// The total cost of all equations.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let x = Tensor::zeros([4, 8]);
    /// let cost = compile(|x: &Tensor| x.matmul(&x.t())).program(&x).cost();
    /// assert_eq!(cost.flops, 2.0 * 4.0 * 4.0 * 8.0);
    /// assert_eq!(cost.bytes, 8.0 * (4.0 * 8.0 + 4.0 * 4.0));
    /// ```
    pub fn cost(&self) -> Cost {
        let total = Cost { flops: 0.0, bytes: 0.0 };
        self.costs()
            .iter()
            .fold(total, |sum, cost| Cost { flops: sum.flops + cost.flops, bytes: sum.bytes + cost.bytes })
    }

    /// The cost of each equation. Views cost nothing; an operand that is repeated or read twice is counted once, by its size in memory.
    pub fn costs(&self) -> Vec<Cost> {
        // By variable: its base, and its size in bytes.
        let mut memory: Vec<(usize, usize)> = self.specs.iter().map(|spec| spec.bytes()).enumerate().collect();
        let cost = |equation: &Equation| {
            let mut cost = self.call_cost(equation);
            if cost == Cost::default() {
                if let ([x], [y]) = (&equation.inputs[..], &equation.outputs[..]) {
                    let (place, bytes) = memory[x.index()];
                    memory[y.index()] = (place, bytes.min(memory[y.index()].1));
                }
                return cost;
            }
            for (position, var) in equation.inputs.iter().enumerate() {
                let (place, bytes) = memory[var.index()];
                let again = equation.inputs[..position].iter().any(|other| memory[other.index()].0 == place);
                let read = if again { 0 } else { bytes };
                cost.bytes -= self.spec(*var).bytes() as f64 - read as f64;
            }
            cost.bytes = cost.bytes.max(0.0);
            cost
        };
        self.equations.iter().map(cost).collect()
    }

    /// The cost of a call by the specs of its operands, as if each lay in memory of its own.
    pub(crate) fn call_cost(&self, equation: &Equation) -> Cost {
        let operands: SmallVec<[SpecRef<'_>; 4]> = equation.inputs.iter().map(|var| self.spec(*var).as_ref()).collect();
        let outputs: SmallVec<[_; 2]> = equation.outputs.iter().map(|var| self.spec(*var).clone()).collect();
        equation.op.cost(&equation.attrs, &operands, &outputs)
    }

    /// Whether an equation computes numbers of 16 bits.
    pub(crate) fn is_narrow(&self, equation: &Equation) -> bool {
        equation.outputs.first().is_some_and(|output| self.spec(*output).dtype.size() == 2)
    }

    /// The equations with their costs and source lines, as a table.
    ///
    /// ```
    /// use wengert::prelude::*;
    /// let table = compile(|x: &Tensor| x.matmul(x)).program(&Tensor::zeros([2, 2])).table();
    /// assert!(table.contains("b: f64[2, 2] = matmul(a, a)"), "{table}");
    /// assert!(table.lines().last().unwrap().trim_start().starts_with("16 "), "{table}");
    /// ```
    pub fn table(&self) -> String {
        let mut text = format!("{:>12} {:>12}  equation\n", "flops", "bytes");
        for (equation, cost) in self.equations.iter().zip(self.costs()) {
            let line = equation.line.map(location::shown).map(|line| format!("  // {}:{}", line.file(), line.line()));
            let row = format!("{:>12} {:>12}  {}", cost.flops, cost.bytes, self.equation_text(equation));
            writeln!(text, "{row}{}", line.unwrap_or_default()).expect("strings take any text");
        }
        let Cost { flops, bytes } = self.cost();
        writeln!(text, "{flops:>12} {bytes:>12}  in {} equations", self.equations.len())
            .expect("strings take any text");
        text
    }
}
