//! Messages between two ranks: sizes around every limit, ways to send and to wait.

use crate::world::{on_each, pattern, End, Rank, Setting};
use abi::mpi::{self as c, Function};
use des::Time;
use mpi::Process;

const WORLD: mpi::CommId = Process::WORLD;

/// Sizes around the inline, copy and eager limits of `world::params`.
const SIZES: [usize; 15] =
    [0, 1, 11, 12, 13, 16, 255, 256, 257, 1000, 4095, 4096, 4097, 20_000, 200_000];

#[test]
fn every_size_arrives_whether_expected_or_not() {
    for receiver_is_late in [false, true] {
        on_each(2, move |rank| {
            for (index, &bytes) in SIZES.iter().enumerate() {
                let data = pattern(index as u64, bytes);
                let (tag, start) = (index as i32, rank.now());
                if rank.rank == 0 {
                    if !receiver_is_late {
                        rank.until(start + des::Duration::from_us(300));
                    }
                    let va = rank.buffer(&data);
                    rank.process().send(va, bytes as u64, 1, tag, WORLD).unwrap();
                    // The buffer is the program's again.
                    rank.put(va, &vec![0xee; bytes]);
                } else {
                    if receiver_is_late {
                        rank.until(start + des::Duration::from_us(300));
                    }
                    let va = rank.alloc(bytes);
                    let status = rank.process().recv(va, bytes as u64, 0, tag, WORLD).unwrap();
                    assert_eq!((status.source, status.tag, status.bytes), (0, tag, bytes as u64));
                    assert_eq!(rank.get(va, bytes), data, "{bytes} bytes");
                }
                rank.process().barrier(WORLD).unwrap();
            }
            rank.process().finalize().unwrap();
        });
    }
}

/// Rank 0 sends messages of 4000 bytes in rounds; rank 1 receives the last of a round first.
fn rounds(rank: &mut Rank, rounds: u64, messages: u64) {
    let (va, late) = (rank.alloc(4000), des::Duration::from_us(500));
    for round in 0..rounds {
        let ids = round * messages..(round + 1) * messages;
        if rank.rank == 0 {
            for id in ids {
                rank.put(va, &pattern(id, 4000));
                rank.process().send(va, 4000, 1, id as i32, WORLD).unwrap();
            }
        } else {
            let now = rank.now();
            rank.until(now + late);
            for id in ids.rev() {
                rank.process().recv(va, 4000, 0, id as i32, WORLD).unwrap();
                assert_eq!(rank.get(va, 4000), pattern(id, 4000));
            }
        }
        rank.process().barrier(WORLD).unwrap();
    }
    rank.process().finalize().unwrap();
}

#[test]
fn blocks_for_unexpected_messages_are_recycled() {
    // A block of 16 KiB takes four messages; one of the three may be begun already. Room for nine,
    // one of which is the barrier's.
    Setting::new(2).finish(|rank| rounds(rank, 20, 8));
}

#[test]
fn lost_messages_are_a_fault_and_not_a_riddle() {
    let ends = Setting::new(2).run(|rank| rounds(rank, 1, 14));
    assert_eq!(
        ends[1],
        End::Fault(
            "rank 1: 3 messages were lost because unexpected messages had filled all 3 blocks of \
             16384 bytes (mpi.unexpected_blocks, mpi.unexpected_block_size)"
                .into()
        )
    );
}

/// Rank 0 sends 2,000 messages without payload while rank 1 computes: 4,000 events, where its queue holds
/// 1,024 at first.
fn flood(rank: &mut Rank) {
    let (va, late) = (rank.alloc(8), des::Duration::from_us(40_000));
    if rank.rank == 1 {
        let now = rank.now();
        rank.until(now + late);
    }
    for id in 0..2000 {
        match rank.rank {
            0 => rank.process().send(va, 0, 1, id, WORLD).unwrap(),
            _ => drop(rank.process().recv(va, 0, 0, id, WORLD).unwrap()),
        }
    }
    rank.process().finalize().unwrap();
}

