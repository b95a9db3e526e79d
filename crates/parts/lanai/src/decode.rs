//! Decoder from an instruction word to an [`Op`]: fields are taken apart once, so that execution need not.

use crate::instructions::{Kind, ROWS};

/// One instruction of the table (see `instructions`).
pub(crate) struct Row {
    /// Mnemonic; behind a space a letter if another row has the same and differs in form only.
    pub name: &'static str,
    /// Bits of the word that tell this instruction from all others, and what they hold.
    pub mask: u32,
    pub value: u32,
    pub format: Format,
    pub class: Class,
    pub source: Source,
    pub kind: Kind,
}

/// Source of an instruction's definition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The vendor's opcode table of 1995, and LLVM.
    Both,
    /// LLVM only, whose target is of a later processor.
    Llvm,
    /// The table of 1995 only.
    Vendor,
}

/// Meaning of the fields of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// Operands do not matter.
    Nothing,
    /// `rd <- rs1 op imm`, the immediate expanded.
    Immediate,
    /// `rd <- rs1 shifted by imm`.
    Shift,
    /// `rd <- rs1 op rs2` under a condition.
    Registers,
    /// `rd <- count of rs1`.
    Count,
    /// `rd`, memory at `rs1 + imm`, 16 bits.
    Memory,
    /// The same with 10 bits.
    Part,
    /// `rd`, memory at `rs1 op rs2`.
    Indexed,
    /// `rd`, memory at `imm`.
    Absolute,
    /// `rd <- imm`.
    Literal,
    /// Jump to `imm` under a condition.
    Branch,
    /// Jump to the instruction's own address plus `imm` under a condition.
    Relative,
    /// `rd` becomes the condition; it is in the field of `rs1`.
    Set,
}

/// Timing class: latency of the result, and the time for which the instruction keeps the next one from
/// issuing. The numbers are those of LLVM's model of its later processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    /// A cycle.
    Simple,
    /// A cycle, and the result one cycle late.
    Load,
    /// The same as a load, without an access.
    Literal,
    /// A cycle.
    Store,
    /// Two cycles, and the result one cycle late.
    LoadPart,
    /// Two cycles.
    StorePart,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub kind: Kind,
    pub rd: u8,
    pub rs1: u8,
    pub rs2: u8,
    /// The word itself if it is illegal.
    pub imm: u32,
    /// A bit for each register that it reads, but `r0` to `r2`.
    pub reads: u32,
    /// Condition; of memory instructions that move `rs1`: 1 if before the access.
    pub cond: u8,
    /// Operation on `rs1` and `rs2` that makes an address.
    pub alu: u8,
    /// Cycles more than one.
    pub more: u8,
    /// 1 if it has an access to memory besides its own fetch.
    pub accesses: u8,
}

impl Op {
    /// Takes the place of an instruction that has been written since it was decoded.
    pub(crate) const fn stale() -> Op {
        Op {
            kind: Kind::Illegal,
            rd: 0,
            rs1: 0,
            rs2: 0,
            imm: 0,
            reads: STALE,
            cond: 0,
            alu: 0,
            more: 0,
            accesses: 0,
        }
    }
    pub(crate) fn is_stale(&self) -> bool {
        self.reads & STALE != 0
    }
}

/// The bit of `r0` among those that an instruction reads.
const STALE: u32 = 1;

const fn field(word: u32, low: u32) -> u8 {
    (word >> low & 31) as u8
}

const fn sign_extended(value: u32, bits: u32) -> u32 {
    ((value << (32 - bits)) as i32 >> (32 - bits)) as u32
}

/// The row of `word`. Bits that must be zero are part of a row; those that nobody looks at are not.
pub(crate) fn row(word: u32) -> Option<&'static Row> {
    let row = ROWS.iter().find(|row| word & row.mask == row.value)?;
    (row.format != Format::Indexed || !has_reserved_shift(word)).then_some(row)
}

/// True if the operation of an indexed access is "special", and neither of the two shifts.
fn has_reserved_shift(word: u32) -> bool {
    word >> 8 & 7 == 7 && !matches!(word >> 3 & 31, 0b10000 | 0b11000)
}

/// An immediate of 16 bits in its half of the word; the other half is ones for `and`, else zeros.
fn expanded(word: u32) -> u32 {
    let (imm, high) = (word & 0xffff, word & 1 << 16 != 0);
    let other = if word >> 28 == 4 { 0xffff } else { 0 };
    if high {
        imm << 16 | other
    } else {
        imm | other << 16
    }
}

