//! `docs/reference/lanai-coverage.md` says which oracle judges which instruction, and how often in the
//! fast ring; it is made here. Write it anew: `UPDATE=1 cargo test -p lanai --test oracles`.

use crate::{compiled, definitions};
use std::fmt::Write;

const HEAD: &str = "# Which oracle judges which instruction of the LANai

Made by a test from what the tests execute (`UPDATE=1 cargo test -p lanai --test oracles`). \
`make soak` does \
hundreds of times as much with other seeds.

| oracle | what is compared |
|---|---|
| `llvm-mc` | every row, 200 words each with random fields, and 40,000 random words: which words \
are \
instructions, which one each is, and its operands, as text (`tests/oracles/assembler.rs`) |
| definition | the description of the instruction set, written down a second time: all \
registers, flags, memory \
and where it goes on, from random operands (`tests/oracles/definitions.rs`) |
| C | programs of csmith at four levels of optimisation print what QEMU's PowerPC prints; the \
number says how often \
the instruction stands in their code (`tests/oracles/compiled.rs`) |

*Source*: the vendor's opcode table of 1995 agrees with LLVM on the formats RI, RR, RM, RRM, BR, \
SCC, SLS, SLI and \
SPLS. What is LLVM's only is of a later processor; `lanai-link` names every such instruction in \
an image. A letter \
behind a mnemonic is another form of it: `p` under a condition, `q` one that moves its base \
register. *Cycles* are \
those of LLVM's model of its later processor.

| instruction | format | source | cycles | definition | C |
|---|---|---|---|--:|--:|
";

const TAIL: &str = "
## Remarks

- `punt` changes between the two contexts of the vendor's processors. LLVM does not have it, \
nothing here executes \
it, and it is a fault.
- `popc`, `leadz` and `trailz` stand where the table of 1995 has instructions of three \
registers, and a condition of \
an instruction of two registers where it has its own counts. An image for a processor of 1995 \
must not have them \
(`lanai-link --only-1995`).
- `b.r`: relative to its own address, which is assumed; clang does not emit it.
- A reserved operation of an indexed access is illegal; `llvm-mc` crashes on it and is not asked.
";

fn page() -> String {
    let mut out = HEAD.to_owned();
    for row in lanai::rows() {
        let key = (row.name, row.format);
        let cell = |count: Option<&u64>| count.map_or(String::new(), |count| format!(" {count}"));
        let source = match row.source {
            lanai::Source::Both => "1995, LLVM",
            lanai::Source::Llvm => "LLVM",
            lanai::Source::Vendor => "1995",
        };
        let _ = writeln!(
            out,
            "| `{}` | {} | {source} | {} |{} |{} |",
            row.name,
            row.format,
            row.class,
            cell(definitions::counts().get(&key)),
            cell(compiled::counts().get(&key)),
        );
    }
    out + TAIL
}

#[test]
fn the_page_of_coverage_is_current() {
    let path = crate::support::root().join("docs/reference/lanai-coverage.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "stale: UPDATE=1 cargo test -p lanai --test oracles");
}
