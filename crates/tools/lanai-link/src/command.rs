//! The linker's command line: of the command `lanai-link`, with which the repository is built, and of
//! `sunstar lanai-link`, with which an installation rebuilds its firmware.

use crate::{link, Image, Input, Map};
use clap::Args;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Options of the linker.
#[derive(Args, Clone, Debug)]
pub struct Options {
    /// Memory map: a file of abi/
    ///
    /// It has constants REGION_NAME_BASE and REGION_NAME_SIZE.
    #[arg(long, value_name = "FILE")]
    pub map: PathBuf,
    /// ELF file with symbols and lines
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// Flat image
    #[arg(long, value_name = "FILE")]
    pub flat: Option<PathBuf>,
    /// The flat image as a C array
    #[arg(long, value_name = "FILE")]
    pub c_array: Option<PathBuf>,
    /// Name of the C array
    #[arg(long, default_value = "mcp")]
    pub name: String,
    /// Refuse instructions that the vendor's table of 1995 does not have
    #[arg(long)]
    pub only_1995: bool,
    /// Print the sizes, and how much of its region the image takes
    #[arg(long)]
    pub sizes: bool,
    /// Objects; the first one's code stands at address 0
    #[arg(required = true)]
    pub objects: Vec<PathBuf>,
}

fn read(path: &Path) -> Result<Vec<u8>, Vec<String>> {
    files::input::read(path, files::input::WRITTEN_MAX)
        .map_err(|error| vec![format!("cannot read {}: {error}", path.display())])
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Vec<String>> {
    std::fs::write(path, bytes)
        .map_err(|error| vec![format!("cannot write {}: {error}", path.display())])
}

/// Links what the options name, and writes the files. Returns the sizes, if they are wanted; errors are
/// sentences.
pub fn run(arguments: &Options) -> Result<String, Vec<String>> {
    let text = String::from_utf8_lossy(&read(&arguments.map)?).into_owned();
    let map =
        Map::parse(&text).map_err(|error| vec![format!("{}: {error}", arguments.map.display())])?;
    let mut inputs = Vec::new();
    for path in &arguments.objects {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        inputs.push(Input { name, bytes: read(path)? });
    }
    let image = link(&inputs, &map)
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>())?;
    let later = later(&image);
    if arguments.only_1995 && !later.is_empty() {
        return Err(later);
    }
    write(&arguments.output, &image.elf)?;
    if let Some(path) = &arguments.flat {
        write(path, &image.flat)?;
    }
    if let Some(path) = &arguments.c_array {
        write(path, image.c_array(&arguments.name).as_bytes())?;
    }
    if !arguments.sizes {
        return Ok(String::new());
    }
    let lines = later.into_iter().map(|line| line + "\n");
    Ok(sizes(&image, &map) + &lines.collect::<String>())
}

/// Instructions outside of the table of 1995, by function and mnemonic.
fn later(image: &Image) -> Vec<String> {
    let mut counts: BTreeMap<(String, String), usize> = BTreeMap::new();
    for later in image.later() {
        let mnemonic = later.text.split(' ').next().unwrap_or_default().to_owned();
        let function = later.function.unwrap_or_else(|| "no function".to_owned());
        *counts.entry((function, mnemonic)).or_default() += 1;
    }
    let lines = counts.into_iter().map(|((function, mnemonic), count)| {
        format!("{function}: {count} x {mnemonic}, which the table of 1995 does not have")
    });
    lines.collect()
}

/// Sizes of the image and of the memory map's regions, as tables.
fn sizes(image: &Image, map: &Map) -> String {
    let mut lines: Vec<String> = Vec::new();
    for size in &image.sizes {
        lines.push(format!("{:<10} {:#08x} {:>8}", size.what, size.base, size.bytes));
    }
    let (region, zeroed) = (map.image(), image.sizes[3]);
    let used = zeroed.base + zeroed.bytes;
    lines.push("\nregion      base      bytes".into());
    for other in map.regions() {
        let image = other == region;
        let note = match image {
            true => format!("  {used} of the image, {} for the stack", map.stack()),
            false => String::new(),
        };
        lines.push(format!("{:<9} {:#08x} {:>8}{note}", other.name, other.base, other.size));
    }
    lines.join("\n") + "\n\n"
}
