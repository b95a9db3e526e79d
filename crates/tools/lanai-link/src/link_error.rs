//! Sentences about objects that do not fit together.

use object::read;
use std::fmt;

/// Reason for which there is no image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum LinkError {
    /// A file is no object for the linker.
    #[error("{object}: {fault}")]
    Object { object: String, fault: ObjectError },
    /// A symbol is used and defined nowhere.
    #[error("{at} uses `{symbol}`, which is defined nowhere")]
    Undefined { at: At, symbol: String },
    /// Two objects define a symbol.
    #[error("`{symbol}` is defined in {first} and in {second}")]
    Doubled { symbol: String, first: String, second: String },
    /// An address does not go where it should.
    #[error("{at} {fault}")]
    Relocation { at: At, fault: RelocationError },
    /// The image is longer than its region.
    #[error(
        "the image takes {bytes} bytes, and region {region} has {room} besides {stack} of stack; \
         the largest section is {} of {} with {} bytes",
        .largest.section, .largest.object, .largest.bytes
    )]
    TooLong { bytes: u64, region: String, room: u32, stack: u32, largest: Largest },
}

/// Reason for which a file is no object for the linker.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum ObjectError {
    /// It is no ELF of the right kind.
    #[error("not an object of 32 bits, big-endian ({0})")]
    Format(read::Error),
    /// It is for another processor, by its number in ELF.
    #[error("not for the LANai: its ELF machine is {found}, not {own}")]
    Machine { found: u16, own: u16 },
    /// It is an image.
    #[error("linked already")]
    Linked,
    /// A name cannot be read.
    #[error("{0}")]
    Name(read::Error),
    /// A symbol has the number of a section that is not there.
    #[error("`{0}` stands in a section that is not there")]
    SymbolSection(String),
    /// The linker is to find a place for a symbol.
    #[error("`{0}` is a common symbol: compile with -fno-common")]
    Common(String),
    /// A relocation is of another format.
    #[error("a relocation is not one of ELF")]
    NotRelocation,
    /// The relocation at this offset is about nothing.
    #[error("relocation at {0:#x} has no symbol")]
    NoSymbol(u64),
    /// A section is of another format.
    #[error("a section is not one of ELF")]
    NotSection,
    /// The bytes of a section cannot be read.
    #[error("section {section}: {why}")]
    Data { section: String, why: read::Error },
    /// A section has a size or an alignment that no memory has.
    #[error("section {section} has {bytes} bytes at multiples of {align}")]
    Size { section: String, bytes: u64, align: u64 },
}

/// Reason for which an address does not go into its word; it follows the place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum RelocationError {
    /// The sum is no address.
    #[error("needs `{symbol}` and {addend}, which is {sum}")]
    Sum { symbol: String, addend: i64, sum: i64 },
    /// The word is not in the section.
    #[error("is beyond its section's end")]
    Beyond,
    /// The address is too large for its field.
    #[error(
        "needs the address of `{symbol}`, {addr:#x}, in {bits} bits, which end at {:#x}",
        (1_u64 << .bits) - 1
    )]
    Bits { symbol: String, addr: u32, bits: u32 },
    /// The address is not that of a word.
    #[error("needs `{symbol}` at a multiple of 4, and it is {addr:#x}")]
    Misaligned { symbol: String, addr: u32 },
    /// There is no relocation of this number.
    #[error("has a relocation of unknown kind {0}")]
    Kind(u32),
}

/// Place of a relocation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct At {
    /// Its object.
    pub object: String,
    /// Its section.
    pub section: String,
    /// Bytes from the section's beginning on.
    pub offset: u32,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}+{:#x}", self.object, self.section, self.offset)
    }
}

/// The largest section of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Largest {
    /// Its name.
    pub section: String,
    /// Its object.
    pub object: String,
    /// Its bytes.
    pub bytes: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences that the tests of linked objects do not make (`tests/link/objects.rs`).
    #[test]
    fn each_error_is_a_sentence() {
        let damaged = read::elf::ElfFile32::<object::BigEndian>::parse(&[][..]).unwrap_err();
        let (section, symbol) = (".text".to_owned(), "edge".to_owned());
        let objects = [
            (ObjectError::Name(damaged), format!("a.o: {damaged}")),
            (
                ObjectError::SymbolSection(symbol.clone()),
                "a.o: `edge` stands in a section that is not there".to_owned(),
            ),
            (
                ObjectError::Common(symbol.clone()),
                "a.o: `edge` is a common symbol: compile with -fno-common".to_owned(),
            ),
            (ObjectError::NotRelocation, "a.o: a relocation is not one of ELF".to_owned()),
            (ObjectError::NoSymbol(16), "a.o: relocation at 0x10 has no symbol".to_owned()),
            (ObjectError::NotSection, "a.o: a section is not one of ELF".to_owned()),
            (
                ObjectError::Data { section: section.clone(), why: damaged },
                format!("a.o: section .text: {damaged}"),
            ),
            (
                ObjectError::Size { section: section.clone(), bytes: 8, align: 3 },
                "a.o: section .text has 8 bytes at multiples of 3".to_owned(),
            ),
        ];
        for (fault, sentence) in objects {
            let error = LinkError::Object { object: "a.o".to_owned(), fault };
            assert_eq!(error.to_string(), sentence);
        }
        let relocations = [
            (
                RelocationError::Sum { symbol: symbol.clone(), addend: -8, sum: -4 },
                "a.o: .text+0x14 needs `edge` and -8, which is -4",
            ),
            (RelocationError::Beyond, "a.o: .text+0x14 is beyond its section's end"),
            (
                RelocationError::Misaligned { symbol, addr: 6 },
                "a.o: .text+0x14 needs `edge` at a multiple of 4, and it is 0x6",
            ),
            (RelocationError::Kind(9), "a.o: .text+0x14 has a relocation of unknown kind 9"),
        ];
        for (fault, sentence) in relocations {
            let at = At { object: "a.o".to_owned(), section: section.clone(), offset: 20 };
            assert_eq!(LinkError::Relocation { at, fault }.to_string(), sentence);
        }
    }
}
