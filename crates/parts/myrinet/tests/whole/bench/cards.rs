//! Cards with the real control program, and hosts that a test plays.

use super::{Bench, Node};
use crate::trouble::Trouble;
use abi::myrinet::{self as my, board_control, command, command_area, dma_block, isr, register};
use des::{Duration, Time};
use lanai_link::{Image, Input, Map};
use myrinet::{Card, CardParams, Host, Params};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Base address of the host's memory: above 4 GB, so that all bits of an address count.
pub const MEMORY: u64 = 0x1_2000_0000;

/// A host on a 32-bit, 33 MHz bus: 8 cycles a transaction, and one for each four bytes. Its real bus is
/// `crates/parts/pci`'s.
pub struct PlayedHost {
    pub memory: Vec<u8>,
    pub line: bool,
    pub interrupts: u64,
    /// Time at which the card is answered, and the bytes of memory if it reads.
    answer: Option<(Time, Option<Range<usize>>)>,
}

impl PlayedHost {
    pub fn new() -> PlayedHost {
        PlayedHost { memory: vec![0; 1 << 18], line: false, interrupts: 0, answer: None }
    }
    fn answer(&mut self, now: Time, len: usize, read: Option<Range<usize>>) {
        assert_eq!(self.answer, None, "one thing at a time");
        let cycles = 8 + len.div_ceil(4) as u64;
        self.answer = Some((now + Duration(30_303) * cycles, read));
    }
    /// Time of its answer.
    pub fn next(&self) -> Time {
        self.answer.as_ref().map_or(Time::NEVER, |(at, _)| *at)
    }
    /// Answers.
    pub fn give(&mut self, card: &mut Card) {
        let (at, read) = self.answer.take().unwrap();
        match read {
            Some(range) => card.read_done(at, &self.memory[range]),
            None => card.write_done(at),
        }
    }
}

