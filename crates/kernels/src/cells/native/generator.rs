//! Compiles instructions to machine code: one function for each item.
//!
//! A function takes the address of the cells, and returns [`STAYED`] or the guard whose outcome changed, with its iteration in the upper
//! half. Operations are never fused, so all results are bitwise equal to those of the interpreter.

use super::super::check::meet;
use super::super::{Address, Instruction, Kind, Op, Relation};
use super::calls::{Called, called};
use super::registers::{Name, Registers};
use super::x86::General::{R12, R13, R14, R15, Rax, Rbp, Rbx, Rcx, Rdi, Rsp};
use super::x86::{Assembler, Compare, Condition, General, Jump, Memory, RegisterOrMemory, Rounding, Xmm};
use crate::functions::Function;

/// The return value if no guard changed its outcome.
pub(super) const STAYED: i64 = -1;

/// The registers of the address of the cells and of the iteration number; calls preserve them.
const CELLS: General = Rbx;
const ITERATION: General = Rbp;

/// Pointers that advance with the iterations: the address of the cells plus a stride for each iteration before. Calls preserve them.
const POINTERS: [General; 4] = [R12, R13, R14, R15];

/// The size of a number in bytes.
const NUMBER: i64 = size_of::<f64>() as i64;

/// A constant that instructions need.
#[derive(Clone, Copy)]
enum Constant {
    /// The sign bit.
    Sign,
    /// All other bits.
    Magnitude,
    One,
    Half,
    Nan,
    /// Not stored in memory: there is an instruction for it.
    Zero,
}

/// The bits of the constants in memory.
const CONSTANTS: [u64; 5] = [1 << 63, !(1 << 63), 1.0f64.to_bits(), 0.5f64.to_bits(), f64::NAN.to_bits()];

impl Constant {
    /// Where the constant is. Each fills a register, and all lie before the functions.
    fn memory(self) -> Memory {
        Memory::InCode(self as usize * 16)
    }
}

/// An assembler that holds the constants, and no function yet.
pub(super) fn assembler() -> Assembler {
    let mut assembler = Assembler::new();
    CONSTANTS.iter().for_each(|bits| assembler.data(bytemuck::bytes_of(&[bits.to_le(); 2])));
    assembler
}

/// The addresses that an instruction reads or writes.
fn addresses(one: &Instruction) -> impl Iterator<Item = Address> {
    let is_guard = matches!(one.kind, Kind::Guard(..));
    [one.a, one.b].into_iter().chain((!is_guard).then_some(one.to))
}

/// Whether [`function`] can compile this: offsets in machine code, and steps in both directions, have 32 bits.
pub(super) fn has_function(body: &[Instruction], iterations: u32) -> bool {
    let is_short = |number: i64| i32::try_from(number.abs() * NUMBER).is_ok();
    let is_near = |address: Address| is_short(address.base.into()) && is_short(address.stride.into());
    i32::try_from(iterations).is_ok() && body.iter().flat_map(addresses).all(is_near)
}

/// Appends a function that runs a body `iterations` times, and returns its entry point. The body must satisfy [`has_function`].
pub(super) fn function(assembler: &mut Assembler, body: &[Instruction], iterations: u32, backward: bool) -> usize {
    assembler.align(16);
    let entry = assembler.here();
    let strides = if iterations > 1 { most_frequent_strides(body) } else { Vec::new() };
    let mut saved = vec![CELLS];
    if iterations > 1 {
        saved.push(ITERATION);
        saved.extend_from_slice(&POINTERS[..strides.len()]);
    }
    let mut generator = Generator {
        assembler,
        registers: Registers::new(),
        iterations,
        strides,
        saved,
        leaves: Vec::new(),
        corrections: Vec::new(),
    };
    generator.enter();
    if iterations == 1 {
        generator.body(body);
    } else if iterations > 1 {
        generator.iterate(body, backward);
    }
    generator.assembler.set_wide(Rax, STAYED);
    generator.ret();
    generator.leave();
    generator.correct();
    entry
}

