//! Progress of the firmware, and detection that it does nothing until something reaches it.

use des::Time;

/// State of the firmware as the node knows it. Fields used in each event come first.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Progress {
    /// Turns of the firmware's main loop since anything reached it or it did anything that others can see.
    pub idle_turns: u32,
    /// The processor does nothing but poll until something reaches it, as [`ppc440::Core::is_waiting`] told
    /// after it last ran.
    pub waits: bool,
    /// The firmware has stopped the node itself: its processor runs in a loop that does nothing.
    pub halted: bool,
    /// All turns since the boot, and until when the last one's heartbeat took.
    pub turns: u64,
    pub beat: Time,
    /// Time of the firmware's last action that others can see.
    pub acted: Time,
    /// The firmware stopped the node for an exception: when, and its vector offset.
    pub exception: Option<(Time, u32)>,
}

/// The firmware idles once it has turned this often with nothing to see from outside. A turn polls everything
/// that can move it, and of two turns at least one began after the last stimulus; the heartbeat of the turn
/// before both may come late, having been gathered. A firmware that acts by itself (a timer) would break this
/// rule, loudly: what it sends would come too early for the window that it falls into.
pub(crate) const IDLE_TURNS: u32 = 3;

impl Progress {
    /// Something happened that the firmware may see.
    pub fn stimulated(&mut self) {
        self.idle_turns = 0;
    }

    /// The firmware has come round its main loop so often; of reads and writes the bus was free then.
    pub fn beats(&mut self, turns: u64, [_, written]: [Time; 2]) {
        let idle = u32::try_from(turns).unwrap_or(u32::MAX);
        self.idle_turns = self.idle_turns.saturating_add(idle);
        self.turns += turns;
        self.beat = written;
    }

    /// True if the firmware does nothing until something reaches it.
    pub fn idles(&self) -> bool {
        self.waits || self.idle_turns >= IDLE_TURNS
    }
}
