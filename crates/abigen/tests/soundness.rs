//! Each kind of contradiction in a layout is refused, with a sentence that names it.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

use abigen::Layout;

fn load(text: &str) -> Result<Layout, abigen::LayoutError> {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("part.toml"), text).unwrap();
    Layout::load(folder.path())
}

fn structure(size: usize, fields: &[(&str, usize, &str)]) -> String {
    let fields: String = fields
        .iter()
        .map(|(name, offset, kind)| {
            format!("{{ name = '{name}', offset = {offset}, type = '{kind}', doc = '' }},")
        })
        .collect();
    format!("[[struct]]\nname='s'\nsize={size}\ndoc=''\nsource=''\nfields=[{fields}]\n")
}

#[track_caller]
fn refused(text: &str, why: &str) {
    let error = load(text).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn sound_layouts_load() {
    load(&structure(8, &[("a", 0, "u8"), ("b", 2, "u16"), ("c", 4, "[u8; 4]")])).unwrap();
}

#[test]
fn unsound_layouts_are_refused() {
    let overlap = structure(8, &[("a", 0, "u32"), ("b", 2, "u16")]);
    refused(&overlap, "part.toml: s: field b at 2 overlaps its predecessor");
    refused(&structure(8, &[("a", 2, "u32")]), "not naturally aligned");
    refused(&structure(4, &[("a", 0, "[u16; 3]")]), "ends at 6, beyond the size 4");
    refused(&structure(6, &[("a", 0, "u32")]), "not a multiple of its alignment");
    refused(&structure(8, &[("a", 0, "u8"), ("a", 1, "u8")]), "field a stands twice");
    refused(&structure(8, &[("a", 0, "i8")]), "unknown type i8");
    let value =
        "[[enum]]\nname='e'\nrepr='u8'\ndoc=''\nsource=''\nvalues=[{name='A', value=256, doc=''}]";
    refused(value, "A = 256 does not fit u8");
    let constant = "[[constant]]\nname='C'\nvalue=1\ndoc=''\nsource=''\n";
    refused(&format!("{constant}{constant}"), "C: is defined twice");
    refused("[[struct]]\nsise=1", "unknown field `sise`");
}
