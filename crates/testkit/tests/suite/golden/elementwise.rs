//! Elementwise functions. One line per operation, in alphabetical order.

use super::call::Call;
use super::case::Check;
use super::{Adapter, Exception};
use wengert::methods::*;
use wengert::{Tensor, TorchMethods};

pub const ADAPTERS: &[(&str, Adapter)] = &[
    ("abs", |c| vec![c.input().abs()]),
    ("acos", |c| vec![c.input().acos()]),
    ("acosh", |c| vec![c.input().acosh()]),
    ("add", |c| vec![c.input().add_scaled(c.tensor(0), c.real_or("alpha", 9, 1.0))]),
    ("addcdiv", |c| vec![c.input().addcdiv(c.tensor(0), c.tensor(1), c.real_or("value", 9, 1.0))]),
    ("addcmul", |c| vec![c.input().addcmul(c.tensor(0), c.tensor(1), c.real_or("value", 9, 1.0))]),
    ("angle", |c| vec![c.input().angle()]),
    ("asin", |c| vec![c.input().asin()]),
    ("asinh", |c| vec![c.input().asinh()]),
    ("atan", |c| vec![c.input().atan()]),
    ("atan2", |c| vec![c.input().atan2(c.tensor(0))]),
    ("atanh", |c| vec![c.input().atanh()]),
    ("ceil", |c| vec![c.input().ceil()]),
    ("clamp", clamp),
    ("clamp_max", |c| vec![c.input().clamp_max(c.tensor(0))]),
    ("clamp_min", |c| vec![c.input().clamp_min(c.tensor(0))]),
    ("clone", |c| vec![c.input().clone()]),
    ("copysign", |c| match c.opt_tensor("other", 0) {
        Some(sign) => vec![c.input().copysign(sign)],
        None => vec![c.input().copysign(c.real("other", 0))],
    }),
    ("cos", |c| vec![c.input().cos()]),
    ("cosh", |c| vec![c.input().cosh()]),
    ("deg2rad", |c| vec![c.input().deg2rad()]),
    ("digamma", |c| vec![c.input().digamma()]),
    ("div.floor_rounding", |c| vec![c.input().floor_divide(c.tensor(0))]),
    ("div.no_rounding_mode", |c| vec![c.input() / c.tensor(0)]),
    ("div.trunc_rounding", |c| vec![c.input().trunc_divide(c.tensor(0))]),
    ("double", |c| vec![c.input().cast(wengert::DType::F64)]),
    ("erf", |c| vec![c.input().erf()]),
    ("erfc", |c| vec![c.input().erfc()]),
    ("erfinv", |c| vec![c.input().erfinv()]),
    ("exp", |c| vec![c.input().exp()]),
    ("exp2", |c| vec![c.input().exp2()]),
    ("expm1", |c| vec![c.input().expm1()]),
    ("float_power", |c| vec![c.input().float_power(c.tensor(0))]),
    ("floor", |c| vec![c.input().floor()]),
    ("fmax", |c| vec![c.input().fmax(c.tensor(0))]),
    ("fmin", |c| vec![c.input().fmin(c.tensor(0))]),
    ("fmod", |c| vec![c.input().fmod(c.tensor(0))]),
    ("frac", |c| vec![c.input().frac()]),
    ("hypot", |c| vec![c.input().hypot(c.tensor(0))]),
    ("i0", |c| vec![c.input().i0()]),
    ("ldexp", |c| vec![c.input().ldexp(c.tensor(0))]),
    ("lerp", lerp),
    ("lgamma", |c| vec![c.input().lgamma()]),
    ("log", |c| vec![c.input().log()]),
    ("log10", |c| vec![c.input().log10()]),
    ("log1p", |c| vec![c.input().log1p()]),
    ("log2", |c| vec![c.input().log2()]),
    ("logaddexp", |c| vec![c.input().logaddexp(c.tensor(0))]),
    ("logaddexp2", |c| vec![c.input().logaddexp2(c.tensor(0))]),
    ("logit", |c| vec![c.opt_real("eps", 0).map_or_else(|| c.input().logit(), |eps| c.input().logit_with(eps))]),
    ("max.binary", |c| vec![c.input().maximum(c.tensor(0))]),
    ("maximum", |c| vec![c.input().maximum(c.tensor(0))]),
    ("min.binary", |c| vec![c.input().minimum(c.tensor(0))]),
    ("minimum", |c| vec![c.input().minimum(c.tensor(0))]),
    ("mul", |c| vec![c.input() * c.tensor(0)]),
    ("mvlgamma.mvlgamma_p_1", |c| vec![c.input().mvlgamma(c.size("p", 0) as u32)]),
    ("mvlgamma.mvlgamma_p_3", |c| vec![c.input().mvlgamma(c.size("p", 0) as u32)]),
    ("mvlgamma.mvlgamma_p_5", |c| vec![c.input().mvlgamma(c.size("p", 0) as u32)]),
    ("nan_to_num", |c| vec![c.input().nan_to_num()]),
    ("neg", |c| vec![-c.input()]),
    ("nn.functional.celu", |c| vec![c.input().celu(c.real_or("alpha", 0, 1.0))]),
    ("nn.functional.elu", |c| vec![c.input().elu(c.real_or("alpha", 0, 1.0))]),
    ("nn.functional.gelu", |c| match c.word_or("approximate", usize::MAX, "none") {
        "tanh" => vec![c.input().gelu_tanh()],
        _ => vec![c.input().gelu()],
    }),
    ("nn.functional.glu", |c| vec![c.input().glu(c.int_or("dim", 0, -1))]),
    ("nn.functional.hardshrink", |c| vec![c.input().hardshrink(c.real_or("lambd", 0, 0.5))]),
    ("nn.functional.hardsigmoid", |c| vec![c.input().hardsigmoid()]),
    ("nn.functional.hardswish", |c| vec![c.input().hardswish()]),
    ("nn.functional.hardtanh", |c| {
        vec![c.input().hardtanh(c.real_or("min_val", 0, -1.0), c.real_or("max_val", 1, 1.0))]
    }),
    ("nn.functional.logsigmoid", |c| vec![c.input().logsigmoid()]),
    ("nn.functional.mish", |c| vec![c.input().mish()]),
    ("nn.functional.prelu", |c| vec![c.input().prelu(c.opt_tensor("weight", 0).expect("a weight"))]),
    ("nn.functional.relu6", |c| vec![c.input().relu6()]),
    ("nn.functional.selu", |c| vec![c.input().selu()]),
    ("nn.functional.silu", |c| vec![c.input().silu()]),
    ("nn.functional.softplus", |c| {
        vec![c.input().softplus_with(c.real_or("beta", 0, 1.0), c.real_or("threshold", 1, 20.0))]
    }),
    ("nn.functional.softshrink", |c| vec![c.input().softshrink(c.real_or("lambd", 0, 0.5))]),
    ("nn.functional.softsign", |c| vec![c.input().softsign()]),
    ("nn.functional.tanhshrink", |c| vec![c.input().tanhshrink()]),
    ("nn.functional.threshold", |c| vec![c.input().threshold(c.real("threshold", 0), c.real("value", 1))]),
    ("polygamma.polygamma_n_0", |c| vec![c.input().polygamma(c.size("n", 0) as u32)]),
    ("polygamma.polygamma_n_1", |c| vec![c.input().polygamma(c.size("n", 0) as u32)]),
    ("polygamma.polygamma_n_2", |c| vec![c.input().polygamma(c.size("n", 0) as u32)]),
    ("polygamma.polygamma_n_3", |c| vec![c.input().polygamma(c.size("n", 0) as u32)]),
    ("polygamma.polygamma_n_4", |c| vec![c.input().polygamma(c.size("n", 0) as u32)]),
    ("positive", |c| vec![c.input().positive()]),
    ("pow", |c| vec![c.input().pow(c.tensor(0))]),
    ("rad2deg", |c| vec![c.input().rad2deg()]),
    ("reciprocal", |c| vec![c.input().recip()]),
    ("remainder", |c| vec![c.input().remainder(c.tensor(0))]),
    ("round", |c| vec![c.input().round()]),
    ("round.decimals_0", |c| vec![c.input().round_to(c.int("decimals", 0) as i32)]),
    ("round.decimals_3", |c| vec![c.input().round_to(c.int("decimals", 0) as i32)]),
    ("round.decimals_neg_3", |c| vec![c.input().round_to(c.int("decimals", 0) as i32)]),
    ("rsqrt", |c| vec![c.input().rsqrt()]),
    ("rsub", |c| vec![c.input().rsub_scaled(c.tensor(0), c.real_or("alpha", 9, 1.0))]),
    ("sigmoid", |c| vec![c.input().sigmoid()]),
    ("sign", |c| vec![c.input().sign()]),
    ("sin", |c| vec![c.input().sin()]),
    ("sinc", |c| vec![c.input().sinc()]),
    ("sinh", |c| vec![c.input().sinh()]),
    ("special.entr", |c| vec![c.input().entr()]),
    ("special.erfcx", |c| vec![c.input().erfcx()]),
    ("special.i0e", |c| vec![c.input().i0e()]),
    ("special.i1", |c| vec![c.input().i1()]),
    ("special.i1e", |c| vec![c.input().i1e()]),
    ("special.log_ndtr", |c| vec![c.input().log_ndtr()]),
    ("special.ndtr", |c| vec![c.input().ndtr()]),
    ("special.ndtri", |c| vec![c.input().ndtri()]),
    ("special.polygamma.special_polygamma_n_0", |c| vec![c.input().polygamma(c.size("n", 0) as u32)]),
    ("special.xlog1py", |c| vec![c.input().xlog1py(c.tensor(0))]),
    ("sqrt", |c| vec![c.input().sqrt()]),
    ("square", |c| vec![c.input().square()]),
    ("sub", |c| vec![c.input().sub_scaled(c.tensor(0), c.real_or("alpha", 9, 1.0))]),
    ("tan", |c| vec![c.input().tan()]),
    ("tanh", |c| vec![c.input().tanh()]),
    ("true_divide", |c| vec![c.input() / c.tensor(0)]),
    ("trunc", |c| vec![c.input().trunc()]),
    ("where", |c| vec![c.tensor(0).where_(c.input(), c.tensor(1))]),
    ("xlogy", |c| vec![c.input().xlogy(c.tensor(0))]),
];

pub const EXCEPTIONS: &[Exception] =
    &[("nn.functional.hardsigmoid", &[0], &[Check::Gradient], "the record has the slope 1/6 rounded to f32")];

/// With both bounds, or one of them, as numbers of the input's type.
fn clamp(c: &Call) -> Vec<Tensor> {
    let x = c.input();
    let bound = |name: &str, position: usize| c.opt_tensor(name, position).map(|bound| bound.cast(x.dtype()));
    vec![match (bound("min", 0), bound("max", 1)) {
        (Some(low), Some(high)) => x.clamp(low, high),
        (Some(low), None) => x.clamp_min(low),
        (None, Some(high)) => x.clamp_max(high),
        (None, None) => x.clone(),
    }]
}

/// The weight is a number or a tensor.
fn lerp(c: &Call) -> Vec<Tensor> {
    vec![match c.opt_tensor("weight", 1) {
        Some(weight) => c.input().lerp(c.tensor(0), weight),
        None => c.input().lerp(c.tensor(0), c.real("weight", 1)),
    }]
}
