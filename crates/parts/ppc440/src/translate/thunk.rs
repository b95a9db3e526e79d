//! The code that enters and leaves blocks, routines beside it that they call, and offsets of fields as seen
//! from them.

use crate::code::Text;
use crate::core::blocks::offsets;
use crate::storage::arrays::{self, Hint};
use crate::storage::tlb::{page, Mapped, PIECES};
use dynasmrt::x64::X64Relocation;
use dynasmrt::{dynasm, DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler};
use std::mem::{offset_of, size_of};

/// Offset in the core to which `rbx` points.
pub(super) const MIDDLE: usize = 64;

pub(super) const fn at(offset: usize) -> i32 {
    offset as i32 - MIDDLE as i32
}
pub(super) const fn near(offset: usize) -> i8 {
    let distance = at(offset);
    assert!(distance as i8 as i32 == distance);
    distance as i8
}
pub(super) const LR: i8 = near(offsets::LR);
pub(super) const CTR: i8 = near(offsets::CTR);
pub(super) const PC: i8 = near(offsets::PC);
pub(super) const SO: i8 = near(offsets::SO);
pub(super) const CR: i8 = near(offsets::CR);
pub(super) const GPR: i8 = near(offsets::GPR);
pub(super) const REGISTERS: i8 = near(offsets::REGISTERS);
pub(super) const HEAD: i32 = at(offsets::LOOP_HEAD);
pub(super) const LINES: i32 = at(offsets::LINES);
pub(super) const HELD: i32 = at(offsets::LINES_HELD);
pub(super) const BTAC: i32 = at(offsets::BTAC);
pub(super) const INSTRUCTIONS: i32 = at(offsets::INSTRUCTIONS);
pub(super) const BRANCHES: i32 = at(offsets::BRANCHES);
pub(super) const DATA: i32 = at(offsets::DATA);
pub(super) const HINTS: i32 = at(offsets::HINTS);
pub(super) const MAP: i32 = at(offsets::MAP);
pub(super) const HINT: [i8; 3] =
    [offset_of!(Hint, line) as i8, offset_of!(Hint, index) as i8, offset_of!(Hint, dirty) as i8];

/// A general register; also the one that always holds 0.
pub(super) fn gpr(register: u8) -> i8 {
    i8::try_from(i32::from(GPR) + 4 * i32::from(register)).unwrap_or_default()
}

/// Code that enters blocks (`Enter`), leaves them, and does what many instructions do.
pub(super) struct EntryThunk {
    pub code: Vec<u8>,
    pub places: Places,
}

/// Offsets of the parts of the thunk.
#[derive(Clone, Copy, Default)]
pub(super) struct Places {
    /// Leaves with the number of an exit in `eax`.
    pub leave: usize,
    /// The same for an access that has told all itself.
    pub left: usize,
    /// Condition register fields, into `al`, from the host's signed or unsigned comparison.
    pub signed: usize,
    pub unsigned: usize,
    /// A line begins at `eax`, unless an observer needs to know of it: then the zero flag is not set.
    pub line: usize,
    /// Loads of 1, 2, 4 bytes and of a signed number of 2, from address `eax` into `ecx`, if they are
    /// quick: if not, the zero flag is not set.
    pub loads: [usize; 4],
    /// Stores of 1, 2 and 4 bytes of `ecx` likewise.
    pub stores: [usize; 3],
}

