//! Messages to a program that does something wrong, and the report on a rank that waits for ever.

use crate::world;
use crate::world::{End, Rank, Setting, BASE, MEMORY, READ_ONLY};
use abi::mpi::{self as c, Function};
use mpi::Outcome;
use std::cell::RefCell;
use std::rc::Rc;

const COMM: u64 = c::COMM_WORLD;

fn word(int: i32) -> u64 {
    int as i64 as u64
}

/// Outcome of one call on rank 0 of two.
fn outcome(returning: bool, call: impl Fn(&mut Rank) -> (Function, Vec<u64>) + 'static) -> Outcome {
    let result = Rc::new(RefCell::new(None));
    let store = result.clone();
    Setting::new(2).run(move |rank| {
        if rank.rank == 0 {
            if returning {
                rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
            }
            let (function, args) = call(rank);
            *store.borrow_mut() = Some(rank.call(function, &args));
        }
    });
    let result = result.borrow_mut().take();
    result.expect("the call returned")
}

/// A call's arguments, the error class, and the sentence.
type Case = (Function, Vec<u64>, i32, &'static str);

fn cases() -> Vec<Case> {
    use Function::*;
    let send = |buf, count, datatype, to, tag, comm| vec![buf, count, datatype, to, tag, comm];
    let buf = BASE;
    vec![
        (
            Send,
            send(buf, 1, c::INT, 7, 0, COMM),
            c::ERR_RANK,
            "rank 0: MPI_Send: destination 7 is not a rank of MPI_COMM_WORLD (size 2)",
        ),
        (
            Recv,
            vec![buf, 1, c::INT, word(-9), 0, COMM, 0],
            c::ERR_RANK,
            "rank 0: MPI_Recv: source -9 is not a rank of MPI_COMM_WORLD (size 2)",
        ),
        (
            Send,
            send(buf, 1, c::INT, 1, word(-5), COMM),
            c::ERR_TAG,
            "rank 0: MPI_Send: tag -5 is not allowed (0 to 2147483647)",
        ),
        (
            Ssend,
            send(buf, word(-1), c::INT, 1, 0, COMM),
            c::ERR_COUNT,
            "rank 0: MPI_Ssend: count -1 is negative",
        ),
        (
            Send,
            send(buf, 1, 0x999, 1, 0, COMM),
            c::ERR_TYPE,
            "rank 0: MPI_Send: 0x999 is no datatype, or it was freed",
        ),
        (
            Send,
            send(0, 1, c::INT, 1, 0, COMM),
            c::ERR_BUFFER,
            "rank 0: MPI_Send: the buffer of 4 bytes is a null pointer",
        ),
        (
            Send,
            send(BASE + MEMORY - 2, 1, c::INT, 1, 0, COMM),
            c::ERR_BUFFER,
            "rank 0: MPI_Send: the buffer of 4 bytes at 0x7ffffe is not in the program's memory",
        ),
        (
            Recv,
            vec![BASE - 0x10000, 2000, c::INT, 1, 0, COMM, 0],
            c::ERR_BUFFER,
            "rank 0: MPI_Recv: the buffer of 8000 bytes at 0x3f0000 is not in the program's memory",
        ),
        (
            Recv,
            vec![word(-4096), 1000, c::INT, 1, 0, COMM, 0],
            c::ERR_BUFFER,
            "rank 0: MPI_Recv: the buffer of 4000 bytes at 0xfffffffffffff000 is not in the \
             program's memory",
        ),
        (
            Send,
            send(c::IN_PLACE, 1, c::INT, 1, 0, COMM),
            c::ERR_BUFFER,
            "rank 0: MPI_Send: MPI_IN_PLACE is not allowed for this buffer",
        ),
        (
            Bcast,
            vec![buf, 1, c::INT, 2, COMM],
            c::ERR_ROOT,
            "rank 0: MPI_Bcast: root 2 is not a rank of MPI_COMM_WORLD (size 2)",
        ),
        (
            Allreduce,
            vec![buf, buf + 8, 1, c::DOUBLE, c::BAND, COMM],
            c::ERR_OP,
            "rank 0: MPI_Allreduce: MPI_BAND is not defined on MPI_DOUBLE",
        ),
        (
            Reduce,
            vec![buf, buf + 8, 1, c::DOUBLE, 0x77, 0, COMM],
            c::ERR_OP,
            "rank 0: MPI_Reduce: 0x77 is no operation, or it was freed",
        ),
        (
            Reduce,
            vec![buf, buf, 1, c::INT, c::SUM, 0, COMM],
            c::ERR_BUFFER,
            "rank 0: MPI_Reduce: what is sent and what is received are both at 0x400000: \
             MPI_IN_PLACE is for that, where it is allowed",
        ),
        (
            Allreduce,
            vec![0, 0, 1, c::INT, c::SUM, COMM],
            c::ERR_BUFFER,
            "rank 0: MPI_Allreduce: the buffer of 4 bytes is a null pointer",
        ),
        (
            CommRank,
            vec![COMM, 0],
            c::ERR_ARG,
            "rank 0: MPI_Comm_rank: the address of the rank is a null pointer",
        ),
    ]
}

#[test]
fn fatal_errors_say_what_and_where_and_what_is_allowed() {
    for (function, args, _, sentence) in cases() {
        let given = outcome(false, move |_| (function, args.clone()));
        assert_eq!(given, Outcome::Fatal(sentence.into()));
    }
}

#[test]
fn errors_are_returned_as_classes_to_those_who_want_them() {
    for (function, args, class, _) in cases() {
        let given = outcome(true, move |_| (function, args.clone()));
        assert_eq!(given, Outcome::Ok(class), "{}", function.name());
    }
}

#[test]
fn handles_that_name_nothing() {
    // Nothing names a communicator whose error handler could be asked: MPI_COMM_SELF's is, and if it
    // is fatal MPI_COMM_WORLD's.
    let given = outcome(false, |_| (Function::Barrier, vec![c::COMM_NULL]));
    let sentence = "rank 0: MPI_Barrier: the communicator is MPI_COMM_NULL";
    assert_eq!(given, Outcome::Fatal(sentence.into()));
    let given = outcome(true, |_| (Function::Barrier, vec![c::COMM_NULL]));
    assert_eq!(given, Outcome::Ok(c::ERR_COMM));
    let given = outcome(false, |rank| (Function::Wait, vec![rank.word(0x12345), 0]));
    let sentence = "rank 0: MPI_Wait: 0x12345 is no request, or it was completed before";
    assert_eq!(given, Outcome::Fatal(sentence.into()));
    let given = outcome(false, |_| (Function::CommSize, vec![0x123456, BASE]));
    let sentence = "rank 0: MPI_Comm_size: 0x123456 is no communicator, or it was freed";
    assert_eq!(given, Outcome::Fatal(sentence.into()));
}

#[test]
fn what_is_not_there_is_said_to_be_so() {
    assert_eq!(outcome(false, |_| (Function::WinCreate, vec![0; 6])), Outcome::Unimplemented);
    assert_eq!(outcome(false, |_| (Function::Abort, vec![COMM, 42])), Outcome::Abort(42));
    let given = outcome(false, |rank| (Function::Init, vec![0, rank.word(0)]));
    assert_eq!(given, Outcome::Ok(0));
}

#[test]
fn an_error_of_a_posted_call_comes_out_of_its_wait() {
    Setting::new(1).finish(|rank| {
        rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
        let handle = rank.new_request();
        let given = rank.call(Function::Isend, &[BASE, 1, c::INT, 3, 0, COMM, handle]);
        assert_eq!(given, Outcome::Ok(c::ERR_RANK));
        let request = rank.word(handle);
        let given = rank.call(Function::Wait, &[request, c::STATUS_IGNORE]);
        assert_eq!(given, Outcome::Ok(c::ERR_RANK));
        assert_eq!(rank.get_word(request), c::REQUEST_NULL);
    });
}

#[test]
fn too_long_messages_are_truncated_and_reported() {
    // Inline, copied, eager and rendezvous; before and after the receive.
    for (bytes, room) in [(8u64, 4u64), (200, 13), (4000, 100), (9000, 100), (9000, 0)] {
        for late in [false, true] {
            let program = move |rank: &mut Rank| {
                rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
                let data = world::pattern(5, bytes as usize);
                let va = rank.buffer(&data);
                let start = rank.now();
                if rank.rank == 0 {
                    rank.until(start + des::Duration::from_us(if late { 0 } else { 200 }));
                    rank.ok(Function::Send, &[va, bytes, c::BYTE, 1, 5, COMM]);
                } else {
                    rank.until(start + des::Duration::from_us(if late { 200 } else { 0 }));
                    let to = rank.buffer(&vec![0x11; bytes as usize]);
                    let status = rank.alloc(32);
                    let args = [to, room, c::BYTE, word(c::ANY_SOURCE), 5, COMM, status];
                    let given = rank.call(Function::Recv, &args);
                    assert_eq!(given, Outcome::Ok(c::ERR_TRUNCATE));
                    assert_eq!(rank.get_ints(status, 2), [0, 5]);
                    let kept = rank.get(to, bytes as usize);
                    assert_eq!(kept[..room as usize], data[..room as usize]);
                    assert!(kept[room as usize..].iter().all(|&byte| byte == 0x11));
                }
                rank.ok(Function::Finalize, &[]);
            };
            world::on_each(2, program);
        }
    }
}

#[test]
fn damaged_messages_are_errors_of_their_receives() {
    for bytes in [200u64, 4000, 9000] {
        for late in [0, 200] {
            let setting = Setting { damage: true, ..Setting::new(2) };
            setting.finish(move |rank| {
                rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
                let (va, start) = (rank.alloc(bytes as usize), rank.now());
                let delay = if rank.rank == 0 { 200 - late } else { late };
                rank.until(start + des::Duration::from_us(delay));
                if rank.rank == 0 {
                    rank.ok(Function::Send, &[va, bytes, c::BYTE, 1, 5, COMM]);
                } else {
                    let given = rank.call(Function::Recv, &[va, bytes, c::BYTE, 0, 5, COMM, 0]);
                    assert_eq!(given, Outcome::Ok(c::ERR_OTHER));
                }
                rank.ok(Function::Finalize, &[]);
            });
        }
    }
}

#[test]
fn read_only_memory_receives_nothing() {
    Setting::new(2).finish(|rank| {
        let (va, request) = (BASE + MEMORY - READ_ONLY, rank.new_request());
        if rank.rank == 1 {
            rank.ok(Function::Irecv, &[va, 8, c::BYTE, 0, 5, COMM, request]);
        }
        rank.ok(Function::Barrier, &[COMM]);
        if rank.rank == 0 {
            rank.ok(Function::Send, &[BASE, 8, c::BYTE, 1, 5, COMM]);
        } else {
            let request = rank.word(request);
            let given = rank.call(Function::Wait, &[request, c::STATUS_IGNORE]);
            let Outcome::Fatal(text) = given else { panic!("{given:?}") };
            assert!(text.contains("its buffer may not be written"), "{text}");
        }
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn waitall_points_to_the_statuses() {
    Setting::new(2).finish(|rank| {
        rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
        let va = rank.alloc(64);
        if rank.rank == 0 {
            rank.ok(Function::Send, &[va, 8, c::BYTE, 1, 0, COMM]);
            rank.ok(Function::Send, &[va, 9, c::BYTE, 1, 1, COMM]);
        } else {
            let (handles, statuses) = (rank.alloc(16), rank.alloc(64));
            for tag in 0..2 {
                let handle = rank.new_request();
                rank.put(handles + 8 * tag, &handle.to_le_bytes());
                rank.ok(Function::Irecv, &[va, 8, c::BYTE, 0, tag, COMM, handle]);
            }
            let given = rank.call(Function::Waitall, &[2, handles, statuses]);
            assert_eq!(given, Outcome::Ok(c::ERR_IN_STATUS));
            assert_eq!(rank.get_ints(statuses + 8, 1), [0]);
            assert_eq!(rank.get_ints(statuses + 32 + 8, 1), [c::ERR_TRUNCATE]);
        }
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn a_request_is_waited_for_once() {
    for function in [Function::Waitall, Function::Waitsome, Function::Testall, Function::Waitany] {
        let given = outcome(false, move |rank| {
            let handles: Vec<u64> = (0..3).map(|_| rank.new_request()).collect();
            for &handle in &handles {
                rank.ok(Function::Irecv, &[BASE, 1, c::INT, 0, 0, COMM, handle]);
                rank.ok(Function::Send, &[BASE, 1, c::INT, 0, 0, COMM]);
            }
            let array = [handles[1], handles[0], handles[2], handles[0]];
            let array = rank.buffer(&array.map(u64::to_le_bytes).concat());
            let rest = [(); 3].map(|()| rank.alloc(128));
            (function, [&[4, array][..], &rest].concat())
        });
        let name = function.name();
        let text = format!("rank 0: {name}: entries 1 and 3 of the array are the same request");
        assert_eq!(given, Outcome::Fatal(text));
    }
}

#[test]
fn grids_beyond_all_bounds() {
    let huge = |rank: &mut Rank| rank.buffer(&[1 << 16; 4].map(i32::to_le_bytes).concat());
    let given = outcome(true, move |rank| (Function::DimsCreate, vec![4, 4, huge(rank)]));
    assert_eq!(given, Outcome::Ok(c::ERR_DIMS));
    let given = outcome(false, move |rank| {
        let (dims, rings, new) = (huge(rank), rank.alloc(16), rank.alloc(8));
        (Function::CartCreate, vec![COMM, 4, dims, rings, 0, new])
    });
    let text = "rank 0: MPI_Cart_create: a grid of more than 2^64 ranks needs more than the 2 here";
    assert_eq!(given, Outcome::Fatal(text.into()));
}

#[test]
fn a_message_that_cannot_be_received_stays() {
    Setting::new(1).finish(|rank| {
        rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
        let (data, message, status) = (rank.buffer(b"seven"), rank.alloc(8), rank.alloc(32));
        let into = rank.alloc(8);
        rank.ok(Function::Send, &[data, 5, c::BYTE, 0, 0, COMM]);
        rank.ok(Function::Mprobe, &[0, 0, COMM, message, status]);
        let given = rank.call(Function::Mrecv, &[8, 5, c::BYTE, message, status]);
        assert_eq!(given, Outcome::Ok(c::ERR_BUFFER));
        rank.ok(Function::Mrecv, &[into, 5, c::BYTE, message, status]);
        assert_eq!(rank.get(into, 5), b"seven");
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn a_group_must_lie_in_its_communicator() {
    let given = outcome(true, |rank| {
        let (group, new) = (rank.alloc(8), rank.alloc(8));
        rank.ok(Function::CommGroup, &[COMM, group]);
        (Function::CommCreateGroup, vec![c::COMM_SELF, rank.get_word(group), 0, new])
    });
    assert_eq!(given, Outcome::Ok(c::ERR_GROUP));
}

#[test]
fn resources_that_nothing_is_known_of_are_not_shared() {
    Setting::new(2).finish(|rank| {
        let (new, info) = (rank.alloc(8), rank.alloc(8));
        let key = rank.buffer(b"mpi_hw_resource_type\0");
        rank.ok(Function::InfoCreate, &[info]);
        let info = rank.get_word(info);
        let split = |rank: &mut Rank, kind: i32, info: u64| {
            rank.ok(Function::CommSplitType, &[COMM, word(kind), 0, info, new]);
            rank.get_word(new) != c::COMM_NULL
        };
        let guided = [c::COMM_TYPE_HW_GUIDED, c::COMM_TYPE_RESOURCE_GUIDED];
        for (value, shared) in [(&b"hwloc://L3Cache\0"[..], false), (b"mpi_shared_memory\0", true)]
        {
            let value = rank.buffer(value);
            rank.ok(Function::InfoSet, &[info, key, value]);
            for kind in guided {
                assert_eq!(split(rank, kind, info), shared);
                assert!(!split(rank, kind, c::INFO_NULL));
            }
        }
        assert!(!split(rank, c::COMM_TYPE_HW_UNGUIDED, c::INFO_NULL));
        assert!(split(rank, c::COMM_TYPE_SHARED, c::INFO_NULL));
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn the_end_meets_no_barrier_of_the_program() {
    let ends = Setting::new(2).run(|rank| {
        if rank.rank == 0 {
            rank.ok(Function::Barrier, &[COMM]);
        }
        rank.ok(Function::Finalize, &[]);
    });
    for (end, name) in ends.iter().zip(["MPI_Barrier", "MPI_Finalize"]) {
        assert!(matches!(end, End::Waits(text) if text.contains(name)), "{end:?}");
    }
}

/// Reason for which rank 0 of two waits after the given calls.
fn waits(calls: impl Fn(&mut Rank) + 'static) -> String {
    let ends = Setting::new(2).run(move |rank| {
        if rank.rank == 0 {
            calls(rank);
        }
    });
    match &ends[0] {
        End::Waits(text) => text.clone(),
        end => panic!("rank 0: {end:?}"),
    }
}

#[test]
fn a_rank_that_waits_for_ever_says_for_what() {
    let recv = |source, tag| {
        waits(move |rank| {
            let args = [BASE, 1, c::INT, word(source), word(tag), COMM, 0];
            rank.call(Function::Recv, &args);
        })
    };
    assert_eq!(recv(1, 5), "MPI_Recv from rank 1, tag 5, MPI_COMM_WORLD");
    assert_eq!(recv(c::ANY_SOURCE, c::ANY_TAG), "MPI_Recv from any rank, any tag, MPI_COMM_WORLD");
    let text = waits(|rank| {
        rank.call(Function::Send, &[BASE, 9000, c::INT, 1, 2, COMM]);
    });
    assert_eq!(text, "MPI_Send to rank 1, tag 2, MPI_COMM_WORLD");
    let text = waits(|rank| {
        rank.call(Function::Barrier, &[COMM]);
    });
    assert_eq!(text, "MPI_Barrier, MPI_COMM_WORLD: a message from rank 1");
    let text = waits(|rank| {
        rank.call(Function::Probe, &[1, 3, COMM, 0]);
    });
    assert_eq!(text, "MPI_Probe from rank 1, tag 3, MPI_COMM_WORLD");
    let text = waits(|rank| {
        let (handle, request) = (rank.new_request(), rank.word(0x10001));
        rank.ok(Function::Irecv, &[BASE, 1, c::INT, 1, 4, COMM, handle]);
        rank.call(Function::Wait, &[request, 0]);
    });
    assert_eq!(text, "MPI_Wait for a receive from rank 1, tag 4, MPI_COMM_WORLD");
    let text = waits(|rank| {
        let handles = rank.alloc(24);
        for tag in 0..3 {
            let handle = rank.new_request();
            rank.put(handles + 8 * tag, &handle.to_le_bytes());
            rank.ok(Function::Irecv, &[BASE, 1, c::INT, 1, tag, COMM, handle]);
        }
        rank.call(Function::Waitall, &[3, handles, 0]);
    });
    assert_eq!(
        text,
        "MPI_Waitall for 3 of 3 requests, the first a receive from rank 1, tag 0, MPI_COMM_WORLD"
    );
}
