//! Many small runs of the program's memory, which its own process moves while it waits. Where it is said, the
//! simulator's thread is refused all access to other processes' memory: nobody else can have moved them.

use crate::harness::{play, refuse_process_vm, Program};
use abi::mpi::Function;
use des::{Random, Time};
use host::AddressSpace;
use rank::{Demand, Process, SpawnOptions, Templates};

const PAGES: usize = 64;
const BYTES: usize = PAGES << 12;

/// The first page may not be read, the last one may only be read, and behind it there is none.
const MAPPED: &str = "
    char *all = mmap(0, 67 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int i = 0; i < 66 << 12; i++) all[i] = (char)(i * 7 + i / 999);
    mprotect(all, 4096, PROT_NONE);
    mprotect(all + (65 << 12), 4096, PROT_READ);
    munmap(all + (66 << 12), 4096);
    all += 4096;
    MPI_Init(0, 0);
    MPI_Bcast(all, 1, MPI_INT, 0, MPI_COMM_WORLD);";

fn byte(at: usize) -> u8 {
    let i = at + 4096;
    (i * 7 + i / 999) as u8
}

/// Runs of all kinds of lengths, also of none, as a type may have them.
fn random_runs(random: &mut Random, number: u64, longest: u64) -> Vec<(usize, usize)> {
    let run = |random: &mut Random| {
        let length = random.below(longest + 1);
        (random.below(BYTES as u64 - length) as usize, length as usize)
    };
    (0..number).map(|_| run(random)).collect()
}

/// Gathers and scatters, and does the same to a copy.
fn as_in_a_copy(process: &Process, base: u64) {
    let memory = process.memory();
    let mut copy: Vec<u8> = (0..BYTES).map(byte).collect();
    let mut random = Random::new(5);
    for (number, longest) in [(64, 8), (1024, 1), (1025, 40), (4096, 8), (9_000, 100), (3_000, 900)]
    {
        let runs = random_runs(&mut random, number, longest);
        let there: Vec<_> = runs.iter().map(|&(at, len)| (base + at as u64, len)).collect();
        let wanted: Vec<u8> =
            runs.iter().flat_map(|&(at, len)| &copy[at..at + len]).copied().collect();
        let mut got = vec![0; wanted.len()];
        memory.read_pieces(&there, &mut got).unwrap();
        assert!(got == wanted, "{number} runs of up to {longest}");
        let data: Vec<u8> = wanted.iter().map(|_| random.below(256) as u8).collect();
        let mut rest = &data[..];
        for &(at, len) in &runs {
            let (here, after) = rest.split_at(len);
            copy[at..at + len].copy_from_slice(here);
            rest = after;
        }
        memory.write_pieces(&there, &data).unwrap();
        // All of it, in runs.
        let all: Vec<_> = (0..BYTES as u64 / 256).map(|i| (base + 256 * i, 256)).collect();
        let mut after = vec![0; BYTES];
        memory.read_pieces(&all, &mut after).unwrap();
        assert!(after == copy, "{number} runs of up to {longest}");
    }
}

#[test]
fn runs_are_gathered_and_scattered_by_the_process() {
    let program = Program::new("#include <sys/mman.h>", MAPPED);
    // In a thread of its own: it can never look into a process again.
    let test = move || {
        let templates = Templates::of(&program.path(), 4).unwrap();
        let options = SpawnOptions { templates: Some(templates), ..program.options() };
        // A rank that has loaded the program itself, and such as are forked.
        let mut ranks = vec![program.spawn()];
        ranks.extend((0..3).map(|_| Process::spawn(&options).unwrap()));
        refuse_process_vm();
        for mut process in ranks {
            let mut looked = false;
            play(&mut process, |process, function, args, _| {
                if function == Function::Bcast {
                    as_in_a_copy(process, args[0]);
                    looked = true;
                }
                0
            });
            assert!(looked);
        }
    };
    std::thread::spawn(test).join().unwrap();
}

