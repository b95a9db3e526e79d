//! The firmware's match lists (`firmware/seastar/core/match.c`), natively and under sanitizers, against the
//! specification: every list of a few entries with a few messages in every order, and every order of calls,
//! messages and their ends from there.

mod firmware;
mod world;

use firmware::{built, Act, Answer, Differs, Firmware};
use spec::{option, Access, Atomic, Id, Kind, ANY};
use world::{Entry, Memory, Message, Place, Step, World};

const HIGH: u64 = 1 << 40;
const ANYBODY: Id = Id { nid: ANY, pid: ANY };
const PUT: u32 = option::OP_PUT;
const CUT: u32 = option::OP_PUT | option::TRUNCATE;
const BOTH: u32 = option::OP_PUT | option::OP_GET;

const fn memory(length: u32, threshold: i32, options: u32, unlink: bool) -> Memory {
    Memory { length, threshold, max_size: 0, options, unlink, eventful: true }
}

/// Takes one message of up to 48 bytes, and goes.
const ONCE: Memory = memory(48, 1, PUT, true);
const TWICE: Memory = memory(48, 2, BOTH | option::TRUNCATE, true);
const SHORT: Memory = memory(3, -1, PUT, false);
const SHORT_CUT: Memory = memory(3, -1, CUT, false);
const USED_UP: Memory = memory(48, 0, PUT, false);
/// Full when less than 44 bytes are left.
const FILLED: Memory = Memory { max_size: 44, ..memory(48, -1, BOTH | option::MAX_SIZE, true) };
const LAID_OUT: Memory = Memory {
    eventful: false,
    max_size: 45,
    ..memory(10, -1, BOTH | option::MANAGE_REMOTE | option::TRUNCATE | option::MAX_SIZE, false)
};
const POSTED: Memory = memory(20, 1, CUT, true);

const fn entry(bits: u64, ignore: u64, from: Id, memory: Memory) -> Entry {
    Entry { from, bits, ignore, unlink: true, memory: Some(memory) }
}

const fn message(kind: Kind, bits: u64, from: (u32, u32), length: u32, offset: u64) -> Message {
    let from = Id { nid: from.0, pid: from.1 };
    Message { kind, from, uid: 0, portal: 0, access: 0, bits, length, offset }
}

/// Messages that differ in bits, node, process, length, offset and kind.
const MESSAGES: [Message; 5] = [
    message(Kind::Put, 0, (1, 5), 4, 0),
    message(Kind::Put, HIGH, (2, 5), 4, HIGH | 1),
    message(Kind::Put, 0, (2, 6), 60, 7),
    message(Kind::Atomic(Atomic::Add), 0, (1, 6), 4, 8),
    message(Kind::Get, HIGH, (1, 5), 2, 11),
];

/// Entries with each kind of criteria and each of these descriptors.
fn entries(from: &[Id], memories: &[Memory]) -> Vec<Entry> {
    let mut all = Vec::new();
    for (bits, ignore) in [(0, 0), (HIGH, 0), (1, HIGH | 1)] {
        for from in from {
            for memory in memories {
                all.push(entry(bits, ignore, *from, *memory));
            }
        }
    }
    all
}

/// Every way on of so many steps. Returns how many states there are.
fn explore(
    world: &World,
    steps: &[Step],
    left: u32,
    once: &mut Vec<bool>,
    firmware: &mut Firmware,
) -> Result<u64, Differs> {
    let mut states = 1;
    if left == 0 {
        return Ok(states);
    }
    for (number, step) in steps.iter().enumerate() {
        if once.get(number) == Some(&true) || !world.can(step) {
            continue;
        }
        let mut next = world.clone();
        firmware.act(Act::Save, world.state())?;
        firmware.enter(number);
        next.step(step, firmware)?;
        if let Some(done) = once.get_mut(number) {
            *done = true;
        }
        states += explore(&next, steps, left - 1, once, firmware)?;
        if let Some(done) = once.get_mut(number) {
            *done = false;
        }
        firmware.leave();
        firmware.act(Act::Restore, world.state())?;
    }
    Ok(states)
}

