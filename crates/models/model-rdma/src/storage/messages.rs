//! Messages of the queues, which stand there until they are taken.

use super::errors::ServiceError;
use super::{Command, Completion, Operation, Storage, COMMAND, COMPLETION, DEPTH, SECTOR};
use crate::library::{Awaited, Buffer, Queued};
use crate::memory::{set_word, word, PAGE};
use crate::module::Flag;
use abi::MessageId;
use block::is_whole;
use des::Time;

/// Looks for a message that no interrupt has told of, where nothing is sent again.
const LOOKS_MAX: u32 = 200;

/// A message with the data that go before it, as it can be posted again: its words stand in their page, and
/// its data in their buffer, until it is answered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Posted {
    what: Queued,
    size: u64,
    /// Buffer of the data, and their bytes.
    slot: u64,
    bytes: u64,
}

/// End of a wait for a message.
pub(super) enum Come {
    /// Its words and its name.
    Message(Vec<u64>, Option<MessageId>),
    /// It has not come in time, or bits of it are wrong.
    Nothing,
}

impl Storage<'_> {
    /// Turn of the queue in which message `number` stands.
    fn turn(number: u64) -> u32 {
        (number / DEPTH) as u32 + 1
    }

    /// Sends a command, and the data of a write before it.
    pub(super) fn command(&self, command: Command) {
        let bytes = command.sectors * SECTOR;
        let (length, goes) = match command.operation {
            Operation::Read => (bytes, 0),
            Operation::Write => (bytes, bytes),
            _ => (0, 0),
        };
        let what = Queued::Command(command.operation, length);
        let posted = Posted { what, size: COMMAND, slot: command.slot, bytes: goes };
        self.send(posted, |turn| command.emit(turn).to_vec());
    }

    /// Sends a completion, and so many bytes that were read before it.
    pub(super) fn completion(
        &self,
        completion: Completion,
        bytes: u64,
        request: Option<MessageId>,
    ) {
        let what = Queued::Completion(request);
        let posted = Posted { what, size: COMPLETION, slot: completion.slot, bytes };
        self.send(posted, |turn| completion.emit(turn).to_vec());
    }

    /// Sends a message, made by `words` for its turn.
    fn send(&self, posted: Posted, words: impl FnOnce(u32) -> Vec<u64>) {
        let number = self.sent.replace(self.sent.get() + 1);
        let made = Buffer { offset: number % DEPTH * posted.size, ..self.made };
        for (place, word) in (0..).zip(words(Storage::turn(number))) {
            set_word(self.library.cpu().memory(), made.phys(8 * place), word);
        }
        let mut kept = self.kept.borrow_mut();
        kept.push_back((number, posted));
        if kept.len() as u64 > DEPTH {
            kept.pop_front();
        }
        drop(kept);
        self.post(number, &posted);
    }

    fn post(&self, number: u64, posted: &Posted) {
        let Posted { what, size, slot, bytes } = *posted;
        if bytes > 0 {
            let (from, to) = (self.buffer(slot), self.peers_buffer(slot));
            self.library.write(from, to, bytes, Awaited::No);
        }
        let offset = number % DEPTH * size;
        let made = Buffer { offset, ..self.made };
        let to = Buffer { offset, ..self.agreed().1[0] };
        self.library.queue(what, made, to, size, self.flags);
        if !self.flags {
            self.library.ring(self.peer(), number + 1);
        }
    }

    /// Sends those messages again that the other side has not got, which has `come` of them.
    pub(super) fn send_again(&self, come: u64) {
        let kept = self.kept.borrow().clone();
        for (number, posted) in kept.iter().filter(|(number, _)| *number >= come) {
            crate::tally::add(&self.library.module().tally.sent_again, 1);
            self.post(*number, posted);
        }
    }

    /// Place of message `number` in the queue here.
    fn place(&self, number: u64, size: u64) -> Buffer {
        Buffer { offset: number % DEPTH * size, ..self.queue }
    }

    /// The words of message `number`, if it has come as it was made.
    fn look_at(&self, number: u64, size: u64) -> Option<Vec<u64>> {
        let (memory, at) = (self.library.cpu().memory(), self.place(number, size));
        let words: Vec<u64> = (0..size / 8).map(|place| word(memory, at.phys(8 * place))).collect();
        let flagged = words.last().is_some_and(|flag| *flag as u32 == Storage::turn(number));
        (flagged && is_whole(&words)).then_some(words)
    }

    /// Messages that have come, taken or not.
    pub(super) fn come(&self, size: u64) -> u64 {
        let from = self.taken.get();
        (from..from + DEPTH)
            .find(|number| self.look_at(*number, size).is_none())
            .unwrap_or(from + DEPTH)
    }

    /// Sleeps until the flag of the next message is of its turn, or until a time; true if it may have come.
    fn sleep(&self, size: u64, until: Time) -> bool {
        let (number, peer) = (self.taken.get(), self.peer());
        if !self.flags {
            // In place of a flag a bell rings: what it rang for is there, or was lost.
            let rung = self.library.sleep_for(|rung| rung[peer as usize] > number, until);
            if !rung || self.look_at(number, size).is_some() {
                return rung;
            }
        }
        let addr = self.place(number, size).phys(size - 8);
        let flag = Flag { sender: peer, addr, turn: Storage::turn(number) };
        self.library.sleep_until(flag, until)
    }

    /// Waits for the next message of `size` bytes until a time, or until the other side asks something.
    pub(super) fn receive(&self, size: u64, until: Time) -> Result<Come, ServiceError> {
        let (cpu, mut looks) = (self.library.cpu(), 0);
        loop {
            // What has not come after so long was lost: the run may end as a deadlock.
            looks += 1;
            let patient = looks > LOOKS_MAX && !self.recovers;
            let look = if patient { until } else { until.min(cpu.now() + self.disks.timeout) };
            if self.sleep(size, look) {
                if let Some(words) = self.look_at(self.taken.get(), size) {
                    return Ok(self.take(words));
                }
                if !self.recovers && self.flags {
                    return Err(ServiceError::Spoilt);
                }
                if self.rank == 0 && self.flags {
                    return Ok(Come::Nothing);
                }
                cpu.spend(look.since(cpu.now().min(look)));
            }
            let over = cpu.now() >= until;
            if over && self.rank == 1 {
                return Ok(Come::Nothing); // A disk is ready.
            }
            // Interrupts get lost, and bells: the message may be there.
            self.library.module().look(cpu);
            if let Some(words) = self.look_at(self.taken.get(), size).filter(|_| self.recovers) {
                return Ok(self.take(words));
            }
            if over {
                return Ok(Come::Nothing);
            }
            if self.recovers && self.rank == 1 && self.is_asked()? {
                return Ok(Come::Nothing);
            }
        }
    }

    fn take(&self, words: Vec<u64>) -> Come {
        let number = self.taken.replace(self.taken.get() + 1);
        let name = self.library.dequeue(self.peer());
        if !self.flags {
            self.tell_head(number + 1);
        }
        Come::Message(words, name)
    }

    /// Tells the sender that messages have been taken: its head, in the last word of its queue's page.
    fn tell_head(&self, head: u64) {
        let place = PAGE - 8;
        let made = Buffer { offset: place, ..self.made };
        set_word(self.library.cpu().memory(), made.phys(0), head);
        self.library.write(made, Buffer { offset: place, ..self.agreed().1[0] }, 8, Awaited::No);
    }
}
