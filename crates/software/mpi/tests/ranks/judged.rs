//! The judge of MPI's rules beside an office that does something wrong. That it says nothing where all is
//! well is tested by every other test here.

use crate::world::office::Mutant;
use crate::world::{Carrier, Rank, Setting};
use abi::mpi as c;
use des::{Duration, Time};
use mpi::Process;

const WORLD: mpi::CommId = Process::WORLD;
const TEXT: [&[u8; 8]; 4] = [b"the 1st ", b"the 2nd ", b"the 3rd ", b"the 4th "];

fn at(us: u64) -> Time {
    Time(5_000_000_000) + Duration::from_us(us)
}

/// Sends four messages, the last of them synchronous.
fn send_all(rank: &mut Rank, tag: impl Fn(usize) -> i32) {
    for (index, text) in TEXT.iter().enumerate() {
        let va = rank.buffer(&text[..]);
        let process = rank.process();
        if index < 3 {
            process.send(va, 8, 1, tag(index), WORLD).unwrap();
        } else {
            process.ssend(va, 8, 1, tag(index), WORLD).unwrap();
        }
    }
}

/// Rank 0 sends to receives that are posted, then to receives that come later, and rank 1 probes, and takes a
/// receive back for which a message comes later.
fn program(rank: &mut Rank) {
    if rank.rank == 0 {
        rank.until(at(100));
        send_all(rank, |_| 5);
        rank.until(at(300));
        send_all(rank, |index| 5 + index as i32 % 2);
        rank.until(at(600));
        let va = rank.buffer(b"too late");
        rank.process().send(va, 8, 1, 9, WORLD).unwrap();
        return;
    }
    let receives: Vec<_> = TEXT
        .iter()
        .map(|_| {
            let va = rank.alloc(8);
            (va, rank.process().irecv(va, 8, 0, c::ANY_TAG, WORLD).unwrap())
        })
        .collect();
    for (_, id) in receives {
        rank.process().wait(id).unwrap();
    }
    rank.until(at(400));
    let va = rank.alloc(8);
    while rank.process().iprobe(0, c::ANY_TAG, WORLD).unwrap().is_none() {}
    for _ in TEXT {
        rank.process().recv(va, 8, 0, c::ANY_TAG, WORLD).unwrap();
    }
    rank.until(at(500));
    let id = rank.process().irecv(va, 8, 0, 9, WORLD).unwrap();
    assert!(rank.process().cancel(id));
    rank.process().wait(id).unwrap();
    rank.process().recv(va, 8, 0, 9, WORLD).unwrap();
}

#[test]
fn what_an_office_does_wrong_is_found() {
    const CASES: [(Mutant, &[&str]); 11] = [
        (
            Mutant::Overtakes,
            &["rank 1", "message 1 of rank 0", "message 2 of rank 0", "s3.5 (order)"],
        ),
        (Mutant::LastReceive, &["rank 1", "of rank 0", "s3.5 (order)"]),
        (Mutant::LastLetter, &["rank 1", "message 5 of rank 0", "s3.5 (order)"]),
        (Mutant::Doubles, &["rank 1", "of rank 0", "s3.5"]),
        (Mutant::Loses, &["rank 1", "message 3 of rank 0", "message 4 of rank 0", "s3.5"]),
        (Mutant::Spoils, &["rank 1", "byte 3 of message 1 of rank 0", "s3.2"]),
        (Mutant::WrongTag, &["rank 1", "tag 4", "message 1 of rank 0", "s3.2.5"]),
        (Mutant::TooShort, &["rank 1", "7 bytes", "message 1 of rank 0", "s3.2.5"]),
        (Mutant::EndsTooSoon, &["synchronous message 8 of rank 0 to rank 1", "s3.4"]),
        (Mutant::ProbesLast, &["rank 1", "probe", "message 5 of rank 0", "s3.5 (order)"]),
        (Mutant::Revives, &["rank 1", "was cancelled before", "s3.7.3"]),
    ];
    let (carrier, lateness) = (Carrier::Office, Duration::from_us(1));
    let setting = Setting { carrier, lateness, ..Setting::new(2) };
    assert_eq!(setting.judge(program).1, None);
    for (mutant, words) in CASES {
        let setting = Setting { mutant: Some(mutant), ..setting.clone() };
        let (ends, said) = setting.judge(program);
        let said = said.unwrap_or_else(|| panic!("{mutant:?}: {ends:?}"));
        assert!(words.iter().all(|word| said.contains(word)), "{mutant:?}: {said}");
    }
}
