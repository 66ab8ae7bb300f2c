//! Native code for programs that run one number after the other.
//!
//! Loops in lanes are left to the vector code of the interpreter, unless they are short. All functions share one memory mapping, after the
//! constants that they use.

mod calls;
mod generator;
mod mapping;
mod registers;
#[cfg(test)]
mod tests;
mod x86;

use super::{Code, Flipped, Item, Order, is_short};
use generator::STAYED;
use mapping::Mapping;

/// The most instructions that a compiled program may have. Longer code does not fit into caches, and is hardly faster than the interpreter,
/// whose instructions take as many bytes.
const MOST: usize = 1 << 17;

/// The number of iterations in lanes from which the vector code of the interpreter is faster, with and without function calls.
pub(super) const SHORT_WITH_CALLS: u32 = 12;
pub(super) const SHORT: u32 = 64;

/// Takes the cells, and returns the guard whose outcome changed, or [`STAYED`].
type Function = unsafe extern "sysv64" fn(*mut f64) -> i64;

enum NativeItem {
    /// A compiled item.
    Native {
        item: usize,
        function: Function,
    },
    Interpreted(usize),
}

/// A program in machine code, together with the [`Code`] that it was made from.
pub struct Native {
    code: Code,
    parts: Vec<NativeItem>,
    /// Owns the memory of the functions, which live as long as it does.
    _mapping: Option<Mapping>,
}

impl Native {
    /// Compiles a program. Returns `None` if there is no native code for this machine, or the program is too long.
    ///
    /// There is native code for x86-64 with AVX, on Unix.
    ///
    /// ```
    /// use wengert_kernels::cells::{Address, Code, Instruction, Item, Kind, Native, Op};
    /// let cell = Address::cell;
    /// let product = Instruction { kind: Kind::Set(Op::Mul), to: cell(2), a: cell(0), b: cell(1) };
    /// let code = Code::new(3, vec![Item::Straight(vec![product])]);
    /// let mut cells = [2.0, 3.0, 0.0];
    /// match Native::new(&code) {
    ///     Some(native) => native.run(&mut cells).unwrap(),
    ///     None => code.run(&mut cells).unwrap(),
    /// }
    /// assert_eq!(cells[2], 6.0);
    /// ```
    pub fn new(code: &Code) -> Option<Native> {
        if !is_x86_feature_detected!("avx") || code.instructions() > MOST {
            return None;
        }
        let mut assembler = generator::assembler();
        let mut entries = Vec::with_capacity(code.items().len());
        for item in code.items() {
            let (body, iterations, order) = match item {
                Item::Straight(body) => (body, 1, Order::Forward),
                Item::Loop { trips, order, body } => (body, *trips, *order),
                Item::Zero { .. } => {
                    entries.push(None);
                    continue;
                }
            };
            let is_native =
                (order != Order::Lanes || is_short(iterations, body)) && generator::has_function(body, iterations);
            entries.push(
                is_native.then(|| generator::function(&mut assembler, body, iterations, order == Order::Backward)),
            );
        }
        let mapping = match entries.iter().any(Option::is_some) {
            true => Some(Mapping::new(assembler.bytes())?),
            false => None,
        };
        let part = |(item, entry): (usize, Option<usize>)| match (entry, &mapping) {
            (Some(entry), Some(mapping)) => {
                // SAFETY: a function of this signature starts there: `generator::function` appended it to the bytes in `mapping`, and
                // returned its entry. The memory stays executable as long as `mapping`, which is kept beside the function.
                let function = unsafe { std::mem::transmute::<*const u8, Function>(mapping.at(entry)) };
                NativeItem::Native { item, function }
            }
            _ => NativeItem::Interpreted(item),
        };
        let parts = entries.into_iter().enumerate().map(part).collect();
        Some(Native { code: code.clone(), parts, _mapping: mapping })
    }

    /// As [`Code::run`], for the program that it was compiled from. Panics if `cells` is too short.
    pub fn run(&self, cells: &mut [f64]) -> Result<(), Flipped> {
        self.code.expect_all(cells);
        for part in &self.parts {
            match *part {
                // SAFETY: `expect_all` was called with these cells.
                NativeItem::Interpreted(item) => unsafe { self.code.run_item(item, cells)? },
                NativeItem::Native { item, function } => {
                    // SAFETY: the function only reads and writes the cells of the instructions of `self.code`. `Code::new` checked that
                    // they are below `self.code.cells()`, and `expect_all` that there are that many. `new` detected AVX on this processor.
                    let found = unsafe { function(cells.as_mut_ptr()) };
                    if found != STAYED {
                        let (instruction, trip) = ((found & 0xffff_ffff) as usize, (found >> 32) as usize);
                        return Err(Flipped { item, instruction, trip });
                    }
                }
            }
        }
        Ok(())
    }
}
