//! The host memory that the firmware knows of a firmware process: upper pendings, the event ring and DMA
//! lists, in one piece, reached by the embedded processor through a host window.

use abi::seastar::{
    upper_pending, DmaCommand, EventLine, PortalsHeader, UpperPending, HTB_MAP, HTB_VALID,
    WINDOW_COUNT, WINDOW_SIZE,
};
use host::{Cpu, Extent, SharedMemory, SpaceId};

/// Host window that maps the kernel's region; the one that Kitten's driver uses. Those of accelerated
/// processes follow.
pub(super) const WINDOW: u32 = 8;
/// Most slots of the event ring. The generic process needs at least 1024.
pub(crate) const EVENT_SLOTS_MAX: u32 = 4096;
/// Bytes of an event of a kernel's: a word.
pub(super) const EVENT_WORD: u32 = 4;
/// Bytes of an event of an accelerated process's: a line, whose last word is the event's.
pub(super) const EVENT_LINE: u32 = EventLine::SIZE as u32;
const PAGE: u64 = 4096;

/// Sizes of a region's parts.
#[derive(Clone, Copy)]
pub(crate) struct Sizes {
    /// Upper pendings.
    pub(crate) pendings: u32,
    /// Bytes behind them for each.
    pub(crate) beside: u32,
    /// Bytes of results of reductions.
    pub(crate) results: u32,
    /// Commands of DMA lists.
    pub(crate) commands: u32,
    /// Slots of the event ring.
    pub(crate) slots: u32,
    /// Bytes of each.
    pub(crate) slot: u32,
}

/// Addresses in the region that the firmware writes to.
pub(crate) struct Region {
    window: u32,
    /// Physical address of the upper pending table.
    pub(crate) pendings: u64,
    /// Physical address of results of reductions.
    results: u64,
    events: u64,
    /// Number of slots of the event ring.
    slots: u32,
    /// Bytes of each.
    slot: u32,
    lists: u64,
    memory: SharedMemory,
}

impl Region {
    /// Allocates the region behind host window `window`.
    pub(crate) fn new(memory: &SharedMemory, window: u32, sizes: Sizes) -> Region {
        let Sizes { pendings, beside, results, commands, slots, slot } = sizes;
        assert!(window < WINDOW_COUNT, "the processor has so many windows");
        let table = u64::from(pendings) * (UpperPending::SIZE as u64 + u64::from(beside));
        let behind = table;
        let table = (table + u64::from(results)).next_multiple_of(PAGE);
        let ring = u64::from(slots * slot);
        let lists = u64::from(commands) * DmaCommand::SIZE as u64;
        let base = memory.borrow_mut().alloc_kernel(table + ring + lists, PAGE);
        let size = u64::from(WINDOW_SIZE);
        let last = base + table + ring + lists - 1;
        assert_eq!(base / size, last / size, "kernel memory at boot lies in one window");
        let (events, lists) = (base + table, base + table + ring);
        let (results, memory) = (base + behind, memory.clone());
        Region { window, pendings: base, results, events, slots, slot, lists, memory }
    }

    /// Points the window at the region.
    pub(crate) fn map(&self, cpu: &Cpu) {
        let frame = (self.pendings / u64::from(WINDOW_SIZE)) as u32;
        cpu.mmio_write(HTB_MAP + self.window * 4, &(HTB_VALID | frame).to_le_bytes());
    }

    /// The upper pending table as the embedded processor sees it.
    pub(crate) fn pendings_local(&self) -> u32 {
        self.local(self.pendings)
    }
    /// The event ring as the embedded processor sees it.
    pub(crate) fn events_local(&self) -> u32 {
        self.local(self.events)
    }

    /// The event ring.
    pub(crate) fn events(&self) -> std::ops::Range<u64> {
        self.events..self.events + u64::from(self.slots * self.slot)
    }

    /// Address of the DMA lists, as the embedded processor sees it.
    pub(crate) fn lists_local(&self) -> u32 {
        self.local(self.lists)
    }
    /// Stores a command of a DMA list at the embedded processor's address.
    pub(crate) fn write_list(&self, addr: u32, command: &[u8]) {
        let at = self.lists + u64::from(addr - self.lists_local());
        self.memory.borrow_mut().write_phys(at, command).expect(OWN);
    }

