//! avg_pool - averages over windows.   y[o] = (sum of x over window o) / size,   dy likewise.   The size includes the padding unless set
//! otherwise, or is a given divisor.
//!
//! avg_pool_gradient - the transpose of avg_pool.   x[i] = sum of y[o] / size over the windows o that contain i,   dx likewise.
//!
//! adaptive_avg_pool - averages over windows chosen for a given output size.   Window o is floor(o n / m) .. ceil((o + 1) n / m),   dy
//! likewise.
//!
//! adaptive_avg_pool_gradient - the transpose of adaptive_avg_pool.   x[i] = sum of y[o] / size over the windows o that contain i,   dx
//! likewise.

use super::max_pool::{
    Pool, adaptive, adaptive_attrs, exchanged, planes_of, pool_cases, pooling, window, window_flops, window_sums,
};
use crate::prelude::*;
use crate::rules::Sizes;
use wengert_kernels::matmul::Product;

/// One method for each number of axes.
macro_rules! for_axes {
    ($($axes:literal: $average:ident $adaptive:ident;)*) => {
        /// The methods of `avg_pool`.
        #[ext(AvgPoolMethods)]
        impl Tensor {$(
            /// The average of each window of the last axes.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![2, 3]; shape.resize(2 + ", $axes, ", 4);")]
            #[doc = concat!("let y = Tensor::ones(shape).", stringify!($average), "(&Pool::new(2));")]
            #[doc = concat!("assert_eq!(y.shape()[2..], [2; ", $axes, "]);")]
            /// ```
            #[track_caller]
            pub fn $average(&self, pool: &Pool) -> Tensor {
                let attrs = pool.attrs(stringify!($average), self, $axes);
                let attrs = attrs
                    .with_int("count_include_pad", i64::from(pool.count_include_pad))
                    .with_real("divisor", pool.divisor.unwrap_or(0.0));
                bind1(&AVG_POOL, attrs, &[self])
            }

            /// The averages over windows chosen so that the last axes get this size.
            ///
            /// ```
            /// use wengert::prelude::*;
            #[doc = concat!("let mut shape = vec![2, 3]; shape.resize(2 + ", $axes, ", 5);")]
            #[doc = concat!("let y = Tensor::ones(shape).", stringify!($adaptive), "(3);")]
            #[doc = concat!("assert_eq!(y.shape()[2..], [3; ", $axes, "]);")]
            /// ```
            #[track_caller]
            pub fn $adaptive(&self, output: impl Into<Sizes>) -> Tensor {
                let attrs = adaptive_attrs(stringify!($adaptive), self, &output.into(), $axes);
                bind1(&ADAPTIVE_AVG_POOL, attrs, &[self])
            }
        )*}
    };
}
for_axes! {
    1: avg_pool1d adaptive_avg_pool1d;
    2: avg_pool2d adaptive_avg_pool2d;
    3: avg_pool3d adaptive_avg_pool3d;
}

/// The primitive `avg_pool`.
pub static AVG_POOL: LinearOp<AvgPool> = LinearOp::NEW;

/// The primitive `avg_pool_gradient`.
pub static AVG_POOL_GRADIENT: LinearOp<AvgPoolGradient> = LinearOp::NEW;

/// The primitive `adaptive_avg_pool`.
pub static ADAPTIVE_AVG_POOL: LinearOp<AdaptiveAvgPool> = LinearOp::NEW;

/// The primitive `adaptive_avg_pool_gradient`.
pub static ADAPTIVE_AVG_POOL_GRADIENT: LinearOp<AdaptiveAvgPoolGradient> = LinearOp::NEW;

/// See the module.
pub struct AvgPool;

/// See the module.
pub struct AvgPoolGradient;

/// See the module.
pub struct AdaptiveAvgPool;

/// See the module.
pub struct AdaptiveAvgPoolGradient;

const ATTRIBUTES: &[&str] =
    &["input", "output", "kernel", "stride", "dilation", "padding", "count_include_pad", "divisor"];

fn run<T: Product>(attrs: &Attrs, x: View<'_>, out: &mut [T], is_adaptive: bool, forward: bool) {
    let planes = planes_of(x.shape, attrs.sizes("input").rank());
    let x = numbers::<T>(x);
    if is_adaptive {
        let geometry = adaptive(attrs, planes);
        return if forward { geometry.average(&x[..], out) } else { geometry.average_gradient(&x[..], out) };
    }
    let geometry = pooling(attrs, planes);
    let counts = attrs.int("count_include_pad") != 0;
    let divisor = Some(attrs.real("divisor")).filter(|&divisor| divisor != 0.0);
    match forward {
        true => geometry.average(&x[..], out, counts, divisor),
        false => geometry.average_gradient(&x[..], out, counts, divisor),
    }
}

/// The weight of each input in each output of one plane, by definition.
fn weights(is_adaptive: bool, attrs: &Attrs) -> Vec<Vec<f64>> {
    let (input, output) = (attrs.sizes("input"), attrs.sizes("output"));
    let row = |o: &Vec<usize>| {
        let windows: Vec<Vec<usize>> = (0..o.len()).map(|axis| window(is_adaptive, attrs, axis, o[axis])).collect();
        let counted = |axis: usize| {
            if is_adaptive || attrs.int("count_include_pad") == 0 {
                return windows[axis].len();
            }
            let at = |name: &str| attrs.sizes(name)[axis];
            let inside = |k: &usize| o[axis] * at("stride") + k * at("dilation") < at("input") + 2 * at("padding");
            (0..at("kernel")).filter(inside).count()
        };
        let own = !is_adaptive && attrs.real("divisor") != 0.0;
        let size = if own { attrs.real("divisor") } else { (0..o.len()).map(counted).product::<usize>() as f64 };
        Sample::indices(&input)
            .iter()
            .map(|i| match i.iter().zip(&windows).all(|(i, window)| window.contains(i)) {
                true => 1.0 / size,
                false => 0.0,
            })
            .collect::<Vec<f64>>()
    };
    Sample::indices(&output).iter().map(row).collect()
}

