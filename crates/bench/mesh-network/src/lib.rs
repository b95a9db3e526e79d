//! A mesh or torus between network interfaces of any kind: its parameters, its links, and a port at each node
//! through which a network interface sends whole messages.
//!
//! ```text
//!  network interface ── message ─► Port: packets, CRC ─► mesh::Router ─► neighbours' routers
//!          ▲                                                  │
//!          └────────── message ── assembled, CRC ◄── packet buffers
//! ```
//!
//! | module | what |
//! |---|---|
//! | `settings` | parameters, the topology, links of a run |
//! | `port` | a router with the engines at both of its ends |
//! | `router` | a router's counters and links, in the bench's words |
//! | `packets` | messages cut into packets, and put together again |
//! | `node` | the port on a node of the bench |
//! | `books` | the balance of all ports of a run |
//!
//! A packet has one flit of 8 bytes as its header: destination, source, flags, size, number of the message
//! (`abi/seastar`, `packet_header`). Up to 64 bytes of payload follow, 8 a flit, and in the last packet of a
//! message one flit with its CRC ([`abi::packet::Packet::flits`]). What a network interface has of its own
//! before a message, such as a header of its own, is payload here.

#![forbid(unsafe_code)]

mod books;
mod node;
mod packets;
mod port;
mod router;
mod settings;

pub use books::{balance, Left};
pub use node::OfNode;
pub use packets::{Message, Told};
pub use port::{Event, Outgoing, Port, Ports};
pub use router::{counters, describe, links};
pub use settings::{Network, NetworkError, Room, Routers, ROWS};
