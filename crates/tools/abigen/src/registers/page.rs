//! Registers on the reference page: a table of the block, and one of each register's fields.

use super::{Block, Names, Reset, Resolved};
use crate::pages::cell;
use std::fmt::Write;

/// The tables of a block.
pub fn block(out: &mut String, block: &Block, names: &Names) {
    let registers = block.resolve(names).expect("the layout is sound");
    let _ = writeln!(out, "\n### {} ({} bits)\n\n{}", block.name, block.width, cell(&block.doc));
    let _ = writeln!(out, "Source: {}.", cell(&block.source));
    let place = if block.constants { "address" } else { "offset" };
    let _ =
        writeln!(out, "\n| {place} | register | access | reset | meaning |\n|---|---|---|---|---|");
    for register in &registers {
        let mut doc = cell(register.doc);
        if let Some(unit) = &register.data.unit {
            let _ = write!(doc, " In {unit}.");
        }
        if !register.data.when.is_empty() {
            let _ = write!(doc, " There {}.", register.data.when);
        }
        if register.data.volatile {
            doc += " Changes with time.";
        }
        let (place, name) = (address(register), &register.data.name);
        let (access, reset) = (access(register), reset(register));
        let _ = writeln!(out, "| {place} | `{name}` | {access} | {reset} | {doc} |");
    }
    if registers.iter().all(|register| register.parts.is_empty()) {
        return;
    }
    *out += "\n| register | bits | field | access | reset | meaning |\n|---|---|---|---|---|---|\n";
    for register in &registers {
        for part in &register.parts {
            let (name, bits, access) = (&register.data.name, part.bits, part.access.name());
            let reset = match (&register.data.reset, part.access.is_readable()) {
                (_, false) => "-".to_owned(),
                (Some(Reset::Value(v)), _) => ((v & bits.mask()) >> bits.lsb).to_string(),
                (Some(Reset::Parameter(what)), _) => what.clone(),
                (None, _) => "-".to_owned(),
            };
            let (field, doc) = (&part.name, cell(&part.doc));
            let _ = writeln!(out, "| `{name}` | {bits} | `{field}` | {access} | {reset} | {doc} |");
        }
    }
}

/// Accesses of the blocks in this layout, with their meaning.
pub fn legend(accesses: impl Iterator<Item = super::Access>) -> String {
    let used: Vec<_> = accesses.collect();
    let rows = super::ACCESSES.iter().filter(|row| used.contains(&row.0));
    let told: Vec<_> = rows.map(|row| format!("`{}`: {}", row.1, row.0.doc())).collect();
    format!("Access to registers: {}.", told.join("; "))
}

fn address(register: &Resolved) -> String {
    let (offset, count) = (register.offset, register.data.count);
    match count {
        1 => format!("`{offset:#x}`"),
        _ => format!("`{offset:#x}` + {} * n, n < {count}", register.stride),
    }
}

fn access(register: &Resolved) -> String {
    let mut all: Vec<_> = register.fields().iter().map(|part| part.access.name()).collect();
    all.dedup();
    let mut seen = Vec::new();
    all.retain(|name| {
        !seen.contains(name) && {
            seen.push(*name);
            true
        }
    });
    all.join(", ")
}

fn reset(register: &Resolved) -> String {
    match &register.data.reset {
        Some(Reset::Value(value)) if *value < 10 => value.to_string(),
        Some(Reset::Value(value)) => format!("`{value:#x}`"),
        Some(Reset::Parameter(what)) => what.clone(),
        None => "-".to_owned(),
    }
}
