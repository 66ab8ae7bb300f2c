//! Native code of programs, by Cranelift: for what runs one number after the other.
//!
//! Loops in lanes are left to the vector code of the interpreter, unless they are short. A result is used again
//! from its register for some instructions, and written to its cell at once.

use super::{Address, Code, Flipped, Instruction, Item, Kind, Op, Order, Relation};
use crate::functions::Function as Known;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{AbiParam, BlockArg, InstBuilder, MemFlagsData, SigRef, Signature, Value, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Module, default_libcall_names};
use rustc_hash::FxHashMap;

/// Instructions of one function at most: compiling takes longer than in proportion.
const LONGEST: usize = 1 << 10;

/// Instructions of a program that is compiled at most.
const MOST: usize = 1 << 15;

/// Trips in lanes from which on vector code is faster.
const MANY_TRIPS: u32 = 16;

/// For how many instructions a result is remembered.
const NEAR: usize = 32;

/// From the cells to a guard that went the other way, or [`STAYED`].
type Function = unsafe extern "C" fn(*mut f64) -> i64;
const STAYED: i64 = -1;

enum Part {
    /// Instructions of an item from this one on.
    Native {
        item: usize,
        first: usize,
        id: FuncId,
        function: Option<Function>,
    },
    Interpreted(usize),
}

/// A program in machine code, together with the [`Code`] that it was made from.
pub struct Native {
    code: Code,
    module: Option<JITModule>,
    parts: Vec<Part>,
}

// SAFETY: `Code`, function pointers and numbers are `Send`. The module is not used by any thread after `new`, until `drop`, which has it
// alone, unmaps its memory; no part of that depends on the thread.
unsafe impl Send for Native {}
// SAFETY: through a shared reference only `run` can be called: it reads `code` and `parts`, and calls machine code that is not written
// after `new` and has no state of its own but the cells, which the caller borrows exclusively. Nobody can reach the module.
unsafe impl Sync for Native {}

impl Drop for Native {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: addresses of its functions are only in `parts`, which is private and never copied out of `self`; `run` borrows
            // `self` for as long as it runs one of them, so that none runs now.
            unsafe { module.free_memory() };
        }
    }
}

impl Native {
    /// The machine code of a program, unless it is too long or the machine is not known.
    ///
    /// ```
    /// use wengert_kernels::cells::{Address, Code, Instruction, Item, Kind, Native, Op};
    /// let cell = Address::cell;
    /// let product = Instruction { kind: Kind::Set(Op::Mul), to: cell(2), a: cell(0), b: cell(1) };
    /// let code = Code::new(3, vec![Item::Straight(vec![product])]);
    /// let native = Native::new(&code).expect("a machine that Cranelift knows");
    /// let mut cells = [2.0, 3.0, 0.0];
    /// native.run(&mut cells).unwrap();
    /// assert_eq!(cells[2], 6.0);
    /// ```
    pub fn new(code: &Code) -> Option<Native> {
        if code.instructions() > MOST {
            return None;
        }
        let mut flags = settings::builder();
        for (name, value) in [("opt_level", "speed"), ("is_pic", "false"), ("use_colocated_libcalls", "false")] {
            flags.set(name, value).ok()?;
        }
        let isa = cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()?;
        let mut module = JITModule::new(JITBuilder::with_isa(isa, default_libcall_names()));
        let mut parts = Vec::new();
        for (number, item) in code.items().iter().enumerate() {
            match item {
                Item::Straight(body) => {
                    for (part, some) in body.chunks(LONGEST).enumerate() {
                        let id = compile(&mut module, some, 1, false)?;
                        parts.push(Part::Native { item: number, first: part * LONGEST, id, function: None });
                    }
                }
                Item::Loop { trips, order, body }
                    if (*order != Order::Lanes || *trips < MANY_TRIPS) && body.len() <= LONGEST =>
                {
                    let id = compile(&mut module, body, *trips, *order == Order::Backward)?;
                    parts.push(Part::Native { item: number, first: 0, id, function: None });
                }
                _ => parts.push(Part::Interpreted(number)),
            }
        }
        module.finalize_definitions().ok()?;
        for part in &mut parts {
            if let Part::Native { id, function, .. } = part {
                let address = module.get_finalized_function(*id);
                // SAFETY: `compile` gave the function one 64-bit parameter, a 64-bit result and the default calling convention of the
                // machine, which is that of C; `finalize_definitions` made its memory executable, and it stays so until `drop`.
                *function = Some(unsafe { std::mem::transmute::<*const u8, Function>(address) });
            }
        }
        Some(Native { code: code.clone(), module: Some(module), parts })
    }

