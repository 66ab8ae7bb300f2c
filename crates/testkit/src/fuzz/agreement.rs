//! Compares all ways to differentiate a composition.

use super::composition::{Composition, Step};
use crate::caught::caught;
use crate::numeric::{difference, direction, inner, moved, norm_difference, stack_each, zeros_like};
use wengert::autograd;
use wengert::prelude::*;

/// The tolerance for different orders of the same exact operations.
const EXACT: f64 = 1e-9;

/// The tolerance for the same operations with sums in another order.
const OPTIMISED: f64 = 1e-12;

/// The tolerance after rounding to f32, which may go the other way.
const ROUNDED: f64 = 1e-4;

/// The tolerance of a derivative against finite differences.
const NUMERIC: f64 = 1e-6;

/// The primitives used, and the comparisons made.
#[derive(Clone, Debug)]
pub struct Verified {
    /// The primitives of the composition and of its gradient, one entry for each use.
    pub primitives: Vec<&'static str>,
    /// Whether finite differences were compared: near a kink or after rounding they are meaningless.
    pub numeric: bool,
}

/// Checks that all transforms agree on a composition; the error says what differs and after how many steps.
///
/// ```
/// use wengert_testkit::fuzz::{Composition, verify};
/// let verified = verify(&Composition::random(5, 4)).unwrap();
/// assert!(verified.primitives.contains(&"tanh"));
/// ```
pub fn verify(composition: &Composition) -> Result<Verified, String> {
    let run = |steps: usize| caught(|| Comparison::of(&composition.truncated(steps)).run()).flatten();
    let all = composition.steps.len();
    run(all).map_err(|message| {
        // A failing program is truncated to the fewest steps that still fail.
        let fewest = (0..all).find_map(|steps| run(steps).err().map(|message| (steps, message)));
        let (steps, message) = fewest.unwrap_or((all, message));
        format!("{message}\n{}", composition.truncated(steps))
    })
}

/// A composition at a point, and a direction.
struct Comparison<'a> {
    composition: &'a Composition,
    x: Vec<Tensor>,
    v: Vec<Tensor>,
    tolerance: f64,
}

/// A direction for every input; keys do not change.
fn along(x: &[Tensor], phase: f64) -> Vec<Tensor> {
    x.iter().enumerate().map(|(number, x)| direction(&x.spec(), phase + number as f64)).collect()
}

/// The inner product of gradients with a direction, without the key.
fn dot(a: &[Tensor], v: &[Tensor]) -> Tensor {
    let floats = a.iter().zip(v).filter(|(a, _)| a.dtype().is_float());
    floats.map(|(a, v)| (a * v).sum()).reduce(|a, b| a + b).expect("a float input")
}

/// Inputs as leaves for `backward`; keys are unchanged.
fn leaves(x: &[Tensor]) -> Vec<Tensor> {
    x.iter().map(|x| if x.dtype().is_float() { x.clone().require_grad() } else { x.clone() }).collect()
}

/// The gradients that the leaves have received.
fn received(leaves: &[Tensor]) -> Vec<Tensor> {
    leaves.iter().map(|leaf| leaf.grad().unwrap_or_else(|| leaf.detach().full_like(0.0))).collect()
}

