//! A guest with nothing around it: no device, no network, nobody who interrupts it.

use crate::{Act, Ending, Guest};

/// Lets it live: whatever it sleeps for comes at once. How it ended, and what its clock showed then. `tell`
/// hears of each time at which it went on, and may look at what the program has written.
pub fn alone(guest: &mut Guest, mut tell: impl FnMut(u64, &mut Guest)) -> (Ending, u64) {
    let mut now = 0;
    let mut act = guest.boot();
    loop {
        tell(now, guest);
        act = match act {
            Act::Sleep(u64::MAX) => {
                return (Ending::Lost("sleeps for ever: nothing wakes it".into()), now);
            }
            Act::Sleep(until) => {
                now = until;
                guest.run(now)
            }
            // As where there is no device: all ones, and nothing happens.
            Act::Load(_, len) => guest.answer(now, &vec![0xff; len]),
            Act::Store(..) => guest.answer(now, &[]),
            Act::End(ending) => return (ending, now),
        };
    }
}