/// Takes `word` apart.
pub(crate) fn decode(word: u32) -> Op {
    let mut op = Op {
        kind: Kind::Illegal,
        rd: field(word, 23),
        rs1: field(word, 18),
        rs2: field(word, 11),
        imm: word,
        reads: 0,
        cond: (word >> 25 << 1 & 14 | word & 1) as u8,
        alu: 0,
        more: 0,
        accesses: 0,
    };
    let Some(row) = row(word) else {
        return op;
    };
    op.kind = row.kind;
    let (rd, rs1, rs2) = (1 << op.rd, 1 << op.rs1, 1 << op.rs2);
    let stored = if matches!(row.class, Class::Store | Class::StorePart) { rd } else { 0 };
    let literal = u32::from(op.rs1) << 16 | word & 0xffff;
    let (p, q) = match row.format {
        Format::Part => (word >> 11 & 1, word >> 10 & 1),
        _ => (word >> 17 & 1, word >> 16 & 1),
    };
    let (imm, reads) = match row.format {
        Format::Nothing => (0, 0),
        Format::Immediate => (expanded(word), rs1),
        Format::Shift => (sign_extended(word, 16), rs1),
        Format::Registers => {
            op.cond = (word << 1 & 14 | word >> 16 & 1) as u8;
            (0, rs1 | rs2)
        }
        Format::Count => (0, rs1),
        Format::Memory if p | q == 0 => (0, rs1 | stored),
        Format::Part if p | q == 0 => (0, rs1 | stored),
        Format::Memory => (sign_extended(word, 16), rs1 | stored),
        Format::Part => (sign_extended(word, 10), rs1 | stored),
        Format::Indexed => {
            // The bit of arithmetic shifts means nothing for other operations.
            let operation = (word >> 8 & 7) as u8;
            op.alu = if operation == 7 { 7 | (word >> 3 & 8) as u8 } else { operation };
            // P and Q, because one row has all four.
            let added = if p | q == 0 { 0 } else { rs2 };
            (p << 1 | q, rs1 | added | stored)
        }
        Format::Absolute => (literal & !3, stored),
        Format::Literal => (literal, 0),
        Format::Branch => (word & 0x01ff_fffc, 0),
        Format::Relative => (sign_extended(word & 0xfffc, 16), 0),
        Format::Set => {
            op.rd = op.rs1;
            (0, 0)
        }
    };
    if matches!(row.format, Format::Memory | Format::Part) {
        op.cond = p as u8;
    }
    op.imm = imm;
    op.reads = reads & !7;
    op.more = u8::from(matches!(row.class, Class::LoadPart | Class::StorePart));
    op.accesses = u8::from(!matches!(row.class, Class::Simple | Class::Literal));
    op
}

/// Table entry of an instruction word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Description {
    /// Name of the row: the mnemonic, and a letter for another form of it.
    pub name: &'static str,
    /// Operand format, as the name of it.
    pub format: &'static str,
    /// Timing class, as the name of it.
    pub class: &'static str,
    /// Source of the definition.
    pub source: Source,
    /// Bits that tell it from others.
    pub mask: u32,
    /// Value of these bits.
    pub value: u32,
}

impl Description {
    fn new(row: &Row) -> Description {
        let format = match row.format {
            Format::Nothing => "-",
            Format::Immediate | Format::Shift => "RI",
            Format::Registers => "RR",
            Format::Count => "special",
            Format::Memory => "RM",
            Format::Part => "SPLS",
            Format::Indexed => "RRM",
            Format::Absolute => "SLS",
            Format::Literal => "SLI",
            Format::Branch => "BR",
            Format::Relative => "BRR",
            Format::Set => "SCC",
        };
        let class = match row.class {
            Class::Simple => "1",
            Class::Load | Class::Literal => "1, result a cycle late",
            Class::Store => "1",
            Class::LoadPart => "2, result a cycle late",
            Class::StorePart => "2",
        };
        let Row { name, source, mask, value, .. } = *row;
        Description { name, format, class, source, mask, value }
    }
}

/// The row that `word` belongs to; none if it is no instruction.
pub fn describe(word: u32) -> Option<Description> {
    row(word).map(Description::new)
}

/// All rows of the table, in its order.
pub fn rows() -> impl Iterator<Item = Description> {
    ROWS.iter().map(Description::new)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decoded_instruction_is_small() {
        assert_eq!(std::mem::size_of::<Op>(), 16);
    }

    #[test]
    fn every_row_can_be_reached() {
        for wanted in ROWS {
            assert_eq!(wanted.value & !wanted.mask, 0, "{}", wanted.name);
            // Bits that are free, set: a predicated form is not hidden behind the plain one.
            let word = wanted.value | !wanted.mask & 0x0001_0007;
            let found = [wanted.value, word].map(|word| row(word).map(|row| row.kind));
            assert!(found.contains(&Some(wanted.kind)), "{} is hidden: {found:?}", wanted.name);
        }
    }
}