#[test]
fn the_queue_of_unexpected_messages_grows() {
    Setting::new(2).finish(flood);
}

/// With credits the queue never holds more than those of the messages that have them: nothing is lost though
/// it cannot grow. All kinds of messages cost one.
#[test]
fn credits_hold_back_senders_and_all_comes_in_order() {
    let mut setting = Setting::new(2);
    (setting.over_portals.unexpected_events, setting.over_portals.send_credits) = (64, 12);
    setting.finish(flood);
    setting.finish(|rank| rounds(rank, 5, 8));
    setting.finish(|rank| {
        // Both send more than they have credits for before either receives; lengths of all protocols.
        let (out, into, peer) = (rank.alloc(8000), rank.alloc(8000), 1 - rank.rank);
        let length = |id: i32| [0, 8, 4000, 8000][id as usize % 4];
        let sends: Vec<_> = (0..100)
            .map(|id| rank.process().isend(out, length(id), peer, id, WORLD).unwrap())
            .collect();
        for id in 0..100 {
            let got = rank.process().recv(into, 8000, peer, id, WORLD).unwrap();
            assert_eq!(got.bytes, length(id));
        }
        rank.process().waitall(&sends).unwrap();
        rank.process().finalize().unwrap();
    });
}

#[test]
fn a_limit_of_unexpected_messages_ends_the_program_that_exceeds_it() {
    let mut setting = Setting::new(2);
    setting.over_portals.unexpected_events = 1024;
    let full = "rank 1: more unexpected messages than its event queue holds \
                (mpi.unexpected_events = 1024)";
    assert_eq!(setting.run(flood)[1], End::Fault(full.into()));
}

/// A rank that only sends hears nothing of unexpected messages. (Such parameters are a mistake, which is
/// not checked here.)
#[test]
fn the_queue_that_lost_events_is_named() {
    let mut setting = Setting::new(2);
    (setting.over_portals.copy_buffers, setting.over_portals.events) = (64, 16);
    let checked = setting.over_portals.check();
    assert!(checked.is_err_and(|why| why.to_string().contains("room for 12")));
    let ends = setting.run(|rank| {
        let va = rank.alloc(8);
        for id in 0..40 {
            match rank.rank {
                0 => rank.process().send(va, 8, 1, id, WORLD).unwrap(),
                _ => drop(rank.process().recv(va, 8, 0, id, WORLD).unwrap()),
            }
        }
        rank.until(Time(1_000_000_000));
        rank.process().finalize().unwrap();
    });
    let lost = "rank 0: more sends and receives under way than its event queue holds \
                (mpi.events = 16)";
    assert_eq!(ends[0], End::Fault(lost.into()));
}

#[test]
fn more_requests_than_all_event_queues_hold() {
    let mut setting = Setting::new(2);
    setting.over_portals.events = 16;
    let ends = setting.run(|rank| {
        let va = rank.alloc(8);
        // A queue has room for six receives, the first for four: the copied messages have theirs there.
        let most = 62 * 6 + 4;
        for id in 0..=most {
            rank.process().irecv(va, 8, 1, id, WORLD).unwrap();
            assert!(id < most, "one too many");
        }
    });
    let full =
        "rank 0: MPI_Irecv: more sends and receives at a time than 63 event queues have room for \
                (mpi.events = 16)";
    assert_eq!(ends[0], End::Fault(full.into()));
}

