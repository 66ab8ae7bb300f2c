//! Vector registers as a cache of cells. Each cell is written to memory when it is computed, so a register can be reused at any time. The
//! least recently used register is evicted first.

use super::super::Address;
use super::x86::Xmm;

/// The number of registers.
const COUNT: usize = 16;

/// The name of a value that a register may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name(u64);

impl Name {
    const NOTHING: Name = Name(u64::MAX);

    /// A cell, whose base is below 2^28.
    pub fn cell(address: Address) -> Name {
        Name(u64::from(address.base) | u64::from(address.stride as u32) << 32)
    }

    /// A constant.
    pub fn constant(number: u32) -> Name {
        Name(u64::from(number) | 1 << 31)
    }

    fn address(self) -> Option<Address> {
        let (base, stride) = (self.0 as u32, (self.0 >> 32) as i32);
        (base >> 31 == 0).then_some(Address { base, stride })
    }

    /// Its slot in the table.
    fn slot(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.ilog2())) as usize
    }
}

/// The number of slots in the table of names.
const SLOTS: usize = 256;

pub(super) struct Registers {
    held: [Name; COUNT],
    /// For each slot, the last register that held a name of this slot; names are only looked up there. So an outdated value of a cell, or
    /// another name with the same slot, is never found.
    slots: [u8; SLOTS],
    /// A ring from the most recently used register to the least recently used one, closed by the sentinel `COUNT`.
    next: [u8; COUNT + 1],
    before: [u8; COUNT + 1],
}

impl Registers {
    pub fn new() -> Registers {
        // Register 0 is taken first: instructions with low register numbers are shorter.
        let next = std::array::from_fn(|i| ((i + COUNT) % (COUNT + 1)) as u8);
        let before = std::array::from_fn(|i| ((i + 1) % (COUNT + 1)) as u8);
        Registers { held: [Name::NOTHING; COUNT], slots: [0; SLOTS], next, before }
    }

    /// Inserts a register behind another one in the ring.
    fn put(&mut self, register: usize, after: usize) {
        let (next, before) = (self.next[register], self.before[register]);
        (self.next[before as usize], self.before[next as usize]) = (next, before);
        let next = self.next[after];
        (self.next[after], self.before[next as usize]) = (register as u8, register as u8);
        (self.next[register], self.before[register]) = (next, after as u8);
    }

    /// Marks a register as most recently used.
    fn touch(&mut self, register: usize) {
        self.put(register, COUNT);
    }

    /// Marks a register as empty and as the next to be taken.
    fn free(&mut self, register: usize) {
        self.held[register] = Name::NOTHING;
        let last = self.before[COUNT] as usize;
        if last != register {
            self.put(register, last);
        }
    }

    /// The register that holds a value, if any.
    pub fn find(&mut self, name: Name) -> Option<Xmm> {
        let register = self.slots[name.slot()];
        if self.held[register as usize] != name {
            return None;
        }
        self.touch(register.into());
        Some(Xmm(register))
    }

    /// Takes the least recently used register and empties it. The next fifteen that are found or taken are different ones.
    pub fn take(&mut self) -> Xmm {
        self.claim(Xmm(self.before[COUNT]))
    }

    /// The same for a specific register.
    pub fn claim(&mut self, register: Xmm) -> Xmm {
        self.held[register.0 as usize] = Name::NOTHING;
        self.touch(register.0.into());
        register
    }

    /// Releases a register that was taken.
    pub fn release(&mut self, register: Xmm) {
        self.free(register.0.into());
    }

    /// Binds a register that was taken to a name. No other register is bound to it any more.
    pub fn hold(&mut self, register: Xmm, name: Name) {
        self.slots[name.slot()] = register.0;
        self.held[register.0 as usize] = name;
    }

    /// Forgets cells that have changed.
    pub fn forget(&mut self, is_changed: impl Fn(Address) -> bool) {
        for register in 0..COUNT {
            if self.held[register].address().is_some_and(&is_changed) {
                self.free(register);
            }
        }
    }

    pub fn forget_all(&mut self) {
        *self = Registers::new();
    }
}
