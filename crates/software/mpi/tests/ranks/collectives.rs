//! Collectives on one to nine ranks against computed results, with every algorithm.

use crate::world::{on_each, Rank, Setting};
use abi::mpi::{self as c, Function};
use des::Random;
use mpi::{Algorithms, Outcome};

const COMM: u64 = c::COMM_WORLD;

/// Values that a rank contributes.
fn values(rank: i32, count: usize) -> Vec<i32> {
    let mut random = Random::new(rank as u64 + 1);
    (0..count).map(|_| random.below(1000) as i32 - 500).collect()
}

fn sums(ranks: i32, count: usize) -> Vec<i32> {
    (0..count).map(|i| (0..ranks).map(|rank| values(rank, count)[i]).sum()).collect()
}

fn with_every_algorithm(collective: &str, program: fn(&mut Rank)) {
    for (name, _) in Algorithms::of(collective) {
        for ranks in 1..=9 {
            let mut setting = Setting::new(ranks);
            setting.settings.algorithms.set(collective, name).unwrap();
            setting.finish(program);
        }
    }
}

fn ints(rank: &mut Rank, values: &[i32]) -> u64 {
    let va = rank.alloc(4 * values.len());
    rank.put_ints(va, values);
    va
}

#[test]
fn nobody_leaves_a_barrier_before_all_have_come() {
    with_every_algorithm("barrier", |rank| {
        for round in 0..3 {
            let late = (round + rank.rank) % rank.size == rank.size - 1;
            let meet = des::Time(6_000_000_000 + round as u64 * 1_000_000_000);
            if late {
                rank.until(meet);
            }
            rank.ok(Function::Barrier, &[COMM]);
            assert!(rank.now() >= meet, "rank {}", rank.rank);
        }
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn bcast_from_every_root() {
    with_every_algorithm("bcast", |rank| {
        for root in 0..rank.size {
            for count in [0, 1, 3, 2000] {
                let all = values(root, count);
                let own = if rank.rank == root { all.clone() } else { vec![0; count] };
                let va = ints(rank, &own);
                rank.ok(Function::Bcast, &[va, count as u64, c::INT, root as u64, COMM]);
                assert_eq!(rank.get_ints(va, count), all);
            }
        }
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn reduce_to_every_root() {
    with_every_algorithm("reduce", |rank| {
        for root in 0..rank.size {
            for (count, in_place) in [(0, false), (1, false), (5, true), (1500, false)] {
                let own = values(rank.rank, count);
                let send = ints(rank, &own);
                let is_root = rank.rank == root;
                let recv = if is_root { ints(rank, &vec![0; count]) } else { 0 };
                let (from, to) =
                    if is_root && in_place { (c::IN_PLACE, send) } else { (send, recv) };
                let args = [from, to, count as u64, c::INT, c::SUM, root as u64, COMM];
                rank.ok(Function::Reduce, &args);
                if is_root {
                    assert_eq!(rank.get_ints(to, count), sums(rank.size, count));
                }
                if !(is_root && in_place) {
                    assert_eq!(rank.get_ints(send, count), own, "the send buffer stays");
                }
            }
        }
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn allreduce_of_every_size() {
    with_every_algorithm("allreduce", |rank| {
        for (count, in_place) in [(0, false), (1, false), (3, false), (4, true), (1500, false)] {
            let own = values(rank.rank, count);
            let send = ints(rank, &own);
            let to = if in_place { send } else { ints(rank, &vec![0; count]) };
            let from = if in_place { c::IN_PLACE } else { send };
            rank.ok(Function::Allreduce, &[from, to, count as u64, c::INT, c::SUM, COMM]);
            assert_eq!(rank.get_ints(to, count), sums(rank.size, count));
        }
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn maxloc_over_a_type_with_holes() {
    for ranks in 1..=5 {
        on_each(ranks, |rank| {
            // struct { short value; int index; }: 8 bytes, two of them padding.
            let mut own = vec![0xaa; 16];
            let value = [10 - (rank.rank - 2).abs() as i16, 3];
            for (item, value) in value.into_iter().enumerate() {
                own[8 * item..8 * item + 2].copy_from_slice(&value.to_le_bytes());
                own[8 * item + 4..8 * item + 8].copy_from_slice(&(100 + rank.rank).to_le_bytes());
            }
            let (send, recv) = (rank.buffer(&own), rank.buffer(&[0x55; 16]));
            rank.ok(Function::Allreduce, &[send, recv, 2, c::SHORT_INT, c::MAXLOC, COMM]);
            let winner = (rank.size - 1).min(2);
            let best = 10 - (winner - 2).abs() as i16;
            let result = rank.get(recv, 16);
            assert_eq!(result[..2], best.to_le_bytes());
            assert_eq!(result[2..4], [0x55; 2], "padding stays");
            assert_eq!(result[4..8], (100 + winner).to_le_bytes());
            assert_eq!(result[12..16], 100i32.to_le_bytes(), "equal values: the lower index");
            rank.ok(Function::Finalize, &[]);
        });
    }
}

#[test]
fn gather_scatter_allgather_alltoall() {
    for ranks in 1..=9 {
        on_each(ranks, |rank| {
            let (me, size) = (rank.rank, rank.size);
            let all: Vec<i32> = (0..size).flat_map(|r| [10 * r, 10 * r + 1]).collect();
            let (len, own) = (all.len(), [10 * me, 10 * me + 1]);
            for root in 0..size {
                let send = ints(rank, &own);
                let recv = ints(rank, &vec![0; len]);
                let args = [send, 2, c::INT, recv, 2, c::INT, root as u64, COMM];
                rank.ok(Function::Gather, &args);
                if me == root {
                    assert_eq!(rank.get_ints(recv, len), all);
                }
                let (from, to) = (ints(rank, &all), ints(rank, &[0, 0]));
                let args = [from, 2, c::INT, to, 2, c::INT, root as u64, COMM];
                rank.ok(Function::Scatter, &args);
                assert_eq!(rank.get_ints(to, 2), own);
            }
            let (send, recv) = (ints(rank, &own), ints(rank, &vec![0; len]));
            rank.ok(Function::Allgather, &[send, 2, c::INT, recv, 2, c::INT, COMM]);
            assert_eq!(rank.get_ints(recv, len), all);

            let out: Vec<i32> = (0..size).map(|to| 100 * me + to).collect();
            let expected: Vec<i32> = (0..size).map(|from| 100 * from + me).collect();
            let (send, recv) = (ints(rank, &out), ints(rank, &vec![0; out.len()]));
            rank.ok(Function::Alltoall, &[send, 1, c::INT, recv, 1, c::INT, COMM]);
            assert_eq!(rank.get_ints(recv, out.len()), expected);
            rank.ok(Function::Alltoall, &[c::IN_PLACE, 1, c::INT, send, 1, c::INT, COMM]);
            assert_eq!(rank.get_ints(send, out.len()), expected);
            rank.ok(Function::Finalize, &[]);
        });
    }
}

#[test]
fn duplicated_and_split_communicators_keep_messages_apart() {
    for ranks in [1, 2, 5] {
        on_each(ranks, |rank| {
            let (comm, result) = (rank.word(0), rank.alloc(4));
            rank.ok(Function::CommDup, &[COMM, comm]);
            let dup = rank.get_word(comm);
            rank.ok(Function::CommCompare, &[COMM, dup, result]);
            assert_eq!(rank.get_ints(result, 1), [c::CONGRUENT]);
            // Odd and even ranks, in reverse order.
            let key = -rank.rank as i64 as u64;
            rank.ok(Function::CommSplit, &[dup, rank.rank as u64 % 2, key, comm]);
            let half = rank.get_word(comm);
            let (place, size) = (rank.alloc(4), rank.alloc(4));
            rank.ok(Function::CommRank, &[half, place]);
            rank.ok(Function::CommSize, &[half, size]);
            let mates: Vec<i32> = (0..rank.size).rev().filter(|r| r % 2 == rank.rank % 2).collect();
            assert_eq!(rank.get_ints(size, 1), [mates.len() as i32]);
            assert_eq!(mates[rank.get_ints(place, 1)[0] as usize], rank.rank);
            let (send, recv) = (ints(rank, &[rank.rank]), ints(rank, &[0]));
            rank.ok(Function::Allreduce, &[send, recv, 1, c::INT, c::SUM, half]);
            assert_eq!(rank.get_ints(recv, 1), [mates.iter().sum()]);

            // The same envelope in two communicators.
            let mut got = [0; 2];
            let next = (rank.rank + 1) % rank.size;
            let previous = (rank.rank + rank.size - 1) % rank.size;
            let status = c::STATUS_IGNORE;
            for (value, comm) in [(1, COMM), (2, dup)] {
                let va = ints(rank, &[value]);
                let handle = rank.new_request();
                rank.ok(Function::Isend, &[va, 1, c::INT, next as u64, 0, comm, handle]);
                let request = rank.word(handle);
                rank.ok(Function::RequestFree, &[request]);
            }
            for (got, comm) in got.iter_mut().zip([dup, COMM]) {
                let args = [recv, 1, c::INT, previous as u64, 0, comm, status];
                rank.ok(Function::Recv, &args);
                *got = rank.get_ints(recv, 1)[0];
            }
            assert_eq!(got, [2, 1]);
            rank.put(comm, &dup.to_le_bytes());
            rank.ok(Function::CommFree, &[comm]);
            assert_eq!(rank.get_word(comm), c::COMM_NULL);
            rank.ok(Function::Finalize, &[]);
        });
    }
}

/// Begins MPI_Comm_idup; where the new communicator's handle is, and that of the request.
fn begin_idup(rank: &mut Rank, comm: u64) -> (u64, u64) {
    let (new, handle) = (rank.word(0), rank.new_request());
    rank.ok(Function::CommIdup, &[comm, new, handle]);
    (new, rank.word(handle))
}

fn wait(rank: &mut Rank, request: u64) {
    rank.ok(Function::Wait, &[request, c::STATUS_IGNORE]);
}

/// The sum of what all ranks say on a communicator.
fn sum(rank: &mut Rank, value: i32, comm: u64) -> i32 {
    let (send, recv) = (ints(rank, &[value]), ints(rank, &[0]));
    rank.ok(Function::Allreduce, &[send, recv, 1, c::INT, c::SUM, comm]);
    rank.get_ints(recv, 1)[0]
}

#[test]
fn a_communicator_is_copied_beside_other_calls() {
    with_every_algorithm("allreduce", |rank| {
        // A rank that has begun need not wait for the others, which wait for a message first.
        let note = ints(rank, &[0]);
        let late = rank.rank > 0;
        if late {
            let from = rank.rank as u64 - 1;
            rank.ok(Function::Recv, &[note, 1, c::INT, from, 0, COMM, c::STATUS_IGNORE]);
        }
        let (new, request) = begin_idup(rank, COMM);
        let comm = rank.get_word(new);
        if rank.rank + 1 < rank.size {
            // It is no communicator yet.
            let outcome = rank.call(Function::Barrier, &[comm]);
            let expected = "MPI_Barrier: the communicator is not there before the request of";
            assert!(
                matches!(&outcome, Outcome::Fatal(why) if why.contains(expected)),
                "{outcome:?}"
            );
            let to = rank.rank as u64 + 1;
            rank.ok(Function::Send, &[note, 1, c::INT, to, 0, COMM]);
        }
        wait(rank, request);
        assert_eq!(rank.get_word(new), comm);
        let ranks: i32 = (0..rank.size).sum();
        assert_eq!(sum(rank, rank.rank, comm), ranks);
        rank.ok(Function::CommFree, &[new]);
        rank.ok(Function::Finalize, &[]);
    });
}

#[test]
fn communicators_are_copied_in_any_order() {
    for ranks in [1, 2, 5] {
        on_each(ranks, |rank| {
            let [a, b, half] = [0; 3].map(|_| rank.word(0));
            rank.ok(Function::CommDup, &[COMM, a]);
            rank.ok(Function::CommDup, &[COMM, b]);
            let [a, b] = [a, b].map(|va| rank.get_word(va));
            let mut made = Vec::new();
            for _ in 0..20 {
                let first = begin_idup(rank, if rank.rank % 2 == 0 { a } else { b });
                // A rank that waits for the one before it has begun the other waits for ranks that have
                // begun both.
                if rank.rank % 2 == 1 {
                    wait(rank, first.1);
                }
                let second = begin_idup(rank, if rank.rank % 2 == 0 { b } else { a });
                rank.ok(Function::CommSplit, &[COMM, rank.rank as u64 % 2, 0, half]);
                wait(rank, second.1);
                if rank.rank % 2 == 0 {
                    wait(rank, first.1);
                }
                let both = [first.0, second.0].map(|va| rank.get_word(va));
                let of_a = usize::from(rank.rank % 2 == 1);
                made.extend([both[of_a], both[1 - of_a], rank.get_word(half)]);
            }
            // Messages of none are taken for those of another, though all are under way at once.
            let mut requests = Vec::new();
            for at in (0..made.len()).rev() {
                let (out, into, handle) =
                    (ints(rank, &[at as i32]), ints(rank, &[-1]), rank.new_request());
                let args = [out, into, 1, c::INT, c::MAX, made[at], handle];
                rank.ok(Function::Iallreduce, &args);
                requests.push((at, into, rank.word(handle)));
            }
            for (at, into, request) in requests {
                wait(rank, request);
                assert_eq!(rank.get_ints(into, 1), [at as i32]);
            }
            rank.ok(Function::Finalize, &[]);
        });
    }
}

#[test]
fn numbers_of_copies_are_used_again_until_none_is_left() {
    on_each(2, |rank| {
        rank.ok(Function::CommSetErrhandler, &[COMM, c::ERRORS_RETURN]);
        let mut last = 0;
        for turn in 0..600 {
            let (new, request) = begin_idup(rank, COMM);
            wait(rank, request);
            if turn < 88 {
                rank.ok(Function::CommFree, &[new]);
            }
            last = new;
        }
        // Those were 512 that are there.
        let (_, request) = begin_idup(rank, COMM);
        let outcome = rank.call(Function::Wait, &[request, c::STATUS_IGNORE]);
        assert_eq!(outcome, Outcome::Ok(c::ERR_OTHER));
        rank.ok(Function::CommFree, &[last]);
        let (new, request) = begin_idup(rank, COMM);
        wait(rank, request);
        let comm = rank.get_word(new);
        assert_eq!(sum(rank, 3, comm), 6);
        rank.ok(Function::Finalize, &[]);
    });
}