/// The most frequent strides, as many as there are pointers for.
fn most_frequent_strides(body: &[Instruction]) -> Vec<i32> {
    let mut strides: Vec<i32> = body.iter().flat_map(addresses).map(|address| address.stride).collect();
    strides.retain(|stride| *stride != 0);
    strides.sort_unstable();
    let mut runs: Vec<&[i32]> = strides.chunk_by(|a, b| a == b).collect();
    runs.sort_by_key(|run| std::cmp::Reverse(run.len()));
    runs.iter().take(POINTERS.len()).map(|run| run[0]).collect()
}

/// A fix-up for an [`Op::Times`] whose product was found to be zero or NaN.
struct Correction {
    /// The jump to the fix-up; then where to return to.
    jump: Jump,
    back: usize,
    product: Xmm,
    a: Xmm,
    b: Xmm,
    /// A register that holds zero.
    zero: Xmm,
}

/// A function under construction.
struct Generator<'a> {
    assembler: &'a mut Assembler,
    registers: Registers,
    iterations: u32,
    /// The strides of [`POINTERS`].
    strides: Vec<i32>,
    /// Callee-saved registers that the function uses.
    saved: Vec<General>,
    /// Jumps out of the function, each with its guard.
    leaves: Vec<(u32, Jump)>,
    /// Jumps to code that rarely runs.
    corrections: Vec<Correction>,
}

