//! What a hand-over needs of the system.
#![allow(clippy::unwrap_used)] // Helpers of tests, too.

mod harness;

use abi::mpi::Function;
use harness::{play, Program};
use host::AddressSpace;
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

/// Where the program may run at each of its looks, and where the simulator was before each.
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

/// From now on the calling thread cannot read other processes' memory: the kernel refuses.
fn refuse_process_vm_readv() {
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let equal = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let answer = libc::BPF_RET | libc::BPF_K;
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let step = |code: u32, jf, k| libc::sock_filter { code: code as u16, jt: 0, jf, k };
    let mut steps = [
        step(load, 0, std::mem::offset_of!(libc::seccomp_data, nr) as u32),
        step(equal, 1, libc::SYS_process_vm_readv as u32),
        step(answer, 0, refused),
        step(answer, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the filter outlives the calls, which read it; it holds for this thread only.
    unsafe {
        assert_eq!(libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
        let set = libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const filter);
        assert_eq!(set, 0, "{}", std::io::Error::last_os_error());
    }
}

#[test]
fn what_stands_in_the_channel_is_read_without_the_kernel() {
    let program = Program::new(
        "static int word = 77;",
        "MPI_Init(0, 0);
         for (int i = 0; i < 300; i++) MPI_Send(&i, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
         MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);
         MPI_Finalize();",
    );
    // In a thread of its own: it can never look into a process again.
    std::thread::spawn(move || {
        let mut process = program.spawn();
        refuse_process_vm_readv();
        let memory = process.memory();
        let mut sent = 0;
        let status = play(&mut process, |_, function, args, _| {
            let mut word = [0; 4];
            let read = args.first().map(|va| memory.read(*va, &mut word));
            match function {
                Function::Send => {
                    read.unwrap().unwrap();
                    assert_eq!(i32::from_le_bytes(word), sent);
                    sent += 1;
                    // Not what stands before and behind it in the process, or in the simulator.
                    let channel = args[0] & !0xfff;
                    assert!(memory.read(channel - 0x20_0000, &mut word).is_err());
                    assert!(memory.read(args[0], &mut [0; 0x1_0000]).is_err());
                    assert!(memory.read(channel + 0x9000, &mut word).is_err());
                }
                Function::Bcast => assert!(read.unwrap().is_err(), "it is not in the channel"),
                _ => {}
            }
            0
        });
        assert_eq!((sent, status.code), (300, Some(0)));
    })
    .join()
    .unwrap();
}
