//! An assembler for the instructions of x86-64 that programs need: each method appends one of them.
//!
//! Floating-point instructions use the VEX encodings of AVX: three operands, and no alignment requirements for memory. Scalar instructions
//! work on the lowest element of a register.

/// A general register, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum General {
    Rax = 0,
    Rcx = 1,
    Rbx = 3,
    Rsp = 4,
    Rbp = 5,
    Rdi = 7,
    R12 = 12,
    R13 = 13,
    R14 = 14,
    R15 = 15,
}

/// A vector register, by its number below 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Xmm(pub u8);

/// A memory operand.
#[derive(Clone, Copy, Debug)]
pub(super) enum Memory {
    /// An offset in bytes from the address in a register.
    Behind(General, i32),
    /// An offset in bytes from the start of the code.
    InCode(usize),
}

/// The last operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub(super) enum RegisterOrMemory {
    Register(Xmm),
    Memory(Memory),
}

impl From<Xmm> for RegisterOrMemory {
    fn from(register: Xmm) -> RegisterOrMemory {
        RegisterOrMemory::Register(register)
    }
}

impl From<Memory> for RegisterOrMemory {
    fn from(memory: Memory) -> RegisterOrMemory {
        RegisterOrMemory::Memory(memory)
    }
}

/// Comparisons that give an all-ones mask where they hold. Only `Unordered` holds for a NaN.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compare {
    Less = 0x11,
    /// Either operand is NaN.
    Unordered = 0x03,
    AtLeast = 0x1d,
}

/// Rounding modes; none of them raises the inexact exception.
#[derive(Clone, Copy, Debug)]
pub(super) enum Rounding {
    ToEven = 0x08,
    Down = 0x09,
    Up = 0x0a,
}

/// The condition of a jump, as set by unsigned integer comparisons and [`Assembler::compare_numbers`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Below = 0x2,
    NotBelow = 0x3,
    Equal = 0x4,
    Differ = 0x5,
    NotAbove = 0x6,
    Above = 0x7,
    /// Either operand is NaN.
    Unordered = 0xa,
}

/// A jump whose target is not known yet.
#[must_use]
pub(super) struct Jump(usize);

/// A VEX opcode: its prefix, map and byte, and whether it uses 64-bit integers.
struct Opcode {
    prefix: u8,
    map: u8,
    wide: bool,
    byte: u8,
}

/// Opcodes for scalars, for full vectors, and for full vectors in the third map.
const fn scalar(byte: u8) -> Opcode {
    Opcode { prefix: 3, map: 1, wide: false, byte }
}
const fn vector(byte: u8) -> Opcode {
    Opcode { prefix: 1, map: 1, wide: false, byte }
}
const fn third(byte: u8) -> Opcode {
    Opcode { prefix: 1, map: 3, wide: false, byte }
}

/// An upper bound on the length of an instruction in bytes.
const LONGEST: usize = 16;

/// A writer for the bytes of one instruction.
struct Bytes<'a> {
    bytes: &'a mut [u8; LONGEST],
    count: usize,
}

impl Bytes<'_> {
    #[inline(always)]
    fn push(&mut self, byte: u8) {
        self.bytes[self.count] = byte;
        self.count += 1;
    }

    #[inline(always)]
    fn push_all(&mut self, bytes: [u8; 4]) {
        self.bytes[self.count..][..4].copy_from_slice(&bytes);
        self.count += 4;
    }
}

/// Machine code under construction.
pub(super) struct Assembler {
    bytes: Vec<u8>,
}

