//! Generates the reference page of the API in Markdown.

use super::data::Portals;
use std::fmt::Write;

/// Place of the table of functions in `reference.md`.
const MARK: &str = "<!-- functions -->\n";

/// `docs/reference/portals.md`.
pub fn page(portals: &Portals) -> String {
    let (before, after) = portals.prose.split_once(MARK).unwrap_or((&portals.prose, ""));
    let mut out = String::from(before);
    out += "| function | where | implemented | what it does | returns, beside `PTL_OK` |\n";
    out += "|---|---|---|---|---|\n";
    for f in &portals.functions {
        let errors = f.errors.iter().map(|code| format!("`{code}`")).collect::<Vec<_>>();
        let _ = writeln!(
            out,
            "| `{}` | {} | yes | {} | {} |",
            f.name,
            f.section,
            f.doc,
            errors.join(", ")
        );
    }
    out += after;
    out += "\n## Constants\n";
    for group in &portals.groups {
        let _ = writeln!(out, "\n### {}\n\nPortals 3.3 {}.\n", group.doc, group.source);
        out += "| name | value | meaning |\n|---|---|---|\n";
        for (name, value, doc) in &group.values {
            let value = match value {
                0x8000.. => format!("{value:#X}"),
                _ => value.to_string(),
            };
            let _ = writeln!(out, "| `{name}` | {value} | {doc} |");
        }
    }
    out += "\n## Structures\n";
    for s in &portals.types.structs {
        let _ = writeln!(out, "\n### {}\n\n{} Portals 3.3 {}.\n", s.name, s.doc, s.source);
        out += "| field | type | meaning |\n|---|---|---|\n";
        for [kind, field, doc] in &s.fields {
            let _ = writeln!(out, "| `{field}` | `{kind}` | {doc} |");
        }
    }
    out
}
