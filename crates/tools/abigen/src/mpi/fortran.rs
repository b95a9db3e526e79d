//! Fortran: how each argument of a procedure becomes one of its C function.
//!
//! The rules are in `abi/mpi/fortran.toml`. [`c`] generates the procedures as a library in C, [`interface`]
//! the files that programs include and use.

mod c;
mod interface;

pub use c::library;
pub use interface::{include_file, module, module_2008};

use super::data::{strings, text, Constants, Function};
use super::fault::MpiError;
use crate::LayoutError;
use serde::Deserialize;
use toml::Table;

/// Contents of `fortran.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fortran {
    absent: Vec<String>,
    by_hand: Vec<String>,
    functions: Table,
    arguments: Names,
    inout: Table,
    indices: Table,
    lengths: Table,
    texts: Table,
    sentinels: Table,
    callbacks: Table,
    constants: Table,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Names {
    logical: Vec<String>,
    choice: Vec<String>,
    weights: Vec<String>,
    trimmed: Vec<String>,
    words: Vec<String>,
}

/// A number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Number {
    Integer,
    Logical,
    Address,
    Offset,
    Count,
}

/// Number of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    Scalar,
    Array,
    /// Triples of integers.
    Triples,
}

/// Kind of an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Kind {
    /// Data of any type.
    Choice,
    /// Weights or one of their constants.
    Weights,
    /// A word as large as an address.
    Word,
    /// A number that C takes by value.
    Value(Number),
    /// Numbers in the program's memory.
    Place(Number, Shape),
    /// A handle, by its type.
    Handle(String),
    /// A handle that the function stores; `true`: it also reads the old value.
    HandlePlace(String, bool),
    /// An array of handles that the function reads; `true`: and stores.
    Handles(String, bool),
    /// A status, or several.
    Status(Shape),
    /// Text for the function.
    TextIn,
    /// Text from the function, shorter than this constant.
    TextOut(String),
    /// A function of the program, by its type.
    Callback(String),
    /// Argument that Fortran does not have.
    Nothing,
}

/// An argument of a procedure.
#[derive(Clone, Debug)]
struct Dummy {
    name: String,
    kind: Kind,
}

/// A procedure.
#[derive(Debug)]
pub struct Procedure {
    /// Name of the function with `MPI_`.
    pub name: String,
    /// Type of the result in Fortran; none: a subroutine that returns its error code as an argument.
    result: Option<String>,
    dummies: Vec<Dummy>,
    by_hand: bool,
    keeps_arguments: bool,
    /// For large counts (`MPI_Send_c`): `mpi_f08` has it under the name of its twin, `MPI_Send`.
    large: bool,
}

impl Fortran {
    /// True if the function has a procedure; those for large counts have one if their twins have one by rule.
    pub fn has(&self, function: &str) -> bool {
        if let Some(twin) = function.strip_suffix("_c") {
            return self.has(twin) && !self.by_hand.iter().any(|name| name == twin);
        }
        let absent = ["_toint", "_fromint"].iter().any(|end| function.ends_with(end));
        !absent && !function.starts_with("MPI_T_") && !self.absent.iter().any(|n| n == function)
    }

    /// All procedures.
    pub fn procedures(
        &self,
        functions: &[Function],
        constants: &Constants,
    ) -> Result<Vec<Procedure>, LayoutError> {
        let all = self.absent.iter().chain(&self.by_hand).map(String::as_str);
        let tables = [&self.functions, &self.inout, &self.indices];
        let all = all.chain(tables.into_iter().flat_map(Table::keys).map(String::as_str));
        let all = all.chain(self.lengths.keys().filter_map(|key| key.split('.').next()));
        for name in all {
            if !functions.iter().any(|function| function.name == name) {
                return Err(MpiError::NoFunction { name: name.to_owned() }.into());
            }
        }
        let there = functions.iter().filter(|function| self.has(&function.name));
        there.map(|function| self.procedure(function, constants)).collect()
    }

    fn procedure(
        &self,
        function: &Function,
        constants: &Constants,
    ) -> Result<Procedure, LayoutError> {
        let name = function.name.clone();
        let parameters = function.parameters.split(',').map(str::trim);
        let parameters = parameters.filter(|parameter| !["void", "..."].contains(parameter));
        let dummies = parameters
            .map(|parameter| self.dummy(&name, parameter, constants))
            .collect::<Result<_, _>>()?;
        let large = name.ends_with("_c");
        Ok(Procedure {
            large,
            result: self.functions.get(&name).map(|result| text(result).into()),
            by_hand: self.by_hand.contains(&name),
            keeps_arguments: function.makes_request,
            name,
            dummies,
        })
    }

