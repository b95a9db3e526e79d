//! The instruction table: one row an instruction, with its encoding, operands, timing and
//! semantics.
//!
//! Columns: kind, mnemonic, encoding, operand format, pipe, latency class, semantics. The last
//! column says how the semantic function is called: `alu` sees the registers only and always
//! completes; `core` sees the core and decides what comes next; `bus` may also use the bus.
//! `sup_core` and `sup_bus` are the same for privileged instructions, which raise a program
//! exception in user mode. Reserved bits of an instruction are not checked, except Rc where an
//! instruction has no record form.

use crate::core::{Core, Flow};
use crate::decode::{Format, Op, Row};
use crate::registers::Registers;
use crate::semantics::memory::{INDEXED as X, REVERSE as R, SIGNED as A, UPDATE as W};
use crate::semantics::multiply::{CROSS, HIGH, LOW, NEGATE as N, SATURATE as S, UNSIGNED as U};
use crate::semantics::{
    caches as cache, flow, integer as int, memory as mem, multiply as mul, system as sys,
};
use crate::timing::{Class, Pipe};
use bus::Bus;

/// Bits of a word that tell an instruction: all words are one that have `value` under `mask`.
struct Encoding {
    mask: u32,
    value: u32,
}

/// Primary opcode only.
const fn d(primary: u32) -> Encoding {
    Encoding { mask: 0xfc00_0000, value: primary << 26 }
}
/// Primary and 10-bit extended opcode, no record form.
const fn x(primary: u32, extended: u32) -> Encoding {
    Encoding { mask: 0xfc00_07ff, value: primary << 26 | extended << 1 }
}
/// The same, with a record form.
const fn x_rc(primary: u32, extended: u32) -> Encoding {
    Encoding { mask: 0xfc00_07fe, value: primary << 26 | extended << 1 }
}
/// The same, only as record form.
const fn x_dot(primary: u32, extended: u32) -> Encoding {
    Encoding { mask: 0xfc00_07ff, value: primary << 26 | extended << 1 | 1 }
}
/// 9-bit extended opcode, with OE and Rc.
const fn xo(primary: u32, extended: u32) -> Encoding {
    Encoding { mask: 0xfc00_03fe, value: primary << 26 | extended << 1 }
}
/// Primary and 5-bit extended opcode, no record form.
const fn a(primary: u32, extended: u32) -> Encoding {
    Encoding { mask: 0xfc00_003f, value: primary << 26 | extended << 1 }
}
/// The L bit of compares, which the 440 has as 0, is part of the encoding.
const fn l0(of: Encoding) -> Encoding {
    Encoding { mask: of.mask | 0x0020_0000, ..of }
}

macro_rules! call {
    (alu, $core:ident, $bus:ident, $op:ident, $f:expr) => {{
        $f(&mut $core.registers, $op);
        Flow::Next
    }};
    (core, $core:ident, $bus:ident, $op:ident, $f:expr) => {
        $f($core, $op)
    };
    (bus, $core:ident, $bus:ident, $op:ident, $f:expr) => {
        $f($core, $bus, $op)
    };
    (sup_core, $core:ident, $bus:ident, $op:ident, $f:expr) => {
        match $core.privileged() {
            Ok(()) => $f($core, $op),
            Err(flow) => flow,
        }
    };
    (sup_bus, $core:ident, $bus:ident, $op:ident, $f:expr) => {
        match $core.privileged() {
            Ok(()) => $f($core, $bus, $op),
            Err(flow) => flow,
        }
    };
}

macro_rules! plain {
    (alu, $registers:ident, $op:ident, $f:expr) => {{
        $f($registers, $op);
        true
    }};
    ($how:ident, $registers:ident, $op:ident, $f:expr) => {
        false
    };
}

macro_rules! is_plain {
    (alu) => {
        true
    };
    ($how:ident) => {
        false
    };
}

