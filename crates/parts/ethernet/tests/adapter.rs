//! Tests of the adapter as its driver sees it.
#![allow(clippy::unwrap_used)]

use bus::BusError;
use des::{Duration, Time};
use ethernet::{register, Adapter, AdapterParams, Board, Frame, Wire};

const OWN: [u8; 6] = [2, 0x53, 0, 0, 0, 7];
const WIRE: Wire = Wire { byte: Duration(80_000), delay: Duration(50_000) };
const PARAMS: AdapterParams =
    AdapterParams { wire: WIRE, dma_start: Duration(300_000), dma_rate: 100_000_000 };
const RING: u32 = 0x1000;
const MEMORY: usize = 1 << 16;

/// A host's memory, and the events on the board.
struct Desk {
    memory: Vec<u8>,
    interrupts: Vec<u64>,
    sent: Vec<(u64, Frame)>,
    due: Vec<(u64, bool)>,
}

impl Board for Desk {
    fn read(&mut self, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
        buf.copy_from_slice(&self.memory[addr as usize..addr as usize + buf.len()]);
        Ok(())
    }
    fn write(&mut self, addr: u64, data: &[u8]) -> Result<(), BusError> {
        self.memory[addr as usize..addr as usize + data.len()].copy_from_slice(data);
        Ok(())
    }
    fn interrupt(&mut self, at: Time) {
        self.interrupts.push(at.0);
    }
    fn send(&mut self, end: Time, frame: Frame) {
        self.sent.push((end.0, frame));
    }
    fn sent_at(&mut self, at: Time) {
        self.due.push((at.0, true));
    }
    fn moved_at(&mut self, at: Time) {
        self.due.push((at.0, false));
    }
}

struct Bench {
    adapter: Adapter,
    desk: Desk,
    now: u64,
}

impl Bench {
    /// A bench after the driver's start: a ring of 8 KB, frames for it and for all, interrupts for both
    /// directions.
    fn new() -> Bench {
        let desk = Desk { memory: vec![0; MEMORY], interrupts: vec![], sent: vec![], due: vec![] };
        let mut bench = Bench { adapter: Adapter::new(PARAMS, OWN), desk, now: 0 };
        bench.store(register::COMMAND, &[1 << 4]);
        bench.store(register::RX_RING, &RING.to_le_bytes());
        bench.store(register::COMMAND, &[1 << 3 | 1 << 2]);
        bench.store(register::RX_CONFIG, &(1_u32 << 3 | 1 << 1 | 1 << 7).to_le_bytes());
        bench.store(register::INTERRUPT_MASK, &0x15_u16.to_le_bytes());
        bench
    }
    fn store(&mut self, offset: u8, data: &[u8]) {
        self.adapter.store(Time(self.now), offset, data, &mut self.desk).unwrap();
    }
    /// Handles all pending events.
    fn settle(&mut self) {
        while !self.desk.due.is_empty() {
            self.desk.due.sort_unstable();
            let (at, sent) = self.desk.due.remove(0);
            self.now = at;
            match sent {
                true => self.adapter.sent(Time(at), &mut self.desk),
                false => self.adapter.moved(Time(at), &mut self.desk).unwrap(),
            }
        }
    }
    fn arrive(&mut self, target: [u8; 6], len: usize) -> Vec<u8> {
        let mut bytes: Vec<u8> = (0..len).map(|at| at as u8).collect();
        bytes[..6].copy_from_slice(&target);
        self.adapter.arrive(Time(self.now), Frame(bytes.clone().into()), &mut self.desk);
        self.settle();
        bytes
    }
    fn causes(&self) -> u32 {
        self.adapter.load(register::INTERRUPT_STATUS) >> 16
    }
    fn is_empty(&self) -> bool {
        self.adapter.load(register::COMMAND) >> 24 & 1 != 0
    }
}

