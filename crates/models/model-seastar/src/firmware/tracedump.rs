//! The firmware's trace ring, decoded as pedretti2005 Figure 2 prints it.
//!
//! A line is timestamp, user value, second word of the record, place, and the time to the *next* trace point:
//! the figure's own numbers show that its deltas look forward, and that a tick is one processor cycle.

use abi::seastar::{niccb, TraceRecord, NICCB_BASE, TRACE_BASE, TRACE_COUNT};
use bus::Memory;
use des::{Clock, Duration};
use machine::firmware::symbols::Symbols;
use std::fmt::Write as _;

/// Trace points keep 24 bits of their address; the rest is that of the SRAM at the top of memory.
const PC_HIGH: u32 = 0xFF00_0000;

/// One trace point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Point {
    /// Lower word of the time base, in processor cycles.
    pub timestamp: u32,
    /// The user's value.
    pub value: u8,
    /// The trace point's address.
    pub pc: u32,
    /// Time to the next trace point; `None` for the last.
    pub delta: Option<Duration>,
}

/// Word of `niccb.tracebuf_info` that holds the index of the next record.
const NEXT_RECORD: usize = 2;

/// The trace points of a node's SRAM.
pub fn of(sram: &Memory, clock: &Clock) -> Vec<Point> {
    let ring = sram.bytes(TRACE_BASE.into(), TRACE_COUNT as usize * TraceRecord::SIZE);
    let word = u64::from(NICCB_BASE) + (niccb::TRACEBUF_INFO + 4 * NEXT_RECORD) as u64;
    let ring = ring.expect("the trace ring stands in SRAM");
    let next = sram.read_u32(word).expect("the control block stands in SRAM");
    decode(&ring, next, clock)
}

/// Decodes the ring: `bytes` are all its records in memory order, `next` is the index that the firmware would
/// write next (counted round the ring or without end), `clock` the processor's. Oldest point first.
fn decode(bytes: &[u8], next: u32, clock: &Clock) -> Vec<Point> {
    let records: Vec<TraceRecord> =
        bytes.chunks_exact(TraceRecord::SIZE).filter_map(TraceRecord::parse).collect();
    if records.is_empty() {
        return Vec::new();
    }
    let (newer, older) = records.split_at(next as usize % records.len());
    // The ring starts zeroed; a record that was written has a return address in it.
    let written = |record: &&TraceRecord| record.value_pc & !PC_HIGH != 0;
    let mut points: Vec<Point> = older.iter().chain(newer).filter(written).map(point).collect();
    for index in 1..points.len() {
        let ticks = points[index].timestamp.wrapping_sub(points[index - 1].timestamp);
        points[index - 1].delta = Some(clock.cycles(u64::from(ticks)));
    }
    points
}

fn point(record: &TraceRecord) -> Point {
    Point {
        timestamp: record.timestamp,
        value: (record.value_pc >> 24) as u8,
        pc: PC_HIGH | record.value_pc,
        delta: None,
    }
}

/// One line of the dump, without the line end.
pub fn line(point: &Point, symbols: &Symbols) -> String {
    let word = u32::from(point.value) << 24 | point.pc & !PC_HIGH;
    let mut line = format!("{:08x}: {}: {word:08x} ", point.timestamp, point.value);
    let written = match symbols.function(point.pc) {
        Some((name, offset)) => write!(line, "{name}+{offset:04x}"),
        None => write!(line, "?"),
    };
    let written = written.and_then(|()| match point.delta {
        Some(Duration(ps)) if ps % 1000 == 0 => write!(line, " ({} ns)", ps / 1000),
        Some(delta) => write!(line, " ({:.1} ns)", delta.as_ns()),
        None => write!(line, " (last)"),
    });
    written.expect("writing to a string");
    line
}

