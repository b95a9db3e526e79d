//! Results of linking: the flat image, the C array, sizes, and instructions of later processors.

use crate::elf;
use crate::input::{Kind, Parsed, Place};
use crate::layout::{Layout, IN_MEMORY};
use crate::relocate::Filled;
use object::SymbolKind;
use std::collections::BTreeMap;
use std::fmt::Write;

/// A function or object in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// Its address.
    pub addr: u32,
    /// Bytes; 0 if unknown.
    pub size: u32,
    /// True for a function.
    pub function: bool,
    /// True if other objects see it.
    pub global: bool,
}

/// Bytes of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// `text`, `constants`, `data` or `zeroed`.
    pub what: &'static str,
    /// First address.
    pub base: u32,
    /// Bytes.
    pub bytes: u32,
}

/// An instruction that the vendor's table of 1995 does not have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Later {
    /// Its address.
    pub addr: u32,
    /// Text of the instruction.
    pub text: String,
    /// The function that contains it, if there is one.
    pub function: Option<String>,
}

/// A linked program.
#[derive(Clone, Debug)]
pub struct Image {
    /// Text, constants and data from address 0 on; zeroed data are not in it.
    pub flat: Vec<u8>,
    /// The same with symbols and lines.
    pub elf: Vec<u8>,
    /// Symbols by rising address.
    pub symbols: Vec<Symbol>,
    /// Text, constants, data, zeroed.
    pub sizes: Vec<Size>,
}

impl Image {
    pub(crate) fn new(objects: &[Parsed], layout: &Layout, filled: Filled) -> Image {
        let end = layout.ends[&Kind::Data].1 as usize;
        let mut flat = vec![0; end.next_multiple_of(4)];
        let mut debug: BTreeMap<String, Vec<u8>> = layout
            .debug
            .iter()
            .map(|(name, size)| (name.clone(), vec![0; *size as usize]))
            .collect();
        for ((object, places), contents) in objects.iter().zip(&layout.places).zip(filled) {
            for ((section, place), data) in object.sections.iter().zip(places).zip(contents) {
                let Some(place) = *place else { continue };
                let place = place as usize;
                match section.kind {
                    Kind::Debug => {
                        let all = debug.get_mut(&section.name).expect("its size is known");
                        all[place..place + data.len()].copy_from_slice(&data);
                    }
                    Kind::Zeroed => {}
                    _ => flat[place..place + data.len()].copy_from_slice(&data),
                }
            }
        }
        let names = ["text", "constants", "data", "zeroed"];
        let sizes = IN_MEMORY.iter().zip(names).map(|(kind, what)| {
            let (base, end) = layout.ends[kind];
            Size { what, base, bytes: end - base }
        });
        let mut image = Image {
            elf: Vec::new(),
            symbols: symbols(objects, layout),
            sizes: sizes.collect(),
            flat,
        };
        image.elf = elf::write(&image, &debug);
        image
    }

    /// The address of a symbol that other objects see.
    pub fn address(&self, name: &str) -> Option<u32> {
        self.symbols.iter().find(|symbol| symbol.name == name).map(|symbol| symbol.addr)
    }

    /// The function that contains `addr`.
    pub fn function(&self, addr: u32) -> Option<&Symbol> {
        let functions = self.symbols.iter().filter(|symbol| symbol.function);
        let before = functions.take_while(|symbol| symbol.addr <= addr).last()?;
        (before.size == 0 || addr - before.addr < before.size).then_some(before)
    }

    /// Instructions outside of the table of 1995.
    pub fn later(&self) -> Vec<Later> {
        let text = &self.flat[..self.sizes[0].bytes as usize];
        let words = text.chunks_exact(4).zip((0..).step_by(4));
        words
            .filter_map(|(bytes, addr)| {
                let word = u32::from_be_bytes(bytes.try_into().expect("four bytes"));
                let row = lanai::describe(word)?;
                (row.source == lanai::Source::Llvm).then(|| Later {
                    addr,
                    text: lanai::disassemble(word).expect("it has a row"),
                    function: self.function(addr).map(|function| function.name.clone()),
                })
            })
            .collect()
    }

    /// The flat image as a C array that a driver can include (the paper's `gendat`).
    pub fn c_array(&self, name: &str) -> String {
        let mut out =
            String::from("/* Made by lanai-link: an image to be copied to address 0. */\n");
        let _ = writeln!(out, "#define {}_BYTES {}u", name.to_uppercase(), self.flat.len());
        let _ = write!(out, "static const unsigned char {name}[{}] = {{", self.flat.len());
        for (index, byte) in self.flat.iter().enumerate() {
            out += if index % 16 == 0 { "\n    " } else { " " };
            let _ = write!(out, "{byte:#04x},");
        }
        out + "\n};\n"
    }
}

/// All symbols in memory that have a name, by address; those of the linker too.
fn symbols(objects: &[Parsed], layout: &Layout) -> Vec<Symbol> {
    let mut found = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        for (index, symbol) in object.symbols.iter().enumerate() {
            let Place::Section(section) = symbol.place else { continue };
            let section = &object.sections[section];
            let kind = matches!(symbol.kind, SymbolKind::Section | SymbolKind::File);
            if kind || symbol.name.is_empty() || !IN_MEMORY.contains(&section.kind) {
                continue;
            }
            // The compiler's own labels are no functions.
            if symbol.name.starts_with(".L") {
                continue;
            }
            // A weak one that has given way.
            let wins = |name| layout.globals[name].object == Some(number);
            if symbol.global && !wins(&symbol.name) {
                continue;
            }
            let addr = layout.address(objects, number, index).expect("its section has a place");
            found.push(Symbol {
                name: symbol.name.clone(),
                addr,
                size: symbol.size,
                function: section.kind == Kind::Text,
                global: symbol.global,
            });
        }
    }
    for (name, global) in layout.globals.iter().filter(|(_, global)| global.object.is_none()) {
        let (name, addr) = (name.clone(), global.value);
        found.push(Symbol { name, addr, size: 0, function: false, global: true });
    }
    found.sort_by(|a, b| (a.addr, &a.name).cmp(&(b.addr, &b.name)));
    found
}
