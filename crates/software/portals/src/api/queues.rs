//! Event queues: what is taken out of them, and how a process waits for it.

use super::{Ni, Polled};
use crate::kernel::{Told, TracePoint};
use crate::library::{EqHandle, Error, Event, Next};
use des::{Duration, Time};

impl Ni {
    /// PtlEQGet: the next event; `EqEmpty` if there is none. Does not enter the kernel.
    pub fn eq_get(&self, eq: EqHandle) -> Result<Next, Error> {
        self.cpu.spend(self.kernel.config.costs.event_get);
        self.kernel.look(&self.cpu, self.slot);
        self.peek(eq)
    }

    fn peek(&self, eq: EqHandle) -> Result<Next, Error> {
        let result = self.with(|interface| interface.eq_get(eq));
        // A look that finds an event half written is no look.
        if result.is_ok() || !self.with(|interface| interface.is_writing(eq)) {
            self.kernel.tell(&self.cpu, || Told::Looked { slot: self.slot.0, eq, result: &result });
        }
        let next = result?;
        self.returned(&next.event);
        if self.kernel.has_refused(self.slot) && self.with(|interface| interface.is_roomy()) {
            self.enter(|| self.kernel.make_room(&self.cpu));
        }
        Ok(next)
    }

    /// PtlEQWait: the next event, when there is one.
    pub fn eq_wait(&self, eq: EqHandle) -> Result<Next, Error> {
        let polled = self.eq_poll(&[eq], None)?;
        Ok(Next { event: polled.event, dropped: polled.dropped })
    }

    /// PtlEQPoll: the next event of the first queue that has one; waits for up to `timeout` (None: for ever)
    /// and then returns `EqEmpty`.
    pub fn eq_poll(&self, eqs: &[EqHandle], timeout: Option<Duration>) -> Result<Polled, Error> {
        let poll = self.cpu.costs().poll_period;
        let deadline = timeout.map_or(Time::NEVER, |timeout| self.cpu.now() + timeout);
        if eqs.is_empty() {
            return Err(Error::EqInvalid);
        }
        loop {
            if self.on_nic.is_some() {
                self.cpu.spend(self.kernel.config.costs.event_get * eqs.len() as u64);
                self.kernel.look(&self.cpu, self.slot);
                self.kernel.look_around(&self.cpu, self.slot);
                if self.has_refused() || self.has_collected() || self.room_came() {
                    return Err(Error::MdNoUpdate);
                }
            }
            for (which, eq) in eqs.iter().enumerate() {
                let got = if self.on_nic.is_some() { self.peek(*eq) } else { self.eq_get(*eq) };
                match got {
                    Ok(Next { event, dropped }) => return Ok(Polled { event, dropped, which }),
                    Err(Error::EqEmpty) => {}
                    Err(error) => return Err(error),
                }
            }
            if self.cpu.now() >= deadline {
                return Err(Error::EqEmpty);
            }
            self.cpu.wait_until(poll, deadline);
        }
    }

    /// Stands for the looks at these queues of a program that looks again and again: lets time pass until the
    /// process is woken, or for so long (None: without a limit), and ends when one of those looks would, with
    /// what that finds.
    pub fn eq_watch(&self, eqs: &[EqHandle], most: Option<Duration>) -> Result<Polled, Error> {
        let deadline = most.map_or(Time::NEVER, |most| self.cpu.now() + most);
        let each = self.kernel.config.costs.event_get * eqs.len() as u64;
        let read = self.on_nic.as_ref().map_or(Duration::ZERO, |user| user.slot_read());
        // Looks may take no time, and a loop of the program does.
        let period = (each + read).max(self.cpu.costs().poll_period);
        self.cpu.wait_until(period, deadline);
        if let Some(user) = &self.on_nic {
            user.drain_now(&self.kernel, &self.cpu);
        }
        for (which, eq) in eqs.iter().enumerate() {
            match self.peek(*eq) {
                Ok(Next { event, dropped }) => return Ok(Polled { event, dropped, which }),
                Err(Error::EqEmpty) => {}
                Err(error) => return Err(error),
            }
        }
        Err(Error::EqEmpty)
    }

    fn returned(&self, event: &Event) {
        self.kernel.mark(&self.cpu, event.message, TracePoint::EventReturned(event.kind));
    }
}
