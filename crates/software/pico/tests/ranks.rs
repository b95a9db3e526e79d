//! Ranks as threads, between them channels that keep the order, lose and damage packets, and have few places.

#![allow(clippy::unwrap_used)]

use ::pico::{places, Library, Network, DP_MAX};
use abi::pico::{self, header, kind, Envelope, Header};
use des::Random;
use mpi::{CollectiveBuffers, Op, Process, World};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

/// Packets on the way to each rank from each, the most that there were at a time, and the number of those
/// that carried a word as a whole message.
#[derive(Default)]
struct Wires {
    ways: Mutex<Vec<Vec<VecDeque<Vec<u8>>>>>,
    most: Mutex<usize>,
    words: Mutex<usize>,
    came: Condvar,
}

struct Threads {
    rank: usize,
    wires: Arc<Wires>,
    random: Random,
    /// Packets of a thousand that are lost or damaged.
    losses: u64,
    began: Instant,
}

impl Network for Threads {
    fn send(&mut self, peer: u32, packet: &[u8]) {
        assert!(packet.len() <= DP_MAX);
        let word = Header::SIZE + Envelope::SIZE + 4;
        let is_word = packet[0] == kind::EAGER && packet.len() == word;
        *self.wires.words.lock().unwrap() += usize::from(is_word);
        let mut packet = packet.to_vec();
        if self.random.below(1000) < self.losses {
            if self.random.below(2) == 0 {
                return;
            }
            let at = self.random.below(packet.len() as u64) as usize;
            packet[at] ^= 0x10;
        }
        let mut ways = self.wires.ways.lock().unwrap();
        let way = &mut ways[peer as usize][self.rank];
        way.push_back(packet);
        // Who has heard nothing for a second, as on a busy machine, asks, and takes a place more.
        let asks = |packet: &&Vec<u8>| packet[header::ASK] != 0;
        let mut most = self.wires.most.lock().unwrap();
        *most = (way.len() - way.iter().filter(asks).count()).max(*most);
        self.wires.came.notify_all();
    }

    fn receive(&mut self, until: Option<u64>) -> Vec<(u32, Vec<u8>)> {
        let mut ways = self.wires.ways.lock().unwrap();
        loop {
            let all = (0..).zip(&mut ways[self.rank]);
            let packets: Vec<_> =
                all.filter_map(|(from, way)| Some((from, way.pop_front()?))).collect();
            let left = until.map_or(u64::MAX, |until| until.saturating_sub(self.now()));
            if !packets.is_empty() || left == 0 {
                return packets;
            }
            let left = Duration::from_nanos(left.min(20_000_000_000));
            let (again, over) = self.wires.came.wait_timeout(ways, left).unwrap();
            assert!(until.is_some() || !over.timed_out(), "rank {} waits in vain", self.rank);
            ways = again;
        }
    }

    fn now(&self) -> u64 {
        self.began.elapsed().as_nanos() as u64
    }
}

/// Runs that program on so many ranks; the most packets that were on a way at a time, and those of words.
fn run(ranks: u32, losses: u64, program: fn(&mut Process, u32)) -> (usize, usize) {
    let wires = Arc::new(Wires::default());
    let way = |_| vec![VecDeque::new(); ranks as usize];
    *wires.ways.lock().unwrap() = (0..ranks).map(way).collect();
    let threads: Vec<_> = (0..ranks)
        .map(|rank| {
            let (wires, random) = (wires.clone(), Random::new(u64::from(rank) + losses));
            std::thread::spawn(move || {
                let network =
                    Threads { rank: rank as usize, wires, random, losses, began: Instant::now() };
                let world = World { rank, size: ranks, program: 0 };
                let mut library = Library::new(world, network).unwrap();
                program(library.mpi.process(), rank);
                library.mpi.process().finalize().unwrap();
                library.messages.borrow_mut().close();
            })
        })
        .collect();
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    let (most, words) = (*wires.most.lock().unwrap(), *wires.words.lock().unwrap());
    (most, words)
}

const WORLD: mpi::CommId = Process::WORLD;

/// A message of these bytes, and the buffer for it.
fn filled(memory: &mut [u8], from: u32, to: u32, number: u32) -> &mut [u8] {
    for (i, byte) in (0u32..).zip(&mut *memory) {
        *byte = (i ^ i >> 8).wrapping_mul(31).wrapping_add(from * 7 + to * 3 + number) as u8;
    }
    memory
}

fn va(memory: &[u8]) -> u64 {
    memory.as_ptr() as u64
}

