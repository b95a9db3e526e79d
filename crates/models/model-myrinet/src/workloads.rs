//! Workloads of the hosts: traffic of packets, each byte of which is checked where it arrives.

use super::driver::{until_launch, Driver, Packet, PAYLOAD_MAX};
use des::{Duration, Time};
use host::{Cpu, Host};
use machine::console;
use machine::node::Software;
use machine::programs::native::{Workload, WorkloadKind};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const fn kind(name: &'static str, bytes: u64) -> WorkloadKind {
    WorkloadKind { name, bytes, bytes_max: PAYLOAD_MAX, word: 1, ranks: 2 }
}

/// The model's workloads: a packet from node 0 to 1 and back; packets from node 0 to 1, one behind the other;
/// packets from all other nodes to node 0 at once.
pub(crate) static WORKLOADS: &[WorkloadKind] =
    &[kind("myrinet-pingpong", 8), kind("myrinet-stream", 1024), kind("myrinet-incast", 1024)];

/// A node's only rank.
pub(super) struct RankSlot {
    rank: u32,
    ranks: u32,
    run: Workload,
    driver: Rc<Driver>,
    state: Rc<State>,
}

#[derive(Default)]
struct State {
    ready: Cell<bool>,
    ending: Cell<Option<(Time, i32)>>,
    failure: RefCell<Option<String>>,
}

impl RankSlot {
    pub fn new(rank: u32, ranks: u32, run: Workload, driver: Driver) -> RankSlot {
        RankSlot { rank, ranks, run, driver: Rc::new(driver), state: Rc::default() }
    }
}

impl Software for RankSlot {
    fn boot(&self, host: &mut Host, launch: Time) {
        let driver = self.driver.clone();
        host.set_interrupt_handler(Rc::new(move |cpu| driver.interrupt(cpu)));
        let (driver, state) = (self.driver.clone(), self.state.clone());
        let (rank, ranks, run) = (self.rank, self.ranks, self.run);
        host.spawn("rank", move |cpu| {
            driver.load(&cpu);
            state.ready.set(true);
            until_launch(&cpu, launch);
            let task = Task { cpu: &cpu, driver: &driver, rank: rank as u16, ranks, run };
            let print = |text: String| console::print(&text).map_err(|why| why.to_string());
            let ended = task.run().map_err(|why| why.to_string()).and_then(print);
            let code = i32::from(ended.is_err());
            if let Err(why) = ended {
                *state.failure.borrow_mut() = Some(format!("rank {rank}: {why}"));
            }
            state.ending.set(Some((cpu.now(), code)));
        });
    }
    fn late(&self) -> Option<String> {
        (!self.state.ready.get()).then(|| "the card was".into())
    }
    fn ranks(&self) -> Vec<u32> {
        vec![self.rank]
    }
    fn all_ended(&self) -> bool {
        self.state.ending.get().is_some()
    }
    fn endings(&self) -> Vec<(u32, Time, i32)> {
        let ending = self.state.ending.get();
        ending.map(|(at, code)| (self.rank, at, code)).into_iter().collect()
    }
    fn failure(&self) -> Option<(i32, String)> {
        Some((1, self.state.failure.borrow().clone()?))
    }
    fn waiting(&self) -> Vec<String> {
        if self.all_ended() {
            return Vec::new();
        }
        let what = if self.driver.is_waited_for() { "for a packet" } else { "for its card" };
        vec![format!("rank {} waits {what}", self.rank)]
    }
}

/// A workload as one rank runs it.
struct Task<'a> {
    cpu: &'a Cpu,
    driver: &'a Driver,
    rank: u16,
    ranks: u32,
    run: Workload,
}

/// Time of a workload, and the packets behind one another in it.
struct Timed {
    span: Duration,
    packets: u64,
}

