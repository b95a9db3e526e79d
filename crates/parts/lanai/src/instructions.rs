//! The instruction table: one row an instruction, with its encoding, format, timing class, source and
//! semantics.
//!
//! Columns: kind, mnemonic in LLVM's syntax (without condition), mask and value of the bits that tell it
//! from all others, operand format, timing class, who has it, semantics. The first row that fits a word is
//! its. The last column says how the semantic function is called: the result of `value` goes to `rd`, as
//! does that of `maybe` if there is one; `flow` decides what comes next; `memory` may also use the board.
//! `p` rows are those of the same mnemonic under a condition, which the vendor's table does not have.

use crate::board::Board;
use crate::core::{Core, Flow};
use crate::decode::{Class, Format, Op, Row, Source};
use crate::semantics::integer::{ADD, ADDC, AND, OR, SHIFT, SHIFT_ARITHMETIC, SUB, SUBB, XOR};
use crate::semantics::memory::{BYTE, HALF, WORD};
use crate::semantics::{flow, integer as int, memory as mem};

/// Bits of a word that tell an instruction: all words are one that have `value` under `mask`.
struct Encoding {
    mask: u32,
    value: u32,
}

/// Mask and value.
const fn bits(mask: u32, value: u32) -> Encoding {
    Encoding { mask, value }
}
/// Register and immediate: operation, F.
const fn ri(operation: u32, f: u32) -> Encoding {
    Encoding { mask: 0xf002_0000, value: operation << 28 | f << 17 }
}
/// A shift by an immediate: F, arithmetic.
const fn shift(f: u32, arithmetic: u32) -> Encoding {
    Encoding { mask: 0xf003_0000, value: 7 << 28 | f << 17 | arithmetic << 16 }
}
/// Two registers under a condition: operation, F.
const fn rr_p(operation: u32, f: u32) -> Encoding {
    Encoding { mask: 0xf002_07f8, value: 0xc000_0000 | f << 17 | operation << 8 }
}
/// Two registers: the condition is "true".
const fn rr(of: Encoding) -> Encoding {
    Encoding { mask: of.mask | 0x0001_0007, ..of }
}
/// A shift by a register under a condition: F, arithmetic.
const fn rr_shift_p(f: u32, arithmetic: u32) -> Encoding {
    Encoding { mask: 0xf002_07f8, value: 0xc000_0780 | f << 17 | arithmetic << 6 }
}
/// Count of bits: which.
const fn special(operation: u32) -> Encoding {
    Encoding { mask: 0xf003_ffff, value: 0xd000_0000 | operation }
}
/// Memory at a register and an immediate: store, Q.
const fn rm(store: u32, q: u32) -> Encoding {
    Encoding { mask: 0xf001_0000, value: 0x8000_0000 | store << 28 | q << 16 }
}
/// Memory at an operation on two registers: store, size and extension (`YLE`).
const fn rrm(store: u32, yle: u32) -> Encoding {
    Encoding { mask: 0xf000_0007, value: 0xa000_0000 | store << 28 | yle }
}
/// Bytes and halfwords at a register and an immediate: Y, S, E, Q.
const fn spls(y: u32, s: u32, e: u32, q: u32) -> Encoding {
    Encoding { mask: 0xf003_f400, value: 0xf003_0000 | y << 14 | s << 13 | e << 12 | q << 10 }
}

macro_rules! call {
    (value, $core:ident, $board:ident, $op:ident, $f:expr) => {{
        let value = $f($core, $op);
        $core.put($op.rd, value)
    }};
    (maybe, $core:ident, $board:ident, $op:ident, $f:expr) => {
        match $f($core, $op) {
            Some(value) => $core.put($op.rd, value),
            None => Flow::Next,
        }
    };
    (flow, $core:ident, $board:ident, $op:ident, $f:expr) => {
        $f($core, $op)
    };
    (memory, $core:ident, $board:ident, $op:ident, $f:expr) => {
        $f($core, $board, $op)
    };
}

