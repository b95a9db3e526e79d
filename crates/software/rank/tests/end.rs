//! Ranks do not outlive who wants them. In a program of its own: it ends all ranks.

#![allow(clippy::unwrap_used)] // Helpers of tests, too.

#[allow(dead_code)] // One test needs little of it.
#[path = "ranks/harness/mod.rs"]
mod harness;

use harness::Program;
use rank::{Demand, Process};
use std::time::{Duration, Instant};

fn is_alive(pid: i32) -> bool {
    // A zombie is dead, though its number is still taken.
    let status = std::fs::read_to_string(format!("/proc/{pid}/stat"));
    status.is_ok_and(|text| !text.contains(") Z "))
}

fn dies_soon(pid: i32) -> bool {
    let start = Instant::now();
    while is_alive(pid) {
        if start.elapsed() > Duration::from_secs(5) {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    true
}

#[test]
fn ranks_end_with_the_registry_their_owner_or_their_thread() {
    let program = Program::new("", "MPI_Init(0, 0); for (;;) pause();");
    let mut killed: Vec<Process> = (0..3).map(|_| program.spawn()).collect();
    rank::kill_all();
    for process in &mut killed {
        let status = loop {
            match process.next() {
                Demand::Exited(status) => break status,
                _ => process.reply(0, des::Time::ZERO),
            }
        };
        assert_eq!(status.signal, Some(9));
    }

    let dropped = program.spawn();
    let pid = dropped.pid();
    assert!(is_alive(pid));
    drop(dropped);
    assert!(!is_alive(pid));

    // Nobody drops this one: its thread ends, as all threads do when the simulator is killed.
    let options = program.options();
    let orphan = std::thread::spawn(move || {
        let process = Process::spawn(&options).unwrap();
        let pid = process.pid();
        assert!(is_alive(pid));
        std::mem::forget(process);
        pid
    });
    assert!(dies_soon(orphan.join().unwrap()));
}
