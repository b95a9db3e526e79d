//! Decoder from an instruction word to an [`Op`]: fields are taken apart once, so that execution need not.

use crate::instructions::{Kind, ROWS};
use crate::registers::selector;
use crate::timing::{reg, steps, Class, Latencies, Pipe};

/// One instruction of the table (see `instructions`).
pub(crate) struct Row {
    /// Mnemonic.
    pub name: &'static str,
    /// Bits of the word that tell this instruction from all others, and what they hold.
    pub mask: u32,
    pub value: u32,
    pub format: Format,
    pub pipe: Pipe,
    pub class: Class,
    pub kind: Kind,
}

impl Row {
    /// It has no form but that which sets CR0, as the dot says.
    fn is_record(&self) -> bool {
        self.name.ends_with('.')
    }
}

/// A decoded instruction. The meaning of `rt`, `ra`, `rb` and `imm` depends on the [`Format`]; `rb` of a
/// branch with a condition selects its bit (see `registers::selector`).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Op {
    pub kind: Kind,
    pub rt: u8,
    pub ra: u8,
    pub rb: u8,
    pub imm: u32,
    /// `RC`, `OE`, `LK`, `AA`, `GUESS`.
    pub flags: u8,
    /// Registers that it reads and writes, for the timing (see `timing::reg`).
    pub source: [u8; 3],
    pub result: [u8; 2],
    pub pipe: Pipe,
    /// Distance from a slot to the next one in which it has issued, by the pipes that are taken (see
    /// `timing`); 0 if that needs care: it issues alone, or reads three registers and the divider.
    pub steps: u32,
    /// Distances from its slot to those in which its results are ready.
    pub latency: [u16; 2],
}

/// Record form: sets CR0.
pub(crate) const RC: u8 = 1;
/// Sets the overflow bits.
pub(crate) const OE: u8 = 2;
/// Sets the link register.
pub(crate) const LK: u8 = 4;
/// The target is absolute.
pub(crate) const AA: u8 = 8;
/// The static prediction of a branch with a condition is that it is taken.
pub(crate) const GUESS: u8 = 16;

/// Meaning of the fields of an instruction: registers read, registers written, immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    /// RT, RA|0, signed immediate.
    AddImmediate,
    /// The same, the immediate shifted left by 16.
    AddShifted,
    /// RT, RA, signed immediate.
    Immediate,
    /// RA, RS, unsigned immediate.
    Logical,
    /// The same, shifted left by 16.
    LogicalShifted,
    /// BF, RA, signed immediate.
    CompareSigned,
    /// BF, RA, unsigned immediate.
    CompareUnsigned,
    /// BF, RA, RB.
    Compare,
    /// RT, RA, RB, with OE and Rc.
    Arithmetic,
    /// RT, RA, RB, and RT is also read, with OE and Rc.
    Accumulate,
    /// RT, RA, with OE and Rc.
    Unary,
    /// RA, RS, RB, with Rc.
    LogicalRegister,
    /// RA, RS, with Rc.
    LogicalUnary,
    /// RA, RS, SH, with Rc.
    ShiftImmediate,
    /// RA, RS, SH, mask, with Rc.
    Rotate,
    /// RA, RS, SH, mask; RA is also read, with Rc.
    RotateInsert,
    /// RA, RS, RB, mask, with Rc.
    RotateRegister,
    /// RT, displacement(RA|0).
    Load,
    /// RT, displacement(RA), RA updated.
    LoadUpdate,
    /// RT, RA|0, RB.
    LoadIndexed,
    /// RT, RA, RB, RA updated.
    LoadUpdateIndexed,
    /// RS, displacement(RA|0).
    Store,
    /// RS, displacement(RA), RA updated.
    StoreUpdate,
    /// RS, RA|0, RB.
    StoreIndexed,
    /// RS, RA, RB, RA updated.
    StoreUpdateIndexed,
    /// RT or RS, RA|0, number of bytes.
    StringImmediate,
    /// RA|0, RB: cache operations. RT holds the field that they ignore.
    Address,
    /// TO, RA, signed immediate.
    TrapImmediate,
    /// TO, RA, RB.
    Trap,
    /// 24-bit displacement, AA, LK.
    Branch,
    /// BO, BI, 14-bit displacement, AA, LK.
    BranchIf,
    /// BO, BI, LK: to LR.
    BranchLink,
    /// BO, BI, LK: to CTR.
    BranchCount,
    /// BT, BA, BB.
    CrLogical,
    /// BF, BFA.
    CrMove,
    /// BF from XER.
    CrFromXer,
    /// RT from CR.
    FromCr,
    /// FXM, RS.
    ToCr,
    /// RT, SPR number.
    FromSpr,
    /// SPR number, RS.
    ToSpr,
    /// RT.
    Target,
    /// RS.
    Source,
    /// RT, RA, RB, Rc and no OE: tlbsx.
    Search,
    /// RT or RS, RA, WS: tlbre, tlbwe.
    TlbWord,
    /// RA, RS, RB, Rc: dlmzb.
    ZeroByte,
    /// RT, RA|0, RB, bit of CR: isel.
    Select,
    /// E: wrteei.
    EnableImmediate,
    /// No operands.
    Bare,
}

