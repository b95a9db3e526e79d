//! Programs with errors (tests/cli/wrong.c): endings and messages of their runs.

use crate::runner::{command, run, Ended};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};

/// Two ranks of one case of wrong.c.
fn wrong(case: &str) -> Ended {
    run(&format!("-n 2 tests/cli/wrong.c {case}"))
}

/// Checks that the output has stamp and totals, which every run prints however it ends.
#[track_caller]
fn has_summary(ended: &Ended) {
    assert!(ended.stdout.contains("Simulated time"), "no summary: {ended:#?}");
}

#[test]
fn crashes() {
    let ended = wrong("crash");
    ended.said(139, &["rank 1", "SIGSEGV"]);
    has_summary(&ended);
    wrong("abort-signal").said(134, &["rank 1", "SIGABRT"]);
    wrong("killed").said(137, &["rank 1", "SIGKILL"]);
    wrong("crash-while-awaited").said(139, &["rank 1", "SIGSEGV"]);
}

/// Deaths in calls are reported as such, not as faults of the library, the kernel or the NIC that next
/// accesses the dead process's memory.
#[test]
fn deaths_in_calls() {
    for way in ["receive 8", "receive 100000", "strided 3000", "send 1000000", "reduce 4000"] {
        run(&format!("-n 2 tests/cli/dying.c 9 {way}"))
            .said(137, &["rank 1 was killed by SIGKILL"]);
    }
    let abort = run("-n 2 tests/cli/dying.c 6 receive 1000000");
    abort.said(134, &["rank 1 was killed by SIGABRT"]);
    let handler = run("-n 2 tests/cli/dying.c 14 receive 100000");
    handler.said(1, &["rank 1: MPI_Comm_rank was called by a signal handler"]);
}

/// Functions of the program that MPI calls may call MPI, and may be left by `longjmp` or an exception.
#[test]
fn callbacks_that_call_mpi_or_do_not_return() {
    let left = |mode: &str| run(&format!("-n 2 tests/cli/left.c {mode}"));
    for (mode, line) in [
        ("nested 60", "60 deep, 2"),
        // What its depth allows is done; nobody is told of more errors.
        ("handler 600", "64 deep"),
        ("jump 2000", "left 2000 times, 2"),
        ("error 2000", "left 2000 times"),
        ("copy 2000", "left 2000 times"),
    ] {
        let ended = left(mode);
        ended.went_well();
        assert!(ended.stdout.contains(line), "{mode}: {ended:#?}");
    }
    left("nested 600").said(1, &["rank 0: MPI_Reduce_local: 64 functions", "are under way"]);
    left("talks").said(1, &["rank 0: MPI_Barrier: called by the function of a reduction"]);
    let thrown = run("-n 1 tests/cli/thrown.cc 2000");
    thrown.went_well();
    assert!(thrown.stdout.contains("caught 2000"), "{thrown:#?}");
}

#[test]
fn exit_statuses_of_programs() {
    let ended = wrong("exit-three");
    assert_eq!(ended.code, 3, "{ended:#?}");
    has_summary(&ended);
    wrong("mpi-abort").said(5, &["rank 1", "MPI_Abort"]);
}

#[test]
fn endings_without_finalize() {
    wrong("exit-without-finalize").said(1, &["rank 1", "MPI_Finalize"]);
}

/// A program may end before `MPI_Init`, for example because it was asked for its help.
#[test]
fn programs_without_any_call() {
    assert_eq!(wrong("no-mpi-call").went_well().code, 0);
}

#[test]
fn deadlocks_tell_who_waits_for_what() {
    let ended = wrong("deadlock");
    ended.said(1, &["deadlock", "rank 0", "rank 1", "MPI_Recv", "42"]);
    has_summary(&ended);
    wrong("lonely").said(1, &["deadlock", "rank 0", "MPI_Recv", "42"]);
}

#[test]
fn bad_arguments_of_mpi_calls() {
    for (case, words) in [
        ("bad-rank", &["rank 1", "MPI_Send", "7"][..]),
        ("bad-tag", &["rank 1", "MPI_Send", "tag", "-5"]),
        ("bad-count", &["rank 1", "MPI_Send", "count", "-1"]),
        ("bad-datatype", &["rank 1", "MPI_Send", "datatype"]),
        ("bad-communicator", &["rank 1", "MPI_Send", "communicator"]),
        ("null-buffer", &["rank 1", "MPI_Send", "buffer"]),
        ("wild-buffer", &["rank 1", "MPI_Send"]),
        ("gone-receive", &["rank 1", "MPI_Recv", "buffer of 8 bytes", "memory"]),
        ("gone-send", &["rank 1", "MPI_Send", "8192 bytes", "memory"]),
        ("truncated", &["rank 1", "MPI_Recv", "32", "16"]),
    ] {
        let ended = wrong(case);
        assert_ne!(ended.code, 0, "{case}: {ended:#?}");
        ended.said(ended.code, words);
    }
}

