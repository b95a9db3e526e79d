//! An object of clang's, as what the linker needs of it.

use crate::{LinkError, ObjectError};
use object::elf;
use object::read::elf::ElfFile32;
use object::{
    BigEndian, Object, ObjectSection, ObjectSymbol, RelocationFlags, RelocationTarget,
    SectionFlags, SectionKind, SymbolKind, SymbolSection,
};
use std::collections::BTreeMap;

/// An object file.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its name, for sentences.
    pub name: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
}

/// Most bytes of a section: the card's whole space.
const LARGEST: u64 = 16 << 20;

/// Machine number of the LANai in ELF.
pub(crate) const MACHINE: elf::Machine = elf::Machine(244);

pub(crate) struct Section {
    pub name: String,
    pub kind: Kind,
    pub align: u32,
    pub data: Vec<u8>,
    /// Bytes, of a zeroed section without data, too.
    pub size: u32,
    pub relocations: Vec<Relocation>,
}

/// Kinds of sections, in their order in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    Text,
    Constants,
    Data,
    Zeroed,
    /// Debug information: not in memory.
    Debug,
    /// Sections that nobody needs.
    Other,
}

pub(crate) struct Relocation {
    pub offset: u32,
    pub kind: u32,
    /// Index of the symbol.
    pub symbol: usize,
    pub addend: i64,
}

pub(crate) enum Place {
    Undefined,
    Absolute,
    /// Index among the object's sections.
    Section(usize),
}

pub(crate) struct Symbol {
    pub name: String,
    pub place: Place,
    pub value: u32,
    pub size: u32,
    pub global: bool,
    pub weak: bool,
    pub kind: SymbolKind,
}

pub(crate) struct Parsed {
    pub name: String,
    pub sections: Vec<Section>,
    pub symbols: Vec<Symbol>,
}

/// Reads all objects, or returns the errors of each.
pub(crate) fn read_all(inputs: &[Input]) -> Result<Vec<Parsed>, Vec<LinkError>> {
    let (mut objects, mut errors) = (Vec::new(), Vec::new());
    for input in inputs {
        match read(input) {
            Ok(object) => objects.push(object),
            Err(fault) => errors.push(LinkError::Object { object: input.name.clone(), fault }),
        }
    }
    if errors.is_empty() {
        Ok(objects)
    } else {
        Err(errors)
    }
}

fn read(input: &Input) -> Result<Parsed, ObjectError> {
    let file = ElfFile32::<BigEndian>::parse(&*input.bytes).map_err(ObjectError::Format)?;
    let machine = file.elf_header().e_machine.get(BigEndian);
    if machine != MACHINE {
        return Err(ObjectError::Machine { found: machine.0, own: MACHINE.0 });
    }
    if file.elf_header().e_type.get(BigEndian) != elf::ET_REL {
        return Err(ObjectError::Linked);
    }
    // Indices of ELF begin with a section and a symbol that are none.
    let mut sections = Vec::new();
    let mut place_of = BTreeMap::new();
    for section in file.sections() {
        place_of.insert(section.index().0, sections.len());
        sections.push(read_section(&section)?);
    }
    let mut symbols = Vec::new();
    let mut number_of = BTreeMap::new();
    for symbol in file.symbols() {
        number_of.insert(symbol.index().0, symbols.len());
        let name = symbol.name().map_err(ObjectError::Name)?.to_owned();
        let place = match symbol.section() {
            SymbolSection::Undefined => Place::Undefined,
            SymbolSection::Section(index) => match place_of.get(&index.0) {
                Some(place) => Place::Section(*place),
                None => return Err(ObjectError::SymbolSection(name)),
            },
            SymbolSection::Common => return Err(ObjectError::Common(name)),
            _ => Place::Absolute,
        };
        symbols.push(Symbol {
            name,
            place,
            value: symbol.address() as u32,
            size: symbol.size() as u32,
            global: symbol.is_global(),
            weak: symbol.is_weak(),
            kind: symbol.kind(),
        });
    }
    for section in file.sections() {
        let relocations = &mut sections[place_of[&section.index().0]].relocations;
        for (offset, relocation) in section.relocations() {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                return Err(ObjectError::NotRelocation);
            };
            let RelocationTarget::Symbol(symbol) = relocation.target() else {
                return Err(ObjectError::NoSymbol(offset));
            };
            let number = number_of.get(&symbol.0);
            relocations.push(Relocation {
                offset: offset as u32,
                kind: r_type.0,
                symbol: *number.ok_or(ObjectError::NoSymbol(offset))?,
                addend: relocation.addend(),
            });
        }
    }
    Ok(Parsed { name: input.name.clone(), sections, symbols })
}

fn read_section<'data>(section: &impl ObjectSection<'data>) -> Result<Section, ObjectError> {
    let name = section.name().map_err(ObjectError::Name)?.to_owned();
    let SectionFlags::Elf { sh_flags, .. } = section.flags() else {
        return Err(ObjectError::NotSection);
    };
    let has = |flag| sh_flags.contains(flag);
    let kind = if !has(elf::SHF_ALLOC) {
        if name.starts_with(".debug_") {
            Kind::Debug
        } else {
            Kind::Other
        }
    } else if has(elf::SHF_EXECINSTR) {
        Kind::Text
    } else if matches!(section.kind(), SectionKind::UninitializedData) {
        Kind::Zeroed
    } else if has(elf::SHF_WRITE) {
        Kind::Data
    } else {
        Kind::Constants
    };
    let data = match section.data() {
        Ok(data) => data.to_owned(),
        Err(why) => return Err(ObjectError::Data { section: name, why }),
    };
    let (align, size) = (section.align().max(1), section.size());
    if !align.is_power_of_two() || align > LARGEST || size > LARGEST {
        return Err(ObjectError::Size { section: name, bytes: size, align });
    }
    let (align, size) = (align as u32, size as u32);
    Ok(Section { name, kind, align, data, size, relocations: Vec::new() })
}
