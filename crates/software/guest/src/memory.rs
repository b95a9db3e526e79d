//! Memory of a guest, as its device sees it.

use crate::sys::Mapping;
use bus::BusError;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

/// Part of a guest's memory, as the guest describes it.
struct Region {
    /// Physical address of its first byte.
    base: u64,
    mapping: Mapping,
    /// Offset of that byte in the mapping.
    offset: usize,
}

/// Address to which a device stores the data of a message-signalled interrupt: the kernel's driver of the bus
/// gives it to all devices. There is no memory at it.
pub const MESSAGES: u64 = 0xA_0000;

/// A guest's memory, by physical addresses. It is empty until its kernel has set up its device.
#[derive(Clone, Default)]
pub struct GuestMemory(Rc<Shared>);

#[derive(Default)]
struct Shared {
    regions: RefCell<Vec<Region>>,
    /// Message-signalled interrupts of which the guest has not been told.
    messages: RefCell<VecDeque<u32>>,
    /// Address of the word whose next change is awaited, and who is told of it.
    watched: Cell<Option<u64>>,
    watcher: RefCell<Option<Box<dyn Fn()>>>,
}

impl GuestMemory {
    /// Drops all regions: the guest describes its memory anew.
    pub(crate) fn clear(&self) {
        self.0.regions.borrow_mut().clear();
    }
    pub(crate) fn add(&self, base: u64, mapping: Mapping, offset: usize) {
        self.0.regions.borrow_mut().push(Region { base, mapping, offset });
    }
    /// Sets who is told of a change that is awaited.
    pub fn set_watcher(&self, watcher: impl Fn() + 'static) {
        *self.0.watcher.borrow_mut() = Some(Box::new(watcher));
    }
    /// Awaits the device's next store into the word there, or none any more. True if one was awaited, and has
    /// not come.
    pub fn watch(&self, word: Option<u64>) -> bool {
        self.0.watched.replace(word).is_some()
    }
    fn find<R>(
        &self,
        addr: u64,
        len: usize,
        write: bool,
        act: impl FnOnce(&Mapping, usize) -> R,
    ) -> Result<R, BusError> {
        let regions = self.0.regions.borrow();
        let found = regions.iter().find_map(|region| {
            let at = usize::try_from(addr.checked_sub(region.base)?).ok()?;
            let start = region.offset.checked_add(at)?;
            let fits = start.checked_add(len)? <= region.mapping.len();
            fits.then_some((&region.mapping, start))
        });
        let why = "the guest has no memory there that a device can reach";
        let (mapping, start) = found.ok_or(BusError { addr, len, write, why })?;
        Ok(act(mapping, start))
    }
    /// Fills `buf` from physical address `addr` on.
    pub fn read(&self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.find(addr, buf.len(), false, |mapping, at| mapping.read(at, buf))
    }
    /// Stores `data` at physical address `addr`.
    pub fn write(&self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        if addr == MESSAGES {
            let data = data.iter().rev().fold(0, |word, byte| word << 8 | u32::from(*byte));
            self.0.messages.borrow_mut().push_back(data);
            return Ok(());
        }
        self.find(addr, data.len(), true, |mapping, at| mapping.write(at, data))?;
        let is_hit = |word: &u64| addr < word.saturating_add(4) && *word < addr + data.len() as u64;
        if self.0.watched.get().as_ref().is_some_and(is_hit) {
            self.0.watched.set(None);
            if let Some(watcher) = &*self.0.watcher.borrow() {
                watcher();
            }
        }
        Ok(())
    }
    /// The oldest message-signalled interrupt of which the guest has not been told.
    pub fn take_message(&self) -> Option<u32> {
        self.0.messages.borrow_mut().pop_front()
    }
    pub(crate) fn u16(&self, addr: u64) -> Result<u16, BusError> {
        let mut bytes = [0; 2];
        self.read(addr, &mut bytes)?;
        Ok(u16::from_le_bytes(bytes))
    }
}
