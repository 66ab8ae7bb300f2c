//! while_gradient - the pullback of a loop of n steps.   dc[k] = dbody(c[k])^T dc[k+1] for k = n-1, .. 0,   by the same in loops.   States
//! are recomputed from a bounded number of checkpoints, with the fewest forward steps that this takes. Its own derivatives are those of the
//! double loop that takes k steps from the start for every k: exact to every order, but only the first order is fast.

use super::while_loop::while_loop;
use crate::error::OrRaise;
use crate::location::{self, Line};
use crate::primitive::Device;
use crate::program::ProgramAttrs;
use crate::program::control::masked;
use crate::program::control::steps::wide;
use crate::program::control::{BodyRunner, input_specs, laid_out, output_specs, pick, places, stacked, through};
use crate::program::{Program, ProgramAttr, Wish, staged};
use crate::{jvp, vjp};
use std::ops::Range;
use wengert_core::memory::Snapshots;
use wengert_ops::prelude::*;

/// Number of states kept at once.
const KEPT: usize = 32;

/// The primitive `while_gradient`.
pub static WHILE_GRADIENT: WhileGradient = WhileGradient;

/// See the module.
pub struct WhileGradient;

/// The attributes of the pullback of `body` with respect to the inputs marked in `active`.
pub(super) fn attrs_of(consts: usize, active: &[bool], body: &ProgramAttr) -> Attrs {
    Attrs::new()
        .with_int("consts", consts as i64)
        .with_sizes("wanted", &places(active))
        .with_program("body", body.clone())
}

/// The attributes of a call. Operands are the number of steps, the constants and the initial carry, and the cotangents of the wanted
/// carries; outputs are the cotangents of the wanted constants and carries.
struct WhileForm {
    consts: usize,
    active: Vec<bool>,
    body: ProgramAttr,
}

impl WhileForm {
    fn of(attrs: &Attrs) -> WhileForm {
        let body = attrs.program("body").clone();
        let wanted = attrs.sizes("wanted");
        let active = (0..body.inputs().len()).map(|place| wanted.contains(&place)).collect();
        WhileForm { consts: attrs.axis("consts"), active, body }
    }

    fn inputs(&self) -> usize {
        self.active.len()
    }

    fn operands(&self) -> usize {
        1 + self.inputs() + places(&self.active[self.consts..]).len()
    }

    /// One step back: the cotangents of the carry before it, and the accumulated cotangents of the constants.
    fn step_back(&self, state: &[Tensor], cotangents: &[Tensor], sums: &[Tensor]) -> (Vec<Tensor>, Vec<Tensor>) {
        let (_, found) = through::pull(&self.body, state, &self.active, cotangents, &self.active[self.consts..]);
        let (of_consts, of_carry) = found.split_at(sums.len());
        (of_carry.to_vec(), sums.iter().zip(of_consts).map(|(sum, term)| sum + term.cast(sum.dtype())).collect())
    }

    /// [`step_back`](WhileForm::step_back) as a program of state, cotangents and sums.
    fn step(&self) -> ProgramAttr {
        let wish = Wish { what: "while step back", inputs: self.active.clone(), numbers: vec![self.consts] };
        let derived = self.body.derived(wish, |body| {
            let specs = input_specs(body);
            let (consts, carry) = self.wanted();
            let cotangents = carry.iter().map(|&place| specs[place].clone());
            let more = cotangents.chain(consts.iter().map(|&place| wide(&specs[place])));
            let all: Vec<Spec> = specs.iter().cloned().chain(more).collect();
            ProgramAttr::from(staged("while_loop", &all, |mut v| {
                let mut cotangents = v.split_off(specs.len());
                let sums = cotangents.split_off(carry.len());
                let (cotangents, sums) = self.step_back(&v, &cotangents, &sums);
                [cotangents, sums].concat()
            }))
        });
        (*derived).clone()
    }

