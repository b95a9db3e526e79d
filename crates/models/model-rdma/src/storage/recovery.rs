//! Losses. The initiator asks the target after a silence; if something was lost, both cards begin anew, as
//! credits were lost with it, and each side sends again what the other has not got. A command that has come
//! is carried out once, as it has a number: nothing is done twice, and nothing later is overwritten.

use super::errors::ServiceError;
use super::{Storage, COMMAND, COMPLETION};
use block::{Notice, NOTICE_BYTES};
use rank::Connection;

impl<'a> Storage<'a> {
    /// The association's connection.
    pub(super) fn link(&self) -> &Connection<'a> {
        self.link.get().expect("they have associated")
    }

    fn tell(&self, notice: Notice) -> Result<(), ServiceError> {
        Ok(self.link().send(&notice.emit())?)
    }
    fn hear(&self) -> Result<Notice, ServiceError> {
        let bytes = self.link().receive(NOTICE_BYTES);
        Notice::parse(&bytes?).ok_or(ServiceError::Unread)
    }

    // ---- the initiator -----------------------------------------------------------------------------------

    /// Nothing has come for long. If something was lost, it is sent again; false if that has been tried often
    /// enough, and the disk is given up.
    pub(super) fn recover(&self) -> Result<bool, ServiceError> {
        self.tell(Notice::Query)?;
        let Notice::State { come, sent } = self.hear()? else {
            return Err(ServiceError::State);
        };
        if come >= self.sent.get() && sent <= self.come(COMPLETION) {
            return Ok(true); // Disks are slow.
        }
        self.attempts.set(self.attempts.get() + 1);
        if self.attempts.get() > self.disks.retries {
            self.give_up();
            self.offline.set(true);
            return Ok(false);
        }
        let (module, cpu) = (self.library.module(), self.library.cpu());
        module.send_on(cpu, false);
        self.tell(Notice::Stop)?;
        let stopped = self.hear()?;
        self.give_up();
        self.tell(Notice::Begin { come: self.come(COMPLETION) })?;
        let (Notice::Stopped, Notice::Ready { come }) = (stopped, self.hear()?) else {
            return Err(ServiceError::Begin);
        };
        module.send_on(cpu, true);
        self.send_again(come);
        Ok(true)
    }

    /// The card begins anew: all that is in it, and that it waits for, is given up.
    pub(super) fn give_up(&self) {
        self.library.module().restart(self.library.cpu());
        self.library.begins_anew();
    }

    /// The program ends: a card that an error has stopped would never rest.
    pub(super) fn leave(&self) {
        let stopped = || self.library.module().has_stopped(self.library.cpu());
        if self.recovers && (self.library.is_stuck() || stopped()) {
            self.give_up();
        }
    }

    /// The association is over.
    pub(super) fn part(&self) -> Result<(), ServiceError> {
        self.tell(Notice::Bye)
    }

    // ---- the target --------------------------------------------------------------------------------------

    /// True if the initiator asks something.
    pub(super) fn is_asked(&self) -> Result<bool, ServiceError> {
        Ok(self.link().has(NOTICE_BYTES)?)
    }

    /// Does what the initiator asks for, when it does; true if the association is over.
    pub(super) fn serve_notice(&self) -> Result<bool, ServiceError> {
        let (module, cpu) = (self.library.module(), self.library.cpu());
        match self.hear()? {
            Notice::Query => {
                let (come, sent) = (self.come(COMMAND), self.sent.get());
                self.tell(Notice::State { come, sent })?;
            }
            Notice::Stop => {
                module.send_on(cpu, false);
                self.tell(Notice::Stopped)?;
            }
            Notice::Begin { come } => {
                self.give_up();
                module.send_on(cpu, true);
                self.tell(Notice::Ready { come: self.come(COMMAND) })?;
                self.send_again(come);
            }
            Notice::Bye => return Ok(true),
            other => return Err(ServiceError::Notice(other)),
        }
        Ok(false)
    }
}