    /// As [`Code::run`], of the program that it was made from. Panics unless `cells` has all of them.
    pub fn run(&self, cells: &mut [f64]) -> Result<(), Flipped> {
        self.code.expect_all(cells);
        for part in &self.parts {
            match *part {
                // SAFETY: `expect_all` was called with these cells.
                Part::Interpreted(item) => unsafe { self.code.run_item(item, cells)? },
                Part::Native { item, first, function, .. } => {
                    let function = function.expect("it is finished");
                    // SAFETY: the function reads and writes the cells of instructions of `self.code` and nothing else; `Code::new` checked
                    // that they are below `self.code.cells()`, and `expect_all` that there are so many.
                    let found = unsafe { function(cells.as_mut_ptr()) };
                    if found != STAYED {
                        let (instruction, trip) = (first + (found & 0xffff_ffff) as usize, (found >> 32) as usize);
                        return Err(Flipped { item, instruction, trip });
                    }
                }
            }
        }
        Ok(())
    }
}

/// Functions that are called.
macro_rules! called {
    ($($function:ident = $op:ident;)*) => {
        $(
            extern "C" fn $function(a: f64, b: f64) -> f64 {
                Op::$op.apply(a, b)
            }
        )*

        /// The address of the function of an operation that has no instruction.
        fn address(op: Op) -> extern "C" fn(f64, f64) -> f64 {
            match op {
                Op::Of(function) => address_of(function),
                $(Op::$op => $function,)*
                _ => unreachable!("{op:?} has instructions"),
            }
        }
    };
}
called! {
    signum = Signum;
    floor = Floor;
    ceil = Ceil;
    round = Round;
    rem = Rem;
    powf = Powf;
    atan2 = Atan2;
    hypot = Hypot;
    share = Share;
}

macro_rules! functions_called {
    ($($(#[doc = $doc:literal])* $name:ident $NAME:ident $real:ident { $($row:tt)* })*) => {
        /// The address of a function of the table.
        fn address_of(function: Known) -> extern "C" fn(f64, f64) -> f64 {
            $(
                extern "C" fn $name(a: f64, _: f64) -> f64 {
                    Known::$name.value(a)
                }
            )*
            match function {
                $(Known::$name => $name,)*
            }
        }
    };
}
crate::functions!(functions_called);

extern "C" fn powi(a: f64, n: i64) -> f64 {
    Op::Powi(n as i32).apply(a, a)
}

extern "C" fn polygamma(a: f64, n: i64) -> f64 {
    Op::Polygamma(n as u32).apply(a, a)
}

/// A function under construction.
struct Builder<'f> {
    builder: FunctionBuilder<'f>,
    /// The address of the cells, and of those of the trip where cells move by one.
    cells: Value,
    trip: Option<Value>,
    /// Of two numbers, and of a number and a whole one.
    of_two: SigRef,
    of_whole: SigRef,
    /// Results that are in registers, and when they were computed.
    near: FxHashMap<Address, (Value, usize)>,
    now: usize,
}

fn compile(module: &mut JITModule, body: &[Instruction], trips: u32, backward: bool) -> Option<FuncId> {
    let mut context = module.make_context();
    let signature = |module: &JITModule, parameters: &[types::Type], result: types::Type| -> Signature {
        let mut signature = module.make_signature();
        signature.params.extend(parameters.iter().map(|one| AbiParam::new(*one)));
        signature.returns.push(AbiParam::new(result));
        signature
    };
    context.func.signature = signature(module, &[types::I64], types::I64);
    let mut room = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut room);
    let entry = builder.create_block();
    builder.append_block_params_for_function_params(entry);
    builder.switch_to_block(entry);
    builder.seal_block(entry);
    let cells = builder.block_params(entry)[0];
    let of_two = builder.import_signature(signature(module, &[types::F64, types::F64], types::F64));
    let of_whole = builder.import_signature(signature(module, &[types::F64, types::I64], types::F64));
    let mut code = Builder { builder, cells, trip: None, of_two, of_whole, near: FxHashMap::default(), now: 0 };
    if trips == 1 {
        code.body(body);
    } else if trips > 1 {
        code.trips(body, i64::from(trips), backward);
    }
    let stayed = code.builder.ins().iconst(types::I64, STAYED);
    code.builder.ins().return_(&[stayed]);
    code.builder.finalize(module.target_config());
    let id = module.declare_anonymous_function(&context.func.signature).ok()?;
    module.define_function(id, &mut context).ok()?;
    Some(id)
}

