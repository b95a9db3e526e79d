//! The program's memory, as the simulator reads and writes it while the program waits.

use crate::harness::{call_back, play, refuse_process_vm, Program};
use abi::mpi::Function;
use des::Time;
use host::AddressSpace;
use mpi::Callback;
use rank::{Demand, Ending, ProcessMemory};

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
        refuse_process_vm();
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
                    // Not what lies before and behind it in the process, or in the simulator.
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

fn word(memory: &ProcessMemory, va: u64) -> Result<u32, bus::BusError> {
    let mut word = [0; 4];
    memory.read(va, &mut word).map(|()| u32::from_le_bytes(word))
}

/// Calls that read from and store into the program's data, its heap and its stack.
const EVERYWHERE: &str = "
    int on_stack = 3, got = 0, *on_heap = malloc(64);
    MPI_Request requests[2] = {(MPI_Request)70000, (MPI_Request)70001};
    *on_heap = 2;
    MPI_Init(0, 0);
    MPI_Allreduce(&in_data, &got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (got != 11) return 1;
    MPI_Allreduce(on_heap, &in_data, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (in_data != 12) return 2;
    MPI_Sendrecv(&on_stack, 1, MPI_INT, 0, 0, on_heap, 1, MPI_INT, 0, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    if (*on_heap != 13) return 3;
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Finalize();";

#[test]
fn small_things_are_read_and_stored_without_the_kernel() {
    let program = Program::new("static int in_data = 1;", EVERYWHERE);
    std::thread::spawn(move || {
        let mut process = program.spawn();
        refuse_process_vm();
        let memory = process.memory();
        let mut sums = 0;
        let status = play(&mut process, |_, function, args, _| {
            match function {
                Function::Allreduce | Function::Sendrecv => {
                    sums += 1;
                    assert_eq!(word(&memory, args[0]).unwrap(), sums);
                    // Neither more of it than the call reads nor what lies beside it.
                    assert!(word(&memory, args[0] + 1).is_err());
                    assert!(word(&memory, args[0] - 1).is_err());
                    let into = if function == Function::Allreduce { args[1] } else { args[5] };
                    memory.write(into, &(10 + sums).to_le_bytes()).unwrap();
                }
                Function::Waitall => {
                    assert_eq!(word(&memory, args[1]).unwrap(), 70000);
                    assert_eq!(word(&memory, args[1] + 8).unwrap(), 70001);
                }
                Function::Wait => assert_eq!(word(&memory, args[0]).unwrap(), 70001),
                _ => {}
            }
            0
        });
        assert_eq!((sums, status.code), (3, Some(0)));
    })
    .join()
    .unwrap();
}

/// Memory for writing alone, as logs that are mapped; and memory for nothing.
const WRITE_ONLY: &str = "
    MPI_Init(0, 0);
    int *page = mmap(0, 8192, PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    page[5] = 77;
    mprotect((char *)page + 4096, 4096, PROT_NONE);
    MPI_Ssend(page + 5, 1, MPI_INT, 0, 0, MPI_COMM_WORLD);
    if (page[6] != 78) return 1;
    MPI_Finalize();";

#[test]
fn what_the_processor_can_read_is_read_though_only_writing_is_allowed() {
    let program = Program::new("#include <sys/mman.h>\n", WRITE_ONLY);
    let mut process = program.spawn();
    let memory = process.memory();
    let mut sent = false;
    let status = play(&mut process, |_, function, args, _| {
        if function == Function::Ssend {
            sent = true;
            let va = args[0];
            assert_eq!(word(&memory, va).unwrap(), 77);
            memory.write(va + 4, &78u32.to_le_bytes()).unwrap();
            let mut pieces = [0; 8];
            memory.read_pieces(&[(va, 4), (va + 100, 4)], &mut pieces).unwrap();
            assert_eq!(pieces[..4], 77u32.to_le_bytes());
            let page = va & !0xfff;
            assert!(word(&memory, page + 4096).is_err() && word(&memory, page + 4094).is_err());
        }
        0
    });
    assert!(sent && status.code == Some(0), "{status:?}");
}

/// Sends the first `n` bytes, and gets as many at a place of every alignment.
const ANY_LENGTH: &str = "
    unsigned char text[80];
    MPI_Init(0, 0);
    for (int n = 1; n < 40; n++) {
        for (int i = 0; i < 80; i++) text[i] = i;
        MPI_Ssend(text, n, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        for (int i = 0, at = n % 8; i < 80; i++)
            if (text[i] != (i >= at && i < at + n ? 100 + i - at : i)) return n;
    }
    MPI_Finalize();";

#[test]
fn any_number_of_bytes_goes_to_and_from_any_address() {
    let program = Program::new("", ANY_LENGTH);
    std::thread::spawn(move || {
        let mut process = program.spawn();
        refuse_process_vm();
        let memory = process.memory();
        let status = play(&mut process, |_, function, args, _| {
            if function == Function::Ssend {
                let (va, n) = (args[0], args[1] as u8);
                for from in 0..n {
                    let mut part = vec![0; usize::from(n - from)];
                    memory.read(va + u64::from(from), &mut part).unwrap();
                    assert!(part.into_iter().eq(from..n));
                }
                let answer: Vec<u8> = (100..100 + n).collect();
                memory.write(va + u64::from(n % 8), &answer).unwrap();
            }
            0
        });
        assert_eq!(status.code, Some(0));
    })
    .join()
    .unwrap();
}

#[test]
fn who_reads_what_was_stored_before_sees_it() {
    let program = Program::new(
        "",
        "int both[600] = {1};
         MPI_Init(0, 0);
         MPI_Allreduce(both, both, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
         if (both[0] != 0x0505 || both[1] != 0x0404 << 16) return 1;
         MPI_Barrier(MPI_COMM_WORLD);
         for (int i = 0; i < 600; i++) if (both[i] != (i == 299 ? 7 : i)) return 2;
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let mut buffer = 0;
    let status = play(&mut process, |_, function, args, _| {
        match function {
            Function::Allreduce => {
                buffer = args[0];
                assert_eq!(word(&memory, buffer).unwrap(), 1);
                memory.write(buffer, &[4, 4, 4, 4]).unwrap();
                assert_eq!(word(&memory, buffer).unwrap(), 0x0404_0404);
                memory.write(buffer, &[5, 5, 0, 0]).unwrap();
                memory.write(buffer + 4, &[0, 0, 4, 4]).unwrap();
                let mut page = [0; 4096];
                memory.read(buffer & !0xfff, &mut page).unwrap();
                assert_eq!(word(&memory, buffer).unwrap(), 0x0505);
            }
            // More than there is room for; the last of it at a place that was stored first.
            Function::Barrier => {
                memory.write(buffer + 4 * 299, &[9; 4]).unwrap();
                for i in 0..600u32 {
                    memory.write(buffer + 4 * u64::from(i), &i.to_le_bytes()).unwrap();
                }
                memory.write(buffer + 4 * 299, &[7, 0, 0, 0]).unwrap();
            }
            _ => {}
        }
        0
    });
    assert_eq!(status.code, Some(0));
}

#[test]
fn callbacks_see_what_was_stored_and_what_they_store_is_seen() {
    let program = Program::new(
        "static int seen; static int count(int *at) { seen++; return (*at)++; }",
        "int result = 1;
         MPI_Init(0, 0);
         MPI_Allreduce(&result, count, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
         return seen != 2 || result != 3;",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let mut results = Vec::new();
    let status = play(&mut process, |process, function, args, _| {
        if function == Function::Allreduce {
            let callback = Callback { function: args[1], arguments: [args[0]; 6], indirect: 0 };
            let mut count = || {
                let (result, _) = call_back(process, &callback);
                results.push((result as u32, word(&memory, args[0]).unwrap()));
            };
            count();
            memory.write(args[0], &[8, 0, 0, 0]).unwrap();
            count();
            memory.write(args[0], &[3, 0, 0, 0]).unwrap();
        }
        0
    });
    assert_eq!((results.as_slice(), status.code), (&[(1, 2), (8, 9)][..], Some(0)));
}

#[test]
fn bad_memory_is_told_by_the_write_and_harms_nobody() {
    let program = Program::new(
        "#include <sys/mman.h>\nstatic const int constant = 1;",
        "char *page = aligned_alloc(4096, 8192), *gone = mmap(0, 4096, 3, 34, -1, 0);
         MPI_Init(0, 0);
         munmap(gone, 4096);
         MPI_Send((void *)&constant, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
         MPI_Send((char *)sbrk(0) + (1 << 30), -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
         MPI_Send((char *)sbrk(0) - 8, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
         MPI_Send(gone, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
         MPI_Send(NULL, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
         mprotect(page, 4096, PROT_READ);
         MPI_Send(page, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
         mprotect(page, 4096, PROT_READ | PROT_WRITE);
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let mut refused = 0;
    let status = play(&mut process, |_, function, args, _| {
        if function == Function::Send {
            refused += u32::from(memory.write(args[0], &[0; 16]).is_err());
        }
        0
    });
    assert_eq!((refused, status.code), (6, Some(0)));
}

/// The program's data are no longer what they were when it started.
#[test]
fn mappings_over_the_programs_data_are_seen() {
    for change in [
        "mmap(page, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)",
        "munmap(page, 4096)",
    ] {
        let program = Program::new(
            "#include <sys/mman.h>\nstatic char room[3 * 4096];",
            &format!(
                "char *page = (char *)(((unsigned long)room + 4095) & ~4095ul);
                 MPI_Init(0, 0);
                 MPI_Send(page, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
                 {change};
                 MPI_Send(page, -1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
                 MPI_Finalize();"
            ),
        );
        let mut process = program.spawn();
        let memory = process.memory();
        let mut written = Vec::new();
        let status = play(&mut process, |_, function, args, _| {
            if function == Function::Send {
                written.push(memory.write(args[0], &[0; 16]).is_ok());
            }
            0
        });
        assert_eq!((written, status.code), (vec![true, false], Some(0)), "{change}");
    }
}

#[test]
fn what_is_left_for_a_process_that_is_killed_is_nobodys() {
    let program = Program::new(
        "",
        "int word = 1;
         MPI_Init(0, 0);
         MPI_Wait((MPI_Request *)&word, MPI_STATUS_IGNORE);",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let va = loop {
        match process.next() {
            Demand::Call { function: Function::Wait, args, .. } => break args[0],
            _ => process.reply(0, Time(0)),
        }
    };
    memory.write(va, &[2, 0, 0, 0]).unwrap();
    process.kill();
    let Demand::Exited(status) = process.next() else { panic!("it has been killed") };
    assert_eq!(status.signal, Some(libc::SIGKILL));
    assert!(word(&memory, va).is_err());
    assert!(memory.write(va, &[3, 0, 0, 0]).is_err());
}

/// A process that ends unasked while it waits: a reader that misses its memory learns the reason.
#[test]
fn a_process_that_is_missed_tells_how_it_ended() {
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
    let mut page = [0; 8192];
    memory.read(va, &mut page).unwrap();
    assert!(memory.read(64, &mut page).is_err());
    assert!(memory.ending().is_none() && process.end_if_missed().is_none(), "it lives");
    // SAFETY: touches no memory of ours; the process has not been waited for.
    assert_eq!(unsafe { libc::kill(process.pid(), libc::SIGABRT) }, 0);
    while memory.read(va, &mut page).is_ok() {}
    let status = process.end_if_missed().unwrap();
    assert_eq!((status.signal, status.initialized), (Some(libc::SIGABRT), true));
    assert_eq!(memory.ending(), Some((3, Ending::Exited(status))));
    process.reply(0, Time(0));
    assert_eq!(process.next(), Demand::Exited(status));
    assert!(memory.ending().is_none(), "everybody knows");
}

/// Pieces of a page, of neighbouring pages, in any order, again and again.
fn some_pieces(base: u64) -> Vec<(u64, usize)> {
    let mut seed = 1u64;
    let mut random = |below: u64| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        (seed >> 33) % below
    };
    let mut pieces: Vec<_> = (0..2500).map(|i| (base + 24 * i, 8)).collect();
    pieces.extend((0..2500).map(|_| (base + random(60 << 12), random(300) as usize)));
    pieces.extend((0..40).map(|i| (base + (i << 12) + 4090, 12)));
    pieces
}

#[test]
fn many_pieces_are_read_and_stored_as_one_by_one() {
    let program = Program::new(
        "#include <sys/mman.h>
         static long data[4] = {1, 2, 3, 4};",
        "char *all = mmap(0, 64 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
         for (int i = 0; i < 62 << 12; i++) all[i] = (char)(i * 7 + i / 999);
         mprotect(all + (62 << 12), 4096, PROT_READ);
         munmap(all + (63 << 12), 4096);
         MPI_Init(0, 0);
         MPI_Bcast(all, 1, MPI_INT, 0, MPI_COMM_WORLD);
         MPI_Bcast(data, 4, MPI_LONG, 0, MPI_COMM_WORLD);
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let mut calls = 0;
    let status = play(&mut process, |_, function, args, _| {
        if function != Function::Bcast {
            return 0;
        }
        calls += 1;
        let base = args[0];
        if calls == 2 {
            // Data that came with the call, and data left to be stored, are the program's, too.
            memory.write(base + 24, &9u64.to_le_bytes()).unwrap();
            let numbers: Vec<_> = (0..4).rev().map(|i| (base + 8 * i, 8)).collect();
            let mut bytes = [0; 32];
            memory.read_pieces(&numbers, &mut bytes).unwrap();
            assert_eq!([bytes[0], bytes[8], bytes[16], bytes[24]], [9, 3, 2, 1]);
            let each: Vec<_> = (0..32).map(|i| (base + i, 1)).collect();
            memory.write_pieces(&each, &[5; 32]).unwrap();
            assert_eq!(word(&memory, base + 8), Ok(0x0505_0505));
            return 0;
        }
        let pieces = some_pieces(base);
        let bytes = pieces.iter().map(|piece| piece.1).sum();
        let (mut together, mut single) = (vec![0; bytes], vec![0; bytes]);
        let one_by_one = |single: &mut [u8]| {
            let mut rest = single;
            for &(va, len) in &pieces {
                let (piece, after) = rest.split_at_mut(len);
                memory.read(va, piece).unwrap();
                rest = after;
            }
        };
        memory.read_pieces(&pieces, &mut together).unwrap();
        one_by_one(&mut single);
        assert_eq!(together, single);
        // The last of those that overlap holds: in both ways the same bytes are there afterwards.
        let new: Vec<u8> = (0..bytes).map(|i| (i * 31 + i / 77) as u8).collect();
        memory.write_pieces(&pieces, &new).unwrap();
        let mut after = vec![0; 62 << 12];
        memory.read(base, &mut after).unwrap();
        let mut rest = &new[..];
        for &(va, len) in &pieces {
            let (piece, others) = rest.split_at(len);
            memory.write(va, piece).unwrap();
            rest = others;
        }
        let mut wanted = vec![0; 62 << 12];
        memory.read(base, &mut wanted).unwrap();
        assert_eq!(after, wanted);
        // The first piece that is not there is told.
        let mut wrong = pieces.clone();
        wrong[1700] = (base + (63 << 12) + 5, 8);
        wrong[1900] = (base + (63 << 12) + 50, 8);
        let error = memory.read_pieces(&wrong, &mut vec![0; bytes]).unwrap_err();
        assert_eq!((error.addr, error.write), (wrong[1700].0, false));
        wrong[1700] = (base + (62 << 12) + 5, 8);
        let error = memory.write_pieces(&wrong, &new).unwrap_err();
        assert_eq!((error.addr, error.write), (wrong[1700].0, true));
        0
    });
    assert_eq!((calls, status.code), (2, Some(0)));
}
