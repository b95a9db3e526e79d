//! Operations that Portals reports as failed.

use crate::constant;
use crate::error::Error;
use crate::process::Process;
use crate::request::Owner;

impl Process {
    /// The network lost or damaged bytes: the operation ends with an error.
    pub(crate) fn failed(&mut self, owner: Owner) {
        match owner {
            Owner::Request(id) => {
                if let Some(request) = self.requests.find(id) {
                    request.error = Some(damaged());
                }
            }
            Owner::Copy(_) => {
                // The program was told long ago that this send is over.
                let rank = self.world.rank;
                self.cpu.fault(format!("rank {rank}: a message that was sent did not leave"))
            }
            // The message's receive will hear of it.
            Owner::Block(_) | Owner::Announcements => {}
        }
    }
}

pub(crate) fn damaged() -> Error {
    let text = "the network lost or damaged the message (Portals reports a failed transfer)";
    Error::new(constant::ERR_OTHER, text)
}