macro_rules! instructions {
    ($(
        $kind:ident $name:literal $encoding:expr, $format:ident $pipe:ident $class:ident
        $how:ident $f:expr;
    )*) => {
        /// Instruction of an [`Op`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind {
            /// The 440 has no such instruction.
            Illegal,
            $(#[doc = $name] $kind,)*
        }

        /// All instructions.
        pub(crate) static ROWS: &[Row] = &[$(Row {
            name: $name,
            mask: $encoding.mask,
            value: $encoding.value,
            format: Format::$format,
            pipe: Pipe::$pipe,
            class: Class::$class,
            kind: Kind::$kind,
        },)*];

        /// Does what `op` says. Inlined into the core's loop: one jump table, all simple semantics
        /// in place.
        #[inline(always)]
        pub(crate) fn execute<B: Bus>(core: &mut Core, bus: &mut B, op: &Op) -> Flow {
            match op.kind {
                Kind::Illegal => core.illegal(op),
                $(Kind::$kind => call!($how, core, bus, op, $f),)*
            }
        }

        /// Does what `op` says if that is nothing but to registers; else nothing, and returns false.
        pub(crate) fn execute_plain(registers: &mut Registers, op: &Op) -> bool {
            match op.kind {
                Kind::Illegal => false,
                $(Kind::$kind => plain!($how, registers, op, $f),)*
            }
        }

        /// True if that is nothing but to registers.
        pub(crate) fn is_plain(kind: Kind) -> bool {
            match kind {
                Kind::Illegal => false,
                $(Kind::$kind => is_plain!($how),)*
            }
        }
    };
}

