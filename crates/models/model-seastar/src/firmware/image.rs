//! The firmware's images as the loader sees them, and what they occupy of the SRAM.

use abi::seastar::{DmaCommand, LowerPending, TraceRecord};
use abi::seastar::{
    CACHED_DATA_BASE, CACHED_DATA_SIZE, CAM_ENTRIES, DMA_LIST_BASE, DMA_LIST_COUNT,
    GENERIC_PENDINGS, MAILBOX_BASE, MAILBOX_COUNT, MAILBOX_SIZE, NICCB_BASE, RX_HEADER_BASE,
    RX_HEADER_SIZE, SHIM_BASE, SHIM_SIZE, SOURCES, SRAM_BASE, SRAM_SIZE, STACK_BASE, STACK_SIZE,
    TEXT_BASE, TEXT_SIZE, TRACE_BASE, TRACE_COUNT, UNCACHED_DATA_BASE, UNCACHED_DATA_SIZE,
};
use machine::firmware::symbols::{BadElf, Section, Symbols};
use machine::models::Listing;
use machine::UsageError;
use ppc440_debug::swapped;
use std::fmt;
use std::path::{Path, PathBuf};

/// Firmware that cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum BadImage {
    /// Its ELF cannot be read.
    #[error(transparent)]
    Symbols(#[from] BadElf),
    /// An image cannot be read.
    #[error(transparent)]
    File(#[from] ppc440_debug::ImageError),
    /// Its parts do not fit.
    #[error("the firmware in {}: {why}", folder.display())]
    Unfit {
        /// Folder of its files.
        folder: PathBuf,
        /// The part that does not.
        why: Unfit,
    },
}

/// A part of the firmware that does not fit into the SRAM, or to the others.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unfit {
    /// The image is longer than text may be.
    #[error("image of {0} bytes does not fit in the text region of {TEXT_SIZE} bytes")]
    Image(usize),
    /// There is no image.
    #[error("the image is empty")]
    Empty,
    /// The boot shim is no page.
    #[error("boot shim of {0} bytes does not fill its page of {SHIM_SIZE} bytes")]
    Shim(usize),
    /// A section lies elsewhere.
    #[error(
        "section {} of {} bytes at {:#010x} is outside of the SRAM",
        .0.name, .0.size, .0.address
    )]
    Outside(Section),
    /// A section is longer than its region.
    #[error(
        "section {} of {} bytes does not fit in the {region} region of {room} bytes",
        section.name, section.size
    )]
    Section {
        /// The section.
        section: Section,
        /// Name of the region.
        region: &'static str,
        /// Its bytes.
        room: u32,
    },
    /// Sections are longer than their region.
    #[error("sections of {all} bytes in all do not fit in the {region} region of {room} bytes")]
    Sections {
        /// Bytes of the sections.
        all: u64,
        /// Name of the region.
        region: &'static str,
        /// Its bytes.
        room: u32,
    },
    /// A pool is longer than the SRAM.
    #[error("{name} of {size} bytes does not fit in the SRAM")]
    Pool {
        /// Its name.
        name: String,
        /// Its bytes.
        size: u32,
    },
    /// Faults and profiles would name functions of another firmware.
    #[error("seastar.img is not made from seastar.elf; take both from one build")]
    Mixed,
}

/// The images of one build of the firmware.
#[derive(Clone, Debug)]
pub struct FirmwareImage {
    /// The ELF file that the image was made from.
    pub elf: PathBuf,
    /// Contents of memory from `TEXT_BASE` on after loading.
    pub image: Vec<u8>,
    /// Contents of memory from `SHIM_BASE` on after loading: one page, the reset vector in its last word.
    pub shim: Vec<u8>,
    /// Build options, as the image itself tells them.
    pub options: String,
    /// Memory that it occupies.
    pub budget: Budget,
}

impl FirmwareImage {
    /// Reads `seastar.elf`, `seastar.img` and `shim.img` from `folder`, as the loader does: it swaps the
    /// bytes of every word, which undoes the swap in the images (pedretti2005 s3.2).
    pub fn load(folder: &Path) -> Result<FirmwareImage, BadImage> {
        let elf = folder.join("seastar.elf");
        let symbols = Symbols::load(&elf)?;
        let image = swapped(&folder.join("seastar.img"))?;
        let shim = swapped(&folder.join("shim.img"))?;
        let unfit = |why| BadImage::Unfit { folder: folder.to_path_buf(), why };
        let budget = Budget::of(&image, &shim, &symbols).map_err(unfit)?;
        let options = symbols.string("seastar_options").unwrap_or_default();
        Ok(FirmwareImage { elf, image, shim, options, budget })
    }
}