impl Builder<'_> {
    /// The body again and again.
    fn trips(&mut self, body: &[Instruction], trips: i64, backward: bool) {
        let (head, after) = (self.builder.create_block(), self.builder.create_block());
        let trip = self.builder.append_block_param(head, types::I64);
        let (first, last, step) = if backward { (trips - 1, 0, -1) } else { (0, trips - 1, 1) };
        let start = self.builder.ins().iconst(types::I64, first);
        self.builder.ins().jump(head, &[BlockArg::Value(start)]);
        self.builder.switch_to_block(head);
        self.trip = Some(trip);
        self.body(body);
        let next = self.builder.ins().iadd_imm_s(trip, step);
        let is_last = self.builder.ins().icmp_imm_s(IntCC::Equal, trip, last);
        self.builder.ins().brif(is_last, after, &[], head, &[BlockArg::Value(next)]);
        self.builder.seal_block(head);
        self.builder.switch_to_block(after);
        self.builder.seal_block(after);
        self.trip = None;
    }

    fn body(&mut self, body: &[Instruction]) {
        for (number, one) in body.iter().enumerate() {
            self.now = number;
            match one.kind {
                Kind::Set(op) => {
                    let value = self.compute(op, one);
                    self.write(one.to, value);
                }
                Kind::Add(op) => {
                    let (more, before) = (self.compute(op, one), self.read(one.to));
                    let sum = self.builder.ins().fadd(before, more);
                    self.write(one.to, sum);
                }
                Kind::Guard(relation, held) => self.guard(relation, held, one, number as i64),
            }
        }
    }

    /// Where a cell is: an address and bytes from there on.
    fn place(&mut self, address: Address) -> (Value, i32) {
        let mut start = self.cells;
        if let Some(trip) = self.trip.filter(|_| address.stride != 0) {
            let bytes = self.builder.ins().imul_imm_s(trip, i64::from(address.stride) * 8);
            start = self.builder.ins().iadd(start, bytes);
        }
        match i32::try_from(i64::from(address.base) * 8) {
            Ok(offset) => (start, offset),
            Err(_) => (self.builder.ins().iadd_imm_s(start, i64::from(address.base) * 8), 0),
        }
    }

    /// The address under which a cell is remembered: where there is one trip, strides tell nothing apart.
    fn name(&self, address: Address) -> Address {
        if self.trip.is_some() { address } else { Address::cell(address.base) }
    }

    fn read(&mut self, address: Address) -> Value {
        let address = self.name(address);
        if let Some((value, when)) = self.near.get(&address)
            && self.now - when <= NEAR
        {
            return *value;
        }
        let (start, offset) = self.place(address);
        let value = self.builder.ins().load(types::F64, MemFlagsData::trusted(), start, offset);
        self.near.insert(address, (value, self.now));
        value
    }

    fn write(&mut self, address: Address, value: Value) {
        let address = self.name(address);
        let (start, offset) = self.place(address);
        self.builder.ins().store(MemFlagsData::trusted(), value, start, offset);
        // In a loop, another address may be the same cell.
        if self.trip.is_some() {
            self.near.clear();
        }
        self.near.insert(address, (value, self.now));
    }

    fn compute(&mut self, op: Op, one: &Instruction) -> Value {
        let a = self.read(one.a);
        let b = if op.operands() == 2 { self.read(one.b) } else { a };
        let zero = |code: &mut Builder<'_>| code.builder.ins().f64const(0.0);
        match op {
            Op::Copy => a,
            Op::Neg => self.builder.ins().fneg(a),
            Op::Of(Known::abs) => self.builder.ins().fabs(a),
            Op::Of(Known::sqrt) => self.builder.ins().sqrt(a),
            Op::Recip => {
                let unit = self.builder.ins().f64const(1.0);
                self.builder.ins().fdiv(unit, a)
            }
            Op::Add => self.builder.ins().fadd(a, b),
            Op::Sub => self.builder.ins().fsub(a, b),
            Op::Mul => self.builder.ins().fmul(a, b),
            Op::Div => self.builder.ins().fdiv(a, b),
            Op::Times => {
                let (product, zero) = (self.builder.ins().fmul(a, b), zero(self));
                let [a_is_zero, b_is_zero] = [a, b].map(|x| self.builder.ins().fcmp(FloatCC::Equal, x, zero));
                let is_number = self.builder.ins().fcmp(FloatCC::Ordered, a, a);
                let b_makes_it = self.builder.ins().band(b_is_zero, is_number);
                let is_zero = self.builder.ins().bor(a_is_zero, b_makes_it);
                self.builder.ins().select(is_zero, zero, product)
            }
            Op::Max | Op::Min => {
                let order = if op == Op::Max { FloatCC::GreaterThanOrEqual } else { FloatCC::LessThanOrEqual };
                let is_first = self.builder.ins().fcmp(order, a, b);
                let is_nan = self.builder.ins().fcmp(FloatCC::Unordered, a, a);
                let is_first = self.builder.ins().bor(is_first, is_nan);
                self.builder.ins().select(is_first, a, b)
            }
            Op::Inside => {
                let (zero, nan) = (zero(self), self.builder.ins().f64const(f64::NAN));
                let is_inside = self.builder.ins().fcmp(FloatCC::GreaterThanOrEqual, b, zero);
                self.builder.ins().select(is_inside, a, nan)
            }
            Op::Powi(n) => self.call_whole(powi, a, i64::from(n)),
            Op::Polygamma(n) => self.call_whole(polygamma, a, i64::from(n)),
            _ => {
                let callee = self.builder.ins().iconst(types::I64, address(op) as usize as i64);
                let call = self.builder.ins().call_indirect(self.of_two, callee, &[a, b]);
                self.builder.inst_results(call)[0]
            }
        }
    }

    fn call_whole(&mut self, function: extern "C" fn(f64, i64) -> f64, a: Value, n: i64) -> Value {
        let callee = self.builder.ins().iconst(types::I64, function as usize as i64);
        let n = self.builder.ins().iconst(types::I64, n);
        let call = self.builder.ins().call_indirect(self.of_whole, callee, &[a, n]);
        self.builder.inst_results(call)[0]
    }

    /// Returns from the function if a relation does not hold that did, or does that did not.
    fn guard(&mut self, relation: Relation, held: bool, one: &Instruction, number: i64) {
        let (a, b) = (self.read(one.a), self.read(one.b));
        let holds = match relation {
            Relation::Less => self.builder.ins().fcmp(FloatCC::LessThan, a, b),
            Relation::AtMost => self.builder.ins().fcmp(FloatCC::LessThanOrEqual, a, b),
            Relation::Equal => self.builder.ins().fcmp(FloatCC::Equal, a, b),
            Relation::Same => {
                let [a, b] = [a, b].map(|x| self.builder.ins().bitcast(types::I64, MemFlagsData::new(), x));
                self.builder.ins().icmp(IntCC::Equal, a, b)
            }
            Relation::Floor => {
                let callee = self.builder.ins().iconst(types::I64, address(Op::Floor) as usize as i64);
                let call = self.builder.ins().call_indirect(self.of_two, callee, &[a, a]);
                let floor = self.builder.inst_results(call)[0];
                self.builder.ins().fcmp(FloatCC::Equal, floor, b)
            }
        };
        let (stays, leaves) = (self.builder.create_block(), self.builder.create_block());
        match held {
            true => self.builder.ins().brif(holds, stays, &[], leaves, &[]),
            false => self.builder.ins().brif(holds, leaves, &[], stays, &[]),
        };
        self.builder.switch_to_block(leaves);
        self.builder.seal_block(leaves);
        let mut found = self.builder.ins().iconst(types::I64, number);
        if let Some(trip) = self.trip {
            let shifted = self.builder.ins().ishl_imm_s(trip, 32);
            found = self.builder.ins().bor(shifted, found);
        }
        self.builder.ins().return_(&[found]);
        self.builder.switch_to_block(stays);
        self.builder.seal_block(stays);
    }
}
