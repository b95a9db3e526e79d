//! Loads `abi/mpi/` and decides how each argument is passed to the simulator.

use super::fault::MpiError;
use super::fortran::{Fortran, Procedure};
use crate::LayoutError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Table;

/// Functions that change a request instead of making one, although they look alike.
const CHANGE_A_REQUEST: [&str; 3] = ["MPI_Cancel", "MPI_Request_free", "MPI_Start"];

/// The ABI.
#[derive(Debug)]
pub struct Mpi {
    /// Functions by name; their order gives their numbers.
    pub functions: Vec<Function>,
    /// Constants and types.
    pub constants: Constants,
    /// Rules of Fortran.
    pub fortran: Fortran,
    /// Procedures of Fortran.
    pub procedures: Vec<Procedure>,
    /// Names in Rust of arguments that have another one in the standard.
    pub fields: BTreeMap<String, String>,
    /// Text of the channel's definition and of Portals' functions and types, for the fingerprint only.
    channel: String,
}

/// One `MPI_` function.
#[derive(Debug)]
pub struct Function {
    /// Name with `MPI_`.
    pub name: String,
    /// Result type in C.
    pub result: String,
    /// Its parameter list in C.
    pub parameters: String,
    /// The parameters one by one, without an ellipsis.
    pub arguments: Vec<Argument>,
    /// True if the library may post it without waiting for an answer.
    pub posted: bool,
    /// True for a blocking send whose payload, if it is short, travels in the record, so that it can be
    /// posted.
    pub carried: bool,
    /// True if it is written by hand in the library.
    pub local: bool,
    /// True if it may be called before `MPI_Init` and after `MPI_Finalize`.
    pub any_time: bool,
    /// True if its last argument is a request that it makes, under a handle that the library has chosen.
    pub makes_request: bool,
}

/// One parameter.
#[derive(Debug)]
pub struct Argument {
    /// Name.
    pub name: String,
    /// Its declaration in C.
    pub declaration: String,
    /// True for pointers and handles, false for integers.
    pub is_pointer: bool,
}

/// Contents of `constants.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constants {
    /// Handle types: C name to tag and predefined values.
    pub handle: Table,
    /// Second names of constants.
    pub aliases: Table,
    /// Pointers with a meaning: name to C type and value.
    pub pointers: Table,
    /// Integers that may be used in preprocessor conditions.
    pub macros: Table,
    /// Constants of type `MPI_Offset`.
    pub offsets: Table,
    /// Groups of integers.
    pub integers: Vec<Integers>,
    /// Enumerated types.
    pub enumeration: Table,
    /// Callback types: name to result and parameters.
    pub callbacks: Table,
    /// Second names of callback types.
    pub callback_aliases: Table,
    /// Old names of functions.
    pub renamed: Table,
}

/// Integers of one purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Integers {
    /// The purpose.
    pub doc: String,
    /// Name to value.
    pub values: Table,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionsFile {
    posted: Vec<String>,
    carried: Vec<String>,
    local: Vec<String>,
    any_time: Vec<String>,
    fields: BTreeMap<String, String>,
    returns: Table,
    functions: Table,
}

impl Mpi {
    /// Reads `mpi/` below `folder`, and the part of `rank/` that belongs to the fingerprint.
    pub fn load(folder: &Path) -> Result<Mpi, LayoutError> {
        let mut channel = String::new();
        for name in ["rank/channel.toml", "portals/functions.toml", "portals/types.toml"] {
            let file = folder.join(name);
            channel += &std::fs::read_to_string(&file).map_err(|e| LayoutError::Read(file, e))?;
        }
        let folder = folder.join("mpi");
        let constants: Constants = read(&folder.join("constants.toml"))?;
        let file: FunctionsFile = read(&folder.join("functions.toml"))?;
        let listed = [&file.posted, &file.carried, &file.local, &file.any_time];
        for name in listed.into_iter().flatten().chain(file.returns.keys()) {
            if !file.functions.contains_key(name) {
                return Err(MpiError::NoSignature { function: name.clone() }.into());
            }
        }
        let functions = file.functions.iter();
        let functions = functions.map(|(name, list)| function(&file, &constants, name, text(list)));
        let functions: Vec<Function> = functions.collect();
        let fortran: Fortran = read(&folder.join("fortran.toml"))?;
        let procedures = fortran.procedures(&functions, &constants)?;
        let fields = file.fields;
        Ok(Mpi { functions, constants, fortran, procedures, fields, channel })
    }

