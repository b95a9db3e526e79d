//! The firmware's ELF: functions and lines of addresses, addresses of objects, sizes of sections.

use crate::input;
use object::elf;
use object::read::elf::{ElfFile32, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionFlags, SymbolKind};
use std::borrow::Cow;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// ELF that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadElf {
    /// It cannot be read.
    #[error("cannot use the firmware's ELF {}: {why}", file.display())]
    File {
        /// The file.
        file: PathBuf,
        /// Reason.
        why: io::Error,
    },
    /// It is none.
    #[error("cannot use the firmware's ELF {}: {why}", file.display())]
    Format {
        /// The file.
        file: PathBuf,
        /// Reason.
        why: object::Error,
    },
}

/// Symbol of the firmware.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its first address on the local bus.
    pub address: u32,
    /// Its size in bytes; 0 for labels.
    pub size: u32,
}

/// A section that occupies memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// Its first address on the local bus.
    pub address: u32,
    /// Its size in bytes.
    pub size: u32,
    /// True if the image has its contents.
    pub loaded: bool,
    /// True if it holds instructions.
    pub code: bool,
}

/// Position of an address in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeLocation {
    /// The address.
    pub pc: u32,
    /// Function that contains it, and its offset there.
    pub function: Option<(String, u32)>,
    /// Source file and line.
    pub line: Option<(String, u32)>,
}

/// `function+0x14 (core/rx.c:33)`, or the bare address.
impl fmt::Display for CodeLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.function {
            Some((name, offset)) => write!(f, "{name}+{offset:#x}")?,
            None => return write!(f, "{:#010x}, outside of the firmware's functions", self.pc),
        }
        match &self.line {
            Some((file, line)) => write!(f, " ({file}:{line})"),
            None => Ok(()),
        }
    }
}

/// The symbols of a firmware image.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    /// The ELF file, for line numbers.
    elf: Vec<u8>,
    /// In order of address.
    functions: Vec<Symbol>,
    objects: Vec<Symbol>,
    sections: Vec<Section>,
}

impl Symbols {
    /// Reads an ELF file.
    pub fn load(file: &Path) -> Result<Symbols, BadElf> {
        let elf = input::read(file, input::WRITTEN_MAX)
            .map_err(|why| BadElf::File { file: file.to_path_buf(), why })?;
        Symbols::parse(elf).map_err(|why| BadElf::Format { file: file.to_path_buf(), why })
    }

    /// Reads the bytes of an ELF file.
    pub fn parse(elf: Vec<u8>) -> Result<Symbols, object::Error> {
        let file = ElfFile32::<Endianness>::parse(elf.as_slice())?;
        let mut symbols = Symbols { sections: sections(&file), ..Symbols::default() };
        for symbol in file.symbols() {
            let (Ok(name), Some(index)) = (symbol.name(), symbol.section_index()) else { continue };
            if name.is_empty() || name.starts_with(".L") {
                continue;
            }
            let code =
                file.section_by_index(index).is_ok_and(|s| has(s.flags(), elf::SHF_EXECINSTR));
            let [address, size] = [symbol.address(), symbol.size()].map(|n| n as u32);
            let named = Symbol { name: name.to_string(), address, size };
            match symbol.kind() {
                SymbolKind::Text | SymbolKind::Label | SymbolKind::Unknown if code => {
                    symbols.functions.push(named);
                }
                SymbolKind::Data => symbols.objects.push(named),
                _ => {}
            }
        }
        // Of several names of an address the one with the greatest size is the function.
        let key = |s: &Symbol| (s.address, std::cmp::Reverse(s.size), s.name.clone());
        symbols.functions.sort_by_key(key);
        symbols.functions.dedup_by_key(|symbol| symbol.address);
        symbols.objects.sort_by_key(key);
        symbols.elf = elf;
        Ok(symbols)
    }

    /// Symbols without an ELF, for tests of what prints them.
    pub fn of_functions(mut functions: Vec<Symbol>) -> Symbols {
        functions.sort_by_key(|symbol| symbol.address);
        Symbols { functions, ..Symbols::default() }
    }

    /// The function that `pc` lies in, and the offset there.
    pub fn function(&self, pc: u32) -> Option<(&str, u32)> {
        let after = self.functions.partition_point(|symbol| symbol.address <= pc);
        let symbol = &self.functions[after.checked_sub(1)?];
        let offset = pc - symbol.address;
        // A label ends where its section does.
        let inside = match symbol.size {
            0 => self.sections.iter().any(|s| s.code && s.holds(symbol.address) && s.holds(pc)),
            size => offset < size,
        };
        inside.then_some((symbol.name.as_str(), offset))
    }

