//! Match bits: what of a message MPI's matching rules look at, packed into the 64 bits that Portals
//! compares.
//!
//! ```text
//! 63      60 59           48 47          32 31            0
//! | protocol | context       | source rank  | tag          |
//! ```
//! The division (4, 12, 16, 32) is that of a published MPI over Portals on the same machine (Open
//! MPI's matching layer for the Cray XT). Wildcards are ignore bits. A posted receive ignores the
//! protocol, so that it matches a message of either protocol in the order of arrival.

use super::{EXPOSED, MESSAGES};
use crate::comm::MAX_COMMUNICATORS;
use crate::constant::{ANY_SOURCE, ANY_TAG};
use crate::transport::Wanted;
use abi::wire::portals_op;

/// Protocol by which the bytes of a message travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    /// Bytes travel with the put itself.
    Eager = 1,
    /// Announced by an empty put ("ready to send"); the receiver fetches them.
    Announced = 2,
    /// Bytes travel with the put itself, which is acknowledged; fetched by the receiver if nothing was
    /// posted for them.
    Long = 3,
}

/// Largest number of ranks that the source field can name.
pub const MAX_RANKS: u32 = 1 << 16;
/// Largest tag.
pub(super) const TAG_UPPER_BOUND: i32 = i32::MAX;

const PROTOCOL_SHIFT: u32 = 60;
const CONTEXT_SHIFT: u32 = 48;
const SOURCE_SHIFT: u32 = 32;
const _: () = assert!(2 * MAX_COMMUNICATORS <= 1 << (PROTOCOL_SHIFT - CONTEXT_SHIFT));
const _: () = assert!(MAX_RANKS <= 1 << (CONTEXT_SHIFT - SOURCE_SHIFT));
/// Ignores every bit but the protocol: the blocks of unexpected messages.
pub(super) const IGNORE_ALL_BUT_PROTOCOL: u64 = (1 << PROTOCOL_SHIFT) - 1;
/// Match bits of the blocks of unexpected messages.
pub(super) const EAGER: u64 = (Protocol::Eager as u64) << PROTOCOL_SHIFT;
/// Match bits of the entry that catches gets of exposed buffers.
pub(super) const FETCHED: u64 = (Protocol::Announced as u64) << PROTOCOL_SHIFT;
/// Ignore bits of that entry: it does not tell the two such protocols apart.
pub(super) const IGNORE_ALL_BUT_FETCHED: u64 = (1 << (PROTOCOL_SHIFT + 1)) - 1;

/// Match bits of one message.
pub(super) fn bits(protocol: Protocol, context: u16, source: u32, tag: i32) -> u64 {
    debug_assert!(context < 1 << 12 && source < MAX_RANKS && tag >= 0);
    (protocol as u64) << PROTOCOL_SHIFT
        | u64::from(context) << CONTEXT_SHIFT
        | u64::from(source) << SOURCE_SHIFT
        | u64::from(tag as u32)
}

/// Rank of the sender in the communicator of the message.
pub(super) fn source_of(bits: u64) -> i32 {
    ((bits >> SOURCE_SHIFT) & 0xffff) as i32
}

/// Tag of the message.
pub(super) fn tag_of(bits: u64) -> i32 {
    bits as u32 as i32
}

/// Protocol by which the bytes of the message travel; messages from other libraries count as eager.
pub(super) fn protocol_of(bits: u64) -> Protocol {
    match bits >> PROTOCOL_SHIFT {
        protocol if protocol == Protocol::Announced as u64 => Protocol::Announced,
        protocol if protocol == Protocol::Long as u64 => Protocol::Long,
        _ => Protocol::Eager,
    }
}

/// Pattern that a receive or a probe accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pattern {
    /// Bits that must agree where `ignore` is 0.
    pub bits: u64,
    /// Bits that do not count.
    pub ignore: u64,
}

impl From<Wanted> for Pattern {
    fn from(Wanted { context, source, tag }: Wanted) -> Pattern {
        let mut ignore = 0xf << PROTOCOL_SHIFT;
        if source == ANY_SOURCE {
            ignore |= 0xffff << SOURCE_SHIFT;
        }
        if tag == ANY_TAG {
            ignore |= 0xffff_ffff;
        }
        let bits = u64::from(context) << CONTEXT_SHIFT
            | (u64::from(source as u32) & 0xffff) << SOURCE_SHIFT
            | u64::from(tag as u32);
        Pattern { bits: bits & !ignore, ignore }
    }
}

impl Pattern {
    /// True if a message with `bits` is accepted.
    pub fn accepts(self, bits: u64) -> bool {
        (self.bits ^ bits) & !self.ignore == 0
    }
}

/// Header data of a message that can be fetched: where its bytes wait, and how many they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Exposed {
    /// Number that names the exposed buffer at the sender.
    pub id: u32,
    /// Bytes of the message.
    pub length: u64,
}

const LENGTH_BITS: u32 = 40;

impl Exposed {
    /// Ids are below this.
    pub const MAX_ID: u32 = 1 << (64 - LENGTH_BITS);

    /// Packs it into header data.
    pub fn pack(self) -> u64 {
        assert!(self.id < Self::MAX_ID && self.length < 1 << LENGTH_BITS, "message too long");
        u64::from(self.id) << LENGTH_BITS | self.length
    }
    /// Unpacks header data.
    pub fn unpack(hdr_data: u64) -> Exposed {
        let id = u32::try_from(hdr_data >> LENGTH_BITS).expect("24 bits fit");
        Exposed { id, length: hdr_data & ((1 << LENGTH_BITS) - 1) }
    }
}