/// A world whose list has these entries.
fn begin(list: &[Entry], firmware: &mut Firmware) -> Result<World, Differs> {
    let mut world = World::new();
    firmware.begin(format!("{list:?}"))?;
    for entry in list {
        let place = if world.state() == Answer::NOTHING { Place::Head } else { Place::Tail };
        world.step(&Step::Attach(*entry, place), firmware)?;
    }
    Ok(world)
}

/// Every list of exactly `length` of these entries, with every order of these messages. All operations end
/// afterwards, those of every second list from the newest on.
fn lists(
    entries: &[Entry],
    length: u32,
    messages: &[Message],
    firmware: &mut Firmware,
) -> Result<u64, Differs> {
    let mut steps: Vec<Step> = messages.iter().map(|message| Step::Arrive(*message)).collect();
    let (newest, depth) = (steps.len(), steps.len() as u32);
    steps.push(Step::End(false));
    let mut states = 0;
    for code in 0..entries.len().pow(length) {
        let at = |place: u32| entries[code / entries.len().pow(place) % entries.len()];
        let list: Vec<Entry> = (0..length).map(at).collect();
        let world = begin(&list, firmware)?;
        let mut once = vec![false; messages.len()];
        steps[newest] = Step::End(code % 2 == 1);
        states += explore(&world, &steps, depth, &mut once, firmware)?;
    }
    firmware.flush()?;
    Ok(states)
}

/// From every list of up to two of these entries, every order of calls, messages and ends.
fn orders(entries: &[Entry], depth: u32, firmware: &mut Firmware) -> Result<u64, Differs> {
    let posted = |bits, from| entry(bits, 0, from, POSTED);
    let mut steps = vec![
        Step::Attach(entry(0, 0, ANYBODY, TWICE), Place::Head),
        Step::Attach(entry(HIGH, 0, Id { nid: 1, pid: ANY }, ONCE), Place::Tail),
        Step::Attach(Entry { memory: None, ..entry(0, 0, ANYBODY, ONCE) }, Place::Before),
        Step::Attach(entry(0, !0, ANYBODY, SHORT_CUT), Place::After),
        Step::Describe(ONCE),
        Step::Post(posted(0, ANYBODY), Place::Before),
        Step::Post(posted(HIGH, Id { nid: ANY, pid: 5 }), Place::After),
        Step::Update(memory(44, 1, CUT, false), true),
        Step::Update(memory(5, 2, BOTH, false), false),
        Step::UnlinkEntry(false),
        Step::UnlinkEntry(true),
        Step::UnlinkMemory,
        Step::End(false),
        Step::End(true),
        Step::Look,
        Step::Send,
        Step::Ack,
    ];
    steps.extend(MESSAGES.map(Step::Arrive));
    let mut states = 0;
    let mut starts: Vec<Vec<Entry>> = vec![Vec::new()];
    starts.extend(entries.iter().map(|entry| vec![*entry]));
    for one in entries {
        starts.extend(entries.iter().map(|other| vec![*one, *other]));
    }
    for start in starts {
        let world = begin(&start, firmware)?;
        states += explore(&world, &steps, depth, &mut Vec::new(), firmware)?;
    }
    firmware.flush()?;
    Ok(states)
}

/// Entries of lists with which orders begin.
fn beginnings() -> Vec<Entry> {
    let kept = |entry| Entry { unlink: false, ..entry };
    vec![
        entry(0, 0, ANYBODY, ONCE),
        entry(HIGH, 1, Id { nid: ANY, pid: 5 }, FILLED),
        kept(entry(0, HIGH, Id { nid: 2, pid: ANY }, TWICE)),
        kept(entry(0, HIGH, ANYBODY, LAID_OUT)),
    ]
}

/// Every access control entry of a few, with every message of a few; before and after the process leaves.
fn access(firmware: &mut Firmware) -> Result<(), Differs> {
    for nid in [1, ANY] {
        for pid in [5, ANY] {
            for uid in [0, 3, ANY] {
                for portal in [0, 1, ANY] {
                    let mut world = begin(&[entry(0, 0, ANYBODY, SHORT)], firmware)?;
                    let access = Access { from: Id { nid, pid }, uid, jid: ANY, portal };
                    world.step(&Step::Admit(2, access), firmware)?;
                    admitted(&mut world, firmware)?;
                    world.step(&Step::Leave, firmware)?;
                    admitted(&mut world, firmware)?;
                }
            }
        }
    }
    firmware.flush()
}

