//! The firmware's files, and what it occupies.

use crate::settings;
use abi::offload as of;
use machine::firmware::symbols::{BadElf, Symbols};
use machine::models::{Firmware, Listing, Processor};
use machine::parameters::Parameters;
use machine::UsageError;
use offload_nic::{Image, ImageError};
use ppc440_debug::swapped;
use std::fmt::Write;
use std::path::{Path, PathBuf};

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
    /// Digest of the image's files: equal for equal images.
    pub digest: String,
}

impl Loaded {
    /// Reads the images in `folder`.
    pub fn load(folder: &Path) -> Result<Loaded, BadImage> {
        let file = |name| swapped(&folder.join(name));
        let image = Image { text: file("offload.img")?, rom: file("shim.img")? };
        let folder = || folder.to_path_buf();
        image.check().map_err(|why| BadImage::Unfit { folder: folder(), why })?;
        let symbols = Symbols::load(&folder().join(FIRMWARE.elf))?;
        if image.text != symbols.loaded(of::TEXT_BASE, of::TEXT_SIZE) {
            return Err(BadImage::Mixed { folder: folder() });
        }
        let words = [&image.text[..], &image.rom[..]].concat();
        let files: Vec<u8> =
            words.chunks_exact(4).flat_map(|word| word.iter().rev()).copied().collect();
        let digest = machine::digest(&files);
        Ok(Loaded { image, symbols, digest })
    }
}

/// Firmware that cannot be used.
#[derive(Debug, thiserror::Error)]
pub(super) enum BadImage {
    #[error(transparent)]
    File(#[from] ppc440_debug::ImageError),
    #[error(transparent)]
    Symbols(#[from] BadElf),
    #[error("the firmware in {}: {why}", folder.display())]
    Unfit { folder: PathBuf, why: ImageError },
    #[error(
        "the firmware in {}: offload.img is not made from offload.elf; take both from one build",
        folder.display()
    )]
    Mixed { folder: PathBuf },
}

/// The regions of the card's memory that the processor uses.
const REGIONS: [(&str, u32, u32); 4] = [
    ("text", of::TEXT_BASE, of::TEXT_SIZE),
    ("data", of::DATA_BASE, of::DATA_SIZE),
    ("stack", of::STACK_BASE, of::STACK_SIZE),
    ("queue entries", of::ENTRY_BASE, of::ENTRY_REGION),
];

/// Sizes of the images in a folder.
fn listing(folder: &Path) -> Result<Listing, UsageError> {
    let Loaded { image, symbols, .. } = Loaded::load(folder)?;
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