#[test]
fn a_frame_is_read_and_sent_and_its_slot_comes_back() {
    let mut bench = Bench::new();
    let frame: Vec<u8> = (0..100).collect();
    bench.desk.memory[0x8000..0x8064].copy_from_slice(&frame);
    bench.store(register::TX_ADDRESS, &0x8000_u32.to_le_bytes());
    bench.store(register::TX_ADDRESS + 4, &0x8000_u32.to_le_bytes());
    // As soon as 32 bytes are there.
    bench.store(register::TX_STATUS, &(1_u32 << 16 | 100).to_le_bytes());
    assert_eq!(bench.adapter.load(register::TX_STATUS) & 1 << 13, 0);
    bench.store(register::TX_STATUS + 4, &(1_u32 << 16 | 60).to_le_bytes());
    // 8 bytes before the frame and 4 behind it; the second waits for 12 bytes of nothing, and is filled up.
    let first = 300_000 + 320_000 + 112 * 80_000;
    let second = first + 12 * 80_000 + 72 * 80_000;
    let sent: Vec<(u64, usize)> =
        bench.desk.sent.iter().map(|(at, frame)| (*at, frame.0.len())).collect();
    assert_eq!(sent, [(first, 100), (second, 60)]);
    assert_eq!(bench.desk.sent[0].1, Frame(frame.into()));
    bench.settle();
    assert_eq!(bench.adapter.load(register::TX_STATUS) >> 13 & 5, 5, "own, and sent");
    // The second finds the line up.
    assert_eq!((bench.causes(), bench.desk.interrupts.clone()), (4, vec![first]));
    bench.store(register::INTERRUPT_STATUS, &4_u16.to_le_bytes());
    assert_eq!((bench.causes(), bench.desk.interrupts.len()), (0, 1));
}

#[test]
fn frames_stand_one_behind_the_other_in_the_ring() {
    let mut bench = Bench::new();
    assert!(bench.is_empty());
    let first = bench.arrive(OWN, 61);
    bench.arrive([2, 0x53, 0, 0, 0, 8], 61);
    let second = bench.arrive([0xFF; 6], 60);
    assert!(!bench.is_empty());
    let ring = &bench.desk.memory[RING as usize..];
    assert_eq!(ring[..4], [0x01, 0x40, 65, 0]);
    assert_eq!(ring[4..65], first);
    // Header, frame and check sequence, up to a whole word.
    assert_eq!(ring[72..76], [0x01, 0x20, 64, 0]);
    assert_eq!(ring[76..136], second);
    assert_eq!((bench.causes(), bench.desk.interrupts.len()), (1, 1));
    // The driver has read both, less 16.
    bench.store(register::RX_READ, &(72_u16 + 68 - 16).to_le_bytes());
    assert!(bench.is_empty());
}

/// A line that stays up interrupts again: a handler that clears one cause of two gets the other.
#[test]
fn a_line_that_stays_up_interrupts_again() {
    let mut bench = Bench::new();
    bench.arrive(OWN, 60);
    bench.store(register::TX_STATUS, &60_u32.to_le_bytes());
    bench.settle();
    assert_eq!((bench.causes(), bench.desk.interrupts.len()), (5, 1));
    bench.store(register::INTERRUPT_STATUS, &4_u16.to_le_bytes());
    assert_eq!((bench.causes(), bench.desk.interrupts.len()), (1, 2));
    bench.store(register::INTERRUPT_MASK, &0_u16.to_le_bytes());
    bench.arrive(OWN, 60);
    assert_eq!(bench.desk.interrupts.len(), 2);
    bench.store(register::INTERRUPT_MASK, &1_u16.to_le_bytes());
    assert_eq!(bench.desk.interrupts.len(), 3);
}

#[test]
fn a_full_ring_misses_frames_and_says_so() {
    let mut bench = Bench::new();
    for number in 0..6 {
        bench.arrive(OWN, 1514);
        let missed = u32::from(number >= 5);
        assert_eq!(bench.adapter.load(register::RX_MISSED), missed);
        assert_eq!(bench.causes() >> 4 & 1, missed);
    }
    // The sixth would have ended behind the ring; there is room again, and it is complete.
    bench.store(register::RX_READ, &(3 * 1524_u16 - 16).to_le_bytes());
    let last = bench.arrive(OWN, 1514);
    let at = (RING + 5 * 1524 + 4) as usize;
    assert_eq!(bench.desk.memory[at..at + 1514], last);
    assert_eq!(bench.adapter.load(register::RX_WRITTEN) >> 16, 6 * 1524 - 8192);
}
