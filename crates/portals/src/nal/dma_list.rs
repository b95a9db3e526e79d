//! Precomputed DMA commands of buffers that are not one physical extent, in SRAM that the host allocates
//! (pedretti2005 s4.3.1).

use abi::seastar::{dma_op, DmaCommand, DMA_LIST_BASE, DMA_LIST_COUNT};
use host::{Cpu, Extent};
use std::cell::RefCell;

/// A list in SRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DmaList {
    first: u16,
    pub(crate) count: u16,
}

impl DmaList {
    /// Local-bus address of its first command.
    pub(crate) fn addr(self) -> u32 {
        DMA_LIST_BASE + u32::from(self.first) * DmaCommand::SIZE as u32
    }
}

/// Which of the SRAM's commands are taken.
pub(crate) struct DmaLists {
    taken: RefCell<Vec<bool>>,
}

impl DmaLists {
    pub(crate) fn new() -> DmaLists {
        DmaLists { taken: RefCell::new(vec![false; DMA_LIST_COUNT as usize]) }
    }

    /// A list of `count` neighbouring commands, if there is room.
    pub(crate) fn alloc(&self, count: usize) -> Option<DmaList> {
        let mut taken = self.taken.borrow_mut();
        let mut run = 0;
        for index in 0..taken.len() {
            run = if taken[index] { 0 } else { run + 1 };
            if run == count {
                let first = index + 1 - count;
                taken[first..=index].fill(true);
                return Some(DmaList { first: first as u16, count: count as u16 });
            }
        }
        None
    }

    pub(crate) fn free(&self, list: DmaList) {
        let first = usize::from(list.first);
        self.taken.borrow_mut()[first..first + usize::from(list.count)].fill(false);
    }
}

/// Writes the commands for `extents` into `list`. The firmware adds what only it knows: peer or stream, the
/// pending's tag, and the flag of the last command.
pub(crate) fn write(cpu: &Cpu, list: DmaList, extents: &[Extent]) {
    let mut addr = list.addr();
    for extent in extents {
        let command = DmaCommand {
            op: dma_op::PAYLOAD,
            addr_hi: (extent.phys >> 32) as u16,
            addr_lo: extent.phys as u32,
            length: u32::try_from(extent.len).expect("a message is shorter than 4 GB"),
            ..DmaCommand::default()
        };
        let mut bytes = [0; DmaCommand::SIZE];
        command.emit(&mut bytes);
        cpu.mmio_write(addr, &bytes);
        addr += DmaCommand::SIZE as u32;
    }
}
