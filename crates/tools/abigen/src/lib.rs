//! Generates Rust, C, SystemVerilog, a Wireshark dissector and reference pages from the data in `abi/`.
//!
//! A bit is defined once, in `abi/`; everything here only writes it in another language. The output is
//! committed, so that a reader and a foreign build need no generator, and a test checks that it is current.

#![forbid(unsafe_code)]

mod args;
mod c;
mod layout;
mod lua;
mod mpi;
mod pages;
mod portals;
mod registers;
mod rust;
mod sv;
mod unsound;

pub use layout::{Layout, LayoutError, Order};
pub use mpi::{Mpi, MpiError};
pub use portals::{Portals, PortalsError};
pub use unsound::{RegisterError, TextError, Unsound};

use std::path::{Path, PathBuf};

/// Folder of the C headers with accessors to registers of devices that firmware drives.
const FIRMWARE: &str = "firmware/registers";

/// Folders of `abi/` with layouts, and the folder of each one's file in another language than Rust.
const LAYOUTS: [(&str, &[Foreign]); 7] = [
    ("rank", &[Foreign::C("lib/seam/generated")]),
    ("seastar", &[Foreign::C("firmware/seastar/include"), Foreign::Registers(FIRMWARE)]),
    (
        "forth",
        &[Foreign::SystemVerilog("rtl/rdma"), Foreign::C("include"), Foreign::Registers("include")],
    ),
    ("myrinet", &[Foreign::C("firmware/lanai/include"), Foreign::Registers(FIRMWARE)]),
    ("console", &[Foreign::C("firmware/crossbar/include"), Foreign::Registers(FIRMWARE)]),
    ("offload", &[Foreign::C("firmware/offload/include"), Foreign::Registers(FIRMWARE)]),
    ("pico", &[]),
];

/// A language other than Rust, and the folder of its file.
#[derive(Clone, Copy)]
enum Foreign {
    C(&'static str),
    /// C again: accessors to fields of registers.
    Registers(&'static str),
    SystemVerilog(&'static str),
}

impl Foreign {
    /// Its file; none if the layout has nothing for it.
    fn output(self, layout: &Layout, machine: &str) -> Option<Output> {
        let (path, text) = match self {
            Foreign::C(folder) => (format!("{folder}/abi_{machine}.h"), c::header(layout, machine)),
            Foreign::Registers(folder) => {
                (format!("{folder}/registers_{machine}.h"), registers::c::header(layout, machine)?)
            }
            Foreign::SystemVerilog(folder) => {
                (format!("{folder}/abi_{machine}_pkg.sv"), sv::package(layout, machine))
            }
        };
        Some(Output::new(path, text))
    }
}

/// Output file: its path below the repository's root, and its text.
#[derive(Clone, Debug)]
pub struct Output {
    /// Path below the root.
    pub path: PathBuf,
    /// Content.
    pub text: String,
}

impl Output {
    fn new(path: impl Into<PathBuf>, text: String) -> Output {
        Output { path: path.into(), text }
    }

    /// True if the file below `root` holds exactly this text.
    pub fn is_current(&self, root: &Path) -> bool {
        std::fs::read_to_string(root.join(&self.path)).is_ok_and(|on_disk| on_disk == self.text)
    }
}

/// Generates all files from the data below `root`.
pub fn generate(root: &Path) -> Result<Vec<Output>, LayoutError> {
    let mut outputs = Vec::new();
    for (machine, foreign) in LAYOUTS {
        let layout = Layout::load(&root.join("abi").join(machine))?;
        outputs
            .push(Output::new(format!("crates/base/abi/src/{machine}.rs"), rust::module(&layout)));
        outputs.extend(foreign.iter().filter_map(|language| language.output(&layout, machine)));
        outputs.push(Output::new(
            format!("docs/reference/{machine}.md"),
            pages::layout(&layout, machine),
        ));
        let dissector = lua::dissector(&layout, machine);
        outputs.extend(dissector.map(|(path, text)| Output::new(path, text)));
    }
    let mpi = Mpi::load(&root.join("abi"))?;
    let portals = Portals::load(&root.join("abi"))?;
    outputs.extend(portals::outputs(&portals, mpi.fingerprint()));
    outputs.extend(mpi::outputs(&mpi));
    Ok(outputs)
}