    /// Source file and line of `pc`. It reads the debug information each time, so it is for reports.
    pub fn line(&self, pc: u32) -> Option<(String, u32)> {
        let frame = self.lines().frames(pc).into_iter().next()?;
        (frame.line > 0).then_some((frame.file, frame.line))
    }

    /// Debug information, read once for many addresses.
    pub fn lines(&self) -> Lines {
        Lines { context: self.context() }
    }

    fn context(&self) -> Option<addr2line::Context<Bytes>> {
        let file = ElfFile32::<Endianness>::parse(self.elf.as_slice()).ok()?;
        let endian = match file.is_little_endian() {
            true => gimli::RunTimeEndian::Little,
            false => gimli::RunTimeEndian::Big,
        };
        let section = |id: gimli::SectionId| {
            let section = file.section_by_name(id.name());
            let data = section.and_then(|section| section.uncompressed_data().ok());
            let data = Rc::from(data.unwrap_or(Cow::Borrowed(&[])).as_ref());
            Ok::<_, gimli::Error>(Bytes::new(data, endian))
        };
        addr2line::Context::from_dwarf(gimli::Dwarf::load(section).ok()?).ok()
    }

    /// Function, offset, file and line of `pc`.
    pub fn describe(&self, pc: u32) -> CodeLocation {
        let function = self.function(pc).map(|(name, offset)| (name.to_string(), offset));
        CodeLocation { pc, function, line: self.line(pc) }
    }

    /// The address of a function or data object by its name.
    pub fn address(&self, name: &str) -> Option<u32> {
        let mut all = self.functions.iter().chain(&self.objects);
        all.find(|symbol| symbol.name == name).map(|symbol| symbol.address)
    }

    /// A data object by its name.
    pub fn object(&self, name: &str) -> Option<&Symbol> {
        self.objects.iter().find(|symbol| symbol.name == name)
    }

    /// Sections that occupy memory, in order of address.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// Bytes loaded from `base` on, of segments that begin within `size` bytes: the contents of a flat image.
    pub fn loaded(&self, base: u32, size: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let Ok(file) = ElfFile32::<Endianness>::parse(self.elf.as_slice()) else { return bytes };
        let endian = file.endian();
        let all = file.elf_program_headers().iter();
        for segment in all.filter(|segment| segment.p_type(endian) == elf::PT_LOAD) {
            let start = segment.p_paddr(endian).wrapping_sub(base);
            let Ok(data) = segment.data(endian, self.elf.as_slice()) else { continue };
            if start < size && !data.is_empty() {
                let place = start as usize..start as usize + data.len();
                bytes.resize(bytes.len().max(place.end), 0);
                bytes[place].copy_from_slice(data);
            }
        }
        bytes
    }

    /// The string constant (or array of characters) `name`.
    pub fn string(&self, name: &str) -> Option<String> {
        let file = ElfFile32::<Endianness>::parse(self.elf.as_slice()).ok()?;
        let Symbol { address, size, .. } = *self.object(name)?;
        let holder = |s: &Section| s.loaded && s.holds(address);
        let section = self.sections.iter().find(|section| holder(section))?;
        let data = file.section_by_name(&section.name)?.data().ok()?;
        let start = (address - section.address) as usize;
        let bytes = data.get(start..start + size as usize)?;
        let text = bytes.split(|byte| *byte == 0).next()?;
        Some(String::from_utf8_lossy(text).into_owned())
    }
}

type Bytes = gimli::EndianRcSlice<gimli::RunTimeEndian>;

/// Debug information about addresses: functions and lines.
pub struct Lines {
    /// None if there is no debug information.
    context: Option<addr2line::Context<Bytes>>,
}

/// Function that contains an address, and its line in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function of the source.
    pub function: String,
    /// The file as it was given to the compiler; empty if it is not known.
    pub file: String,
    /// Number of the line; 0 if it is not known.
    pub line: u32,
}

impl Lines {
    /// The functions around `pc`, the innermost first: those that the compiler has inlined, then the one that
    /// they are inlined into. Empty without debug information.
    pub fn frames(&self, pc: u32) -> Vec<Frame> {
        let Some(context) = &self.context else { return Vec::new() };
        let Ok(mut found) = context.find_frames(u64::from(pc)).skip_all_loads() else {
            return Vec::new();
        };
        let mut frames = Vec::new();
        while let Ok(Some(frame)) = found.next() {
            let function = frame.function.and_then(|name| Some(name.raw_name().ok()?.into_owned()));
            let place = frame.location.and_then(|at| Some((at.file?.to_string(), at.line?)));
            let (file, line) = place.unwrap_or_default();
            frames.push(Frame {
                function: function.unwrap_or_default(),
                file: file.trim_start_matches("./").to_string(),
                line,
            });
        }
        frames
    }
}