/// Index into `ROWS` by primary opcode, or by extended opcode for the primary opcodes 4, 19 and 31;
/// 255 if none.
struct Lookup {
    primary: [u8; 64],
    extended: [[u8; 1024]; 3],
}

const NONE: u8 = 255;

static LOOKUP: Lookup = {
    let mut lookup = Lookup { primary: [NONE; 64], extended: [[NONE; 1024]; 3] };
    let mut index = 0;
    while index < ROWS.len() {
        let row = &ROWS[index];
        let primary = row.value >> 26;
        match group(primary) {
            None => lookup.primary[primary as usize] = index as u8,
            Some(group) => {
                let mut extended = 0;
                while extended < 1024 {
                    if (extended << 1 ^ row.value) & row.mask & 0x7fe == 0 {
                        assert!(lookup.extended[group][extended as usize] == NONE);
                        lookup.extended[group][extended as usize] = index as u8;
                    }
                    extended += 1;
                }
            }
        }
        index += 1;
    }
    lookup
};

const fn group(primary: u32) -> Option<usize> {
    match primary {
        4 => Some(0),
        19 => Some(1),
        31 => Some(2),
        _ => None,
    }
}

/// The row of an instruction word; `None` if the 440 has no such instruction.
pub(crate) fn row(word: u32) -> Option<&'static Row> {
    let primary = word >> 26;
    let index = match group(primary) {
        None => LOOKUP.primary[primary as usize],
        Some(group) => LOOKUP.extended[group][(word >> 1 & 0x3ff) as usize],
    };
    ROWS.get(usize::from(index)).filter(|row| word & row.mask == row.value)
}

/// The mnemonic of an instruction word, without operands and suffixes; `None` if the 440 has no
/// such instruction.
pub fn mnemonic(word: u32) -> Option<&'static str> {
    row(word).map(|row| row.name)
}

impl Op {
    /// Base from which operations are built; executed as it is, it faults.
    const ILLEGAL: Op = Op {
        kind: Kind::Illegal,
        rt: 0,
        ra: 0,
        rb: 0,
        imm: 0,
        flags: 0,
        source: [reg::ZERO; 3],
        result: [reg::SINK; 2],
        pipe: Pipe::IJ,
        steps: steps(Pipe::IJ),
        latency: [0; 2],
    };
}

/// Takes an instruction word apart. An illegal one becomes an `Op` that faults when it is executed.
pub(crate) fn decode(word: u32, latencies: &Latencies) -> Op {
    let Some(row) = row(word) else {
        return Op { imm: word, ..Op::ILLEGAL };
    };
    let rt = (word >> 21 & 31) as u8;
    let ra = (word >> 16 & 31) as u8;
    let rb = (word >> 11 & 31) as u8;
    let pipe = row.pipe;
    let (steps, latency) = (steps(pipe), latencies.of(row.class));
    let op = Op { kind: row.kind, rt, ra, rb, pipe, steps, latency, ..Op::ILLEGAL };
    let mut op = operands(op, row.format, word);
    if op.flags & RC != 0 || row.is_record() {
        op.result[1] = reg::CR;
    }
    await_divider(op)
}