#[test]
fn a_receiver_that_waits_in_the_library_takes_any_number_of_unexpected_messages() {
    Setting::new(2).finish(|rank| {
        let va = rank.alloc(4000);
        for id in 0..100u64 {
            if rank.rank == 0 {
                rank.put(va, &pattern(id, 4000));
                rank.process().send(va, 4000, 1, id as i32, WORLD).unwrap();
            }
        }
        // The last one first: the others wait meanwhile.
        for id in (0..100u64).rev().filter(|_| rank.rank == 1).collect::<Vec<_>>() {
            rank.process().recv(va, 4000, 0, id as i32, WORLD).unwrap();
            assert_eq!(rank.get(va, 4000), pattern(id, 4000));
        }
        rank.process().finalize().unwrap();
    });
}

#[test]
fn more_requests_than_an_event_queue_holds() {
    Setting::new(2).finish(|rank| {
        let count = 300; // A queue holds 64 events.
        let va = rank.alloc(8 * count);
        let requests: Vec<_> = (0..count as u64)
            .map(|i| {
                let (at, tag) = (va + 8 * i, i as i32);
                if rank.rank == 0 {
                    rank.put(at, &i.to_le_bytes());
                    rank.process().isend(at, 8, 1, tag, WORLD).unwrap()
                } else {
                    rank.process().irecv(at, 8, 0, tag, WORLD).unwrap()
                }
            })
            .collect();
        let now = rank.now();
        rank.until(now + des::Duration::from_us(20_000));
        rank.process().waitall(&requests).unwrap();
        for i in 0..count as u64 {
            assert_eq!(rank.get_word(va + 8 * i), i);
        }
        rank.process().finalize().unwrap();
    });
}

#[test]
fn a_synchronous_send_waits_for_its_receive() {
    on_each(2, |rank| {
        let (late, start) = (des::Duration::from_us(1000), rank.now());
        for bytes in [0, 8, 5000] {
            let va = rank.alloc(bytes);
            rank.process().barrier(WORLD).unwrap();
            let start = rank.now().max(start);
            if rank.rank == 0 {
                rank.process().ssend(va, bytes as u64, 1, 3, WORLD).unwrap();
                assert!(rank.now() >= start + des::Duration::from_us(900));
            } else {
                rank.until(start + late);
                rank.process().recv(va, bytes as u64, 0, 3, WORLD).unwrap();
            }
        }
        rank.process().finalize().unwrap();
    });
}

/// Both ranks compute until long after the message, and look once.
#[test]
fn a_posted_receive_of_any_length_needs_no_call() {
    Setting::new(2).finish(|rank| {
        for (message, bytes) in SIZES.into_iter().chain([1 << 20]).enumerate() {
            let (data, va) = (pattern(message as u64, bytes), rank.alloc(bytes));
            let posted = (rank.rank == 1)
                .then(|| rank.process().irecv(va, bytes as u64, 0, 3, WORLD).unwrap());
            rank.process().barrier(WORLD).unwrap();
            let request = posted.unwrap_or_else(|| {
                rank.put(va, &data);
                rank.process().isend(va, bytes as u64, 1, 3, WORLD).unwrap()
            });
            let now = rank.now();
            rank.until(now + des::Duration::from_us(3000));
            assert!(rank.get(va, bytes) == data, "{bytes} bytes are there");
            assert!(rank.process().test(request).unwrap().is_some(), "{bytes} bytes");
        }
        rank.process().finalize().unwrap();
    });
}

/// A long send leaves three events, two of which may come before anybody looks.
#[test]
fn more_long_sends_than_an_event_queue_holds() {
    for receiver_is_late in [false, true] {
        Setting::new(2).finish(move |rank| {
            let (count, bytes) = (100, 5000);
            let (now, va) = (rank.now(), rank.alloc(bytes * count));
            let late = (rank.rank == 1) == receiver_is_late;
            rank.until(now + des::Duration::from_us(if late { 5000 } else { 0 }));
            let requests: Vec<_> = (0..count as u64)
                .map(|i| {
                    let (at, tag) = (va + bytes as u64 * i, i as i32);
                    if rank.rank == 0 {
                        rank.put(at, &pattern(i, bytes));
                        rank.process().isend(at, bytes as u64, 1, tag, WORLD).unwrap()
                    } else {
                        rank.process().irecv(at, bytes as u64, 0, tag, WORLD).unwrap()
                    }
                })
                .collect();
            let now = rank.now();
            rank.until(now + des::Duration::from_us(20_000));
            rank.process().waitall(&requests).unwrap();
            for i in 0..count as u64 {
                assert!(rank.get(va + bytes as u64 * i, bytes) == pattern(i, bytes), "{i}");
            }
            rank.process().finalize().unwrap();
        });
    }
}