    /// The wanted constants and the wanted carries, as inputs of the body.
    fn wanted(&self) -> (Vec<usize>, Vec<usize>) {
        let carry = places(&self.active[self.consts..]).into_iter().map(|place| place + self.consts);
        (places(&self.active[..self.consts]), carry.collect())
    }

    fn zero_sums(&self) -> Vec<Tensor> {
        let specs = input_specs(&self.body);
        self.wanted().0.iter().map(|&place| Tensor::constant(0.0, &wide(&specs[place]))).collect()
    }

    /// Converts the accumulated cotangents of constants to gradients.
    fn narrowed(&self, sums: Vec<Tensor>) -> impl Iterator<Item = Tensor> {
        let specs = input_specs(&self.body);
        sums.into_iter().zip(self.wanted().0).map(move |(sum, place)| sum.cast(specs[place].dtype))
    }

    /// Runs eagerly, from checkpointed states.
    fn run(&self, operands: &[Tensor]) -> Result<Outputs, Error> {
        let line = location::resolve(Line::caller());
        let steps = operands[0].to_f64_vec()[0] as usize;
        let (init, rest) = operands[1..].split_at(self.inputs());
        let (mut cotangents, mut sums, back) = (rest.to_vec(), self.zero_sums(), self.step());
        let (body, back) = (BodyRunner::new(&self.body, operands), BodyRunner::new(&back, operands));
        let (consts, carry) = init.split_at(self.consts);
        let forward = |state: Vec<Tensor>, range: Range<usize>| {
            range.into_iter().try_fold(state, |state, _| body.run(&[consts, &state].concat(), line))
        };
        Snapshots::of(vec![(0, carry.to_vec())], KEPT).take_back(steps, forward, |state, _| {
            let inputs = [consts, &state, &cotangents, &sums].concat();
            cotangents = back.run(&inputs, line)?;
            sums = cotangents.split_off(rest.len());
            Ok(())
        })?;
        Ok(self.narrowed(sums).chain(cotangents).collect())
    }

    /// Expands to loops: for every step back, the state is computed from the start.
    fn expand(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let (init, cotangents) = operands[1..].split_at(self.inputs());
        let (consts, carry) = init.split_at(self.consts);
        let start = (&operands[0] - 1i64, cotangents.to_vec(), self.zero_sums());
        type Back = (Tensor, Vec<Tensor>, Vec<Tensor>);
        let back = |(step, cotangents, sums): &Back| {
            let forward = |(at, state): &(Tensor, Vec<Tensor>)| {
                (at + 1i64, self.body.evaluate(&[consts, state].concat()).or_raise())
            };
            let first = (Tensor::from(0i64), carry.to_vec());
            let (_, state) = while_loop(|(at, _): &(Tensor, Vec<Tensor>)| at.lt(step), forward, &first);
            let (cotangents, sums) = self.step_back(&[consts, &state].concat(), cotangents, sums);
            (step - 1i64, cotangents, sums)
        };
        let (_, cotangents, sums) = while_loop(|(step, _, _): &Back| step.ge(0i64), back, &start);
        self.narrowed(sums).chain(cotangents).collect()
    }

