//! The inputs of a derivative rule: exactly what its primitive declared.

use super::{Attrs, Kept, Mask, Outputs, Primitive, Rule, Saves, Spec};
use crate::{DType, Shape, Tensor};
use smallvec::SmallVec;
use std::cell::Cell;

impl<'a> Rule<'a> {
    /// A rule from everything the forward pass knows, keeping what `op` declares for `wanted`.
    pub fn new(
        op: &'static dyn Primitive,
        attrs: &'a Attrs,
        operands: &[&Tensor],
        outputs: &Outputs,
        wanted: Mask,
    ) -> Rule<'a> {
        Rule::keeping(op.saves(attrs, wanted), op, attrs, operands, outputs, wanted)
    }

    /// The same, keeping `saves`: what `op` declares, or one of its alternatives.
    pub fn keeping(
        saves: Saves,
        op: &'static dyn Primitive,
        attrs: &'a Attrs,
        operands: &[&Tensor],
        outputs: &Outputs,
        wanted: Mask,
    ) -> Rule<'a> {
        let mut kept = SmallVec::new();
        kept.extend(saves.operands.iter().map(|i| Kept::Value(operands[i].clone())));
        kept.extend(saves.shapes.iter().map(|i| Kept::Shape(Box::new(operands[i].spec()))));
        kept.extend(saves.outputs.iter().map(|i| Kept::Value(outputs[i].clone())));
        if saves.residual {
            let outputs: SmallVec<[&Tensor; 4]> = outputs.iter().collect();
            kept.push(Kept::Value(op.residual(attrs, operands, &outputs)));
        }
        Rule::from_parts(op.name(), attrs, wanted, saves, kept)
    }

    /// A rule from the kept values, in the order operands, shapes, outputs, residual.
    #[inline]
    #[doc(hidden)]
    pub fn from_parts(
        name: &'static str,
        attrs: &'a Attrs,
        wanted: Mask,
        saves: Saves,
        kept: SmallVec<[Kept; 2]>,
    ) -> Rule<'a> {
        debug_assert_eq!(saves.count(), kept.len());
        Rule { name, attrs, wanted, saves, kept, is_restored: false, read: Cell::new(0) }
    }

    /// Requests other gradients, or tangents, than those that the values were kept for; they must be among them.
    pub fn want(&mut self, wanted: Mask) {
        self.wanted = wanted;
    }

    /// Whether the gradient of operand `position` is requested (in a jvp: whether it has a tangent).
    #[inline]
    pub fn wants(&self, position: usize) -> bool {
        self.wanted.has(position)
    }

    /// The operands whose gradients are requested.
    #[doc(hidden)]
    pub fn wanted(&self) -> Mask {
        self.wanted
    }

    /// Whether the value of operand `position` was kept; see [`Primitive::alternatives`].
    pub fn has_operand(&self, position: usize) -> bool {
        self.saves.operands.has(position)
    }

    /// Whether the residual was kept, not an alternative to it; see [`Primitive::alternatives`].
    pub fn has_residual(&self) -> bool {
        self.saves.residual
    }

    #[inline]
    fn mark(&self, place: usize) {
        self.read.set(self.read.get() | 1 << place.min(63));
    }

    #[inline]
    fn value(&self, place: usize) -> &Tensor {
        self.mark(place);
        match &self.kept[place] {
            Kept::Value(tensor) => tensor,
            Kept::Shape(_) => unreachable!("places of values hold values"),
        }
    }

    #[inline]
    fn place(&self, set: Mask, before: usize, position: usize, what: &str) -> usize {
        assert!(set.has(position), "{}: the rule reads {what} {position}, which `saves` does not declare", self.name);
        before + set.before(position)
    }

    /// The saved value of operand `position`.
    #[inline]
    pub fn operand(&self, position: usize) -> &Tensor {
        self.value(self.place(self.saves.operands, 0, position, "operand"))
    }

    /// The saved value of output `position`.
    #[inline]
    pub fn output(&self, position: usize) -> &Tensor {
        let before = self.saves.operands.count() + self.saves.shapes.count();
        self.value(self.place(self.saves.outputs, before, position, "output"))
    }

    /// The spec of operand `position`, whose shape was saved.
    pub fn spec(&self, position: usize) -> &Spec {
        let place = self.place(self.saves.shapes, self.saves.operands.count(), position, "the shape of operand");
        self.mark(place);
        match &self.kept[place] {
            Kept::Shape(spec) => spec,
            Kept::Value(_) => unreachable!("places of shapes hold shapes"),
        }
    }

    /// The shape of operand `position`, which was saved.
    pub fn shape(&self, position: usize) -> &Shape {
        &self.spec(position).shape
    }

    /// The dtype of operand `position`, whose shape was saved.
    pub fn dtype(&self, position: usize) -> DType {
        self.spec(position).dtype
    }

    /// The saved residual.
    pub fn residual(&self) -> &Tensor {
        assert!(self.saves.residual, "{}: the rule reads a residual that `saves` does not declare", self.name);
        self.value(self.kept.len() - 1)
    }

    /// The values that were declared but never read, by name; a minimal declaration leaves none.
    pub fn unread(&self) -> Vec<String> {
        let names = (self.saves.operands.iter().map(|i| format!("operand {i}")))
            .chain(self.saves.shapes.iter().map(|i| format!("shape of operand {i}")))
            .chain(self.saves.outputs.iter().map(|i| format!("output {i}")))
            .chain(self.saves.residual.then(|| "residual".to_string()));
        names
            .enumerate()
            .filter(|(place, _)| self.read.get() >> (*place).min(63) & 1 == 0)
            .map(|(_, name)| name)
            .collect()
    }
}