/// The thunk, for that address, and blocks of memory of so many bits.
pub(super) fn thunk(place: *const u8, block_bits: u32) -> EntryThunk {
    let mut asm = VecAssembler::<X64Relocation>::new(place as usize);
    let mut places = Places::default();
    dynasm!(asm
        ; .arch x64
        ; push rbx
        ; push rbp
        ; push r12
        ; push r13
        ; push r14
        ; push r15
        ; push r8
        ; lea rbx, [rdi + MIDDLE as i32]
        ; mov rbp, rcx
        ; mov r12, rdx
        ; xor r13d, r13d
        ; xor r14d, r14d
        ; jmp rsi);
    places.left = asm.offset().0;
    dynasm!(asm; .arch x64; mov rax, -1);
    places.leave = asm.offset().0;
    dynasm!(asm
        ; .arch x64
        ; add [rbx + INSTRUCTIONS], r13
        ; add [rbx + BRANCHES], r14
        ; mov rdx, r12
        ; add rsp, 8
        ; pop r15
        ; pop r14
        ; pop r13
        ; pop r12
        ; pop rbp
        ; pop rbx
        ; ret);
    for signed in [true, false] {
        let here = asm.offset().0;
        if signed {
            places.signed = here;
            dynasm!(asm; .arch x64; setl cl; setg dl);
        } else {
            places.unsigned = here;
            dynasm!(asm; .arch x64; setb cl; seta dl);
        }
        // EQ is 2; with LT that is 8, with GT 4.
        dynasm!(asm
            ; .arch x64
            ; movzx ecx, cl
            ; movzx edx, dl
            ; lea eax, [rcx + 2 * rcx]
            ; add eax, edx
            ; lea eax, [rax + rax + 2]
            ; or al, [BYTE rbx + SO]
            ; ret);
    }
    places.line = asm.offset().0;
    dynasm!(asm
        ; .arch x64
        ; cmp [rbx + HEAD], eax
        ; je >up
        ; mov ecx, eax
        ; shr ecx, 5
        ; and ecx, Text::PLACES as i32 - 1
        ; mov edx, ecx
        ; shr edx, 6
        ; mov rdx, [rbx + 8 * rdx + HELD]
        ; bt rdx, rcx
        ; jnc >up
        ; cmp DWORD [rbx + LINES], 1
        ; je >up
        ; dec DWORD [rbx + LINES]
        ; cmp eax, eax
        ; ret
        ; up:
        ; test rsp, rsp
        ; ret);
    for (index, (len, signed)) in
        [(1, false), (2, false), (4, false), (2, true)].into_iter().enumerate()
    {
        places.loads[index] = asm.offset().0;
        let attributes = Attributes { need: page::READ | page::LITTLE, forbid: page::INHIBITED };
        let fails = find(&mut asm, len, attributes, block_bits);
        match (len, signed) {
            (1, _) => dynasm!(asm; .arch x64; movzx ecx, BYTE [rsi + rdx]),
            (2, false) => dynasm!(asm; .arch x64; movzx ecx, WORD [rsi + rdx]),
            (2, true) => dynasm!(asm; .arch x64; movsx ecx, WORD [rsi + rdx]),
            _ => dynasm!(asm; .arch x64; mov ecx, [rsi + rdx]),
        }
        dynasm!(asm; .arch x64; cmp eax, eax; =>fails; ret);
    }
    for (index, len) in [1, 2, 4].into_iter().enumerate() {
        places.stores[index] = asm.offset().0;
        let (need, forbid) = (page::WRITE | page::LITTLE, page::INHIBITED | page::THROUGH);
        let attributes = Attributes { need, forbid };
        dynasm!(asm; .arch x64; mov r8d, ecx);
        let fails = find(&mut asm, len, attributes, block_bits);
        dynasm!(asm
            ; .arch x64
            // Only what makes nothing dirty that was not.
            ; movzx ecx, BYTE [rdi + HINT[2] as i32]
            ; mov r9d, eax
            ; shr r9d, 3
            ; and r9d, 3
            ; bt ecx, r9d
            ; jnc >clean);
        match len {
            1 => dynasm!(asm; .arch x64; mov [rsi + rdx], r8b),
            2 => dynasm!(asm; .arch x64; mov [rsi + rdx], r8w),
            _ => dynasm!(asm; .arch x64; mov [rsi + rdx], r8d),
        }
        dynasm!(asm; .arch x64; cmp eax, eax; =>fails; ret; clean:; test rsp, rsp; ret);
    }
    EntryThunk { code: asm.finalize().expect("every label has its place"), places }
}

/// Attributes that a page must have, and must not have.
struct Attributes {
    need: u8,
    forbid: u8,
}

/// Finds `len` bytes at `eax` in the data cache: they are from `rsi + rdx` on, their line's hint is at
/// `rdi`. Goes to the label that is returned, with the zero flag not set, if the cache does not hold them,
/// if the page does not have exactly these attributes, or if they are not aligned.
fn find(
    asm: &mut VecAssembler<X64Relocation>,
    len: u8,
    Attributes { need, forbid }: Attributes,
    bits: u32,
) -> DynamicLabel {
    let wanted = 1 << 31 | u32::from(need);
    let mask = !u32::from(page::ALL) | u32::from(need | forbid);
    const { assert!(size_of::<Mapped>() == 8 && PIECES == 256) }
    const { assert!(size_of::<Hint>() == 8 && arrays::HINTS == 256) }
    let fails = asm.new_dynamic_label();
    if len > 1 {
        dynasm!(asm; .arch x64; test al, len as i8 - 1; jnz =>fails);
    }
    dynasm!(asm
        ; .arch x64
        ; mov ecx, eax
        ; shr ecx, bits as i8
        ; movzx edx, cl
        ; shl ecx, page::ALL.count_ones() as i8
        ; or ecx, wanted as i32
        ; mov rsi, [rbx + MAP]
        ; xor ecx, [rsi + 8 * rdx + Mapped::TAG as i32]
        ; test ecx, mask as i32
        ; jnz =>fails
        ; mov edx, [rsi + 8 * rdx + Mapped::LINE as i32]
        ; mov ecx, eax
        ; shr ecx, 5
        ; and ecx, (1 << (bits - 5)) - 1
        ; add edx, ecx
        ; movzx ecx, dl
        ; mov rdi, [rbx + HINTS]
        ; lea rdi, [rdi + 8 * rcx]
        ; cmp [rdi + HINT[0] as i32], edx
        ; jne =>fails
        ; movzx edx, WORD [rdi + HINT[1] as i32]
        ; shl edx, 5
        ; mov ecx, eax
        ; and ecx, 31
        ; add edx, ecx
        ; mov rsi, [rbx + DATA]);
    fails
}
