//! The control program's image: what stands in the card's memory, its symbols, and what it occupies.

use abi::myrinet as my;
use machine::firmware::symbols::{BadElf, Section, Symbols};
use machine::input;
use machine::models::{Firmware, Listing, Processor};
use machine::UsageError;
use std::fmt::{self, Write};
use std::io;
use std::path::{Path, PathBuf};

/// Firmware of the LANai.
pub(crate) static FIRMWARE: Firmware = Firmware {
    sources: "firmware/lanai",
    shared: &[],
    built: Some(|parameters| match crate::settings::CardModule::of(parameters).module {
        "bypass" => "lanai/bypass",
        _ => "lanai",
    }),
    elf: "mcp.elf",
    images: &["mcp.elf", "mcp.bin"],
    processor: Processor::Lanai,
    clock: |machine| crate::settings::Lanai::of(machine).clock,
    ring: false,
    listing,
};

/// The same limits to which the firmware's makefile holds the images: that of Directed Point, and that of the
/// bypass library, in a folder of that name.
const LIMITS: &str = include_str!("../../../../firmware/lanai/budget.csv");
const BYPASS: &str = "bypass";
const BYPASS_LIMITS: &str = include_str!("../../../../firmware/lanai/budget-bypass.csv");

/// The control program.
pub(super) struct Image {
    /// Contents of the card's memory from address 0 on.
    pub flat: Vec<u8>,
    pub symbols: Symbols,
}

impl Image {
    /// From the folder in which its makefile leaves it.
    pub fn load(folder: &Path) -> Result<Image, BadImage> {
        let file = folder.join("mcp.bin");
        let flat =
            input::read(&file, my::SRAM_SIZE.into()).map_err(|why| BadImage::File { file, why })?;
        let symbols = Symbols::load(&folder.join("mcp.elf"))?;
        if flat != symbols.loaded(0, my::REGION_PROGRAM_SIZE) {
            return Err(BadImage::Mixed);
        }
        Ok(Image { flat, symbols })
    }
}

/// A control program that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadImage {
    #[error(
        "cannot read the card's control program {}: {why} (`make parts` builds it)",
        file.display()
    )]
    File { file: PathBuf, why: io::Error },
    #[error(transparent)]
    Symbols(#[from] BadElf),
    /// Faults and profiles would name functions of another program.
    #[error("mcp.bin is not made from mcp.elf; take both from one build")]
    Mixed,
}

/// Bytes of an entry of the queue of doorbells: address and data.
const DOORBELL_ENTRY: u32 = 8;

/// A region of the memory (vorakosit2001 s3).
struct Region {
    name: &'static str,
    base: u32,
    size: u32,
    used: u32,
    by: String,
}

/// The card's memory as a control program uses it, by rising address.
fn regions(image: u32, bypass: bool) -> [Region; 7] {
    let region =
        |name, base, size, used, by: &str| Region { name, base, size, used, by: by.into() };
    let stack = my::STACK_SIZE;
    let block = my::DmaBlock::SIZE as u32;
    let doorbells = DOORBELL_ENTRY * my::DOORBELL_ENTRIES;
    let command = my::CommandArea::SIZE as u32 + doorbells;
    let commands = match bypass {
        false => (command, "commands and status, the queue of doorbells"),
        true => {
            let pages = my::BYPASS_PORTS * my::BYPASS_PAGE;
            let limits = my::BYPASS_PORTS * my::BypassLimits::SIZE as u32;
            let own = my::BypassControl::SIZE as u32 + limits + pages;
            (command + own, "commands and status, pages of ports, the queue of doorbells")
        }
    };
    let blocks = match bypass {
        false => (2 * block, format!("a block of {block} bytes each way")),
        true => {
            let event = my::BypassEvent::SIZE as u32;
            (3 * block + event, format!("three blocks of {block} bytes, an event"))
        }
    };
    let message = my::BYPASS_MESSAGE + my::BypassHeader::SIZE as u32;
    let packets = |one: u32| match bypass {
        false => (one, "one packet"),
        true => (2 * message, "two packets"),
    };
    let (sent, received) = (packets(my::REGION_SEND_SIZE), packets(my::REGION_RECEIVE_SIZE));
    [
        region(
            "control program",
            my::REGION_PROGRAM_BASE,
            my::REGION_PROGRAM_SIZE,
            image + stack,
            &format!("{image} of the image, {stack} of stack"),
        ),
        region("guard", my::REGION_GUARD_BASE, my::REGION_GUARD_SIZE, 0, "a store here is a fault"),
        region(
            "commands",
            my::REGION_COMMAND_BASE,
            my::REGION_COMMAND_SIZE,
            commands.0,
            commands.1,
        ),
        region("DMA blocks", my::REGION_DMA_BASE, my::REGION_DMA_SIZE, blocks.0, &blocks.1),
        region(
            "routes",
            my::REGION_ROUTES_BASE,
            my::REGION_ROUTES_SIZE,
            my::ROUTE_COUNT * my::ROUTE_SIZE,
            &format!("{} of {} bytes", my::ROUTE_COUNT, my::ROUTE_SIZE),
        ),
        region("send buffer", my::REGION_SEND_BASE, my::REGION_SEND_SIZE, sent.0, sent.1),
        region(
            "receive buffer",
            my::REGION_RECEIVE_BASE,
            my::REGION_RECEIVE_SIZE,
            received.0,
            received.1,
        ),
    ]
}

