//! Blocks of registers: access, fields and reset values, checked for soundness; what is generated from them
//! stands in a file for each language.

pub mod c;
pub mod page;
pub mod rust;
pub mod sv;

use crate::layout::{Constant, Enumeration};
use crate::unsound::{RegisterError, TextError, Unsound};
use serde::Deserialize;
use std::collections::{BTreeMap, HashSet};

/// Registers of a device that are decoded together.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Block {
    /// Lower-case name.
    pub name: String,
    /// Description: what the offsets count from.
    pub doc: String,
    /// Source.
    pub source: String,
    /// Bits of a register: 32 or 64.
    pub width: u32,
    /// True if each register is at the address that a constant of the same name has. Its description is the
    /// constant's, and the block defines no names of its own.
    #[serde(default)]
    pub constants: bool,
    /// The registers.
    pub registers: Vec<Register>,
}

/// A register, or an array of equal ones.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Register {
    /// Upper-case name.
    pub name: String,
    /// Bytes from the block's start.
    #[serde(default)]
    pub offset: u32,
    /// Registers of an array.
    #[serde(default = "one")]
    pub count: u32,
    /// Bytes from one of an array to the next; a register's own if it is not given.
    #[serde(default)]
    pub stride: u32,
    /// Access to bits of which no field says another.
    pub access: Access,
    /// Value after a reset.
    #[serde(default)]
    pub reset: Option<Reset>,
    /// Unit of its value.
    #[serde(default)]
    pub unit: Option<String>,
    /// True if the device changes it as time passes.
    #[serde(default)]
    pub volatile: bool,
    /// Condition under which it is there.
    #[serde(default)]
    pub when: String,
    /// Meaning.
    #[serde(default)]
    pub doc: String,
    /// Enumeration of masks whose values are the fields.
    #[serde(default)]
    pub bits: Option<String>,
    /// Access to those of them that have another.
    #[serde(default)]
    pub except: BTreeMap<String, Access>,
    /// Fields of its own.
    #[serde(default)]
    pub fields: Vec<Field>,
}

fn one() -> u32 {
    1
}

/// A field of a register.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Field {
    /// Upper-case name.
    pub name: String,
    /// Highest and lowest bit, as `7:0`, or one bit.
    pub bits: Bits,
    /// Access, if it is not the register's.
    #[serde(default)]
    pub access: Option<Access>,
    /// Enumeration of its values.
    #[serde(default)]
    pub values: Option<String>,
    /// Meaning.
    pub doc: String,
}

/// Access to a register or a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum Access {
    /// Read only.
    Ro,
    /// Read and write.
    Rw,
    /// Write only.
    Wo,
    /// Ones that are written clear.
    W1c,
    /// Ones that are written set.
    W1s,
    /// Any write clears.
    Wc,
}

/// Every access: its name in the data, its name in Rust, and its description.
const ACCESSES: [(Access, &str, &str, &str); 6] = [
    (Access::Ro, "ro", "ReadOnly", "can be read; a write changes nothing"),
    (Access::Rw, "rw", "ReadWrite", "a read gives what was written last"),
    (Access::Wo, "wo", "WriteOnly", "a write does something; what a read gives has no meaning"),
    (Access::W1c, "w1c", "OneClears", "ones that are written clear it"),
    (Access::W1s, "w1s", "OneSets", "ones that are written set it"),
    (Access::Wc, "wc", "WriteClears", "any write of the register clears it"),
];

impl Access {
    fn row(self) -> (&'static str, &'static str, &'static str) {
        let found = ACCESSES.iter().find(|row| row.0 == self);
        let (_, name, rust, doc) = found.expect("every access has a row");
        (name, rust, doc)
    }
    /// Its name in the data.
    pub fn name(self) -> &'static str {
        self.row().0
    }
    /// Its name in Rust.
    pub fn rust(self) -> &'static str {
        self.row().1
    }
    /// True if a read gives its value.
    pub fn is_readable(self) -> bool {
        self != Access::Wo
    }
    /// Its description.
    pub fn doc(self) -> &'static str {
        self.row().2
    }
}

impl TryFrom<String> for Access {
    type Error = TextError;
    fn try_from(text: String) -> Result<Access, TextError> {
        let found = ACCESSES.iter().find(|row| row.1 == text);
        let known = || ACCESSES.iter().map(|row| row.1).collect();
        found.map(|row| row.0).ok_or_else(|| TextError::Access { text, known: known() })
    }
}

