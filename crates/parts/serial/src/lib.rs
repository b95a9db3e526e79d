//! Serial lanes that carry 64-bit words: the links between the NICs of marazakis2006, and their crossbar.
//!
//! ```text
//! Word ─► LinkTx ─► Channel (transceivers, cable, clock correction) ─► LinkRx ─► Word
//!          bytes      one a lane; behavioural: nothing is            Aligner and synchronisation
//!          dealt      serialised                                     FIFO a lane
//! ```
//!
//! [`LinkTx`] and [`LinkRx`] are clocked logic that exists as RTL, too. [`Channel`] is a model of the
//! transceivers: it moves words of four bytes in time, and knows neither bits nor the 8b/10b code.

#![forbid(unsafe_code)]

mod align;
mod bond;
mod channel;
mod crc;
mod lanes;
mod shift;
mod symbol;

pub use align::Aligner;
pub use bond::{LinkRx, LinkTx, SYNC_DEPTH};
pub use channel::{Channel, ChannelParams, Elastic, Fault, LaneBug};
pub use crc::{crc16, crc32};
pub use lanes::{are_idle, is_count, lane, lane_bytes, set_lane, Symbols};
pub use shift::Shifter;
pub use symbol::{Credit, Symbol, Word};
