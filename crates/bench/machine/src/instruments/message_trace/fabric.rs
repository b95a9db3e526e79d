//! Long messages of the libfabric provider, which are announced and fetched as MPI's are.

use abi::rank::{FABRIC_LONG, FABRIC_PLACES, FABRIC_PLACE_SHIFT};
use abi::wire::portals_op;
use mpi::{PortalsRequest, Rendezvous};

/// Header data of a put that announces one.
const LONG: u64 = 1 << 63;

/// Rendezvous to which a request of the provider belongs; `None` if there is none.
pub(super) fn rendezvous_of(request: &PortalsRequest) -> Option<Rendezvous> {
    let PortalsRequest { op, pt_index, match_bits, hdr_data, carried } = *request;
    let places = u64::from(FABRIC_PLACES);
    match op {
        portals_op::PUT if hdr_data & LONG != 0 && carried == 0 => {
            let exposed = (hdr_data >> FABRIC_PLACE_SHIFT & (places - 1)) as u32;
            Some(Rendezvous::Announces { exposed, bytes: hdr_data & u64::from(u32::MAX) })
        }
        portals_op::GET if pt_index == FABRIC_LONG && match_bits < places => {
            Some(Rendezvous::Fetches { exposed: match_bits as u32 })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_messages_are_announced_and_fetched() {
        let put = PortalsRequest {
            op: portals_op::PUT,
            pt_index: 61,
            match_bits: 5,
            hdr_data: LONG | 7 << FABRIC_PLACE_SHIFT | 1 << 20,
            carried: 0,
        };
        let announced = Rendezvous::Announces { exposed: 7, bytes: 1 << 20 };
        assert_eq!(rendezvous_of(&put), Some(announced));
        assert_eq!(rendezvous_of(&PortalsRequest { hdr_data: 9, ..put }), None);
        let get =
            PortalsRequest { op: portals_op::GET, pt_index: FABRIC_LONG, match_bits: 7, ..put };
        assert_eq!(rendezvous_of(&get), Some(Rendezvous::Fetches { exposed: 7 }));
        let word = PortalsRequest { match_bits: FABRIC_PLACES.into(), ..get };
        assert_eq!(rendezvous_of(&word), None, "a data word is another get");
        assert_eq!(rendezvous_of(&PortalsRequest { pt_index: 63, ..get }), None);
    }
}
