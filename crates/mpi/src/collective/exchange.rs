//! Messages within a collective operation.

use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::items::Items;
use crate::process::Process;
use crate::request::RequestId;
use crate::transport::{Envelope, Mode};
use crate::wait::Whose;

/// Tag of all messages of collectives: their order says which is which.
const TAG: i32 = 0;

fn envelope(comm: CommId, peer: u32) -> Envelope {
    Envelope { comm, collective: true, peer: peer as i32, tag: TAG }
}

impl Process {
    /// Sends `(va, bytes)` to rank `to`.
    pub(crate) fn tell(&mut self, comm: CommId, to: u32, data: (u64, u64)) -> Result<()> {
        let id = self.start_send(envelope(comm, to), data, None, Mode::Standard)?;
        self.finish(id, Whose::Own).map(|_| ())
    }

    /// Receives exactly `(va, bytes)` from rank `from`.
    pub(crate) fn hear(&mut self, comm: CommId, from: u32, data: (u64, u64)) -> Result<()> {
        let id = self.start_receive(envelope(comm, from), data, None)?;
        self.heard(id, from, data.1)
    }

    /// Sends to one and receives from another at the same time.
    pub(crate) fn swap(
        &mut self,
        comm: CommId,
        (to, out): (u32, (u64, u64)),
        (from, into): (u32, (u64, u64)),
    ) -> Result<()> {
        let incoming = self.start_receive(envelope(comm, from), into, None)?;
        let outgoing = self.start_send(envelope(comm, to), out, None, Mode::Standard)?;
        self.heard(incoming, from, into.1)?;
        self.finish(outgoing, Whose::Own).map(|_| ())
    }

    fn heard(&mut self, id: RequestId, from: u32, bytes: u64) -> Result<()> {
        let status = self.finish(id, Whose::Own)?;
        if status.bytes == bytes {
            return Ok(());
        }
        let got = status.bytes;
        let text = format!("rank {from} contributes {got} bytes where {bytes} are expected");
        Err(Error::new(constant::ERR_COUNT, text))
    }

    /// Sends items to rank `to`.
    pub(crate) fn tell_items(&mut self, comm: CommId, to: u32, items: &Items) -> Result<RequestId> {
        self.send_items(envelope(comm, to), items, Mode::Standard)
    }

    /// Receives items from rank `from`.
    pub(crate) fn hear_items(
        &mut self,
        comm: CommId,
        from: u32,
        items: &Items,
    ) -> Result<RequestId> {
        self.receive_items(envelope(comm, from), items)
    }

    /// Waits for requests of `tell_items` and `hear_items`.
    pub(crate) fn finish_all(&mut self, ids: &[RequestId]) -> Result<()> {
        self.wait_all(ids, Whose::Own);
        let mut result = Ok(());
        for &id in ids {
            result = result.and(self.take(id).1);
        }
        result
    }
}
