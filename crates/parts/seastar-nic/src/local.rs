//! Headers that the transmit engine takes from local memory: the firmware sends by itself.

use crate::fabric::Fabric;
use crate::tx::{Piece, Taken, Tx};
use crate::{Event, Ports, TracePoint};
use abi::seastar::PortalsHeader;
use abi::MessageId;
use des::Time;

impl Tx {
    /// A header in local memory: no answer of host memory that was requested before is overtaken. The engine
    /// reads it through a port of its own, as it writes to host memory: the local bus is not booked
    /// (assumed).
    pub(crate) fn take_local(
        &mut self,
        now: Time,
        mut taken: Taken,
        addr: u64,
        fabric: &mut Fabric,
        ports: &mut impl Ports,
    ) {
        let start = self.bytes.len();
        self.bytes.resize(start + PortalsHeader::SIZE, 0);
        taken.error = fabric.sram.read(addr, &mut self.bytes[start..]).is_err();
        taken.id = MessageId::of_header(&self.bytes[start..]).expect("64 bytes were read");
        ports.mark(now, taken.id, TracePoint::HeaderFetched);
        self.taken.push_back(taken);
        let leaves = (now + fabric.plb.unbooked(PortalsHeader::SIZE)).max(self.next_data);
        self.next_data = leaves;
        ports.schedule(leaves, Event::TxAnswer);
        let bytes = PortalsHeader::SIZE as u8;
        self.asked.push_back(Piece { local: true, bytes, ends: 1 });
    }
}