/// Sizes of the images in a folder.
fn listing(folder: &Path) -> Result<Listing, UsageError> {
    let Image { flat, symbols } = Image::load(folder)?;
    let bypass = folder.ends_with(BYPASS);
    let mut sizes = String::new();
    let written = write_sizes(&mut sizes, &flat, symbols.sections(), bypass);
    written.expect("a string takes everything");
    let title = match bypass {
        false => "Myrinet control program (vorakosit2001 s3)",
        true => "Myrinet control program of the bypass library",
    };
    Ok(Listing { title: title.into(), sizes })
}

fn write_sizes(out: &mut String, flat: &[u8], sections: &[Section], bypass: bool) -> fmt::Result {
    writeln!(out, "Flat image      {:>7} bytes", flat.len())?;
    writeln!(out, "  section        base         bytes   budget     free")?;
    for (name, section) in
        [("text", ".text"), ("constants", ".rodata"), ("data", ".data"), ("zeroed", ".bss")]
    {
        let found = sections.iter().find(|found| found.name == section);
        let base = found.map_or("-".into(), |found| format!("{:#08x}", found.address));
        let bytes = found.map_or(0, |found| found.size);
        let limit = limit(name, bypass);
        let free = i64::from(limit) - i64::from(bytes);
        writeln!(out, "  {name:<13}  {base:<8} {bytes:>9} {limit:>8} {free:>8}")?;
    }
    let later = flat.chunks_exact(4).take(text_words(sections)).filter(|word| is_later(word));
    let later = later.count();
    writeln!(out, "  {later} instructions of the text are none of the vendor's table of 1995")?;
    writeln!(out, "Memory          {:>7} bytes", my::SRAM_SIZE)?;
    writeln!(out, "  region             base         size     used     free  used by")?;
    let end = sections.iter().map(|section| section.address + section.size).max().unwrap_or(0);
    for Region { name, base, size, used, by } in regions(end, bypass) {
        let free = size - used;
        writeln!(out, "  {name:<17}  {base:#08x} {size:>8} {used:>8} {free:>8}  {by}")?;
    }
    Ok(())
}

fn text_words(sections: &[Section]) -> usize {
    let text = sections.iter().find(|section| section.code);
    text.map_or(0, |text| text.size as usize / 4)
}

fn is_later(word: &[u8]) -> bool {
    let word = u32::from_be_bytes([word[0], word[1], word[2], word[3]]);
    lanai::describe(word).is_some_and(|row| row.source == lanai::Source::Llvm)
}

/// Bytes that a kind of section may have.
fn limit(what: &str, bypass: bool) -> u32 {
    let limits = if bypass { BYPASS_LIMITS } else { LIMITS };
    let rows = limits.lines().skip(1).map(|row| row.split(','));
    let mut limits = rows.filter_map(|mut row| Some((row.next()?, row.next()?.parse().ok()?)));
    limits.find(|(name, _)| *name == what).expect("the budget has a row for each kind").1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regions_follow_one_another_and_hold_what_is_in_them() {
        for regions in [regions(0x1000, false), regions(0x1000, true)] {
            for pair in regions.windows(2) {
                assert!(pair[0].base + pair[0].size <= pair[1].base, "{}", pair[1].name);
            }
            for region in &regions {
                assert!(region.used <= region.size, "{}", region.name);
            }
            assert_eq!(regions[4].used, 131_070, "21,845 routes of six bytes");
        }
    }

    #[test]
    fn each_kind_of_section_has_a_limit() {
        for what in ["text", "constants", "data", "zeroed"] {
            assert!(limit(what, false) > 0 && limit(what, true) > 0, "{what}");
        }
    }
}
