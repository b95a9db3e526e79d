//! Loads `abi/portals/` and computes the layouts of its structures as the machine's compilers do.

use super::fault::PortalsError;
use crate::LayoutError;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::Path;

/// The API.
#[derive(Debug)]
pub struct Portals {
    /// Functions; the order of those that are not `local` gives their numbers.
    pub functions: Vec<Function>,
    /// Words that functions written by hand hand over behind their parameters.
    pub words: BTreeMap<String, Vec<[String; 3]>>,
    /// Types.
    pub types: Types,
    /// Groups of constants.
    pub groups: Vec<Group>,
    /// The reference page's text.
    pub prose: String,
}

/// One function.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Function {
    /// Name.
    pub name: String,
    /// Section of the specification.
    pub section: String,
    /// Result type in C; a return code if not given.
    #[serde(default = "int")]
    pub result: String,
    /// Description.
    pub doc: String,
    /// Type, name, meaning.
    pub parameters: Vec<[String; 3]>,
    /// Return codes of its own.
    #[serde(default)]
    pub errors: Vec<String>,
    /// True if it is written by hand in the library.
    #[serde(default)]
    pub written: bool,
    /// True if it never reaches the simulator.
    #[serde(default)]
    pub local: bool,
}

fn int() -> String {
    "int".into()
}

/// Contents of `types.toml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Types {
    /// Names of integers.
    #[serde(rename = "scalar")]
    pub scalars: Vec<Scalar>,
    /// Structures.
    #[serde(rename = "struct")]
    pub structs: Vec<Structure>,
    /// Callbacks of programs.
    #[serde(rename = "callback")]
    pub callbacks: Vec<Callback>,
}

/// A name of an integer type.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scalar {
    /// Name.
    pub name: String,
    /// Type.
    #[serde(rename = "type")]
    pub kind: String,
    /// Meaning.
    pub doc: String,
    /// Section of the specification.
    pub source: String,
}

/// A structure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Name.
    pub name: String,
    /// Meaning.
    pub doc: String,
    /// Section of the specification.
    pub source: String,
    /// Type, name, meaning.
    pub fields: Vec<[String; 3]>,
}

/// A type of function.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Callback {
    /// Name of the pointer type.
    pub name: String,
    /// Result.
    pub result: String,
    /// Parameters.
    pub parameters: String,
    /// Event at which it runs.
    pub doc: String,
    /// Section of the specification.
    pub source: String,
}