/// The work of a call is bounded by the size of its arguments, not by a number in them.
#[test]
fn numbers_that_promise_more_than_there_is() {
    let ended = run("-n 9 --quiet tests/cli/numbers.c");
    let said = &ended.went_well().stdout;
    for (class, calls) in [
        (
            "MPI_ERR_COUNT",
            &["group_incl", "waitall", "cart_create", "struct", "reduce_scatter"][..],
        ),
        ("MPI_ERR_RANK", &["range_incl"]),
        ("MPI_ERR_ARG", &["contiguous", "vector", "darray"]),
        ("MPI_ERR_BUFFER", &["pack", "unpack"]),
        ("success", &["dims_create", "line", "gather", "alltoall", "alltoall in place"]),
    ] {
        for call in calls {
            assert!(said.lines().any(|line| line == format!("{call}: {class}")), "{call}: {said}");
        }
    }
    assert!(said.contains("\n19 5 3\n"), "{said}");
}

/// A send that fails when its message is on its way fails at both ends.
#[test]
fn a_send_that_fails_under_way_fails_at_both_ends() {
    for nodes in ["", "--ppn 2 "] {
        let ended = run(&format!("{nodes}-n 2 --quiet tests/cli/wrong.c gone-under-way"));
        assert_eq!(ended.went_well().stdout, "MPI_ERR_OTHER: 1\nMPI_ERR_OTHER: 1\n");
    }
}

/// A buffer that may not be written is the program's error, and the judge does not blame the library.
#[test]
fn buffers_that_may_only_be_read() {
    for nodes in ["", "--ppn 2 "] {
        let ended = run(&format!("{nodes}-n 2 tests/cli/wrong.c read-only-short"));
        ended.said(1, &["rank 1", "MPI_Wait", "may not be written"]);
        assert!(
            !["the judge", "rank 0"].iter().any(|who| ended.stderr.contains(who)),
            "{ended:#?}"
        );
    }
    // The first byte is named, however many reach the process together.
    let said = ["", "--no-merge "].map(|merge| {
        let ended = run(&format!("{merge}-n 2 --quiet tests/cli/wrong.c read-only-long"));
        let address = ended.stdout.trim().trim_start_matches("read-only: ").to_owned();
        ended.said(1, &["node 1", &format!("NIC wrote to address {address}: "), "may not write"]);
        ended.stderr
    });
    assert_eq!(said[0], said[1]);
    // Whatever way the operation takes, which depends on the number of ranks.
    for ranks in 2..=5 {
        run(&format!("-n {ranks} tests/cli/wrong.c read-only-result"))
            .said(1, &["MPI_Allreduce: the buffer of 4 bytes", "may not be written"]);
    }
}

#[test]
fn calls_that_cannot_be_obeyed() {
    for (case, word) in [
        ("missing-function", "MPI_Win_create"),
        ("before-init", "MPI_Comm_rank"),
        ("after-finalize", "MPI_Barrier"),
    ] {
        let ended = wrong(case);
        assert_ne!(ended.code, 0, "{case}: {ended:#?}");
        ended.said(ended.code, &["rank", word]);
    }
}

/// Starts an endless program; returns the process ids of its ranks.
fn endless() -> (Child, Vec<i32>) {
    endless_under(&mut command())
}

fn endless_under(command: &mut Command) -> (Child, Vec<i32>) {
    let mut child = command
        .args(["run", "-n", "2", "tests/cli/wrong.c", "endless"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let pids = lines.take(2).map(|line| line.unwrap()["pid ".len()..].parse().unwrap()).collect();
    (child, pids)
}

/// True if the process still runs; one that is dead but not yet waited for does not.
pub fn lives(pid: i32) -> bool {
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|stat| !stat.contains(") Z ") && !stat.contains(") X "))
}

#[test]
fn interrupts_end_everything() {
    for (signal, code) in [(libc::SIGINT, 130), (libc::SIGTERM, 143)] {
        let (child, pids) = endless();
        assert!(pids.iter().all(|pid| lives(*pid)), "{pids:?}");
        // SAFETY: kill touches no memory; the child has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
        let ended = Ended::from(child.wait_with_output().unwrap());
        assert_eq!(ended.code, code, "{ended:#?}");
        assert!(!pids.iter().any(|pid| lives(*pid)), "{pids:?} live on");
    }
}

/// Ignored signals stay ignored, as under nohup.
#[test]
fn ignored_signals_stay_ignored() {
    let mut command = command();
    // SAFETY: signal may be called between fork and exec.
    unsafe {
        command.pre_exec(|| {
            libc::signal(libc::SIGHUP, libc::SIG_IGN);
            libc::signal(libc::SIGINT, libc::SIG_IGN);
            Ok(())
        })
    };
    let (child, _) = endless_under(&mut command);
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:\t")).unwrap();
    let ignored = u64::from_str_radix(ignored, 16).unwrap();
    for (signal, stays) in [(libc::SIGHUP, true), (libc::SIGINT, true), (libc::SIGTERM, false)] {
        assert_eq!(ignored >> (signal - 1) & 1 == 1, stays, "signal {signal}");
        // SAFETY: kill touches no memory; the child has not been waited for.
        unsafe { libc::kill(child.id() as libc::pid_t, signal) };
    }
    let ended = Ended::from(child.wait_with_output().unwrap());
    assert_eq!(ended.code, 143, "{ended:#?}");
}

/// A simulator that is killed by SIGKILL leaves no rank behind.
#[test]
fn ranks_die_with_the_simulator() {
    let (mut child, pids) = endless();
    child.kill().unwrap();
    child.wait().unwrap();
    // The kernel kills them when it has ended the simulator, which may be an instant later.
    while pids.iter().any(|pid| lives(*pid)) {
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