/// Makes an instruction that needs the I pipe also need the divider: as its third source, or, for the few
/// that have three, with the extra care of those that issue alone.
fn await_divider(mut op: Op) -> Op {
    match (op.pipe, &mut op.source[2]) {
        (Pipe::I, source @ &mut reg::ZERO) => *source = reg::DIVIDER,
        (Pipe::I, _) => op.steps = 0,
        _ => {}
    }
    op
}

fn operands(mut op: Op, format: Format, word: u32) -> Op {
    let signed = word as i16 as u32;
    let unsigned = word & 0xffff;
    // "RA = 0 means the value 0": the register that always holds it.
    let base = if op.ra == 0 { reg::ZERO } else { op.ra };
    let record = if word & 1 != 0 { RC } else { 0 };
    let overflow = if word & 0x400 != 0 { OE } else { 0 };
    let (rt, ra, rb) = (op.rt, op.ra, op.rb);
    use Format::*;
    match format {
        AddImmediate => op.set(base, signed, 0, &[base], &[rt]),
        AddShifted => op.set(base, unsigned << 16, 0, &[base], &[rt]),
        Immediate => op.set(ra, signed, 0, &[ra], &[rt]),
        Logical => op.set(ra, unsigned, 0, &[rt], &[ra]),
        LogicalShifted => op.set(ra, unsigned << 16, 0, &[rt], &[ra]),
        CompareSigned => op.set(ra, signed, 0, &[ra], &[reg::CR + (rt >> 2)]),
        CompareUnsigned => op.set(ra, unsigned, 0, &[ra], &[reg::CR + (rt >> 2)]),
        Compare => op.set(ra, 0, 0, &[ra, rb], &[reg::CR + (rt >> 2)]),
        Arithmetic => op.set(ra, 0, record | overflow, &[ra, rb], &[rt]),
        Accumulate => op.set(ra, 0, record | overflow, &[rt, ra, rb], &[rt]),
        Unary => op.set(ra, 0, record | overflow, &[ra], &[rt]),
        LogicalRegister => op.set(ra, 0, record, &[rt, rb], &[ra]),
        LogicalUnary | ShiftImmediate => op.set(ra, 0, record, &[rt], &[ra]),
        Rotate => op.set(ra, mask(word), record, &[rt], &[ra]),
        RotateInsert => op.set(ra, mask(word), record, &[rt, ra], &[ra]),
        RotateRegister => op.set(ra, mask(word), record, &[rt, rb], &[ra]),
        Load => op.set(base, signed, 0, &[base], &[rt]),
        LoadUpdate => op.set(ra, signed, 0, &[ra], &[rt, ra]),
        LoadIndexed => op.set(base, 0, 0, &[base, rb], &[rt]),
        LoadUpdateIndexed => op.set(ra, 0, 0, &[ra, rb], &[rt, ra]),
        Store => op.set(base, signed, 0, &[rt, base], &[]),
        StoreUpdate => op.set(ra, signed, 0, &[rt, ra], &[reg::SINK, ra]),
        StoreIndexed => op.set(base, 0, 0, &[rt, base, rb], &[]),
        StoreUpdateIndexed => op.set(ra, 0, 0, &[rt, ra, rb], &[reg::SINK, ra]),
        StringImmediate => op.set(base, if rb == 0 { 32 } else { rb.into() }, 0, &[rt, base], &[]),
        Address => op.set(base, 0, 0, &[base, rb], &[]),
        TrapImmediate => op.set(ra, signed, 0, &[ra], &[]),
        Trap => op.set(ra, 0, 0, &[ra, rb], &[]),
        Branch | BranchIf | BranchLink | BranchCount => branch(&mut op, format, word),
        CrLogical => {
            let result = reg::CR + (rt >> 2);
            op.set(ra, 0, 0, &[reg::CR + (ra >> 2), reg::CR + (rb >> 2), result], &[result]);
        }
        CrMove => op.set(ra, 0, 0, &[reg::CR + (ra >> 2)], &[reg::CR + (rt >> 2)]),
        CrFromXer => op.set(ra, 0, 0, &[], &[reg::CR + (rt >> 2)]),
        FromCr | Target => op.set(ra, 0, 0, &[], &[rt]),
        ToCr => {
            let fields = word >> 12 & 0xff;
            // A single field is tracked by itself; for several the last one written stands for all.
            let last = 7 - fields.trailing_zeros().min(7) as u8;
            op.set(ra, fields, 0, &[rt], &[reg::CR + last]);
        }
        FromSpr => {
            let (number, register) = special(word);
            op.set(ra, number, 0, &[register], &[rt]);
        }
        ToSpr => {
            let (number, register) = special(word);
            let result = if register == reg::ZERO { reg::SINK } else { register };
            op.set(ra, number, 0, &[rt], &[result]);
        }
        Source => op.set(ra, 0, 0, &[rt], &[]),
        Search => op.set(base, 0, record, &[base, rb], &[rt]),
        TlbWord => op.set(ra, rb.into(), 0, &[ra, rt], &[]),
        ZeroByte => op.set(ra, 0, record, &[rt, rb], &[ra]),
        Select => {
            let bit = word >> 6 & 31;
            op.set(base, bit, 0, &[base, rb, reg::CR + (bit >> 2) as u8], &[rt]);
        }
        EnableImmediate => op.set(ra, word & 0x8000, 0, &[], &[]),
        Bare => op.set(ra, 0, 0, &[], &[]),
    }
    op
}

