//! Myrinet: the card around a LANai, its links, and switches.
//!
//! ```text
//!  host ──host_read, host_write──► Card ══ link ══► Switch ══ link ══► Card
//!   ▲                              │ SRAM, registers, DMA, send, receive
//!   └───────Host (DMA, interrupt)──┘ └ lanai::Core executes firmware/lanai
//! ```
//!
//! | module | what |
//! |---|---|
//! | `crc` | the CRC-8 of every link, the CRC-32 of card to card |
//! | `link` | slots, STOP and GO, the sending end; how much slack a cable wants |
//! | `slack` | the receiving end's buffer |
//! | `pulse` | heartbeat: a cable that goes silent is noticed |
//! | `switch` | source routing: a byte taken off, the CRC-8 made anew, cut-through |
//! | `routes` | which links wait for which; cyclic routes are named as deadlock |
//! | `card` | the card: `registers`, `dma`, `send`, `receive`, `host`; `points` of a packet's way |
//! | `mutant` | bugs for the tests to find |
//!
//! Cards and switches are passive: they are called with the time, act through [`Wires`] and [`Host`], and
//! say when they act next by themselves. A signal on a cable takes at least its delay, which is the
//! lookahead of a bench.
//!
//! # A packet
//!
//! Route bytes (one a switch, upper bit set, the lower six how many ports further the output is), the
//! bytes that were asked to be sent, a CRC-32 of them if the card is told so, and a CRC-8 of all that is
//! before it. A switch takes its route byte off the front and makes the CRC-8 anew, such that a wrong one
//! stays wrong.
//!
//! # A link
//!
//! Eight bytes at a time (a slot). The receiving end has a slack buffer; when it fills it sends STOP, when
//! it has emptied GO. Bytes on their way in the meantime must find room: [`Params::slack`] says how much a
//! cable wants, and no pattern of traffic overflows it (`tests/whole/links.rs`). There is no other loss: a
//! packet that cannot go on stops, over all links that it is on. So cyclic routes can wait for one
//! another for ever: [`check_routes`] names them.
//!
//! # Tests
//!
//! `tests/whole/links.rs` has conservation and slack for cables of any length, `tests/whole/card.rs` the
//! card, by its registers, `tests/whole/pingpong.rs` two cards with the real control program over a switch,
//! `tests/whole/mutants.rs` the bugs that these find.

#![forbid(unsafe_code)]

mod card;
mod crc;
mod link;
mod mutant;
mod pulse;
mod routes;
mod slack;
mod switch;

pub use card::{Card, CardParams, Counters, Host, Point, Stopped};
pub use crc::{crc32, crc8};
pub use link::{Params, ParamsError, Signal, Slot, Wires};
pub use mutant::{set_mutant, Mutant};
pub use routes::{check_routes, Deadlock, End, Topology};
pub use switch::{Switch, SwitchCounters, SwitchParams};
