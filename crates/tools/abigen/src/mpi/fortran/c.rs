//! Generates the procedures of Fortran in C, over the functions of the ABI.

use super::{twin_of, Dummy, Fortran, Kind, Procedure, Shape};
use std::fmt::Write;

/// `procedures.c`: all procedures that are not written by hand, and the sentinels.
pub fn library(fortran: &Fortran, procedures: &[Procedure]) -> String {
    let mut out = String::from(PROLOGUE);
    for (name, words, _) in fortran.sentinels() {
        let name = name.to_lowercase().replacen("mpi_", "mpi_fortran_", 1);
        let _ = writeln!(out, "EXPORT int {name}_[{words}];");
    }
    for procedure in procedures.iter().filter(|procedure| !procedure.by_hand) {
        one(&mut out, fortran, procedure);
    }
    out
}

/// One procedure in the making.
#[derive(Default)]
struct Parts {
    parameters: Vec<String>,
    hidden: Vec<String>,
    before: Vec<String>,
    arguments: Vec<String>,
    after: Vec<String>,
}

fn one(out: &mut String, fortran: &Fortran, procedure: &Procedure) {
    let mut parts = Parts::default();
    for dummy in procedure.dummies() {
        add(&mut parts, fortran, procedure, dummy);
    }
    if let Some(index) = fortran.indices.get(&procedure.name) {
        let part = |i| index.get(i).and_then(toml::Value::as_str).unwrap_or_default();
        parts.after.push(match part(1) {
            "" => format!("count_from_1(1, {});", part(0)),
            number => format!("count_from_1(*{number}, {});", part(0)),
        });
    }
    parts.parameters.push("int *ierror".into());
    parts.parameters.append(&mut parts.hidden);
    let Parts { parameters, before, arguments, after, .. } = parts;
    let name = &procedure.name;
    let lower = name.to_lowercase();
    let _ = writeln!(out, "\nPROCEDURE({lower}, ({}))\n{{", parameters.join(", "));
    for line in before {
        let _ = writeln!(out, "    {line}");
    }
    let _ = writeln!(out, "    const int code = {name}({});", arguments.join(", "));
    for line in after {
        let _ = writeln!(out, "    {line}");
    }
    *out += "    done(ierror, code);\n}\n";
}

fn add(parts: &mut Parts, fortran: &Fortran, procedure: &Procedure, dummy: &Dummy) {
    let name = &dummy.name;
    let (parameter, argument) = match &dummy.kind {
        Kind::Choice => (format!("void *{name}"), format!("data_of({name})")),
        Kind::Weights => (format!("int *{name}"), format!("weights_of({name})")),
        Kind::Value(number) => (format!("const {} *{name}", number.c()), format!("*{name}")),
        Kind::Place(number, Shape::Triples) => {
            (format!("{} (*{name})[3]", number.c()), name.clone())
        }
        Kind::Place(number, _) => (format!("{} *{name}", number.c()), name.clone()),
        Kind::Handle(handle) => {
            (format!("const int *{name}"), format!("{}_fromint(*{name})", stem(handle)))
        }
        Kind::HandlePlace(handle, inout) => {
            let (stem, first) = (stem(handle), format!("{handle} c_{name} ="));
            parts.before.push(match inout {
                true => format!("{first} {stem}_fromint(*{name});"),
                false => format!("{first} NULL;"),
            });
            parts.after.push(format!("if (c_{name})\n        *{name} = {stem}_toint(c_{name});"));
            (format!("int *{name}"), format!("&c_{name}"))
        }
        Kind::Handles(handle, stored) => handles(parts, fortran, procedure, name, handle, *stored),
        Kind::Status(Shape::Scalar) => (format!("int *{name}"), format!("status_of({name})")),
        Kind::Status(_) => (format!("int *{name}"), format!("statuses_of({name})")),
        Kind::TextIn => {
            let noun = if fortran.arguments.trimmed.contains(name) { "word" } else { "text" };
            parts.before.push(format!("char *c_{name} = {noun}_in({name}, {name}_length);"));
            parts.after.push(format!("free(c_{name});"));
            parts.hidden.push(format!("size_t {name}_length"));
            (format!("const char *{name}"), format!("c_{name}"))
        }
        Kind::TextOut(longest) => {
            parts.before.push(format!("char c_{name}[{longest}] = \"\";"));
            let success = "if (code == MPI_SUCCESS)\n        ";
            parts.after.push(format!("{success}text_out(c_{name}, {name}, {name}_length);"));
            parts.hidden.push(format!("size_t {name}_length"));
            (format!("char *{name}"), format!("c_{name}"))
        }
        Kind::Callback(kind) => (format!("procedure *{name}"), format!("({kind} *){name}")),
        Kind::Word => (format!("const MPI_Aint *{name}"), format!("(void *)*{name}")),
        Kind::Nothing => return,
    };
    parts.parameters.push(parameter);
    parts.arguments.push(argument);
}

/// Converts an array of handles: those of C are wider.
fn handles(
    parts: &mut Parts,
    fortran: &Fortran,
    procedure: &Procedure,
    name: &str,
    handle: &str,
    stored: bool,
) -> (String, String) {
    let has = |wanted: &str| procedure.dummies().any(|dummy| dummy.name == wanted);
    let length = fortran.lengths.get(&format!("{}.{name}", twin_of(&procedure.name)));
    let length = length.and_then(toml::Value::as_str);
    let length = length.unwrap_or(if has("incount") { "*incount" } else { "*count" });
    let noun = stem(handle).trim_start_matches("MPI_").to_lowercase();
    let kept = procedure.keeps_arguments && !stored;
    let verb = if kept { "kept" } else { "in" };
    let mut made = format!("{noun}s_{verb}({length}, {name})");
    // Types of data that are not there are not looked at, and need not be there.
    if name == "sendtypes" && !procedure.name.contains("eighbor") {
        made = format!("data_of(sendbuf) == MPI_IN_PLACE ? NULL : {made}");
    }
    parts.before.push(format!("{handle} *c_{name} = {made};"));
    if stored {
        parts.after.push(format!("{noun}s_out({length}, c_{name}, {name});"));
    }
    if !kept {
        parts.after.push(format!("free(c_{name});"));
    }
    let parameter = if stored { format!("int *{name}") } else { format!("const int *{name}") };
    (parameter, format!("c_{name}"))
}

/// Prefix of the conversions of a handle: `MPI_Type` for `MPI_Datatype`.
fn stem(handle: &str) -> &str {
    match handle {
        "MPI_Datatype" => "MPI_Type",
        other => other,
    }
}

const PROLOGUE: &str = "\
/* Procedures of Fortran over the functions of the ABI. Generated by abigen from the data in abi/mpi/; edits
 * belong there. */
#include \"../fortran.h\"

";
