//! The FIFOs between firmware and DMA engines: rings with a head and a tail register.

use abi::seastar::{DmaCommand, DMA_FIFO_DEPTH, DONE_FIFO_DEPTH};

const COMMAND_BYTES: usize = DMA_FIFO_DEPTH as usize * DmaCommand::SIZE;

/// Commands from the firmware, which writes entries and the tail; the engine moves the head.
#[derive(Clone, Debug)]
pub(crate) struct CommandFifo {
    bytes: Box<[u8; COMMAND_BYTES]>,
    base: u32,
    pub(crate) head: u32,
    tail: u32,
}

impl CommandFifo {
    /// An empty FIFO whose entries are at `base` on the local bus.
    pub(crate) fn new(base: u32) -> CommandFifo {
        CommandFifo { bytes: Box::new([0; COMMAND_BYTES]), base, head: 0, tail: 0 }
    }
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }
    pub(crate) fn set_tail(&mut self, tail: u32) -> Result<(), &'static str> {
        if tail >= DMA_FIFO_DEPTH {
            return Err("tail index beyond the command FIFO");
        }
        self.tail = tail;
        Ok(())
    }
    /// Index after `index`.
    pub(crate) fn after(index: u32) -> u32 {
        (index + 1) % DMA_FIFO_DEPTH
    }
    /// The command at `index`.
    pub(crate) fn command(&self, index: u32) -> DmaCommand {
        DmaCommand::parse(&self.bytes[index as usize * DmaCommand::SIZE..])
            .expect("the FIFO holds whole commands")
    }
    /// The entry at `index`.
    pub(crate) fn bytes(&self, index: u32) -> &[u8; DmaCommand::SIZE] {
        let at = index as usize * DmaCommand::SIZE;
        self.bytes[at..].first_chunk().expect("the FIFO holds whole commands")
    }
    /// Local-bus address of the command at `index`: how a fault names it.
    pub(crate) fn address(&self, index: u32) -> u64 {
        u64::from(self.base) + u64::from(index) * DmaCommand::SIZE as u64
    }
    /// The word at byte `offset`, to read or write; `None` beyond the end.
    pub(crate) fn word(&mut self, offset: u32) -> Option<&mut [u8; 4]> {
        self.bytes.get_mut(offset as usize..)?.first_chunk_mut()
    }
}

/// Completions and notifications from an engine, which writes entries and the tail; the firmware
/// moves the head.
#[derive(Clone, Debug)]
pub(crate) struct DoneFifo {
    words: Box<[u32; DONE_FIFO_DEPTH as usize]>,
    head: u32,
    tail: u32,
}

impl DoneFifo {
    pub(crate) fn new() -> DoneFifo {
        DoneFifo { words: Box::new([0; DONE_FIFO_DEPTH as usize]), head: 0, tail: 0 }
    }
    pub(crate) fn head(&self) -> u32 {
        self.head
    }
    pub(crate) fn tail(&self) -> u32 {
        self.tail
    }
    pub(crate) fn set_head(&mut self, head: u32) -> Result<(), &'static str> {
        if head >= DONE_FIFO_DEPTH {
            return Err("head index beyond the completion FIFO");
        }
        self.head = head;
        Ok(())
    }
    /// Appends a word; false if there is no room.
    pub(crate) fn push(&mut self, word: u32) -> bool {
        let after = (self.tail + 1) % DONE_FIFO_DEPTH;
        if after == self.head {
            return false;
        }
        self.words[self.tail as usize] = word;
        self.tail = after;
        true
    }
    /// Words that find room.
    pub(crate) fn room(&self) -> u32 {
        (self.head + DONE_FIFO_DEPTH - self.tail - 1) % DONE_FIFO_DEPTH
    }
    /// The word at byte `offset`; `None` beyond the end.
    pub(crate) fn word(&self, offset: u32) -> Option<u32> {
        self.words.get(offset as usize / 4).copied()
    }
}