/// Everyone sends everyone messages of all kinds of lengths, in two tags, received in another order.
fn exchange(mpi: &mut Process, rank: u32) {
    let ranks = mpi.size(WORLD).unwrap();
    let lengths = [0, 1, 8, 1475, 1476, 1477, 5000, 40_000];
    let memory = |from, to| -> Vec<Vec<u8>> {
        let all = lengths.iter().zip(0..);
        all.map(|(length, number)| filled(&mut vec![0; *length], from, to, number).to_vec())
            .collect()
    };
    let out: Vec<_> = (0..ranks).map(|to| memory(rank, to)).collect();
    let mut requests = Vec::new();
    for (to, messages) in (0..).zip(&out) {
        for (number, message) in (0..).zip(messages) {
            requests
                .push(mpi.isend(va(message), message.len() as u64, to, number % 2, WORLD).unwrap());
        }
    }
    for tag in [1, 0] {
        for from in (0..ranks).rev() {
            let expected = memory(from, rank);
            for (number, message) in expected.iter().enumerate().filter(|(n, _)| n % 2 == tag) {
                let room = vec![0; message.len()];
                let status =
                    mpi.recv(va(&room), room.len() as u64, from as i32, tag as i32, WORLD).unwrap();
                assert_eq!(status.bytes, message.len() as u64);
                assert!(room == *message, "{number} from {from} to {rank}");
            }
        }
    }
    mpi.waitall(&requests).unwrap();
    let (one, sum) = (rank.to_le_bytes().to_vec(), vec![0; 4]);
    for _ in 0..10 {
        let buffers = CollectiveBuffers { out: va(&one), into: va(&sum) };
        mpi.allreduce(buffers, 1, abi::mpi::UINT32_T, Op::Sum, WORLD).unwrap();
        assert_eq!(sum, (ranks * (ranks - 1) / 2).to_le_bytes());
    }
}

/// Rank 0 computes while all others send what it does not expect, and then receives the last first.
fn flood(mpi: &mut Process, rank: u32) {
    const MESSAGES: i32 = 200;
    let ranks = mpi.size(WORLD).unwrap();
    if rank > 0 {
        let words: Vec<[u8; 4]> = (0..MESSAGES).map(i32::to_le_bytes).collect();
        let all = words.iter().zip(0..);
        let send = |(word, tag): (&[u8; 4], i32)| mpi.isend(va(word), 4, 0, tag, WORLD).unwrap();
        let requests: Vec<_> = all.map(send).collect();
        mpi.waitall(&requests).unwrap();
        return;
    }
    std::thread::sleep(Duration::from_millis(200));
    for from in 1..ranks as i32 {
        for tag in (0..MESSAGES).rev() {
            let room = [0u8; 4];
            mpi.recv(va(&room), 4, from, tag, WORLD).unwrap();
            assert_eq!(i32::from_le_bytes(std::hint::black_box(room)), tag);
        }
    }
}

#[test]
fn messages_of_all_lengths_come_right() {
    for ranks in [1, 2, 5, 16] {
        let (most, _) = run(ranks, 0, exchange);
        assert!(most <= usize::from(places(ranks).unwrap()), "{most} packets of {ranks} ranks");
    }
}

#[test]
fn losses_are_made_up_for() {
    for (ranks, losses) in [(2, 50), (4, 20), (5, 5)] {
        run(ranks, losses, exchange);
    }
}

#[test]
fn a_flood_finds_room() {
    for ranks in [2, 5, 16] {
        let (most, words) = run(ranks, 0, flood);
        // The others are announced: nothing is received before all are sent.
        assert_eq!(words, (pico::UNEXPECTED * (ranks - 1)) as usize);
        assert!(most <= usize::from(places(ranks).unwrap()), "{most} packets of {ranks} ranks");
    }
}

#[test]
fn too_many_ranks_are_refused() {
    assert_eq!([1, 2, 4, 16, 17].map(|ranks| places(ranks).unwrap()), [32, 32, 21, 4, 4]);
    assert!(places(18).unwrap_err().to_string().contains("17 nodes at most"));
}

/// The module's places, and Directed Point's longest packet, are those of its sources.
#[test]
fn places_are_those_of_the_module() {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    for (file, name, expected) in [
        ("linux/dp/service.h", "DP_QUEUE_MAX", pico::CHANNEL_PLACES),
        ("linux/dp/myri.h", "MYRI_PACKETS", pico::NODE_PLACES),
        ("include/dp.h", "DP_MAX", DP_MAX as u32),
    ] {
        let text = std::fs::read_to_string(root.join(file)).unwrap();
        let mut lines = text.lines().filter_map(|line| line.strip_prefix("#define "));
        let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(' ')).unwrap();
        assert_eq!(value.parse(), Ok(expected), "{name}");
    }
}
