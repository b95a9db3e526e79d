//! `docs/reference/mpi.md` says which functions of the standard there are; it is made here from the
//! code. Write it anew: `UPDATE=1 cargo test -p rank reference`.

use abi::mpi::Function;
use mpi::{Algorithms, Mpi};
use std::fmt::Write;
use std::path::Path;

fn is_there(function: Function) -> bool {
    // The library does local functions itself, but it hands MPI_Init and its like on.
    function.is_local() || Mpi::implements(function)
}

const FORTRAN: &str = "
## Fortran

`sunstar fc` compiles with gfortran (`SUNSTAR_FC` names another compiler). Programs include \
`mpif.h`, in fixed or free form, or use the module `mpi` or `mpi_f08`. INTEGER and LOGICAL \
have 4 bytes. Functions without a procedure in Fortran have a dash below: those for tools, \
and those that turn handles into integers. Those for large counts are in `mpi_f08` alone, under \
the names of the others, and are chosen by counts of `MPI_COUNT_KIND` (`MPI_Op_create_c` has \
its own name). Parts of arrays that are not contiguous are copied by the compiler, so they are no \
buffers for nonblocking operations (`MPI_SUBARRAYS_SUPPORTED` is false). The names that left \
the standard (`MPI_ADDRESS`, `MPI_TYPE_STRUCT`, `MPI_TYPE_EXTENT` ...) are there.

The library, `libmpi_fortran`, knows only the ABI in C: a Fortran program built here runs on \
any MPI that has it.
";

const ERRORS: &str = "
## Errors

An error ends the run with a sentence, unless the program has set `MPI_ERRORS_RETURN` or a \
handler of its own. Then the call returns the error's class, and the communicator can be used on; \
but what has failed on one rank is not told to the others, as with other libraries (the standard \
leaves the state after an error undefined, MPI-4.1 9.3). A call that finds its arguments wrong \
has begun nothing, and a buffer that is not the program's memory is one (`MPI_ERR_BUFFER`): no \
message is on its way, and its receiver waits until the program sends again, or the run ends in a \
deadlock. Only a send that has begun and whose bytes are gone when the kernel or the NIC wants \
them, or are in more pieces than the kernel has DMA commands for, fails at both ends. A message \
that was lost or damaged on the way fails at the receiver only. Whether a receive may write its \
buffer is seen only when the message comes: one that travels in its header or is copied fails at \
its receive, and where the NIC writes into memory that is read-only, the run ends.

Of buffers that overlap, which the standard forbids, a collective call refuses those whose data \
begin at the same byte (`MPI_ERR_BUFFER`), as MPICH does; `MPI_IN_PLACE` is for that. Exchanges \
with neighbours are not checked.

`MPI_Comm_split_type` knows one resource, the memory of a node (`MPI_COMM_TYPE_SHARED`, and \
`mpi_shared_memory` as `mpi_hw_resource_type`); for any other it gives `MPI_COMM_NULL`.

`MPI_Init_thread` provides `MPI_THREAD_SERIALIZED` at most: a call holds the library until it \
returns, so a rank's threads must take turns. One that waits in a call for what another thread is \
to send waits for ever.
";

fn page() -> String {
    let all = Function::all();
    let there = all.iter().filter(|function| is_there(**function)).count();
    let mut out = format!(
        "# Functions of MPI\n\n\
         All {} functions of the MPI 5.0 standard ABI, and their `PMPI_` twins, can be linked. \
         {there} of them work; to call one of the others ends the run with its name. \
         Made by a test from the code; the names that end in `_c` are those for large counts.\n\n\
         ## Algorithms\n\n\
         `--set mpi.COLLECTIVE=NAME` chooses; the first is the default.\n\n\
         | collective | algorithm | |\n|---|---|---|\n",
        all.len()
    );
    for collective in Algorithms::COLLECTIVES {
        for (name, doc) in Algorithms::of(collective) {
            let _ = writeln!(out, "| {collective} | {name} | {doc} |");
        }
    }
    out += ERRORS;
    out += FORTRAN;
    out += "\n## Functions\n\n| function | there | in Fortran |\n|---|---|---|\n";
    for function in all {
        let there = if is_there(*function) { "yes" } else { "no" };
        let fortran = match function.has_fortran() {
            true => there,
            false => "-",
        };
        let _ = writeln!(out, "| `{}` | {there} | {fortran} |", function.name());
    }
    out
}

#[test]
fn the_page_of_functions_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/reference/mpi.md");
    let page = page();
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let on_disk = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(on_disk == page, "stale: UPDATE=1 cargo test -p rank reference");
}
