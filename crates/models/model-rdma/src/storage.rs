//! Remote block I/O (marazakis2006 s2.5, s4.1 to 4.4): rank 0 is the initiator, rank 1 the target with eight
//! disks. Requests come from standard input and answers go to standard output, as [`block::Ask`] and
//! [`block::Answer`] have them: of a client who waits while simulated time stands still, or of a file.
//!
//! ```text
//! disk        a pending flag in each message tells that it is new
//! disk-tails  tails ring a doorbell behind messages, and heads are written back
//! disk-read   no stream: so many reads of so many bytes, in order
//! disk-write  the same, of writes
//! ```

use super::library::{Buffer, Library};
use super::memory::PAGE;
use super::module::pages;
use ahead::Ahead;
use block::{Association, Command, Completion, Operation};
use block::{COMMAND_WORDS, COMPLETION_WORDS, PIECE, SECTOR};
use des::Time;
use machine::programs::native::{Workload, WorkloadKind};
use rank::Connection;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::VecDeque;

mod ahead;
mod associate;
mod disks;
mod errors;
mod initiator;
mod messages;
mod recovery;
mod target;
mod under_way;
pub(super) use disks::{Disks, UnfitDisks};
pub(super) use errors::StorageError;

/// Bytes of an array: what the RAID controller of marazakis2006 s2.4 has, as whole sectors.
const BYTES_MAX: u64 = 614_100_000_000 / SECTOR * SECTOR;

const fn kind(name: &'static str) -> WorkloadKind {
    WorkloadKind { name, bytes: 64 << 20, bytes_max: BYTES_MAX, word: SECTOR, ranks: 2 }
}

/// The workloads.
pub(super) const DISKS: [WorkloadKind; 4] = [
    kind("disk"),
    kind("disk-tails"),
    WorkloadKind { bytes: 65536, bytes_max: LENGTH_MAX, ..kind("disk-read") },
    WorkloadKind { bytes: 65536, bytes_max: LENGTH_MAX, ..kind("disk-write") },
];

/// True if a workload is one of them.
pub(super) fn is_disk(workload: &Workload) -> bool {
    DISKS.iter().any(|disk| disk.name == workload.kind.name)
}

/// Requests under way, each with a buffer on both sides.
const SLOTS: u64 = 16;
/// Messages of a queue: more than there are requests.
const DEPTH: u64 = 32;
const COMMAND: u64 = 8 * COMMAND_WORDS as u64;
const COMPLETION: u64 = 8 * COMPLETION_WORDS as u64;
/// Times that a request is tried whose data are spoilt on their way.
const TRIES: u32 = 4;
/// Bytes of a request at most, from whoever writes to standard input.
const LENGTH_MAX: u64 = 64 << 20;

use messages::{Come, Posted};
use under_way::UnderWay;

/// An end of the association.
pub(super) struct Storage<'a> {
    library: &'a Library,
    disks: Disks,
    launch: Time,
    rank: u32,
    /// Messages have pending flags.
    flags: bool,
    sectors: u64,
    workload: Workload,
    /// Messages that come; those that go are made in another page.
    queue: Buffer,
    made: Buffer,
    pool: Buffer,
    /// The association: its connection, parameters, and the other side's queue and pool.
    link: OnceCell<Connection<'a>>,
    agreed: OnceCell<(Association, [Buffer; 2])>,
    under_way: RefCell<UnderWay>,
    ahead: RefCell<Ahead>,
    /// Messages sent and taken; and those sent that may have been lost, with their numbers.
    sent: Cell<u64>,
    taken: Cell<u64>,
    kept: RefCell<VecDeque<(u64, Posted)>>,
    /// Losses are found out and sent again.
    recovers: bool,
    /// A silence until then means that something may be lost.
    patience: Cell<Option<Time>>,
    /// Attempts since something has come, and what follows too many: all requests fail.
    attempts: Cell<u64>,
    offline: Cell<bool>,
}

impl<'a> Storage<'a> {
    /// Registers its pages.
    pub fn new(library: &'a Library, rank: u32, workload: &Workload, launch: Time) -> Storage<'a> {
        let (module, cpu) = (library.module(), library.cpu());
        let disks = module.disks;
        let recovers = rank < 2 && module.can_restart(cpu);
        if recovers {
            module.tally.recovers.set(true);
            library.set_patience(disks.resend);
            if disks.stop {
                module.stop_at_errors(cpu);
            }
        }
        let queue = library.register(0, PAGE);
        let made = library.register(0, PAGE);
        let pool = library.register(0, SLOTS * PIECE);
        Storage {
            library,
            disks,
            launch,
            rank,
            flags: disks.flags && workload.kind.name != "disk-tails",
            sectors: match workload.kind.name {
                "disk" | "disk-tails" => workload.bytes,
                _ => workload.bytes.saturating_mul(workload.times.into()).min(BYTES_MAX),
            } / SECTOR,
            workload: *workload,
            queue,
            made,
            pool,
            link: OnceCell::new(),
            agreed: OnceCell::new(),
            under_way: RefCell::default(),
            ahead: RefCell::default(),
            sent: Cell::default(),
            taken: Cell::default(),
            kept: RefCell::default(),
            recovers,
            patience: Cell::default(),
            attempts: Cell::default(),
            offline: Cell::default(),
        }
    }

    /// Serves until the stream of requests ends; what is to be printed.
    pub fn run(&self) -> Result<String, StorageError> {
        if self.rank < 2 {
            self.associate()?;
        }
        let text = match (self.rank, self.workload.kind.name) {
            (0, "disk" | "disk-tails") => {
                self.serve_stream()?;
                String::new()
            }
            (0, name) => self.load(name == "disk-write")?,
            (1, _) => self.target().map(|()| String::new())?,
            _ => String::new(),
        };
        self.library.finish();
        self.leave();
        Ok(text)
    }

    // ---- memory ------------------------------------------------------------------------------------------

    fn buffer(&self, slot: u64) -> Buffer {
        Buffer { offset: slot * PIECE, ..self.pool }
    }
    /// Parameters of the association, and the other side's queue and pool.
    fn agreed(&self) -> &(Association, [Buffer; 2]) {
        self.agreed.get().expect("they have associated")
    }
    fn peers_buffer(&self, slot: u64) -> Buffer {
        Buffer { offset: slot * PIECE, ..self.agreed().1[1] }
    }
    fn peer(&self) -> u32 {
        1 - self.rank
    }
    /// Puts data into a buffer of this host; the disk controller, or the client's page, is where it comes
    /// from: no processor copies it.
    fn put(&self, buffer: Buffer, data: &[u8]) {
        let mut memory = self.library.cpu().memory().borrow_mut();
        for (page, chunk) in (0..).zip(data.chunks(PAGE as usize)) {
            let written = memory.write_phys(buffer.phys(page * PAGE), chunk);
            written.expect("it is a pinned page");
        }
    }
    fn get(&self, buffer: Buffer, data: &mut [u8]) {
        let mut memory = self.library.cpu().memory().borrow_mut();
        for (page, chunk) in (0..).zip(data.chunks_mut(PAGE as usize)) {
            let read = memory.read_phys(buffer.phys(page * PAGE), chunk);
            read.expect("it is a pinned page");
        }
    }
}

/// Bindings that a node needs for handles.
pub(super) fn bindings(nodes: u32) -> u64 {
    u64::from(nodes) + 1 + pages(SLOTS * PIECE)
}