/// Value of a register after a reset: a number, or a parameter of the machine in words.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Reset {
    /// This value.
    Value(u64),
    /// The parameter that gives it.
    Parameter(String),
}

/// A run of bits, written `7:0` or `3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Bits {
    /// The highest.
    pub msb: u32,
    /// The lowest.
    pub lsb: u32,
}

impl Bits {
    /// The run that a mask is; `None` if it is none.
    pub fn of_mask(mask: u64) -> Option<Bits> {
        let (lsb, width) = (mask.trailing_zeros(), mask.count_ones());
        let run = width > 0 && mask >> lsb == u64::MAX >> (64 - width);
        run.then_some(Bits { msb: lsb + width - 1, lsb })
    }
    /// Number of bits.
    pub fn width(self) -> u32 {
        self.msb - self.lsb + 1
    }
    /// Ones at these bits.
    pub fn mask(self) -> u64 {
        u64::MAX >> (64 - self.width()) << self.lsb
    }
}

impl TryFrom<String> for Bits {
    type Error = TextError;
    fn try_from(text: String) -> Result<Bits, TextError> {
        let (msb, lsb) = text.split_once(':').unwrap_or((&text, &text));
        let number = |part: &str| part.parse::<u32>().ok().filter(|bit| *bit < 64);
        let bits = number(msb).zip(number(lsb)).filter(|(msb, lsb)| msb >= lsb);
        let bits = bits.map(|(msb, lsb)| Bits { msb, lsb });
        bits.ok_or(TextError::Bits { text })
    }
}

impl std::fmt::Display for Bits {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.width() {
            1 => write!(f, "{}", self.lsb),
            _ => write!(f, "{}:{}", self.msb, self.lsb),
        }
    }
}

/// A field with all that the register and the enumeration give it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Upper-case name.
    pub name: String,
    /// Its bits.
    pub bits: Bits,
    /// Access.
    pub access: Access,
    /// Meaning.
    pub doc: String,
}

/// A layout's names that blocks refer to.
pub struct Names<'a> {
    /// Constants of all sections.
    pub constants: Vec<&'a Constant>,
    /// Enumerations of all sections.
    pub enums: Vec<&'a Enumeration>,
}

/// A register with all that constants and enumerations give it.
#[derive(Clone, Debug)]
pub struct Resolved<'a> {
    /// As it is in the data.
    pub data: &'a Register,
    /// Its offset or address.
    pub offset: u32,
    /// Bytes from one of an array to the next.
    pub stride: u32,
    /// Meaning.
    pub doc: &'a str,
    /// Fields, or none: then the register is its own.
    pub parts: Vec<Part>,
    /// Bits of the register.
    pub width: u32,
}

impl Resolved<'_> {
    /// Fields, of which a register without any has one of its own name.
    pub fn fields(&self) -> Vec<Part> {
        if !self.parts.is_empty() {
            return self.parts.clone();
        }
        let (name, access) = (self.data.name.clone(), self.data.access);
        let bits = Bits { msb: self.width - 1, lsb: 0 };
        vec![Part { name, bits, access, doc: String::new() }]
    }
    /// Bits with an access of which `wanted` is true.
    pub fn mask(&self, wanted: impl Fn(Access) -> bool) -> u64 {
        self.fields().iter().filter(|part| wanted(part.access)).fold(0, |m, p| m | p.bits.mask())
    }
    /// Value after a reset, if it is a number.
    pub fn reset(&self) -> Option<u64> {
        match self.data.reset {
            Some(Reset::Value(value)) => Some(value),
            _ => None,
        }
    }
    fn end(&self) -> u64 {
        u64::from(self.offset) + u64::from(self.stride) * u64::from(self.data.count)
    }

    fn check(&self) -> Result<(), RegisterError> {
        let own = self.width / 8;
        if self.offset % own != 0 {
            return Err(RegisterError::Offset { offset: self.offset, bytes: own });
        }
        if self.stride < own {
            return Err(RegisterError::Stride { stride: self.stride });
        }
        let fields = self.fields();
        for (place, field) in fields.iter().enumerate() {
            let Part { name, bits, access, .. } = field;
            let field = || name.clone();
            if bits.msb >= self.width {
                let (bit, width) = (bits.msb, self.width);
                return Err(RegisterError::Bit { field: field(), bit, width });
            }
            for other in &fields[..place] {
                // What is written may be another thing than what is read at the same place.
                let apart = access.is_readable() != other.access.is_readable()
                    && [*access, other.access].contains(&Access::Ro);
                if bits.mask() & other.bits.mask() != 0 && !apart {
                    let other = other.name.clone();
                    return Err(RegisterError::FieldsOverlap { field: field(), other });
                }
                if *name == other.name {
                    return Err(RegisterError::FieldTwice { field: field() });
                }
            }
        }
        let readable = self.mask(Access::is_readable);
        match self.data.reset {
            Some(Reset::Value(value)) if value & !self.mask(|_| true) != 0 => {
                Err(RegisterError::ResetOutside { value })
            }
            Some(Reset::Value(value)) if value & !readable != 0 => {
                Err(RegisterError::ResetUnread { value })
            }
            Some(_) if readable == 0 => Err(RegisterError::WriteOnlyReset),
            None if readable != 0 && !self.data.volatile => Err(RegisterError::NoReset),
            _ => Ok(()),
        }
    }
}

