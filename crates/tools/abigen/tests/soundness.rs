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

/// A block with one register, and enumerations that it can name.
fn block(register: &str) -> String {
    format!(
        "[[enum]]\nname='bits'\nrepr='u8'\ndoc=''\nsource=''\n\
         values=[{{ name='A', value=1, doc='' }}, {{ name='B', value=6, doc='' }}]\n\
         [[enum]]\nname='holes'\nrepr='u8'\ndoc=''\nsource=''\n\
         values=[{{ name='A', value=5, doc='' }}]\n\
         [[block]]\nname='register'\nwidth=32\ndoc=''\nsource=''\nregisters=[\n\
         {{ name='R', offset=8, doc='', {register} }} ]\n"
    )
}

#[test]
fn sound_registers_load() {
    load(&block("access='rw', reset=5")).unwrap();
    load(&block("access='w1c', reset=7, bits='bits', except={ B='rw' }")).unwrap();
    let field = |name: &str, bits: &str| format!("{{ name='{name}', bits='{bits}', doc='' }}");
    let fields = format!(
        "access='ro', reset='the port', fields=[{}, {}]",
        field("A", "31:8"),
        field("B", "7")
    );
    load(&block(&fields)).unwrap();
    // A byte that is written, and a flag that is read at the same place.
    load(&block(
        "access='wo', reset=1, fields=[{ name='BYTE', bits='7:0', doc='' }, \
         { name='READY', bits='0', access='ro', doc='' }]",
    ))
    .unwrap();
}

#[test]
fn unsound_registers_are_refused() {
    let field = |name: &str, bits: &str| format!("{{ name='{name}', bits='{bits}', doc='' }}");
    let fields = |reset: u32, fields: &[String]| {
        block(&format!("access='rw', reset={reset}, fields=[{}]", fields.join(", ")))
    };
    let overlap = fields(0, &[field("A", "7:0"), field("B", "8:7")]);
    refused(&overlap, "part.toml: register: register R: field B overlaps field A");
    refused(&fields(0, &[field("A", "0"), field("A", "1")]), "field A stands twice");
    refused(
        &fields(0x10, &[field("A", "3:0")]),
        "the reset value 0x10 has bits outside of the fields",
    );
    refused(&fields(0, &[field("A", "32")]), "field A has bit 32 of 32");
    refused(&fields(0, &[field("A", "0:7")]), "bits 0:7 are not as 7:0 or 3");
    refused(
        &block("access='rx', reset=0"),
        "unknown access rx: known are ro, rw, wo, w1c, w1s, wc",
    );
    refused(&block("access='wo', reset=1"), "the reset value 0x1 has bits that cannot be read");
    refused(&block("access='wo', reset='the port'"), "it cannot be read, and has a reset value");
    refused(&block("access='ro'"), "it can be read, and has no reset value");
    refused(&block("access='ro', reset=0, bits='none'"), "there is no enumeration none");
    refused(&block("access='ro', reset=0, bits='holes'"), "A of holes is no run of bits");
    refused(&block("access='ro', reset=0, bits='bits', except={ C='rw' }"), "there is no bit C");
    refused(
        &block("access='rw', reset=0, stride=2"),
        "a stride of 2 bytes is less than a register",
    );
    let twice = "access='rw', reset=0 }, { name='R', offset=0, access='rw', reset=0";
    refused(&block(twice), "register R: stands twice");
    let above = "access='rw', reset=0, count=3 }, { name='S', offset=16, access='rw', reset=0";
    refused(&block(above), "register S: overlaps R");
    let odd = "access='rw', reset=0 }, { name='S', offset=2, access='rw', reset=0";
    refused(&block(odd), "register S: offset 0x2 is not a multiple of 4");
    let narrow = block("access='rw', reset=0").replace("width=32", "width=16");
    refused(&narrow, "registers of 16 bits are neither 32 nor 64 wide");
    let constant = block("access='rw', reset=0").replace("width=32", "width=32\nconstants=true");
    refused(&constant, "there is no constant of this name");
}