macro_rules! instructions {
    ($(
        $kind:ident $name:literal $encoding:expr, $format:ident $class:ident $source:ident
        $how:ident $f:expr;
    )*) => {
        /// Instruction of an [`Op`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind {
            /// There is no such instruction.
            Illegal,
            $(#[doc = $name] $kind,)*
        }

        /// All instructions.
        pub(crate) static ROWS: &[Row] = &[$(Row {
            name: $name,
            mask: $encoding.mask,
            value: $encoding.value,
            format: Format::$format,
            class: Class::$class,
            source: Source::$source,
            kind: Kind::$kind,
        },)*];

        /// Does what `op` says. Inlined into the core's loop: one jump table, all semantics in place.
        #[inline(always)]
        pub(crate) fn execute<B: Board>(core: &mut Core, board: &mut B, op: &Op) -> Flow {
            match op.kind {
                Kind::Illegal => core.illegal(op),
                $(Kind::$kind => call!($how, core, board, op, $f),)*
            }
        }
    };
}

instructions! {
    // Nothing.
    Nop       "nop"    bits(u32::MAX, 1),          Nothing Simple Both flow flow::nothing;
    Log0      "log_0"  bits(u32::MAX, 2),          Nothing Simple Llvm flow flow::nothing;
    Log1      "log_1"  bits(u32::MAX, 3),          Nothing Simple Llvm flow flow::nothing;
    Log2      "log_2"  bits(u32::MAX, 4),          Nothing Simple Llvm flow flow::nothing;
    Log3      "log_3"  bits(u32::MAX, 5),          Nothing Simple Llvm flow flow::nothing;
    Log4      "log_4"  bits(u32::MAX, 6),          Nothing Simple Llvm flow flow::nothing;
    // Register and immediate.
    AddI      "add"    ri(ADD, 0),             Immediate Simple Both value int::immediate::<ADD, false>;
    AddcI     "addc"   ri(ADDC, 0),            Immediate Simple Both value int::immediate::<ADDC, false>;
    SubI      "sub"    ri(SUB, 0),             Immediate Simple Both value int::immediate::<SUB, false>;
    SubbI     "subb"   ri(SUBB, 0),            Immediate Simple Both value int::immediate::<SUBB, false>;
    AndI      "and"    ri(AND, 0),             Immediate Simple Both value int::immediate::<AND, false>;
    OrI       "or"     ri(OR, 0),              Immediate Simple Both value int::immediate::<OR, false>;
    XorI      "xor"    ri(XOR, 0),             Immediate Simple Both value int::immediate::<XOR, false>;
    ShI       "sh"     shift(0, 0),            Shift     Simple Both value int::immediate::<SHIFT, false>;
    ShaI      "sha"    shift(0, 1),            Shift     Simple Both value int::immediate::<SHIFT_ARITHMETIC, false>;
    AddIF     "add.f"  ri(ADD, 1),             Immediate Simple Both value int::immediate::<ADD, true>;
    AddcIF    "addc.f" ri(ADDC, 1),            Immediate Simple Both value int::immediate::<ADDC, true>;
    SubIF     "sub.f"  ri(SUB, 1),             Immediate Simple Both value int::immediate::<SUB, true>;
    SubbIF    "subb.f" ri(SUBB, 1),            Immediate Simple Both value int::immediate::<SUBB, true>;
    AndIF     "and.f"  ri(AND, 1),             Immediate Simple Both value int::immediate::<AND, true>;
    OrIF      "or.f"   ri(OR, 1),              Immediate Simple Both value int::immediate::<OR, true>;
    XorIF     "xor.f"  ri(XOR, 1),             Immediate Simple Both value int::immediate::<XOR, true>;
    ShIF      "sh.f"   shift(1, 0),            Shift     Simple Both value int::immediate::<SHIFT, true>;
    ShaIF     "sha.f"  shift(1, 1),            Shift     Simple Both value int::immediate::<SHIFT_ARITHMETIC, true>;
    // Two registers.
    Add       "add"    rr(rr_p(ADD, 0)),       Registers Simple Both value int::registers::<ADD, false>;
    Addc      "addc"   rr(rr_p(ADDC, 0)),      Registers Simple Both value int::registers::<ADDC, false>;
    Sub       "sub"    rr(rr_p(SUB, 0)),       Registers Simple Both value int::registers::<SUB, false>;
    Subb      "subb"   rr(rr_p(SUBB, 0)),      Registers Simple Both value int::registers::<SUBB, false>;
    And       "and"    rr(rr_p(AND, 0)),       Registers Simple Both value int::registers::<AND, false>;
    Or        "or"     rr(rr_p(OR, 0)),        Registers Simple Both value int::registers::<OR, false>;
    Xor       "xor"    rr(rr_p(XOR, 0)),       Registers Simple Both value int::registers::<XOR, false>;
    Sh        "sh"     rr(rr_shift_p(0, 0)),   Registers Simple Both value int::registers::<SHIFT, false>;
    Sha       "sha"    rr(rr_shift_p(0, 1)),   Registers Simple Both value int::registers::<SHIFT_ARITHMETIC, false>;
    AddF      "add.f"  rr(rr_p(ADD, 1)),       Registers Simple Both value int::registers::<ADD, true>;
    AddcF     "addc.f" rr(rr_p(ADDC, 1)),      Registers Simple Both value int::registers::<ADDC, true>;
    SubF      "sub.f"  rr(rr_p(SUB, 1)),       Registers Simple Both value int::registers::<SUB, true>;
    SubbF     "subb.f" rr(rr_p(SUBB, 1)),      Registers Simple Both value int::registers::<SUBB, true>;
    AndF      "and.f"  rr(rr_p(AND, 1)),       Registers Simple Both value int::registers::<AND, true>;
    OrF       "or.f"   rr(rr_p(OR, 1)),        Registers Simple Both value int::registers::<OR, true>;
    XorF      "xor.f"  rr(rr_p(XOR, 1)),       Registers Simple Both value int::registers::<XOR, true>;
    ShF       "sh.f"   rr(rr_shift_p(1, 0)),   Registers Simple Both value int::registers::<SHIFT, true>;
    ShaF      "sha.f"  rr(rr_shift_p(1, 1)),   Registers Simple Both value int::registers::<SHIFT_ARITHMETIC, true>;
    // The same under a condition.
    AddP      "add p"    rr_p(ADD, 0),         Registers Simple Llvm maybe int::predicated::<ADD, false>;
    AddcP     "addc p"   rr_p(ADDC, 0),        Registers Simple Llvm maybe int::predicated::<ADDC, false>;
    SubP      "sub p"    rr_p(SUB, 0),         Registers Simple Llvm maybe int::predicated::<SUB, false>;
    SubbP     "subb p"   rr_p(SUBB, 0),        Registers Simple Llvm maybe int::predicated::<SUBB, false>;
    AndP      "and p"    rr_p(AND, 0),         Registers Simple Llvm maybe int::predicated::<AND, false>;
    OrP       "or p"     rr_p(OR, 0),          Registers Simple Llvm maybe int::predicated::<OR, false>;
    XorP      "xor p"    rr_p(XOR, 0),         Registers Simple Llvm maybe int::predicated::<XOR, false>;
    ShP       "sh p"     rr_shift_p(0, 0),     Registers Simple Llvm maybe int::predicated::<SHIFT, false>;
    ShaP      "sha p"    rr_shift_p(0, 1),     Registers Simple Llvm maybe int::predicated::<SHIFT_ARITHMETIC, false>;
    AddFP     "add.f p"  rr_p(ADD, 1),         Registers Simple Llvm maybe int::predicated::<ADD, true>;
    AddcFP    "addc.f p" rr_p(ADDC, 1),        Registers Simple Llvm maybe int::predicated::<ADDC, true>;
    SubFP     "sub.f p"  rr_p(SUB, 1),         Registers Simple Llvm maybe int::predicated::<SUB, true>;
    SubbFP    "subb.f p" rr_p(SUBB, 1),        Registers Simple Llvm maybe int::predicated::<SUBB, true>;
    AndFP     "and.f p"  rr_p(AND, 1),         Registers Simple Llvm maybe int::predicated::<AND, true>;
    OrFP      "or.f p"   rr_p(OR, 1),          Registers Simple Llvm maybe int::predicated::<OR, true>;
    XorFP     "xor.f p"  rr_p(XOR, 1),         Registers Simple Llvm maybe int::predicated::<XOR, true>;
    ShFP      "sh.f p"   rr_shift_p(1, 0),     Registers Simple Llvm maybe int::predicated::<SHIFT, true>;
    ShaFP     "sha.f p"  rr_shift_p(1, 1),     Registers Simple Llvm maybe int::predicated::<SHIFT_ARITHMETIC, true>;
    Select    "sel"    bits(0xf002_07f8, 0xc000_0700), Registers Simple Llvm value int::select;
    Popc      "popc"   special(1),             Count Simple Llvm value int::population;
    Leadz     "leadz"  special(2),             Count Simple Llvm value int::leading_zeros;
    Trailz    "trailz" special(3),             Count Simple Llvm value int::trailing_zeros;
    // Memory: words at a register and an immediate.
    LdI       "ld"     rm(0, 0),               Memory Load  Both memory mem::load_at::<WORD, false>;
    LdIQ      "ld q"   rm(0, 1),               Memory Load  Both memory mem::load_moving::<WORD, false>;
    StI       "st"     rm(1, 0),               Memory Store Both memory mem::store_at::<WORD>;
    StIQ      "st q"   rm(1, 1),               Memory Store Both memory mem::store_moving::<WORD>;
    // At an operation on two registers.
    LdhR      "ld.h"   rrm(0, 0b000),          Indexed Load  Both memory mem::load_indexed::<HALF, true>;
    UldhR     "uld.h"  rrm(0, 0b001),          Indexed Load  Both memory mem::load_indexed::<HALF, false>;
    LdR       "ld"     rrm(0, 0b010),          Indexed Load  Both memory mem::load_indexed::<WORD, false>;
    UldR      "uld"    rrm(0, 0b011),          Indexed Load  Both memory mem::load_indexed::<WORD, false>;
    LdbR      "ld.b"   rrm(0, 0b100),          Indexed Load  Both memory mem::load_indexed::<BYTE, true>;
    UldbR     "uld.b"  rrm(0, 0b101),          Indexed Load  Both memory mem::load_indexed::<BYTE, false>;
    SthR      "st.h"   rrm(1, 0b000),          Indexed Store Both memory mem::store_indexed::<HALF>;
    StR       "st"     rrm(1, 0b010),          Indexed Store Both memory mem::store_indexed::<WORD>;
    StbR      "st.b"   rrm(1, 0b100),          Indexed Store Both memory mem::store_indexed::<BYTE>;
    // At an address of 21 bits; an immediate of 21 bits.
    LdA       "ld"     bits(0xf003_0000, 0xf000_0000), Absolute Load    Both memory mem::load_absolute;
    StA       "st"     bits(0xf003_0000, 0xf001_0000), Absolute Store   Both memory mem::store_absolute;
    Sli       "mov"    bits(0xf003_0000, 0xf002_0000), Literal  Literal Both memory mem::literal;
    // Bytes and halfwords at a register and an immediate.
    LdhI      "ld.h"    spls(0, 0, 0, 0),      Part LoadPart  Both memory mem::load_at::<HALF, true>;
    UldhI     "uld.h"   spls(0, 0, 1, 0),      Part LoadPart  Both memory mem::load_at::<HALF, false>;
    LdbI      "ld.b"    spls(1, 0, 0, 0),      Part LoadPart  Both memory mem::load_at::<BYTE, true>;
    UldbI     "uld.b"   spls(1, 0, 1, 0),      Part LoadPart  Both memory mem::load_at::<BYTE, false>;
    SthI      "st.h"    spls(0, 1, 0, 0),      Part StorePart Both memory mem::store_at::<HALF>;
    StbI      "st.b"    spls(1, 1, 0, 0),      Part StorePart Both memory mem::store_at::<BYTE>;
    LdhIQ     "ld.h q"  spls(0, 0, 0, 1),      Part LoadPart  Both memory mem::load_moving::<HALF, true>;
    UldhIQ    "uld.h q" spls(0, 0, 1, 1),      Part LoadPart  Both memory mem::load_moving::<HALF, false>;
    LdbIQ     "ld.b q"  spls(1, 0, 0, 1),      Part LoadPart  Both memory mem::load_moving::<BYTE, true>;
    UldbIQ    "uld.b q" spls(1, 0, 1, 1),      Part LoadPart  Both memory mem::load_moving::<BYTE, false>;
    SthIQ     "st.h q"  spls(0, 1, 0, 1),      Part StorePart Both memory mem::store_moving::<HALF>;
    StbIQ     "st.b q"  spls(1, 1, 0, 1),      Part StorePart Both memory mem::store_moving::<BYTE>;
    // Branches.
    Bt        "bt"     bits(0xfe00_0003, 0xe000_0000), Branch   Simple Both flow flow::branch;
    Bcc       "b"      bits(0xf000_0002, 0xe000_0000), Branch   Simple Both flow flow::branch_if;
    Brr       "b.r"    bits(0xf1ff_0002, 0xe100_0002), Relative Simple Llvm flow flow::branch_relative;
    Scc       "s"      bits(0xf183_fffe, 0xe000_0002), Set      Simple Both value int::set;
    Punt      "punt"   bits(0xf003_ff47, 0xf003_ff47), Nothing  Simple Vendor flow flow::punt;
}
