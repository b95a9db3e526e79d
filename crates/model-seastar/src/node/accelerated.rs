//! Words that the firmware stores into the event rings of accelerated processes.

use super::local_bus::LocalBus;
use super::*;

impl Node {
    /// Words have come into rings: whoever waits there looks. False if none has.
    #[inline(always)]
    pub(super) fn wake_accelerated(&mut self, now: Time) -> bool {
        let woken = self.seam.rings.as_ref().is_some_and(|rings| rings.take_woken());
        if woken {
            let Node { host, seam, .. } = self;
            host.attend(now, seam);
        }
        woken
    }
}

impl LocalBus<'_> {
    /// The processor has stored to `addr`: journal and judge are told of what an event word tells of.
    #[inline(always)]
    pub(super) fn tell_rings(&mut self, at: Time, addr: u64, data: &[u8]) {
        if self.seam.rings.is_some() {
            self.tell_word(at, addr, data);
        }
    }
    #[cold]
    fn tell_word(&mut self, at: Time, addr: u64, data: &[u8]) {
        let Some(rings) = self.seam.rings.clone().filter(|rings| rings.holds(addr)) else { return };
        let LocalBus { nic, seam, .. } = self;
        for (index, word) in data.chunks_exact(4).enumerate() {
            let word = u32::from_le_bytes(word.try_into().expect("four bytes"));
            let place = (addr + 4 * index as u64, word);
            rings.posted(at, place, &mut |phys, buf| nic.host_look(phys, buf, *seam));
        }
    }
}