/// Sizes of the images in a folder.
pub(crate) fn listing(folder: &Path) -> Result<Listing, UsageError> {
    let image = FirmwareImage::load(folder)?;
    Ok(Listing { title: image.options, sizes: image.budget.to_string() })
}

fn check(image: &[u8], shim: &[u8], sections: &[Section]) -> Result<(), Unfit> {
    if image.len() > TEXT_SIZE as usize {
        return Err(Unfit::Image(image.len()));
    }
    if image.is_empty() {
        return Err(Unfit::Empty);
    }
    if shim.len() != SHIM_SIZE as usize {
        return Err(Unfit::Shim(shim.len()));
    }
    for section in sections {
        let Section { address, size, .. } = *section;
        let region = REGIONS.iter().rev().find(|region| region.base <= address);
        let region = region.filter(|region| address - region.base < region.size);
        let region = region.ok_or_else(|| Unfit::Outside(section.clone()))?;
        if size > region.size - (address - region.base) {
            let Region { name: region, size: room, .. } = *region;
            return Err(Unfit::Section { section: section.clone(), region, room });
        }
    }
    for &Region { name: region, base, size: room, .. } in &REGIONS {
        let inside = |s: &&Section| s.address >= base && s.address - base < room;
        let all: u64 = sections.iter().filter(inside).map(|s| u64::from(s.size)).sum();
        if all > u64::from(room) {
            return Err(Unfit::Sections { all, region, room });
        }
    }
    Ok(())
}

/// A part of the SRAM.
#[derive(Clone, Copy, Debug)]
struct Region {
    name: &'static str,
    base: u32,
    size: u32,
    /// Bytes that the contract with host and hardware takes; 0: as much as the ELF's sections do.
    fixed: u32,
}

/// The SRAM, in order of address.
const REGIONS: [Region; 10] = [
    Region {
        name: "mailboxes",
        base: MAILBOX_BASE,
        size: DMA_LIST_BASE - MAILBOX_BASE,
        fixed: MAILBOX_COUNT * MAILBOX_SIZE,
    },
    Region {
        name: "DMA command lists",
        base: DMA_LIST_BASE,
        size: RX_HEADER_BASE - DMA_LIST_BASE,
        fixed: DMA_LIST_COUNT * DmaCommand::SIZE as u32,
    },
    Region {
        name: "received headers",
        base: RX_HEADER_BASE,
        size: TRACE_BASE - RX_HEADER_BASE,
        fixed: CAM_ENTRIES * RX_HEADER_SIZE,
    },
    Region {
        name: "trace ring",
        base: TRACE_BASE,
        size: CACHED_DATA_BASE - TRACE_BASE,
        fixed: TRACE_COUNT * TraceRecord::SIZE as u32,
    },
    Region { name: "cached data", base: CACHED_DATA_BASE, size: CACHED_DATA_SIZE, fixed: 0 },
    Region { name: "text", base: TEXT_BASE, size: TEXT_SIZE, fixed: 0 },
    Region {
        name: "stack",
        base: STACK_BASE,
        size: UNCACHED_DATA_BASE - STACK_BASE,
        fixed: STACK_SIZE,
    },
    Region { name: "uncached data", base: UNCACHED_DATA_BASE, size: UNCACHED_DATA_SIZE, fixed: 0 },
    Region { name: "control block", base: NICCB_BASE, size: SHIM_BASE - NICCB_BASE, fixed: 0x1000 },
    Region { name: "boot shim", base: SHIM_BASE, size: SHIM_SIZE, fixed: SHIM_SIZE },
];

/// A pool of equal structures, as the ELF has it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Pool {
    /// Structures.
    pub count: u32,
    /// Bytes of each.
    pub size: u32,
}

impl Pool {
    /// Bytes of the pool.
    pub fn bytes(&self) -> u32 {
        self.count * self.size
    }
}

