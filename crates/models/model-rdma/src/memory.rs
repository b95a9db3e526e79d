//! A host's memory as bridge and host software share it, and where things stand in it.

use super::module::notify_addr;
use super::tally::Judge;
use bus::BusError;
use host::SharedMemory;
use pci::node::is_memory;
use pci::HostMemory;
use std::cell::Cell;
use std::ops::Range;
use std::rc::Rc;
use std::sync::Arc;

/// Bytes of a page.
pub(super) const PAGE: u64 = 4096;
/// Frames that the kernel module has for pinned pages.
pub(super) const FRAMES: u64 = 1 << 13;
/// Physical address of the first one: the first that a kernel gives out.
const FIRST: u64 = 1 << 20;
/// Frames behind them for what the module itself has in memory, which nobody pins.
const OWN_FRAMES: u64 = super::partial::FRAMES;

/// Physical address of page `number` of those that node `nid` has pinned so far. Pages are scattered, as they
/// are on a system that has run for long, and each host differently. All hosts know where the pages of all
/// are: they tell one another at start-up, over another network, which is not simulated.
pub(super) fn frame(nid: u32, number: u64) -> u64 {
    assert!(number < FRAMES, "workloads are held to what there is");
    // Odd factors shuffle a power of two.
    let scattered = number.wrapping_mul(2 * 1_361 + 1).wrapping_add(u64::from(nid) * 97);
    FIRST + scattered % FRAMES * PAGE
}

/// Physical address of a frame of the module's own, the same on all nodes.
pub(super) fn own_frame(number: u64) -> u64 {
    assert!(number < OWN_FRAMES, "the module knows its frames");
    FIRST + (FRAMES + number) * PAGE
}

/// Reserves the frames; the kernel of a node does it before anything else.
pub(super) fn reserve(memory: &SharedMemory) {
    let first = memory.borrow_mut().alloc_kernel((FRAMES + OWN_FRAMES) * PAGE, PAGE);
    assert_eq!(first, FIRST, "it is the first thing that the kernel allocates");
}

/// The memory behind the bridge.
pub(super) struct Behind {
    nid: u32,
    memory: SharedMemory,
    watch: Rc<Watch>,
    judge: Option<Arc<Judge>>,
}

/// Addresses that host software polls: the bridge reports a write to them.
#[derive(Debug, Default)]
pub(super) struct Watch {
    words: Cell<Span>,
    hit: Cell<bool>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Span(u64, u64);

impl Watch {
    /// Waits for a write into `range`.
    pub fn set(&self, range: Range<u64>) {
        self.words.set(Span(range.start, range.end));
    }
    /// Waits for nothing.
    pub fn clear(&self) {
        self.words.set(Span(0, 0));
    }
    /// True if a write to `addr` is waited for.
    pub fn sees(&self, addr: u64) -> bool {
        let Span(from, to) = self.words.get();
        (from..to).contains(&addr)
    }
    /// True if there was one, once.
    pub fn take(&self) -> bool {
        self.hit.take()
    }
}

impl Behind {
    /// Of node `nid`.
    pub fn new(
        nid: u32,
        memory: SharedMemory,
        watch: Rc<Watch>,
        judge: Option<Arc<Judge>>,
    ) -> Behind {
        Behind { nid, memory, watch, judge }
    }
}

impl HostMemory for Behind {
    fn contains(&self, addr: u64, len: usize) -> bool {
        is_memory(&self.memory, addr, len)
    }
    fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.memory.borrow_mut().read_phys(addr, buf)
    }
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        if self.watch.sees(addr) {
            self.watch.hit.set(true);
        }
        if let (Some(judge), Ok(word)) = (&self.judge, data.try_into()) {
            // What no message has written is the card's own.
            if addr != notify_addr(self.nid) {
                judge.writes(self.nid, addr, u64::from_le_bytes(word));
            }
        }
        self.memory.borrow_mut().write_phys(addr, data)
    }
}

/// The word at physical address `addr` of a pinned page; 0 where a program has unmapped what it registered.
pub(super) fn word(memory: &SharedMemory, addr: u64) -> u64 {
    let mut bytes = [0; 8];
    let _ = memory.borrow_mut().read_phys(addr, &mut bytes);
    u64::from_le_bytes(bytes)
}

/// Sets it.
pub(super) fn set_word(memory: &SharedMemory, addr: u64, word: u64) {
    let written = memory.borrow_mut().write_phys(addr, &word.to_le_bytes());
    written.expect("it is a pinned page");
}