/// Constants of one purpose.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// The purpose.
    pub doc: String,
    /// Section of the specification.
    pub source: String,
    /// Module in Rust.
    pub rust: String,
    /// Type that they are cast to in C.
    #[serde(rename = "type")]
    pub kind: Option<String>,
    /// Name, value, meaning.
    pub values: Vec<(String, i64, String)>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FunctionsFile {
    function: Vec<Function>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WordsFile {
    words: BTreeMap<String, Vec<[String; 3]>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ConstantsFile {
    group: Vec<Group>,
}

impl Portals {
    /// Reads `portals/` below `folder`.
    pub fn load(folder: &Path) -> Result<Portals, LayoutError> {
        let folder = folder.join("portals");
        let functions: FunctionsFile = read(&folder.join("functions.toml"))?;
        let words: WordsFile = read(&folder.join("words.toml"))?;
        let constants: ConstantsFile = read(&folder.join("constants.toml"))?;
        let types: Types = read(&folder.join("types.toml"))?;
        let prose = folder.join("reference.md");
        let prose = std::fs::read_to_string(&prose).map_err(|e| LayoutError::Read(prose, e))?;
        let (functions, groups) = (functions.function, constants.group);
        let portals = Portals { functions, words: words.words, types, groups, prose };
        portals.check()?;
        Ok(portals)
    }

    fn check(&self) -> Result<(), PortalsError> {
        let codes = self.groups.iter().filter(|group| group.rust == "code");
        let codes: Vec<&String> =
            codes.flat_map(|group| group.values.iter().map(|value| &value.0)).collect();
        for f in &self.functions {
            if let Some(code) = f.errors.iter().find(|code| !codes.contains(code)) {
                let (function, code) = (f.name.clone(), code.clone());
                return Err(PortalsError::Code { function, code });
            }
            for [kind, name, _] in self.handed_over(f) {
                if kind.ends_with('*') || self.size(kind).is_some() {
                    continue;
                }
                let (function, name, kind) = (f.name.clone(), name.clone(), kind.clone());
                return Err(PortalsError::Parameter { function, name, kind });
            }
        }
        let is_written = |name: &str| self.calls().any(|f| f.written && f.name == name);
        if let Some(name) = self.words.keys().find(|name| !is_written(name)) {
            return Err(PortalsError::Generated { function: name.clone() });
        }
        for s in &self.types.structs {
            if let Some(field) = s.fields.iter().find(|field| self.size(&field[0]).is_none()) {
                let (structure, kind) = (s.name.clone(), field[0].clone());
                return Err(PortalsError::Field { structure, kind });
            }
        }
        Ok(())
    }

    /// Functions that reach the simulator, in the order of their numbers.
    pub fn calls(&self) -> impl Iterator<Item = &Function> {
        self.functions.iter().filter(|f| !f.local)
    }

    /// Words that a function hands over: type, name, meaning.
    pub fn handed_over<'a>(
        &'a self,
        function: &'a Function,
    ) -> impl Iterator<Item = &'a [String; 3]> {
        let more = self.words.get(&function.name).into_iter().flatten();
        function.parameters.iter().chain(more)
    }

    /// The structure of a name.
    pub fn structure(&self, name: &str) -> Option<&Structure> {
        self.types.structs.iter().find(|s| s.name == name)
    }

    /// Size and alignment of a type.
    pub fn size(&self, kind: &str) -> Option<(usize, usize)> {
        let kind = kind.trim_start_matches("volatile ");
        if kind.ends_with('*') || self.types.callbacks.iter().any(|c| c.name == kind) {
            return Some((8, 8));
        }
        match kind {
            "int" | "unsigned" | "unsigned int" | "uint32_t" => return Some((4, 4)),
            "uint64_t" => return Some((8, 8)),
            _ => {}
        }
        if let Some(scalar) = self.types.scalars.iter().find(|scalar| scalar.name == kind) {
            return self.size(&scalar.kind);
        }
        let structure = self.structure(kind)?;
        let (_, end, alignment) = self.layout(structure)?;
        Some((end, alignment))
    }

    /// Offsets of a structure's fields, its size and its alignment.
    pub fn layout(&self, structure: &Structure) -> Option<(Vec<usize>, usize, usize)> {
        let (mut offsets, mut end, mut strictest) = (Vec::new(), 0usize, 1);
        for [kind, _, _] in &structure.fields {
            let (size, alignment) = self.size(kind)?;
            let offset = end.next_multiple_of(alignment);
            offsets.push(offset);
            end = offset + size;
            strictest = strictest.max(alignment);
        }
        Some((offsets, end.next_multiple_of(strictest), strictest))
    }
}

impl Function {
    /// Its parameter list in C.
    pub fn parameter_list(&self) -> String {
        if self.parameters.is_empty() {
            return "void".into();
        }
        let each = self.parameters.iter().map(|[kind, name, _]| match kind.ends_with('*') {
            true => format!("{kind}{name}"),
            false => format!("{kind} {name}"),
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// Its declaration in C, without the semicolon.
    pub fn declaration(&self) -> String {
        let gap = if self.result.ends_with('*') { "" } else { " " };
        format!("{}{gap}{}({})", self.result, self.name, self.parameter_list())
    }
}

fn read<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, LayoutError> {
    let text = std::fs::read_to_string(path).map_err(|e| LayoutError::Read(path.into(), e))?;
    toml::from_str(&text).map_err(|e| LayoutError::Format(path.into(), e))
}
