//! Generates structures in Rust for the words of calls: each argument gets its name and its type.

use std::fmt::Write;

/// A call's arguments.
pub struct Call {
    /// Name in Rust of its function.
    pub variant: String,
    /// Name in C of its function.
    pub function: String,
    /// Arguments in the order of their words.
    pub fields: Vec<Field>,
}

/// An argument.
#[derive(Clone)]
pub struct Field {
    /// Name.
    pub name: String,
    /// Description.
    pub doc: String,
    /// Kind of its word.
    pub kind: Kind,
}

/// Kind of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A C `int`.
    Int,
    /// An integer of 64 bits with a sign.
    Long,
    /// 32 bits without a sign.
    Unsigned,
    /// 64 bits without a sign, or several fields in them.
    Word,
    /// A handle of 64 bits.
    Handle,
    /// An address.
    Address,
}

impl Kind {
    fn rust(self) -> &'static str {
        match self {
            Kind::Int => "i32",
            Kind::Long => "i64",
            Kind::Unsigned => "u32",
            Kind::Word | Kind::Handle | Kind::Address => "u64",
        }
    }

    /// The kind that says whether two functions have the same argument: a function for large counts has a
    /// wider integer.
    fn without_width(self) -> Kind {
        if self == Kind::Int {
            Kind::Long
        } else {
            self
        }
    }
}

impl Call {
    fn has_fields_of(&self, other: &Call) -> bool {
        let same = |(a, b): (&Field, &Field)| {
            a.name == b.name && a.kind.without_width() == b.kind.without_width()
        };
        self.fields.len() == other.fields.len() && self.fields.iter().zip(&other.fields).all(same)
    }
}

/// A module with a structure for each list of arguments. Functions with the same list share it: it has the
/// shortest of their names, and the others are names of it, too.
pub fn module(prologue: &str, calls: &[Call]) -> String {
    let mut out = format!("{prologue}\nuse crate::arguments::{{first, Arguments}};\n");
    let mut groups: Vec<Vec<&Call>> = Vec::new();
    for call in calls {
        match groups.iter_mut().find(|group| group[0].has_fields_of(call)) {
            Some(group) => group.push(call),
            None => groups.push(vec![call]),
        }
    }
    for group in &mut groups {
        group.sort_by_key(|call| (call.variant.len(), call.variant.clone()));
        structure(&mut out, group);
    }
    out
}

fn structure(out: &mut String, group: &[&Call]) {
    let Call { variant, function, .. } = group[0];
    let _ = writeln!(out, "\n/// Arguments of `{function}`.");
    let _ = writeln!(out, "#[derive(Clone, Copy, Debug)]\npub struct {variant} {{");
    let fields: Vec<Field> =
        group[0].fields.iter().enumerate().map(|(i, f)| widest(f, i, group)).collect();
    for Field { name, doc, kind } in &fields {
        let _ = writeln!(out, "    /// {doc}");
        let _ = writeln!(out, "    pub {name}: {},", kind.rust());
    }
    *out += "}\n";
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    let values = fields.iter().map(|Field { name, kind, .. }| match kind.rust() {
        "u64" => name.clone(),
        narrower => format!("{name}: {name} as {narrower}"),
    });
    let _ = writeln!(out, "impl Arguments for {variant} {{");
    let _ = writeln!(out, "    fn read(words: &[u64]) -> {variant} {{");
    let _ = writeln!(out, "        let [{}] = *first(words);", names.join(", "));
    let _ = writeln!(out, "        {variant} {{ {} }}", values.collect::<Vec<_>>().join(", "));
    *out += "    }\n}\n";
    for other in &group[1..] {
        let _ = writeln!(out, "/// Arguments of `{}`.", other.function);
        let _ = writeln!(out, "pub type {} = {variant};", other.variant);
    }
}

/// The field at `index`, as wide as any function of the group has it.
fn widest(field: &Field, index: usize, group: &[&Call]) -> Field {
    let kinds = group.iter().map(|call| call.fields[index].kind);
    let wide = kinds.into_iter().any(|kind| kind == Kind::Long);
    Field { kind: if wide { Kind::Long } else { field.kind }, ..field.clone() }
}
