//! Spans of time in which the chip does the same again and again, packet after packet of a
//! stream (`des::LogicalProcess::sample`): its state relative to the time, what adds up meanwhile,
//! and the jump to its later state.
//!
//! The payload is no part of the state. When a span is repeated, the sender's host memory is
//! read there and then, and all of it goes to the receiver at once ([`Skipped`]), which puts it
//! into host memory and into what it still holds. Packets between the two carry what they carried
//! before; the receiver puts the right bytes in their place when they come.

use crate::fabric::LINE;
use crate::rx::{Rx, GATHER};
use crate::stream::Stream;
use crate::tx::{Tx, READ_AHEAD};
use crate::windows::PostedWrites;
use crate::{Params, Ports, SeaStar};
use abi::packet::{Packet, PAYLOAD_BYTES};
use des::{Duration, Time};
use std::ops::Range;

/// Bytes that are skipped at once at most.
const AT_ONCE: u64 = 4 << 20;
/// Lines of a stream between two samples: three times the read-ahead, or the gathering, so that the
/// state comes back soon also where credits are given for three packets at once.
const PROGRESS_LINES: u64 = 3 * READ_AHEAD as u64 / LINE;
const _: () = assert!(READ_AHEAD as usize == GATHER);
/// Granularity of a program's memory, in bytes.
const PAGE: u64 = 4096;

/// A stream that moves on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Identity of the stream: the same at two samples if the stream is.
    pub key: u64,
    /// Bytes so far.
    pub position: u64,
    /// Bytes that it can move on without anything new.
    pub left: u64,
}

impl Flow {
    /// True for the transmit engine's.
    pub fn is_sent(&self) -> bool {
        self.key == SENT
    }
}

/// Payload that did not travel: a plain value for the receiver.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Node of the receiver.
    pub dest: u16,
    source: u16,
    message: u16,
    /// Position of the packetiser before, in bytes of the payload.
    position: u64,
    /// Bytes by which it was advanced.
    bytes: u64,
    /// Bytes from those that may be in flight before `position` to `bytes` after it.
    data: Vec<u8>,
}

/// Distance of `at` in the future; 0 for all of the past.
fn ahead(at: Time, now: Time) -> u64 {
    at.since(now).0
}

/// Bytes that a command must have left, so that its end has no effect yet: bytes that are read ahead, or
/// gathered, and bytes that a stream holds.
fn margin(params: &Params) -> u64 {
    u64::from(2 * READ_AHEAD) + u64::from(params.rx_buffers) * PAYLOAD_BYTES as u64
}

/// Bytes by which a stream may be advanced whose command has `left` bytes left.
fn left_of(left: u32, params: &Params) -> u64 {
    u64::from(left).saturating_sub(margin(params)).min(AT_ONCE)
}

fn header(packet: &Packet, out: &mut Vec<u64>) {
    let words = [packet.dest, packet.source, packet.message];
    out.extend(words.map(u64::from));
    out.extend([packet.flags, packet.size].map(u64::from));
}

