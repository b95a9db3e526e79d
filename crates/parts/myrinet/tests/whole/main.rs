//! Myrinet on a bench.
//!
//! | module | what |
//! |---|---|
//! | `bench` | cards, switches, senders and sinks, joined by cables; hosts that a test plays |
//! | `crossbar`, `links` | switches without cards: conservation, slack, deadlock |
//! | `card` | the card by its registers |
//! | `beats` | heartbeat |
//! | `story`, `pingpong` | cards with the real control program |
//! | `trouble` | what goes wrong |
//! | `mutants` | the bugs that the others find |
#![allow(clippy::unwrap_used)]

mod beats;
mod bench;
mod card;
mod crossbar;
mod links;
#[cfg(debug_assertions)]
mod mutants;
mod pingpong;
mod story;
mod trouble;