/// Instructions of three operands: `to = first op second`.
macro_rules! three_operands {
    ($($(#[doc = $doc:literal])* $name:ident = $opcode:expr;)*) => {
        $(
            $(#[doc = $doc])*
            pub fn $name(&mut self, to: Xmm, first: Xmm, second: impl Into<RegisterOrMemory>) {
                self.vex($opcode, to.0, first.0, second.into(), None);
            }
        )*
    };
}

impl Assembler {
    pub fn new() -> Assembler {
        Assembler { bytes: Vec::new() }
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The offset of the next instruction.
    pub fn here(&self) -> usize {
        self.bytes.len()
    }

    /// Appends data.
    pub fn data(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Pads with no-ops to a multiple of `to` bytes.
    pub fn align(&mut self, to: usize) {
        self.bytes.resize(self.bytes.len().next_multiple_of(to), 0x90);
    }

    three_operands! {
        add = scalar(0x58);
        mul = scalar(0x59);
        sub = scalar(0x5c);
        /// The minimum; the second operand if both are zero or either is NaN.
        min = scalar(0x5d);
        div = scalar(0x5e);
        /// The maximum; the second operand if both are zero or either is NaN.
        max = scalar(0x5f);
        /// The square root of the second operand.
        sqrt = scalar(0x51);
        and = vector(0x54);
        or = vector(0x56);
        xor = vector(0x57);
    }

    pub fn load(&mut self, to: Xmm, from: Memory) {
        self.vex(scalar(0x10), to.0, 0, from.into(), None);
    }

    pub fn store(&mut self, to: Memory, from: Xmm) {
        self.vex(scalar(0x11), from.0, 0, to.into(), None);
    }

    pub fn copy(&mut self, to: Xmm, from: Xmm) {
        self.vex(vector(0x28), to.0, 0, from.into(), None);
    }

    pub fn compare(&mut self, compare: Compare, to: Xmm, first: Xmm, second: Xmm) {
        self.vex(scalar(0xc2), to.0, first.0, second.into(), Some(compare as u8));
    }

    /// Takes `second` where the sign bit of the mask is set, and `first` elsewhere.
    pub fn blend(&mut self, to: Xmm, first: Xmm, second: Xmm, mask: Xmm) {
        self.vex(third(0x4b), to.0, first.0, second.into(), Some(mask.0 << 4));
    }

    pub fn round(&mut self, to: Xmm, from: Xmm, rounding: Rounding) {
        self.vex(third(0x0b), to.0, from.0, from.into(), Some(rounding as u8));
    }

    /// Sets conditions as for unsigned integers. If either is NaN, it sets [`Condition::Unordered`], [`Condition::Equal`] and
    /// [`Condition::Below`].
    pub fn compare_numbers(&mut self, first: Xmm, second: Xmm) {
        self.vex(vector(0x2e), first.0, 0, second.into(), None);
    }

    /// Copies the bits of a number to a general register.
    pub fn bits(&mut self, to: General, from: Xmm) {
        // A general register in the position of a vector register is encoded the same way.
        self.vex(Opcode { wide: true, ..vector(0x7e) }, from.0, 0, Xmm(to as u8).into(), None);
    }

    fn vex(&mut self, opcode: Opcode, reg: u8, second: u8, last: RegisterOrMemory, immediate: Option<u8>) {
        let rm = match last {
            RegisterOrMemory::Register(register) => register.0,
            RegisterOrMemory::Memory(Memory::Behind(base, _)) => base as u8,
            RegisterOrMemory::Memory(Memory::InCode(_)) => 0,
        };
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&[0; LONGEST]);
        let room = self.bytes.last_chunk_mut().expect("it was just made");
        let mut code = Bytes { bytes: room, count: 0 };
        // The register extension bits and the second register are stored inverted.
        let (r, b, v) = ((!reg & 8) << 4, (!rm & 8) << 2, (!second & 15) << 3);
        if opcode.map == 1 && !opcode.wide && rm < 8 {
            code.push(0xc5);
            code.push(r | v | opcode.prefix);
        } else {
            code.push(0xc4);
            code.push(r | 0x40 | b | opcode.map);
            code.push(u8::from(opcode.wide) << 7 | v | opcode.prefix);
        }
        code.push(opcode.byte);
        let (reg, rm) = ((reg & 7) << 3, rm & 7);
        match last {
            RegisterOrMemory::Register(_) => code.push(0xc0 | reg | rm),
            RegisterOrMemory::Memory(Memory::Behind(_, offset)) => {
                let short = i8::try_from(offset);
                // Without an offset, the register numbers of rbp and r13 have a special meaning.
                let mode = match short {
                    Ok(0) if rm != General::Rbp as u8 => 0x00,
                    Ok(_) => 0x40,
                    Err(_) => 0x80,
                };
                code.push(mode | reg | rm);
                // The register numbers of rsp and r12 announce another byte.
                if rm == General::Rsp as u8 {
                    code.push(0x24);
                }
                match (mode, short) {
                    (0x00, _) => {}
                    (_, Ok(short)) => code.push(short as u8),
                    (_, Err(_)) => code.push_all(offset.to_le_bytes()),
                }
            }
            RegisterOrMemory::Memory(Memory::InCode(at)) => {
                code.push(reg | 0x05);
                let next = start + code.count + 4 + usize::from(immediate.is_some());
                code.push_all(distance(next, at).to_le_bytes());
            }
        }
        if let Some(immediate) = immediate {
            code.push(immediate);
        }
        let count = code.count;
        self.bytes.truncate(start + count);
    }

    /// A 64-bit integer instruction on registers, or one with an opcode extension in place of the first register.
    fn wide(&mut self, opcode: u8, reg: u8, rm: General) {
        let rm = rm as u8;
        self.data(&[0x48 | (reg & 8) >> 1 | rm >> 3, opcode, 0xc0 | (reg & 7) << 3 | rm & 7]);
    }

    pub fn push(&mut self, register: General) {
        self.short(0x50, register);
    }

    pub fn pop(&mut self, register: General) {
        self.short(0x58, register);
    }

    /// An instruction whose opcode contains the register number.
    fn short(&mut self, opcode: u8, register: General) {
        let number = register as u8;
        if number >= 8 {
            self.data(&[0x41]);
        }
        self.data(&[opcode | number & 7]);
    }

    /// `to = from`.
    pub fn move_general(&mut self, to: General, from: General) {
        self.wide(0x89, from as u8, to);
    }

    /// `to = number`, 64 bits.
    pub fn set_wide(&mut self, to: General, number: i64) {
        let register = to as u8;
        self.data(&[0x48 | register >> 3, 0xb8 | register & 7]);
        self.data(&number.to_le_bytes());
    }

    /// `to = number`, and zeros in its upper half.
    pub fn set(&mut self, to: General, number: u32) {
        self.short(0xb8, to);
        self.data(&number.to_le_bytes());
    }

    /// `to += number`.
    pub fn add_number(&mut self, to: General, number: i32) {
        self.wide(0x81, 0, to);
        self.data(&number.to_le_bytes());
    }

    /// `to -= number`, setting the conditions as a comparison of the old values does.
    pub fn sub_number(&mut self, to: General, number: i32) {
        self.wide(0x81, 5, to);
        self.data(&number.to_le_bytes());
    }

    /// `to += from`.
    pub fn add_general(&mut self, to: General, from: General) {
        self.wide(0x01, from as u8, to);
    }

    /// `to |= from`.
    pub fn or_general(&mut self, to: General, from: General) {
        self.wide(0x09, from as u8, to);
    }

    /// `to = from * number`.
    pub fn mul_number(&mut self, to: General, from: General, number: i32) {
        self.wide(0x69, to as u8, from);
        self.data(&number.to_le_bytes());
    }

    /// `to <<= bits`.
    pub fn shift_left(&mut self, to: General, bits: u8) {
        self.wide(0xc1, 4, to);
        self.data(&[bits]);
    }

    /// Compares two registers and sets the conditions.
    pub fn compare_general(&mut self, first: General, second: General) {
        self.wide(0x39, second as u8, first);
    }

    /// The same with a number.
    pub fn compare_number(&mut self, first: General, second: i32) {
        self.wide(0x81, 7, first);
        self.data(&second.to_le_bytes());
    }

    pub fn call(&mut self, function: General) {
        let number = function as u8;
        if number >= 8 {
            self.data(&[0x41]);
        }
        self.data(&[0xff, 0xd0 | number & 7]);
    }

    pub fn ret(&mut self) {
        self.data(&[0xc3]);
    }

    /// A forward jump to where it will [`land`](Assembler::land).
    pub fn jump(&mut self) -> Jump {
        self.data(&[0xe9, 0, 0, 0, 0]);
        Jump(self.here())
    }

    /// The same, if a condition holds.
    pub fn jump_if(&mut self, condition: Condition) -> Jump {
        self.data(&[0x0f, 0x80 | condition as u8, 0, 0, 0, 0]);
        Jump(self.here())
    }

    /// Sets the target of a jump to here.
    pub fn land(&mut self, jump: Jump) {
        self.set_target(jump, self.here());
    }

    /// A backward jump.
    pub fn jump_back(&mut self, to: usize) {
        let jump = self.jump();
        self.set_target(jump, to);
    }

    /// The same, if a condition holds.
    pub fn jump_back_if(&mut self, condition: Condition, to: usize) {
        let jump = self.jump_if(condition);
        self.set_target(jump, to);
    }

    fn set_target(&mut self, Jump(after): Jump, to: usize) {
        let bytes = distance(after, to).to_le_bytes();
        self.bytes[after - 4..after].copy_from_slice(&bytes);
    }
}

/// The distance of a jump. Panics if it is too large to encode.
fn distance(from: usize, to: usize) -> i32 {
    i32::try_from(to as i64 - from as i64).expect("code of less than 2 GiB")
}

#[cfg(test)]
mod tests {
    use super::General::*;
    use super::Memory::{Behind, InCode};
    use super::*;

    /// The encoding of some instructions, in hexadecimal.
    fn encoded(instructions: impl FnOnce(&mut Assembler)) -> String {
        let mut assembler = Assembler::new();
        instructions(&mut assembler);
        assembler.bytes().iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Expected bytes, as produced by the GNU assembler.
    macro_rules! expect {
        ($($bytes:literal = $text:literal: $method:ident($($operand:expr),*);)*) => {
            $(assert_eq!(encoded(|assembler| assembler.$method($($operand),*)), $bytes, $text);)*
        };
    }

    #[test]
    fn numbers_are_computed_by_the_encodings_of_another_assembler() {
        let [x0, x1, x2, x3, x4, x5, x6, x7] = [0, 1, 2, 3, 4, 5, 6, 7].map(Xmm);
        let [x8, x9, x10, x11, x12, x13, x14, x15] = [8, 9, 10, 11, 12, 13, 14, 15].map(Xmm);
        expect! {
            "c5eb58cb" = "vaddsd xmm1, xmm2, xmm3": add(x1, x2, x3);
            "c52b59cb" = "vmulsd xmm9, xmm10, xmm3": mul(x9, x10, x3);
            "c4c16b5ccb" = "vsubsd xmm1, xmm2, xmm11": sub(x1, x2, x11);
            "c5835e03" = "vdivsd xmm0, xmm15, [rbx]": div(x0, x15, Behind(Rbx, 0));
            "c5d35de6" = "vminsd xmm4, xmm5, xmm6": min(x4, x5, x6);
            "c5d35fe6" = "vmaxsd xmm4, xmm5, xmm6": max(x4, x5, x6);
            "c4c13b51f8" = "vsqrtsd xmm7, xmm8, xmm8": sqrt(x7, x8, x8);
            "c5e954cb" = "vandpd xmm1, xmm2, xmm3": and(x1, x2, x3);
            "c5e956cb" = "vorpd xmm1, xmm2, xmm3": or(x1, x2, x3);
            "c5e9574b10" = "vxorpd xmm1, xmm2, [rbx+0x10]": xor(x1, x2, Behind(Rbx, 0x10));
            "c4c17928dc" = "vmovapd xmm3, xmm12": copy(x3, x12);
            "c5ebc2cb11" = "vcmplt_oqsd xmm1, xmm2, xmm3": compare(Compare::Less, x1, x2, x3);
            "c5ebc2cb03" = "vcmpunordsd xmm1, xmm2, xmm3": compare(Compare::Unordered, x1, x2, x3);
            "c4c16bc2cd1d" = "vcmpge_oqsd xmm1, xmm2, xmm13": compare(Compare::AtLeast, x1, x2, x13);
            "c4c3694bcde0" = "vblendvpd xmm1, xmm2, xmm13, xmm14": blend(x1, x2, x13, x14);
            "c4c3190bcc09" = "vroundsd xmm1, xmm12, xmm12, 9": round(x1, x12, Rounding::Down);
            "c441792eca" = "vucomisd xmm9, xmm10": compare_numbers(x9, x10);
            "c461f97ec9" = "vmovq rcx, xmm9": bits(Rcx, x9);
            "c4c1f97ecc" = "vmovq r12, xmm1": bits(R12, x1);
        }
    }

    #[test]
    fn places_in_memory_have_the_encodings_of_another_assembler() {
        let [x1, x2, x8, x13] = [1, 2, 8, 13].map(Xmm);
        expect! {
            "c57b1003" = "vmovsd xmm8, [rbx]": load(x8, Behind(Rbx, 0));
            "c57b104378" = "vmovsd xmm8, [rbx+0x78]": load(x8, Behind(Rbx, 0x78));
            "c57b104380" = "vmovsd xmm8, [rbx-0x80]": load(x8, Behind(Rbx, -0x80));
            "c57b108380000000" = "vmovsd xmm8, [rbx+0x80]": load(x8, Behind(Rbx, 0x80));
            "c57b10837fffffff" = "vmovsd xmm8, [rbx-0x81]": load(x8, Behind(Rbx, -0x81));
            "c4c17b100c24" = "vmovsd xmm1, [r12]": load(x1, Behind(R12, 0));
            "c4c17b104c2408" = "vmovsd xmm1, [r12+8]": load(x1, Behind(R12, 8));
            "c4c17b108c2478563412" = "vmovsd xmm1, [r12+0x12345678]": load(x1, Behind(R12, 0x1234_5678));
            "c4c17b104d00" = "vmovsd xmm1, [r13]": load(x1, Behind(R13, 0));
            "c5fb104d00" = "vmovsd xmm1, [rbp]": load(x1, Behind(Rbp, 0));
            "c4c17b100e" = "vmovsd xmm1, [r14]": load(x1, Behind(R14, 0));
            "c5fb100c24" = "vmovsd xmm1, [rsp]": load(x1, Behind(Rsp, 0));
            "c57b11a800100000" = "vmovsd [rax+0x1000], xmm13": store(Behind(Rax, 0x1000), x13);
            "c4c17b1157f8" = "vmovsd [r15-8], xmm2": store(Behind(R15, -8), x2);
            // Relative to its end at byte 8: back to byte 0.
            "c5fb100df8ffffff" = "vmovsd xmm1, [rip-8]": load(x1, InCode(0));
        }
    }

    #[test]
    fn integers_are_computed_by_the_encodings_of_another_assembler() {
        expect! {
            "53" = "push rbx": push(Rbx);
            "4154" = "push r12": push(R12);
            "5d" = "pop rbp": pop(Rbp);
            "415f" = "pop r15": pop(R15);
            "4889fb" = "mov rbx, rdi": move_general(Rbx, Rdi);
            "4989dc" = "mov r12, rbx": move_general(R12, Rbx);
            "49bdf0debc9a78563412" = "movabs r13, 0x123456789abcdef0": set_wide(R13, 0x1234_5678_9abc_def0);
            "b8efcdab89" = "mov eax, 0x89abcdef": set(Rax, 0x89ab_cdef);
            "41be01000000" = "mov r14d, 1": set(R14, 1);
            "4981c478563412" = "add r12, 0x12345678": add_number(R12, 0x1234_5678);
            "4881ecffffff7f" = "sub rsp, 0x7fffffff": sub_number(Rsp, 0x7fff_ffff);
            "4801d8" = "add rax, rbx": add_general(Rax, Rbx);
            "4d01e7" = "add r15, r12": add_general(R15, R12);
            "4809e8" = "or rax, rbp": or_general(Rax, Rbp);
            "4869c508000080" = "imul rax, rbp, -0x7ffffff8": mul_number(Rax, Rbp, -0x7fff_fff8);
            "4d69e578563412" = "imul r12, r13, 0x12345678": mul_number(R12, R13, 0x1234_5678);
            "48c1e520" = "shl rbp, 32": shift_left(Rbp, 32);
            "4839c8" = "cmp rax, rcx": compare_general(Rax, Rcx);
            "4939dc" = "cmp r12, rbx": compare_general(R12, Rbx);
            "4881fdffffff7f" = "cmp rbp, 0x7fffffff": compare_number(Rbp, 0x7fff_ffff);
            "ffd0" = "call rax": call(Rax);
            "41ffd4" = "call r12": call(R12);
            "c3" = "ret": ret();
        }
    }

    #[test]
    fn jumps_go_where_they_land() {
        let forward = encoded(|assembler| {
            let (first, second) = (assembler.jump(), assembler.jump_if(Condition::Above));
            assembler.land(first);
            assembler.ret();
            assembler.land(second);
        });
        // One jump skips the six bytes of the second, the other the single byte of `ret`.
        assert_eq!(forward, "e906000000".to_owned() + "0f8701000000" + "c3");
        let backward = encoded(|assembler| {
            assembler.ret();
            assembler.jump_back_if(Condition::NotBelow, 0);
        });
        assert_eq!(backward, "c3".to_owned() + "0f83f9ffffff");
    }
}
