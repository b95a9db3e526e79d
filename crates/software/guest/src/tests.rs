//! The guest's protocol without a kernel: a test writes what a kernel would, and more.

use crate::act::{Act, Ending, Interrupt, Location, Space};
use crate::clock::{op, ClockMessage};
use crate::guest::Guest;
use crate::process::Process;
use crate::vhost::{self, pci, request};
use crate::{sys, Costs, Input, Kernel, Setup, Task};
use fuzz::Target;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;

/// Addresses of the queue's parts, and of a command and its answer, in the guest's memory.
const DESCRIPTORS: u64 = 0x1000;
const AVAILABLE: u64 = 0x2000;
const USED: u64 = 0x3000;
const COMMAND: u64 = 0x4000;
const ANSWER: u64 = 0x5000;
const BYTES: u64 = 0x8000;

fn task() -> Task {
    Task {
        number: 0,
        guests: 1,
        memory_mb: 64,
        seed: 1,
        costs: Costs::default(),
        date: 0,
        begins: 0,
        device: false,
        arguments: Vec::new(),
        variables: Vec::new(),
        folder: PathBuf::from("/"),
        libraries: None,
        input: Input::Nothing,
        setup: Setup::default(),
    }
}

/// A process in the kernel's place that says nothing.
fn silent() -> Process {
    let folder = tempfile::tempdir().expect("a folder");
    let current = folder.path().join("current");
    std::fs::create_dir(&current).expect("a folder");
    for name in ["linux", "init"] {
        let text = folder.path().join(name);
        std::fs::write(&text, "#!/bin/sh\nexec sleep 100\n").expect("a script");
        // By a process of its own: one that another test starts meanwhile may have what is open here, and
        // a file that somebody can write to is not executed.
        let mut install = std::process::Command::new("install");
        let done = install.args(["-m", "755"]).args([&text, &current.join(name)]).status();
        assert!(done.expect("coreutils").success());
    }
    let kernel = Kernel::find(folder.path()).expect("it is there");
    // The script is read before the folder goes.
    let process = Process::start(&kernel, &task()).expect("a process");
    std::mem::forget(folder);
    process
}

/// The guest's end: what a kernel has.
struct Other {
    clock: UnixStream,
    device: UnixStream,
    memory: OwnedFd,
}

impl Other {
    fn say(&mut self, op: u32, sequence: u32, time: u64) {
        let message = ClockMessage { op, sequence, time };
        self.clock.write_all(&message.emit()).expect("it fits");
    }
    fn request(&mut self, request: u32, payload: &[u8]) {
        let mut bytes = [request, vhost::VERSION | vhost::NEED_REPLY, payload.len() as u32]
            .map(u32::to_le_bytes)
            .concat();
        bytes.extend_from_slice(payload);
        self.device.write_all(&bytes).expect("it fits");
    }
    fn share(&mut self, payload: &[u8]) {
        let head = [request::SET_MEM_TABLE, vhost::VERSION, payload.len() as u32];
        let mut bytes = head.map(u32::to_le_bytes).concat();
        bytes.extend_from_slice(payload);
        let fds = [self.memory.as_raw_fd(), self.memory.as_raw_fd()];
        sys::send_with(&self.device, &bytes, fds).expect("it fits");
    }
    fn store(&mut self, at: u64, bytes: &[u8]) {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::from(self.memory.try_clone().expect("a descriptor"));
        file.write_all_at(bytes, at).expect("it fits");
    }
    fn load<const N: usize>(&self, at: u64) -> [u8; N] {
        use std::os::unix::fs::FileExt;
        let file = std::fs::File::from(self.memory.try_clone().expect("a descriptor"));
        let mut bytes = [0; N];
        file.read_exact_at(&mut bytes, at).expect("it is there");
        bytes
    }
}

/// A guest, and a kernel's end that has begun.
fn pair() -> (Guest, Other) {
    let (clock, own_clock) = UnixStream::pair().expect("sockets");
    let (device, own_device) = UnixStream::pair().expect("sockets");
    let memory = sys::memory_file(BYTES).expect("memory");
    let mut other = Other { clock, device, memory };
    other.say(op::START, 1, 0);
    let guest = Guest::begin(silent(), own_clock, Some(own_device), &task()).expect("it begins");
    let mut ack = [0; 16];
    other.clock.read_exact(&mut ack).expect("an answer");
    (guest, other)
}

