//! The buffered crossbar between the NICs of marazakis2006 (s2.3), cycle by cycle as `rtl/crossbar`.
//!
//! ```text
//!  LinkRx ─► input 0 ─► [0,0] [0,1] ... [0,7]      a buffer at each crosspoint, told of by credits
//!  LinkRx ─► input 1 ─► [1,0] [1,1] ... [1,7]      to the card at its input
//!                         │     │         │
//!                       output output   output      takes from its column in turn, packet by packet, as soon
//!                         0     1         7         as a header is there and the card behind it has space
//! ```
//!
//! Packets have any size and are never cut up. [`Crossbar`] is the inside, which handles 64-bit words;
//! [`Switch`] has the lanes around it.

#![forbid(unsafe_code)]

mod core_cycles;
mod input;
mod output;
mod params;
mod point;
mod switch;

pub use core_cycles::{Counters, Crossbar};
pub use params::{Params, PORTS_MAX};
pub use point::Forwarding;
pub use switch::Switch;