    /// Expands to loops that keep the states of some steps: the state before any other step is computed from the last one that was kept.
    fn expand_from_kept(&self, operands: &[Tensor]) -> Vec<Tensor> {
        let (init, cotangents) = operands[1..].split_at(self.inputs());
        let (consts, carry) = init.split_at(self.consts);
        let (steps, zero) = (&operands[0], Tensor::from(0i64));
        let every = ((steps - 1i64).cast(DType::F64) / KEPT as f64).floor().cast(DType::I64) + 1i64;
        let forward = |state: &[Tensor], count: &Tensor| {
            let step = |(at, state): &(Tensor, Vec<Tensor>)| {
                (at + 1i64, self.body.evaluate(&[consts, state].concat()).or_raise())
            };
            while_loop(|(at, _): &(Tensor, Vec<Tensor>)| at.lt(count), step, &(zero.clone(), state.to_vec())).1
        };
        // A step, the row of the last kept state before it, and two lists.
        type Loop = (Tensor, Tensor, Vec<Tensor>, Vec<Tensor>);
        let rows = Tensor::arange(KEPT as i64);
        let keep = |(step, row, state, kept): &Loop| {
            let put = |(state, kept): (&Tensor, &Tensor)| {
                let mut shape = vec![1; kept.rank()];
                shape[0] = KEPT;
                let is_here = rows.equal(row).reshape(shape).broadcast_to(kept.shape());
                is_here.where_(state.broadcast_to(kept.shape()), kept)
            };
            let kept = state.iter().zip(kept).map(put).collect();
            let next = step + &every;
            let state = forward(state, &next.lt(steps).where_(&every, &zero));
            (next, row + 1i64, state, kept)
        };
        let unset = |state: &Tensor| Tensor::constant(0.0, &stacked(&state.spec(), KEPT));
        let start = (zero.clone(), zero.clone(), carry.to_vec(), carry.iter().map(unset).collect());
        let (_, count, _, kept) = while_loop(|(step, ..): &Loop| step.lt(steps), keep, &start);
        let back = |(step, row, cotangents, sums): &Loop| {
            let first = row * &every;
            let of_row = |(kept, state): (&Tensor, &Tensor)| {
                kept.gather(0, &row.broadcast_to([&[1], state.shape()].concat())).reshape(state.shape())
            };
            let state: Vec<Tensor> = kept.iter().zip(carry).map(of_row).collect();
            let state = forward(&state, &(step - &first));
            let (cotangents, sums) = self.step_back(&[consts, &state].concat(), cotangents, sums);
            (step - 1i64, step.equal(&first).where_(row - 1i64, row), cotangents, sums)
        };
        let start = (steps - 1i64, count - 1i64, cotangents.to_vec(), self.zero_sums());
        let (_, _, cotangents, sums) = while_loop(|(step, ..): &Loop| step.ge(0i64), back, &start);
        self.narrowed(sums).chain(cotangents).collect()
    }

    /// [`expand`](WhileForm::expand) with the operands at these indices replaced.
    fn expanded(&self, operands: &[Tensor], at: &[usize], others: &[Tensor]) -> Vec<Tensor> {
        let mut all = operands.to_vec();
        at.iter().zip(others).for_each(|(&place, other)| all[place] = other.clone());
        self.expand(&all)
    }
}

