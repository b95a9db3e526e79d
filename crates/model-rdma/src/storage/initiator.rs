//! The initiator's block layer.

use super::{Come, Storage, COMPLETION, LENGTH_MAX, SLOTS, TRIES};
use abi::MessageId;
use block::{Answer, Ask, Command, Completion, Operation, ASK_BYTES, SECTOR};
use des::{Duration, Time};
use machine::programs::native::Workload;
use std::io::{ErrorKind, Read, Write};

impl Storage<'_> {
    pub(super) fn serve_stream(&self) -> Result<(), String> {
        let (mut input, mut output) = (std::io::stdin().lock(), std::io::stdout());
        let mut bytes = [0; ASK_BYTES];
        loop {
            match input.read_exact(&mut bytes) {
                Err(why) if why.kind() == ErrorKind::UnexpectedEof => break,
                read => read.map_err(|why| why.to_string())?,
            }
            let ask = Ask::parse(&bytes).ok_or("what is no request has come")?;
            if ask.operation == Operation::Pass {
                self.library.cpu().spend(Duration(ask.length));
                let answer = Answer { failed: false, took: ask.length }.emit();
                let written = output.write_all(&answer).and_then(|()| output.flush());
                written.map_err(|why| why.to_string())?;
                continue;
            }
            let whole = ask.offset % SECTOR == 0 && ask.length % SECTOR == 0;
            if ask.operation == Operation::End || !whole || ask.length > LENGTH_MAX {
                return Err("a request is not of whole sectors, or too long".into());
            }
            let moves = matches!(ask.operation, Operation::Read | Operation::Write);
            let mut data = vec![0; if moves { ask.length as usize } else { 0 }];
            if ask.operation == Operation::Write {
                input.read_exact(&mut data).map_err(|why| why.to_string())?;
            }
            let (failed, took) = self.request(&ask, &mut data)?;
            let mut answer = Answer { failed, took: took.0 }.emit().to_vec();
            if ask.operation == Operation::Read && !failed {
                answer.extend(&data);
            }
            let written = output.write_all(&answer).and_then(|()| output.flush());
            written.map_err(|why| why.to_string())?;
        }
        self.end()
    }

    /// Reads or writes, one request after the other, in the order of the disk.
    pub(super) fn load(&self, writes: bool) -> Result<String, String> {
        let Workload { bytes: length, times, .. } = self.workload;
        let operation = if writes { Operation::Write } else { Operation::Read };
        let mut spent = Duration::ZERO;
        for number in 0..u64::from(times) {
            let offset = number % (self.sectors * SECTOR / length) * length;
            let value = if writes { number as u8 } else { 1 };
            let mut data = vec![value; length as usize];
            let ask = Ask { operation, offset, length };
            let (failed, took) = self.request(&ask, &mut data)?;
            if failed || !writes && data.iter().any(|byte| *byte != 0) {
                return Err(format!("request {number} has failed"));
            }
            spent = Duration(spent.0 + took.0);
        }
        self.end()?;
        let each = spent.as_ns() / f64::from(times);
        let rate = length as f64 / each * 1e9 / f64::from(1 << 20);
        Ok(format!("rank 0: {length} bytes, a request {each:.1} ns, {rate:.1} MiB/s\n"))
    }

    /// Carries a request out, again if sums are wrong: whether it has failed, and the time.
    fn request(&self, ask: &Ask, data: &mut [u8]) -> Result<(bool, Duration), String> {
        let start = self.library.cpu().now();
        let took = || self.library.cpu().now().since(start);
        if self.read_ahead(ask, data)? {
            return Ok((false, took()));
        }
        let mut failed = true;
        let tries = if self.disks.sums.is_some() { TRIES } else { 1 };
        for _ in 0..tries {
            let does = || self.carry_out(ask, data);
            failed = self.library.in_request(ask.operation, does)?;
            if !failed || self.offline.get() {
                break;
            }
        }
        Ok((failed, took()))
    }

    /// Sum of data, if they have one, for which the processor takes its time.
    pub(super) fn sum(&self, data: &[u8]) -> u32 {
        let Some(rate) = self.disks.sums else { return 0 };
        let time = data.len() as u128 * 1_000_000_000_000 / u128::from(rate);
        self.library.cpu().spend(Duration(time as u64));
        block::sum(data)
    }

    /// The association ends.
    fn end(&self) -> Result<(), String> {
        if !self.offline.get() {
            let (slot, sector, sectors, sum) = (0, 0, 0, 0);
            self.command(Command { operation: Operation::End, slot, sector, sectors, sum });
            if let Some((_, request)) = self.complete()? {
                self.library.end_request(request);
            }
        }
        self.part()
    }

    /// The next completion; none if the disk was given up.
    fn complete(&self) -> Result<Option<(Completion, Option<MessageId>)>, String> {
        loop {
            let until = match self.recovers {
                true => self.library.cpu().now() + self.disks.resend,
                false => Time::NEVER,
            };
            if let Come::Message(words, request) = self.receive(COMPLETION, until)? {
                self.attempts.set(0);
                return Ok(Some((Completion::parse(&[words[0], words[1]]), request)));
            }
            if !self.recover()? {
                return Ok(None);
            }
        }
    }

    /// Cuts a request in pieces, of which up to [`SLOTS`] are under way; true if one has failed.
    pub(super) fn carry_out(&self, ask: &Ask, data: &mut [u8]) -> Result<bool, String> {
        let moves = !data.is_empty();
        // Zeroes need no buffer: they go in one piece.
        let piece = if moves { self.agreed().0.request } else { ask.length.max(1) };
        let count = ask.length.div_ceil(piece).max(1);
        let range = |number: u64| number * piece..ask.length.min((number + 1) * piece);
        let (mut begun, mut ended, mut failed) = (0, 0, self.offline.get());
        if failed {
            return Ok(true);
        }
        while ended < count {
            while begun < count && begun - ended < SLOTS {
                let (slot, bytes) = (begun % SLOTS, range(begun));
                let length = bytes.end - bytes.start;
                self.library.cpu().spend(self.disks.submit);
                let mut sum = 0;
                if ask.operation == Operation::Write {
                    let data = &data[bytes.start as usize..bytes.end as usize];
                    sum = self.sum(data);
                    self.put(self.buffer(slot), data);
                }
                let sector = (ask.offset + bytes.start) / SECTOR;
                let (operation, sectors) = (ask.operation, length / SECTOR);
                self.command(Command { operation, slot, sector, sectors, sum });
                begun += 1;
            }
            // The target answers in the order of commands.
            let (slot, bytes) = (ended % SLOTS, range(ended));
            let Some((completion, request)) = self.complete()? else { return Ok(true) };
            if completion.slot != slot {
                let other = completion.slot;
                return Err(format!("a completion of request {other} has come for {slot}"));
            }
            failed |= completion.failed;
            if ask.operation == Operation::Read {
                let part = &mut data[bytes.start as usize..bytes.end as usize];
                self.get(self.buffer(slot), part);
                failed |= !completion.failed && self.sum(part) != completion.sum;
            }
            self.library.cpu().spend(self.disks.complete);
            self.library.end_request(request);
            ended += 1;
        }
        Ok(failed)
    }
}
