//! Requirements of a hand-over on the system.

use crate::harness::{play, Program};
use abi::mpi::Function;
use rank::{ExitStatus, Process, SpawnOptions};

/// Looks after every barrier which processors it may use, and says so with the next: a set of the first 64.
const LOOKS: &str = "
    MPI_Init(0, 0);
    for (int i = 0; i < 6; i++) {
        cpu_set_t set; CPU_ZERO(&set); sched_getaffinity(0, sizeof set, &set);
        long seen = 0; memcpy(&seen, &set, sizeof seen);
        MPI_Send(&seen, -1, (MPI_Datatype)seen, 0, 0, MPI_COMM_SELF);
    }
    MPI_Finalize();";

/// The processors that the calling thread may use.
fn usable() -> Vec<usize> {
    // SAFETY: a set of processors is plain data, as large as the system is told.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        assert_eq!(libc::sched_getaffinity(0, size_of_val(&set), &raw mut set), 0);
        (0..libc::CPU_SETSIZE as usize).filter(|i| libc::CPU_ISSET(*i, &set)).collect()
    }
}

/// Processors on which the program may run at each of its looks, and the simulator's processor before each.
fn looks(follow: bool) -> Vec<(u64, usize)> {
    let program = Program::new("#include <sched.h>", LOOKS);
    // In a thread of its own: it goes from processor to processor.
    std::thread::spawn(move || {
        let processors = usable();
        let mut process = Process::spawn(&SpawnOptions { follow, ..program.options() }).unwrap();
        let (mut looks, mut turn, mut here) = (Vec::new(), 0, 0);
        let status = play(&mut process, |_, function, args, _| {
            if function == Function::Send {
                looks.push((args[2], here));
            }
            turn += 1;
            here = processors[turn % processors.len().min(2)];
            give(&[here]);
            0
        });
        assert_eq!(status, ExitStatus { code: Some(0), ..ExitStatus::FINISHED });
        looks
    })
    .join()
    .unwrap()
}

/// The calling thread may use these processors.
fn give(processors: &[usize]) {
    // SAFETY: as in `usable`.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        processors.iter().for_each(|processor| libc::CPU_SET(*processor, &mut set));
        assert_eq!(libc::sched_setaffinity(0, size_of_val(&set), &raw const set), 0);
    }
}

#[test]
fn a_process_runs_where_the_simulator_runs_that_hands_over_to_it() {
    let looks = looks(true);
    assert_eq!(looks.len(), 6);
    for (seen, here) in &looks {
        assert_eq!(*seen, 1 << here, "{looks:?}");
    }
    if usable().len() > 1 {
        assert!(looks.iter().any(|look| look.1 != looks[0].1), "the simulator has moved");
    }
}

#[test]
fn a_process_that_shall_not_follow_goes_where_it_may() {
    let all = usable().iter().fold(0, |set, processor| set | 1 << processor);
    assert!(looks(false).iter().all(|(seen, _)| *seen == all));
}

/// The turns of a process (0: the calling thread) on a processor, in nanoseconds, and its niceness.
fn turns(pid: i32) -> (u64, i32) {
    // SAFETY: attributes are plain data, as large as the system is told.
    unsafe {
        let mut attributes: libc::sched_attr = std::mem::zeroed();
        let size = size_of_val(&attributes);
        let told = libc::syscall(libc::SYS_sched_getattr, pid, &raw mut attributes, size, 0);
        assert_eq!(told, 0);
        (attributes.sched_runtime, attributes.sched_nice)
    }
}

/// Turns of a rank's process that the calling thread starts.
fn turns_of_rank(follow: bool) -> (u64, i32) {
    let program = Program::new("", "MPI_Init(0, 0); MPI_Finalize();");
    let mut process = Process::spawn(&SpawnOptions { follow, ..program.options() }).unwrap();
    let turns = turns(process.pid());
    let status = play(&mut process, |_, _, _, _| 0);
    assert_eq!(status, ExitStatus { code: Some(0), ..ExitStatus::FINISHED });
    turns
}

#[test]
fn a_process_has_shorter_turns_than_the_simulator_and_is_as_nice() {
    std::thread::spawn(|| {
        // SAFETY: makes this thread nicer, nothing else.
        unsafe { libc::nice(3) };
        let simulator = turns(0);
        assert_eq!(turns_of_rank(false), simulator);
        let rank = turns_of_rank(true);
        assert_eq!(rank.1, simulator.1);
        // Linux before 6.12 has turns of one length and tells 0.
        assert!(simulator.0 == 0 || rank.0 < simulator.0, "{rank:?} {simulator:?}");
    })
    .join()
    .unwrap();
}