/// Use of the 384 KB of SRAM by the firmware. Prints as a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Bytes of the flat image: text and initialised data.
    pub image: u32,
    /// Sections of the ELF that occupy SRAM.
    pub sections: Vec<Section>,
    /// Bytes used in each region, in order of address.
    used: [u32; REGIONS.len()],
    /// Source structures.
    pub sources: Pool,
    /// Lower pendings of all firmware processes.
    pub pendings: Pool,
}

/// The pools of the firmware: the sources, and the lower pendings.
const POOLS: [&str; 2] = ["sources", "lower_pendings"];

impl Budget {
    /// Budget of a firmware whose parts fit together and into the SRAM.
    fn of(image: &[u8], shim: &[u8], symbols: &Symbols) -> Result<Budget, Unfit> {
        check(image, shim, symbols.sections())?;
        for object in POOLS.into_iter().filter_map(|name| symbols.object(name)) {
            if object.size > SRAM_SIZE {
                return Err(Unfit::Pool { name: object.name.clone(), size: object.size });
            }
        }
        if image != symbols.loaded(TEXT_BASE, TEXT_SIZE) {
            return Err(Unfit::Mixed);
        }
        Ok(Budget::new(image.len() as u32, symbols))
    }

    fn new(image: u32, symbols: &Symbols) -> Budget {
        let mut used = REGIONS.map(|region| region.fixed);
        for (region, used) in REGIONS.iter().zip(&mut used) {
            let inside =
                |s: &&Section| s.address >= region.base && s.address - region.base < region.size;
            let sections = symbols.sections().iter().filter(inside);
            *used = (*used).max(sections.map(|section| section.size).sum());
            if region.base == TEXT_BASE {
                // Initialised data are loaded behind the text.
                *used = (*used).max(image);
            }
        }
        let pool = |name: &str, size: u32, count: Option<u32>| {
            let bytes = symbols.object(name).map_or(0, |object| object.size);
            match count {
                Some(count) => Pool { count, size: bytes / count },
                None => Pool { count: bytes / size, size },
            }
        };
        Budget {
            image,
            sections: symbols.sections().to_vec(),
            used,
            sources: pool(POOLS[0], 0, Some(SOURCES)),
            pendings: pool(POOLS[1], LowerPending::SIZE as u32, None),
        }
    }

