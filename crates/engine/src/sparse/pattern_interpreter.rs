//! The pattern interpreter: computes values, and tracks which input elements each element may depend on.
//!
//! How an operation combines the sets follows from its [`Dependency`]. If that cannot be used, for example because positions are symbolic,
//! every output element depends on everything: a pattern may be too large, but never too small.

use super::Sets;
use crate::bind::{bind1, try_bind};
use crate::interp::custom::expect_below;
use crate::interp::{Interpreter, Level, Tracer, eval};
use crate::location::{self, Line};
use crate::methods::*;
use crate::primitive::{Attr, Attrs, Dependency, Function, Gradient, Outputs, Primitive, Rule, Spec};
use crate::{DType, Error, Shape, Tensor};
use smallvec::SmallVec;
use std::sync::{Arc, Mutex, PoisonError};

/// What a pattern level knows about its input.
pub(crate) struct Columns {
    count: usize,
    /// 1, 2, .. as f64, as many as were needed so far.
    numbers: Mutex<Tensor>,
}

impl Columns {
    pub fn new(count: usize) -> Columns {
        Columns { count, numbers: Mutex::new(numbered(count)) }
    }

    /// The numbers after `start`, one per element of `shape`.
    fn numbers(&self, start: usize, shape: &[usize]) -> Tensor {
        let stop = start + shape.iter().product::<usize>();
        let mut numbers = self.numbers.lock().unwrap_or_else(PoisonError::into_inner);
        if numbers.elements() < stop {
            *numbers = numbered(stop.max(2 * numbers.elements()));
        }
        numbers.slice(start..stop).reshape(shape)
    }
}

fn numbered(count: usize) -> Tensor {
    Tensor::from_vec((1..=count).map(|number| number as f64).collect(), [count])
}

impl Interpreter for Columns {
    fn apply(
        &self,
        level: &Arc<Level>,
        op: &'static dyn Primitive,
        attrs: Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        let mut primals: SmallVec<[&Tensor; 4]> = SmallVec::new();
        let mut parts: SmallVec<[(usize, &Sets); 4]> = SmallVec::new();
        for (position, operand) in operands.iter().enumerate() {
            primals.push(match Tracer::attached::<Sets>(operand, level) {
                Some((primal, sets)) => {
                    parts.push((position, sets));
                    primal
                }
                _ => *operand,
            });
        }
        let mut outputs = try_bind(op, attrs.clone(), &primals, line)?;
        if op.dependency() == Dependency::None || !op.differentiable() {
            return Ok(outputs);
        }
        let _line = location::inherit(Some(line));
        if op.dependency() == Dependency::Dense {
            let operands: SmallVec<[Tensor; 4]> = operands.iter().map(|operand| (*operand).clone()).collect();
            if let Some(expanded) = op.expansion(&attrs, &operands)
                && expanded.iter().zip(&outputs).all(|(expanded, output)| expanded.shape() == output.shape())
            {
                for (output, expanded) in outputs.iter_mut().zip(&expanded) {
                    if let Some((_, sets)) = Tracer::attached::<Sets>(expanded, level) {
                        *output = lift(level, output, sets.clone(), line);
                    }
                }
                return Ok(outputs);
            }
        }
        let specs: SmallVec<[Spec; 1]> = outputs.iter().map(Tensor::spec).collect();
        let call = Call { columns: self, op, attrs: &attrs, primals: &primals, parts: &parts, outputs: &specs };
        for (position, output) in outputs.iter_mut().enumerate().filter(|(_, output)| output.dtype().is_float()) {
            let sets = call.follow(position);
            if !sets.is_empty() {
                *output = lift(level, output, sets, line);
            }
        }
        Ok(outputs)
    }

