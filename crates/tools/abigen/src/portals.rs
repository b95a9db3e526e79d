//! The Portals 3.3 API: data, and the files generated from it.

mod args;
mod data;
pub(crate) mod fault;
mod header;
mod module;
mod page;
mod stubs;

pub use data::Portals;
pub use fault::PortalsError;

use crate::Output;

/// All outputs of the Portals API.
pub fn outputs(portals: &Portals, fingerprint: u32) -> Vec<Output> {
    let generated = "lib/portals/generated";
    vec![
        Output::new("include/portals3.h", header::header(portals)),
        Output::new("crates/base/abi/src/portals.rs", module::module(portals)),
        Output::new("crates/base/abi/src/portals/args.rs", args::module(portals)),
        Output::new(format!("{generated}/functions.h"), stubs::functions(portals, fingerprint)),
        Output::new(format!("{generated}/stubs.c"), stubs::stubs(portals)),
        Output::new("docs/reference/portals.md", page::page(portals)),
    ]
}
