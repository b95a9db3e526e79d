//! The initiator's block layer.

use super::errors::{ServiceError, StreamError};
use super::under_way::{Piece, Request};
use super::{Come, Storage, COMPLETION, LENGTH_MAX, TRIES};
use abi::MessageId;
use block::{Answer, Ask, Command, Completion, Operation, ASK_BYTES, SECTOR};
use des::{Duration, Time};
use machine::programs::native::Workload;
use std::io::{self, ErrorKind, Read, StdinLock, Write};

/// End of a wait for a completion.
enum Completed {
    /// The completion, and its request's name.
    One(Completion, Option<MessageId>),
    /// It has not come in time.
    TimeIsUp,
    /// The disk was given up.
    Never,
}

impl Storage<'_> {
    pub(super) fn serve_stream(&self) -> Result<(), StreamError> {
        let mut input = io::stdin().lock();
        let mut bytes = [0; ASK_BYTES];
        loop {
            match input.read_exact(&mut bytes) {
                Err(why) if why.kind() == ErrorKind::UnexpectedEof => break,
                read => read?,
            }
            let ask = Ask::parse(&bytes).ok_or(StreamError::Unread)?;
            self.serve(&ask, &mut input)?;
        }
        // Nobody waits any more; each request has its answer all the same.
        while let Some(request) = self.next_ended(Time::NEVER)? {
            self.reply(&request)?;
        }
        Ok(self.end()?)
    }

    /// Does what is asked for next.
    fn serve(&self, ask: &Ask, input: &mut StdinLock) -> Result<(), StreamError> {
        let (cpu, idle) = (self.library.cpu(), self.under_way.borrow().is_empty());
        let passed = |took| Ok(answer(Answer { failed: false, took, number: 0 }, &[])?);
        if !idle && ask.number == 0 && ask.operation != Operation::Wait {
            return Err(StreamError::Unnumbered);
        }
        match ask.operation {
            Operation::Pass => {
                cpu.spend(Duration(ask.length));
                return passed(ask.length);
            }
            Operation::Wait => {
                let start = cpu.now();
                let limit = Time(start.0.saturating_add(ask.length));
                return match self.next_ended(limit)? {
                    Some(request) => self.reply(&request),
                    None if idle && limit < Time::NEVER => {
                        cpu.spend(Duration(ask.length));
                        passed(ask.length)
                    }
                    None => passed(cpu.now().since(start).0),
                };
            }
            _ => {}
        }
        let moves = matches!(ask.operation, Operation::Read | Operation::Write);
        let whole = ask.offset % SECTOR == 0 && ask.length % SECTOR == 0;
        let long = moves && ask.length > LENGTH_MAX;
        if ask.operation == Operation::End || !whole || long {
            return Err(StreamError::Length);
        }
        let mut data = vec![0; if moves { ask.length as usize } else { 0 }];
        if ask.operation == Operation::Write {
            input.read_exact(&mut data)?;
        }
        self.under_way.borrow_mut().push(*ask, data, cpu.now());
        if ask.number == 0 {
            let request = self.next_ended(Time::NEVER)?;
            self.reply(&request.expect("it ends before time does"))?;
        }
        Ok(())
    }

    /// Answers a request, with its data.
    fn reply(&self, request: &Request) -> Result<(), StreamError> {
        let Request { ask, failed, data, since, .. } = request;
        let took = self.library.cpu().now().since(*since).0;
        let reads = ask.operation == Operation::Read && !failed;
        let told = Answer { failed: *failed, took, number: ask.number };
        Ok(answer(told, if reads { data } else { &[] })?)
    }

    /// Reads or writes, one request after the other, in the order of the disk.
    pub(super) fn load(&self, writes: bool) -> Result<String, ServiceError> {
        let Workload { bytes: length, times, .. } = self.workload;
        let operation = if writes { Operation::Write } else { Operation::Read };
        let mut spent = Duration::ZERO;
        for number in 0..u64::from(times) {
            let offset = number % (self.sectors * SECTOR / length) * length;
            let value = if writes { number as u8 } else { 1 };
            let data = vec![value; length as usize];
            let start = self.library.cpu().now();
            self.under_way.borrow_mut().push(Ask::new(operation, offset, length), data, start);
            let request = self.next_ended(Time::NEVER)?.expect("it ends before time does");
            if request.failed || !writes && request.data.iter().any(|byte| *byte != 0) {
                return Err(ServiceError::Request(number));
            }
            spent = Duration(spent.0 + self.library.cpu().now().since(start).0);
        }
        self.end()?;
        let each = spent.as_ns() / f64::from(times);
        let rate = length as f64 / each * 1e9 / f64::from(1 << 20);
        Ok(format!("rank 0: {length} bytes, a request {each:.1} ns, {rate:.1} MiB/s\n"))
    }

    /// Sum of data, if they have one, for which the processor takes its time.
    pub(super) fn sum(&self, data: &[u8]) -> u32 {
        let Some(rate) = self.disks.sums else { return 0 };
        let time = data.len() as u128 * 1_000_000_000_000 / u128::from(rate);
        self.library.cpu().spend(Duration(time as u64));
        block::sum(data)
    }

    /// The association ends.
    fn end(&self) -> Result<(), ServiceError> {
        if !self.offline.get() {
            let (slot, sector, sectors, sum, fua) = (0, 0, 0, 0, false);
            self.command(Command { operation: Operation::End, slot, sector, sectors, sum, fua });
            if let Completed::One(_, request) = self.complete(Time::NEVER)? {
                self.library.end_request(request);
            }
        }
        self.part()
    }

    /// The next completion, until a time.
    fn complete(&self, limit: Time) -> Result<Completed, ServiceError> {
        loop {
            let now = self.library.cpu().now();
            if now >= limit {
                return Ok(Completed::TimeIsUp);
            }
            let patience = match self.recovers {
                true => self.patience.get().unwrap_or(now + self.disks.resend),
                false => Time::NEVER,
            };
            self.patience.set(Some(patience));
            if let Come::Message(words, request) = self.receive(COMPLETION, patience.min(limit))? {
                self.attempts.set(0);
                self.patience.set(None);
                return Ok(Completed::One(Completion::parse(&[words[0], words[1]]), request));
            }
            let now = self.library.cpu().now();
            if limit <= now && now < patience {
                return Ok(Completed::TimeIsUp);
            }
            self.patience.set(None);
            if !self.recover()? {
                return Ok(Completed::Never);
            }
        }
    }

    /// The next request that has ended, until a time; none if there is none.
    fn next_ended(&self, limit: Time) -> Result<Option<Request>, ServiceError> {
        let Some(operation) = self.under_way.borrow().operation() else { return Ok(None) };
        self.library.in_request(operation, || self.go_on(limit))
    }

    /// Goes on with all requests until one has ended, or until a time.
    fn go_on(&self, limit: Time) -> Result<Option<Request>, ServiceError> {
        let tries = if self.disks.sums.is_some() { TRIES } else { 1 };
        loop {
            self.begin_waiting();
            let tries = if self.offline.get() { 0 } else { tries };
            let ended = self.under_way.borrow_mut().take_ended(tries);
            if let Some(mut request) = ended {
                self.keep_ahead(&mut request);
                return Ok(Some(request));
            }
            if let Some(piece) = self.next_piece() {
                self.send_piece(&piece);
                continue;
            }
            match self.complete(limit)? {
                Completed::One(completion, name) => self.take_completion(completion, name)?,
                Completed::TimeIsUp => return Ok(None),
                Completed::Never => self.under_way.borrow_mut().fail(),
            }
        }
    }

    fn next_piece(&self) -> Option<Piece> {
        let most = self.agreed().0.request;
        self.under_way.borrow_mut().next_piece(most, most > self.disks.request)
    }

    /// Sends the command of a piece.
    fn send_piece(&self, piece: &Piece) {
        let Piece { ask, slot, bytes } = piece;
        self.library.cpu().spend(self.disks.submit);
        let mut sum = 0;
        if ask.operation == Operation::Write {
            let data = self.under_way.borrow().data(*slot);
            sum = self.sum(&data);
            self.put(self.buffer(*slot), &data);
        }
        let sector = (ask.offset + bytes.start) / SECTOR;
        let (operation, sectors) = (ask.operation, (bytes.end - bytes.start) / SECTOR);
        let (slot, fua) = (*slot, ask.fua);
        self.command(Command { operation, slot, sector, sectors, sum, fua });
    }

    /// A command has been answered.
    fn take_completion(
        &self,
        completion: Completion,
        name: Option<MessageId>,
    ) -> Result<(), ServiceError> {
        let Completion { slot, mut failed, sum } = completion;
        let mut under_way = self.under_way.borrow_mut();
        let (request, bytes) = under_way.answered(slot).ok_or(ServiceError::Completion(slot))?;
        if request.ask.operation == Operation::Read {
            let part = &mut request.data[bytes.start as usize..bytes.end as usize];
            self.get(self.buffer(slot), part);
            failed |= !failed && self.sum(part) != sum;
        }
        request.failed |= failed;
        drop(under_way);
        self.library.cpu().spend(self.disks.complete);
        self.library.end_request(name);
        Ok(())
    }
}

/// Writes an answer, and the data of a read.
fn answer(answer: Answer, data: &[u8]) -> io::Result<()> {
    let mut output = io::stdout().lock();
    let bytes = [&answer.emit()[..], data].concat();
    output.write_all(&bytes).and_then(|()| output.flush())
}
