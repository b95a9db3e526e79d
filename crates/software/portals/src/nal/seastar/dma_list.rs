//! Precomputed DMA commands of buffers that are not one physical extent: in SRAM that the host allocates
//! (pedretti2005 s4.3.1), and, on systems with pages, in the kernel's memory when SRAM has no room.

use super::region::Region;
use abi::seastar::{dma_op, DmaCommand, DMA_COUNT_OPEN, DMA_LIST_BASE, DMA_LIST_COUNT};
use host::{Cpu, Extent};
use std::cell::RefCell;

const COMMAND: u32 = DmaCommand::SIZE as u32;

/// A list, in SRAM or in the kernel's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DmaList {
    /// Local-bus address of its first command.
    pub(crate) addr: u32,
    commands: u32,
    in_sram: bool,
}

impl DmaList {
    /// Count for the firmware: a number of commands, or the mark of an open list, which ends with the
    /// message.
    pub(crate) fn count(self) -> u16 {
        self.commands.min(DMA_COUNT_OPEN) as u16
    }
}

/// Commands at neighbouring addresses, of which runs can be taken.
struct Pool {
    base: u32,
    size: u32,
    /// Runs that are free: first and number, in order, none next to another.
    free: Vec<(u32, u32)>,
}

impl Pool {
    fn new(base: u32, size: u32) -> Pool {
        Pool { base, size, free: if size > 0 { vec![(0, size)] } else { Vec::new() } }
    }

    /// The address of `count` neighbouring commands, the first that are free.
    fn alloc(&mut self, count: u32) -> Option<u32> {
        let index = self.free.iter().position(|(_, room)| *room >= count)?;
        let (first, room) = self.free[index];
        if room == count {
            self.free.remove(index);
        } else {
            self.free[index] = (first + count, room - count);
        }
        Some(self.base + first * COMMAND)
    }

    fn release(&mut self, addr: u32, count: u32) {
        let first = (addr - self.base) / COMMAND;
        let index = self.free.partition_point(|(other, _)| *other < first);
        self.free.insert(index, (first, count));
        let meets = |free: &[(u32, u32)], i: usize| {
            i + 1 < free.len() && free[i].0 + free[i].1 == free[i + 1].0
        };
        for left in [Some(index), index.checked_sub(1)].into_iter().flatten() {
            if meets(&self.free, left) {
                let (_, more) = self.free.remove(left + 1);
                self.free[left].1 += more;
            }
        }
    }
}

/// Room for lists.
pub(crate) struct DmaLists {
    sram: RefCell<Pool>,
    kernel: RefCell<Pool>,
}

impl DmaLists {
    /// Room for `few` commands in SRAM, and for `more` at local-bus address `base` in the kernel's memory.
    pub(crate) fn new(base: u32, more: u32, few: u32) -> DmaLists {
        DmaLists {
            sram: RefCell::new(Pool::new(DMA_LIST_BASE, few.min(DMA_LIST_COUNT))),
            kernel: RefCell::new(Pool::new(base, more)),
        }
    }

    /// True if a list of `count` commands fits when there are no others.
    pub(crate) fn can_hold(&self, count: usize) -> bool {
        let most = self.sram.borrow().size.max(self.kernel.borrow().size);
        count <= most as usize
    }

    /// A list of `count` neighbouring commands, if there is room.
    pub(crate) fn alloc(&self, count: usize) -> Option<DmaList> {
        let commands = u32::try_from(count).ok()?;
        let list = |addr, in_sram| DmaList { addr, commands, in_sram };
        if let Some(addr) = self.sram.borrow_mut().alloc(commands) {
            return Some(list(addr, true));
        }
        self.kernel.borrow_mut().alloc(commands).map(|addr| list(addr, false))
    }

    pub(crate) fn free(&self, list: DmaList) {
        let pool = if list.in_sram { &self.sram } else { &self.kernel };
        pool.borrow_mut().release(list.addr, list.commands);
    }
}

/// Writes the commands for `extents` into `list`. The firmware adds what only it knows: peer or stream, the
/// pending's tag, and the flag of the last command.
pub(crate) fn write(cpu: &Cpu, region: &Region, list: DmaList, extents: &[Extent]) {
    if !list.in_sram {
        cpu.spend(cpu.copy_cost(extents.len() as u64 * u64::from(COMMAND)));
    }
    let mut addr = list.addr;
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
        if list.in_sram {
            cpu.mmio_write(addr, &bytes);
        } else {
            region.write_list(addr, &bytes);
        }
        addr += COMMAND;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_back_in_any_order_is_one_piece_again() {
        for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
            let mut pool = Pool::new(0x1000, 6);
            let runs = [1, 2, 3].map(|count| (pool.alloc(count).unwrap(), count));
            assert_eq!(runs.map(|run| run.0), [0x1000, 0x1010, 0x1030]);
            assert_eq!(pool.alloc(1), None);
            for index in order {
                pool.release(runs[index].0, runs[index].1);
            }
            assert_eq!(pool.free, [(0, 6)], "{order:?}");
        }
    }

    #[test]
    fn the_kernel_has_what_sram_has_not() {
        let lists = DmaLists::new(0x8000_0000, 100_000, DMA_LIST_COUNT);
        let first = lists.alloc(1000).unwrap();
        assert_eq!((first.addr, first.count()), (DMA_LIST_BASE, 1000));
        let second = lists.alloc(25).unwrap();
        assert_eq!((second.addr, second.count()), (0x8000_0000, 25));
        assert_eq!(lists.alloc(24).unwrap().addr, DMA_LIST_BASE + 16_000);
        let long = lists.alloc(70_000).unwrap();
        assert_eq!((long.addr, u32::from(long.count())), (0x8000_0190, DMA_COUNT_OPEN));
        assert!(lists.can_hold(100_000) && !lists.can_hold(100_001));
        assert_eq!(lists.alloc(50_000), None);
        lists.free(first);
        assert_eq!(lists.alloc(1000).unwrap().addr, DMA_LIST_BASE);
    }
}