fn admitted(world: &mut World, firmware: &mut Firmware) -> Result<(), Differs> {
    for code in 0..48 {
        let bit = |place: u32| code >> place & 1;
        let from = Id { nid: 1 + bit(0), pid: 5 + bit(1) };
        let (uid, access) = (3 * bit(2), code / 16);
        let message = message(Kind::Put, 0, (0, 0), 1, 0);
        let message = Message { from, uid, access, portal: bit(3), ..message };
        world.step(&Step::Arrive(message), firmware)?;
    }
    // What is not there.
    for (portal, access) in [(63, 0), (64, 0), (255, 0), (0, 7), (0, 8), (0, 255)] {
        let message = Message { portal, access, ..message(Kind::Put, 0, (1, 5), 1, 0) };
        world.step(&Step::Arrive(message), firmware)?;
    }
    Ok(())
}

const FROM: [Id; 3] = [ANYBODY, Id { nid: 1, pid: ANY }, Id { nid: ANY, pid: 6 }];
const MEMORIES: [Memory; 7] = [ONCE, TWICE, SHORT, SHORT_CUT, USED_UP, FILLED, LAID_OUT];

fn sound() -> Firmware {
    Firmware::start(&built().join("matching"))
}

fn unwrapped(result: Result<u64, Differs>) -> u64 {
    result.unwrap_or_else(|wrong| panic!("{wrong}"))
}

#[test]
fn every_list_of_a_few_entries_gives_messages_to_whom_the_specification_does() {
    let mut firmware = sound();
    let few = entries(&FROM[..2], &[ONCE, TWICE, SHORT_CUT, FILLED]);
    let mut states = 0;
    for (entries, length, messages) in [
        (&few[..1], 0, &MESSAGES[..]),
        (&entries(&FROM, &MEMORIES), 1, &MESSAGES),
        (&few, 2, &MESSAGES[..4]),
        (&entries(&FROM[..1], &[ONCE, FILLED]), 3, &MESSAGES[..4]),
    ] {
        states += unwrapped(lists(entries, length, messages, &mut firmware));
    }
    println!("{states} states, {} acts", firmware.told());
}

#[test]
fn every_order_of_calls_messages_and_ends_is_as_specified() {
    let mut firmware = sound();
    let states = unwrapped(orders(&beginnings(), 3, &mut firmware));
    println!("{states} states, {} acts", firmware.told());
}

#[test]
#[ignore = "minutes: make soak"]
fn larger_worlds() {
    let mut firmware = sound();
    let all = entries(&FROM, &MEMORIES);
    let few = entries(&FROM[..2], &[ONCE, TWICE, SHORT_CUT, FILLED]);
    let mut states = unwrapped(lists(&all, 2, &MESSAGES, &mut firmware));
    states += unwrapped(lists(&few, 3, &MESSAGES[..4], &mut firmware));
    states += unwrapped(orders(&beginnings(), 4, &mut firmware));
    println!("{states} states, {} acts", firmware.told());
}

#[test]
fn access_control_admits_whom_the_specification_does() {
    access(&mut sound()).unwrap_or_else(|wrong| panic!("{wrong}"));
}

/// Each bug of match lists that can be planted is found.
#[test]
fn planted_bugs_are_found() {
    let planted = std::fs::read_dir(built()).expect("it was built").filter_map(|file| {
        let file = file.expect("it can be read").path();
        let name = file.file_name()?.to_str()?;
        name.starts_with("planted-matching-").then_some(file)
    });
    let mut count = 0;
    for program in planted {
        let mut firmware = Firmware::start(&program);
        let few = entries(&FROM[..1], &[ONCE, TWICE, SHORT_CUT, FILLED]);
        let found = orders(&beginnings(), 3, &mut firmware);
        let found = found.and_then(|_| lists(&few, 2, &MESSAGES, &mut firmware));
        let wrong = found.expect_err(&program.display().to_string());
        println!("{}: {wrong}", program.display());
        count += 1;
    }
    assert_eq!(count, 7);
}
