//! The instruction table: one row an instruction, with its encoding, operands, timing and semantics.
//!
//! Columns: kind, mnemonic, encoding, operand format, pipe, latency class, semantics. The last column says how the
//! semantic function is called: `alu` sees the registers only and always completes; `core` sees the core and
//! decides what comes next; `bus` may also use the bus. `sup_core` and `sup_bus` are the same for privileged
//! instructions, which raise a program exception in user mode. Reserved bits of an instruction are not checked,
//! except Rc where an instruction has no record form.

use crate::core::{Core, Flow};
use crate::decode::{Format, Op, Row};
use crate::memory::{INDEXED, REVERSE, SIGNED, UPDATE};
use crate::timing::{Class, Pipe};
use crate::{caches as cache, flow, integer as int, memory as mem, multiply as mul, system as sys};
use bus::Bus;

/// Primary opcode only.
const fn d(primary: u32) -> (u32, u32) {
    (0xfc00_0000, primary << 26)
}
/// Primary and 10-bit extended opcode, no record form.
const fn x(primary: u32, extended: u32) -> (u32, u32) {
    (0xfc00_07ff, primary << 26 | extended << 1)
}
/// The same, with a record form.
const fn x_rc(primary: u32, extended: u32) -> (u32, u32) {
    (0xfc00_07fe, primary << 26 | extended << 1)
}
/// The same, only as record form.
const fn x_dot(primary: u32, extended: u32) -> (u32, u32) {
    (0xfc00_07ff, primary << 26 | extended << 1 | 1)
}
/// 9-bit extended opcode, with OE and Rc.
const fn xo(primary: u32, extended: u32) -> (u32, u32) {
    (0xfc00_03fe, primary << 26 | extended << 1)
}
/// Primary and 5-bit extended opcode, no record form.
const fn a(primary: u32, extended: u32) -> (u32, u32) {
    (0xfc00_003f, primary << 26 | extended << 1)
}
/// The L bit of compares, which the 440 has as 0, is part of the encoding.
const fn l0((mask, value): (u32, u32)) -> (u32, u32) {
    (mask | 0x0020_0000, value)
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

macro_rules! instructions {
    ($($kind:ident $name:literal $encoding:expr, $format:ident $pipe:ident $class:ident $how:ident $f:expr;)*) => {
        /// Which instruction an [`Op`] is.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub(crate) enum Kind {
            /// Not decoded yet.
            Undecoded,
            /// The 440 has no such instruction.
            Illegal,
            $(#[doc = $name] $kind,)*
        }

        /// All instructions.
        pub(crate) static ROWS: &[Row] = &[$(Row {
            name: $name,
            mask: $encoding.0,
            value: $encoding.1,
            format: Format::$format,
            pipe: Pipe::$pipe,
            class: Class::$class,
            kind: Kind::$kind,
        },)*];

        /// Does what `op` says. Inlined into the core's loop: one jump table, all simple semantics in place.
        #[inline(always)]
        pub(crate) fn execute<B: Bus>(core: &mut Core, bus: &mut B, op: Op) -> Flow {
            match op.kind {
                Kind::Undecoded => Flow::Undecoded,
                Kind::Illegal => core.illegal(op),
                $(Kind::$kind => call!($how, core, bus, op, $f),)*
            }
        }
    };
}

instructions! {
    // Integer arithmetic.
    Addi     "addi"      d(14),          AddImmediate     Simple  Simple        alu int::add_immediate;
    Addis    "addis"     d(15),          AddShifted       Simple  Simple        alu int::add_immediate;
    Addic    "addic"     d(12),          Immediate        Complex Simple        alu int::add_carrying_immediate;
    AddicDot "addic."    d(13),          Immediate        Complex Simple        alu int::add_carrying_immediate_record;
    Subfic   "subfic"    d(8),           Immediate        Complex Simple        alu int::subtract_from_immediate;
    Mulli    "mulli"     d(7),           Immediate        Complex Multiply      alu mul::low_immediate;
    Add      "add"       xo(31, 266),    Arithmetic       Simple  Simple        alu int::add;
    Addc     "addc"      xo(31, 10),     Arithmetic       Complex Simple        alu int::add_carrying;
    Adde     "adde"      xo(31, 138),    Arithmetic       Complex Simple        alu int::add_extended;
    Addme    "addme"     xo(31, 234),    Unary            Complex Simple        alu int::add_minus_one;
    Addze    "addze"     xo(31, 202),    Unary            Complex Simple        alu int::add_zero;
    Subf     "subf"      xo(31, 40),     Arithmetic       Simple  Simple        alu int::subtract_from;
    Subfc    "subfc"     xo(31, 8),      Arithmetic       Complex Simple        alu int::subtract_from_carrying;
    Subfe    "subfe"     xo(31, 136),    Arithmetic       Complex Simple        alu int::subtract_from_extended;
    Subfme   "subfme"    xo(31, 232),    Unary            Complex Simple        alu int::subtract_from_minus_one;
    Subfze   "subfze"    xo(31, 200),    Unary            Complex Simple        alu int::subtract_from_zero;
    Neg      "neg"       xo(31, 104),    Unary            Simple  Simple        alu int::negate;
    Mullw    "mullw"     xo(31, 235),    Arithmetic       Complex Multiply      alu mul::low;
    Mulhw    "mulhw"     x_rc(31, 75),   Arithmetic       Complex Multiply      alu mul::high;
    Mulhwu   "mulhwu"    x_rc(31, 11),   Arithmetic       Complex Multiply      alu mul::high_unsigned;
    Divw     "divw"      xo(31, 491),    Arithmetic       Complex Divide        alu mul::divide;
    Divwu    "divwu"     xo(31, 459),    Arithmetic       Complex Divide        alu mul::divide_unsigned;

    // 16-bit multiplication and multiply-accumulate.
    Mulchw   "mulchw"    x_rc(4, 168),   Arithmetic       Complex MultiplyHalf  alu mul::halves::<{mul::CROSS}>;
    Mulchwu  "mulchwu"   x_rc(4, 136),   Arithmetic       Complex MultiplyHalf  alu mul::halves::<{mul::CROSS | mul::UNSIGNED}>;
    Mulhhw   "mulhhw"    x_rc(4, 40),    Arithmetic       Complex MultiplyHalf  alu mul::halves::<{mul::HIGH}>;
    Mulhhwu  "mulhhwu"   x_rc(4, 8),     Arithmetic       Complex MultiplyHalf  alu mul::halves::<{mul::HIGH | mul::UNSIGNED}>;
    Mullhw   "mullhw"    x_rc(4, 424),   Arithmetic       Complex MultiplyHalf  alu mul::halves::<{mul::LOW}>;
    Mullhwu  "mullhwu"   x_rc(4, 392),   Arithmetic       Complex MultiplyHalf  alu mul::halves::<{mul::LOW | mul::UNSIGNED}>;
    Macchw   "macchw"    xo(4, 172),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::CROSS}>;
    Macchws  "macchws"   xo(4, 236),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::CROSS | mul::SATURATE}>;
    Macchwsu "macchwsu"  xo(4, 204),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::CROSS | mul::SATURATE | mul::UNSIGNED}>;
    Macchwu  "macchwu"   xo(4, 140),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::CROSS | mul::UNSIGNED}>;
    Machhw   "machhw"    xo(4, 44),      Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::HIGH}>;
    Machhws  "machhws"   xo(4, 108),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::HIGH | mul::SATURATE}>;
    Machhwsu "machhwsu"  xo(4, 76),      Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::HIGH | mul::SATURATE | mul::UNSIGNED}>;
    Machhwu  "machhwu"   xo(4, 12),      Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::HIGH | mul::UNSIGNED}>;
    Maclhw   "maclhw"    xo(4, 428),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::LOW}>;
    Maclhws  "maclhws"   xo(4, 492),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::LOW | mul::SATURATE}>;
    Maclhwsu "maclhwsu"  xo(4, 460),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::LOW | mul::SATURATE | mul::UNSIGNED}>;
    Maclhwu  "maclhwu"   xo(4, 396),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::LOW | mul::UNSIGNED}>;
    Nmacchw  "nmacchw"   xo(4, 174),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::CROSS | mul::NEGATE}>;
    Nmacchws "nmacchws"  xo(4, 238),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::CROSS | mul::NEGATE | mul::SATURATE}>;
    Nmachhw  "nmachhw"   xo(4, 46),      Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::HIGH | mul::NEGATE}>;
    Nmachhws "nmachhws"  xo(4, 110),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::HIGH | mul::NEGATE | mul::SATURATE}>;
    Nmaclhw  "nmaclhw"   xo(4, 430),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::LOW | mul::NEGATE}>;
    Nmaclhws "nmaclhws"  xo(4, 494),     Accumulate       Complex MultiplyHalf  alu mul::accumulate::<{mul::LOW | mul::NEGATE | mul::SATURATE}>;

    // Compares.
    Cmpi     "cmpwi"     l0(d(11)),      CompareSigned    Complex Compare       alu int::compare_immediate;
    Cmpli    "cmplwi"    l0(d(10)),      CompareUnsigned  Complex Compare       alu int::compare_logical_immediate;
    Cmp      "cmpw"      l0(x(31, 0)),   Compare          Complex Compare       alu int::compare;
    Cmpl     "cmplw"     l0(x(31, 32)),  Compare          Complex Compare       alu int::compare_logical;

    // Logic.
    Andi     "andi."     d(28),          Logical          Complex Simple        alu int::and_immediate_record;
    Andis    "andis."    d(29),          LogicalShifted   Complex Simple        alu int::and_immediate_record;
    Ori      "ori"       d(24),          Logical          Simple  Simple        alu int::or_immediate;
    Oris     "oris"      d(25),          LogicalShifted   Simple  Simple        alu int::or_immediate;
    Xori     "xori"      d(26),          Logical          Simple  Simple        alu int::xor_immediate;
    Xoris    "xoris"     d(27),          LogicalShifted   Simple  Simple        alu int::xor_immediate;
    And      "and"       x_rc(31, 28),   LogicalRegister  Simple  Simple        alu int::and;
    Andc     "andc"      x_rc(31, 60),   LogicalRegister  Simple  Simple        alu int::and_complement;
    Nand     "nand"      x_rc(31, 476),  LogicalRegister  Simple  Simple        alu int::nand;
    Nor      "nor"       x_rc(31, 124),  LogicalRegister  Simple  Simple        alu int::nor;
    Or       "or"        x_rc(31, 444),  LogicalRegister  Simple  Simple        alu int::or;
    Orc      "orc"       x_rc(31, 412),  LogicalRegister  Simple  Simple        alu int::or_complement;
    Xor      "xor"       x_rc(31, 316),  LogicalRegister  Simple  Simple        alu int::xor;
    Eqv      "eqv"       x_rc(31, 284),  LogicalRegister  Simple  Simple        alu int::equivalent;
    Extsb    "extsb"     x_rc(31, 954),  LogicalUnary     Simple  Simple        alu int::extend_byte;
    Extsh    "extsh"     x_rc(31, 922),  LogicalUnary     Simple  Simple        alu int::extend_half;
    Cntlzw   "cntlzw"    x_rc(31, 26),   LogicalUnary     Complex Simple        alu int::count_leading_zeros;
    Dlmzb    "dlmzb"     x_rc(31, 78),   ZeroByte         Complex Simple        alu int::leftmost_zero_byte;
    Isel     "isel"      a(31, 15),       Select           Complex Simple        alu int::select;

    // Rotates and shifts.
    Rlwimi   "rlwimi"    d(20),          RotateInsert     Simple  Simple        alu int::rotate_insert;
    Rlwinm   "rlwinm"    d(21),          Rotate           Simple  Simple        alu int::rotate;
    Rlwnm    "rlwnm"     d(23),          RotateRegister   Simple  Simple        alu int::rotate_register;
    Slw      "slw"       x_rc(31, 24),   LogicalRegister  Simple  Simple        alu int::shift_left;
    Srw      "srw"       x_rc(31, 536),  LogicalRegister  Simple  Simple        alu int::shift_right;
    Sraw     "sraw"      x_rc(31, 792),  LogicalRegister  Complex Simple        alu int::shift_right_algebraic;
    Srawi    "srawi"     x_rc(31, 824),  ShiftImmediate   Complex Simple        alu int::shift_right_algebraic_immediate;

    // Branches, traps, condition register.
    B        "b"         d(18),          Branch           Complex Branch        core flow::branch;
    Bc       "bc"        d(16),          BranchConditional Complex Branch       core flow::branch_conditional;
    Bclr     "bclr"      x_rc(19, 16),   BranchLink       Complex Branch        core flow::branch_link;
    Bcctr    "bcctr"     x_rc(19, 528),  BranchCount      Complex Branch        core flow::branch_count;
    Sc       "sc"        d(17),          Bare             Serial  System        core flow::system_call;
    Twi      "twi"       d(3),           TrapImmediate    Complex Compare       core flow::trap_immediate;
    Tw       "tw"        x(31, 4),       Trap             Complex Compare       core flow::trap;
    Rfi      "rfi"       x(19, 50),      Bare             Serial  System        sup_core flow::return_from_interrupt;
    Rfci     "rfci"      x(19, 51),      Bare             Serial  System        sup_core flow::return_from_critical;
    Rfmci    "rfmci"     x(19, 38),      Bare             Serial  System        sup_core flow::return_from_machine_check;
    Crand    "crand"     x(19, 257),     CrLogical        Complex Compare       alu flow::cr_logical::<0b1000>;
    Crandc   "crandc"    x(19, 129),     CrLogical        Complex Compare       alu flow::cr_logical::<0b0100>;
    Creqv    "creqv"     x(19, 289),     CrLogical        Complex Compare       alu flow::cr_logical::<0b1001>;
    Crnand   "crnand"    x(19, 225),     CrLogical        Complex Compare       alu flow::cr_logical::<0b0111>;
    Crnor    "crnor"     x(19, 33),      CrLogical        Complex Compare       alu flow::cr_logical::<0b0001>;
    Cror     "cror"      x(19, 449),     CrLogical        Complex Compare       alu flow::cr_logical::<0b1110>;
    Crorc    "crorc"     x(19, 417),     CrLogical        Complex Compare       alu flow::cr_logical::<0b1101>;
    Crxor    "crxor"     x(19, 193),     CrLogical        Complex Compare       alu flow::cr_logical::<0b0110>;
    Mcrf     "mcrf"      x(19, 0),       CrMove           Complex Compare       alu flow::cr_move;
    Mcrxr    "mcrxr"     x(31, 512),     CrFromXer        Complex Compare       alu flow::cr_from_xer;
    Mfcr     "mfcr"      x(31, 19),      FromCr           Serial  FromSpecial   alu flow::from_cr;
    Mtcrf    "mtcrf"     x(31, 144),     ToCr             Complex ToCr          alu flow::to_cr;

    // Loads.
    Lbz      "lbz"       d(34),          Load             Load    Load          bus mem::load::<_, 1, 0>;
    Lbzu     "lbzu"      d(35),          LoadUpdate       Load    Load          bus mem::load::<_, 1, {UPDATE}>;
    Lbzx     "lbzx"      x(31, 87),      LoadIndexed      Load    Load          bus mem::load::<_, 1, {INDEXED}>;
    Lbzux    "lbzux"     x(31, 119),     LoadUpdateIndexed Load   Load          bus mem::load::<_, 1, {INDEXED | UPDATE}>;
    Lhz      "lhz"       d(40),          Load             Load    Load          bus mem::load::<_, 2, 0>;
    Lhzu     "lhzu"      d(41),          LoadUpdate       Load    Load          bus mem::load::<_, 2, {UPDATE}>;
    Lhzx     "lhzx"      x(31, 279),     LoadIndexed      Load    Load          bus mem::load::<_, 2, {INDEXED}>;
    Lhzux    "lhzux"     x(31, 311),     LoadUpdateIndexed Load   Load          bus mem::load::<_, 2, {INDEXED | UPDATE}>;
    Lha      "lha"       d(42),          Load             Load    Load          bus mem::load::<_, 2, {SIGNED}>;
    Lhau     "lhau"      d(43),          LoadUpdate       Load    Load          bus mem::load::<_, 2, {SIGNED | UPDATE}>;
    Lhax     "lhax"      x(31, 343),     LoadIndexed      Load    Load          bus mem::load::<_, 2, {SIGNED | INDEXED}>;
    Lhaux    "lhaux"     x(31, 375),     LoadUpdateIndexed Load   Load          bus mem::load::<_, 2, {SIGNED | INDEXED | UPDATE}>;
    Lhbrx    "lhbrx"     x(31, 790),     LoadIndexed      Load    Load          bus mem::load::<_, 2, {REVERSE | INDEXED}>;
    Lwz      "lwz"       d(32),          Load             Load    Load          bus mem::load::<_, 4, 0>;
    Lwzu     "lwzu"      d(33),          LoadUpdate       Load    Load          bus mem::load::<_, 4, {UPDATE}>;
    Lwzx     "lwzx"      x(31, 23),      LoadIndexed      Load    Load          bus mem::load::<_, 4, {INDEXED}>;
    Lwzux    "lwzux"     x(31, 55),      LoadUpdateIndexed Load   Load          bus mem::load::<_, 4, {INDEXED | UPDATE}>;
    Lwbrx    "lwbrx"     x(31, 534),     LoadIndexed      Load    Load          bus mem::load::<_, 4, {REVERSE | INDEXED}>;
    Lwarx    "lwarx"     x(31, 20),      LoadIndexed      Load    Load          bus mem::load_reserve;
    Lmw      "lmw"       d(46),          Load             Load    Load          bus mem::load_multiple;
    Lswi     "lswi"      x(31, 597),     StringImmediate  Load    Load          bus mem::load_string_immediate;
    Lswx     "lswx"      x(31, 533),     LoadIndexed      Load    Load          bus mem::load_string;

    // Stores.
    Stb      "stb"       d(38),          Store            Load    Load          bus mem::store::<_, 1, 0>;
    Stbu     "stbu"      d(39),          StoreUpdate      Load    Load          bus mem::store::<_, 1, {UPDATE}>;
    Stbx     "stbx"      x(31, 215),     StoreIndexed     Load    Load          bus mem::store::<_, 1, {INDEXED}>;
    Stbux    "stbux"     x(31, 247),     StoreUpdateIndexed Load  Load          bus mem::store::<_, 1, {INDEXED | UPDATE}>;
    Sth      "sth"       d(44),          Store            Load    Load          bus mem::store::<_, 2, 0>;
    Sthu     "sthu"      d(45),          StoreUpdate      Load    Load          bus mem::store::<_, 2, {UPDATE}>;
    Sthx     "sthx"      x(31, 407),     StoreIndexed     Load    Load          bus mem::store::<_, 2, {INDEXED}>;
    Sthux    "sthux"     x(31, 439),     StoreUpdateIndexed Load  Load          bus mem::store::<_, 2, {INDEXED | UPDATE}>;
    Sthbrx   "sthbrx"    x(31, 918),     StoreIndexed     Load    Load          bus mem::store::<_, 2, {REVERSE | INDEXED}>;
    Stw      "stw"       d(36),          Store            Load    Load          bus mem::store::<_, 4, 0>;
    Stwu     "stwu"      d(37),          StoreUpdate      Load    Load          bus mem::store::<_, 4, {UPDATE}>;
    Stwx     "stwx"      x(31, 151),     StoreIndexed     Load    Load          bus mem::store::<_, 4, {INDEXED}>;
    Stwux    "stwux"     x(31, 183),     StoreUpdateIndexed Load  Load          bus mem::store::<_, 4, {INDEXED | UPDATE}>;
    Stwbrx   "stwbrx"    x(31, 662),     StoreIndexed     Load    Load          bus mem::store::<_, 4, {REVERSE | INDEXED}>;
    Stwcx    "stwcx."    x_dot(31, 150), StoreIndexed     Load    StoreConditional bus mem::store_conditional;
    Stmw     "stmw"      d(47),          Store            Load    Load          bus mem::store_multiple;
    Stswi    "stswi"     x(31, 725),     StringImmediate  Load    Load          bus mem::store_string_immediate;
    Stswx    "stswx"     x(31, 661),     StoreIndexed     Load    Load          bus mem::store_string;

    // Cache control and synchronisation.
    Dcba     "dcba"      x(31, 758),     Address          Load    Load          core sys::nothing;
    Dcbf     "dcbf"      x(31, 86),      Address          Load    Load          bus cache::data_flush;
    Dcbi     "dcbi"      x(31, 470),     Address          Load    Load          sup_bus cache::data_invalidate;
    Dcbst    "dcbst"     x(31, 54),      Address          Load    Load          bus cache::data_store;
    Dcbt     "dcbt"      x(31, 278),     Address          Load    Load          bus cache::data_touch;
    Dcbtst   "dcbtst"    x(31, 246),     Address          Load    Load          bus cache::data_touch;
    Dcbz     "dcbz"      x(31, 1014),    Address          Load    Load          bus cache::data_zero;
    Dccci    "dccci"     x(31, 454),     Address          Serial  System        sup_core cache::data_invalidate_all;
    Icbi     "icbi"      x(31, 982),     Address          Load    Load          core cache::instruction_invalidate;
    Icbt     "icbt"      x(31, 262),     Address          Load    Load          bus cache::instruction_touch;
    IcbtE    "icbt"      x(31, 22),      Address          Load    Load          bus cache::instruction_touch;
    Iccci    "iccci"     x(31, 966),     Address          Serial  System        sup_core cache::instruction_invalidate_all;
    Msync    "msync"     x(31, 598),     Bare             Load    Load          core cache::storage_synchronise;
    Mbar     "mbar"      x(31, 854),     Bare             Load    Load          core sys::nothing;
    Isync    "isync"     x(19, 150),     Bare             Serial  System        core sys::instruction_synchronise;

    // System registers.
    Mfspr    "mfspr"     x(31, 339),     FromSpr          Complex FromSpecial   core sys::from_special;
    Mftb     "mftb"      x(31, 371),     FromSpr          Complex FromSpecial   core sys::from_special;
    Mtspr    "mtspr"     x(31, 467),     ToSpr            Complex ToBranch      core sys::to_special;
    Mfmsr    "mfmsr"     x(31, 83),      Target           Complex FromSpecial   sup_core sys::from_msr;
    Mtmsr    "mtmsr"     x(31, 146),     Source           Serial  System        sup_core sys::to_msr;
    Wrtee    "wrtee"     x(31, 131),     Source           Complex System        sup_core sys::write_enable;
    Wrteei   "wrteei"    x(31, 163),     EnableImmediate  Complex System        sup_core sys::write_enable_immediate;
    Mfdcr    "mfdcr"     x(31, 323),     FromSpr          Complex System        sup_core sys::device_control;
    Mtdcr    "mtdcr"     x(31, 451),     ToSpr            Complex System        sup_core sys::device_control;

    // Translation.
    Tlbre    "tlbre"     x(31, 946),     TlbWord          Serial  System        sup_core sys::tlb_read;
    Tlbwe    "tlbwe"     x(31, 978),     TlbWord          Serial  System        sup_core sys::tlb_write;
    Tlbsx    "tlbsx"     x_rc(31, 914),  Search           Serial  System        sup_core sys::tlb_search;
    Tlbsync  "tlbsync"   x(31, 566),     Bare             Complex System        core sys::nothing;
}
