//! Programs that write into the memory which their library shares with the simulator: the end is a sentence
//! about the rank, whatever they write.

use crate::harness::{play, Program};
use rank::ExitStatus;
use std::time::Duration;

const OVERWRITTEN: &str = "rank 3: the program has overwritten its MPI library's memory";

const CHANNEL: &str = include_str!("harness/channel.h");

fn meddler(body: &str) -> Program {
    Program::new(CHANNEL, &format!("MPI_Init(0, 0); shared = find();\n{body}"))
}

/// Report on a program that executes `body` between `MPI_Init` and `MPI_Barrier`, and its end.
fn after(body: &str) -> (Option<String>, ExitStatus) {
    let mut process = meddler(&format!("{body}\nMPI_Barrier(MPI_COMM_WORLD);")).spawn();
    let status = play(&mut process, |_, _, _, _| 0);
    (process.fault(), status)
}

#[test]
fn records_that_no_library_writes_are_told() {
    for body in [
        "put(shared, 5, 0); /* a callback that nobody has asked for returns */",
        "put(shared, 9, 0); /* and is left */",
        "put(shared, 8, 0); /* a template's */",
        "put(shared, 0, 0);",
        "put(shared, 2, 0xffff); /* no such function */",
        "put(shared, 6, 0xffff);",
        "*word(shared, HEAD) += 300; /* more than the ring holds */",
        "*word(shared, HEAD) -= 1;",
        "*word(shared, RUNS) = 0; *word(shared, WAY) = 1; /* nobody has asked for runs */",
    ] {
        assert_eq!(after(body).0.as_deref(), Some(OVERWRITTEN), "{body}");
    }
}

#[test]
fn a_turn_that_is_nobodys_is_told() {
    for body in [
        "*word(shared, TURN) = 7; pause();",
        "*word(shared, TURN) = 2; pause(); /* only the simulator says that a process has ended */",
        "meddle_with(7);  pause();",
        "meddle_with(1); pause(); /* it hands over and over, and has nothing to say */",
    ] {
        assert_eq!(after(body).0.as_deref(), Some(OVERWRITTEN), "{body}");
    }
    // While the simulator has it.
    let mut process = meddler("meddle_with(0); MPI_Barrier(MPI_COMM_WORLD); pause();").spawn();
    play(&mut process, |_, function, _, _| {
        if function == abi::mpi::Function::Barrier {
            std::thread::sleep(Duration::from_millis(200));
        }
        0
    });
    assert_eq!(process.fault().as_deref(), Some(OVERWRITTEN));
}

#[test]
fn a_library_that_waits_elsewhere_is_told() {
    assert_eq!(after("map_over();").0.as_deref(), Some(OVERWRITTEN));
    let (fault, status) = after("munmap(shared, ALL);");
    assert_eq!((fault, status.signal), (None, Some(11)));
}

#[test]
fn a_fault_is_one_line() {
    let write = "strcpy(shared + 512, \"a\\n\\033[2Jb\"); *word(shared, STATE) |= 4; _exit(1);";
    let told = after(write).0.unwrap();
    assert_eq!(told, "rank 3: a\u{fffd}\u{fffd}[2Jb");
    assert_eq!(after("*word(shared, STATE) |= 4; _exit(1);").0.as_deref(), Some(OVERWRITTEN));
}
