//! The linked program as an ELF file: sections, symbols, debug information.

use crate::image::Image;
use crate::input::MACHINE;
use object::elf;
use object::write::elf::{FileHeader, ProgramHeader, SectionHeader, SectionIndex, Sym, Writer};
use object::Endianness;
use std::collections::BTreeMap;

/// Why there is a table of names: none of them has a zero inside, as each was read up to one.
const NAMES: &str = "names have no zeros, and are fewer than 4 GiB";

/// Writes it; `debug` are the debug sections by name.
pub(crate) fn write(image: &Image, debug: &BTreeMap<String, Vec<u8>>) -> Vec<u8> {
    let mut out = Vec::new();
    let mut writer = Writer::new(Endianness::Big, false, &mut out);
    writer.reserve_file_header();
    writer.reserve_program_headers(1);
    let flat_at = writer.reserve(image.flat.len() as u64, 4);
    let debug_at: Vec<u64> =
        debug.values().map(|data| writer.reserve(data.len() as u64, 1)).collect();

    writer.reserve_null_section_index();
    let names = [".text", ".rodata", ".data", ".bss"];
    let sections: Vec<_> = names
        .iter()
        .map(|name| (writer.add_section_name(name.as_bytes()), writer.reserve_section_index()))
        .collect();
    let debug_names: Vec<_> = debug
        .keys()
        .map(|name| {
            let id = writer.add_section_name(name.as_bytes());
            writer.reserve_section_index();
            id
        })
        .collect();
    writer.reserve_null_symbol_index();
    // Locals come first in a symbol table.
    let mut symbols: Vec<_> = image.symbols.iter().collect();
    symbols.sort_by_key(|symbol| symbol.global);
    let strings: Vec<_> = symbols
        .iter()
        .map(|symbol| {
            let string = writer.add_string(symbol.name.as_bytes());
            writer.reserve_symbol_index(None);
            string
        })
        .collect();
    writer.reserve_symtab_section_index();
    writer.reserve_symtab();
    writer.reserve_strtab_section_index();
    writer.reserve_strtab().expect(NAMES);
    writer.reserve_shstrtab_section_index();
    writer.reserve_shstrtab().expect(NAMES);
    writer.reserve_section_headers();

    let locals = 1 + symbols.iter().filter(|symbol| !symbol.global).count() as u32;
    write_headers(&mut writer, image, flat_at);
    writer.write_align(4);
    writer.write(&image.flat);
    for data in debug.values() {
        writer.write(data);
    }
    writer.write_null_symbol();
    for (symbol, name) in symbols.iter().zip(&strings) {
        let section = section_of(image, symbol.addr).map(|index| sections[index].1);
        let name = writer.string_offset(Some(*name));
        writer.write_symbol(&elf_symbol(symbol, name, section));
    }
    writer.write_strtab();
    writer.write_shstrtab();

    writer.write_null_section_header();
    for (index, (name, _)) in sections.iter().enumerate() {
        let name = writer.section_name_offset(Some(*name));
        writer.write_section_header(&in_memory(image, index, name, flat_at));
    }
    for ((name, at), data) in debug_names.iter().zip(debug_at).zip(debug.values()) {
        let name = writer.section_name_offset(Some(*name));
        writer.write_section_header(&not_in_memory(name, at, data.len()));
    }
    writer.write_symtab_section_header(locals);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    out
}

fn write_headers(writer: &mut Writer, image: &Image, flat_at: u64) {
    writer
        .write_file_header(&FileHeader {
            os_abi: elf::ELFOSABI_NONE,
            abi_version: 0,
            e_type: elf::ET_EXEC,
            e_machine: MACHINE,
            e_entry: 0,
            e_flags: elf::FileFlags(0),
        })
        .expect("the header fits the file");
    let end = image.sizes[3].base + image.sizes[3].bytes;
    writer.write_program_header(&ProgramHeader {
        p_type: elf::PT_LOAD,
        p_flags: elf::PF_R | elf::PF_W | elf::PF_X,
        p_offset: flat_at,
        p_vaddr: 0,
        p_paddr: 0,
        p_filesz: image.flat.len() as u64,
        p_memsz: u64::from(end).max(image.flat.len() as u64),
        p_align: 4,
    });
}

/// Header of text, constants, data or zeroed data.
fn in_memory(image: &Image, index: usize, name: u32, flat_at: u64) -> SectionHeader {
    let size = &image.sizes[index];
    let flags = match index {
        0 => elf::SHF_ALLOC | elf::SHF_EXECINSTR,
        1 => elf::SHF_ALLOC,
        _ => elf::SHF_ALLOC | elf::SHF_WRITE,
    };
    SectionHeader {
        sh_name: name,
        sh_type: if index == 3 { elf::SHT_NOBITS } else { elf::SHT_PROGBITS },
        sh_flags: flags,
        sh_addr: size.base.into(),
        sh_offset: flat_at + u64::from(size.base).min(image.flat.len() as u64),
        sh_size: size.bytes.into(),
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 4,
        sh_entsize: 0,
    }
}

/// Header of debug information.
fn not_in_memory(name: u32, at: u64, len: usize) -> SectionHeader {
    SectionHeader {
        sh_name: name,
        sh_type: elf::SHT_PROGBITS,
        sh_flags: elf::SectionFlags(0),
        sh_addr: 0,
        sh_offset: at,
        sh_size: len as u64,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 1,
        sh_entsize: 0,
    }
}

fn section_of(image: &Image, addr: u32) -> Option<usize> {
    image.sizes.iter().position(|size| (size.base..size.base + size.bytes).contains(&addr))
}

fn elf_symbol(symbol: &crate::Symbol, name: u32, section: Option<SectionIndex>) -> Sym {
    let bind = if symbol.global { elf::STB_GLOBAL } else { elf::STB_LOCAL };
    let kind = match (symbol.function, section) {
        (true, _) => elf::STT_FUNC,
        (false, Some(_)) => elf::STT_OBJECT,
        (false, None) => elf::STT_NOTYPE,
    };
    Sym {
        section: section.map(|section| section.0),
        st_name: name,
        st_info: elf::SymbolInfo::new(bind, kind),
        st_other: elf::STV_DEFAULT.into(),
        st_shndx: if section.is_some() { elf::SHN_UNDEF } else { elf::SHN_ABS },
        st_value: symbol.addr.into(),
        st_size: symbol.size.into(),
    }
}