    /// M = S * Ssize + sum of Pi * Psize (pedretti2005 s4.2), with `processes` firmware processes that have
    /// as many pendings as the generic one.
    pub fn occupancy(&self, processes: u32) -> u32 {
        self.sources.bytes() + processes * GENERIC_PENDINGS * self.pendings.size
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Flat image      {:>7} bytes", self.image)?;
        for section in &self.sections {
            let loaded = if section.loaded { "" } else { "  (not loaded)" };
            let Section { name, address, size, .. } = section;
            writeln!(f, "  {name:<13} {size:>7} bytes at {address:#010x}{loaded}")?;
        }
        writeln!(f, "SRAM            {SRAM_SIZE:>7} bytes at {SRAM_BASE:#010x}")?;
        writeln!(f, "  region             base          size     used     free")?;
        for (region, used) in REGIONS.iter().zip(&self.used) {
            let Region { name, base, size, .. } = region;
            writeln!(f, "  {name:<17}  {base:#010x} {size:>8} {used:>8} {:>8}", size - used)?;
        }
        let used: u32 = self.used.iter().sum();
        writeln!(
            f,
            "  in all             {SRAM_BASE:#010x} {SRAM_SIZE:>8} {used:>8} {:>8}",
            SRAM_SIZE - used
        )?;
        let Budget { sources, pendings, .. } = self;
        writeln!(f, "Structures      M = S * Ssize + sum of Pi * Psize (pedretti2005 s4.2)")?;
        writeln!(f, "  S  = {:>5} sources of {} bytes", sources.count, sources.size)?;
        writeln!(
            f,
            "  P1 = {GENERIC_PENDINGS:>5} pendings of {} bytes for the generic process",
            pendings.size
        )?;
        let m = self.occupancy(1);
        let percent = f64::from(m) * 100.0 / f64::from(SRAM_SIZE);
        writeln!(f, "  M  = {m:>5} bytes with one process, {percent:.1} % of the SRAM")?;
        let whole = pendings.count / GENERIC_PENDINGS;
        writeln!(
            f,
            "  The pool holds {} pendings: {whole} processes of that size, M = {} bytes",
            pendings.count,
            self.occupancy(whole)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, address: u32, size: u32) -> Section {
        Section { name: name.into(), address, size, loaded: true, code: false }
    }

    #[test]
    fn regions_tile_the_sram() {
        let mut next = SRAM_BASE;
        for region in REGIONS {
            assert_eq!(region.base, next, "{}", region.name);
            assert!(region.fixed <= region.size, "{}", region.name);
            next = next.wrapping_add(region.size);
        }
        assert_eq!(next, SRAM_BASE.wrapping_add(SRAM_SIZE));
    }

    #[test]
    fn what_does_not_fit_is_one_sentence() {
        let shim = [0; SHIM_SIZE as usize];
        let text = vec![0; TEXT_SIZE as usize];
        assert_eq!(check(&text, &shim, &[]), Ok(()));
        let wrong = |image: &[u8], shim: &[u8], sections: &[Section]| {
            check(image, shim, sections).unwrap_err().to_string()
        };
        assert_eq!(
            wrong(&[0; TEXT_SIZE as usize + 4], &shim, &[]),
            "image of 65540 bytes does not fit in the text region of 65536 bytes"
        );
        assert_eq!(
            wrong(&text, &shim[..4000], &[]),
            "boot shim of 4000 bytes does not fill its page of 4096 bytes"
        );
        let sections = [section(".bss", CACHED_DATA_BASE, CACHED_DATA_SIZE + 4)];
        assert_eq!(
            wrong(&text, &shim, &sections),
            "section .bss of 196612 bytes does not fit in the cached data region of 196608 bytes"
        );
        let sections = [section(".data", 0x1000, 16)];
        assert_eq!(
            wrong(&text, &shim, &sections),
            "section .data of 16 bytes at 0x00001000 is outside of the SRAM"
        );
        assert_eq!(wrong(&[], &shim, &[]), "the image is empty");
        let half = |name| section(name, CACHED_DATA_BASE, CACHED_DATA_SIZE / 2 + 1);
        assert_eq!(
            wrong(&text, &shim, &[half("a"), half("b")]),
            "sections of 196610 bytes in all do not fit in the cached data region of 196608 bytes"
        );
    }

    /// Any contents of an ELF give a firmware with a budget or an error.
    #[test]
    fn fuzz_elf_files() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
        let read = |name: &str| std::fs::read(root.join("build/firmware").join(name));
        let elf = read("seastar.elf").expect("make parts builds the firmware");
        let shim = swapped(&root.join("build/firmware/shim.img")).unwrap();
        let words =
            [&b"\x7fELF\x01"[..], b"sources\0", b".debug_info\0", b".text\0", b"\0\0\0\x08"];
        let small = read("shim.elf").unwrap();
        fuzz::Target::new("ELF files").few(48).seed(elf).seed(small).words(words).run(|bytes| {
            let Ok(symbols) = Symbols::parse(bytes.to_vec()) else { return };
            let image = symbols.loaded(TEXT_BASE, TEXT_SIZE);
            if let Ok(budget) = Budget::of(&image, &shim, &symbols) {
                assert!(budget.to_string().contains("SRAM"));
            }
            assert!(image.len() <= TEXT_SIZE as usize + bytes.len());
            assert!(symbols
                .string("seastar_options")
                .is_none_or(|text| text.len() <= 3 * bytes.len()));
            let lines = symbols.lines();
            for pc in (0..64).map(|n| TEXT_BASE + 0xac * n).chain([0, SHIM_BASE, u32::MAX]) {
                symbols.function(pc);
                lines.frames(pc);
            }
            symbols.describe(TEXT_BASE + 0x100).to_string();
        });
    }

    #[test]
    fn missing_files_are_named() {
        let usage_error = FirmwareImage::load(Path::new("/nowhere")).unwrap_err().to_string();
        assert!(usage_error.starts_with("cannot use the firmware's ELF /nowhere/seastar.elf: "));
    }

    #[test]
    fn the_published_pools_take_73536_bytes() {
        let sources = Pool { count: SOURCES, size: 32 };
        let pendings = Pool { count: GENERIC_PENDINGS, size: 32 };
        let budget = Budget { image: 0, sections: vec![], used: [0; 10], sources, pendings };
        assert_eq!(budget.occupancy(1), 73_536);
        assert!(budget.occupancy(4) < SRAM_SIZE, "several more pools fit");
    }
}