    /// Most arguments of any function.
    pub fn arguments_max(&self) -> usize {
        self.functions.iter().map(|f| f.arguments.len()).max().unwrap_or(0)
    }

    /// Fingerprint, which changes with the functions and with the channel: library and simulator compare it.
    pub fn fingerprint(&self) -> u32 {
        let functions = self.functions.iter();
        let names = functions.flat_map(|f| [f.name.as_str(), f.parameters.as_str()]);
        let names = names.chain([self.channel.as_str()]);
        // FNV-1a: no security needed, only that a stale library is noticed.
        names
            .flat_map(str::bytes)
            .fold(0x811C_9DC5, |hash: u32, byte| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193))
    }
}

impl Function {
    /// True if it makes a persistent request.
    pub fn is_persistent(&self) -> bool {
        self.makes_request && (self.name.ends_with("_init") || self.name.ends_with("_init_c"))
    }
}

impl Constants {
    /// Handle types: C name, tag, predefined values.
    pub fn handles(&self) -> impl Iterator<Item = (&str, &str, Vec<(&str, i64)>)> {
        self.handle.iter().map(|(name, entry)| {
            let values = entry.get("values").and_then(|v| v.as_table());
            let values = values.map(numbers).unwrap_or_default();
            (name.as_str(), entry.get("tag").map_or("", text), values)
        })
    }
}

/// The integers of a table.
pub fn numbers(table: &Table) -> Vec<(&str, i64)> {
    table.iter().map(|(name, value)| (name.as_str(), value.as_integer().unwrap_or(0))).collect()
}

/// The strings of a table.
pub fn strings(table: &Table) -> impl Iterator<Item = (&str, &str)> {
    table.iter().map(|(name, value)| (name.as_str(), text(value)))
}

/// The string of a value; empty if it is none.
pub fn text(value: &toml::Value) -> &str {
    value.as_str().unwrap_or_default()
}

fn function(file: &FunctionsFile, constants: &Constants, name: &str, list: &str) -> Function {
    let arguments: Vec<Argument> = list
        .split(',')
        .map(str::trim)
        .filter(|parameter| *parameter != "void" && *parameter != "...")
        .map(|parameter| argument(constants, parameter))
        .collect();
    let last = list.rsplit(',').next().unwrap_or_default().trim();
    let holds = |names: &[String]| names.iter().any(|listed| listed == name);
    Function {
        name: name.into(),
        result: file.returns.get(name).map_or("int", text).into(),
        parameters: list.into(),
        arguments,
        posted: holds(&file.posted),
        carried: holds(&file.carried),
        local: holds(&file.local),
        any_time: holds(&file.any_time),
        makes_request: last == "MPI_Request *request" && !CHANGE_A_REQUEST.contains(&name),
    }
}

/// Parses `const int counts[]`.
fn argument(constants: &Constants, parameter: &str) -> Argument {
    let plain = parameter.split('[').next().unwrap_or_default().trim();
    let start = plain.rfind(|c: char| !c.is_alphanumeric() && c != '_').map_or(0, |at| at + 1);
    let (kind, name) = plain.split_at(start);
    let is_handle = constants.handle.contains_key(kind.trim());
    let is_pointer = is_handle || kind.contains('*') || parameter.contains('[');
    Argument { name: name.into(), declaration: parameter.into(), is_pointer }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, LayoutError> {
    let text = std::fs::read_to_string(path).map_err(|e| LayoutError::Read(path.into(), e))?;
    toml::from_str(&text).map_err(|e| LayoutError::Format(path.into(), e))
}