impl SeaStar {
    /// Progress of the transmit engine's stream; `None` without a long one.
    pub fn progress(&self) -> Option<u64> {
        let region = self.tx.region?;
        (u64::from(region.left) > margin(&self.fabric.params))
            .then_some(self.tx.lines / PROGRESS_LINES)
    }
    /// Everything that what the chip does from `now` on depends on, and its streams; `None` if it
    /// does anything but move streams.
    pub fn state(&self, now: Time, out: &mut Vec<u64>) -> Option<Vec<Flow>> {
        if !self.express.is_idle() {
            return None;
        }
        let mut flows = Vec::new();
        self.tx.state(now, &self.fabric.params, out, &mut flows)?;
        self.rx.state(now, &self.fabric.params, out, &mut flows)?;
        let place = |stream| Some(self.rx.cam.peek(stream)?.commands.front()?.addr);
        self.fabric.posted.state(now, place, out)?;
        let c = &self.fabric.counters;
        out.extend([c.tx_messages, c.tx_errors, c.rx_messages, c.rx_discarded_bytes]);
        out.extend([c.rx_completed, c.rx_crc_errors, c.cam_overflows, c.rx_stalls]);
        out.extend([c.rx_dropped_packets, c.cam_in_use, c.cam_in_use_max, c.rx_queue_max]);
        out.extend([c.rx_held_max, c.rx_buffered_bytes_max, c.interrupts]);
        Some(flows)
    }
    /// Shows everything that adds up while streams move.
    pub fn tallies(&mut self, each: &mut dyn FnMut(&mut u64)) {
        let c = &mut self.fabric.counters;
        for tally in [&mut c.tx_packets, &mut c.tx_bytes, &mut c.tx_blocked] {
            each(tally);
        }
        for tally in [&mut c.rx_packets, &mut c.rx_bytes, &mut c.rx_deposited_bytes] {
            each(tally);
        }
        each(&mut self.tx.lines);
        each(&mut self.tx.absorbed);
    }
    /// The transmit engine's stream.
    pub fn sent(&self) -> Option<Flow> {
        let region = self.tx.region?;
        Some(Flow { key: SENT, position: self.tx.absorbed, left: u64::from(region.left) })
    }
    /// Puts everything that is due off by `span`.
    pub fn shift(&mut self, span: Duration) {
        let Tx { take_at, packetiser_free, port_free, next_data, .. } = &mut self.tx;
        for at in [take_at, packetiser_free, port_free, next_data, &mut self.rx.deposit_free] {
            *at += span;
        }
        self.rx.cam.in_flight().for_each(|stream| stream.written += span);
        self.fabric.posted.shift(span);
    }
    /// Host memory that a stream (by [`Flow::key`]) would read or write while it moves on by `bytes`;
    /// `None` unless all of it answers.
    pub fn answering(&self, key: u64, bytes: u64, ports: &mut impl Ports) -> Option<Range<u64>> {
        let start = if key == SENT {
            self.tx.region.map(|region| region.addr + u64::from(region.ahead))?
        } else {
            let stream = self.rx.cam.peek(key as u16)?;
            let gathered = stream.commands.front()?.addr - stream.gather.len() as u64;
            let posted = &self.fabric.posted;
            let own = posted.bulk_before(key as u16, gathered);
            gathered - own.iter().map(|&entry| posted.bulk(entry).len() as u64).sum::<u64>()
        };
        let end = start + bytes;
        let mut pages = (start..end).step_by(PAGE as usize).chain([end - 1]);
        pages.all(|at| ports.host_answers(at)).then_some(start..end)
    }
    /// Puts the transmit engine's stream on by `bytes`, which [`SeaStar::tallies`] have already
    /// counted. What it would have sent is the result.
    pub fn skip_sent(&mut self, bytes: u64, ports: &mut impl Ports) -> Skipped {
        let (source, tx) = (self.control.nid, &mut self.tx);
        let flight = self.fabric.params.in_flight as usize;
        tx.sum();
        let region = tx.region.as_mut().expect("a stream moves");
        // Bytes that may be in flight, bytes that have been read ahead, and the next ones.
        let mut data = tx.bytes.split_off(tx.used - flight);
        let here = data.len();
        data.resize(here + bytes as usize, 0);
        let next = region.addr + u64::from(region.ahead);
        // It was looked at before, but a process may end at any instant: then the message ends as one does
        // whose memory is not there.
        if ports.host_read(next, &mut data[here..]).is_err() {
            data[here..].fill(0);
            tx.taken.back_mut().expect("the region's command is taken").error = true;
        }
        tx.bytes = data[bytes as usize..].to_vec();
        tx.used = flight;
        tx.summed = flight;
        data.truncate(flight + bytes as usize);
        tx.crc.update(&data[flight..]);
        let size = usize::from(tx.packet.size);
        tx.packet.payload[..size].copy_from_slice(&data[data.len() - size..]);
        region.addr += bytes;
        region.left -= bytes as u32;
        Skipped {
            dest: tx.packet.dest,
            source,
            message: tx.message,
            position: tx.absorbed - bytes - tx.payload_start,
            bytes,
            data,
        }
    }
    /// Puts a stream of the receive engine on by what did not travel.
    pub fn take_skipped(&mut self, skipped: &Skipped, ports: &mut impl Ports) {
        let index = self.rx.cam.arriving(skipped.source, skipped.message);
        let stream = self.rx.cam.stream(index.expect("the stream's header has come"));
        stream.take_skipped(index.unwrap_or_default(), skipped, &mut self.fabric.posted, ports);
    }
}

/// Key of the transmit engine's stream.
const SENT: u64 = u64::MAX;

impl Tx {
    /// True if more of the payload has been put into packets, and is known yet, than can be in flight.
    fn is_far(&self, flight: u64) -> bool {
        (self.absorbed - self.payload_start).min(self.used as u64) >= flight
    }
    fn state(
        &self,
        now: Time,
        params: &Params,
        out: &mut Vec<u64>,
        flows: &mut Vec<Flow>,
    ) -> Option<()> {
        let quiet = !self.taking && self.leaving.is_none() && self.completing.is_empty();
        let Some(region) = self.region else {
            // Idle, altogether.
            let empty = self.asked.is_empty() && self.coming.is_empty() && self.staged.is_empty();
            out.push(u64::from(self.message));
            return (quiet && empty && self.taken.is_empty()).then_some(());
        };
        let taken = self.taken.front().filter(|taken| !taken.header && !taken.error)?;
        if !quiet || self.poisoned || self.taken.len() > 1 || self.packet.flags != 0 {
            return None;
        }
        let words = [self.next, self.commands.head, self.commands.tail(), region.ahead];
        out.extend(words.map(u64::from));
        out.extend([taken.last, self.port_event, self.port_blocked].map(u64::from));
        out.extend([region.addr % LINE, ahead(self.take_at, now)]);
        let free = [self.packetiser_free, self.port_free, self.next_data];
        out.extend(free.map(|at| ahead(at, now)));
        out.push((self.bytes.len() - self.used) as u64);
        header(&self.packet, out);
        for pieces in [&self.asked, &self.coming] {
            out.push(pieces.len() as u64);
            if pieces.iter().any(|piece| piece.ends > 0) {
                return None;
            }
            out.extend(pieces.iter().map(|piece| u64::from(piece.bytes)));
        }
        out.push(self.staged.len() as u64);
        for staged in &self.staged {
            if staged.completion.is_some() || staged.packet.is_first() {
                return None;
            }
            header(&staged.packet, out);
        }
        let left = if self.is_far(params.in_flight) { left_of(region.left, params) } else { 0 };
        flows.push(Flow { key: SENT, position: self.absorbed, left });
        Some(())
    }
}

