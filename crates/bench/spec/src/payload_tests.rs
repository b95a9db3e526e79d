//! Payloads that are written to places that overlap: random worlds, right ones and spoilt ones.

use super::*;
use crate::ledger::{Ledger, What};
use crate::process::Role;
use crate::types::{Descriptor, Id, Limits, Response};

/// Bytes of a packet.
const PACKET: u64 = 64;

/// Numbers from a seed (xorshift).
struct Random(u64);

impl Random {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}

/// No memory of a process: payloads are held against what the engine writes.
struct Nothing;

impl crate::judge::Memory for Nothing {
    fn read(&self, _: u32, _: u64, _: &mut [u8]) -> bool {
        false
    }
    fn refused(&self, _: u32, _: u64, _: u64) -> bool {
        false
    }
}

/// A reply on its way to its place.
struct Reply {
    key: Key,
    place: (u64, u64),
    bytes: Vec<u8>,
    written: u64,
}

/// Damage in a world.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Spoilt {
    Nothing,
    /// One byte of a payload, which the operation does not notice.
    Byte,
    /// The same, and its operation ends in an error.
    Noticed,
    /// A packet of a payload that shares its place with none is not written.
    Packet,
}

fn judge() -> Judge {
    let ledger = Arc::new(Ledger::new(2, false));
    let mut judge = Judge::new(0, ledger, Box::new(Nothing), true, false);
    let limits = Limits {
        max_mes: 1,
        max_mds: 1,
        max_eqs: 1,
        max_ac_index: 0,
        max_pt_index: 0,
        max_md_iovecs: 1,
        max_me_list: 1,
        max_getput_md: 1,
    };
    judge.opened(0, 0, Id { nid: 0, pid: 1 }, [0, 0], limits, false);
    judge
}

fn begin(judge: &mut Judge, serial: u32, start: u64, bytes: Vec<u8>) -> Reply {
    let place = (start, bytes.len() as u64);
    let (from, to) = (Id { nid: 1, pid: 1 }, Id { nid: 0, pid: 1 });
    let id = MessageId { source_nid: 1, serial };
    let md = Descriptor { handle: 1, number: 1 };
    let response = Response {
        from,
        uid: 0,
        md,
        bits: 0,
        portal: 0,
        mlength: place.1,
        offset: 0,
        local_offset: 0,
        message: id,
    };
    let facts = Facts {
        id,
        what: What::Reply(response),
        from,
        to,
        travels: true,
        length: place.1,
        pieces: Vec::new(),
        answer_to: md,
        local_offset: 0,
        at: 0,
    };
    let message = judge.ledger.begin(facts).expect("its id is new");
    message.state().bytes.clone_from(&bytes);
    let grant = Grant { md: 1, offset: 0, mlength: place.1, pieces: vec![place], ack: false };
    let key = Key { role: Role::Replied, message: id };
    judge.open(0, key, &message, grant);
    Reply { key, place, bytes, written: 0 }
}

/// Two to four replies with bytes of their own, to one place, to places that overlap, or to others. Packets
/// come in any order but that of their message. True if the judge is silent.
fn is_right(seed: u64, spoilt: Spoilt) -> bool {
    let random = &mut Random(seed * 2 + 1);
    (0..8).for_each(|_| {
        random.below(2);
    });
    let mut judge = judge();
    let replies = 2 + random.below(3);
    let same = random.below(2) == 0;
    let mut going: Vec<Reply> = Vec::new();
    let mut waiting: Vec<u32> = (1..=replies as u32).rev().collect();
    let guilty = 1 + random.below(replies) as u32;
    let apart = spoilt == Spoilt::Packet;
    while !(going.is_empty() && waiting.is_empty()) {
        if !waiting.is_empty() && (going.is_empty() || random.below(4) == 0) {
            let serial = waiting.pop().expect("one waits");
            let length = 1 + random.below(10 * PACKET);
            let far = 100_000 * u64::from(serial);
            let start = if apart { far } else { 4096 + 16 * random.below(8) };
            let seed = if same { 7 } else { serial as u8 };
            let bytes = (0..length).map(|at| (start + at) as u8 ^ seed.wrapping_mul(37)).collect();
            going.push(begin(&mut judge, serial, start, bytes));
            continue;
        }
        let at = random.below(going.len() as u64) as usize;
        let reply = &mut going[at];
        let mine = reply.key.message.serial == guilty;
        if reply.written < reply.place.1 {
            let length = PACKET.min(reply.place.1 - reply.written);
            let from = reply.written as usize;
            let mut data = reply.bytes[from..from + length as usize].to_vec();
            let last = reply.written + length == reply.place.1;
            if mine && last && matches!(spoilt, Spoilt::Byte | Spoilt::Noticed) {
                // A value that no reply has there.
                data[0] ^= 0x80;
            }
            if !(mine && last && spoilt == Spoilt::Packet) {
                judge.dma_write(0, 0, reply.place.0 + reply.written, &data);
            }
            reply.written += length;
            continue;
        }
        let reply = going.swap_remove(at);
        let failed = mine && spoilt == Spoilt::Noticed;
        let ended = judge.arrived(0, reply.key, failed);
        // What an error is allowed for is not the matter here.
        if !failed && ended.is_err() {
            return false;
        }
    }
    judge.verdict().is_none()
}

#[test]
fn replies_to_one_place_are_right() {
    for seed in 0..2000 {
        assert!(is_right(seed, Spoilt::Nothing), "seed {seed}");
        assert!(is_right(seed, Spoilt::Noticed), "seed {seed}: its operation ended in an error");
    }
}

#[test]
fn a_wrong_byte_is_found_whosever_it_is() {
    for seed in 0..2000 {
        assert!(!is_right(seed, Spoilt::Byte), "seed {seed}");
        assert!(!is_right(seed, Spoilt::Packet), "seed {seed}: a packet is missing");
    }
}
