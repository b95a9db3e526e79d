//! Random bytes, records, indices and states in the memory that a rank shares with the simulator, which the
//! test plays. `RING_FIRST=17 RING_SEEDS=1 cargo test -p rank ring -- --ignored` does one seed.

use crate::harness::Program;
use des::{Random, Time};
use mpi::{Callback, CALLBACK_ARGUMENTS};
use rank::{Demand, Process, SpawnOptions};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const WORKERS: usize = 8;

const SOURCE: &str = concat!(include_str!("harness/channel.h"), include_str!("harness/ring.h"));

/// A rank that neither calls nor ends.
struct Hangs;

/// Plays the simulator to the random rank of this seed, at random, too.
fn play_random(program: &Program, seed: u64) -> Result<(), Hangs> {
    let args = vec![seed.to_string().into()];
    let options = SpawnOptions { args, ..program.options() };
    let mut process = Process::spawn(&options).unwrap();
    let mut random = Random::new(seed);
    let (mut operation, mut open) = (0, 0);
    for _ in 0..5_000 {
        // None of them computes for so long, and who waits in vain is noticed before.
        let Some(demand) = process.next_within(Some(Duration::from_secs(15))) else {
            return Err(Hangs);
        };
        let touch = random.below(4) == 0;
        match demand {
            Demand::Call { function, args, posted } => {
                if touch {
                    move_memory(&process, &args, &mut random);
                }
                if function == abi::mpi::Function::OpCreate {
                    operation = args[0];
                }
                // A function of the program; a wild one is its own fault.
                if !posted && operation != 0 && open < 50 && random.below(3) == 0 {
                    let service = random.below(3) == 0;
                    let function = if service { 1 + random.below(2) } else { operation };
                    let arguments = if service { [0; CALLBACK_ARGUMENTS] } else { [args[1]; 6] };
                    open += 1;
                    process.start_callback(
                        &Callback { function, arguments, indirect: random.below(64) as u32 },
                        Time(7),
                    );
                } else if !posted {
                    process.reply(random.below(3) as i32, Time(8));
                }
            }
            Demand::Portals { .. }
            | Demand::Verbs { .. }
            | Demand::Clock
            | Demand::Sleep(_)
            | Demand::Socket(_) => {
                process.reply_with_time(Time(9));
            }
            Demand::CallbackReturned { .. } => {
                open -= 1;
                process.reply(0, Time(10));
            }
            Demand::CallbackLeft => open -= 1,
            Demand::Computed(_) | Demand::Did(_) | Demand::Fabric(_) => {}
            Demand::Nothing | Demand::Exited(_) => return Ok(()),
        }
        if random.below(200) == 0 {
            process.flush_and_kill();
            return Ok(());
        }
    }
    // It goes on and on, as a program may.
    Ok(())
}

/// Reads and writes what a call of the program names, as host and devices do.
fn move_memory(process: &Process, args: &[u64], random: &mut Random) {
    use host::AddressSpace;
    let memory = process.memory();
    let mut bytes = vec![0; random.below(600) as usize];
    for va in &args[..3] {
        // The result does not matter: the program has told the address.
        let _ = memory.read(*va, &mut bytes);
        let _ = memory.write(*va, &bytes);
    }
    let run = |i| (args[0].wrapping_add(16 * i), 1 + i as usize % 9);
    let runs: Vec<_> = (0..random.below(400)).map(run).collect();
    let mut bytes = vec![0; runs.iter().map(|run| run.1).sum()];
    let _ = memory.read_pieces(&runs, &mut bytes);
    let _ = memory.write_pieces(&runs, &bytes);
}

fn play_many(first: u64, seeds: u64) {
    let program = Program::new(SOURCE, "MPI_Init(0, 0); shared = find(); run(argv[1]);");
    let next = AtomicU64::new(first);
    // They mostly wait. A process belongs to the thread that has started it.
    std::thread::scope(|scope| {
        let worker = || loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= first + seeds {
                return Ok(());
            }
            let again = format!("RING_FIRST={seed} RING_SEEDS=1");
            match std::panic::catch_unwind(|| play_random(&program, seed)) {
                Ok(played) => played.map_err(|Hangs| format!("it hangs: {again}"))?,
                Err(_) => return Err(format!("the simulator panics: {again}")),
            }
        };
        let workers = [(); WORKERS].map(|()| scope.spawn(worker));
        let ends = workers.map(|worker| worker.join().unwrap());
        let wrong: Vec<String> = ends.into_iter().filter_map(Result::err).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    });
}

#[test]
fn whatever_a_program_writes_into_the_channel_its_rank_ends() {
    play_many(1, 100);
}

#[test]
#[ignore = "minutes: 10,000 seeds, or as many as RING_SEEDS says from RING_FIRST on; make soak"]
fn whatever_a_program_writes_into_the_channel_soak() {
    let number = |name: &str, default| {
        std::env::var(name).map_or(default, |text| text.parse().expect("it is a number"))
    };
    play_many(number("RING_FIRST", 1000), number("RING_SEEDS", 10_000));
}
