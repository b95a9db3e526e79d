//! The firmware's files, and what it occupies.

use crate::settings;
use abi::offload as of;
use machine::firmware::symbols::Symbols;
use machine::models::{Firmware, Listing, Processor};
use machine::parameters::Parameters;
use offload_nic::Image;
use ppc440_debug::swapped;
use std::fmt::Write;
use std::path::Path;

/// Firmware of the card's processor.
pub(crate) static FIRMWARE: Firmware = Firmware {
    sources: "firmware/offload",
    shared: &["firmware/seastar/port/ppc440"],
    built: Some(built),
    elf: "offload.elf",
    images: &["offload.elf", "offload.img", "shim.img"],
    processor: Processor::PowerPc,
    clock: ppc440_debug::clock,
    ring: false,
    listing,
};

/// Folder of the image that the parameters select.
fn built(parameters: &Parameters) -> &'static str {
    match settings::Firmware::of(parameters).search {
        settings::Search::Hash => "offload/walk-ahead_search-hash",
        settings::Search::List => "offload",
    }
}

/// The firmware, and the names in it.
pub(super) struct Loaded {
    pub image: Image,
    pub symbols: Symbols,
}

impl Loaded {
    /// Reads the images in `folder`. The error is a sentence.
    pub fn load(folder: &Path) -> Result<Loaded, String> {
        let file = |name| swapped(&folder.join(name));
        let image = Image { text: file("offload.img")?, rom: file("shim.img")? };
        let bad = |why: String| format!("the firmware in {}: {why}", folder.display());
        image.check().map_err(|why| bad(why.to_string()))?;
        let symbols = Symbols::load(&folder.join(FIRMWARE.elf)).map_err(|why| why.to_string())?;
        if image.text != symbols.loaded(of::TEXT_BASE, of::TEXT_SIZE) {
            let why = "offload.img is not made from offload.elf; take both from one build";
            return Err(bad(why.into()));
        }
        Ok(Loaded { image, symbols })
    }
}

/// The regions of the card's memory that the processor uses.
const REGIONS: [(&str, u32, u32); 4] = [
    ("text", of::TEXT_BASE, of::TEXT_SIZE),
    ("data", of::DATA_BASE, of::DATA_SIZE),
    ("stack", of::STACK_BASE, of::STACK_SIZE),
    ("queue entries", of::ENTRY_BASE, of::ENTRY_REGION),
];

/// Sizes of the images in a folder. The error is a sentence.
fn listing(folder: &Path) -> Result<Listing, String> {
    let Loaded { image, symbols } = Loaded::load(folder)?;
    let mut sizes = format!("Flat image      {:>7} bytes\n", image.text.len());
    sizes.push_str("  region             base          size     used     free\n");
    for (name, base, size) in REGIONS {
        let inside = |address: u32| address >= base && address - base < size;
        let sections = symbols.sections().iter().filter(|section| inside(section.address));
        let used: u32 = sections.map(|section| section.size).sum();
        let used = if base == of::TEXT_BASE { image.text.len() as u32 } else { used };
        let free = i64::from(size) - i64::from(used);
        writeln!(sizes, "  {name:<17}  {base:#010x} {size:>8} {used:>8} {free:>8}")
            .expect("a string takes everything");
    }
    Ok(Listing { title: "MPI's queues on the network interface (brightwell2005)".into(), sizes })
}
