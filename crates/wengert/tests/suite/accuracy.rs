//! Accuracy of elementwise functions as a user calls them: f32 within 4 ulp, f64 within 2.
//!
//! Their kernels are sampled far more densely by tests next to their code. `gelu_tanh` is not tested here: it is an approximation whose
//! tail follows the rounding of its exponent and is far from `gelu` there.

use wengert::prelude::*;

type Function = fn(&Tensor) -> Tensor;

const FUNCTIONS: &[(&str, Function)] = &[
    ("silu", Tensor::silu),
    ("gelu", Tensor::gelu),
    ("mish", Tensor::mish),
    ("elu", |x| x.elu(1.0)),
    ("selu", Tensor::selu),
    ("celu", |x| x.celu(2.0)),
    ("softsign", Tensor::softsign),
    ("logit", Tensor::logit),
    ("tanhshrink", Tensor::tanhshrink),
    ("entr", Tensor::entr),
    ("logsigmoid", Tensor::logsigmoid),
    ("hardswish", Tensor::hardswish),
    ("hardsigmoid", Tensor::hardsigmoid),
];

/// Values to 90 digits, rounded to the nearest double.
const VALUES: &[(&str, &[(f64, f64)])] = &[
    (
        "silu",
        &[
            (-40.0, -1.6993417021166355e-16),
            (-7.3, -0.0049281039336197185),
            (-1.3, -0.2784145220446738),
            (-0.1, -0.047502081252106004),
            (-1e-09, -4.9999999975e-10),
            (1e-09, 5.000000002500001e-10),
            (0.3, 0.17233275504349768),
            (1.1, 0.8252861161546294),
            (5.7, 5.680991598347744),
            (33.0, 32.999999999999844),
        ],
    ),
    (
        "gelu",
        &[
            (-20.0, -5.507248237212468e-88),
            (-7.3, -1.050352205855039e-12),
            (-1.3, -0.12584062996129342),
            (-0.1, -0.0460172162722971),
            (-1e-09, -4.999999996010577e-10),
            (1e-09, 5.000000003989423e-10),
            (0.3, 0.1853734266566858),
            (1.1, 0.9507673329589792),
            (5.7, 5.699999965854883),
            (33.0, 33.0),
        ],
    ),
    (
        "mish",
        &[
            (-40.0, -1.6993417021166355e-16),
            (-7.3, -0.004929767372170593),
            (-1.3, -0.30738246474949593),
            (-0.1, -0.056788575212844736),
            (-1e-09, -5.9999999968e-10),
            (1e-09, 6.0000000032e-10),
            (0.3, 0.20800137234811503),
            (1.1, 0.9708415798947236),
            (5.7, 5.699873222696419),
            (33.0, 33.0),
        ],
    ),
    (
        "elu",
        &[
            (-40.0, -1.0),
            (-7.3, -0.9993244612248061),
            (-1.3, -0.7274682069659875),
            (-0.1, -0.09516258196404043),
            (-1e-09, -9.999999995e-10),
            (0.7, 0.7),
        ],
    ),
    (
        "selu",
        &[
            (-40.0, -1.7580993408473768),
            (-7.3, -1.7569116765719917),
            (-1.3, -1.2789613751543256),
            (-0.1, -0.16730527262431397),
            (-1e-09, -1.7580993399683274e-09),
            (0.7, 0.7354906911488363),
            (12.3, 12.92362214447241),
        ],
    ),
    (
        "celu",
        &[
            (-40.0, -1.9999999958776928),
            (-7.3, -1.9480177424424894),
            (-1.3, -0.9559084464779679),
            (-0.1, -0.09754115099857198),
            (-1e-09, -9.9999999975e-10),
            (0.7, 0.7),
        ],
    ),
    (
        "softsign",
        &[
            (-1000000000.0, -0.999999999),
            (-7.3, -0.8795180722891566),
            (-0.1, -0.09090909090909091),
            (1e-09, 9.999999990000001e-10),
            (0.7, 0.4117647058823529),
            (33.0, 0.9705882352941176),
        ],
    ),
    (
        "logit",
        &[
            (1e-12, -27.63102111592755),
            (0.01, -4.59511985013459),
            (0.3, -0.8472978603872037),
            (0.4999999, -4.000000000115076e-07),
            (0.50000001, 4.000000020099038e-08),
            (0.51, 0.0400053346136992),
            (0.6, 0.4054651081081643),
            (0.9, 2.1972245773362196),
            (0.999999, 13.815509557935018),
        ],
    ),
    (
        "tanhshrink",
        &[
            (-7.3, -6.300000912704857),
            (-0.1, -0.00033200537504418296),
            (0.001, 3.33333200000054e-10),
            (0.3, 0.008687387548409094),
            (1.1, 0.29950097823937033),
            (5.7, 4.700022390719011),
        ],
    ),
    (
        "entr",
        &[
            (1e-12, 2.763102111592855e-11),
            (0.01, 0.04605170185988092),
            (0.3, 0.3611918412977808),
            (0.99999, 9.999949999787822e-06),
            (1.00001, -1.0000049999898847e-05),
            (3.7, -4.840831432705662),
            (1000000000.0, -20723265836.94641),
        ],
    ),
    (
        "logsigmoid",
        &[
            (-50.0, -50.0),
            (-1.1, -1.3873353251154308),
            (-1e-06, -0.6931476805600703),
            (0.3, -0.5543552444685271),
            (20.0, -2.061153620314381e-09),
        ],
    ),
    (
        "hardswish",
        &[
            (-2.9999, -4.9998333333438845e-05),
            (-1.1, -0.34833333333333333),
            (0.3, 0.16499999999999998),
            (2.7, 2.5650000000000004),
        ],
    ),
    (
        "hardsigmoid",
        &[(-2.9999, 1.666666666670184e-05), (-1.1, 0.31666666666666665), (0.3, 0.55), (2.7, 0.9500000000000001)],
    ),
];