    /// The result of a solver depends on all of its operands. Otherwise the sets propagate through the derivative rule as tangents do,
    /// however the value is computed.
    fn apply_function(
        &self,
        level: &Arc<Level>,
        function: &Arc<dyn Function>,
        op: &'static dyn Primitive,
        attrs: &Attrs,
        operands: &[&Tensor],
        line: Line,
    ) -> Result<Outputs, Error> {
        if function.reads_numbers() {
            return self.apply(level, op, attrs.clone(), operands, line);
        }
        let parts = operands.iter().map(|operand| match Tracer::attached::<Sets>(operand, level) {
            Some((primal, sets)) => {
                let tangent = lift(level, &primal.full_like(1.0), sets.clone(), line);
                (primal.clone(), Some(tangent))
            }
            _ => ((*operand).clone(), None),
        });
        let (primals, tangents): (Vec<Tensor>, Vec<Option<Tensor>>) = parts.unzip();
        let (mut outputs, residual) = function.forward(&primals);
        expect_below(level, function.name(), outputs.iter().chain(&residual.tensors))?;
        let pushed = function.push(&residual, &tangents);
        for (output, tangent) in outputs.iter_mut().zip(pushed).filter(|(output, _)| output.dtype().is_float()) {
            let sets = tangent.as_ref().and_then(|tangent| Tracer::attached::<Sets>(tangent, level));
            if let Some((_, sets)) = sets {
                *output = lift(level, output, sets.clone(), line);
            }
        }
        Ok(outputs.into())
    }
}

/// A tensor of this level.
pub(crate) fn lift(level: &Arc<Level>, primal: &Tensor, sets: Sets, line: Line) -> Tensor {
    Tracer::attach(level, primal, sets, line)
}

/// One call, and the operands that have sets.
struct Call<'c> {
    columns: &'c Columns,
    op: &'static dyn Primitive,
    attrs: &'c Attrs,
    primals: &'c [&'c Tensor],
    parts: &'c [(usize, &'c Sets)],
    outputs: &'c [Spec],
}

