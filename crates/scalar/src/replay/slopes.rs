//! Partial derivatives of operations, as small programs of their operands and result.

use super::program::Program;
use super::symbol::{Symbol, Traced, traced};
use super::trace::{Entry, Operand, Reads, What};
use crate::Real;
use crate::functions;
use wengert_kernels::cells::{Address, Instruction, Kind, Op};
use wengert_kernels::functions::Function;

/// The partial derivative of an operation with respect to an operand.
pub(super) enum Slope {
    /// 0.
    Zero,
    /// 1.
    One,
    /// -1.
    MinusOne,
    /// The value of an operand: 0 is the first, 1 the second.
    Operand(usize),
    /// Minus the result times a formula, applied one after the other: their product may overflow where the final result does not.
    MinusResultTimes(fn(Op, Symbol, Symbol, Symbol) -> Symbol),
    /// A weight. Where it is 0, nothing passes, not even NaN.
    Share(fn(Symbol, Symbol) -> Symbol),
    /// A formula of the operands and the result.
    Formula(fn(Op, Symbol, Symbol, Symbol) -> Symbol),
}

macro_rules! of_one {
    ($($(#[doc = $doc:literal])* $tensor:ident $NAME:ident $name:ident { page: $page:literal, $($row:tt)* })*) => {
        /// The derivative of a function of one argument.
        fn slope_of_one(op: Op, x: Symbol, _: Symbol, y: Symbol) -> Symbol {
            match op {
                $(Op::Of(Function::$tensor) => functions::$name(x, y),)*
                Op::Powi(n) => functions::powi(x, n),
                Op::Polygamma(n) => x.polygamma(n.saturating_add(1)),
                _ => unreachable!("{op:?} is no function of one number"),
            }
        }
    };
}
wengert_kernels::functions!(of_one);

/// The partial derivatives with respect to both operands.
pub(super) fn slopes(op: Op) -> [Slope; 2] {
    use Slope::{Formula, MinusOne, MinusResultTimes, One, Operand, Share, Zero};
    match op {
        Op::Copy => [One, Zero],
        Op::Neg => [MinusOne, Zero],
        Op::Add => [One, One],
        Op::Sub => [One, MinusOne],
        Op::Mul | Op::Times => [Operand(1), Operand(0)],
        Op::Recip => [MinusResultTimes(|_, _, _, y| y), Zero],
        Op::Div => [Formula(|_, _, b, _| b.recip()), MinusResultTimes(|_, _, b, _| b.recip())],
        Op::Rem => [One, Formula(|_, a, b, y| functions::rem_by_y(a, b, y))],
        Op::Powf => {
            [Formula(|_, a, b, y| functions::powf(a, b, y)[0]), Formula(|_, a, b, y| functions::powf(a, b, y)[1])]
        }
        Op::Atan2 => [Formula(|_, a, b, _| functions::atan2(a, b)[0]), Formula(|_, a, b, _| functions::atan2(a, b)[1])],
        Op::Hypot => {
            [Formula(|_, a, b, y| functions::hypot(a, b, y)[0]), Formula(|_, a, b, y| functions::hypot(a, b, y)[1])]
        }
        Op::Max => [Share(|a, b| a.share(b)), Share(|a, b| b.share(a))],
        Op::Min => [Share(|a, b| b.share(a)), Share(|a, b| a.share(b))],
        Op::Inside => [Formula(|_, _, b, _| Symbol::lit(1.0).inside(b)), Zero],
        Op::Signum | Op::Floor | Op::Ceil | Op::Round | Op::Share => [Zero, Zero],
        _ => [Formula(slope_of_one), Zero],
    }
}

/// Traces a formula whose inputs are the operands and the result.
pub(super) fn formula(slope: impl Fn(Symbol, Symbol, Symbol) -> Symbol) -> Traced {
    // The values do not matter because formulas make no decisions.
    traced(&[0.5, 0.5, 0.5], |x| slope(x[0], x[1], x[2]), |slope| vec![slope])
}

/// Cells for the intermediate results of formulas, reused by every formula of a loop.
#[derive(Default)]
pub(super) struct Room {
    arrays: Vec<u32>,
}

/// Appends instructions that pass a tangent or adjoint (`change`) through a slope at operands `a`, `b` and result `y`, in a loop of `trips`
/// iterations. Returns the two factors of the final product. If the first is 0, the product is 0 even if the second is infinite or NaN. The
/// first is `change`, except for a weight, where it is the weight, and for the second operand of a guarded product, where it is the first
/// operand, which is itself a tangent or adjoint.
pub(super) fn factors_at(
    slope: &Slope,
    op: Op,
    [change, a, b, y]: [Address; 4],
    trips: u32,
    program: &mut Program,
    room: &mut Room,
    body: &mut Vec<Instruction>,
) -> [Address; 2] {
    let (formula, through_result) = match slope {
        Slope::Operand(0) if op == Op::Times => return [a, change],
        Slope::Operand(0) => return [change, a],
        Slope::Operand(_) => return [change, b],
        Slope::Share(share) => (formula(|a, b, _| share(a, b)), false),
        Slope::Formula(slope) => (formula(|a, b, y| slope(op, a, b, y)), false),
        Slope::MinusResultTimes(slope) => (formula(|a, b, y| slope(op, a, b, y)), true),
        Slope::Zero | Slope::One | Slope::MinusOne => unreachable!("nothing is multiplied"),
    };
    let Traced { trace, outputs, .. } = formula;
    let own = trace.entries.len();
    while room.arrays.len() < own + 2 * usize::from(through_result) {
        let array = program.take(trips);
        room.arrays.push(array);
    }
    let stride = i32::from(trips > 1);
    let change = match through_result {
        false => change,
        true => {
            let [product, negated] = [own, own + 1].map(|number| Address { base: room.arrays[number], stride });
            body.push(Instruction { kind: Kind::Set(Op::Times), to: product, a: change, b: y });
            body.push(Instruction { kind: Kind::Set(Op::Neg), to: negated, a: product, b: product });
            negated
        }
    };
    let constants: Vec<u32> = trace.constants.iter().map(|value| program.constant(*value)).collect();
    let address = |operand: Operand| match operand.reads() {
        Reads::Input(0) => a,
        Reads::Input(1) => b,
        Reads::Input(_) => y,
        Reads::Constant(number) => Address::cell(constants[number as usize]),
        Reads::Entry(entry) => Address { base: room.arrays[entry as usize], stride },
    };
    for (number, Entry { what, a, b }) in trace.entries.iter().enumerate() {
        let What::Compute(op) = what else { unreachable!("a slope decides nothing") };
        let to = Address { base: room.arrays[number], stride };
        body.push(Instruction { kind: Kind::Set(*op), to, a: address(*a), b: address(*b) });
    }
    let computed = address(outputs[0]);
    if matches!(slope, Slope::Share(_)) { [computed, change] } else { [change, computed] }
}
