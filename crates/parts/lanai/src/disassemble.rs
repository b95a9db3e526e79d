//! Disassembler, in the syntax of LLVM's assembler (without its tabs and comments).

use crate::decode::{decode, row, Format, Op};
use crate::flags::NAMES;

/// Names of the registers, as LLVM's assembler has them.
pub const REGISTERS: [&str; 32] = [
    "%r0", "%r1", "%pc", "%r3", "%sp", "%fp", "%r6", "%r7", "%rv", "%r9", "%rr1", "%rr2", "%r12",
    "%r13", "%r14", "%rca", "%r16", "%r17", "%r18", "%r19", "%r20", "%r21", "%r22", "%r23", "%r24",
    "%r25", "%r26", "%r27", "%r28", "%r29", "%r30", "%r31",
];

const OPERATIONS: [&str; 8] = ["add", "addc", "sub", "subb", "and", "or", "xor", "sh"];

fn name(register: u8) -> &'static str {
    REGISTERS[usize::from(register)]
}

/// `word` as text: "add %r6, 0x4, %r7". None if it is no instruction.
pub fn disassemble(word: u32) -> Option<String> {
    let row = row(word)?;
    let op = decode(word);
    let mnemonic = row.name.split(' ').next().expect("a name has a first word");
    let condition = NAMES[usize::from(op.cond & 15)];
    let (rd, rs1, rs2) = (name(op.rd), name(op.rs1), name(op.rs2));
    let stores = mnemonic.starts_with("st");
    let access = |place: String| match stores {
        true => format!("{mnemonic} {rd}, {place}"),
        false => format!("{mnemonic} {place}, {rd}"),
    };
    Some(match row.format {
        Format::Nothing => mnemonic.to_owned(),
        Format::Immediate if is_move(word, &op) => format!("mov {:#x}, {rd}", op.imm),
        Format::Immediate => format!("{mnemonic} {rs1}, {:#x}, {rd}", op.imm),
        Format::Shift => format!("{mnemonic} {rs1}, {}, {rd}", signed_hex(op.imm)),
        Format::Registers if mnemonic == "sel" => format!("sel.{condition} {rs1}, {rs2}, {rd}"),
        Format::Registers => registers(word, mnemonic, &op),
        Format::Count => format!("{mnemonic} {rs1}, {rd}"),
        Format::Memory => access(at_immediate(&op, word >> 16 & 1 != 0, 4)),
        Format::Part => {
            let size = if mnemonic.ends_with('b') { 1 } else { 2 };
            access(at_immediate(&op, word >> 10 & 1 != 0, size))
        }
        Format::Indexed => access(at_operation(&op)),
        Format::Absolute => access(format!("[{:#x}]", u32::from(op.rs1) << 16 | word & 0xffff)),
        Format::Literal => format!("mov {:#x}, {rd}", op.imm),
        Format::Branch => format!("b{condition} {:#x}", op.imm),
        Format::Relative => format!("b{condition}.r {:#x}", op.imm & 0xffff),
        Format::Set => format!("s{condition} {rd}"),
    })
}

/// An immediate that is moved: added to zero, or with all ones.
fn is_move(word: u32, op: &Op) -> bool {
    let (operation, sets_flags) = (word >> 28, word & 1 << 17 != 0);
    !sets_flags && (operation == 0 && op.rs1 == 0 || operation == 4 && op.rs1 == 1)
}

fn signed_hex(value: u32) -> String {
    let value = value as i32;
    if value < 0 {
        format!("-{:#x}", value.unsigned_abs())
    } else {
        format!("{value:#x}")
    }
}

fn registers(word: u32, mnemonic: &str, op: &Op) -> String {
    let condition = NAMES[usize::from(op.cond)];
    let (rd, rs1, rs2) = (name(op.rd), name(op.rs1), name(op.rs2));
    let operation = word >> 8 & 7;
    if operation == 5 && word & 1 << 17 == 0 && op.rd == 2 {
        // An `or` into the program counter is a branch to a register.
        return match (op.cond, op.rs1, op.rs2) {
            (0, 0, _) => format!("bt {rs2}"),
            (_, _, 0) => format!("b{condition} {rs1}"),
            _ => format!("b{condition} {rs1} add {rs2}"),
        };
    }
    if op.cond == 0 {
        match (mnemonic, op.rs2) {
            ("add", 0) => format!("mov {rs1}, {rd}"),
            _ => format!("{mnemonic} {rs1}, {rs2}, {rd}"),
        }
    } else {
        format!("{mnemonic}.{condition} {rs1}, {rs2}, {rd}")
    }
}

/// Memory at a register and an immediate, which may move the register by its size or by more.
fn at_immediate(op: &Op, moves: bool, size: i32) -> String {
    let (base, offset, before) = (name(op.rs1), op.imm as i32, op.cond != 0);
    let sign = match offset {
        offset if offset == size => "++",
        offset if offset == -size => "--",
        _ => "*",
    };
    match (moves, before, sign) {
        (false, ..) => format!("{offset}[{base}]"),
        (true, true, "*") => format!("{offset}[*{base}]"),
        (true, false, "*") => format!("{offset}[{base}*]"),
        (true, true, _) => format!("[{sign}{base}]"),
        (true, false, _) => format!("[{base}{sign}]"),
    }
}

fn at_operation(op: &Op) -> String {
    let (rs1, rs2) = (name(op.rs1), name(op.rs2));
    let operation = match op.alu {
        15 => "sha",
        other => OPERATIONS[usize::from(other & 7)],
    };
    match op.imm {
        // An operand that is not added is not printed.
        0 => format!("[{rs1} {operation} %r0]"),
        3 => format!("[*{rs1} {operation} {rs2}]"),
        1 => format!("[{rs1}* {operation} {rs2}]"),
        _ => format!("[{rs1} {operation} {rs2}]"),
    }
}
