//! Compares `vmap` with a loop.

use super::Trial;
use super::subject::{Subject, pick, replaced};
use crate::numeric::{direction, stack, stack_each};
use crate::report::Aspect;
use wengert::prelude::*;

const HERE: Aspect = Aspect::Batch;

/// A batch and a loop add in different orders.
const CLOSE: f64 = 1e-12;

/// Copy `number` of an operand: floats are perturbed slightly, integers and masks are permuted, so an index stays in range.
fn copy(operand: &Tensor, number: usize) -> Tensor {
    if operand.dtype().is_float() {
        return operand + direction(&operand.spec(), 0.31 + number as f64) * (0.01 * number as f64);
    }
    let mut numbers = operand.to_f64_vec();
    let turn = number % numbers.len().max(1);
    numbers.rotate_left(turn);
    Tensor::from_vec(numbers, operand.shape()).cast(operand.dtype())
}

fn copies(operand: &Tensor, count: usize) -> Vec<Tensor> {
    (0..count).map(|number| copy(operand, number)).collect()
}

/// Every non-empty set of operands.
fn subsets(operands: usize) -> Vec<Vec<usize>> {
    let has = |set: usize, position: &usize| set >> position & 1 == 1;
    (1..1usize << operands).map(|set| (0..operands).filter(|position| has(set, position)).collect()).collect()
}

/// The operands of batch element `number`: copies of the batched ones, the others as they are.
fn element(subject: &Subject<'_>, batched: &[usize], number: usize) -> Vec<Tensor> {
    let own: Vec<Tensor> = batched.iter().map(|&position| copy(&subject.operands[position], number)).collect();
    replaced(&subject.operands, batched, &own)
}

/// The batched operands, stacked.
fn stacked(subject: &Subject<'_>, batched: &[usize], count: usize) -> Vec<Tensor> {
    batched.iter().map(|&position| stack(&copies(&subject.operands[position], count))).collect()
}

/// A batch of calls equals a loop of calls, for every set of batched operands, including empty and nested batches.
pub(super) fn values(trial: &mut Trial, subject: &Subject<'_>) {
    for batched in subsets(subject.operands.len()) {
        let mapped = vmap(|x: &Vec<Tensor>| subject.call(&replaced(&subject.operands, &batched, x)));
        for count in [3, 1] {
            let looped: Vec<_> = (0..count).map(|k| subject.call(&element(subject, &batched, k))).collect();
            let got = mapped(&stacked(subject, &batched, count));
            let what = format!("a batch of {count} over operands {batched:?}, output");
            trial.all_same(HERE, &what, &got, &stack_each(&looped), CLOSE);
        }
        let none: Vec<Tensor> = stacked(subject, &batched, 1).iter().map(|stack| stack.slice(0..0)).collect();
        let nothing: Vec<Tensor> = subject.outputs.iter().map(|output| output.unsqueeze(0).slice(0..0)).collect();
        let what = format!("an empty batch over operands {batched:?}, output");
        trial.all_same(HERE, &what, &mapped(&none), &nothing, 0.0);
    }
    nested(trial, subject);
}

/// Two nested batches: all operands in both, and the first operand in the outer one, the others in the inner one.
fn nested(trial: &mut Trial, subject: &Subject<'_>) {
    let all: Vec<usize> = (0..subject.operands.len()).collect();
    let rows =
        |outer: usize| -> Vec<Vec<Tensor>> { (0..3).map(|inner| element(subject, &all, 3 * outer + inner)).collect() };
    let grid: Vec<Tensor> = stack_each(&[stack_each(&rows(0)), stack_each(&rows(1))]);
    let looped = |outer: usize| stack_each(&rows(outer).iter().map(|row| subject.call(row)).collect::<Vec<_>>());
    let got = vmap(vmap(|x: &Vec<Tensor>| subject.call(x)))(&grid);
    trial.all_same(HERE, "a batch of batches, output", &got, &stack_each(&[looped(0), looped(1)]), CLOSE);

    let Some((first, rest)) = all.split_first().filter(|(_, rest)| !rest.is_empty()) else { return };
    let inner = stacked(subject, rest, 3);
    let crossed = vmap(|first: &Tensor| {
        vmap(|rest: &Vec<Tensor>| subject.call(&[std::slice::from_ref(first), rest].concat()))(&inner)
    });
    let each = |outer: usize| {
        let row = |inner: usize| {
            let operands = element(subject, rest, inner);
            subject.call(&replaced(&operands, &[*first], &[copy(&subject.operands[*first], outer)]))
        };
        stack_each(&(0..3).map(row).collect::<Vec<_>>())
    };
    let got = crossed(&stack(&copies(&subject.operands[*first], 2)));
    trial.all_same(HERE, "crossed batches, output", &got, &stack_each(&[each(0), each(1)]), CLOSE);
}

