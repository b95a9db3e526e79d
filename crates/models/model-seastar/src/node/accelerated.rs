//! Words that the firmware stores into the event rings of accelerated processes.

use super::local_bus::LocalBus;
use abi::seastar::PortalsHeader;
use des::Time;

impl LocalBus<'_> {
    /// The processor has loaded `length` bytes from `addr`: with the match bits of a header its search
    /// begins.
    #[inline(always)]
    pub(super) fn tell_load(
        &mut self,
        addr: u64,
        length: usize,
        read: &Result<Time, bus::BusError>,
    ) {
        if let (Some(rings), Ok(at)) = (&self.around.chipset.rings, read)
            && let Some(header) = portals::seastar::Rings::header_in(addr, length)
        {
            rings.loaded(*at, header, length);
        }
    }

    /// The processor is about to store to `addr`: the judge needs what an atomic operation finds.
    #[inline(always)]
    pub(super) fn tell_store(&mut self, addr: u64, length: usize) {
        if self.around.chipset.rings.is_some() && self.around.ports.judge().is_some() {
            self.tell_overwritten(addr, length);
        }
    }
    #[cold]
    fn tell_overwritten(&mut self, addr: u64, length: usize) {
        let LocalBus { nic, around, .. } = self;
        let Some(rings) = around.chipset.rings.clone() else { return };
        let Some(phys) = nic.own_window(addr) else { return };
        let mut found = vec![0; length];
        nic.host_look(phys, &mut found, around);
        rings.overwritten(phys, found);
    }

    /// The processor has stored to `addr`: journal and judge are told what an event word announces.
    #[inline(always)]
    pub(super) fn tell_rings(&mut self, at: Time, addr: u64, data: &[u8]) {
        if self.around.chipset.rings.is_some() {
            self.tell_word(at, addr, data);
        }
    }
    #[cold]
    fn tell_word(&mut self, at: Time, addr: u64, data: &[u8]) {
        let Some(rings) = self.around.chipset.rings.clone() else { return };
        if !rings.holds(addr) {
            return;
        }
        let LocalBus { nic, around, .. } = self;
        let mut header = [0; PortalsHeader::SIZE];
        if let Some(addr) = rings.header() {
            nic.plb_peek(addr, &mut header, around);
        }
        let header = PortalsHeader::parse(&header).expect("its size");
        for (index, word) in data.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
            let addr = addr + 4 * index as u64;
            let look = &mut |phys, buf: &mut [u8]| nic.host_look(phys, buf, around);
            rings.stores(at, addr, word, &header, look);
            if let Some(phys) = nic.window(addr) {
                around.ports.journal().announces_at(phys);
            }
        }
    }
}