impl Generator<'_> {
    /// Padding that keeps the stack aligned to 16 bytes for calls, including the return address.
    fn padding(&self) -> i32 {
        if self.saved.len().is_multiple_of(2) { 8 } else { 0 }
    }

    fn enter(&mut self) {
        self.saved.iter().for_each(|register| self.assembler.push(*register));
        if self.padding() != 0 {
            self.assembler.sub_number(Rsp, self.padding());
        }
        self.assembler.move_general(CELLS, Rdi);
    }

    fn ret(&mut self) {
        if self.padding() != 0 {
            self.assembler.add_number(Rsp, self.padding());
        }
        self.saved.iter().rev().for_each(|register| self.assembler.pop(*register));
        self.assembler.ret();
    }

    /// Emits the targets of jumps out of the function.
    fn leave(&mut self) {
        let mut leaves = std::mem::take(&mut self.leaves).into_iter().peekable();
        let mut jumps = Vec::new();
        while let Some((guard, jump)) = leaves.next() {
            self.assembler.land(jump);
            if leaves.peek().is_none_or(|(next, _)| *next != guard) {
                self.assembler.set(Rax, guard);
                jumps.push(self.assembler.jump());
            }
        }
        if jumps.is_empty() {
            return;
        }
        jumps.into_iter().for_each(|jump| self.assembler.land(jump));
        if self.iterations > 1 {
            self.assembler.shift_left(ITERATION, 32);
            self.assembler.or_general(Rax, ITERATION);
        }
        self.ret();
    }

    /// Emits the fix-ups: products become zero where a is zero, or b is zero and a is not NaN.
    fn correct(&mut self) {
        for Correction { jump, back, product, a, b, zero } in std::mem::take(&mut self.corrections) {
            self.assembler.land(jump);
            self.assembler.compare_numbers(a, zero);
            self.assembler.jump_back_if(Condition::Unordered, back);
            let a_is_zero = self.assembler.jump_if(Condition::Equal);
            self.assembler.compare_numbers(b, zero);
            self.assembler.jump_back_if(Condition::Unordered, back);
            self.assembler.jump_back_if(Condition::Differ, back);
            self.assembler.land(a_is_zero);
            self.assembler.xor(product, product, product);
            self.assembler.jump_back(back);
        }
    }

    /// Emits the body as a loop.
    fn iterate(&mut self, body: &[Instruction], backward: bool) {
        let last = i64::from(self.iterations) - 1;
        let (first, step) = if backward { (last, -1) } else { (0, 1) };
        self.assembler.set_wide(ITERATION, first);
        let pointers: Vec<(General, i32)> = POINTERS.into_iter().zip(self.strides.clone()).collect();
        for (pointer, stride) in &pointers {
            self.assembler.set_wide(*pointer, first * i64::from(*stride) * NUMBER);
            self.assembler.add_general(*pointer, CELLS);
        }
        self.assembler.align(32);
        let head = self.assembler.here();
        self.body(body);
        for (pointer, stride) in &pointers {
            self.assembler.add_number(*pointer, bytes(*stride * step));
        }
        if backward {
            self.assembler.sub_number(ITERATION, 1);
            self.assembler.jump_back_if(Condition::NotBelow, head);
        } else {
            self.assembler.add_number(ITERATION, 1);
            self.assembler.compare_number(ITERATION, self.iterations as i32);
            self.assembler.jump_back_if(Condition::Differ, head);
        }
    }

    fn body(&mut self, body: &[Instruction]) {
        for (number, one) in body.iter().enumerate() {
            match one.kind {
                Kind::Set(op) => {
                    let value = self.compute(op, one);
                    self.write(one.to, value);
                }
                Kind::Add(op) => {
                    let (more, sum) = match op {
                        Op::Copy => (self.read(one.a), self.registers.take()),
                        _ => {
                            let more = self.compute(op, one);
                            (more, more)
                        }
                    };
                    let before = self.source(one.to);
                    self.assembler.add(sum, more, before);
                    self.write(one.to, sum);
                }
                Kind::Guard(relation, held) => self.guard(relation, held, one, number as u32),
            }
        }
    }

    /// The memory operand of a cell, valid until the next call of this function.
    fn place(&mut self, address: Address) -> Memory {
        let offset = (i64::from(address.base) * NUMBER) as i32;
        if self.iterations == 1 || address.stride == 0 {
            return Memory::Behind(CELLS, offset);
        }
        if let Some(pointer) = self.strides.iter().position(|stride| *stride == address.stride) {
            return Memory::Behind(POINTERS[pointer], offset);
        }
        self.assembler.mul_number(Rax, ITERATION, bytes(address.stride));
        self.assembler.add_general(Rax, CELLS);
        Memory::Behind(Rax, offset)
    }

    /// The name of a cell. With only one iteration the stride is ignored.
    fn name(&self, address: Address) -> Name {
        Name::cell(if self.iterations == 1 { Address::cell(address.base) } else { address })
    }

    /// A register that holds the value of a cell.
    fn read(&mut self, address: Address) -> Xmm {
        let name = self.name(address);
        if let Some(register) = self.registers.find(name) {
            return register;
        }
        let (place, register) = (self.place(address), self.registers.take());
        self.assembler.load(register, place);
        self.registers.hold(register, name);
        register
    }

    /// The value of a cell as an operand for the next instruction.
    fn source(&mut self, address: Address) -> RegisterOrMemory {
        match self.registers.find(self.name(address)) {
            Some(register) => register.into(),
            None => self.place(address).into(),
        }
    }

    /// Writes a register that is bound to no cell to a cell.
    fn write(&mut self, address: Address, value: Xmm) {
        let (place, name) = (self.place(address), self.name(address));
        self.assembler.store(place, value);
        // In a loop, other addresses may refer to the same cell.
        if self.iterations > 1 {
            self.registers.forget(|other| meet(other, address, self.iterations));
        }
        self.registers.hold(value, name);
    }

    /// A register that holds a constant.
    fn constant(&mut self, constant: Constant) -> Xmm {
        let name = Name::constant(constant as u32);
        if let Some(register) = self.registers.find(name) {
            return register;
        }
        let register = self.registers.take();
        match constant {
            Constant::Zero => self.assembler.xor(register, register, register),
            _ => self.assembler.load(register, constant.memory()),
        }
        self.registers.hold(register, name);
        register
    }

    /// A register that holds the result of an operation and is not bound to a cell yet.
    fn compute(&mut self, op: Op, one: &Instruction) -> Xmm {
        if op.is_called() {
            return self.call(op, one);
        }
        let a = self.read(one.a);
        let b = if op.operands() == 2 { self.read(one.b) } else { a };
        let to = self.registers.take();
        match op {
            Op::Copy | Op::Powi(1) => self.assembler.copy(to, a),
            Op::Neg => self.assembler.xor(to, a, Constant::Sign.memory()),
            Op::Of(Function::abs) => self.assembler.and(to, a, Constant::Magnitude.memory()),
            Op::Of(Function::sqrt) => self.assembler.sqrt(to, a, a),
            Op::Recip | Op::Powi(-1) => {
                let one = self.constant(Constant::One);
                self.assembler.div(to, one, a);
            }
            Op::Powi(0) => self.assembler.load(to, Constant::One.memory()),
            Op::Powi(2) => self.assembler.mul(to, a, a),
            Op::Powi(3) => {
                self.assembler.mul(to, a, a);
                self.assembler.mul(to, to, a);
            }
            Op::Powi(4) => {
                self.assembler.mul(to, a, a);
                self.assembler.mul(to, to, to);
            }
            Op::Floor => self.assembler.round(to, a, Rounding::Down),
            Op::Ceil => self.assembler.round(to, a, Rounding::Up),
            Op::Round => self.assembler.round(to, a, Rounding::ToEven),
            Op::Signum => {
                // One with the sign of a where 0 < |a|, or a itself, which is zero or NaN.
                let (zero, mask) = (self.constant(Constant::Zero), self.registers.take());
                self.assembler.and(mask, a, Constant::Magnitude.memory());
                self.assembler.compare(Compare::Less, mask, zero, mask);
                self.assembler.and(to, a, Constant::Sign.memory());
                self.assembler.or(to, to, Constant::One.memory());
                self.assembler.blend(to, a, to, mask);
                self.registers.release(mask);
            }
            Op::Add => self.assembler.add(to, a, b),
            Op::Sub => self.assembler.sub(to, a, b),
            Op::Mul => self.assembler.mul(to, a, b),
            Op::Div => self.assembler.div(to, a, b),
            Op::Times => {
                // A product that is neither zero nor NaN is correct: the jump is taken for both. Masking every product takes twice as long.
                let zero = self.constant(Constant::Zero);
                self.assembler.mul(to, a, b);
                self.assembler.compare_numbers(to, zero);
                let jump = self.assembler.jump_if(Condition::Equal);
                let back = self.assembler.here();
                self.corrections.push(Correction { jump, back, product: to, a, b, zero });
            }
            Op::Max | Op::Min => {
                // The instruction returns its second operand if either is NaN, or if both are zero.
                let mask = self.registers.take();
                match op {
                    Op::Max => self.assembler.max(to, b, a),
                    _ => self.assembler.min(to, b, a),
                }
                self.assembler.compare(Compare::Unordered, mask, b, b);
                self.assembler.blend(to, to, b, mask);
                self.registers.release(mask);
            }
            Op::Share => {
                // 1, minus 1/2 where b is at least a, minus 1/2 where b is larger.
                let (one, half) = (self.constant(Constant::One), self.constant(Constant::Half));
                let mask = self.registers.take();
                self.assembler.compare(Compare::AtLeast, to, b, a);
                self.assembler.and(to, to, half);
                self.assembler.compare(Compare::Less, mask, a, b);
                self.assembler.and(mask, mask, half);
                self.assembler.add(to, to, mask);
                self.assembler.sub(to, one, to);
                self.registers.release(mask);
            }
            Op::Inside => {
                let (zero, nan) = (self.constant(Constant::Zero), self.constant(Constant::Nan));
                self.assembler.compare(Compare::AtLeast, to, b, zero);
                self.assembler.blend(to, nan, a, to);
            }
            Op::Of(_) | Op::Polygamma(_) | Op::Powi(_) | Op::Rem | Op::Powf | Op::Atan2 | Op::Hypot => {
                unreachable!("{op:?} is called")
            }
        }
        to
    }

    /// Calls a function. All vector registers are clobbered.
    fn call(&mut self, op: Op, one: &Instruction) -> Xmm {
        let [first, second, third] = [0, 1, 2].map(Xmm);
        let a = self.registers.find(self.name(one.a));
        if op.operands() == 2 {
            match (a, self.registers.find(self.name(one.b))) {
                (Some(a), Some(b)) if (a, b) == (second, first) => {
                    self.assembler.copy(third, b);
                    self.assembler.copy(first, a);
                    self.assembler.copy(second, third);
                }
                // The value in the first register must move out before the other operand moves in.
                (a, Some(b)) if b == first => {
                    self.pass(second, Some(b), one.b);
                    self.pass(first, a, one.a);
                }
                (a, b) => {
                    self.pass(first, a, one.a);
                    self.pass(second, b, one.b);
                }
            }
        } else {
            self.pass(first, a, one.a);
        }
        let function = match called(op) {
            Called::Numbers(function) => function as usize,
            Called::Integer(function, n) => {
                self.assembler.set_wide(Rdi, n);
                function as usize
            }
        };
        self.assembler.set_wide(Rax, function as i64);
        self.assembler.call(Rax);
        self.registers.forget_all();
        self.registers.claim(first)
    }

    /// Moves an operand into the argument register of a call.
    fn pass(&mut self, to: Xmm, from: Option<Xmm>, address: Address) {
        match from {
            Some(from) if from == to => {}
            Some(from) => self.assembler.copy(to, from),
            None => {
                let place = self.place(address);
                self.assembler.load(to, place);
            }
        }
    }

    /// Leaves the function if the outcome of a relation differs from the recorded one.
    fn guard(&mut self, relation: Relation, held: bool, one: &Instruction, guard: u32) {
        let (a, b) = (self.read(one.a), self.read(one.b));
        // Both conditions compare with b first, so that a NaN counts as not holding.
        match relation {
            Relation::Less => {
                self.assembler.compare_numbers(b, a);
                self.leave_if(if held { Condition::NotAbove } else { Condition::Above }, guard);
            }
            Relation::AtMost => {
                self.assembler.compare_numbers(b, a);
                self.leave_if(if held { Condition::Below } else { Condition::NotBelow }, guard);
            }
            Relation::Equal => self.guard_equal(a, b, held, guard),
            Relation::Same => {
                self.assembler.bits(Rax, a);
                self.assembler.bits(Rcx, b);
                self.assembler.compare_general(Rax, Rcx);
                self.leave_if(if held { Condition::Differ } else { Condition::Equal }, guard);
            }
            Relation::Floor => {
                let floor = self.registers.take();
                self.assembler.round(floor, a, Rounding::Down);
                self.guard_equal(floor, b, held, guard);
                self.registers.release(floor);
            }
        }
    }

    fn guard_equal(&mut self, a: Xmm, b: Xmm, held: bool, guard: u32) {
        self.assembler.compare_numbers(a, b);
        if held {
            self.leave_if(Condition::Unordered, guard);
            self.leave_if(Condition::Differ, guard);
        } else {
            let stay = self.assembler.jump_if(Condition::Unordered);
            self.leave_if(Condition::Equal, guard);
            self.assembler.land(stay);
        }
    }

    fn leave_if(&mut self, condition: Condition, guard: u32) {
        let jump = self.assembler.jump_if(condition);
        self.leaves.push((guard, jump));
    }
}

/// A stride in bytes. It fits because the body satisfies [`has_function`].
fn bytes(stride: i32) -> i32 {
    (i64::from(stride) * NUMBER) as i32
}
