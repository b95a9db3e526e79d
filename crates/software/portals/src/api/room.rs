//! Room to transmit. A process on the network interface has few pendings for what it sends; without one a
//! call waits, and takes what its event ring has meanwhile: that frees pendings, at both ends. In the kernel
//! what has no pending waits in the driver, and no call does.

use super::Ni;
use des::Time;

impl Ni {
    /// True if a put or get would not wait for a pending. If it would, polls return `MdNoUpdate` once it
    /// would no longer.
    pub fn may_send(&self) -> bool {
        let may = self.on_nic.as_ref().is_none_or(|user| user.may_transmit());
        self.wants_room.set(!may);
        may
    }

    /// True if somebody asked for room in vain, and there is some now.
    pub(super) fn room_came(&self) -> bool {
        self.wants_room.get() && self.may_send()
    }

    /// Waits for a pending.
    pub(super) fn await_room(&self) {
        let Some(user) = &self.on_nic else { return };
        while !user.may_transmit() {
            user.drain(&self.kernel, &self.cpu);
            self.kernel.look_around(&self.cpu, self.slot);
            if !user.may_transmit() {
                self.cpu.wait_until(self.cpu.costs().poll_period, Time::NEVER);
            }
        }
    }

    /// The library above keeps a receive for which this interface has no room.
    pub fn count_kept_receive(&self) {
        self.kernel.count(|counters| counters.receives_kept += 1);
    }

    /// The same of a send.
    pub fn count_kept_send(&self) {
        self.kernel.count(|counters| counters.sends_kept += 1);
    }
}