#[test]
fn a_rank_sends_to_itself() {
    on_each(1, |rank| {
        for (message, bytes) in [(1, 0), (2, 10), (3, 3000), (4, 50_000)] {
            let from = rank.buffer(&pattern(message, bytes));
            let to = rank.alloc(bytes);
            let incoming = rank.process().irecv(to, bytes as u64, 0, 1, WORLD).unwrap();
            rank.process().send(from, bytes as u64, 0, 1, WORLD).unwrap();
            rank.process().wait(incoming).unwrap();
            assert_eq!(rank.get(to, bytes), pattern(message, bytes));
            let outgoing = rank.process().isend(from, bytes as u64, 0, 1, WORLD).unwrap();
            rank.put(to, &vec![0; bytes]);
            rank.process().recv(to, bytes as u64, 0, 1, WORLD).unwrap();
            rank.process().wait(outgoing).unwrap();
            assert_eq!(rank.get(to, bytes), pattern(message, bytes));
        }
        rank.process().finalize().unwrap();
    });
}

#[test]
fn probes_and_tests_let_time_pass_and_find_what_arrives() {
    on_each(2, |rank| {
        let va = rank.alloc(10_000);
        for bytes in [0u64, 100, 9000] {
            if rank.rank == 0 {
                let now = rank.now();
                rank.until(now + des::Duration::from_us(50));
                rank.process().send(va, bytes, 1, 9, WORLD).unwrap();
            } else {
                let mut looks = 0;
                let status = loop {
                    looks += 1;
                    let before = rank.now();
                    let found = rank.process().iprobe(c::ANY_SOURCE, c::ANY_TAG, WORLD).unwrap();
                    assert!(rank.now() > before, "a look takes time");
                    if let Some(status) = found {
                        break status;
                    }
                };
                assert!(looks > 10);
                assert_eq!((status.source, status.tag, status.bytes), (0, 9, bytes));
                assert_eq!(rank.process().probe(0, 9, WORLD).unwrap(), status);
                let request = rank.process().irecv(va, bytes, 0, 9, WORLD).unwrap();
                while rank.process().test(request).unwrap().is_none() {}
            }
            rank.process().barrier(WORLD).unwrap();
        }
        rank.process().finalize().unwrap();
    });
}

#[test]
fn a_cancelled_receive_takes_no_message() {
    for bytes in [8, 9000] {
        on_each(2, move |rank| {
            let (a, b) = (rank.alloc(bytes), rank.buffer(&pattern(7, bytes)));
            if rank.rank == 1 {
                let request = rank.process().irecv(a, bytes as u64, 0, 1, WORLD).unwrap();
                assert!(rank.process().cancel(request));
                assert!(rank.process().wait(request).unwrap().cancelled);
            }
            rank.process().barrier(WORLD).unwrap();
            if rank.rank == 0 {
                rank.process().send(b, bytes as u64, 1, 1, WORLD).unwrap();
            } else {
                let request = rank.process().irecv(a, bytes as u64, 0, 1, WORLD).unwrap();
                let now = rank.now();
                rank.until(now + des::Duration::from_us(200));
                assert!(!rank.process().cancel(request), "the message is there");
                assert!(!rank.process().wait(request).unwrap().cancelled);
                assert_eq!(rank.get(a, bytes), pattern(7, bytes));
            }
            rank.process().finalize().unwrap();
        });
    }
}

