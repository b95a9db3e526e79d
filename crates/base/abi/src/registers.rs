//! Registers as the data in `abi/` declares them: access, fields, reset values; and an audit of a device
//! against such a table.

mod audit;

pub use audit::{Audit, Device, Violation};

/// Access to a register or to a field of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// It can be read; a write changes nothing, and may be refused.
    ReadOnly,
    /// A read gives what was written last.
    ReadWrite,
    /// A write does something; what a read gives has no meaning.
    WriteOnly,
    /// Ones that are written clear it.
    OneClears,
    /// Ones that are written set it.
    OneSets,
    /// Any write of the register clears it.
    WriteClears,
}

impl Access {
    /// True if a read gives its value.
    pub const fn is_readable(self) -> bool {
        !matches!(self, Access::WriteOnly)
    }
    /// Value behind a write of `word` where `old` was.
    pub const fn written(self, old: u64, word: u64) -> u64 {
        match self {
            Access::ReadOnly => old,
            Access::ReadWrite => word,
            Access::WriteOnly | Access::WriteClears => 0,
            Access::OneClears => old & !word,
            Access::OneSets => old | word,
        }
    }
}

/// Value of a register after a reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reset {
    /// This value.
    Value(u64),
    /// A value that a parameter of the machine gives: its description.
    Parameter(&'static str),
    /// No value that could be told: nothing can be read, or it depends on time.
    Unknown,
}

/// Field of a register: a run of bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Upper-case name.
    pub name: &'static str,
    /// Its bits.
    pub mask: u64,
    /// Access to them.
    pub access: Access,
}

/// Register, or an array of equal ones. Bits of no field read as 0, and writes do not change them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Register {
    /// Upper-case name.
    pub name: &'static str,
    /// Bytes from the block's start, or its address.
    pub offset: u32,
    /// Registers of an array; 1 for a single one.
    pub count: u32,
    /// Bytes from one of an array to the next.
    pub stride: u32,
    /// Value after a reset.
    pub reset: Reset,
    /// True if the device changes it as time passes, even while nobody gives it anything.
    pub volatile: bool,
    /// Condition under which the register is there; empty if it always is.
    pub when: &'static str,
    /// Its fields; a register without parts has one of its own name.
    pub fields: &'static [Field],
}

impl Register {
    /// Bits with an access of which `wanted` is true.
    pub fn bits(&self, wanted: impl Fn(Access) -> bool) -> u64 {
        self.fields.iter().filter(|field| wanted(field.access)).fold(0, |bits, f| bits | f.mask)
    }
    /// Value that reads give behind a write of `word`, if they gave `old` before.
    pub fn written(&self, old: u64, word: u64) -> u64 {
        let readable = self.fields.iter().filter(|field| field.access.is_readable());
        readable.fold(0, |value, f| value | f.access.written(old, word) & f.mask)
    }
    /// Offset of register `index` of the array.
    pub const fn at(&self, index: u32) -> u32 {
        self.offset + index * self.stride
    }
}

/// Tables that differ from `table` in one declaration each: a reset value, or the access to a field. An
/// audit of a device that keeps `table` must not pass with any of them. What cannot be told from outside is
/// left out: access to what can only be written, or changes with time.
pub fn lies(table: &[Register]) -> Vec<(String, Vec<Register>)> {
    use Access::{OneClears, OneSets, ReadOnly, ReadWrite, WriteClears};
    let mut all = Vec::new();
    for (place, register) in table.iter().enumerate() {
        let mut lie = |what: String, false_one: Register| {
            let mut table = table.to_vec();
            table[place] = false_one;
            all.push((format!("{}: {what}", register.name), table));
        };
        for (number, field) in register.fields.iter().enumerate() {
            if !field.access.is_readable() {
                continue;
            }
            if let Reset::Value(value) = register.reset {
                let bit = field.mask & field.mask.wrapping_neg();
                let reset = Reset::Value(value ^ bit);
                lie(
                    format!("{} has another reset value", field.name),
                    Register { reset, ..*register },
                );
            }
            for access in [ReadOnly, ReadWrite, OneClears, OneSets, WriteClears] {
                if access == field.access || register.volatile {
                    continue;
                }
                let mut fields = register.fields.to_vec();
                fields[number].access = access;
                // Tables are static; those of a test live as long as it.
                let fields: &'static [Field] = fields.leak();
                lie(format!("{} is {access:?}", field.name), Register { fields, ..*register });
            }
        }
    }
    all
}
