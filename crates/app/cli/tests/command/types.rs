//! Datatypes of both sides of a message (tests/cli/types.c): what does not match is told with both sides.

use crate::runner::{run, unjudged};

/// Cases that do not match, with what each side has.
const MISMATCHES: [(&str, &str, &str); 22] = [
    ("message", "rank 1: MPI_Recv: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Send (tag 5)"),
    ("bytes", "rank 1: MPI_Recv: 8 MPI_BYTE", "rank 0 has 2 MPI_INT in MPI_Send"),
    ("size", "rank 1: MPI_Recv: 2 MPI_INT", "rank 0 has 1 MPI_DOUBLE in MPI_Send"),
    ("cut", "rank 1: MPI_Recv: 2 MPI_DOUBLE", "rank 0 has 3 MPI_INT in MPI_Send"),
    (
        "order",
        "1 of a structure type (MPI_FLOAT, MPI_INT)",
        "1 of a structure type (MPI_INT, MPI_FLOAT)",
    ),
    ("nonblocking", "rank 1: MPI_Irecv: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Isend"),
    ("persistent", "rank 1: MPI_Start: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Start"),
    ("matched", "rank 1: MPI_Mrecv: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Ssend"),
    ("replace", ": MPI_Sendrecv_replace: 2 MPI_", "in MPI_Sendrecv_replace (tag 5)"),
    ("ireplace", "2 MPI_", "(tag 5)"),
    ("bcast", "rank 1: MPI_Bcast: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Bcast"),
    ("ibcast", "rank 1: MPI_Ibcast: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Ibcast"),
    ("reduce", "rank 1: MPI_Reduce: 2 MPI_FLOAT with MPI_SUM", "rank 0 has 2 MPI_INT with MPI_SUM"),
    ("operation", "MPI_Allreduce: 2 MPI_INT with MPI_", "has 2 MPI_INT with MPI_"),
    ("allreduce", ": MPI_Allreduce: 2 MPI_", "in MPI_Allreduce"),
    ("scan", "rank 1: MPI_Scan: 2 MPI_FLOAT with MPI_SUM", "rank 0 has 2 MPI_INT with MPI_SUM"),
    ("gather", "rank 1: MPI_Gather: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Gather"),
    ("gatherv", "rank 1: MPI_Gatherv: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Gatherv"),
    ("scatter", "rank 1: MPI_Scatter: 2 MPI_FLOAT", "rank 0 has 2 MPI_INT in MPI_Scatter"),
    ("allgather", ": MPI_Allgather: 2 MPI_INT", "rank 1 has 2 MPI_FLOAT in MPI_Allgather"),
    ("alltoall", ": MPI_Alltoall: 2 MPI_", "in MPI_Alltoall"),
    ("alltoallw", ": MPI_Alltoallw: 2 MPI_", "in MPI_Alltoallw"),
];

#[test]
fn datatypes_that_do_not_match_end_the_run_if_they_are_checked() {
    for (case, takes, gives) in MISMATCHES {
        let line = format!("run -q -n 2 --check-types tests/cli/types.c {case}");
        unjudged(&line).said(1, &[takes, gives, "the datatypes of both sides must match"]);
    }
}

#[test]
fn the_judge_warns_of_datatypes_that_do_not_match() {
    let ended = run("-q -n 2 tests/cli/types.c message");
    assert_eq!(ended.code, 0, "{ended:?}");
    assert!(ended.stderr.contains("warning: rank 1: MPI_Recv: 2 MPI_FLOAT"), "{ended:?}");
    assert_eq!(unjudged("run -q -n 2 tests/cli/types.c message").stderr, "");
}

/// Nothing is said of those that match, on each machine with a carrier of its own; nothing simulated changes.
#[test]
fn datatypes_that_match_are_no_news() {
    for machine in ["redstorm", "redstorm-accelerated", "alpu"] {
        let hash = |options: &str| {
            let line = format!("run -n 2 -m {machine} {options} tests/cli/types.c matching");
            let ended = unjudged(&line);
            assert!(ended.code == 0 && !ended.stderr.contains("match"), "{ended:?}");
            ended.hash().expect("a hash").to_string()
        };
        assert_eq!(hash("--check-types"), hash(""), "{machine}");
        assert_eq!(hash("--judge"), hash(""), "{machine}");
    }
}