/// Calls through the C interface: handles, statuses, datatypes with holes.
#[test]
fn columns_of_a_matrix_and_arrays_of_requests() {
    on_each(2, |rank| {
        rank.ok(Function::Init, &[0, 0]);
        let column = rank.word(0);
        // 4 x 4 matrix of ints: one int, then a stride of 4.
        rank.ok(Function::TypeVector, &[4, 1, 4, c::INT, column]);
        rank.ok(Function::TypeCommit, &[column]);
        let datatype = rank.get_word(column);
        let matrix = rank.alloc(64);
        let handles = rank.alloc(8 * 5);
        let statuses = rank.alloc(32 * 5);
        let mut values: Vec<i32> = (0..16).collect();
        if rank.rank == 1 {
            values.fill(-1);
        }
        rank.put_ints(matrix, &values);
        for i in 0..5u64 {
            let handle = if i == 2 { c::REQUEST_NULL } else { rank.new_request() };
            rank.put(handles + 8 * i, &handle.to_le_bytes());
            if i == 2 {
                continue;
            }
            let tag = i;
            let column = if i > 2 { i - 1 } else { i };
            let peer = 1 - rank.rank as u64;
            let function = if rank.rank == 0 { Function::Isend } else { Function::Irecv };
            let args = [matrix + 4 * column, 1, datatype, peer, tag, c::COMM_WORLD, handle];
            rank.ok(function, &args);
        }
        rank.ok(Function::Waitall, &[5, handles, statuses]);
        for i in 0..5u64 {
            assert_eq!(rank.get_word(handles + 8 * i), c::REQUEST_NULL);
            let status = rank.get_ints(statuses + 32 * i, 3);
            if rank.rank == 1 && i != 2 {
                assert_eq!(status, [0, i as i32, 0]);
                let count = rank.alloc(4);
                rank.ok(Function::GetCount, &[statuses + 32 * i, c::INT, count]);
                assert_eq!(rank.get_ints(count, 1), [4]);
                rank.ok(Function::GetCount, &[statuses + 32 * i, c::C_DOUBLE_COMPLEX, count]);
                assert_eq!(rank.get_ints(count, 1), [1]);
                rank.ok(Function::GetCount, &[statuses + 32 * i, c::LONG_DOUBLE_INT, count]);
                assert_eq!(rank.get_ints(count, 1), [c::UNDEFINED]);
            } else {
                assert_eq!(status, [c::ANY_SOURCE, c::ANY_TAG, 0]);
            }
        }
        assert_eq!(rank.get_ints(matrix, 16), (0..16).collect::<Vec<i32>>());
        rank.ok(Function::TypeFree, &[column]);
        assert_eq!(rank.get_word(column), c::DATATYPE_NULL);
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn sendrecv_replace_rotates_and_proc_null_does_nothing() {
    on_each(3, |rank| {
        let (me, size) = (rank.rank, rank.size);
        let (next, previous) = ((me + 1) % size, (me + size - 1) % size);
        let bytes = 6000;
        let va = rank.buffer(&pattern(me as u64, bytes));
        let status = rank.alloc(32);
        let args =
            [va, bytes as u64, c::BYTE, next as u64, 4, previous as u64, 4, c::COMM_WORLD, status];
        rank.ok(Function::SendrecvReplace, &args);
        assert_eq!(rank.get(va, bytes), pattern(previous as u64, bytes));
        assert_eq!(rank.get_ints(status, 2), [previous, 4]);
        let nobody = c::PROC_NULL as i64 as u64;
        let args = [va, 8, c::BYTE, nobody, 4, va, 8, c::BYTE, nobody, 4, c::COMM_WORLD, status];
        rank.ok(Function::Sendrecv, &args);
        assert_eq!(rank.get_ints(status, 2), [c::PROC_NULL, c::ANY_TAG]);
        rank.ok(Function::Finalize, &[]);
    });
}
