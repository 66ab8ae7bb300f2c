//! Every elementwise operation is an expression in words that this device has, and so is every slope.

use wengert::prelude::*;
use wengert::primitive::{Case, Expression, PRIMITIVES, Primitive};
use wengert_core::rules::{Elementwise, Slope};
use wengert_cuda::source::{SPECIAL, WORDS, translate};

/// The value and the slopes of an operation on a case, for floats or integers.
fn expressions(op: &'static dyn Primitive, it: &'static Elementwise, case: &Case, dtype: DType) -> Vec<Expression> {
    let dtypes = vec![dtype; op.operands()];
    let value = op.lowered().expression(&case.attrs, &dtypes, dtype);
    let mut all = vec![value.unwrap_or_else(|| panic!("{} of {dtype} has no expression", op.name()))];
    let mut parameters = [0.0; 3];
    parameters.iter_mut().zip(it.parameters).for_each(|(value, name)| *value = case.attrs.real(name));
    all.extend(it.slopes.iter().filter(|_| dtype.is_float()).filter_map(|slope| match slope {
        Slope::Expression(slope) => Some(it.slope_text(slope, parameters)),
        _ => None,
    }));
    all
}

#[test]
fn every_elementwise_operation_and_slope_has_words() {
    let (mut unknown, mut count) = (Vec::new(), 0);
    let is_defined = |word: &str| [WORDS, &SPECIAL].iter().any(|text| text.contains(&format!(" w_{word}(")));
    for &op in PRIMITIVES.iter() {
        let Some(it) = Elementwise::of(op) else { continue };
        for case in op.cases() {
            let dtype = case.operands[0].dtype;
            for expression in expressions(op, it, &case, dtype) {
                count += 1;
                let real = if dtype.is_float() { "double" } else { "i64" };
                match translate(&expression, real, &str::to_string) {
                    Ok(body) => {
                        unknown.extend(body.words.into_iter().filter(|word| !is_defined(word)).map(String::from))
                    }
                    Err(word) => unknown.push(format!("{word} in {}: {}", op.name(), expression.text)),
                }
            }
        }
    }
    assert!(unknown.is_empty(), "{}", unknown.join("\n"));
    assert!(count > 1000, "{count} expressions");
}

#[test]
fn numbers_and_paths_are_those_of_the_language() {
    let of = |text: &'static str, value: f64| Expression {
        operands: ["x"].into_iter().collect(),
        parameters: [("low", value)].into_iter().collect(),
        constants: &[],
        text: text.into(),
    };
    let text = |text, value, real: &str| translate(&of(text, value), real, &str::to_string).map(|body| body.text);
    let whole = |value| text("x.max(low)", value, "i64").unwrap();
    assert_eq!(whole(-0.8), "const i64 low = (i64)0; return max(x, low);");
    assert_eq!(whole(f64::NEG_INFINITY), "const i64 low = (i64)(-9223372036854775807 - 1); return max(x, low);");
    assert_eq!(whole(f64::INFINITY), "const i64 low = (i64)9223372036854775807; return max(x, low);");
    let rest = "const float low = (float)2.0; ";
    assert_eq!(text("lit(f64::NEG_INFINITY)", 2.0, "float").unwrap(), format!("{rest}return lit(-INFINITY);"));
    assert_eq!(text("x.max(low as u32)", 2.0, "float").unwrap(), format!("{rest}return max(x, ((u32)low));"));
    assert_eq!(
        text("1_000.5 + 2e9 - 1.5e-3", 2.0, "double").unwrap().split_once("; ").unwrap().1,
        "return ((((double)1000.5) + ((double)2e9)) - ((double)1.5e-3));"
    );
    assert_eq!(text("y", 2.0, "float").unwrap_err(), "y");
}