impl Primitive for WhileGradient {
    fn name(&self) -> &'static str {
        "while_gradient"
    }

    fn operands(&self) -> usize {
        1
    }

    fn accepts(&self, count: usize) -> bool {
        count >= 1
    }

    fn attributes(&self) -> &'static [&'static str] {
        &["consts", "wanted", "body"]
    }

    fn outputs(&self, attrs: &Attrs) -> usize {
        attrs.ints("wanted").len()
    }

    fn infer(&self, attrs: &Attrs, operands: &[SpecRef<'_>]) -> Result<Specs, Error> {
        let form = WhileForm::of(attrs);
        let (specs, wanted) = (input_specs(&form.body), attrs.sizes("wanted"));
        let differentiable = |place: &usize| specs.get(*place).is_some_and(|spec| spec.dtype.is_float());
        if specs.get(form.consts..) != Some(&output_specs(&form.body)[..])
            || !wanted.iter().all(differentiable)
            || wanted[..] != places(&form.active)
        {
            let message = format!("the pullback by inputs {wanted} of a body with {} constants", form.consts);
            return Err(Error::new(ErrorKind::Program, "while_gradient", message)
                .help("a body returns what it carries, and is pulled back by floats, in order"));
        }
        let (consts, carry) = form.wanted();
        let seeds = carry.iter().map(|&place| specs[place].clone());
        let expected: Vec<Spec> =
            std::iter::once(Spec::new([], DType::I64)).chain(specs.clone()).chain(seeds).collect();
        let given: Vec<Spec> = operands.iter().map(|operand| operand.to_spec()).collect();
        if given != expected {
            let text = |specs: &[Spec]| specs.iter().map(Spec::to_string).collect::<Vec<_>>().join(", ");
            let message = format!("takes {}, got {}", text(&expected), text(&given));
            return Err(Error::new(ErrorKind::Program, "while_gradient", message));
        }
        Ok(consts.into_iter().chain(carry).map(|place| specs[place].clone()).collect())
    }

    fn eval(&self, _device: Device, attrs: &Attrs, operands: &[&Tensor], _outputs: &[Spec]) -> Result<Outputs, Error> {
        let operands: Vec<Tensor> = operands.iter().map(|operand| operand.plain()).collect();
        WhileForm::of(attrs).run(&laid_out(&operands))
    }

    fn saves(&self, attrs: &Attrs, _wanted: Mask) -> Saves {
        Saves::NOTHING.operands(Mask::first_of(WhileForm::of(attrs).operands()))
    }

    fn expansion(&'static self, attrs: &Attrs, operands: &[Tensor]) -> Option<Vec<Tensor>> {
        Some(WhileForm::of(attrs).expand(operands))
    }

    fn vjp(&'static self, rule: &Rule<'_>, cotangents: &mut [Option<Tensor>]) -> Gradients {
        let form = WhileForm::of(rule.attrs);
        let operands: Vec<Tensor> = (0..form.operands()).map(|place| rule.operand(place).clone()).collect();
        let wanted: Vec<usize> = (0..operands.len()).filter(|&place| rule.wants(place)).collect();
        let (y, pullback) = vjp(|x: &Vec<Tensor>| form.expanded(&operands, &wanted, x), &pick(&operands, &wanted));
        let seeds = y.iter().zip(cotangents).map(|(y, seed)| seed.take().unwrap_or_else(|| y.full_like(0.0)));
        let found = pullback.call(&seeds.collect());
        let mut gradients: Gradients = (0..operands.len()).map(|_| Gradient::Zero).collect();
        wanted.into_iter().zip(found).for_each(|(place, found)| gradients[place] = Gradient::Dense(found));
        gradients
    }

    fn jvp(&'static self, rule: &Rule<'_>, tangents: &[Option<Tensor>]) -> Adjoints {
        let form = WhileForm::of(rule.attrs);
        let operands: Vec<Tensor> = (0..form.operands()).map(|place| rule.operand(place).clone()).collect();
        let given: Vec<usize> = (0..operands.len()).filter(|&place| tangents[place].is_some()).collect();
        let along: Vec<Tensor> = tangents.iter().flatten().cloned().collect();
        let f = |x: &Vec<Tensor>| form.expanded(&operands, &given, x);
        jvp(f, &pick(&operands, &given), &along).1.into_iter().map(Some).collect()
    }

    /// Runs one loop for all elements, with as many steps as the longest needs; each element is idle after its own last step.
    fn batch(&'static self, attrs: &Attrs, size: usize, operands: &[Tensor], batched: Mask) -> Result<Outputs, Error> {
        let form = WhileForm::of(attrs);
        let (body, consts, active) = (&form.body, form.consts, &form.active);
        let specs = input_specs(body);
        let steps = &operands[0];
        let counts = batched.has(0);
        // Cotangents are batched, so everything that is carried is batched, and so is every gradient.
        let has_batch: Vec<bool> =
            (0..specs.len()).map(|place| place >= consts || active[place] || batched.has(place + 1)).collect();
        let whole = |place: usize, batch: bool| match batch && !batched.has(place) {
            true => through::spread(&operands[place], size),
            false => operands[place].clone(),
        };
        let init: Vec<Tensor> = (0..specs.len()).map(|place| whole(place + 1, has_batch[place])).collect();
        let seeds: Vec<Tensor> = (1 + specs.len()..operands.len()).map(|place| whole(place, true)).collect();
        let wish = Wish {
            what: "while gradient batch",
            inputs: has_batch.clone(),
            numbers: vec![consts, size, usize::from(counts)],
        };
        let inner = body.derived(wish, |body| {
            let spec =
                |place: usize| if has_batch[place] { stacked(&specs[place], size) } else { specs[place].clone() };
            let (own, carry): (Vec<Spec>, Vec<Spec>) =
                ((0..consts).map(spec).collect(), (consts..specs.len()).map(spec).collect());
            let count = |shape: &[usize]| vec![Spec::new(shape, DType::I64); usize::from(counts)];
            // The number of steps is an additional constant at the front; the index of the step is carried at the end.
            let all = [count(&[size]), own, carry, count(&[])].concat();
            ProgramAttr::from(staged("while_loop", &all, |v| {
                let front = usize::from(counts);
                let inputs = &v[front..front + specs.len()];
                let carry = &has_batch[consts..];
                if !counts {
                    return through::map(body, inputs, size, &has_batch, carry);
                }
                let at = &v[v.len() - 1];
                let mut next = masked::step(body, &at.broadcast_to([size]).lt(&v[0]), inputs, &has_batch, carry);
                next.push(at + 1i64);
                next
            }))
        });
        let zero = Tensor::from(0i64);
        let mut all: Vec<Tensor> = vec![if counts { longest(steps) } else { steps.clone() }];
        all.extend(counts.then(|| steps.clone()));
        all.extend(init);
        all.extend(counts.then_some(zero));
        all.extend(seeds);
        let front = usize::from(counts);
        let mut inner_active = vec![false; front];
        inner_active.extend(active);
        inner_active.extend(vec![false; front]);
        let attrs = attrs_of(consts + front, &inner_active, &inner);
        Ok(bind(self, attrs, &all.iter().collect::<Vec<_>>()))
    }

    /// The cost of one step: the number of steps is not known.
    fn cost(&self, attrs: &Attrs, _operands: &[SpecRef<'_>], _outputs: &[Spec]) -> Cost {
        let form = WhileForm::of(attrs);
        let (forward, back) = (form.body.cost(), form.step().cost());
        Cost { flops: forward.flops + back.flops, bytes: forward.bytes + back.bytes }
    }

    fn rule_text(&self) -> &'static str {
        "by the same in loops"
    }

    #[cfg(feature = "cases")]
    fn cases(&self) -> Vec<Case> {
        cases()
    }
}

