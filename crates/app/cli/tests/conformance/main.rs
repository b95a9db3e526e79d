//! The programs of `tests/mpi` print the same here as on MPICH, from the same binary.
//!
//! The tests need the files of `make build`, and MPICH from PyPI in `build/mpich` (from
//! `scripts/bootstrap test`).
#![allow(clippy::unwrap_used)] // Everything here is a test.

use both::Program;

mod both;
mod headers;
mod random;

/// Builds a program of `tests/mpi`, and runs it on so many ranks on both.
fn compare(program: &str, ranks: &[u32], settings: &[&str]) {
    compare_built(&format!("{program}.c"), &["cc", "-O1"], ranks, settings);
}

/// The same for Fortran: on both by the same library over the ABI in C.
fn compare_fortran(source: &str, ranks: &[u32]) {
    compare_built(source, &["fc", "-O1", "-w"], ranks, &[]);
}

fn compare_built(program: &str, compiler: &[&str], ranks: &[u32], settings: &[&str]) {
    let program = Program::build(&format!("tests/mpi/{program}"), compiler);
    for ranks in ranks {
        let ours = program.ours(*ranks, settings, &[]);
        let theirs = program.theirs(*ranks, &[]);
        let theirs = theirs.unwrap_or_else(|| panic!("MPICH fails: {}", ours.line));
        assert_eq!(ours.fault(&theirs), None);
    }
}

#[test]
fn datatypes() {
    compare("datatypes", &[1, 3], &[]);
}

#[test]
fn contents_of_datatypes_and_distributed_arrays() {
    compare("contents", &[2], &[]);
}

#[test]
fn counts_that_no_array_stands_behind() {
    compare("counts", &[1, 2, 4], &[]);
}

#[test]
fn graphs_and_exchange_with_neighbours() {
    compare("neighbours", &[1, 2, 6], &[]);
}

#[test]
fn lifetimes_of_requests_and_what_they_need() {
    compare("lifetimes", &[1, 5], &[]);
}

#[test]
fn groups_communicators_and_grids() {
    compare("groups", &[1, 5, 6], &[]);
}

#[test]
fn operations_attributes_and_error_handlers() {
    compare("operations", &[1, 5], &[]);
}

#[test]
fn collectives() {
    compare("collectives", &[1, 4, 5, 9], &[]);
}

/// For each collective another algorithm than the default.
const OTHER_ALGORITHMS: [&str; 10] = [
    "mpi.barrier=tree",
    "mpi.bcast=linear",
    "mpi.reduce=linear",
    "mpi.allreduce=ring",
    "mpi.gather=linear",
    "mpi.scatter=linear",
    "mpi.allgather=linear",
    "mpi.alltoall=linear",
    "mpi.reduce_scatter=reduce",
    "mpi.scan=linear",
];

#[test]
fn collectives_with_other_algorithms() {
    compare("collectives", &[5], &OTHER_ALGORITHMS);
    compare("operations", &[5], &OTHER_ALGORITHMS);
    compare("collectives", &[6], &["mpi.alltoall=bruck", "mpi.allgather=ring"]);
    compare("collectives", &[3], &["mpi.alltoall=pairwise", "mpi.allgather=bruck"]);
}

#[test]
fn fortran_in_fixed_form_with_mpif_h() {
    compare_fortran("fixed.f", &[1, 3]);
}

#[test]
fn fortran_with_the_module_mpi() {
    compare_fortran("module.f90", &[1, 4]);
}

#[test]
fn fortran_with_the_module_mpi_f08() {
    compare_fortran("module_2008.f90", &[1, 3]);
}

#[test]
fn with_linux_on_the_nodes() {
    compare("messages", &[3], &["host.os=linux"]);
    compare("collectives", &[4], &["host.os=linux"]);
    compare("datatypes", &[3], &["host.linux_nodes=1"]);
}

/// Ranks that share a node are copied to by its kernel, and share everything below it.
#[test]
fn with_two_ranks_a_node() {
    let two = "host.ranks_per_node=2";
    compare("messages", &[2, 3, 4], &[two]);
    compare("collectives", &[4, 5], &[two]);
    compare("datatypes", &[3], &[two]);
    compare("neighbours", &[6], &[two]);
    compare("lifetimes", &[5], &[two]);
    compare("contents", &[2], &[two]);
    compare("groups", &[5, 6], &[two]);
    compare("operations", &[5], &[two]);
    compare_built("module_2008.f90", &["fc", "-O1", "-w"], &[3], &[two]);
    compare("messages", &[3], &[two, "host.os=linux"]);
    compare("collectives", &[4], &[two, "host.os=linux"]);
    compare("datatypes", &[3], &[two, "host.linux_nodes=1"]);
    compare("collectives", &[5], &["host.cores=4", "host.ranks_per_node=4"]);
}

#[test]
fn messages() {
    compare("messages", &[2, 3], &[]);
}
