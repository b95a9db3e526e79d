//! `docs/reference/ppc440-coverage.md` says which oracle judges which instruction, and how often in
//! the fast ring; it is made here. Write it anew: `UPDATE=1 cargo test -p ppc440 --test oracles`.

use crate::{bamboo, compiled, definitions, little, order, user};
use ppc440::mnemonic;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::Path;
use std::sync::OnceLock;

/// All mnemonics of the core's table, found by asking for every opcode.
pub fn mnemonics() -> BTreeSet<&'static str> {
    (0..64 << 11).filter_map(|code: u32| mnemonic(code >> 11 << 26 | code & 0x7ff)).collect()
}

type Counts = BTreeMap<&'static str, u64>;

fn count(words: impl IntoIterator<Item = u32>) -> Counts {
    let mut counts = Counts::new();
    for word in words {
        *counts.entry(mnemonic(word).unwrap()).or_default() += 1;
    }
    counts
}

struct Column {
    name: &'static str,
    counts: Counts,
    /// Another machine executes the same: its instructions count for the million.
    other: bool,
}

fn columns() -> &'static [Column] {
    static COLUMNS: OnceLock<Vec<Column>> = OnceLock::new();
    COLUMNS.get_or_init(count_columns)
}

fn count_columns() -> Vec<Column> {
    let column = |name, counts, other| Column { name, counts, other };
    vec![
        column("QEMU 440, user", count(user::words()), true),
        column("QEMU bamboo", count(bamboo::words()), true),
        column("QEMU 7400, little-endian", count(little::words()), true),
        column("byte order", count(order::words()), false),
        column("definition", count(definitions::words()), false),
    ]
}

const HEAD: &str = "# Which oracle judges which instruction of the PowerPC 440

Made by a test from what the tests execute (`UPDATE=1 cargo test -p ppc440 --test oracles`). A \
number says how often `make test` executes the instruction, from random operands, and compares \
all that it leaves; instructions that load and store the state of a case, make addresses, or may \
be branched over do not count. `make soak` does tens of millions more with other seeds.

| oracle | what is compared |
|---|---|
";

const ORACLES: &[(&str, &str)] = &[
    (
        "QEMU 440, user",
        "user-level instructions, big-endian: general registers, CR, XER, LR, CTR, memory \
         (`tests/oracles/user.rs`)",
    ),
    (
        "QEMU bamboo",
        "system instructions, exceptions, translation, user mode and the other address space, \
         big-endian: the same, every exception's vector, SRR0, SRR1, ESR, DEAR and MSR, special \
         registers, the TLB. `tests/oracles/bamboo.rs` lists where QEMU differs from the manual",
    ),
    (
        "QEMU 7400, little-endian",
        "the common subset with MSR[LE] on the g3beige board, against pages with E = 1; code is \
         fetched from such pages as well (`tests/oracles/little.rs`)",
    ),
    (
        "byte order",
        "each load and store in a page with E = 1 against the same in one with E = 0, cached, \
         written through and inhibited, at every alignment (`tests/oracles/order.rs`)",
    ),
    (
        "definition",
        "the manual's definition, written down a second time (`tests/oracles/definitions.rs`), \
         for what QEMU has wrong or not",
    ),
    (
        "C",
        "executed by little-endian C that computes the same here; compiled without and with \
         optimisation (`tests/oracles/compiled.rs`)",
    ),
];

/// Instructions that no oracle here judges, and why.
const NONE: &[(&str, &str)] = &[];

/// Instructions whose column says less than one thinks.
const REMARKS: &[(&str, &str)] = &[
    ("isel", "QEMU's 440 has none; GCC does not emit it for the 440"),
    ("mfdcr", "only that it is privileged: no device is on the DCR bus, an access is a fault"),
    ("mtdcr", "as `mfdcr`"),
    ("mftb", "only the upper half after it was written: time passes differently"),
    ("dccci", "only that it is privileged, and without cached pages"),
    (
        "icbt",
        "with the extended opcode of Book E; that of the 440 (262) is another row of the table",
    ),
];

fn page(columns: &[Column], compiled: &BTreeSet<&'static str>) -> String {
    let mut out = HEAD.to_owned();
    for (name, what) in ORACLES {
        let _ = writeln!(out, "| {name} | {what} |");
    }
    out += "\n## Instructions\n\n| instruction |";
    for column in columns {
        let _ = write!(out, " {} |", column.name);
    }
    let _ = writeln!(out, " C |\n|---{}|---|", "|--:".repeat(columns.len()));
    for name in mnemonics() {
        let _ = write!(out, "| `{name}` |");
        for column in columns {
            match column.counts.get(name) {
                Some(count) => write!(out, " {count} |"),
                None => write!(out, " |"),
            }
            .unwrap();
        }
        let _ = writeln!(out, "{}", if compiled.contains(name) { " yes |" } else { " |" });
    }
    out += "| **all** |";
    for column in columns {
        let _ = write!(out, " {} |", column.counts.values().sum::<u64>());
    }
    out += " |\n\n## Remarks\n\n";
    for (name, remark) in REMARKS {
        let _ = writeln!(out, "- `{name}`: {remark}.");
    }
    out += "\n## Without an oracle\n\n";
    if NONE.is_empty() {
        out += "None.\n";
    }
    for (name, reason) in NONE {
        let _ = writeln!(out, "- `{name}`: {reason}.");
    }
    out
}

#[test]
fn the_page_of_coverage_is_current() {
    let page = page(columns(), &compiled::executed());
    let path =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/ppc440-coverage.md");
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "stale: UPDATE=1 cargo test -p ppc440 --test oracles");
}

#[test]
fn a_million_instructions_are_compared_with_other_machines() {
    let columns = columns();
    let others = columns.iter().filter(|column| column.other);
    let sum: u64 = others.flat_map(|column| column.counts.values()).sum();
    println!("{sum} instructions are compared with QEMU");
    assert!(sum >= 1_000_000, "only {sum} instructions");
}

#[test]
fn every_instruction_has_an_oracle_or_a_reason() {
    let columns = columns();
    for name in mnemonics() {
        let most = columns.iter().filter_map(|column| column.counts.get(name)).max();
        let excused = NONE.iter().any(|(none, _)| *none == name);
        // A handful would be chance; few forms are rare on purpose.
        assert_eq!(most.is_some_and(|most| *most >= 40), !excused, "{name}: {most:?}");
    }
}

/// Nothing that the firmware does is without an oracle.
#[test]
fn the_firmware_executes_only_what_an_oracle_judges() {
    let columns = columns();
    for name in compiled::firmware() {
        assert!(columns.iter().any(|column| column.counts.contains_key(name)), "{name}");
    }
}
