//! Registers in Rust: offsets, a type with accessors for each register with fields, the table of the block.

use super::{Block, Names, Part, Reset, Resolved};
use crate::rust::{camel, doc, number, text};
use std::fmt::Write;

/// The module of a block.
pub fn module(out: &mut String, block: &Block, names: &Names) {
    let registers = block.resolve(names).expect("the layout is sound");
    doc(out, "", &block.doc, &block.source);
    let _ = writeln!(out, "pub mod {} {{", block.name);
    *out += "    use crate::registers::{Access, Field, Register, Reset};\n\n";
    if !block.constants {
        for register in &registers {
            let _ = writeln!(out, "    /// {}", text(register.doc));
            let offset = offset(register.offset);
            let _ = writeln!(out, "    pub const {}: u32 = {offset};", register.data.name);
        }
    }
    table(out, &registers);
    for register in registers.iter().filter(|register| !register.parts.is_empty()) {
        value(out, register);
    }
    *out += "}\n";
}

fn table(out: &mut String, registers: &[Resolved]) {
    *out += "\n    /// All of them: access, fields, reset values.\n";
    *out += "    pub const TABLE: &[Register] = &[\n";
    for register in registers {
        let Resolved { data, stride, .. } = register;
        let offset = offset(register.offset);
        let reset = match &data.reset {
            Some(Reset::Value(value)) => format!("Value({value:#x})"),
            Some(Reset::Parameter(what)) => format!("Parameter({what:?})"),
            None => "Unknown".to_owned(),
        };
        let _ = writeln!(
            out,
            "        Register {{ name: {:?}, offset: {offset}, count: {},",
            data.name, data.count
        );
        let _ = writeln!(
            out,
            "            stride: {stride}, reset: Reset::{reset}, volatile: {}, \
             when: {:?}, fields: &[",
            data.volatile, data.when
        );
        for field in register.fields() {
            let (name, mask, access) = (field.name, field.bits.mask(), field.access.rust());
            let _ = writeln!(
                out,
                "                Field {{ name: {name:?}, mask: {mask:#x}, \
                 access: Access::{access} }},"
            );
        }
        *out += "            ] },\n";
    }
    *out += "    ];\n";
}

/// Offsets and addresses in hexadecimal.
fn offset(value: u32) -> String {
    if value < 0x8000 {
        format!("{value:#x}")
    } else {
        number(value)
    }
}

/// The type of a register's value, with its fields.
fn value(out: &mut String, register: &Resolved) {
    let (name, word) = (&register.data.name, format!("u{}", register.width));
    let kind = camel(&name.to_lowercase());
    let _ = writeln!(out, "\n    /// Value of [`{name}`](self): its fields.");
    *out += "    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]\n";
    let _ = writeln!(out, "    pub struct {kind}(pub {word});");
    let _ = writeln!(out, "    impl {kind} {{");
    if let Some(reset) = register.reset() {
        *out += "        /// Value after a reset.\n";
        let _ = writeln!(out, "        pub const AFTER_RESET: {kind} = {kind}({reset:#x});");
    }
    let writable = register.mask(|access| access == super::Access::Rw);
    *out += "        /// Bits that a read gives as they were written last.\n";
    let _ = writeln!(out, "        pub const WRITABLE: {word} = {writable:#x};");
    for part in &register.parts {
        accessors(out, &kind, &word, part);
    }
    *out += "    }\n";
}

fn accessors(out: &mut String, kind: &str, word: &str, part: &Part) {
    let (name, lower, bits) = (&part.name, part.name.to_lowercase(), part.bits);
    let (mask, lsb) = (bits.mask(), bits.lsb);
    let meaning = text(&part.doc);
    let _ = writeln!(out, "        /// {meaning}");
    let _ = writeln!(out, "        pub const {name}: {word} = {mask:#x};");
    let _ = writeln!(out, "        /// Field `{name}`.");
    if bits.width() == 1 {
        let _ = writeln!(out, "        #[inline]\n        pub const fn {lower}(self) -> bool {{");
        let _ = writeln!(out, "            self.0 & Self::{name} != 0\n        }}");
        let _ = writeln!(out, "        /// The value with another `{name}`.");
        let _ = writeln!(
            out,
            "        #[inline]\n        pub const fn with_{lower}(self, on: bool) -> {kind} {{"
        );
        let _ = writeln!(
            out,
            "            {kind}(self.0 & !Self::{name} \
             | if on {{ Self::{name} }} else {{ 0 }})\n        }}"
        );
        return;
    }
    let small = match bits.width() {
        ..=8 => "u8",
        9..=16 => "u16",
        17..=32 => "u32",
        _ => "u64",
    };
    let shifted = if lsb == 0 {
        "self.0 & Self::".to_owned() + name
    } else {
        format!("(self.0 & Self::{name}) >> {lsb}")
    };
    let _ = writeln!(out, "        #[inline]\n        pub const fn {lower}(self) -> {small} {{");
    if small == word {
        let _ = writeln!(out, "            {shifted}\n        }}");
    } else {
        let _ = writeln!(out, "            ({shifted}) as {small}\n        }}");
    }
    let wide = if small == word { "value".to_owned() } else { format!("(value as {word})") };
    let placed = if lsb == 0 { wide } else { format!("{wide} << {lsb}") };
    let _ = writeln!(
        out,
        "        /// The value with another `{name}`, of which bits beyond the field are dropped."
    );
    let _ = writeln!(
        out,
        "        #[inline]\n        pub const fn with_{lower}(self, value: {small}) -> {kind} {{"
    );
    let _ = writeln!(
        out,
        "            {kind}(self.0 & !Self::{name} | {placed} & Self::{name})\n        }}"
    );
}