/// The whole dump, a line a trace point.
pub fn dump(points: &[Point], symbols: &Symbols) -> String {
    points.iter().map(|point| line(point, symbols) + "\n").collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::firmware::symbols::Symbol;

    /// Timestamp, user value, address, function, offset and delta (ns) of the records of pedretti2005
    /// Figure 2.
    const FIGURE_2: [(u32, u8, u32, &str, u32, u64); 10] = [
        (0xe468_1e8b, 24, 0xff0c4c, "mainloop", 0x14, 178),
        (0xe468_1ee4, 99, 0xff313c, "rx_complete", 0x1c, 84),
        (0xe468_1f0e, 0, 0xff318c, "rx_complete", 0x6c, 24),
        (0xe468_1f1a, 0, 0xff3198, "rx_complete", 0x78, 374),
        (0xe468_1fd5, 5, 0xff12b4, "handle_command", 0x30, 156),
        (0xe468_2023, 0, 0xff24b0, "goaccel_tx_command", 0x1c, 80),
        (0xe468_204b, 0, 0xff24c0, "goaccel_tx_command", 0x2c, 40),
        (0xe468_205f, 0, 0xff2124, "resolve_source", 0x30, 18),
        (0xe468_2068, 0, 0xff212c, "resolve_source", 0x38, 102),
        (0xe468_209b, 0, 0xff2504, "goaccel_tx_command", 0x70, 290),
    ];

    fn clock() -> Clock {
        Clock::from_hz(500_000_000)
    }

    fn ring(slots: usize, first: usize, records: &[(u32, u32)]) -> Vec<u8> {
        let mut bytes = vec![0; slots * TraceRecord::SIZE];
        for (place, (timestamp, value_pc)) in records.iter().enumerate() {
            let slot = (first + place) % slots * TraceRecord::SIZE;
            let record = TraceRecord { timestamp: *timestamp, value_pc: *value_pc };
            record.emit(&mut bytes[slot..slot + TraceRecord::SIZE]);
        }
        bytes
    }

    fn figure_2() -> Vec<(u32, u32)> {
        let mut records: Vec<_> =
            FIGURE_2.iter().map(|r| (r.0, u32::from(r.1) << 24 | r.2 & 0xff_ffff)).collect();
        // The figure is cut from a longer dump: its last delta says when the next trace point was hit.
        let (timestamp, .., delta) = FIGURE_2[9];
        records.push((timestamp + delta as u32 / 2, 0x00ff_0c4c));
        records
    }

    fn symbols() -> Symbols {
        let functions = FIGURE_2.iter().map(|(_, _, pc, name, offset, _)| Symbol {
            name: name.to_string(),
            address: PC_HIGH | (pc - offset),
            size: 0x100,
        });
        Symbols::of_functions(functions.collect())
    }

    #[test]
    fn the_published_records_give_the_published_deltas() {
        // The records may be anywhere in the ring.
        for (first, next) in [(0, 11), (9, 9 + 11), (15, 10 + 16 * 7)] {
            let points = decode(&ring(16, first, &figure_2()), next, &clock());
            assert_eq!(points.len(), 11);
            for (point, published) in points.iter().zip(&FIGURE_2) {
                assert_eq!(point.delta, Some(Duration::from_ns(published.5)));
            }
            let sum: Duration = points.iter().filter_map(|point| point.delta).sum();
            assert_eq!(sum, Duration::from_ns(1346));
        }
    }

    #[test]
    fn lines_read_as_published() {
        let points = decode(&ring(16, 0, &figure_2()), 11, &clock());
        let dump = dump(&points, &symbols());
        for (line, (timestamp, value, pc, name, offset, delta)) in dump.lines().zip(FIGURE_2) {
            let expected = format!(
                "{timestamp:08x}: {value}: {value:02x}{pc:06x} {name}+{offset:04x} ({delta} ns)"
            );
            assert_eq!(line, expected);
        }
        assert_eq!(dump.lines().next(), Some("e4681e8b: 24: 18ff0c4c mainloop+0014 (178 ns)"));
        let last = "e468212c: 0: 00ff0c4c mainloop+0014 (last)";
        assert_eq!(dump.lines().last(), Some(last));
    }

    #[test]
    fn full_wrapped_empty_and_odd_rings() {
        let records: Vec<(u32, u32)> = (0..4).map(|n| (n * 7, 0xff_0000 + 4 * n + 4)).collect();
        // Full: the slot written next holds the oldest record.
        let points = decode(&ring(4, 2, &records), 2, &clock());
        let stamps: Vec<u32> = points.iter().map(|point| point.timestamp).collect();
        assert_eq!(stamps, [0, 7, 14, 21]);
        // The time base wraps.
        let wrapped = ring(4, 0, &[(u32::MAX, 0xff_0004), (1, 0xff_0004)]);
        assert_eq!(decode(&wrapped, 2, &clock())[0].delta, Some(Duration::from_ns(4)));
        assert!(decode(&[0; 64], 0, &clock()).is_empty());
        assert!(decode(&[], 3, &clock()).is_empty());
        // A clock with odd cycles, an address that is in no function.
        let points = decode(&wrapped, 2, &Clock::from_hz(400_000_000));
        assert_eq!(line(&points[0], &Symbols::default()), "ffffffff: 0: 00ff0004 ? (5 ns)");
        let points = decode(&wrapped, 2, &Clock::from_hz(300_000_000));
        assert!(line(&points[0], &Symbols::default()).ends_with("(6.7 ns)"));
    }
}