fn ulps(y: f64, want: f64) -> f64 {
    let size = want.abs();
    ((y - want) / (f64::from_bits(size.to_bits() + 1) - size)).abs()
}

#[test]
fn doubles_are_within_two_units() {
    for (name, values) in VALUES {
        let f = FUNCTIONS.iter().find(|(other, _)| other == name).unwrap().1;
        for &(x, want) in *values {
            let y = f(&Tensor::from(x)).item();
            assert!(ulps(y, want) <= 2.0, "{name}({x}) is {y}, not {want}: {} ulp", ulps(y, want));
        }
    }
}

fn ulps_single(y: f32, want: f64) -> f64 {
    let rounded = (want as f32).abs();
    let unit =
        (f64::from(f32::from_bits(rounded.to_bits() + 1)) - f64::from(rounded)).max(f64::from(f32::from_bits(1)));
    ((f64::from(y) - want) / unit).abs()
}

#[test]
fn singles_are_within_four_units() {
    let cases: &[(&str, Function, fn(f64) -> f64, f64, f64)] = &[
        ("exp", Tensor::exp, f64::exp, -80.0, 80.0),
        ("silu", Tensor::silu, |x| x / (1.0 + (-x).exp()), -80.0, 80.0),
        ("mish", Tensor::mish, |x| x * x.exp().ln_1p().tanh(), -80.0, 80.0),
        ("gelu", Tensor::gelu, |x| Tensor::from(x).gelu().item(), -12.0, 30.0),
        ("elu", |x| x.elu(1.3), |x| if x > 0.0 { x } else { 1.3f32 as f64 * x.exp_m1() }, -30.0, 3.0),
        (
            "selu",
            Tensor::selu,
            |x| 1.0507009873554805 * if x > 0.0 { x } else { 1.6732632423543772 * x.exp_m1() },
            -30.0,
            3.0,
        ),
        ("celu", |x| x.celu(2.0), |x| if x > 0.0 { x } else { 2.0 * (x / 2.0).exp_m1() }, -30.0, 3.0),
        ("softsign", Tensor::softsign, |x| x / (1.0 + x.abs()), -50.0, 50.0),
        ("logit", Tensor::logit, |x| x.ln() - (-x).ln_1p(), 0.0, 0.49),
        ("logit", Tensor::logit, |x| x.ln() - (-x).ln_1p(), 0.51, 1.0),
        ("logit", Tensor::logit, |x| (2.0 * (x - 0.5) / (1.0 - x)).ln_1p(), 0.49, 0.51),
        ("entr", Tensor::entr, |x| -x * x.ln(), 1e-6, 10.0),
        ("tanhshrink", Tensor::tanhshrink, |x| x - x.tanh(), 0.05, 10.0),
        ("hardswish", Tensor::hardswish, |x| x * (x + 3.0) / 6.0, -2.99, 2.99),
        ("hardsigmoid", Tensor::hardsigmoid, |x| (x + 3.0) / 6.0, -2.99, 2.99),
    ];
    for &(name, f, want, low, high) in cases {
        let x: Vec<f32> = (0..100_000).map(|i| (low + (high - low) * (f64::from(i) + 0.5) / 1e5) as f32).collect();
        let y = f(&Tensor::from(&x[..])).to_vec::<f32>();
        let mut worst = (0.0, 0.0);
        for (&x, &y) in x.iter().zip(&y) {
            let want = want(f64::from(x));
            // Below the normal range, ulps are not meaningful.
            let error = if want.abs() < 1e-37 { 0.0 } else { ulps_single(y, want) };
            if error > worst.0 || error.is_nan() {
                worst = (error, x);
            }
        }
        assert!(worst.0 <= 4.0, "{name}({:e}): {} ulp", worst.1, worst.0);
    }
}
