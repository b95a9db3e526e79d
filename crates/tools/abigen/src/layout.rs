//! The data of one machine's folder in `abi/`, checked for soundness when loaded.

use crate::mpi::fault::MpiError;
use crate::portals::fault::PortalsError;
use crate::registers::{Block, Names};
use crate::unsound::{TextError, Unsound};
use serde::Deserialize;
use std::collections::HashSet;
use std::fmt;
use std::path::{Path, PathBuf};

/// All layouts of a machine.
#[derive(Debug, Default)]
pub struct Layout {
    /// Name for people.
    pub title: String,
    /// Prefix of C names, lower case.
    pub prefix: String,
    /// Description of the folder.
    pub doc: String,
    /// Byte order of all structures.
    pub order: Order,
    /// Sections in the order of their file names.
    pub sections: Vec<Section>,
}

/// Byte order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// The least significant byte first.
    #[default]
    Little,
    /// The most significant byte first.
    Big,
}

impl Order {
    /// Its name in a sentence, and in the names of Rust's functions: `little` and `le`.
    pub fn names(self) -> (&'static str, &'static str) {
        match self {
            Order::Little => ("little", "le"),
            Order::Big => ("big", "be"),
        }
    }
}

/// Definitions of one file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Section {
    /// File name without its ending.
    #[serde(skip)]
    pub name: String,
    /// 32-bit constants.
    #[serde(default, rename = "constant")]
    pub constants: Vec<Constant>,
    /// Registers.
    #[serde(default, rename = "block")]
    pub blocks: Vec<Block>,
    /// Named values of a field.
    #[serde(default, rename = "enum")]
    pub enums: Vec<Enumeration>,
    /// Layouts in memory.
    #[serde(default, rename = "struct")]
    pub structs: Vec<Structure>,
}

/// A 32-bit constant.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Constant {
    /// Upper-case name.
    pub name: String,
    /// Value.
    pub value: u32,
    /// Description.
    pub doc: String,
    /// Source.
    pub source: String,
}

/// Named values of a field.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Enumeration {
    /// Lower-case name.
    pub name: String,
    /// Integer type that holds it.
    pub repr: Scalar,
    /// Description.
    pub doc: String,
    /// Source.
    pub source: String,
    /// The values.
    pub values: Vec<Value>,
}

/// One value of an enumeration.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Value {
    /// Upper-case name.
    pub name: String,
    /// Value.
    pub value: u32,
    /// Meaning.
    pub doc: String,
}

/// A layout in memory.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Structure {
    /// Lower-case name.
    pub name: String,
    /// Bytes.
    pub size: usize,
    /// Description.
    pub doc: String,
    /// Source.
    pub source: String,
    /// Fields by rising offset.
    pub fields: Vec<Field>,
}

/// A field of a structure.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Lower-case name.
    pub name: String,
    /// Bytes from the structure's start.
    pub offset: usize,
    /// Its type.
    #[serde(rename = "type")]
    pub kind: FieldType,
    /// Meaning.
    pub doc: String,
}

/// An unsigned integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scalar {
    /// One byte.
    U8,
    /// Two bytes.
    U16,
    /// Four bytes.
    U32,
    /// Eight bytes.
    U64,
}

/// A scalar or an array of scalars, written `u32` or `[u32; 2]`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct FieldType {
    /// Element.
    pub element: Scalar,
    /// Elements of an array; none for a scalar.
    pub count: Option<usize>,
}

/// Error that makes the data unusable, with the file.
#[derive(Debug, thiserror::Error)]
pub enum LayoutError {
    /// The folder or a file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(PathBuf, std::io::Error),
    /// A file is not in the format.
    #[error("{0}: {1}")]
    Format(PathBuf, toml::de::Error),
    /// A definition contradicts itself or another.
    #[error("{file}.toml: {name}: {why}")]
    Unsound {
        /// File of the definition, without its ending.
        file: String,
        /// Its name.
        name: String,
        /// Its contradiction.
        why: Box<Unsound>,
    },
    /// The API of MPI contradicts itself.
    #[error(transparent)]
    Mpi(#[from] MpiError),
    /// The API of Portals contradicts itself.
    #[error("abi/portals: {0}")]
    Portals(#[from] PortalsError),
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Machine {
    title: String,
    prefix: String,
    doc: String,
    #[serde(default)]
    order: Order,
}

impl Scalar {
    /// Size in bytes, which is also the natural alignment.
    pub fn size(self) -> usize {
        match self {
            Scalar::U8 => 1,
            Scalar::U16 => 2,
            Scalar::U32 => 4,
            Scalar::U64 => 8,
        }
    }
    /// Largest value.
    pub fn max(self) -> u64 {
        u64::MAX >> (64 - 8 * self.size())
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "u{}", 8 * self.size())
    }
}

impl TryFrom<String> for FieldType {
    type Error = TextError;
    fn try_from(text: String) -> Result<FieldType, TextError> {
        let unknown = || TextError::Type { text: text.clone() };
        let scalar = |name: &str| match name {
            "u8" => Ok(Scalar::U8),
            "u16" => Ok(Scalar::U16),
            "u32" => Ok(Scalar::U32),
            "u64" => Ok(Scalar::U64),
            _ => Err(unknown()),
        };
        let Some(inner) = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) else {
            return Ok(FieldType { element: scalar(&text)?, count: None });
        };
        let (element, count) = inner.split_once(';').ok_or_else(unknown)?;
        let count = count.trim().parse();
        let count = count.map_err(|_| TextError::Length { text: text.clone() })?;
        Ok(FieldType { element: scalar(element.trim())?, count: Some(count) })
    }
}

impl fmt::Display for FieldType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.count {
            None => write!(f, "{}", self.element),
            Some(count) => write!(f, "[{}; {count}]", self.element),
        }
    }
}

