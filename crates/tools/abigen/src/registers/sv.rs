//! Registers in SystemVerilog: offsets, reset values, bits that can be written, places of fields.

use super::{Access, Block, Names};
use crate::sv::camel;
use std::fmt::Write;

/// Constants of a block in its package.
pub fn constants(out: &mut String, block: &Block, names: &Names) {
    let registers = block.resolve(names).expect("the layout is sound");
    let (width, top) = (block.width, block.width - 1);
    let _ = writeln!(out, "\n  // {}", block.doc);
    let own = if block.constants { String::new() } else { camel(&block.name) };
    for register in &registers {
        let name = format!("{own}{}", camel(&register.data.name));
        let _ = writeln!(out, "  localparam logic [31:0] {name} = 32'h{:X};", register.offset);
    }
    for register in registers.iter().filter(|register| !register.parts.is_empty()) {
        let name = format!("{own}{}", camel(&register.data.name));
        let writable = register.mask(|access| access == Access::Rw);
        let _ = writeln!(
            out,
            "\n  // {}: value after a reset, bits that read as they were written, fields.",
            register.data.name
        );
        if let Some(reset) = register.reset() {
            let _ = writeln!(
                out,
                "  localparam logic [{top}:0] {name}AfterReset = {width}'h{reset:X};"
            );
        }
        let _ =
            writeln!(out, "  localparam logic [{top}:0] {name}Writable = {width}'h{writable:X};");
        // Masks of an enumeration are there already.
        for part in register.parts.iter().filter(|_| register.data.bits.is_none()) {
            let field = format!("{name}{}", camel(&part.name));
            let _ = writeln!(out, "  localparam int unsigned {field}Lsb = {};", part.bits.lsb);
            let _ =
                writeln!(out, "  localparam int unsigned {field}Width = {};", part.bits.width());
        }
    }
}