impl Block {
    /// Its registers with all that constants and enumerations give them.
    pub fn resolve<'a>(&'a self, names: &Names<'a>) -> Result<Vec<Resolved<'a>>, Unsound> {
        if ![32, 64].contains(&self.width) {
            return Err(Unsound::Width { width: self.width });
        }
        let mut seen = HashSet::new();
        let mut all: Vec<Resolved> = Vec::new();
        for register in &self.registers {
            let named = |why| Unsound::Register { register: register.name.clone(), why };
            if !seen.insert(&register.name) {
                return Err(named(RegisterError::Twice));
            }
            let resolved = self.register(register, names).map_err(named)?;
            resolved.check().map_err(named)?;
            let apart = |other: &&Resolved| {
                u64::from(other.offset) >= resolved.end() || other.end() <= resolved.offset.into()
            };
            if let Some(other) = all.iter().find(|other| !apart(other)) {
                return Err(named(RegisterError::Overlaps { other: other.data.name.clone() }));
            }
            all.push(resolved);
        }
        Ok(all)
    }

    fn register<'a>(
        &self,
        register: &'a Register,
        names: &Names<'a>,
    ) -> Result<Resolved<'a>, RegisterError> {
        let constant = names.constants.iter().find(|c| c.name == register.name);
        let (offset, doc) = match constant.filter(|_| self.constants) {
            Some(constant) => (constant.value, &constant.doc),
            None if self.constants => return Err(RegisterError::NoConstant),
            None => (register.offset, &register.doc),
        };
        let stride = if register.stride == 0 { self.width / 8 } else { register.stride };
        let mut parts = Vec::new();
        if let Some(name) = &register.bits {
            let found = names.enums.iter().find(|e| e.name == *name);
            let masks = found.ok_or_else(|| RegisterError::NoEnumeration { name: name.clone() })?;
            for value in &masks.values {
                let bits = Bits::of_mask(value.value.into());
                let bits = bits.ok_or_else(|| RegisterError::NoRun {
                    mask: value.name.clone(),
                    enumeration: name.clone(),
                })?;
                let access = register.except.get(&value.name).unwrap_or(&register.access);
                let (name, doc) = (value.name.clone(), value.doc.clone());
                parts.push(Part { name, bits, access: *access, doc });
            }
        }
        if let Some(unknown) =
            register.except.keys().find(|name| !parts.iter().any(|p| p.name == **name))
        {
            return Err(RegisterError::NoBit { name: unknown.clone() });
        }
        for field in &register.fields {
            if let Some(values) = &field.values {
                let known = names.enums.iter().any(|e| e.name == *values);
                if !known {
                    return Err(RegisterError::NoEnumeration { name: values.clone() });
                }
            }
            let doc = match &field.values {
                Some(values) => format!("{} Values: {values}.", field.doc),
                None => field.doc.clone(),
            };
            let access = field.access.unwrap_or(register.access);
            parts.push(Part { name: field.name.clone(), bits: field.bits, access, doc });
        }
        parts.sort_by_key(|part| part.bits.lsb);
        Ok(Resolved { data: register, offset, stride, doc, parts, width: self.width })
    }
}