/// The part that a message on the wire has in a rendezvous. Sender and `exposed` together name the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rendezvous {
    /// The sender announces the bytes that wait.
    Announces {
        /// Number of the buffer at the sender.
        exposed: u32,
        /// Bytes of MPI's message.
        bytes: u64,
    },
    /// The sender sends them, and they wait as well: only a receiver that was late fetches them.
    Carries {
        /// Number of the buffer at the sender.
        exposed: u32,
        /// Bytes of MPI's message.
        bytes: u64,
    },
    /// The receiver fetches them.
    Fetches {
        /// Number of the buffer at the sender.
        exposed: u32,
    },
}

/// A Portals request, as far as it tells of a rendezvous.
#[derive(Clone, Copy, Debug)]
pub struct PortalsRequest {
    /// Operation on the wire.
    pub op: u8,
    /// Portal.
    pub pt_index: u32,
    /// Match bits.
    pub match_bits: u64,
    /// Header data.
    pub hdr_data: u64,
    /// Bytes that it carries.
    pub carried: u64,
}

impl Rendezvous {
    /// Rendezvous to which a Portals request of this library belongs; `None` if there is none.
    pub fn of(request: &PortalsRequest) -> Option<Rendezvous> {
        let PortalsRequest { op, pt_index, match_bits, hdr_data, carried } = *request;
        let exposed = || u32::try_from(match_bits).ok();
        match (op, pt_index) {
            (portals_op::PUT, MESSAGES) => {
                let Exposed { id: exposed, length: bytes } = Exposed::unpack(hdr_data);
                match protocol_of(match_bits) {
                    Protocol::Announced if carried == 0 => {
                        Some(Rendezvous::Announces { exposed, bytes })
                    }
                    Protocol::Long if carried == bytes => {
                        Some(Rendezvous::Carries { exposed, bytes })
                    }
                    _ => None,
                }
            }
            (portals_op::GET, EXPOSED) => Some(Rendezvous::Fetches { exposed: exposed()? }),
            _ => None,
        }
    }
}

/// True if a message with these bits is a part of a collective operation: its communicator's second context.
pub fn is_collective(bits: u64) -> bool {
    bits >> CONTEXT_SHIFT & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_rendezvous_are_told_from_other_messages() {
        let (put, bits) = (portals_op::PUT, |protocol| bits(protocol, 1, 2, 3));
        let hdr_data = Exposed { id: 7, length: 1 << 20 }.pack();
        let request = |op, pt_index, match_bits, carried| {
            Rendezvous::of(&PortalsRequest { op, pt_index, match_bits, hdr_data, carried })
        };
        let of = |protocol, carried| request(put, MESSAGES, bits(protocol), carried);
        let (exposed, bytes) = (7, 1 << 20);
        assert_eq!(of(Protocol::Announced, 0), Some(Rendezvous::Announces { exposed, bytes }));
        assert_eq!(of(Protocol::Long, bytes), Some(Rendezvous::Carries { exposed, bytes }));
        let others = [(Protocol::Eager, 0), (Protocol::Announced, 1), (Protocol::Long, bytes / 2)];
        assert_eq!(others.map(|(protocol, carried)| of(protocol, carried)), [None, None, None]);
        let elsewhere = request(put, 9, bits(Protocol::Announced), 0);
        assert_eq!(elsewhere, None);
        let get = request(portals_op::GET, EXPOSED, 7, 1 << 20);
        assert_eq!(get, Some(Rendezvous::Fetches { exposed: 7 }));
        assert_eq!(request(portals_op::REPLY, EXPOSED, 7, 1 << 20), None);
    }

    #[test]
    fn collectives_have_the_second_context() {
        let eager = |context| bits(Protocol::Eager, context, 2, 3);
        assert_eq!([4, 5].map(|context| is_collective(eager(context))), [false, true]);
    }

    #[test]
    fn bits_name_source_and_tag() {
        let b = bits(Protocol::Announced, 0xabc, 0xfffe, i32::MAX);
        assert_eq!(b, 0x2abc_fffe_7fff_ffff);
        assert_eq!((source_of(b), tag_of(b)), (0xfffe, i32::MAX));
    }

    #[test]
    fn the_empty_entry_catches_what_is_fetched_and_nothing_else() {
        let caught = |bits: u64| (bits ^ FETCHED) & !IGNORE_ALL_BUT_FETCHED == 0;
        let protocols = [Protocol::Eager, Protocol::Announced, Protocol::Long];
        let all = protocols.map(|protocol| bits(protocol, 0xabc, 0xfffe, i32::MAX));
        assert_eq!(all.map(caught), [false, true, true]);
        assert_eq!(all.map(protocol_of), protocols);
    }

    #[test]
    fn wildcards_ignore_their_field_only() {
        let message = bits(Protocol::Eager, 4, 7, 9);
        for (context, source, tag, accepted) in [
            (4, 7, 9, true),
            (4, ANY_SOURCE, 9, true),
            (4, 7, ANY_TAG, true),
            (4, ANY_SOURCE, ANY_TAG, true),
            (5, ANY_SOURCE, ANY_TAG, false),
            (4, 6, ANY_TAG, false),
            (4, ANY_SOURCE, 8, false),
        ] {
            let pattern = Pattern::from(Wanted { context, source, tag });
            assert_eq!(pattern.accepts(message), accepted, "{context} {source} {tag}");
        }
    }

    #[test]
    fn exposed_buffers_survive_the_header_data() {
        let a = Exposed { id: Exposed::MAX_ID - 1, length: (1 << 40) - 1 };
        assert_eq!(Exposed::unpack(a.pack()), a);
    }
}
