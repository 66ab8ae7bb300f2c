//! simplify - algebraic identities and rules for movements, applied from left to right.
//!
//! Most hold to the bit, including infinities, NaN and the sign of zero. There are no rules for x * 0, x - x and x / x, which are not 0 and
//! 1 for infinities and NaN, nor for x + 0, which is +0 for -0. If a guarded product becomes a plain one, a zero may change its sign:
//! cotangents of -0 and +0 are equivalent.

use super::edit::{Edit, Number, rewritten};
use super::known::*;
use super::movements::*;
use super::rule::{Equality, Index, Rule};
use crate::DType;
use crate::primitive::Attrs;
use crate::program::{Equation, Program, Var};
use std::sync::LazyLock;
use wengert_kernels::convert_bits;

pub(super) fn run(program: Program) -> (Program, bool) {
    static INDEX: LazyLock<Index> = LazyLock::new(|| Index::of(RULES));
    rewritten(program, &INDEX.rewrite())
}

/// The rules.
pub(super) static RULES: &[Rule] = &[
    // Signs.
    Rule::new("neg(neg(x)) = x"),
    Rule::new("add(x, neg(y)) = sub(x, y)"),
    Rule::new("sub(x, neg(y)) = add(x, y)"),
    Rule::new("mul(neg(x), neg(y)) = mul(x, y)"),
    Rule::new("div(neg(x), neg(y)) = div(x, y)"),
    Rule::new("mul(x, -1) = neg(x)"),
    Rule::new("neg(mul(x, c)) = mul(x, -c) for a number c").by(opposite_of_multiple),
    Rule::new("mul(neg(x), c) = mul(x, -c) for a number c").by(multiple_of_opposite),
    Rule::new("div(x, -1) = neg(x)"),
    Rule::new("mul(neg(x), y) = neg(mul(x, y))"),
    Rule::new("div(neg(x), y) = neg(div(x, y)) for reals").when(is_real),
    Rule::new("div(x, neg(y)) = neg(div(x, y)) for reals").when(is_real),
    Rule::new("sum(neg(x)) = neg(sum(x))").by(sum_of_opposite).up_to(Equality::Zeros),
    Rule::new("square(neg(x)) = square(x)"),
    Rule::new("square(abs(x)) = square(x)"),
    Rule::new("abs(neg(x)) = abs(x)"),
    Rule::new("abs(abs(x)) = abs(x)"),
    Rule::new("abs(square(x)) = square(x) for reals").when(is_real),
    Rule::new("cos(neg(x)) = cos(x)"),
    // Neutral elements.
    Rule::new("add(x, -0.0) = x for reals").when(is_real),
    Rule::new("add(x, 0) = x for integers").when(is_whole),
    Rule::new("add(x, 0) = x for x that is never -0").by(add_zero),
    Rule::new("sub(x, 0) = x"),
    Rule::new("mul(x, 1) = x"),
    Rule::new("div(x, 1) = x"),
    Rule::new("powf[exponent=1.0](x) = x"),
    // Cheaper forms.
    Rule::new("mul(x, 2) = add(x, x)"),
    Rule::new("mul(x, x) = square(x)"),
    Rule::new("powf[exponent=2.0](x) = square(x)"),
    Rule::new("div(x, c) = mul(x, 1/c) for c a power of two").by(divide_by_power_of_two),
    Rule::new("combine[a=1.0, b=1.0](x, y) = add(x, y)"),
    Rule::new("combine[a=1.0, b=-1.0](x, y) = sub(x, y)"),
    Rule::new("relu(relu(x)) = relu(x)"),
    Rule::new("maximum(x, x) = x"),
    Rule::new("minimum(x, x) = x"),
    // Derivatives.
    Rule::new("stop_gradient(x) = x"),
    Rule::new("guarded_mul(1, s) = s").up_to(Equality::Zeros),
    Rule::new("guarded_mul(g, 1) = g").up_to(Equality::Zeros),
    Rule::new("guarded_mul(g, c) = mul(g, c) for a finite number c that is not 0, on either side")
        .by(guarded_by_number)
        .up_to(Equality::Zeros),
    Rule::new("guarded_mul(neg(g), s) = neg(guarded_mul(g, s))").up_to(Equality::Zeros),
    Rule::new("guarded_mul(g, neg(s)) = neg(guarded_mul(g, s))").up_to(Equality::Zeros),
    Rule::new("zero_mul(1, b) = b").up_to(Equality::Zeros),
    Rule::new("zero_mul(a, 1) = a").up_to(Equality::Zeros),
    Rule::new("zero_mul(a, c) = mul(a, c) for a finite number c that is not 0, on either side")
        .by(guarded_by_number)
        .up_to(Equality::Zeros),
    Rule::new("zero_mul(neg(a), b) = neg(zero_mul(a, b))").up_to(Equality::Zeros),
    Rule::new("zero_mul(a, neg(b)) = neg(zero_mul(a, b))").up_to(Equality::Zeros),
    Rule::new("select_bits(g, pack_positive(x)) = where(compare[gt](x, 0), g, 0)").by(select_positive),
    Rule::new("compare[gt](x, 0) = compare[gt](relu(x), 0) for a relu that is there").by(compare_relu),
    // Choices.
    Rule::new("where(c, x, x) = x"),
    Rule::new("where(1, x, y) = x"),
    Rule::new("where(0, x, y) = y"),
    Rule::new("compare[lt](x, c) = 0 for x that is never negative and c that is not positive").by(never_less),
    Rule::new("cast(where(c, x, y)) = where(c, cast(x), cast(y)) for numbers x and y").by(cast_of_choice),
    Rule::new("cast(x) = x for the same dtype").by(cast_to_same),
    Rule::new("cast(cast(x)) = cast(x) for an inner one that loses nothing").by(cast_of_cast),
    // Movements.
    Rule::new("reshape(x) = x for the same shape").by(same_shape),
    Rule::new("reshape(reshape(x)) = reshape(x)").by(reshape_of_reshape),
    Rule::new("reshape(transpose(x)) = reshape(x) for axes of size 1 that move").by(reshape_of_transpose),
    Rule::new("transpose(x) = x for axes in order").by(same_order),
    Rule::new("transpose(transpose(x)) = transpose(x)").by(transpose_of_transpose),
    Rule::new("transpose(x) = reshape(x) for axes of size 1 that move").by(transpose_as_reshape),
    Rule::new("broadcast(x) = x for the same shape").by(same_shape),
    Rule::new("broadcast(broadcast(x)) = broadcast(x)").by(broadcast_of_broadcast),
    Rule::new("broadcast(reshape(x)) = broadcast(x) for leading axes of size 1").by(broadcast_of_reshape),
    Rule::new("slice(x) = x for all of it").by(same_shape),
    Rule::new("slice(slice(x)) = slice(x)").by(slice_of_slice),
    Rule::new("slice(concat(x, y)) = slice(x) for a part of one operand").by(slice_of_concat),
    Rule::new("slice_assign(x, v) = v for all of it").by(assign_all),
    Rule::new("slice_add(0, v) = v for all of it").by(add_all).up_to(Equality::Zeros),
    Rule::new("slice_add(slice_add(0, x), y) = concat(x, y) for parts that fill it")
        .by(parts_that_fill)
        .up_to(Equality::Zeros),
    // Sums.
    Rule::new("sum(x) = add(reshape(x), 0) for axes of size 1").by(sum_of_nothing),
    Rule::new("sum(sum(x)) = sum(x)").by(sum_of_sum).up_to(Equality::Rounding),
    Rule::new("sum(reshape(x)) = sum(x) for all of it").by(sum_of_reshape).up_to(Equality::Rounding),
    Rule::new("sum(broadcast(x)) = mul(sum(x), n) for n repetitions").by(sum_of_broadcast).up_to(Equality::Rounding),
];

