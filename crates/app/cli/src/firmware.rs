//! `sunstar fw`, and what an option asks of a machine's firmware.

mod copy;

use crate::args::FirmwareOptions;
use crate::machines;
use crate::terminal::{self, Terminal};
use machine::models::{Firmware, Processor};
use machine::parameters::Parameters;
pub use sunstar::firmware::*;
use sunstar::root::Root;
use sunstar::usage_error::UsageError;

/// The machine's firmware, for an option that needs a certain processor.
pub fn required_on(
    parameters: &Parameters,
    what: &str,
    processor: Processor,
) -> Result<&'static Firmware, UsageError> {
    let firmware = required(parameters, what)?;
    if firmware.processor == processor {
        return Ok(firmware);
    }
    let machine = parameters.name();
    let (has, instead) = match firmware.processor {
        Processor::PowerPc => ("a PowerPC 440", "--gdb NODE debugs it"),
        Processor::Lanai => {
            ("a LANai", "--monitor NODE looks at it, and sunstar profile counts its cycles")
        }
    };
    let wants = match processor {
        Processor::PowerPc => "a PowerPC 440",
        Processor::Lanai => "a LANai",
    };
    Err(UsageError::sentence(format!(
        "{what} wants {wants}, and the network interfaces of machine {machine} have {has}: \
         {instead}"
    )))
}

/// The same for an option that needs the firmware's own counters.
pub fn required_with_ring(parameters: &Parameters, what: &str) -> Result<(), UsageError> {
    if required(parameters, what)?.ring {
        return Ok(());
    }
    Err(UsageError::sentence(format!(
        "{what} wants firmware with counters of its own, which that of machine {} has not: sunstar \
         profile counts the cycles of its functions",
        parameters.name()
    )))
}

/// `sunstar fw`.
pub fn show(root: &Root, options: &FirmwareOptions) -> Result<u8, UsageError> {
    if let Some(folder) = &options.copy {
        return copy::copy(root, folder);
    }
    let parameters = machines::chosen(root, &options.machine)?;
    let firmware = required(&parameters, "sunstar fw")?;
    let folder = folder(root, &parameters)?;
    let listing = firmware.listing(&folder)?;
    let elf = folder.join(firmware.elf);
    let size =
        std::fs::metadata(&elf).map_err(|why| UsageError::with_file("read", &elf, why))?.len();
    let terminal = Terminal::of_stdout();
    let heading = terminal.bold(format!("Firmware        {}", listing.title));
    let file = elf.display();
    let size = format!("ELF file        {size:>7} bytes, debug data included");
    terminal::write(&format!("{heading}\n  {file}\n{size}\n{}", listing.sizes))?;
    Ok(0)
}

/// `sunstar lanai-link`.
pub fn link(options: &lanai_link::command::Options) -> Result<u8, UsageError> {
    let sizes = lanai_link::command::run(options);
    let sizes = sizes.map_err(|sentences| UsageError::sentence(sentences.join("\nsunstar: ")))?;
    terminal::write(&sizes)?;
    Ok(0)
}
