//! Reading ahead: of a client that reads in order, the initiator asks for more than it wants, and keeps it.

use super::under_way::Request;
use super::Storage;
use block::Operation;
use des::Duration;
use std::ops::Range;

/// Data that were read and not wanted yet.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    /// Byte behind the last that the client has read.
    next: u64,
    at: u64,
    data: Vec<u8>,
}

impl Ahead {
    /// Reads out of what is kept; true if all is there.
    pub fn read(&mut self, offset: u64, data: &mut [u8]) -> bool {
        let end = offset + data.len() as u64;
        let there = self.at <= offset && end <= self.at + self.data.len() as u64;
        if there {
            let from = (offset - self.at) as usize;
            data.copy_from_slice(&self.data[from..from + data.len()]);
            self.next = end;
        }
        there
    }

    /// Bytes that a read asks for beyond its own, of a disk of so many bytes: none unless the client goes on
    /// where it was.
    pub fn more(&self, bytes: &Range<u64>, most: u64, disk: u64) -> u64 {
        let in_order = bytes.start == self.next;
        if in_order {
            most.min(disk.saturating_sub(bytes.end))
        } else {
            0
        }
    }

    /// Keeps what was read behind `end`.
    pub fn keep(&mut self, end: u64, data: Vec<u8>) {
        (self.next, self.at, self.data) = (end, end, data);
    }

    /// Forgets what is written over.
    pub fn written(&mut self, bytes: &Range<u64>) {
        if bytes.start < self.at + self.data.len() as u64 && self.at < bytes.end {
            self.data.clear();
        }
    }
}

impl Storage<'_> {
    /// Begins with the requests whose turn it is. A read that is there already needs no command, and one in
    /// the order of the one before reads more than is wanted.
    pub(super) fn begin_waiting(&self) {
        let (agreed, under_way) = (self.agreed().0, &mut *self.under_way.borrow_mut());
        if self.offline.get() {
            return under_way.fail();
        }
        while let Some(request) = under_way.begin_next() {
            if agreed.read_ahead == 0 {
                continue;
            }
            let (mut ahead, bytes) = (self.ahead.borrow_mut(), request.bytes());
            if request.ask.operation != Operation::Read {
                ahead.written(&bytes);
                under_way.written(&bytes);
            } else if ahead.read(bytes.start, &mut request.data) {
                request.needs_none();
                let times = Duration(self.disks.submit.0 + self.disks.complete.0);
                self.library.cpu().spend(times);
            } else {
                request.ahead = ahead.more(&bytes, agreed.read_ahead, agreed.size);
                request.data.resize((request.ask.length + request.ahead) as usize, 0);
            }
        }
    }

    /// Keeps what a request has read ahead, unless it was written since.
    pub(super) fn keep_ahead(&self, request: &mut Request) {
        let bytes = request.bytes();
        if request.ahead > 0 && !request.failed {
            let rest = request.data.split_off(request.ask.length as usize);
            if !request.stale {
                self.ahead.borrow_mut().keep(bytes.end - request.ahead, rest);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_read_ahead_is_there_until_it_is_written() {
        let mut ahead = Ahead::default();
        assert_eq!(
            (ahead.more(&(0..512), 4096, 2048), ahead.more(&(512..1024), 4096, 2048)),
            (1536, 0)
        );
        ahead.keep(512, vec![7; 1024]);
        let mut data = [0; 512];
        assert!(ahead.read(1024, &mut data) && data == [7; 512]);
        assert!(!ahead.read(1536, &mut data) && !ahead.read(0, &mut data));
        assert_eq!(ahead.more(&(1536..2048), 4096, 8192), 4096);
        ahead.written(&(0..512));
        assert!(ahead.read(512, &mut data));
        ahead.written(&(1535..2048));
        assert!(!ahead.read(512, &mut data));
    }
}