impl<'a> Comparison<'a> {
    fn of(composition: &'a Composition) -> Comparison<'a> {
        let x = composition.inputs().to_vec();
        let tolerance = if composition.is_rounded() { ROUNDED } else { EXACT };
        Comparison { composition, v: along(&x, 0.3), x, tolerance }
    }

    /// The function to be differentiated.
    fn f(&self) -> impl Fn(&Vec<Tensor>) -> Tensor + Copy {
        |x: &Vec<Tensor>| self.composition.run(x)
    }

    /// Returns the first difference, if any, as an error.
    fn agree(&self, what: &str, got: &[Tensor], right: &[Tensor]) -> Result<(), String> {
        for (position, (got, right)) in got.iter().zip(right).enumerate() {
            if let Some(found) = norm_difference(got, right, self.tolerance) {
                return Err(format!("{what}: leaf {position} {found}"));
            }
        }
        if got.len() == right.len() { Ok(()) } else { Err(format!("{what}: {} leaves", got.len())) }
    }

    fn run(&self) -> Result<Verified, String> {
        let (value, gradient) = value_and_grad(self.f())(&self.x);
        if gradient.iter().chain([&value]).flat_map(Tensor::to_f64_vec).any(|number| !number.is_finite()) {
            return Err(format!("the value is {value}, the gradient {gradient:?}"));
        }
        let (staged, staged_gradient) = (compile(self.f()), compile(grad(self.f())));
        self.staged(&staged, &staged_gradient, &value, &gradient)?;
        let programs = [staged.program(&self.x), staged_gradient.program(&self.x)];
        self.optimised(&programs)?;
        let numeric = self.tangents(&staged, &gradient)?;
        self.batches()?;
        self.imperative(&gradient)?;
        self.second_order()?;
        self.recorded_once(&gradient)?;
        self.computed_again(&gradient)?;
        self.covers("the values", |x: &Vec<Tensor>| self.composition.values(x))?;
        self.covers("the gradient", grad(self.f()))?;
        let equations = programs.iter().flat_map(|program| program.equations()).map(|equation| equation.op.name());
        // Tracing inlines compiled functions, so such calls are counted as steps.
        let called = self.composition.steps.iter().filter_map(|step| match step {
            Step::Call { op, .. } => Some(op.name()).filter(|name| *name == "call"),
            Step::InnerCompiled(..) => Some("call"),
            _ => None,
        });
        Ok(Verified { primitives: equations.chain(called).collect(), numeric })
    }

    /// Compiled values and gradients, and the program's text.
    fn staged(
        &self,
        staged: &Compiled<Vec<Tensor>, Tensor, impl Fn(&Vec<Tensor>) -> Tensor>,
        staged_gradient: &Compiled<Vec<Tensor>, Vec<Tensor>, impl Fn(&Vec<Tensor>) -> Vec<Tensor>>,
        value: &Tensor,
        gradient: &[Tensor],
    ) -> Result<(), String> {
        let (x, value) = (&self.x, std::slice::from_ref(value));
        self.agree("compiled value", &[staged.call(x)], value)?;
        self.agree("compiled grad", &staged_gradient.call(x), gradient)?;
        self.agree("grad of compiled", &grad(|x: &Vec<Tensor>| staged.call(x))(x), gradient)?;
        let text = staged.program(x).to_string();
        let parsed = Program::parse(&text).map_err(|error| format!("the text does not read back: {error}"))?;
        if parsed.to_string() != text {
            return Err("the program's text changes when it is read and printed".into());
        }
        let outputs = parsed.evaluate(x).map_err(|error| format!("the text does not run: {error}"))?;
        self.agree("value from text", &outputs, value)
    }

    /// Programs of values and gradients before and after all passes.
    fn optimised(&self, [value, gradient]: &[Program; 2]) -> Result<(), String> {
        let tolerance = if self.composition.is_rounded() { ROUNDED } else { OPTIMISED };
        // Batching adds broadcasts and transposes; testing every fourth program is enough.
        let batch = stack_each(&[self.x.clone(), moved(&self.x, &self.v, 0.01)]);
        let batched = self.composition.seed.is_multiple_of(4).then(|| compile(vmap(grad(self.f()))).program(&batch));
        let programs = [("value", value, &self.x), ("gradient", gradient, &self.x)].into_iter();
        let batched = batched.as_ref().map(|program| ("batch of gradients", program, &batch));
        for (what, program, x) in programs.chain(batched) {
            let run = |program: &Program| program.evaluate(x).map_err(|error| format!("{what}: {error}"));
            let (right, got) = (run(program)?, run(&program.optimised())?);
            for (got, right) in got.iter().zip(&right) {
                if let Some(found) = norm_difference(got, right, tolerance) {
                    return Err(format!("{what} of the optimised program {found}\n{program}{}", program.optimised()));
                }
            }
        }
        Ok(())
    }

    /// Tangents, and finite differences where they are meaningful.
    fn tangents(
        &self,
        staged: &Compiled<Vec<Tensor>, Tensor, impl Fn(&Vec<Tensor>) -> Tensor>,
        gradient: &[Tensor],
    ) -> Result<bool, String> {
        let (f, x, v) = (self.f(), &self.x, &self.v);
        let (slope, size) = inner(gradient, v);
        let tangent = jvp(f, x, v).1;
        if (tangent.item() - slope).abs() > self.tolerance * size.max(1.0) {
            return Err(format!("jvp is {}, <grad, v> is {slope:?}", tangent.item()));
        }
        self.agree("jvp of compiled", &[jvp(|x: &Vec<Tensor>| staged.call(x), x, v).1], &[tangent])?;
        let Some(numeric) = self.numeric_slope() else { return Ok(false) };
        match difference(&Tensor::from(slope), &Tensor::from(numeric), NUMERIC) {
            Some(found) => Err(format!("<grad, v> {found} by finite differences")),
            None => Ok(true),
        }
    }

    /// The five-point stencil with two steps; `None` if they disagree, as near a kink.
    fn numeric_slope(&self) -> Option<f64> {
        let held = self.composition.held(&self.x);
        let at = |t: f64| self.composition.run_holding(&moved(&self.x, &self.v, t), &held).item();
        let stencil = |h: f64| (8.0 * (at(h) - at(-h)) - (at(2.0 * h) - at(-2.0 * h))) / (12.0 * h);
        let (wide, narrow) = (stencil(1e-3), stencil(4e-4));
        let smooth = (wide - narrow).abs() <= 0.1 * NUMERIC * narrow.abs().max(1.0);
        (smooth && !self.composition.is_rounded()).then_some(narrow)
    }

    /// Compares batches of gradients, gradients of batches, and gradients of tangents in batches with loops.
    fn batches(&self) -> Result<(), String> {
        let f = self.f();
        let copy = |number: usize| -> Vec<Tensor> {
            let mut copy = moved(&self.x, &along(&self.x, 1.7 + number as f64), 0.01 * number as f64);
            let key = copy.pop().expect("the key");
            copy.push(key + number as i64);
            copy
        };
        let copies: Vec<Vec<Tensor>> = (0..3).map(copy).collect();
        let batch = stack_each(&copies);
        let looped = stack_each(&copies.iter().map(grad(f)).collect::<Vec<_>>());
        self.agree("vmap of grad", &vmap(grad(f))(&batch), &looped)?;
        self.agree("compiled vmap of grad", &compile(vmap(grad(f))).call(&batch), &looped)?;
        self.agree("grad of vmap", &grad(|x: &Vec<Tensor>| vmap(f)(x).sum())(&batch), &looped)?;

        let tangent = |x: &Vec<Tensor>| jvp(f, x, &self.v).1;
        let looped = stack_each(&copies.iter().map(grad(tangent)).collect::<Vec<_>>());
        self.agree("vmap of grad of jvp", &vmap(grad(tangent))(&batch), &looped)
    }

    /// `backward` on leaves, once and twice.
    fn imperative(&self, gradient: &[Tensor]) -> Result<(), String> {
        let leaves = leaves(&self.x);
        self.composition.run(&leaves).backward();
        self.agree("backward", &received(&leaves), gradient)?;

        let floats: Vec<&Tensor> = leaves.iter().filter(|leaf| leaf.requires_grad()).collect();
        let first = autograd::grad_with(&[&self.composition.run(&leaves)], &floats, Backward::new().create_graph());
        let first: Vec<Tensor> = first.into_iter().flatten().collect();
        let second = autograd::grad(&[&dot(&first, &first)], &floats);
        let norm = |x: &Vec<Tensor>| {
            let slope = grad(self.f())(x);
            dot(&slope, &slope)
        };
        let mut right = grad(norm)(&self.x);
        right.retain(|gradient| gradient.dtype().is_float());
        self.agree("backward of backward", &second, &right)
    }

    /// Hessian-vector products, in all ways.
    fn second_order(&self) -> Result<(), String> {
        let (f, x, v) = (self.f(), &self.x, &self.v);
        let right = jvp(grad(f), x, v).1;
        self.agree("grad of <grad, v> against jvp of grad", &grad(|x: &Vec<Tensor>| dot(&grad(f)(x), v))(x), &right)?;
        self.agree("grad of jvp against jvp of grad", &grad(|x: &Vec<Tensor>| jvp(f, x, v).1)(x), &right)?;
        self.agree("compiled jvp of grad", &compile(|x: &Vec<Tensor>| jvp(grad(f), x, v).1).call(x), &right)?;

        // The imperative tape is below every transform and records what they do to its leaves.
        let recorded = |what: &str, slope: &dyn Fn(&Vec<Tensor>) -> Vec<Tensor>| {
            let leaves = leaves(x);
            dot(&slope(&leaves), v).backward();
            self.agree(&format!("backward of {what}"), &received(&leaves), &right)
        };
        recorded("grad", &|x| grad(f)(x))?;
        recorded("compiled grad", &|x| compile(grad(f)).call(x))?;
        recorded("vmap of grad", &|x| vmap(grad(f))(&x.map_leaves(|x| x.unsqueeze(0))))?;
        recorded("the value beside jvp of grad", &|x| jvp(grad(f), x, &x.map_leaves(|x| x.full_like(0.0))).0)
    }

    /// One recording as a linear map, in both directions, and for batches of seeds.
    fn recorded_once(&self, gradient: &[Tensor]) -> Result<(), String> {
        let (f, x, v) = (self.f(), &self.x, &self.v);
        let (_, map) = linearize(f, x);
        self.agree("linear map", &[map.apply(v)], &[jvp(f, x, v).1])?;
        self.agree("transposed linear map", &map.apply_transpose(&Tensor::from(1.0)), gradient)?;
        let others = along(x, 2.1);
        let pushed = map.apply_batch(&stack_each(&[v.clone(), others.clone()]));
        self.agree("batch of tangents", &[pushed], &[Tensor::stack(&[map.apply(v), map.apply(&others)], 0)])?;
        let twice: Vec<Tensor> = gradient.iter().map(|gradient| gradient * 2).collect();
        let pulled = map.transpose().call_batch(&Tensor::from([1.0, 2.0]));
        self.agree("batch of cotangents", &pulled, &stack_each(&[gradient.to_vec(), twice]))
    }

    /// Through a checkpoint, in all orders.
    fn computed_again(&self, gradient: &[Tensor]) -> Result<(), String> {
        let (f, x, v, composition) = (self.f(), &self.x, &self.v, self.composition.clone());
        let saving = checkpoint(move |x: &Vec<Tensor>| composition.run(x));
        let saving = |x: &Vec<Tensor>| saving(x);
        self.agree("grad behind a checkpoint", &grad(saving)(x), gradient)?;
        self.agree("jvp of grad behind a checkpoint", &jvp(grad(saving), x, v).1, &jvp(grad(f), x, v).1)?;
        let curved = grad(|x: &Vec<Tensor>| dot(&grad(saving)(x), v))(x);
        self.agree("grad of grad behind a checkpoint", &curved, &jvp(grad(f), x, v).1)
    }

    /// The dependency pattern of `f` has every entry that a tangent shows; every fourth column is checked.
    fn covers(&self, what: &str, f: impl Fn(&Vec<Tensor>) -> Vec<Tensor>) -> Result<(), String> {
        let pattern = jacobian_pattern(&f, &self.x);
        let floats = self.x.iter().enumerate().filter(|(_, x)| x.dtype().is_float());
        let places = floats.flat_map(|(position, x)| (0..x.elements()).map(move |element| (position, element)));
        for (column, (position, element)) in places.enumerate().skip(self.composition.seed as usize % 4).step_by(4) {
            let mut v = zeros_like(&self.x);
            let numbers = (0..v[position].elements()).map(|i| f64::from(i == element)).collect();
            v[position] = Tensor::from_vec::<f64>(numbers, v[position].shape());
            let tangents = jvp(&f, &self.x, &v).1;
            let slopes = tangents.iter().filter(|tangent| tangent.dtype().is_float()).flat_map(Tensor::to_f64_vec);
            let mut entries = slopes.enumerate().filter(|(_, slope)| *slope != 0.0);
            if let Some((row, slope)) = entries.find(|(row, _)| !pattern.contains(*row, column)) {
                return Err(format!("the pattern of {what} lacks ({row}, {column}), where the slope is {slope:?}"));
            }
        }
        Ok(())
    }
}