#[test]
fn memory_that_is_not_there_is_told_and_no_signal_comes() {
    let program = Program::new(
        "#include <sys/mman.h>
         static int signals; static void count(int signal) { signals++; _exit(9); }",
        &format!("signal(SIGSEGV, count); signal(SIGBUS, count); {MAPPED} MPI_Finalize();"),
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let status = play(&mut process, |_, function, args, _| {
        if function != Function::Bcast {
            return 0;
        }
        let runs: Vec<_> = (0..6000).map(|i| (args[0] + 24 * i, 8)).collect();
        let mut bytes = vec![0; 8 * runs.len()];
        let behind = args[0] + BYTES as u64 + 4096 - 4;
        for (at, va) in [(0, args[0] - 4), (63, 16), (1024, behind), (5999, u64::MAX - 3)] {
            let mut wrong = runs.clone();
            wrong[at].0 = va;
            let error = memory.read_pieces(&wrong, &mut bytes).unwrap_err();
            assert_eq!((error.addr, error.write), (va, false), "{at}");
            let error = memory.write_pieces(&wrong, &bytes).unwrap_err();
            let first = error.addr >= va && error.addr - va < 8;
            assert!(first && error.write, "{at}: {error:?}");
        }
        // It may be read, and not written.
        let mut constant = runs.clone();
        constant[700].0 = args[0] + BYTES as u64 + 64;
        memory.read_pieces(&constant, &mut bytes).unwrap();
        let error = memory.write_pieces(&constant, &bytes).unwrap_err();
        assert_eq!((error.addr, error.write), (constant[700].0, true));
        0
    });
    assert_eq!((status.code, status.signal), (Some(0), None));
}

/// Any action of a thread meanwhile leaves the runs there or reported, and the process alive.
#[test]
fn memory_may_go_while_it_is_moved() {
    let program = Program::new(
        "#include <pthread.h>
         #include <sched.h>
         #include <sys/mman.h>
         enum { BYTES = 64 << 12 };
         static char *volatile all;
         static volatile int done;
         static void *come_and_go(void *unused)
         {
             while (!done) {
                 munmap(all, BYTES);
                 sched_yield();
                 mmap(all, BYTES, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
                 sched_yield();
             }
             return 0;
         }",
        "pthread_t thread;
         all = mmap(0, BYTES, 3, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         MPI_Init(0, 0);
         pthread_create(&thread, 0, come_and_go, 0);
         MPI_Bcast(all, 1, MPI_INT, 0, MPI_COMM_WORLD);
         done = 1;
         pthread_join(thread, 0);
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let status = play(&mut process, |_, function, args, _| {
        if function == Function::Bcast {
            let runs: Vec<_> = (0..4096).map(|i| (args[0] + 64 * i, 8)).collect();
            let mut bytes = vec![0; 8 * runs.len()];
            for _ in 0..300 {
                // The result depends on the other thread.
                let _ = memory.read_pieces(&runs, &mut bytes);
                let _ = memory.write_pieces(&runs, &bytes);
            }
        }
        0
    });
    assert_eq!((status.code, status.signal), (Some(0), None));
}

#[test]
fn a_process_that_does_not_wait_is_not_asked() {
    let program = Program::new(
        "static volatile long words[200];",
        "MPI_Init(0, 0);
         MPI_Bcast((void *)words, 1, MPI_LONG, 0, MPI_COMM_WORLD);
         while (words[199] == 0) { }
         for (int i = 0; i < 100; i++) if (words[2 * i + 1] != 0x0101010101010101) return 1;
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let va = loop {
        match process.next() {
            Demand::Call { function: Function::Bcast, args, .. } => break args[0],
            _ => process.reply(0, Time(0)),
        }
    };
    process.reply(0, Time(0));
    let runs: Vec<_> = (0..100).map(|i| (va + 16 * i + 8, 8)).collect();
    let mut bytes = vec![1; 800];
    memory.read_pieces(&runs, &mut bytes).unwrap();
    assert!(bytes.iter().all(|byte| *byte == 0));
    memory.write_pieces(&runs, &[1; 800]).unwrap();
    let status = play(&mut process, |_, _, _, _| 0);
    assert_eq!(status.code, Some(0));
}

#[test]
fn a_process_that_dies_as_it_is_asked_has_ended() {
    let program = Program::new(
        "static char page[8192];",
        "MPI_Init(0, 0);
         MPI_Ssend(page, 8192, MPI_BYTE, 0, 0, MPI_COMM_WORLD);",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let va = loop {
        match process.next() {
            Demand::Call { function: Function::Ssend, args, .. } => break args[0],
            _ => process.reply(0, Time(0)),
        }
    };
    let runs: Vec<_> = (0..100).map(|i| (va + 16 * i, 8)).collect();
    let mut bytes = [0; 800];
    memory.read_pieces(&runs, &mut bytes).unwrap();
    process.kill();
    while memory.read_pieces(&runs, &mut bytes).is_ok() {}
    let status = process.end_if_missed().unwrap();
    assert_eq!(status.signal, Some(libc::SIGKILL));
    assert!(memory.write_pieces(&runs, &bytes).is_err());
}
