//! The words of elementwise expressions in C.

use wengert_cuda::source::Body;

/// The operations that are bitwise equal to ours. Functions of the C library are not: they round the last place differently.
const EXACT: &[&str] =
    &["sqrt", "recip", "square", "scale", "shift", "lit", "constant", "nan_below", "guarded", "both"];

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

/// Whether all operations of an expression are exact.
pub fn is_exact(body: &Body) -> bool {
    body.words.iter().all(|word| EXACT.contains(word))
}

#[test]
fn expressions_become_c() {
    use wengert::primitive::Expression;
    use wengert_cuda::source::translate;
    let of = |text: &str| Expression {
        operands: ["x", "y"].into_iter().collect(),
        parameters: [("alpha", 0.5)].into_iter().collect(),
        constants: &[],
        text: text.to_string().into(),
    };
    let c = |text: &str| {
        let text = translate(&of(text), "float", &|word| format!("{word}_f32")).map(|body| body.text)?;
        Ok::<String, String>(text.replace("const float alpha = (float)0.5; ", ""))
    };
    assert_eq!(c("1.0 - y * y").unwrap(), "return (((float)1.0) - (y * y));");
    assert_eq!(c("if x <= 0.0 { -x } else { x }").unwrap(), "return ((x <= ((float)0.0)) ? (-x) : x);");
    assert_eq!(c("scale(x, 3.0 * 0.25)").unwrap(), "return scale_f32(x, (3.0 * 0.25));");
    assert_eq!(c("{ let s = exp(x); s * s }").unwrap(), "const float s = exp_f32(x); return (s * s);");
    assert_eq!(c("given(exp(x), |s| s * s)").unwrap(), "const float s = exp_f32(x); return (s * s);");
    assert_eq!(c("crate::rules::guarded(x, alpha)").unwrap(), "return guarded_f32(x, alpha);");
    assert_eq!(c("x.recip()").unwrap(), "return recip_f32(x);");
    assert_eq!(c("powers(x, alpha)").unwrap_err(), "powers");
}
