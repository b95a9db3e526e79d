//! Fast Ethernet (IEEE 802.3u): adapters with the registers of Realtek's RTL8139, links of 100 Mb/s, and a
//! switch that stores frames and forwards them.
//!
//! ```text
//!  driver ── registers ──► adapter: slots ─ DMA ─► wire ══ switch ══ wire ─► adapter: ring in memory
//! ```
//!
//! Both are passive: they are called with the time, and return the frames that leave them with their times.

#![forbid(unsafe_code)]

mod adapter;
mod eeprom;
mod frame;
mod registers;
mod switch;

pub use adapter::{Adapter, AdapterCounters, AdapterParams, Board};
pub use frame::{Address, Frame, Wire};
pub use registers::{register, REGION};
pub use switch::{Switch, SwitchCounters, SwitchParams};
