//! Vector registers as a cache of cells: each cell is written when it is computed, so a register is free to be used for another number
//! at any time. The one that was not used for the longest time is the next to be.

use super::super::Address;
use super::x86::Xmm;

/// How many there are.
const COUNT: usize = 16;

/// A number that a register may hold.
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

    /// Its place in the table.
    fn slot(self) -> usize {
        (self.0.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (64 - SLOTS.ilog2())) as usize
    }
}

/// Places in the table of names.
const SLOTS: usize = 256;

pub(super) struct Registers {
    held: [Name; COUNT],
    /// The register that was the last to hold a name of this slot, the only one where such a name is looked for. So a number that a cell
    /// had before, or that shares its slot, is never found.
    slots: [u8; SLOTS],
    /// A ring from the one that was used last to the one that was not used for the longest time, and back to `COUNT`, which is between
    /// both.
    next: [u8; COUNT + 1],
    before: [u8; COUNT + 1],
}

impl Registers {
    pub fn new() -> Registers {
        // The first one is the next to be taken: instructions of small numbers are shorter.
        let next = std::array::from_fn(|i| ((i + COUNT) % (COUNT + 1)) as u8);
        let before = std::array::from_fn(|i| ((i + 1) % (COUNT + 1)) as u8);
        Registers { held: [Name::NOTHING; COUNT], slots: [0; SLOTS], next, before }
    }

    /// Puts a register behind another one of the ring.
    fn put(&mut self, register: usize, after: usize) {
        let (next, before) = (self.next[register], self.before[register]);
        (self.next[before as usize], self.before[next as usize]) = (next, before);
        let next = self.next[after];
        (self.next[after], self.before[next as usize]) = (register as u8, register as u8);
        (self.next[register], self.before[register]) = (next, after as u8);
    }

    /// It was used last.
    fn touch(&mut self, register: usize) {
        self.put(register, COUNT);
    }

    /// It is the next to be taken, and holds nothing.
    fn free(&mut self, register: usize) {
        self.held[register] = Name::NOTHING;
        let last = self.before[COUNT] as usize;
        if last != register {
            self.put(register, last);
        }
    }

    /// The register that holds a number.
    pub fn find(&mut self, name: Name) -> Option<Xmm> {
        let register = self.slots[name.slot()];
        if self.held[register as usize] != name {
            return None;
        }
        self.touch(register.into());
        Some(Xmm(register))
    }

    /// The register that was not used for the longest time; it holds nothing now. The next fifteen that are found or taken are others.
    pub fn take(&mut self) -> Xmm {
        self.claim(Xmm(self.before[COUNT]))
    }

    /// The same for a register that is chosen by its number.
    pub fn claim(&mut self, register: Xmm) -> Xmm {
        self.held[register.0 as usize] = Name::NOTHING;
        self.touch(register.0.into());
        register
    }

    /// Gives back a register that was taken.
    pub fn release(&mut self, register: Xmm) {
        self.free(register.0.into());
    }

    /// A register that was taken holds a number from now on, and no other register does.
    pub fn hold(&mut self, register: Xmm, name: Name) {
        self.slots[name.slot()] = register.0;
        self.held[register.0 as usize] = name;
    }

    /// Forgets cells that changed.
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