fn cases(is_adaptive: bool, forward: bool) -> Vec<Case> {
    let apply = move |attrs: &Attrs, plane: &[f64]| -> Vec<f64> {
        let weights = weights(is_adaptive, attrs);
        match forward {
            true => weights.iter().map(|row| row.iter().zip(plane).map(|(w, x)| w * x).sum()).collect(),
            false => (0..attrs.sizes("input").elements())
                .map(|i| weights.iter().zip(plane).map(|(row, y)| row[i] * y).sum())
                .collect(),
        }
    };
    let variants: &[(i64, f64)] = if is_adaptive { &[(1, 0.0)] } else { &[(1, 0.0), (0, 0.0), (1, 3.0)] };
    let mut all = Vec::new();
    for &(counts, divisor) in variants {
        for case in pool_cases(is_adaptive, |_, _, _| (vec![], None)) {
            // Averages have no dilation.
            if !is_adaptive && case.attrs.sizes("dilation").iter().any(|&step| step != 1) {
                continue;
            }
            let attrs = match is_adaptive {
                true => case.attrs.clone(),
                false => case.attrs.clone().with_int("count_include_pad", counts).with_real("divisor", divisor),
            };
            let (input, output) = (attrs.sizes("input"), attrs.sizes("output"));
            let lead: Vec<usize> = case.operands[0].shape[..case.operands[0].shape.rank() - input.rank()].to_vec();
            let (from, to) = if forward { (input, output) } else { (output, input) };
            let with = |last: &Shape| -> Shape { lead.iter().chain(last.iter()).copied().collect() };
            let (x, shape, kept) = (Sample::wave(with(&from), 0.55), with(&to), attrs.clone());
            all.push(Case::new(format!("{attrs}"), attrs, [x], move |s| {
                let planes = s[0].data.chunks(from.elements().max(1));
                vec![Sample::new(shape.clone(), planes.flat_map(|plane| apply(&kept, plane)).collect::<Vec<f64>>())]
            }));
        }
    }
    all
}

/// One half of a pair of transposed averages.
macro_rules! average {
    ($type:ident, $name:literal, $attributes:expr, $from:literal -> $to:literal, $transpose:ident, $adaptive:literal, $forward:literal, $rule:literal) => {
        impl Linear for $type {
            const NAME: &'static str = $name;
            const ATTRIBUTES: &'static [&'static str] = $attributes;
            const RULE: &'static str = $rule;
            const DEPENDENCY: Dependency = Dependency::Dense;

            fn infer(attrs: &Attrs, x: SpecRef<'_>) -> Result<Spec, Error> {
                expect_float($name, x.dtype)?;
                if !$adaptive {
                    expect_reals(attrs, &["divisor"]);
                    expect_flags($name, attrs, &["count_include_pad"])?;
                }
                exchanged($name, x, $adaptive, [$from, $to], attrs)
            }

            fn flops(attrs: &Attrs, x: SpecRef<'_>, _output: &Spec) -> f64 {
                window_flops($adaptive, attrs, x)
            }

            fn expansion(attrs: &Attrs, x: &Tensor) -> Option<Tensor> {
                Some(window_sums($adaptive, attrs, x, $forward))
            }

            fn run(attrs: &Attrs, x: View<'_>, out: Out<'_>) -> Result<(), Error> {
                computing_float!(out.dtype, T => fill(out, |out| run::<T>(attrs, x, out, $adaptive, $forward)));
                Ok(())
            }

            fn transpose(rule: &Rule<'_>, g: Tensor) -> Gradient {
                Gradient::Dense(bind1(&$transpose, rule.attrs.clone(), &[&g]))
            }

            fn batch(op: &'static dyn Primitive, attrs: &Attrs, _size: usize, x: &Tensor) -> Tensor {
                bind1(op, attrs.clone(), &[x])
            }

            #[cfg(feature = "cases")]
            fn cases() -> Vec<Case> {
                cases($adaptive, $forward)
            }
        }
    };
}
average!(AvgPool, "avg_pool", ATTRIBUTES, "input" -> "output", AVG_POOL_GRADIENT, false, true, "dx = avg_pool_gradient(dy)");
average!(AvgPoolGradient, "avg_pool_gradient", ATTRIBUTES, "output" -> "input", AVG_POOL, false, false, "dy = avg_pool(dx)");
average!(AdaptiveAvgPool, "adaptive_avg_pool", &["input", "output"], "input" -> "output", ADAPTIVE_AVG_POOL_GRADIENT, true, true, "dx = adaptive_avg_pool_gradient(dy)");
average!(AdaptiveAvgPoolGradient, "adaptive_avg_pool_gradient", &["input", "output"], "output" -> "input", ADAPTIVE_AVG_POOL, true, false, "dy = adaptive_avg_pool(dx)");
