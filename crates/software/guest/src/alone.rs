//! A guest by itself: no device, no network, no interrupts.

use crate::{Act, Ending, Guest};

/// Runs the guest: each time that it sleeps for comes at once. Returns its ending, and its clock at that
/// time. `tell` gets each time at which it went on, and may read the program's output.
pub fn alone(guest: &mut Guest, mut tell: impl FnMut(u64, &mut Guest)) -> (Ending, u64) {
    let mut now = 0;
    let mut act = guest.boot();
    loop {
        tell(now, guest);
        act = match act {
            Act::Sleep(u64::MAX) | Act::Watch(u64::MAX, _) => {
                return (Ending::Lost("sleeps for ever: nothing wakes it".into()), now);
            }
            // Nothing stores.
            Act::Sleep(until) | Act::Watch(until, _) => {
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