    fn dummy(
        &self,
        function: &str,
        parameter: &str,
        constants: &Constants,
    ) -> Result<Dummy, LayoutError> {
        let plain = parameter.split('[').next().unwrap_or_default().trim();
        let start = plain.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
        let (kind, name) = plain.split_at(start);
        let (is_const, kind) = match kind.trim().strip_prefix("const ") {
            Some(rest) => (true, rest.trim()),
            None => (false, kind.trim()),
        };
        let is_array = parameter.contains('[');
        let listed = |list: &[String]| list.iter().any(|listed| listed == name);
        let shape = match parameter.contains("][") {
            true => Shape::Triples,
            false if is_array => Shape::Array,
            false => Shape::Scalar,
        };
        let base = kind.trim_end_matches(['*', ' ']);
        let is_pointer = kind.ends_with('*');
        let callback =
            constants.callbacks.contains_key(base) || constants.callback_aliases.contains_key(base);
        let kind = match base {
            _ if name == "argc" || name == "argv" => Kind::Nothing,
            "void" if listed(&self.arguments.words) => Kind::Word,
            "void" if listed(&self.arguments.choice) => Kind::Choice,
            "int" if listed(&self.arguments.weights) => Kind::Weights,
            "char" if is_const => Kind::TextIn,
            "char" => match self.texts.get(name) {
                Some(longest) => Kind::TextOut(text(longest).into()),
                None => Kind::TextOut(String::new()),
            },
            "MPI_Status" if name == "array_of_statuses" => Kind::Status(Shape::Array),
            "MPI_Status" => Kind::Status(Shape::Scalar),
            _ if callback => Kind::Callback(base.into()),
            _ if constants.handle.contains_key(base) => {
                let inout =
                    self.inout.get(twin_of(function)).is_some_and(|inout| text(inout) == name);
                match (is_pointer, is_array) {
                    (true, _) => Kind::HandlePlace(base.into(), inout),
                    (_, true) => Kind::Handles(base.into(), !is_const),
                    _ => Kind::Handle(base.into()),
                }
            }
            _ => {
                let number = self.number(base, name).ok_or_else(|| MpiError::NoRule {
                    function: function.to_owned(),
                    parameter: parameter.to_owned(),
                })?;
                match is_pointer || is_array {
                    true => Kind::Place(number, shape),
                    false => Kind::Value(number),
                }
            }
        };
        Ok(Dummy { name: name.into(), kind })
    }

    fn number(&self, base: &str, name: &str) -> Option<Number> {
        Some(match base {
            "int" if self.arguments.logical.iter().any(|n| n == name) => Number::Logical,
            "int" => Number::Integer,
            "MPI_Aint" => Number::Address,
            "MPI_Offset" => Number::Offset,
            "MPI_Count" => Number::Count,
            _ => return None,
        })
    }

    /// Variables whose address has a meaning: name, words, dimensions.
    fn sentinels(&self) -> impl Iterator<Item = (&str, i64, &str)> {
        self.sentinels.iter().map(|(name, parts)| {
            let words = parts.get(0).and_then(toml::Value::as_integer).unwrap_or(1);
            (name.as_str(), words, parts.get(1).map_or("", text))
        })
    }

    /// Callbacks with a meaning, and their role: `copy` or `delete`.
    fn callbacks(&self) -> impl Iterator<Item = (&str, &str)> {
        strings(&self.callbacks)
    }
}

impl Number {
    fn c(self) -> &'static str {
        match self {
            Number::Integer | Number::Logical => "int",
            Number::Address => "MPI_Aint",
            Number::Offset => "MPI_Offset",
            Number::Count => "MPI_Count",
        }
    }

    fn fortran(self) -> &'static str {
        match self {
            Number::Integer => "integer",
            Number::Logical => "logical",
            Number::Address => "integer(kind=MPI_ADDRESS_KIND)",
            Number::Offset => "integer(kind=MPI_OFFSET_KIND)",
            Number::Count => "integer(kind=MPI_COUNT_KIND)",
        }
    }
}

impl Procedure {
    /// Arguments that Fortran has.
    fn dummies(&self) -> impl Iterator<Item = &Dummy> {
        self.dummies.iter().filter(|dummy| dummy.kind != Kind::Nothing)
    }
}

/// The function of a procedure without the end of those for large counts.
fn twin_of(function: &str) -> &str {
    function.strip_suffix("_c").unwrap_or(function)
}