instructions! {
    // Integer arithmetic.
    Addi     "addi"   d(14),        AddImmediate IJ Simple alu  int::add_immediate;
    Addis    "addis"  d(15),        AddShifted   IJ Simple alu  int::add_immediate;
    Addic    "addic"  d(12),        Immediate    I  Simple alu  int::add_carrying_immediate;
    AddicDot "addic." d(13),        Immediate    I  Simple alu  int::add_carrying_immediate_record;
    Subfic   "subfic" d(8),         Immediate    I  Simple alu  int::subtract_from_immediate;
    Mulli    "mulli"  d(7),         Immediate    I  Mul32  alu  mul::low_immediate;
    Add      "add"    xo(31, 266),  Arithmetic   IJ Simple alu  int::add;
    Addc     "addc"   xo(31, 10),   Arithmetic   I  Simple alu  int::add_carrying;
    Adde     "adde"   xo(31, 138),  Arithmetic   I  Simple alu  int::add_extended;
    Addme    "addme"  xo(31, 234),  Unary        I  Simple alu  int::add_minus_one;
    Addze    "addze"  xo(31, 202),  Unary        I  Simple alu  int::add_zero;
    Subf     "subf"   xo(31, 40),   Arithmetic   IJ Simple alu  int::subtract_from;
    Subfc    "subfc"  xo(31, 8),    Arithmetic   I  Simple alu  int::subtract_from_carrying;
    Subfe    "subfe"  xo(31, 136),  Arithmetic   I  Simple alu  int::subtract_from_extended;
    Subfme   "subfme" xo(31, 232),  Unary        I  Simple alu  int::subtract_from_minus_one;
    Subfze   "subfze" xo(31, 200),  Unary        I  Simple alu  int::subtract_from_zero;
    Neg      "neg"    xo(31, 104),  Unary        IJ Simple alu  int::negate;
    Mullw    "mullw"  xo(31, 235),  Arithmetic   I  Mul32  alu  mul::low;
    Mulhw    "mulhw"  x_rc(31, 75), Arithmetic   I  Mul32  alu  mul::high;
    Mulhwu   "mulhwu" x_rc(31, 11), Arithmetic   I  Mul32  alu  mul::high_unsigned;
    Divw     "divw"   xo(31, 491),  Arithmetic   I  Divide core mul::divide;
    Divwu    "divwu"  xo(31, 459),  Arithmetic   I  Divide core mul::divide_unsigned;

    // 16-bit multiplication and multiply-accumulate.
    Mulchw   "mulchw"   x_rc(4, 168), Arithmetic I Mul16 alu mul::halves::<CROSS>;
    Mulchwu  "mulchwu"  x_rc(4, 136), Arithmetic I Mul16 alu mul::halves::<{CROSS|U}>;
    Mulhhw   "mulhhw"   x_rc(4, 40),  Arithmetic I Mul16 alu mul::halves::<HIGH>;
    Mulhhwu  "mulhhwu"  x_rc(4, 8),   Arithmetic I Mul16 alu mul::halves::<{HIGH|U}>;
    Mullhw   "mullhw"   x_rc(4, 424), Arithmetic I Mul16 alu mul::halves::<LOW>;
    Mullhwu  "mullhwu"  x_rc(4, 392), Arithmetic I Mul16 alu mul::halves::<{LOW|U}>;
    Macchw   "macchw"   xo(4, 172),   Accumulate I Mul16 alu mul::accumulate::<CROSS>;
    Macchws  "macchws"  xo(4, 236),   Accumulate I Mul16 alu mul::accumulate::<{CROSS|S}>;
    Macchwsu "macchwsu" xo(4, 204),   Accumulate I Mul16 alu mul::accumulate::<{CROSS|S|U}>;
    Macchwu  "macchwu"  xo(4, 140),   Accumulate I Mul16 alu mul::accumulate::<{CROSS|U}>;
    Machhw   "machhw"   xo(4, 44),    Accumulate I Mul16 alu mul::accumulate::<HIGH>;
    Machhws  "machhws"  xo(4, 108),   Accumulate I Mul16 alu mul::accumulate::<{HIGH|S}>;
    Machhwsu "machhwsu" xo(4, 76),    Accumulate I Mul16 alu mul::accumulate::<{HIGH|S|U}>;
    Machhwu  "machhwu"  xo(4, 12),    Accumulate I Mul16 alu mul::accumulate::<{HIGH|U}>;
    Maclhw   "maclhw"   xo(4, 428),   Accumulate I Mul16 alu mul::accumulate::<LOW>;
    Maclhws  "maclhws"  xo(4, 492),   Accumulate I Mul16 alu mul::accumulate::<{LOW|S}>;
    Maclhwsu "maclhwsu" xo(4, 460),   Accumulate I Mul16 alu mul::accumulate::<{LOW|S|U}>;
    Maclhwu  "maclhwu"  xo(4, 396),   Accumulate I Mul16 alu mul::accumulate::<{LOW|U}>;
    Nmacchw  "nmacchw"  xo(4, 174),   Accumulate I Mul16 alu mul::accumulate::<{CROSS|N}>;
    Nmacchws "nmacchws" xo(4, 238),   Accumulate I Mul16 alu mul::accumulate::<{CROSS|N|S}>;
    Nmachhw  "nmachhw"  xo(4, 46),    Accumulate I Mul16 alu mul::accumulate::<{HIGH|N}>;
    Nmachhws "nmachhws" xo(4, 110),   Accumulate I Mul16 alu mul::accumulate::<{HIGH|N|S}>;
    Nmaclhw  "nmaclhw"  xo(4, 430),   Accumulate I Mul16 alu mul::accumulate::<{LOW|N}>;
    Nmaclhws "nmaclhws" xo(4, 494),   Accumulate I Mul16 alu mul::accumulate::<{LOW|N|S}>;

    // Compares.
    Cmpi  "cmpwi"  l0(d(11)),     CompareSigned   I Compare alu int::compare_immediate;
    Cmpli "cmplwi" l0(d(10)),     CompareUnsigned I Compare alu int::compare_logical_immediate;
    Cmp   "cmpw"   l0(x(31, 0)),  Compare         I Compare alu int::compare;
    Cmpl  "cmplw"  l0(x(31, 32)), Compare         I Compare alu int::compare_logical;

    // Logic.
    Andi   "andi."  d(28),         Logical         I  Simple alu int::and_immediate_record;
    Andis  "andis." d(29),         LogicalShifted  I  Simple alu int::and_immediate_record;
    Ori    "ori"    d(24),         Logical         IJ Simple alu int::or_immediate;
    Oris   "oris"   d(25),         LogicalShifted  IJ Simple alu int::or_immediate;
    Xori   "xori"   d(26),         Logical         IJ Simple alu int::xor_immediate;
    Xoris  "xoris"  d(27),         LogicalShifted  IJ Simple alu int::xor_immediate;
    And    "and"    x_rc(31, 28),  LogicalRegister IJ Simple alu int::and;
    Andc   "andc"   x_rc(31, 60),  LogicalRegister IJ Simple alu int::and_complement;
    Nand   "nand"   x_rc(31, 476), LogicalRegister IJ Simple alu int::nand;
    Nor    "nor"    x_rc(31, 124), LogicalRegister IJ Simple alu int::nor;
    Or     "or"     x_rc(31, 444), LogicalRegister IJ Simple alu int::or;
    Orc    "orc"    x_rc(31, 412), LogicalRegister IJ Simple alu int::or_complement;
    Xor    "xor"    x_rc(31, 316), LogicalRegister IJ Simple alu int::xor;
    Eqv    "eqv"    x_rc(31, 284), LogicalRegister IJ Simple alu int::equivalent;
    Extsb  "extsb"  x_rc(31, 954), LogicalUnary    IJ Simple alu int::extend_byte;
    Extsh  "extsh"  x_rc(31, 922), LogicalUnary    IJ Simple alu int::extend_half;
    Cntlzw "cntlzw" x_rc(31, 26),  LogicalUnary    I  Simple alu int::count_leading_zeros;
    Dlmzb  "dlmzb"  x_rc(31, 78),  ZeroByte        I  Simple alu int::leftmost_zero_byte;
    Isel   "isel"   a(31, 15),     Select          I  Simple alu int::select;

    // Rotates and shifts.
    Rlwimi "rlwimi" d(20),         RotateInsert    IJ Simple alu int::rotate_insert;
    Rlwinm "rlwinm" d(21),         Rotate          IJ Simple alu int::rotate;
    Rlwnm  "rlwnm"  d(23),         RotateRegister  IJ Simple alu int::rotate_register;
    Slw    "slw"    x_rc(31, 24),  LogicalRegister IJ Simple alu int::shift_left;
    Srw    "srw"    x_rc(31, 536), LogicalRegister IJ Simple alu int::shift_right;
    Sraw   "sraw"   x_rc(31, 792), LogicalRegister I  Simple alu int::shift_algebraic;
    Srawi  "srawi"  x_rc(31, 824), ShiftImmediate  I  Simple alu int::shift_algebraic_immediate;

    // Branches, system call, traps, returns from interrupts.
    B      "b"      d(18),         Branch            I     Branch  core     flow::branch;
    Bc     "bc"     d(16),         BranchIf          I     Branch  core     flow::branch_if;
    Bclr   "bclr"   x_rc(19, 16),  BranchLink        I     Branch  core     flow::branch_link;
    Bcctr  "bcctr"  x_rc(19, 528), BranchCount       I     Branch  core     flow::branch_count;
    Sc     "sc"     d(17),         Bare              Alone System  core     flow::system_call;
    Twi    "twi"    d(3),          TrapImmediate     I     Compare core     flow::trap_immediate;
    Tw     "tw"     x(31, 4),      Trap              I     Compare core     flow::trap;
    Rfi    "rfi"    x(19, 50),     Bare              Alone System  sup_core flow::return_normal;
    Rfci   "rfci"   x(19, 51),     Bare              Alone System  sup_core flow::return_critical;
    Rfmci  "rfmci"  x(19, 38),     Bare              Alone System  sup_core flow::return_check;

    // Condition register.
    Crand  "crand"  x(19, 257),    CrLogical         I     Compare alu      flow::cr::<0b1000>;
    Crandc "crandc" x(19, 129),    CrLogical         I     Compare alu      flow::cr::<0b0100>;
    Creqv  "creqv"  x(19, 289),    CrLogical         I     Compare alu      flow::cr::<0b1001>;
    Crnand "crnand" x(19, 225),    CrLogical         I     Compare alu      flow::cr::<0b0111>;
    Crnor  "crnor"  x(19, 33),     CrLogical         I     Compare alu      flow::cr::<0b0001>;
    Cror   "cror"   x(19, 449),    CrLogical         I     Compare alu      flow::cr::<0b1110>;
    Crorc  "crorc"  x(19, 417),    CrLogical         I     Compare alu      flow::cr::<0b1101>;
    Crxor  "crxor"  x(19, 193),    CrLogical         I     Compare alu      flow::cr::<0b0110>;
    Mcrf   "mcrf"   x(19, 0),      CrMove            I     Compare alu      flow::cr_move;
    Mcrxr  "mcrxr"  x(31, 512),    CrFromXer         I     Compare alu      flow::cr_from_xer;
    Mfcr   "mfcr"   x(31, 19),     FromCr            Alone From    alu      flow::from_cr;
    Mtcrf  "mtcrf"  x(31, 144),    ToCr              I     ToCr    alu      flow::to_cr;

    // Loads.
    Lbz   "lbz"   d(34),      Load              L Load bus mem::load::<_, 1, 0>;
    Lbzu  "lbzu"  d(35),      LoadUpdate        L Load bus mem::load::<_, 1, W>;
    Lbzx  "lbzx"  x(31, 87),  LoadIndexed       L Load bus mem::load::<_, 1, X>;
    Lbzux "lbzux" x(31, 119), LoadUpdateIndexed L Load bus mem::load::<_, 1, {X|W}>;
    Lhz   "lhz"   d(40),      Load              L Load bus mem::load::<_, 2, 0>;
    Lhzu  "lhzu"  d(41),      LoadUpdate        L Load bus mem::load::<_, 2, W>;
    Lhzx  "lhzx"  x(31, 279), LoadIndexed       L Load bus mem::load::<_, 2, X>;
    Lhzux "lhzux" x(31, 311), LoadUpdateIndexed L Load bus mem::load::<_, 2, {X|W}>;
    Lha   "lha"   d(42),      Load              L Load bus mem::load::<_, 2, A>;
    Lhau  "lhau"  d(43),      LoadUpdate        L Load bus mem::load::<_, 2, {A|W}>;
    Lhax  "lhax"  x(31, 343), LoadIndexed       L Load bus mem::load::<_, 2, {A|X}>;
    Lhaux "lhaux" x(31, 375), LoadUpdateIndexed L Load bus mem::load::<_, 2, {A|X|W}>;
    Lhbrx "lhbrx" x(31, 790), LoadIndexed       L Load bus mem::load::<_, 2, {R|X}>;
    Lwz   "lwz"   d(32),      Load              L Load bus mem::load::<_, 4, 0>;
    Lwzu  "lwzu"  d(33),      LoadUpdate        L Load bus mem::load::<_, 4, W>;
    Lwzx  "lwzx"  x(31, 23),  LoadIndexed       L Load bus mem::load::<_, 4, X>;
    Lwzux "lwzux" x(31, 55),  LoadUpdateIndexed L Load bus mem::load::<_, 4, {X|W}>;
    Lwbrx "lwbrx" x(31, 534), LoadIndexed       L Load bus mem::load::<_, 4, {R|X}>;
    Lwarx "lwarx" x(31, 20),  LoadIndexed       L Load bus mem::load_reserve;
    Lmw   "lmw"   d(46),      Load              L Load bus mem::load_multiple;
    Lswi  "lswi"  x(31, 597), StringImmediate   L Load bus mem::load_string_immediate;
    Lswx  "lswx"  x(31, 533), LoadIndexed       L Load bus mem::load_string;

    // Stores.
    Stb    "stb"    d(38),          Store              L Load    bus mem::store::<_, 1, 0>;
    Stbu   "stbu"   d(39),          StoreUpdate        L Load    bus mem::store::<_, 1, W>;
    Stbx   "stbx"   x(31, 215),     StoreIndexed       L Load    bus mem::store::<_, 1, X>;
    Stbux  "stbux"  x(31, 247),     StoreUpdateIndexed L Load    bus mem::store::<_, 1, {X|W}>;
    Sth    "sth"    d(44),          Store              L Load    bus mem::store::<_, 2, 0>;
    Sthu   "sthu"   d(45),          StoreUpdate        L Load    bus mem::store::<_, 2, W>;
    Sthx   "sthx"   x(31, 407),     StoreIndexed       L Load    bus mem::store::<_, 2, X>;
    Sthux  "sthux"  x(31, 439),     StoreUpdateIndexed L Load    bus mem::store::<_, 2, {X|W}>;
    Sthbrx "sthbrx" x(31, 918),     StoreIndexed       L Load    bus mem::store::<_, 2, {R|X}>;
    Stw    "stw"    d(36),          Store              L Load    bus mem::store::<_, 4, 0>;
    Stwu   "stwu"   d(37),          StoreUpdate        L Load    bus mem::store::<_, 4, W>;
    Stwx   "stwx"   x(31, 151),     StoreIndexed       L Load    bus mem::store::<_, 4, X>;
    Stwux  "stwux"  x(31, 183),     StoreUpdateIndexed L Load    bus mem::store::<_, 4, {X|W}>;
    Stwbrx "stwbrx" x(31, 662),     StoreIndexed       L Load    bus mem::store::<_, 4, {R|X}>;
    Stwcx  "stwcx." x_dot(31, 150), StoreIndexed       L StoreIf bus mem::store_conditional;
    Stmw   "stmw"   d(47),          Store              L Load    bus mem::store_multiple;
    Stswi  "stswi"  x(31, 725),     StringImmediate    L Load    bus mem::store_string_immediate;
    Stswx  "stswx"  x(31, 661),     StoreIndexed       L Load    bus mem::store_string;

    // Cache control and synchronisation.
    Dcba   "dcba"   x(31, 758),  Address L     Load   core     sys::nothing;
    Dcbf   "dcbf"   x(31, 86),   Address L     Load   bus      cache::data_flush;
    Dcbi   "dcbi"   x(31, 470),  Address L     Load   sup_bus  cache::data_invalidate;
    Dcbst  "dcbst"  x(31, 54),   Address L     Load   bus      cache::data_store;
    Dcbt   "dcbt"   x(31, 278),  Address L     Load   bus      cache::data_touch;
    Dcbtst "dcbtst" x(31, 246),  Address L     Load   bus      cache::data_touch;
    Dcbz   "dcbz"   x(31, 1014), Address L     Load   bus      cache::data_zero;
    Dccci  "dccci"  x(31, 454),  Address Alone System sup_core cache::data_invalidate_all;
    Icbi   "icbi"   x(31, 982),  Address L     Load   core     cache::instruction_invalidate;
    Icbt   "icbt"   x(31, 262),  Address L     Load   bus      cache::instruction_touch;
    IcbtE  "icbt"   x(31, 22),   Address L     Load   bus      cache::instruction_touch;
    Iccci  "iccci"  x(31, 966),  Address Alone System sup_core cache::instruction_invalidate_all;
    Msync  "msync"  x(31, 598),  Bare    L     Load   bus      cache::storage_synchronise;
    Mbar   "mbar"   x(31, 854),  Bare    L     Load   bus      cache::storage_synchronise;
    Isync  "isync"  x(19, 150),  Bare    Alone System core     sys::instruction_synchronise;

    // System registers.
    Mfspr  "mfspr"  x(31, 339), FromSpr         I     From     core     sys::from_special;
    Mftb   "mftb"   x(31, 371), FromSpr         I     From     core     sys::from_special;
    Mtspr  "mtspr"  x(31, 467), ToSpr           I     ToBranch core     sys::to_special;
    Mfmsr  "mfmsr"  x(31, 83),  Target          I     From     sup_core sys::from_msr;
    Mtmsr  "mtmsr"  x(31, 146), Source          Alone System   sup_core sys::to_msr;
    Wrtee  "wrtee"  x(31, 131), Source          I     System   sup_core sys::write_enable;
    Wrteei "wrteei" x(31, 163), EnableImmediate I     System   sup_core sys::write_enable_immediate;
    Mfdcr  "mfdcr"  x(31, 323), FromSpr         I     System   sup_core sys::device_control;
    Mtdcr  "mtdcr"  x(31, 451), ToSpr           I     System   sup_core sys::device_control;

    // Translation.
    Tlbre   "tlbre"   x(31, 946),    TlbWord Alone System sup_core sys::tlb_read;
    Tlbwe   "tlbwe"   x(31, 978),    TlbWord Alone System sup_core sys::tlb_write;
    Tlbsx   "tlbsx"   x_rc(31, 914), Search  Alone System sup_core sys::tlb_search;
    Tlbsync "tlbsync" x(31, 566),    Bare    I     System sup_core sys::nothing;
}