impl Call<'_> {
    /// The sets of one output.
    fn follow(&self, position: usize) -> Sets {
        let shape = &self.outputs[position].shape;
        let found = match self.op.dependency() {
            Dependency::Elementwise => self.elementwise(shape),
            Dependency::Movement => self.movement(position),
            Dependency::Accumulation => self.accumulation(shape),
            Dependency::Reduction => self.reduction(shape),
            Dependency::Product { transposed } => self.product(shape, transposed),
            Dependency::Blocks(axes) => self.blocks(shape, axes),
            Dependency::Dense | Dependency::None => None,
        };
        found.unwrap_or_else(|| self.dense(shape.elements()))
    }

    fn sets(&self) -> SmallVec<[&Sets; 4]> {
        self.parts.iter().map(|(_, sets)| *sets).collect()
    }

    /// The shape of an operand with sets.
    fn shape(&self, part: usize) -> &[usize] {
        self.primals[self.parts[part].0].shape()
    }

    fn unite(&self, groups: usize, group: impl Fn(usize, usize) -> Option<usize>) -> Sets {
        Sets::unite(&self.sets(), self.columns.count, groups, group)
    }

    fn dense(&self, elements: usize) -> Sets {
        self.unite(1, |_, _| Some(0)).select((0..elements).map(|_| Some(0)))
    }

    fn elementwise(&self, shape: &Shape) -> Option<Sets> {
        if (0..self.parts.len()).any(|part| self.shape(part) != &shape[..]) {
            return None;
        }
        Some(match self.parts {
            [(_, only)] => (*only).clone(),
            _ => Sets::unite_each(&self.sets(), self.columns.count),
        })
    }

    /// Operands of the same shapes: the result of `number` for those with sets, zeros for other real ones, positions unchanged.
    fn stand_ins(&self, mut number: impl FnMut(&[usize]) -> Option<Tensor>) -> Option<SmallVec<[Tensor; 4]>> {
        let stand_in = |(position, primal): (usize, &&Tensor)| {
            let numbered = match self.parts.iter().any(|part| part.0 == position) {
                true => number(primal.shape()),
                false => None,
            };
            if primal.dtype().is_float() {
                return Some(numbered.unwrap_or_else(|| Tensor::constant(0.0, &Spec::new(primal.shape(), DType::F64))));
            }
            primal.numbers("pattern").ok().map(|value| Tensor::from(value.clone()))
        };
        self.primals.iter().enumerate().map(stand_in).collect()
    }

    /// Every element is a copy. Applying the operation to element numbers shows which one.
    fn movement(&self, position: usize) -> Option<Sets> {
        let mut starts: SmallVec<[usize; 4]> = SmallVec::new();
        let mut next = 0;
        let operands = self.stand_ins(|shape| {
            starts.push(next);
            next += shape.iter().product::<usize>();
            Some(self.columns.numbers(starts[starts.len() - 1], shape))
        })?;
        let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
        let moved = eval::apply(self.op, self.attrs, &operands).ok()?;
        let places = places(&moved[position], next)?;
        let place = |place: Option<usize>| {
            let number = place?;
            let part = starts.partition_point(|start| *start <= number) - 1;
            Some((part, number - starts[part]))
        };
        Some(Sets::choose(&self.sets(), self.columns.count, places.into_iter().map(place)))
    }

    /// Every operand element is added to one output element. The rule, which copies cotangents, shows to which.
    fn accumulation(&self, shape: &Shape) -> Option<Sets> {
        let operands = self.stand_ins(|_| None)?;
        let operands: SmallVec<[&Tensor; 4]> = operands.iter().collect();
        let outputs: Outputs =
            self.outputs.iter().map(|spec| Tensor::constant(0.0, &Spec::new(spec.shape.clone(), DType::F64))).collect();
        let wanted = self.parts.iter().map(|part| part.0).collect();
        let rule = Rule::new(self.op, self.attrs, &operands, &outputs, wanted);
        let gradients = self.op.vjp(&rule, &mut [Some(self.columns.numbers(0, shape))]);
        let mut targets: SmallVec<[Vec<Option<usize>>; 4]> = SmallVec::new();
        for (position, sets) in self.parts {
            targets.push(match gradients.get(*position) {
                Some(Gradient::Dense(numbers)) => places(numbers, shape.elements())?,
                Some(Gradient::Patch(patch)) => {
                    let base = Tensor::constant(0.0, &patch.spec);
                    let operands: SmallVec<[&Tensor; 4]> = std::iter::once(&base).chain(&patch.values).collect();
                    places(&bind1(patch.op, patch.attrs.clone(), &operands), shape.elements())?
                }
                Some(Gradient::Zero) | None => vec![None; sets.len()],
            });
        }
        // An update of a part: most elements stay as they are.
        let stays = targets[0].len() == shape.elements() && targets[0].iter().enumerate().all(|(e, to)| *to == Some(e));
        if let ([(_, whole), ..], true) = (self.parts, stays) {
            return Some(whole.add(&self.sets()[1..], self.columns.count, |part, element| targets[part + 1][element]));
        }
        Some(self.unite(shape.elements(), |part, element| targets[part][element]))
    }

    /// Everything along the reduced axes, which the output may lack or have with another length.
    fn reduction(&self, shape: &Shape) -> Option<Sets> {
        let axes = self.attrs.iter().find_map(|(name, value)| match (*name, value) {
            ("axes", Attr::Ints(axes)) => axes.iter().map(|&axis| usize::try_from(axis).ok()).collect(),
            ("axis", Attr::Int(axis)) => usize::try_from(*axis).ok().map(|axis| vec![axis]),
            _ => None,
        })?;
        let kept = |shape: &[usize]| -> Shape {
            shape.iter().enumerate().filter(|(axis, _)| !axes.contains(axis)).map(|(_, &size)| size).collect()
        };
        let groups = kept(self.shape(0));
        if (0..self.parts.len()).any(|part| kept(self.shape(part)) != groups) {
            return None;
        }
        let projected: SmallVec<[Vec<usize>; 2]> =
            (0..self.parts.len()).map(|part| project(self.shape(part), &axes)).collect();
        let united = self.unite(groups.elements(), |part, element| Some(projected[part][element]));
        match shape.rank() == self.shape(0).len() {
            true if kept(shape) == groups => Some(united.select(project(shape, &axes).into_iter().map(Some))),
            false if *shape == groups => Some(united),
            _ => None,
        }
    }

    /// Rows of the first operand, columns of the second (its rows if it is transposed), and the term that is added to columns.
    fn product(&self, shape: &Shape, transposed: bool) -> Option<Sets> {
        let [lead @ .., rows, columns] = &shape[..] else { return None };
        let (lead, rows, columns) = (lead.iter().product::<usize>(), *rows, *columns);
        let inner = *self.primals.first()?.shape().last()?;
        let fits = match self.primals {
            [a, b, rest @ ..] => {
                let matrices = a.elements() == lead * rows * inner && b.elements() == lead * columns * inner;
                matrices && rest.iter().all(|added| lead == 1 && added.elements() == columns)
            }
            _ => false,
        };
        if !fits {
            return None;
        }
        let position = |part: usize| self.parts[part].0;
        let by_row = self.unite(lead * rows, |part, element| match position(part) {
            0 => Some(element / inner),
            _ => None,
        });
        let by_column = self.unite(lead * columns, |part, element| match position(part) {
            0 => None,
            1 if transposed => Some(element / inner),
            1 => Some(element / (inner * columns) * columns + element % columns),
            _ => Some(element),
        });
        let elements = shape.elements();
        let of_row = || by_row.select((0..elements).map(|element| Some(element / columns)));
        let of_column = || {
            let column = |element: usize| element / (rows * columns) * columns + element % columns;
            by_column.select((0..elements).map(|element| Some(column(element))))
        };
        Some(match (by_row.is_empty(), by_column.is_empty()) {
            (_, true) => of_row(),
            (true, _) => of_column(),
            _ => Sets::unite_each(&[&of_row(), &of_column()], self.columns.count),
        })
    }

    /// Everything in the last axes at the same leading position.
    fn blocks(&self, shape: &Shape, axes: usize) -> Option<Sets> {
        let lead = self.shape(0).len().checked_sub(axes)?;
        let lead = &self.shape(0)[..lead];
        let shares = |other: &[usize]| other.len() >= lead.len() && other[..lead.len()] == *lead;
        let all =
            (0..self.parts.len()).all(|part| self.shape(part).len() == lead.len() + axes && shares(self.shape(part)));
        if !all || !shares(shape) {
            return None;
        }
        let size = |shape: &[usize]| shape[lead.len()..].iter().product::<usize>().max(1);
        let sizes: SmallVec<[usize; 4]> = (0..self.parts.len()).map(|part| size(self.shape(part))).collect();
        let united = self.unite(lead.iter().product(), |part, element| Some(element / sizes[part]));
        let block = size(shape);
        Some(united.select((0..shape.elements()).map(|element| Some(element / block))))
    }
}

/// Converts numbers from 1 to indices, with `None` for 0. Returns `None` if one of them is not such a number.
fn places(numbers: &Tensor, count: usize) -> Option<Vec<Option<usize>>> {
    numbers.numbers("pattern").ok()?;
    let numbers = numbers.to_f64_vec();
    let known = |number: &f64| number.fract() == 0.0 && (0.0..=count as f64).contains(number);
    numbers.iter().all(known).then(|| numbers.iter().map(|number| (*number as usize).checked_sub(1)).collect())
}

/// For each element of `shape`, row-major, its index in the shape without these axes.
fn project(shape: &[usize], axes: &[usize]) -> Vec<usize> {
    let mut strides = vec![0; shape.len()];
    let mut stride = 1;
    for axis in (0..shape.len()).rev().filter(|axis| !axes.contains(axis)) {
        strides[axis] = stride;
        stride *= shape[axis];
    }
    let mut places = vec![0];
    for (&size, stride) in shape.iter().zip(strides) {
        places = places.iter().flat_map(|place| (0..size).map(move |i| place + i * stride)).collect();
    }
    places
}