    /// True if the firmware has written an event into `slot`.
    pub(crate) fn has_event(&self, slot: u32) -> bool {
        let mut word = [0; 4];
        self.memory.borrow_mut().read_phys(self.event_word(slot), &mut word).expect(OWN);
        word != [0; 4]
    }

    /// Takes the event word in `slot`, if the firmware has written one.
    pub(crate) fn take_event(&self, slot: u32) -> Option<u32> {
        let at = self.event_word(slot);
        let mut word = [0; 4];
        let mut memory = self.memory.borrow_mut();
        memory.read_phys(at, &mut word).expect(OWN);
        if word == [0; 4] {
            return None;
        }
        memory.write_phys(at, &[0; 4]).expect(OWN);
        Some(u32::from_le_bytes(word))
    }

    /// Address of the word of an event: the last of its slot.
    fn event_word(&self, slot: u32) -> u64 {
        self.events + u64::from((slot + 1) * self.slot - EVENT_WORD)
    }

    /// The line of an event that has just been taken.
    pub(crate) fn read_line(&self, slot: u32) -> EventLine {
        let at = self.events + u64::from(slot * EVENT_LINE);
        let mut bytes = [0; EventLine::SIZE];
        self.memory.borrow_mut().read_phys(at, &mut bytes).expect(OWN);
        EventLine::parse(&bytes).expect("the buffer has its size")
    }

    /// Stores the header of a message to send.
    pub(crate) fn write_header(&self, pending: u16, header: &PortalsHeader) {
        let mut bytes = [0; PortalsHeader::SIZE];
        header.emit(&mut bytes);
        self.memory.borrow_mut().write_phys(self.header(pending), &bytes).expect(OWN);
    }

    /// The header that the firmware has written for a message that arrived.
    pub(crate) fn read_header(&self, pending: u16) -> PortalsHeader {
        let mut bytes = [0; PortalsHeader::SIZE];
        self.memory.borrow_mut().read_phys(self.header(pending), &mut bytes).expect(OWN);
        PortalsHeader::parse(&bytes).expect("the buffer has a header's size")
    }

    /// Physical address of a pending's operand or answer of an atomic operation.
    pub(crate) fn data(&self, pending: u16) -> u64 {
        self.header(pending) + upper_pending::DATA as u64
    }
    /// Stores an answer to send.
    pub(crate) fn write_data(&self, pending: u16, data: &[u8]) {
        self.memory.borrow_mut().write_phys(self.data(pending), data).expect(OWN);
    }
    /// The operand that has been deposited there.
    pub(crate) fn read_data(&self, pending: u16, data: &mut [u8]) {
        self.memory.borrow_mut().read_phys(self.data(pending), data).expect(OWN);
    }

    /// Results of a reduction by the firmware.
    pub(crate) fn read_results(&self, count: usize) -> Vec<u64> {
        let mut bytes = vec![0; 8 * count];
        self.memory.borrow_mut().read_phys(self.results, &mut bytes).expect(OWN);
        let entry = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().expect("8 bytes"));
        bytes.chunks_exact(8).map(entry).collect()
    }

    /// Physical extents of a process's bytes.
    pub(crate) fn extents(&self, space: SpaceId, start: u64, length: u64) -> Vec<Extent> {
        let mut extents = Vec::new();
        let found = self.memory.borrow_mut().translate_into(space, start, length, &mut extents);
        if found.is_err() {
            extents.clear();
        }
        extents
    }

    fn header(&self, pending: u16) -> u64 {
        self.pendings + u64::from(pending) * UpperPending::SIZE as u64
    }

    fn local(&self, phys: u64) -> u32 {
        self.window * WINDOW_SIZE + (phys % u64::from(WINDOW_SIZE)) as u32
    }
}

const OWN: &str = "the kernel's own region is always there";

#[cfg(test)]
mod tests {
    use super::*;

    /// Observers of the ring count modulo its slots.
    #[test]
    fn the_ring_is_as_long_as_it_was_made() {
        let memory = host::Memory::shared();
        for slots in [1024, EVENT_SLOTS_MAX] {
            for slot in [EVENT_WORD, EVENT_LINE] {
                let sizes = Sizes { pendings: 8, beside: 0, results: 0, commands: 0, slots, slot };
                let events = Region::new(&memory, WINDOW, sizes).events();
                assert_eq!(events.end - events.start, u64::from(slots * slot));
            }
        }
    }
}