impl Section {
    /// True if `address` lies inside.
    pub fn holds(&self, address: u32) -> bool {
        address >= self.address && address - self.address < self.size
    }
}

fn has(flags: SectionFlags, flag: elf::SectionFlags) -> bool {
    matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(flag))
}

fn sections(file: &ElfFile32<'_, Endianness>) -> Vec<Section> {
    let mut sections: Vec<Section> = file
        .sections()
        .filter(|section| has(section.flags(), elf::SHF_ALLOC))
        .map(|section| Section {
            name: section.name().unwrap_or("?").to_string(),
            address: section.address() as u32,
            size: section.size() as u32,
            loaded: section.file_range().is_some(),
            code: has(section.flags(), elf::SHF_EXECINSTR),
        })
        .filter(|section| section.size > 0)
        .collect();
    sections.sort_by_key(|section| section.address);
    sections
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    const SOURCE: &str = "const char seastar_options[] = \"CACHE=id INLINE=on\";\n\
        static int counter[3];\n\
        int add(int x)\n{\n    counter[0] += x;\n    return counter[0];\n}\n\
        int _start(void)\n{\n    return add(1) + add(2);\n}\n";

    /// Compiles [`SOURCE`] as the firmware is compiled.
    fn compiled(test: &str) -> Symbols {
        let folder = std::env::temp_dir().join(format!("sunstar-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let (source, elf) = (folder.join("small.c"), folder.join("small.elf"));
        std::fs::write(&source, SOURCE).unwrap();
        let status = Command::new("powerpc-linux-gnu-gcc")
            .args(["-mcpu=440", "-mlittle", "-ffreestanding", "-fno-pic", "-msdata=none", "-g"])
            .args(["-O1", "-fno-inline", "-nostdlib", "-static", "-fno-asynchronous-unwind-tables"])
            .args(["-Wl,-melf32lppc,--build-id=none,-Ttext=0xFFFE0000,-Tdata=0xFFFB0000"])
            .args(["-Wl,-z,norelro,-Trodata-segment=0xFFFD0000", "-o"])
            .args([&elf, &source])
            .status()
            .expect("the cross compiler that builds the firmware");
        assert!(status.success());
        let symbols = Symbols::load(&elf).unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        symbols
    }

    #[test]
    fn addresses_become_functions_and_lines() {
        let symbols = compiled("lines");
        let (name, offset) = symbols.function(0xFFFE_0004).unwrap();
        assert_eq!((name, offset), ("add", 4));
        let place = symbols.describe(0xFFFE_0000);
        assert_eq!(place.function, Some(("add".into(), 0)));
        let (file, line) = place.line.clone().unwrap();
        assert!(file.ends_with("small.c") && (4..=5).contains(&line), "{file}:{line}");
        assert!(place.to_string().starts_with("add+0x0 ("), "{place}");
        let nowhere = symbols.describe(0x1000).to_string();
        assert_eq!(nowhere, "0x00001000, outside of the firmware's functions");
    }

    #[test]
    fn objects_sections_and_strings() {
        let symbols = compiled("objects");
        assert_eq!(symbols.object("counter").unwrap().size, 12);
        assert_eq!(symbols.string("seastar_options").unwrap(), "CACHE=id INLINE=on");
        let text = symbols.sections().iter().find(|section| section.name == ".text").unwrap();
        assert!(text.code && text.loaded && text.address == 0xFFFE_0000 && text.size > 16);
        let bss = symbols.sections().iter().find(|section| section.name == ".bss").unwrap();
        assert!(!bss.loaded && !bss.code && bss.size == 12);
        // The linker puts the constant behind the text.
        let image = symbols.loaded(text.address, 0x1000);
        assert!(image.len() > text.size as usize && image.ends_with(b"CACHE=id INLINE=on\0"));
        assert!(symbols.loaded(text.address - 0x1000, 0x1000).is_empty());
    }

    #[test]
    fn what_is_no_elf_is_named() {
        let missing = Symbols::load(Path::new("/nowhere/seastar.elf")).unwrap_err().to_string();
        assert!(missing.starts_with("cannot use the firmware's ELF /nowhere/seastar.elf: "));
        assert!(Symbols::parse(b"#!/bin/sh".to_vec()).is_err());
    }
}
