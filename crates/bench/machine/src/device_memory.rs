//! The host's memory as its devices reach it, and observers around it.
//!
//! A node's ports have one [`DeviceMemory`] and ask nobody: which observers are around the memory is chosen
//! when the node is assembled (decision 0111).

use crate::instruments::journal::Journal;
use crate::judge::Adapter;
use bus::BusError;
use host::SharedMemory;
use std::rc::Rc;

/// Memory as a device reaches it, by physical addresses.
pub trait DeviceMemory {
    /// Reads `buf.len()` bytes; an error if there is no memory.
    fn read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError>;
    /// Writes bytes; an error if there is no memory.
    fn write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError>;
}

/// The memory itself.
impl DeviceMemory for SharedMemory {
    fn read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.borrow_mut().read_phys(phys, buf)
    }
    fn write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.borrow_mut().write_phys(phys, data)
    }
}

/// Memory with the judge of Portals beside it, who hears of each access.
struct Judged {
    memory: SharedMemory,
    judge: Rc<Adapter>,
}

impl DeviceMemory for Judged {
    fn read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        let read = self.memory.read(phys, buf);
        self.judge.device(phys, buf.len(), read.is_ok().then_some(&*buf), false);
        read
    }
    fn write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.judge.device(phys, data.len(), Some(data), true);
        self.memory.write(phys, data)
    }
}

/// Memory with the observers of the node's time line, who hear of each write.
struct Watched {
    memory: Box<dyn DeviceMemory>,
    journal: Rc<Journal>,
}

impl DeviceMemory for Watched {
    fn read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.memory.read(phys, buf)
    }
    fn write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.journal.watch(|watch| watch.host_written(phys));
        self.memory.write(phys, data)
    }
}

/// The memory of a host for a device of it, with the judge if there is one.
pub fn judged(memory: &SharedMemory, judge: Option<&Rc<Adapter>>) -> Box<dyn DeviceMemory> {
    let memory = memory.clone();
    match judge.cloned() {
        Some(judge) => Box::new(Judged { memory, judge }),
        None => Box::new(memory),
    }
}

/// The same memory, with the observers of the node's time line.
pub fn watched(memory: Box<dyn DeviceMemory>, journal: Rc<Journal>) -> Box<dyn DeviceMemory> {
    Box::new(Watched { memory, journal })
}
