//! The MPI 5.0 ABI: data, and the files generated from it.

mod args;
mod data;
pub(crate) mod fault;
mod fortran;
mod header;
mod module;
mod stubs;

pub use data::Mpi;
pub use fault::MpiError;

use crate::Output;

/// All outputs of the MPI ABI.
pub fn outputs(mpi: &Mpi) -> Vec<Output> {
    vec![
        Output::new("include/mpi.h", header::header(mpi)),
        Output::new("include/mpif.h", fortran::include_file(mpi)),
        Output::new("include/mpi.f90", fortran::module(mpi)),
        Output::new("include/mpi_f08.f90", fortran::module_2008(mpi)),
        Output::new(
            "lib/mpi-fortran/generated/procedures.c",
            fortran::library(&mpi.fortran, &mpi.procedures),
        ),
        Output::new("crates/base/abi/src/mpi.rs", module::module(mpi)),
        Output::new("crates/base/abi/src/mpi/args.rs", args::module(mpi)),
        Output::new("lib/mpi/generated/functions.h", stubs::functions(mpi)),
        Output::new("lib/mpi/generated/stubs.c", stubs::stubs(mpi)),
        Output::new("lib/seam/generated/fingerprint.h", stubs::fingerprint(mpi)),
    ]
}