impl Rx {
    fn state(
        &self,
        now: Time,
        params: &Params,
        out: &mut Vec<u64>,
        flows: &mut Vec<Flow>,
    ) -> Option<()> {
        let commands = self.commands.head != self.commands.tail();
        if commands || self.taking || self.stalled || self.whole > 0 || !self.completing.is_empty()
        {
            return None;
        }
        out.extend([self.buffered, u64::from(self.held), u64::from(self.deposit_event)]);
        out.extend([ahead(self.deposit_free, now), self.waiting.len() as u64]);
        out.extend(self.waiting.iter().map(|&index| u64::from(index)));
        out.push(self.queue.len() as u64);
        for packet in &self.queue {
            if packet.is_first() || packet.is_last() {
                return None;
            }
            header(packet, out);
        }
        for (index, stream) in self.cam.used() {
            out.push(u64::from(index));
            stream.state(now, out)?;
            let command = stream.commands.front();
            let left = command.map_or(0, |command| left_of(command.left, params));
            flows.push(Flow { key: u64::from(index), position: stream.received, left });
        }
        Some(())
    }
}

impl Stream {
    fn state(&self, now: Time, out: &mut Vec<u64>) -> Option<()> {
        if self.arrived || self.error || self.excess || !self.replaced.is_empty() {
            return None;
        }
        out.extend([self.buffer.len(), self.gather.len(), self.commands.len()].map(|n| n as u64));
        out.extend([self.closed, self.commanded, self.waiting].map(u64::from));
        out.extend([u64::from(self.held), ahead(self.written, now)]);
        let Some(command) = self.commands.front() else { return Some(()) };
        out.extend([u64::from(command.last), u64::from(command.tag), command.addr % LINE]);
        out.push(command.addr.wrapping_sub(self.gather_addr));
        (!command.discard).then_some(())
    }
    /// Host address of the byte at `position`, one that the oldest command has or will put there.
    fn address(&self, position: u64) -> u64 {
        let deposited = self.received - self.buffer.len() as u64;
        self.commands.front().expect("a stream that moves has a command").addr + position
            - deposited
    }
    fn take_skipped(
        &mut self,
        index: u16,
        skipped: &Skipped,
        posted: &mut PostedWrites,
        ports: &mut impl Ports,
    ) {
        self.buffer.sum(&mut self.crc);
        let bytes = skipped.bytes as usize;
        // Bytes that it holds, oldest first: on the way to memory, gathered, waiting.
        let mut all = Vec::with_capacity(2 * skipped.data.len());
        let deposited = self.received - self.buffer.len() as u64;
        let own = posted.bulk_before(index, self.address(deposited) - self.gather.len() as u64);
        own.iter().for_each(|&entry| all.extend_from_slice(posted.bulk(entry)));
        all.extend_from_slice(&self.gather);
        all.extend_from_slice(self.buffer.all());
        let low = self.received - all.len() as u64;
        // Then the bytes between the two, and those that did not travel.
        let first = skipped.position + skipped.bytes - skipped.data.len() as u64;
        let missing = self.received.checked_sub(first).expect("as much as may be in flight");
        all.extend_from_slice(&skipped.data[missing as usize..]);
        let written = ports.host_deposit(self.address(low), &all[..bytes]);
        written.expect("the memory of a stream was looked at before");
        let here = (self.received - low) as usize;
        self.crc.update(&all[here..here + bytes]);
        // All that it held is now as much further on.
        let mut rest = &all[bytes..];
        for entry in own {
            let (data, after) = rest.split_at(posted.bulk(entry).len());
            posted.replace_bulk(entry, skipped.bytes, data);
            rest = after;
        }
        let (gather, after) = rest.split_at(self.gather.len());
        self.gather.copy_from_slice(gather);
        self.gather_addr += skipped.bytes;
        let (buffer, after) = after.split_at(self.buffer.len());
        self.buffer.all_mut().copy_from_slice(buffer);
        self.replaced.extend(after);
        self.received += skipped.bytes;
        let command = self.commands.front_mut().expect("a stream that moves has a command");
        command.addr += skipped.bytes;
        command.left -= skipped.bytes as u32;
    }
}
