//! More receives and sends at a time than the network interface has room for: MPI keeps the rest, and a
//! process without a transmit pending waits (decisions 0164 and 0165). All runs are judged.

use super::{counter, MACHINE};
use crate::runner::{json, run};

/// Runs `tests/mpi/many.c`; the receives and sends that MPI kept.
fn kept(options: &str, program: &str) -> [u64; 2] {
    let run = json(&format!("-q {MACHINE} {options} tests/mpi/many.c {program}"));
    ["nic.receives_kept", "nic.sends_kept"].map(|name| counter(&run, name))
}

#[test]
fn more_receives_than_match_entries_are_no_error() {
    for options in ["-n 3", "-n 4 --ppn 2", "-n 2 --set firmware.overflow=panic"] {
        for program in ["posted 250 8", "posted 250 0", "posted 200 600", "posted 120 20000"] {
            let [receives, _] = kept(options, program);
            // Those of two ranks or more are more than there are entries.
            assert!(receives > 0 || program.contains("120"), "{options} {program}");
        }
    }
    let few = "-n 3 --fault pool.match_entries=16 --fault pool.tx_pendings=2";
    for bytes in [0, 8, 600, 20_000] {
        assert!(kept(few, &format!("posted 40 {bytes}"))[0] > 100, "{bytes}");
    }
    assert_eq!(kept("-n 3", "posted 20 8")[0], 0);
}

#[test]
fn a_thousand_sends_before_the_first_receive_are_no_error() {
    // With all pendings the mailbox may be full before, and the process waits there.
    for options in ["-n 2", "-n 2 --set firmware.overflow=panic", "-n 4 --ppn 2"] {
        for program in ["sends 1000 0", "sends 1000 8", "sends 1000 600", "sends 700 20000"] {
            kept(options, program);
            let [_, sends] = kept(&format!("{options} --fault pool.tx_pendings=8"), program);
            assert!(sends > 1000, "{options} {program}: {sends}");
        }
        assert!(kept(&format!("{options} --fault pool.tx_pendings=8"), "long 700 8")[1] > 1000);
    }
    let few = "-n 3 --fault pool.match_entries=16 --fault pool.tx_pendings=1";
    for program in ["sends 100 0", "sends 100 600", "sends 60 20000", "long 60 8"] {
        assert!(kept(few, program)[1] > 20, "{program}");
    }
}

/// MPI_Send and PtlPut take as long as the network interface needs for a message, once it has as many as it
/// can hold: no message waits in the library of a process without its knowing.
#[test]
fn a_sender_without_a_pending_waits() {
    let lines =
        |program: &str| run(&format!("-q -n 2 {MACHINE} {program}")).went_well().stdout.clone();
    let each = |text: &str| -> f64 {
        let line = text.lines().find(|line| line.contains(" ns a ")).expect(text);
        line.split(' ').next().unwrap().parse().unwrap()
    };
    let sends = lines("tests/mpi/many.c blocking 3000 0");
    assert!(each(&sends) > 1000.0, "{sends}");
    let puts = lines("tests/portals/full.c 2000");
    assert!(each(&puts) > 1000.0, "{puts}");
}

#[test]
fn the_summary_says_how_often() {
    let line = "Kept by MPI until the network interface had room: ";
    let many = run(&format!("-n 3 {MACHINE} tests/mpi/many.c posted 250 8"));
    let told = many.went_well().stderr.clone() + &many.stdout;
    assert!(told.contains(line) && !told.contains(": 0 receives"), "{told}");
    let few = run(&format!("-n 3 {MACHINE} tests/mpi/many.c posted 20 8"));
    assert!(!(few.went_well().stderr.clone() + &few.stdout).contains(line));
}

/// A program that uses Portals itself is told that the table is full.
#[test]
fn portals_itself_says_that_there_is_no_space() {
    for (options, expected) in [("", 320), ("--fault pool.match_entries=16", 16)] {
        let ended = run(&format!("-q -n 2 {MACHINE} {options} tests/portals/full.c 10"));
        let expected = format!("{expected} entries, then PTL_NO_SPACE");
        assert!(ended.went_well().stdout.contains(&expected), "{}", ended.stdout);
    }
}

/// Operations on a process end that waits at its other interface, and so do those of random programs with two
/// pendings: a pending is held only while a message moves, and who waits looks into all of its rings.
#[test]
fn no_operation_waits_for_a_process_that_waits_elsewhere() {
    for options in ["", "--set firmware.overflow=panic", "--fault pool.rx_pendings=2"] {
        let line = format!("-q -n 2 {MACHINE} {options} tests/portals/passive.c 600");
        assert_eq!(run(&line).went_well().stdout, "ok\n", "{options}");
    }
    for seed in 1..=6 {
        let few = "--fault pool.rx_pendings=2 tests/soak/portals.c";
        run(&format!("-q -n {} {MACHINE} {few} {seed}", 2 + seed % 5)).went_well();
    }
}
