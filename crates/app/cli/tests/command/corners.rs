//! Corners of MPI (tests/cli/corners.c).

use crate::runner::{run, sunstar};

fn corner(options: &str, what: &str) -> String {
    run(&format!("-q {options} tests/cli/corners.c {what}")).went_well().stdout.clone()
}

#[test]
fn sizes_are_no_messages() {
    let expected = "4194304 4194304\n2147483644 2147483644\n0 2147483648\n0 8589934592\n\
                    34359738368\n1\n";
    assert_eq!(corner("", "sizes"), expected);
}

#[test]
fn error_codes_are_removed_in_any_order() {
    let expected = format!("kept: 1\n{}errors: 0\n", "kept: 1\nkept: 1\ngone: 1\n".repeat(3));
    assert_eq!(corner("", "codes"), expected);
}

/// MPI 5.0, s11.5; a communicator has the handler of its parent.
#[test]
fn the_first_error_handler_can_be_chosen() {
    for option in
        ["-initial-errhandler mpi_errors_return", "--initial-errhandler=MPI_ERRORS_RETURN"]
    {
        assert_eq!(corner(option, "errors"), "returned\nreturned\n", "{option}");
    }
    for option in
        ["", "-initial-errhandler mpi_errors_are_fatal", "-initial-errhandler mpi_errors_abort"]
    {
        run(&format!("-q {option} tests/cli/corners.c errors"))
            .said(1, &["rank 0: MPI_Send: ", "destination 77"]);
    }
    let refused = sunstar(["run", "-initial-errhandler", "mine", "tests/cli/corners.c"]);
    let words = ["mine", "mpi_errors_are_fatal", "mpi_errors_return"];
    assert!(
        refused.code == 2 && words.iter().all(|word| refused.stderr.contains(word)),
        "{refused:?}"
    );
    // Of this program, not of its neighbour.
    let parts = "-q --initial-errhandler mpi_errors_return -n 1 tests/cli/corners.c errors : -n 1 \
                 tests/cli/corners.c errors";
    run(parts).said(1, &["rank 1: MPI_Send: "]);
}