/// The results of a call as loops, for a device that runs these. They cost about as many steps as an eager run.
#[doc(hidden)]
pub fn while_gradient_in_loops(attrs: &Attrs, operands: &[Tensor]) -> Vec<Tensor> {
    WhileForm::of(attrs).expand_from_kept(operands)
}

/// The largest count, or 0 if there is none.
fn longest(counts: &Tensor) -> Tensor {
    if counts.elements() == 0 { Tensor::from(0i64) } else { counts.max() }
}

/// x = a sin x, so dx = a cos x dx, and da accumulates sin x dx.
fn cases() -> Vec<Case> {
    let text = "program(a: f64[], x: f64[2]) {
        b: f64[2] = broadcast[shape=[2]](a)
        s: f64[2] = sin(x)
        y: f64[2] = mul(b, s)
        return y
    }";
    let body = ProgramAttr::from(Program::parse(text).or_raise());
    let case = |label: &str, steps: i64| {
        let samples = [Sample::wave([], 0.4), Sample::wave([2], 0.2), Sample::wave([2], 1.1)];
        let operands: Vec<Sample> = std::iter::once(Sample::integers([], [steps])).chain(samples).collect();
        Case::new(label, attrs_of(1, &[true, true], &body), operands, move |samples| {
            let a = samples[1].data[0];
            let (mut da, mut dx) = (0.0, samples[3].data.clone());
            for (start, dx) in samples[2].data.iter().zip(&mut dx) {
                let mut states = vec![*start];
                (0..steps).for_each(|_| states.push(a * states[states.len() - 1].sin()));
                for x in states[..steps as usize].iter().rev() {
                    da += x.sin() * *dx;
                    *dx *= a * x.cos();
                }
            }
            vec![Sample::new([], [da]), Sample::new([2], dx)]
        })
    };
    vec![case("several steps", 4), case("one step", 1), case("no step", 0)]
}