/// A packet that is not what was sent.
#[derive(Clone, Copy, Debug, thiserror::Error)]
enum Wrong {
    #[error("packet {number} of node {from} has {has} bytes")]
    Length { number: u32, from: u16, has: usize },
    #[error("byte {place} of packet {number} of node {from} is wrong")]
    Byte { place: usize, number: u32, from: u16 },
    #[error("a packet of nobody came")]
    Nobody,
}

/// Byte `place` of packet `number` of a rank.
fn pattern(rank: u16, number: u32, place: usize) -> u8 {
    let mixed = (place as u32).wrapping_mul(0x9e37_79b1) ^ number.wrapping_mul(0x85eb_ca6b);
    (mixed.rotate_left(7) ^ u32::from(rank).wrapping_mul(0xc2b2_ae35)).to_be_bytes()[1]
}

impl Task<'_> {
    fn run(&self) -> Result<String, Wrong> {
        let name = self.run.kind.name;
        let went = match name {
            "myrinet-pingpong" => self.ping_pong(),
            "myrinet-stream" => self.stream(),
            "myrinet-incast" => self.incast(),
            other => unreachable!("{other} is in the table"),
        };
        let Some(Timed { span, packets }) = went? else { return Ok(String::new()) };
        let Workload { bytes, times, .. } = self.run;
        let each = span.0 as f64 * 1e-6 / packets as f64;
        let rate = bytes as f64 / each;
        Ok(format!(
            "{name} of {bytes} bytes, {} ranks, {times} times: {each:.3} us each, {rate:.1} MB/s\n",
            self.ranks
        ))
    }

    fn send(&self, target: u16, number: u32) {
        let bytes: Vec<u8> =
            (0..self.run.bytes as usize).map(|place| pattern(self.rank, number, place)).collect();
        self.driver.send(self.cpu, target, &bytes);
    }

    /// Sees to it that this is packet `number` of its source, with all of its bytes.
    fn check(&self, packet: &Packet, number: u32) -> Result<(), Wrong> {
        let (source, bytes) = (packet.source, &packet.bytes);
        let has = bytes.len();
        if has as u64 != self.run.bytes {
            return Err(Wrong::Length { number, from: source, has });
        }
        let wrong = (0..has).find(|place| bytes[*place] != pattern(source, number, *place));
        match wrong {
            Some(place) => Err(Wrong::Byte { place, number, from: source }),
            None => Ok(()),
        }
    }

    fn receive(&self, number: u32) -> Result<(), Wrong> {
        self.check(&self.driver.receive(self.cpu), number)
    }

    fn ping_pong(&self) -> Result<Option<Timed>, Wrong> {
        let start = self.cpu.now();
        for number in 0..self.run.times {
            match self.rank {
                0 => {
                    self.send(1, number);
                    self.receive(number)?;
                }
                1 => {
                    self.receive(number)?;
                    self.send(0, number);
                }
                _ => {}
            }
        }
        let span = self.cpu.now().since(start);
        Ok((self.rank == 0).then_some(Timed { span, packets: 2 * u64::from(self.run.times) }))
    }

    fn stream(&self) -> Result<Option<Timed>, Wrong> {
        let start = self.cpu.now();
        for number in 0..self.run.times {
            match self.rank {
                0 => self.send(1, number),
                1 => self.receive(number)?,
                _ => {}
            }
        }
        let span = self.cpu.now().since(start);
        Ok((self.rank == 1).then_some(Timed { span, packets: self.run.times.into() }))
    }

    fn incast(&self) -> Result<Option<Timed>, Wrong> {
        let start = self.cpu.now();
        if self.rank > 0 {
            (0..self.run.times).for_each(|number| self.send(0, number));
            return Ok(None);
        }
        let mut next = vec![0; self.ranks as usize];
        let packets = (self.ranks - 1) * self.run.times;
        for _ in 0..packets {
            let packet = self.driver.receive(self.cpu);
            let number = next.get_mut(usize::from(packet.source)).ok_or(Wrong::Nobody)?;
            self.check(&packet, *number)?;
            *number += 1;
        }
        Ok(Some(Timed { span: self.cpu.now().since(start), packets: packets.into() }))
    }
}