/// A batch of gradients, and the gradient of a batch, equal a loop of gradients.
pub(super) fn gradients(trial: &mut Trial, subject: &Subject<'_>) {
    let floats = &subject.floats;
    let slope = |operands: &[Tensor]| {
        grad(|x: &Vec<Tensor>| subject.loss_of(&replaced(operands, floats, x)))(&pick(operands, floats))
    };
    for batched in subsets(subject.operands.len()) {
        let x = stacked(subject, &batched, 3);
        let looped: Vec<Vec<Tensor>> = (0..3).map(|k| slope(&element(subject, &batched, k))).collect();
        let right = stack_each(&looped);
        let got = vmap(|x: &Vec<Tensor>| slope(&replaced(&subject.operands, &batched, x)))(&x);
        trial.all_same(HERE, &format!("vmap of grad over operands {batched:?}, gradient"), &got, &right, CLOSE);

        // Through the batch rule itself: an operand that is not batched receives the sum over the batch.
        let total = |all: &Vec<Tensor>| {
            let losses = vmap(|x: &Vec<Tensor>| subject.loss_of(&replaced(all, &batched, x)));
            losses(&pick(all, &batched)).sum()
        };
        let everything = replaced(&subject.operands, &batched, &x);
        let got = pick(&grad(total)(&everything), floats);
        let summed = |(position, gradient): (&usize, &Tensor)| match batched.contains(position) {
            true => gradient.clone(),
            false => gradient.sum_over(0),
        };
        let right: Vec<Tensor> = floats.iter().zip(&right).map(summed).collect();
        trial.all_same(HERE, &format!("grad of vmap over operands {batched:?}, gradient"), &got, &right, CLOSE);

        let v: Vec<Tensor> = x.iter().map(|x| direction(&x.spec(), 1.1)).collect();
        let tangent = |x: &Vec<Tensor>, v: &Vec<Tensor>| {
            jvp(
                |x: &Vec<Tensor>| {
                    pick(&subject.call(&replaced(&subject.operands, &batched, x)), &subject.float_outputs)
                },
                x,
                v,
            )
            .1
        };
        let got = vmap(|(x, v): &(Vec<Tensor>, Vec<Tensor>)| tangent(x, v))(&(x.clone(), v.clone()));
        let part = |list: &[Tensor], k: usize| -> Vec<Tensor> { list.iter().map(|part| part.slice(k)).collect() };
        let looped: Vec<Vec<Tensor>> = (0..3).map(|k| tangent(&part(&x, k), &part(&v, k))).collect();
        let what = format!("vmap of jvp over operands {batched:?}, tangent");
        trial.all_same(HERE, &what, &got, &stack_each(&looped), CLOSE);
    }
}

/// A batch of seeds through one recorded call, in both directions, equals a loop.
pub(super) fn seeds(trial: &mut Trial, subject: &Subject<'_>) {
    for active in subject.active_sets() {
        let x = subject.at(&active);
        let (y, map) = linearize(subject.function(&active, &subject.float_outputs), &x);
        let several = |like: &[Tensor]| -> Vec<Vec<Tensor>> {
            (0..3).map(|k| like.iter().map(|x| direction(&x.spec(), 0.4 + k as f64)).collect()).collect()
        };
        let (u, v) = (several(&y), several(&x));
        let pulled: Vec<Vec<Tensor>> = u.iter().map(|u| map.apply_transpose(u)).collect();
        let got = map.transpose().call_batch(&stack_each(&u));
        let what = format!("by operands {active:?}, a batch of cotangents, gradient");
        trial.all_same(HERE, &what, &got, &stack_each(&pulled), CLOSE);
        let pushed: Vec<Vec<Tensor>> = v.iter().map(|v| map.apply(v)).collect();
        let got = map.apply_batch(&stack_each(&v));
        let what = format!("by operands {active:?}, a batch of tangents, tangent");
        trial.all_same(HERE, &what, &got, &stack_each(&pushed), CLOSE);
    }
}
