//! The target, with its disks.

use super::errors::ServiceError;
use super::{Come, Storage, COMMAND};
use abi::MessageId;
use block::{Array, Command, Completion, Operation, SECTOR};
use des::{Duration, Time};

impl Storage<'_> {
    pub(super) fn target(&self) -> Result<(), ServiceError> {
        let mut array = Array::new(self.agreed().0.size / SECTOR, self.disks.kind);
        if self.disks.power_cut > Duration::ZERO {
            array.set_power_cut((self.launch + self.disks.power_cut).0);
        }
        let mut begun: Vec<Begun> = Vec::new();
        loop {
            // The disks work side by side: the first that has done is answered first.
            let next = (0..begun.len()).min_by_key(|place| begun[*place].done);
            let first = next.map_or(Time::NEVER, |place| begun[place].done);
            let is_over = |at: Time| at <= self.library.cpu().now();
            let come = match is_over(first) {
                true => Come::Nothing,
                false => self.receive(COMMAND, first)?,
            };
            if let Come::Message(words, request) = come {
                let words = std::array::from_fn(|place| words[place]);
                let command = Command::parse(&words).ok_or(ServiceError::Command)?;
                begun.push(self.begin(&mut array, command, request));
            } else if let Some(place) = next.filter(|_| is_over(first)) {
                if self.answer(&begun.remove(place)) {
                    // The initiator may not get that.
                    while !self.serve_notice()? {}
                    return Ok(());
                }
            } else if self.is_asked()? && self.serve_notice()? {
                self.give_up();
                return Ok(());
            }
        }
    }

    /// The disks begin with what a command wants.
    fn begin(&self, array: &mut Array, command: Command, request: Option<MessageId>) -> Begun {
        let Command { operation, slot, sector, sectors, sum, fua } = command;
        let now = self.library.cpu().now();
        let mut begun = Begun { command, request, done: now, failed: false, data: Vec::new() };
        let bytes = (sectors * SECTOR) as usize;
        let done = match operation {
            _ if !array.holds(sector, sectors) => block::Done { at: now.0, failed: true },
            Operation::Read => {
                begun.data = vec![0; bytes];
                array.read(now.0, sector, &mut begun.data)
            }
            Operation::Write => {
                let mut data = vec![0; bytes];
                self.get(self.buffer(slot), &mut data);
                match self.sum(&data) == sum {
                    true => array.write(now.0, sector, &data, fua),
                    // They were spoilt on their way.
                    false => block::Done { at: now.0, failed: true },
                }
            }
            Operation::Zero => array.zero(now.0, sector, sectors, fua),
            Operation::Flush => array.flush(now.0),
            Operation::End | Operation::Pass | Operation::Wait => {
                block::Done { at: now.0, failed: false }
            }
        };
        Begun { done: Time(done.at), failed: done.failed, ..begun }
    }

    /// Answers a command that the disks have done; true if it was the last.
    fn answer(&self, begun: &Begun) -> bool {
        let Command { operation, slot, .. } = begun.command;
        self.library.disk_done(begun.done, begun.request);
        self.library.cpu().spend(self.disks.serve);
        let mut sum = 0;
        if operation == Operation::Read && !begun.failed {
            sum = self.sum(&begun.data);
            self.put(self.buffer(slot), &begun.data);
        }
        let completion = Completion { slot, failed: begun.failed, sum };
        let bytes = if begun.failed { 0 } else { begun.data.len() as u64 };
        self.completion(completion, bytes, begun.request);
        operation == Operation::End
    }
}

/// A command that the disks have begun.
struct Begun {
    command: Command,
    request: Option<MessageId>,
    /// Time at which they will have done it.
    done: Time,
    failed: bool,
    /// Data of a read.
    data: Vec<u8>,
}