fn is_real(edit: &Edit<'_>, equation: &Equation) -> bool {
    edit.spec(equation.outputs[0]).dtype.is_float()
}

fn is_whole(edit: &Edit<'_>, equation: &Equation) -> bool {
    !is_real(edit, equation)
}

/// Whether a variable is never negative; it may be NaN.
fn is_never_negative(edit: &Edit<'_>, var: Var) -> bool {
    is_never_minus_zero(edit, var) || edit.definition(var).is_some_and(|equation| is_any(equation.op, &[RELU, SQRT]))
}

/// Whether a variable is never negative and never -0; it may be NaN.
fn is_never_minus_zero(edit: &Edit<'_>, var: Var) -> bool {
    edit.spec(var).dtype.is_float()
        && edit.definition(var).is_some_and(|equation| is_any(equation.op, &[SQUARE, ABS, EXP, EXP2, SIGMOID, COSH]))
}

fn add_zero(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (c, x) = number_and_other(edit, &equation.inputs)?;
    (c == 0.0 && is_never_minus_zero(edit, x)).then_some(x)
}

fn never_less(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, c] = equation.inputs[..] else { return None };
    let is_lower = equation.attrs.word("relation") == "lt" && edit.number(c)?.value() <= 0.0;
    let spec = edit.spec(equation.outputs[0]).clone();
    (is_lower && is_never_negative(edit, x)).then(|| edit.filled(0.0, &spec))
}

fn cast_of_choice(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, inputs) = edit.call_of(equation.inputs[0], WHERE)?;
    let (spec, attrs) = (edit.spec(equation.outputs[0]).clone(), &equation.attrs);
    let mut cast = |var: Var| {
        let number = edit.number(var)?;
        let scalar = edit
            .scalar(Number { bits: convert_bits(number.bits, number.dtype, attrs.dtype("dtype")), dtype: spec.dtype });
        Some(edit.broadcast(scalar, &spec.shape))
    };
    let (x, y) = (cast(inputs[1])?, cast(inputs[2])?);
    Some(edit.call(WHERE, Attrs::new(), &[inputs[0], x, y]))
}