fn words(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

fn descriptor(addr: u64, len: u32, flags: u16, next: u16) -> Vec<u8> {
    let mut bytes = addr.to_le_bytes().to_vec();
    bytes.extend(len.to_le_bytes());
    bytes.extend(flags.to_le_bytes());
    bytes.extend(next.to_le_bytes());
    bytes
}

/// Payloads by which the kernel describes its memory and a queue.
fn table() -> Vec<u8> {
    let mut bytes = [1_u32, 0].map(u32::to_le_bytes).concat();
    bytes.extend(words(&[0, BYTES, 0, 0]));
    bytes
}
fn addresses() -> Vec<u8> {
    words(&[0, DESCRIPTORS, USED, AVAILABLE, 0])
}
fn of_ring(value: u32) -> Vec<u8> {
    [0, value].map(u32::to_le_bytes).concat()
}

/// A load of 4 bytes of the configuration stands in the queue.
fn set_up(other: &mut Other) {
    other.share(&table());
    other.request(request::SET_VRING_NUM, &of_ring(8));
    other.request(request::SET_VRING_BASE, &of_ring(0));
    other.request(request::SET_VRING_ADDR, &addresses());
    let mut command = pci::message(pci::CFG_READ, 0x3C, &[]);
    command[4] = 4;
    other.store(COMMAND, &command[..pci::HEADER]);
    other.store(DESCRIPTORS, &descriptor(COMMAND, pci::HEADER as u32, 1, 1));
    other.store(DESCRIPTORS + 16, &descriptor(ANSWER, 4, 2, 0));
    other.store(AVAILABLE + 2, &1_u16.to_le_bytes());
    other.request(request::VRING_KICK, &of_ring(0));
}

/// An access is told, its answer is in memory and in the queue, and the clock shows its time.
#[test]
fn a_load_is_answered_in_the_queue() {
    let (mut guest, mut other) = pair();
    set_up(&mut other);
    let place = Location { space: Space::Config, offset: 0x3C };
    assert_eq!(guest.boot(), Act::Load(place, 4));
    // It answers the second message, which follows RUN; then it ends.
    other.say(op::ACK, 2, 0);
    other.say(op::BROADCAST, 9, 0x454e_4400 << 32 | 7 << 8);
    assert_eq!(guest.answer(400, &[1, 2, 3, 4]), Act::End(Ending::Exited(7)));
    assert_eq!(other.load(ANSWER), [1, 2, 3, 4]);
    // One buffer is back: the first, with 4 bytes.
    assert_eq!(other.load(USED + 2), 1_u16.to_le_bytes());
    assert_eq!(other.load(USED + 4), [0, 0, 0, 0, 4, 0, 0, 0]);
    let mut told = [0; 16];
    other.clock.read_exact(&mut told).expect("RUN");
    assert_eq!(ClockMessage::parse(told), ClockMessage { op: op::RUN, sequence: 1, time: 400 });
}

/// Sentence about a guest whose kernel does this.
fn lost(wrong: impl FnOnce(&mut Other)) -> String {
    let (mut guest, mut other) = pair();
    wrong(&mut other);
    match guest.boot() {
        Act::End(Ending::Lost(why)) => why,
        act => panic!("{act:?}"),
    }
}

#[test]
fn malformed_messages_end_the_guest_with_a_sentence() {
    let told = lost(|other| other.say(77, 5, 0));
    assert!(told.contains("op: 77") && told.contains("which nobody knows"), "{told}");
    // Memory beyond the end of its file.
    let told = lost(|other| {
        let mut table = table();
        table[16..24].copy_from_slice(&(BYTES + 1).to_le_bytes());
        other.share(&table);
    });
    assert_eq!(told, "its kernel's memory is not in its file");
    let told = lost(|other| other.request(request::GET_FEATURES, &[0; 600]));
    assert_eq!(told, "its kernel sends 600 bytes at once");
    // A command whose buffer is larger than all memory; one without a header; one that nobody knows.
    let told = lost(|other| {
        set_up(other);
        other.store(DESCRIPTORS, &descriptor(COMMAND, u32::MAX, 1, 1));
    });
    assert_eq!(told, "its kernel has a buffer of 4294967295 bytes for its device");
    let told = lost(|other| {
        set_up(other);
        other.store(DESCRIPTORS, &descriptor(COMMAND, 3, 1, 1));
    });
    assert_eq!(told, "its kernel sends half a command to its device");
    let told = lost(|other| {
        set_up(other);
        other.store(COMMAND, &[99]);
    });
    assert_eq!(told, "its kernel does 99 to its device, which nobody knows");
    // A queue that is not in its memory.
    let told = lost(|other| {
        other.share(&table());
        other.request(request::SET_VRING_NUM, &of_ring(8));
        other.request(request::SET_VRING_ADDR, &words(&[0, 0, 0, 1 << 40, 0]));
        other.request(request::VRING_KICK, &of_ring(0));
    });
    assert!(told.contains("no memory there"), "{told}");
    // It stops within a message, or ends.
    let told = lost(|other| other.clock.write_all(&[1, 2, 3]).expect("it fits"));
    assert_eq!(told, "has stopped within a message of its kernel's");
    let told = lost(|other| other.clock.shutdown(std::net::Shutdown::Both).expect("it ends"));
    assert_eq!(told, "has ended before its program");
}

/// Whatever a kernel says and has in its memory, the guest ends with a sentence: each input is what it says
/// on the clock, to its device, and what its memory has, one after the other with their lengths.
#[test]
fn fuzz_guest_kernels() {
    let part =
        |kind: u8, bytes: &[u8]| [&[kind][..], &(bytes.len() as u16).to_le_bytes(), bytes].concat();
    let message = |request: u32, payload: &[u8]| {
        let head = [request, vhost::VERSION, payload.len() as u32].map(u32::to_le_bytes).concat();
        part(1, &[head, payload.to_vec()].concat())
    };
    let clock =
        |op: u32, sequence: u32, time: u64| part(0, &ClockMessage { op, sequence, time }.emit());
    let memory = |at: u64, bytes: &[u8]| part(2, &[&(at as u16).to_le_bytes(), bytes].concat());
    let mut command = pci::message(pci::MMIO_READ, 0x10, &[]);
    command[4] = 4;
    let queue = [
        memory(COMMAND, &command),
        memory(DESCRIPTORS, &descriptor(COMMAND, pci::HEADER as u32, 1, 1)),
        memory(DESCRIPTORS + 16, &descriptor(ANSWER, 4, 2, 0)),
        memory(AVAILABLE + 2, &1_u16.to_le_bytes()),
        part(3, &table()),
        message(request::SET_VRING_NUM, &of_ring(8)),
        message(request::SET_VRING_BASE, &of_ring(0)),
        message(request::SET_VRING_ADDR, &addresses()),
        message(request::VRING_KICK, &of_ring(0)),
    ];
    let ends = [clock(op::ACK, 2, 0), clock(op::GET_TOD, 3, 0), clock(op::BROADCAST, 4, 1 << 40)];
    let sleeps = [clock(op::FREE_UNTIL, 1, 5), clock(op::WAIT, 2, 0), clock(op::WAIT, 3, 0)];
    let requests: Vec<_> = (0..45_u32).map(|number| number.to_le_bytes().to_vec()).collect();
    Target::new("guest kernels")
        .seed([queue.concat(), ends.concat()].concat())
        .seed([sleeps.concat(), queue.concat()].concat())
        .words(requests)
        .words([DESCRIPTORS, AVAILABLE, USED, COMMAND, BYTES].map(|at| at.to_le_bytes().to_vec()))
        .few(64)
        .run(|input| drop(live(input)));
}

/// A guest's life with such a kernel, which then ends.
fn live(mut input: &[u8]) -> Ending {
    let (mut guest, mut other) = pair();
    while let [kind, low, high, rest @ ..] = input {
        let (bytes, after) =
            rest.split_at(rest.len().min(u16::from_le_bytes([*low, *high]).into()));
        input = after;
        match (kind % 4, bytes) {
            (0, _) => drop(other.clock.write_all(bytes)),
            (1, _) => drop(other.device.write_all(bytes)),
            (2, [low, high, bytes @ ..]) => {
                let at = u64::from(u16::from_le_bytes([*low, *high])) % BYTES;
                let room = bytes.len().min((BYTES - at) as usize);
                other.store(at, &bytes[..room]);
            }
            (3, _) => other.share(&bytes[..bytes.len().min(vhost::PAYLOAD_MAX)]),
            _ => {}
        }
    }
    for socket in [&other.clock, &other.device] {
        socket.shutdown(std::net::Shutdown::Write).expect("it ends");
    }
    let mut act = guest.boot();
    // Each access and each sleep takes something of what was said.
    for now in 1.. {
        act = match act {
            Act::Sleep(_) | Act::Watch(..) if now % 2 == 0 => guest.interrupt(now, Interrupt::Line),
            Act::Sleep(_) | Act::Watch(..) => guest.run(now),
            Act::Load(_, len) => guest.answer(now, &vec![0; len]),
            Act::Store(..) => guest.answer(now, &[]),
            Act::End(ending) => return ending,
        };
    }
    unreachable!("it ends")
}