impl Op {
    fn set(&mut self, ra: u8, imm: u32, flags: u8, source: &[u8], result: &[u8]) {
        self.ra = ra;
        self.imm = imm;
        self.flags = flags;
        self.source[..source.len()].copy_from_slice(source);
        self.result[..result.len()].copy_from_slice(result);
    }
}

fn branch(op: &mut Op, format: Format, word: u32) {
    let flags = if word & 1 != 0 { LK } else { 0 } | if word & 2 != 0 { AA } else { 0 };
    let imm = match format {
        Format::Branch => ((word << 6) as i32 >> 6) as u32 & !3,
        Format::BranchIf => word as i16 as u32 & !3,
        _ => 0,
    };
    let link = if flags & LK != 0 { reg::LR } else { reg::SINK };
    if format == Format::Branch {
        return op.set(op.ra, imm, flags, &[], &[link]);
    }
    let (bo, bi) = (op.rt, op.ra);
    let cr = if bo & 16 == 0 { reg::CR + (bi >> 2) } else { reg::ZERO };
    let (counter, counted) =
        if bo & 4 == 0 { (reg::CTR, reg::CTR) } else { (reg::ZERO, reg::SINK) };
    let target = match format {
        Format::BranchLink => reg::LR,
        Format::BranchCount => reg::CTR,
        _ => reg::ZERO,
    };
    // Backwards is taken, forwards and to a register is not; the last bit of BO turns it round.
    let guess = if ((imm as i32) < 0) != (bo & 1 != 0) { GUESS } else { 0 };
    op.rb = selector(bi);
    op.set(bi, imm, flags | guess, &[cr, counter, target], &[link, counted]);
}

/// The number of a special purpose register (its halves are swapped in the word) and how it is
/// tracked.
fn special(word: u32) -> (u32, u8) {
    let number = word >> 16 & 31 | word >> 6 & 0x3e0;
    let register = match number {
        8 => reg::LR,
        9 => reg::CTR,
        _ => reg::ZERO,
    };
    (number, register)
}

/// The mask of a rotate instruction: ones from bit MB through ME (0 is the leftmost), round the end
/// if MB > ME.
fn mask(word: u32) -> u32 {
    let begin = word >> 6 & 31;
    let end = word >> 1 & 31;
    let from_begin = u32::MAX >> begin;
    let to_end = u32::MAX << (31 - end);
    if begin <= end {
        from_begin & to_end
    } else {
        from_begin | to_end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_do_not_overlap() {
        for (i, a) in ROWS.iter().enumerate() {
            assert_eq!(a.value & !a.mask, 0, "{}", a.name);
            for b in &ROWS[i + 1..] {
                let both = a.mask & b.mask;
                assert_ne!(a.value & both, b.value & both, "{} and {}", a.name, b.name);
            }
        }
    }

    #[test]
    fn an_op_is_small() {
        assert!(std::mem::size_of::<Op>() <= 24);
    }

    #[test]
    fn masks_wrap() {
        let word = |begin: u32, end: u32| begin << 6 | end << 1;
        assert_eq!(mask(word(0, 31)), u32::MAX);
        assert_eq!(mask(word(24, 31)), 0xff);
        assert_eq!(mask(word(28, 3)), 0xf000_000f);
    }
}