fn sum_of_opposite(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, x) = edit.source_of(equation.inputs[0], NEG)?;
    let sum = edit.call(SUM, equation.attrs.clone(), &[x]);
    Some(edit.call(NEG, Attrs::new(), &[sum]))
}

/// The operand that is filled with one real number, and the other one.
fn number_and_other(edit: &Edit<'_>, inputs: &[Var]) -> Option<(f64, Var)> {
    let [x, y] = inputs[..] else { return None };
    let number = |var: Var| edit.number(var).filter(|number| number.dtype.is_float()).map(Number::value);
    number(y).map(|c| (c, x)).or_else(|| number(x).map(|c| (c, y)))
}

fn times_opposite(edit: &mut Edit<'_>, x: Var, c: f64) -> Var {
    let opposite = edit.filled(-c, &edit.spec(x).clone());
    edit.call(MUL, Attrs::new(), &[x, opposite])
}

fn opposite_of_multiple(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (_, inputs) = edit.call_of(equation.inputs[0], MUL)?;
    let (c, x) = number_and_other(edit, &inputs)?;
    Some(times_opposite(edit, x, c))
}

fn multiple_of_opposite(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (c, opposite) = number_and_other(edit, &equation.inputs)?;
    let (_, x) = edit.source_of(opposite, NEG)?;
    Some(times_opposite(edit, x, c))
}

/// The inverse of a power of two is exact; so is the product with it, unless the inverse is subnormal.
fn divide_by_power_of_two(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, c] = equation.inputs[..] else { return None };
    let number = edit.number(c).filter(|number| number.dtype.is_float())?.value();
    let range = match edit.spec(x).dtype {
        DType::F16 => 14,
        _ => 126,
    };
    let exponent = number.abs().log2();
    if number == 0.0 || exponent.fract() != 0.0 || exponent.abs() > f64::from(range) {
        return None;
    }
    let inverse = edit.filled(number.recip(), &edit.spec(x).clone());
    Some(edit.call(MUL, Attrs::new(), &[x, inverse]))
}

fn guarded_by_number(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let plain = |var: &Var| edit.number(*var).is_some_and(|number| number.value() != 0.0 && number.value().is_finite());
    equation.inputs.iter().any(plain).then(|| edit.call(MUL, Attrs::new(), &equation.inputs))
}

fn select_positive(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [g, bits] = equation.inputs[..] else { return None };
    let (_, x) = edit.source_of(bits, PACK_POSITIVE)?;
    // A byte holds the bits of up to eight elements, so bits of another length may fit.
    if edit.shape(x) != edit.shape(g) {
        return None;
    }
    let (x_spec, g_spec) = (edit.spec(x).clone(), edit.spec(g).clone());
    let (zero, nothing) = (edit.filled(0.0, &x_spec), edit.filled(0.0, &g_spec));
    let mask = edit.call(COMPARE, Attrs::new().with_word("relation", "gt"), &[x, zero]);
    Some(edit.call(WHERE, Attrs::new(), &[mask, g, nothing]))
}

/// A relu is positive exactly where its operand is, so its operand need not be kept.
fn compare_relu(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let [x, zero] = equation.inputs[..] else { return None };
    let rectified = edit.rectified(x)?;
    let is_positive = equation.attrs.word("relation") == "gt" && edit.number(zero)?.value() == 0.0;
    is_positive.then(|| edit.call(COMPARE, equation.attrs.clone(), &[rectified, zero]))
}

fn cast_to_same(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let x = equation.inputs[0];
    (edit.spec(x).dtype == equation.attrs.dtype("dtype")).then_some(x)
}

fn cast_of_cast(edit: &mut Edit<'_>, equation: &Equation) -> Option<Var> {
    let (through, x) = edit.source_of(equation.inputs[0], CAST)?;
    let (from, through, to) = (edit.spec(x).dtype, through.dtype("dtype"), equation.attrs.dtype("dtype"));
    let same_kind = to.is_float() || to == from;
    (same_kind && holds_all(from, through)).then(|| edit.call(CAST, equation.attrs.clone(), &[x]))
}

/// Whether every value of `from` can be represented in `to`.
fn holds_all(from: DType, to: DType) -> bool {
    use DType::{BF16, Bool, F16, F32, F64, I32, I64, U8};
    match (from, to) {
        (Bool, to) => to != Bool,
        (U8, to) => !matches!(to, Bool | U8),
        (I32, I64 | F64) | (BF16 | F16, F32 | F64) | (F32, F64) => true,
        _ => false,
    }
}
