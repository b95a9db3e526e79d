//! Packets from firmware to firmware, as a watch shows them.

use abi::packet::{flag, Packet};
use abi::seastar::{control_op, ControlPacket, CAM_ENTRIES};
use des::Time;
use machine::instruments::timeline::{Watch, LANES};

// A message whose packets were lost keeps its lane, and its stream, for ever.
const _: () = assert!(CAM_ENTRIES as usize <= LANES / 2);

/// A packet enters the network here, or leaves it: what firmware tells firmware when something has run out,
/// or in a collective operation, and the message that was refused and comes again.
pub(super) fn show(watch: &mut Watch, at: Time, sent: bool, packet: &Packet) {
    let what = match packet.flags {
        flags if flags & flag::CONTROL != 0 => {
            let Some(control) = ControlPacket::parse(packet.data()) else { return };
            let says = match control.op {
                control_op::TAKEN => "TAKEN",
                control_op::REFUSED => "REFUSED",
                control_op::CALLED => "CALLED",
                control_op::COLLECTIVE => "COLLECTIVE",
                _ => return,
            };
            match sent {
                true => format!("tells node {} {says}", packet.dest),
                false => format!("node {} tells {says}", packet.source),
            }
        }
        flags if flags & flag::RESUMED != 0 && sent => {
            format!("sends node {} again what it refused", packet.dest)
        }
        _ => return,
    };
    watch.beside(at, &what);
}
