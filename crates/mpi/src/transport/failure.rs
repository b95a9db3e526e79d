//! Operations that Portals reports as failed.

use crate::constant;
use crate::error::Error;
use crate::process::Process;
use crate::request::{Direction, Owner, RequestId};

impl Process {
    /// The network lost or damaged bytes, or never had them: the operation ends with an error.
    pub(crate) fn failed(&mut self, owner: Owner) {
        match owner {
            Owner::Request(id) => {
                let Some(request) = self.requests.find(id) else { return };
                if request.direction == Direction::Send {
                    return self.unsendable(id);
                }
                let (va, length) = (request.va, request.length);
                let error = self.look_at_buffer(va, length).err().unwrap_or_else(damaged);
                self.requests.get_mut(id).error = Some(error);
            }
            Owner::Copy(_) => {
                // The program was told long ago that this send is over.
                let rank = self.world.rank;
                self.cpu.fault(format!("rank {rank}: a message that was sent did not leave"))
            }
            // The message's receive will hear of it.
            Owner::Block(_) | Owner::Catcher => {}
        }
    }

    /// A send's bytes have not left, and its receiver hears so, too. But this process may wait for an answer
    /// before it looks at its send: where nobody handles errors here, the run ends now.
    fn unsendable(&mut self, id: RequestId) {
        let request = self.requests.get(id);
        let (comm, inner) = (self.comms.get(request.comm), request.collective);
        let name = comm.as_ref().map_or("a freed communicator", |comm| &*comm.name);
        let text = format!(
            "{} bytes for rank {} of {name} were not sent: Portals reports a failed transfer \
             (PTL_NI_FAIL); their memory is gone, or is in more pieces than the kernel has DMA commands for \
             (linux.list_commands)",
            request.length, request.peer,
        );
        if inner || comm.is_ok_and(|comm| comm.on_error.is_fatal()) {
            self.cpu.fault(format!("rank {}: {}: {text}", self.world.rank, self.function));
        }
        self.requests.get_mut(id).error = Some(Error::new(constant::ERR_OTHER, text));
    }
}

pub(crate) fn damaged() -> Error {
    let text = "the network lost or damaged the message, its sender could not read it, or its \
                buffer may not be written (Portals reports a failed transfer)";
    Error::new(constant::ERR_OTHER, text)
}