impl FieldType {
    /// Bytes.
    pub fn size(self) -> usize {
        self.element.size() * self.count.unwrap_or(1)
    }
}

impl Structure {
    /// Alignment of the most demanding field.
    pub fn alignment(&self) -> usize {
        self.fields.iter().map(|field| field.kind.element.size()).max().unwrap_or(1)
    }

    fn check(&self) -> Result<(), Unsound> {
        let mut end = 0;
        let mut names = HashSet::new();
        for field in &self.fields {
            let Field { ref name, offset, kind, .. } = *field;
            let field = || name.clone();
            if !names.insert(name) {
                return Err(Unsound::FieldTwice { field: field() });
            }
            if offset < end {
                return Err(Unsound::Overlap { field: field(), offset });
            }
            if offset % kind.element.size() != 0 {
                return Err(Unsound::Alignment { field: field(), offset });
            }
            end = offset + kind.size();
            if end > self.size {
                return Err(Unsound::Beyond { field: field(), end, size: self.size });
            }
        }
        if self.size % self.alignment() != 0 {
            return Err(Unsound::Size { size: self.size });
        }
        Ok(())
    }
}

impl Enumeration {
    fn check(&self) -> Result<(), Unsound> {
        let mut names = HashSet::new();
        for value in &self.values {
            let Value { ref name, value, .. } = *value;
            if u64::from(value) > self.repr.max() {
                let (name, repr) = (name.clone(), self.repr.to_string());
                return Err(Unsound::Value { name, value, repr });
            }
            if !names.insert(name) {
                return Err(Unsound::ValueTwice { name: name.clone() });
            }
        }
        Ok(())
    }
}

impl Layout {
    /// Reads all files of `folder` and checks them.
    pub fn load(folder: &Path) -> Result<Layout, LayoutError> {
        let mut layout = Layout::default();
        for path in toml_files(folder)? {
            let text =
                std::fs::read_to_string(&path).map_err(|e| LayoutError::Read(path.clone(), e))?;
            let bad = |e: toml::de::Error| LayoutError::Format(path.clone(), e);
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            if name == "machine" {
                let machine: Machine = toml::from_str(&text).map_err(bad)?;
                layout.title = machine.title;
                layout.prefix = machine.prefix;
                layout.doc = machine.doc;
                layout.order = machine.order;
                continue;
            }
            let mut section: Section = toml::from_str(&text).map_err(bad)?;
            section.name = name;
            layout.sections.push(section);
        }
        layout.check()?;
        Ok(layout)
    }

    /// Checks that every definition is sound by itself, and that no name is defined twice.
    pub fn check(&self) -> Result<(), LayoutError> {
        let mut names = HashSet::new();
        for section in &self.sections {
            let unsound = |name: &str, why: Unsound| LayoutError::Unsound {
                file: section.name.clone(),
                name: name.to_owned(),
                why: Box::new(why),
            };
            let constants = section.constants.iter().map(|c| &c.name);
            let enums = section.enums.iter().map(|e| &e.name);
            let structs = section.structs.iter().map(|s| &s.name);
            let blocks = section.blocks.iter().map(|b| &b.name);
            for name in constants.chain(enums).chain(structs).chain(blocks) {
                if !names.insert(name.clone()) {
                    return Err(unsound(name, Unsound::Twice));
                }
            }
            for e in &section.enums {
                e.check().map_err(|why| unsound(&e.name, why))?;
            }
            for s in &section.structs {
                s.check().map_err(|why| unsound(&s.name, why))?;
            }
            for b in &section.blocks {
                b.resolve(&self.names()).map_err(|why| unsound(&b.name, why))?;
            }
        }
        Ok(())
    }

    /// Names that blocks of registers refer to.
    pub fn names(&self) -> Names<'_> {
        let constants = self.sections.iter().flat_map(|section| &section.constants).collect();
        Names { constants, enums: self.sections.iter().flat_map(|s| &s.enums).collect() }
    }

    /// All blocks of registers.
    pub fn blocks(&self) -> impl Iterator<Item = &Block> {
        self.sections.iter().flat_map(|section| &section.blocks)
    }
}

fn toml_files(folder: &Path) -> Result<Vec<PathBuf>, LayoutError> {
    let unreadable = |e| LayoutError::Read(folder.to_path_buf(), e);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}
