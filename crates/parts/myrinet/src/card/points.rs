//! Points of a packet's way through the card, for observers.

use super::chip::Chip;
use super::Card;
use des::Time;

/// A point that a packet passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The control program has requested the sending of a packet, to its end.
    Asked,
    /// A packet is in the receive buffer, or is not good.
    Received {
        /// Its bytes there.
        bytes: u32,
        /// Its CRCs are right, and it has found room.
        good: bool,
    },
    /// A packet was lost to its end, because the processor was reset.
    Discarded,
    /// The control program has signalled the host.
    Signalled {
        /// Length in the first block of DMA chain 1 at that time.
        announced: u32,
    },
    /// DMA chain 0 was started.
    Fetches,
    /// DMA chain 1 was started.
    Started,
    /// A DMA block is complete.
    Moved,
    /// The control program has seen that a DMA block is complete.
    Released,
    /// So many bytes are in the slack buffer.
    Held(u32),
}

/// Points passed since the last look; none are kept if nobody looks.
#[derive(Debug, Default)]
pub(super) struct Points {
    wanted: bool,
    passed: Vec<(Time, Point)>,
    held: u32,
}

impl Points {
    #[inline]
    pub fn pass(&mut self, at: Time, point: Point) {
        if self.wanted {
            self.passed.push((at, point));
        }
    }
}

impl Chip {
    /// The slack buffer may hold more or less than before.
    pub fn tell_held(&mut self, now: Time) {
        let held = self.receive.held();
        if std::mem::replace(&mut self.points.held, held) != held {
            self.points.pass(now, Point::Held(held));
        }
    }

    /// Starts DMA chains, a bit each.
    pub fn start_dma(&mut self, now: Time, chains: u32) {
        if chains & 1 != 0 {
            self.points.pass(now, Point::Fetches);
        }
        if chains & 2 != 0 {
            self.points.pass(now, Point::Started);
        }
        self.dma.start(now, chains);
    }
}

impl Card {
    /// Records points from now on, for [`Card::take_points`].
    pub fn watch_points(&mut self) {
        self.chip.points.wanted = true;
    }

    /// Gives what has happened since, in order of time, and takes back an empty list for what comes.
    pub fn take_points(&mut self, passed: &mut Vec<(Time, Point)>) {
        debug_assert!(passed.is_empty());
        std::mem::swap(passed, &mut self.chip.points.passed);
    }
}