impl Host for PlayedHost {
    fn read(&mut self, now: Time, addr: u64, len: usize) {
        // Elsewhere than in its memory it reads the first bytes, which are zeros.
        let at = addr.saturating_sub(MEMORY) as usize;
        self.answer(now, len, Some(at..at + len));
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) {
        if let Some(at) = addr.checked_sub(MEMORY) {
            self.memory[at as usize..][..data.len()].copy_from_slice(data);
        }
        self.answer(now, data.len(), None);
    }
    fn interrupt(&mut self, _: Time, asserted: bool) {
        self.interrupts += u64::from(asserted);
        self.line = asserted;
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// The control program as `firmware/lanai/Makefile` compiles it, linked; with a planted bug if that is not
/// 0.
pub fn control_program(bug: u32) -> Image {
    let folder = tempfile::tempdir().unwrap();
    let make = Command::new("make")
        .args(["--silent", "-C"])
        .arg(root().join("firmware/lanai"))
        .arg(format!("BUILD={}", folder.path().display()))
        .arg(format!("PLANT={bug}"))
        .arg("objects")
        .output()
        .unwrap();
    assert!(make.status.success(), "{}", String::from_utf8_lossy(&make.stderr));
    let text = std::fs::read_to_string(root().join("abi/myrinet/memory.toml")).unwrap();
    let names = ["crt", "start", "runtime", "memory", "mcp", "send", "receive"];
    let inputs = names.map(|name| {
        let name = format!("{name}.o");
        Input { bytes: std::fs::read(folder.path().join(&name)).unwrap(), name }
    });
    lanai_link::link(&inputs, &Map::parse(&text).unwrap()).unwrap()
}

pub fn area(field: usize) -> u32 {
    my::REGION_COMMAND_BASE + field as u32
}

pub fn block(field: usize) -> u32 {
    my::DMA_RECEIVE_CHAIN + field as u32
}

/// A DP packet with these bytes behind its header.
pub fn packet(target: u16, source: u16, bytes: &[u8]) -> Vec<u8> {
    let header = my::PacketHeader {
        kind: my::packet_type::DP,
        target,
        source,
        target_point: 1,
        source_point: 2,
        unused: 0,
        length: bytes.len() as u32,
    };
    let mut packet = vec![0; my::PacketHeader::SIZE];
    header.emit(&mut packet);
    [&packet[..], bytes].concat()
}

impl Bench {
    pub fn add_card(&mut self, link: Params) -> usize {
        let card = Card::new(CardParams::new(link));
        self.add(Node::Card(Box::new(card), PlayedHost::new()))
    }

    pub fn get(&mut self, node: usize, addr: u32) -> u32 {
        let (now, mut bytes) = (self.now, [0; 4]);
        self.card(node).host_read(now, addr, &mut bytes).unwrap();
        u32::from_be_bytes(bytes)
    }

    pub fn set(&mut self, node: usize, addr: u32, value: u32) {
        let now = self.now;
        self.card(node).host_write(now, addr, &value.to_be_bytes()).unwrap();
    }

    pub fn write(&mut self, node: usize, addr: u32, bytes: &[u8]) {
        let now = self.now;
        self.card(node).host_write(now, addr, bytes).unwrap();
    }

    /// Lets time pass until `done`, at most 20 ms; says why it is not, if it is not.
    pub fn wait(
        &mut self,
        what: &str,
        mut done: impl FnMut(&mut Bench) -> bool,
    ) -> Result<(), Trouble> {
        let end = self.now + Duration::from_us(20_000);
        while !done(self) {
            for node in 0..self.nodes.len() {
                if let Node::Card(card, _) = &self.nodes[node]
                    && let Some(stopped) = card.stopped()
                {
                    return Err(Trouble::Stopped { node, stopped });
                }
            }
            if self.now >= end {
                return Err(Trouble::Missing(what.to_owned()));
            }
            self.pass(Duration::from_ns(500));
        }
        Ok(())
    }

    /// Loads the control program and lets it go.
    pub fn boot(&mut self, node: usize, image: &Image) -> Result<(), Trouble> {
        self.write(node, 0, &image.flat);
        self.set(node, my::BOARD_SPECIAL + register::EIMR, isr::HOST);
        self.set(node, my::BOARD_CONTROL, board_control::RESET_OFF | board_control::INTERRUPT_ON);
        self.wait("the control program", |bench| {
            bench.get(node, area(command_area::READY)) == my::READY
        })
    }

    pub fn set_route(&mut self, node: usize, to: u32, route: &[u8]) {
        self.write(node, my::REGION_ROUTES_BASE + my::ROUTE_SIZE * to, route);
    }

    /// Asks for a packet to be sent.
    pub fn ask(&mut self, node: usize, packet: &[u8]) {
        self.write(node, my::REGION_SEND_BASE, packet);
        self.set(node, area(command_area::LENGTH), packet.len() as u32);
        self.set(node, area(command_area::COMMAND), command::SEND);
    }

    /// Sends a packet as the driver does: waits until the card is free, asks, waits until it is done.
    pub fn send(&mut self, node: usize, packet: &[u8]) -> Result<u32, Trouble> {
        let done = |bench: &mut Bench| bench.get(node, area(command_area::COMMAND)) == 0;
        self.wait("a free card", done)?;
        self.ask(node, packet);
        self.wait("the end of sending", done)?;
        Ok(self.get(node, area(command_area::STATUS)))
    }

    /// Receives a packet as the driver does: at the interrupt, by DMA that it starts.
    pub fn receive(&mut self, node: usize) -> Result<Vec<u8>, Trouble> {
        self.wait("the interrupt", |bench| bench.host(node).line)?;
        self.set(node, my::BOARD_SPECIAL + register::ISR, isr::HOST);
        let length = self.get(node, block(dma_block::LENGTH));
        self.set(node, block(dma_block::HOST_HI), (MEMORY >> 32) as u32);
        self.set(node, block(dma_block::HOST_LO), MEMORY as u32);
        self.set(node, my::BOARD_CONTROL, board_control::DMA_1);
        self.wait("the DMA's end", |bench| bench.get(node, area(command_area::WAITING)) == 0)?;
        Ok(self.host(node).memory[..length as usize].to_vec())
    }
}
