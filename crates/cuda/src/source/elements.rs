//! The operations of a loop as functions, and where its operands lie.

use super::{held, stored, translate};
use std::fmt::Write;
use wengert_compiler::plan::{Apply, Instruction, Loop};
use wengert_core::DType;
use wengert_core::primitive::Expression;
use wengert_kernels::tiled::Access;
use wengert_kernels::view::collapse;

/// Operations on truth, whose expressions are the same in every language.
const TRUTH: &[(&str, &[&str], &str)] =
    &[("logical_and", &["x", "y"], "x && y"), ("logical_or", &["x", "y"], "x || y"), ("logical_not", &["x"], "!x")];

/// The expression of an operation, or what is missing.
fn expression(apply: &Apply) -> Result<Expression, String> {
    let Apply { op, attrs, dtypes, dtype, .. } = apply;
    let known = op.lowered().expression(attrs, dtypes, *dtype).or_else(|| {
        if op.name() == "cast" {
            // Truth is what is not 0; NaN is no integer.
            let text = match dtypes[0] {
                _ if *dtype == DType::Bool => "x != 0",
                from if from.is_float() => "if x != x { 0.0 } else { x }",
                _ => "x",
            };
            return Some(Expression::of(&["x"], text));
        }
        let (_, operands, text) = TRUTH.iter().find(|(name, ..)| *name == op.name())?;
        Some(Expression::of(operands, text))
    });
    known.ok_or_else(|| format!("{} of {dtype} has no text for this device", op.name()))
}

/// The functions of all operations of a loop, with names that end in the number of the instruction.
pub fn functions(body: &Loop) -> Result<String, String> {
    let mut text = String::new();
    for (number, instruction) in body.instructions.iter().enumerate() {
        let Instruction::Apply(apply) = instruction else { continue };
        let expression = expression(apply)?;
        // Integers of all sizes are computed with as on the processor, and cut to their own size then.
        let mut dtypes = std::iter::once(apply.dtype).chain(apply.dtypes.iter().copied());
        let real = dtypes.find(|dtype| dtype.is_float()).map_or("i64", held);
        let name = apply.op.name();
        let spell = |word: &str| format!("w_{word}<{real}>");
        let code = translate(&expression, real, &spell)
            .map_err(|word| format!("{name} uses {word}, which this device does not have"))?;
        let operands = expression.operands.iter().zip(&apply.dtypes);
        let operands: Vec<String> = operands.map(|(name, dtype)| format!("{} {name}", held(*dtype))).collect();
        let (result, operands) = (held(apply.dtype), operands.join(", "));
        // Results of 16 bits are rounded as if they were stored, so that they do not depend on what is fused.
        let rounding = match apply.dtype {
            DType::BF16 => "through_bf16",
            DType::F16 => "through_f16",
            _ => {
                writeln!(text, "DEVICE {result} op{number}({operands}) {{ {} }} // {name}", code.text).unwrap();
                continue;
            }
        };
        if name == "cast" {
            writeln!(text, "DEVICE {result} op{number}({operands}) {{ return {rounding}(x); }} // {name}").unwrap();
            continue;
        }
        let names = expression.operands.join(", ");
        writeln!(text, "DEVICE {result} exact{number}({operands}) {{ {} }} // {name}", code.text).unwrap();
        writeln!(text, "DEVICE {result} op{number}({operands}) {{ return {rounding}(exact{number}({names})); }}")
            .unwrap();
    }
    Ok(text)
}

/// How `width` elements in a row are read.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reading {
    /// All elements are one.
    Splat,
    /// They lie side by side, aligned.
    Together,
    /// They are one, which changes along outer axes.
    Repeated,
    /// Each from its own place.
    Apart,
}

/// How groups of `width` elements of an operand are read.
pub fn reading(access: &Access, width: usize) -> Reading {
    let layout = collapse(&access.shape, &access.strides);
    let Some((&size, &stride)) = layout.shape.last().zip(layout.strides.last()) else { return Reading::Splat };
    let outer = &layout.strides[..layout.strides.len() - 1];
    let divides = |number: isize| number.unsigned_abs().is_multiple_of(width);
    let is_even = size.is_multiple_of(width) || outer.is_empty();
    match stride {
        0 if outer.is_empty() => Reading::Splat,
        _ if access.by_rows || !is_even => Reading::Apart,
        0 => Reading::Repeated,
        1 if outer.iter().all(|stride| divides(*stride)) && divides(access.offset) => Reading::Together,
        _ => Reading::Apart,
    }
}

/// The position of the element with the row-major number `i` in the shape of the access.
pub fn index(access: &Access, i: &str) -> String {
    let layout = collapse(&access.shape, &access.strides);
    // The farthest element: beyond 32 bits, steps are long numbers.
    let sizes = layout.shape.iter().zip(&layout.strides);
    let reach = sizes.map(|(size, stride)| (size.max(&1) - 1) * stride.unsigned_abs()).sum::<usize>();
    let long = if reach + access.offset.unsigned_abs() < 1 << 31 { "" } else { "ll" };
    let mut terms: Vec<String> = Vec::new();
    let mut behind = 1;
    for (place, (&size, &stride)) in layout.shape.iter().zip(&layout.strides).enumerate().rev() {
        if stride != 0 {
            let number = if behind == 1 { i.to_string() } else { format!("{i} / {behind}") };
            let number = if place == 0 { number } else { format!("{number} % {size}") };
            terms.push(if stride == 1 { format!("({number})") } else { format!("({number}) * {stride}{long}") });
        }
        behind *= size;
    }
    if access.offset != 0 || terms.is_empty() {
        terms.push(format!("{}{long}", access.offset));
    }
    terms.join(" + ")
}

/// The declaration of the pointers of a loop.
pub fn pointers(body: &Loop) -> String {
    let mut text = String::new();
    for (number, access) in body.operands.iter().enumerate() {
        writeln!(text, "    const {} *x{number};", stored(access.dtype)).unwrap();
    }
    for (number, output) in body.outputs.iter().enumerate() {
        writeln!(text, "    {} *y{number};", stored(output.dtype)).unwrap();
    }
    text
}
