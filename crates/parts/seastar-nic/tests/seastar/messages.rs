//! Messages from host memory to host memory through both engines.

use crate::bench::*;
use abi::packet::flag;
use abi::seastar::*;
use des::{Duration, Time};
use proptest::prelude::*;
use seastar_nic::{Params, TracePoint};

const HEADER: u64 = 0x1004;
const SOURCE: u64 = 0x10_0000;
const TARGET: u64 = 0x30_0000;

/// Sends `len` bytes from `source` and receives them at `target`; returns the bench, settled.
fn transfer(len: usize, source: u64, target: u64) -> Bench {
    let mut bench = Bench::new(2);
    let payload = pattern(len, len as u64 + 1);
    bench.nodes[0].host[source as usize..][..len].copy_from_slice(&payload);
    let header = bench.header(0, HEADER, 77, len as u32);
    let segments = [(source, len as u32)];
    bench.send(0, 1, 9, HEADER, if len == 0 { &[] } else { &segments });
    let word = bench.await_rx(1);
    assert_eq!(word & done::KIND_MASK, done::NEW_MESSAGE);
    let stream = word & 0xffff;
    assert_eq!(bench.slot(1, stream), header);
    let op = if len == 0 { dma_op::DISCARD } else { dma_op::PAYLOAD };
    bench.rx(1, rx_command(op, dma_flag::LAST, stream, 21, target, len as u32));
    assert_eq!(bench.await_rx(1), done::COMPLETE | 21, "{len} bytes");
    bench.settle();
    assert_eq!(bench.tx_done(0), Some(done::COMPLETE | 9));
    assert_eq!(bench.nodes[1].host[target as usize..][..len], payload, "{len} bytes");
    let around = &bench.nodes[1].host;
    assert!(around[target as usize - 64..target as usize].iter().all(|&byte| byte == 0));
    assert!(around[target as usize + len..][..64].iter().all(|&byte| byte == 0));
    for node in &bench.nodes {
        assert_eq!(node.faults, []);
    }
    bench
}

#[test]
fn messages_of_every_small_size_and_some_large_ones_arrive_whole() {
    for len in (0..=300).chain([4095, 4096, 4097, 100_000, 1 << 20]) {
        transfer(len, SOURCE, TARGET);
    }
}

#[test]
fn buffers_at_every_alignment_arrive_whole() {
    for (source, target) in (0..64).map(|i| (i, 63 - i)).chain([(1, 0), (0, 1)]) {
        transfer(129, SOURCE + source, TARGET + target);
    }
}

#[test]
fn packets_are_full_but_the_last_and_carry_flags_and_crc() {
    let bench = transfer(200, SOURCE + 3, TARGET);
    let sent: Vec<_> = bench.nodes[0].sent.iter().map(|(_, packet)| packet).collect();
    let sizes: Vec<_> = sent.iter().map(|packet| packet.size).collect();
    assert_eq!(sizes, [64, 64, 64, 64, 8]);
    let flags: Vec<_> = sent.iter().map(|packet| packet.flags).collect();
    assert_eq!(flags, [flag::FIRST, 0, 0, 0, flag::LAST]);
    let bytes: Vec<u8> = sent.iter().flat_map(|packet| packet.data().to_vec()).collect();
    assert_eq!(sent[4].crc, crc32fast::hash(&bytes));
    let counters = bench.nics[1].counters();
    assert_eq!((counters.rx_packets, counters.rx_deposited_bytes), (5, 200));
    assert_eq!(counters.cam_in_use, 0);
}

#[test]
fn marks_tell_the_way_of_a_message_in_order() {
    let bench = transfer(100, SOURCE, TARGET);
    let mut marks: Vec<_> = bench.nodes.iter().flat_map(|node| node.marks.clone()).collect();
    marks.sort_by_key(|mark| mark.0);
    assert!(marks.iter().all(|mark| mark.1.source_nid == 0 && mark.1.serial == 77));
    let order: Vec<_> =
        marks.iter().map(|mark| mark.2).filter(|&m| m != TracePoint::Departed).collect();
    assert_eq!(
        order,
        [
            TracePoint::HeaderFetched,
            TracePoint::Injected,
            TracePoint::Arrived,
            TracePoint::Announced,
            TracePoint::Commanded,
            TracePoint::Completed,
            TracePoint::Deposited,
        ]
    );
}

#[test]
fn interleaved_messages_of_two_sources_reach_the_right_buffers() {
    let mut bench = Bench::new(3);
    let (lens, targets) = ([10_000, 9_000], [TARGET, TARGET + 0x10_000]);
    for (node, &len) in lens.iter().enumerate() {
        let payload = pattern(len, node as u64);
        bench.nodes[node].host[SOURCE as usize..][..len].copy_from_slice(&payload);
        bench.header(node, HEADER, 5, len as u32);
        bench.send(node, 2, 0, HEADER, &[(SOURCE, len as u32)]);
    }
    for _ in 0..2 {
        let stream = bench.await_rx(2) & 0xffff;
        let header = PortalsHeader::parse(&bench.slot(2, stream)).unwrap();
        let source = usize::from(header.source_nid);
        let (target, len) = (targets[source], lens[source] as u32);
        bench.rx(2, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 100, target, len));
    }
    bench.settle();
    assert_eq!(bench.await_rx(2), done::COMPLETE | 100);
    assert_eq!(bench.await_rx(2), done::COMPLETE | 100);
    for node in 0..2 {
        let got = &bench.nodes[2].host[targets[node] as usize..][..lens[node]];
        assert_eq!(got, pattern(lens[node], node as u64));
    }
    assert_eq!(bench.nics[2].counters().cam_in_use_max, 2);
}

#[test]
fn a_stream_without_commands_does_not_hold_up_another_while_there_is_room() {
    let mut bench = Bench::with(3, &Params { rx_buffers: 120, ..params() });
    for node in 0..2 {
        bench.header(node, HEADER, 1, 5000);
        bench.send(node, 2, 0, HEADER, &[(SOURCE, 5000)]);
    }
    let held = bench.await_rx(2) & 0xffff;
    let other = bench.await_rx(2) & 0xffff;
    bench.rx(2, rx_command(dma_op::PAYLOAD, dma_flag::LAST, other, 2, TARGET, 5000));
    assert_eq!(bench.await_rx(2), done::COMPLETE | 2);
    bench.settle();
    assert_eq!(bench.rx_done(2), None);
    bench.rx(2, rx_command(dma_op::DISCARD, dma_flag::LAST, held, 1, 0, 5000));
    assert_eq!(bench.await_rx(2), done::COMPLETE | 1);
    assert_eq!(bench.nics[2].counters().rx_discarded_bytes, 5000);
}

/// Packets that the engine cannot hold stay in the network, headers among them, until the stream in front
/// gets its commands; then everything flows.
#[test]
fn a_late_command_stops_the_network_but_nothing_is_lost() {
    let len = 20_000;
    let mut bench = Bench::new(3);
    for node in 0..2 {
        let payload = pattern(len, node as u64);
        bench.nodes[node].host[SOURCE as usize..][..len].copy_from_slice(&payload);
        bench.header(node, HEADER, 1, len as u32);
        bench.send(node, 2, 0, HEADER, &[(SOURCE, len as u32)]);
    }
    bench.settle();
    let counters = bench.nics[2].counters();
    assert_eq!(counters.rx_held_max, u64::from(params().rx_buffers));
    assert_eq!(bench.nics[2].packets_held(), params().rx_buffers);
    assert!(bench.nodes[2].kept.len() > 500);
    for _ in 0..2 {
        let stream = bench.await_rx(2) & 0xffff;
        let header = PortalsHeader::parse(&bench.slot(2, stream)).unwrap();
        let source = u64::from(header.source_nid);
        let target = TARGET + source * 0x10_0000;
        let tag = 100 + source as u16;
        bench.rx(2, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, tag, target, len as u32));
    }
    let mut ends = [bench.await_rx(2), bench.await_rx(2)];
    ends.sort_unstable();
    assert_eq!(ends, [done::COMPLETE | 100, done::COMPLETE | 101]);
    bench.settle();
    for node in 0..2 {
        let target = TARGET as usize + node * 0x10_0000;
        assert_eq!(bench.nodes[2].host[target..][..len], pattern(len, node as u64));
    }
    assert_eq!((bench.nics[2].packets_held(), bench.nodes[2].room), (0, params().rx_buffers));
    assert!(bench.nodes[2].faults.is_empty());
}

/// A message that has lost packets ends with an error, not with a fault of the firmware's.
#[test]
fn a_message_that_lost_packets_completes_with_error() {
    let mut bench = Bench::new(2);
    let mut number = 0;
    bench.tap = Box::new(move |_| {
        number += 1;
        number != 3
    });
    bench.header(0, HEADER, 1, 1000);
    bench.send(0, 1, 0, HEADER, &[(SOURCE, 1000)]);
    let stream = bench.await_rx(1) & 0xffff;
    bench.rx(1, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 4, TARGET, 1000));
    assert_eq!(bench.await_rx(1), done::COMPLETE | done::ERROR | 4);
    bench.settle();
    assert!(bench.nodes[1].faults.is_empty());
    assert_eq!(bench.nics[1].packets_held(), 0);
}

#[test]
fn a_flipped_bit_anywhere_completes_with_error() {
    for (packet, bit) in [(0, 8 * 20), (1, 0), (2, 511), (3, 3)] {
        let mut bench = Bench::new(2);
        let mut count = 0;
        bench.tap = Box::new(move |p| {
            if count == packet {
                p.payload[bit / 8] ^= 1 << (bit % 8);
            }
            count += 1;
            true
        });
        bench.header(0, HEADER, 1, 150);
        bench.send(0, 1, 0, HEADER, &[(SOURCE, 150)]);
        let stream = bench.await_rx(1) & 0xffff;
        bench.rx(1, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 3, TARGET, 150));
        assert_eq!(bench.await_rx(1), done::COMPLETE | 3 | done::ERROR, "packet {packet}");
        assert_eq!(bench.nics[1].counters().rx_crc_errors, 1);
    }
}

#[test]
fn a_wrong_crc_of_a_message_of_one_packet_is_told_with_its_announcement() {
    let mut bench = Bench::new(2);
    bench.tap = Box::new(|packet| {
        packet.payload[60] ^= 4;
        true
    });
    bench.header(0, HEADER, 1, 8);
    bench.send(0, 1, 0, HEADER, &[]);
    let word = bench.await_rx(1);
    assert_eq!(word & !0xffff, done::NEW_MESSAGE | done::ERROR);
    bench.rx(1, rx_command(dma_op::DISCARD, dma_flag::LAST, word & 0xffff, 3, 0, 0));
    assert_eq!(bench.await_rx(1), done::COMPLETE | done::ERROR | 3);
}

#[test]
fn payload_that_nothing_answers_is_an_error_at_both_ends() {
    let mut bench = Bench::new(2);
    bench.header(0, HEADER, 1, 100);
    bench.send(0, 1, 8, HEADER, &[(1 << 36, 100)]);
    let stream = bench.await_rx(1) & 0xffff;
    bench.rx(1, rx_command(dma_op::DISCARD, dma_flag::LAST, stream, 3, 0, 100));
    assert_eq!(bench.await_rx(1), done::COMPLETE | 3 | done::ERROR);
    bench.settle();
    assert_eq!(bench.tx_done(0), Some(done::COMPLETE | 8 | done::ERROR));
    assert_eq!(bench.nics[0].counters().tx_errors, 1);
}

#[test]
fn a_deposit_that_nothing_answers_is_a_fault() {
    let mut bench = Bench::new(2);
    bench.header(0, HEADER, 1, 100);
    bench.send(0, 1, 8, HEADER, &[(SOURCE, 100)]);
    let stream = bench.await_rx(1) & 0xffff;
    bench.rx(1, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 3, 1 << 36, 100));
    bench.settle();
    assert_eq!(bench.nodes[1].faults[0].addr, 1 << 36);
}

#[test]
fn events_written_after_a_completion_arrive_after_the_payload() {
    for len in [1, 64, 5000, 20_000] {
        let mut bench = Bench::new(2);
        bench.write(1, HTB_MAP, HTB_VALID);
        bench.header(0, HEADER, 1, len);
        bench.nodes[0].host[SOURCE as usize..][..len as usize].fill(0x5a);
        bench.send(0, 1, 8, HEADER, &[(SOURCE, len)]);
        let stream = bench.await_rx(1) & 0xffff;
        bench.rx(1, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 3, TARGET, len));
        assert_eq!(bench.await_rx(1), done::COMPLETE | 3);
        bench.write(1, 0x8000, 0xe0e0);
        bench.write(1, REG_INTERRUPT, 0);
        bench.settle();
        let writes = &bench.nodes[1].writes;
        let payload: usize = writes.iter().take(writes.len() - 1).map(|write| write.2).sum();
        assert_eq!(payload, len as usize, "all payload before the event");
        let event = writes.last().unwrap();
        assert_eq!((event.1, event.2), (0x8000, 4));
        assert!(bench.nodes[1].interrupts[0] >= event.0, "the interrupt after the event");
    }
}

#[test]
fn the_transmit_fifo_fills_and_drains() {
    let mut bench = Bench::new(2);
    bench.nodes[0].block_port = true; // one packet leaves, then the network takes no more
    bench.header(0, HEADER, 1, 0);
    let mut queued = 0;
    // Room for packets in the engine, then in the FIFO; the firmware sees a full FIFO by its rule.
    loop {
        bench.wait(Duration::from_us(2));
        let (head, tail) = (bench.read(0, TX_HEAD), bench.read(0, TX_TAIL));
        if (tail + 1) % DMA_FIFO_DEPTH == head {
            break;
        }
        bench.send(0, 1, queued, HEADER, &[]);
        queued += 1;
        assert!(queued < 100);
    }
    assert!(queued >= 63 + 8, "63 in the FIFO, 8 in the engine's buffers, got {queued}");
    bench.nodes[0].block_port = false;
    bench.call(0, |nic, now, ports| nic.injection_free(now, ports));
    bench.settle();
    assert_eq!(bench.read(0, TX_HEAD), bench.read(0, TX_TAIL));
    for tag in 0..queued {
        assert_eq!(bench.tx_done(0), Some(done::COMPLETE | u32::from(tag)));
    }
    assert_eq!(bench.nics[1].counters().rx_messages, u64::from(queued));
}

#[test]
fn many_one_byte_commands_make_one_message() {
    let mut bench = Bench::new(2);
    let payload = pattern(500, 3);
    for (i, &byte) in payload.iter().enumerate() {
        bench.nodes[0].host[SOURCE as usize + 7 * i] = byte;
    }
    bench.header(0, HEADER, 1, 500);
    let segments: Vec<_> = (0..500).map(|i| (SOURCE + 7 * i, 1)).collect();
    bench.send(0, 1, 8, HEADER, &segments);
    let stream = bench.await_rx(1) & 0xffff;
    for i in 0..500 {
        let last = if i == 499 { dma_flag::LAST } else { 0 };
        bench.rx(1, rx_command(dma_op::PAYLOAD, last, stream, 4, TARGET + 3 * i, 1));
    }
    assert_eq!(bench.await_rx(1), done::COMPLETE | 4);
    bench.settle();
    let got: Vec<u8> = (0..500).map(|i| bench.nodes[1].host[TARGET as usize + 3 * i]).collect();
    assert_eq!(got, payload);
}

/// Payload bandwidth of a message of 1 MB while it flows, in bytes a second.
fn steady_bandwidth(params: &seastar_nic::Params, flit: Duration) -> f64 {
    let mut bench = Bench::with(2, params);
    bench.flit = flit;
    let len = 1 << 20;
    bench.header(0, HEADER, 1, len);
    bench.send(0, 1, 0, HEADER, &[(SOURCE, len)]);
    let stream = bench.await_rx(1) & 0xffff;
    bench.rx(1, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 3, TARGET, len));
    assert_eq!(bench.await_rx(1), done::COMPLETE | 3);
    bench.settle();
    let writes = &bench.nodes[1].writes;
    let at = |i: usize| writes[i].0.as_seconds();
    let (first, last) = (writes.len() / 4, writes.len() * 3 / 4);
    let bytes: usize = writes[first + 1..=last].iter().map(|write| write.2).sum();
    bytes as f64 / (at(last) - at(first))
}

#[test]
fn a_long_message_flows_at_the_rate_of_the_slowest_stage() {
    let near = |got: f64, want: f64, stage: &str| {
        assert!((got / want - 1.0).abs() < 0.02, "{stage}: {got:.4e} instead of {want:.4e} B/s");
    };
    let many = seastar_nic::Params { tx_buffers: 64, ..params() };
    // Link: nine flits a packet of 64 bytes.
    near(steady_bandwidth(&many, FLIT), 64.0 / (9.0 * 3e-9), "network link");
    // HyperTransport to the host: 72 bytes a packet on 3.2 GB/s; the network is made faster.
    near(steady_bandwidth(&many, Duration::from_ns(1)), 64.0 / (72.0 / 3.2e9), "HyperTransport");
    // Packetiser.
    let slow = seastar_nic::Params { tx_packet: Duration::from_ns(50), ..many.clone() };
    near(steady_bandwidth(&slow, FLIT), 64.0 / 50e-9, "packetiser");
    // Demultiplexer.
    let slow = seastar_nic::Params { rx_packet: Duration::from_ns(50), ..many.clone() };
    near(steady_bandwidth(&slow, FLIT), 64.0 / 50e-9, "demultiplexer");
    // The rate of DMA, until it is not the slowest.
    let slow = seastar_nic::Params { ht_dma_rate: 1_100_000_000, ..many.clone() };
    near(steady_bandwidth(&slow, FLIT), 1.1e9, "DMA");
    near(steady_bandwidth(&slow, Duration::from_ns(7)), 64.0 / (9.0 * 7e-9), "slow network link");
    let fast = seastar_nic::Params { ht_dma_rate: 2_200_000_000, ..many };
    near(steady_bandwidth(&fast, FLIT), 2.2e9, "fast DMA");
    // Two reads at a time: a round trip is request, memory, response and packetiser.
    let two = seastar_nic::Params { tx_buffers: 2, ..params() };
    let trip = 2.5e-9 + 100e-9 + 60e-9 + 68.0 / 3.2e9 + 100e-9 + 18e-9;
    near(steady_bandwidth(&two, Duration::from_ns(1)), 2.0 * 64.0 / trip, "round trips");
}

#[test]
fn times_repeat_exactly() {
    let marks = |_| {
        let bench = transfer(10_000, SOURCE + 5, TARGET + 9);
        (bench.now, bench.nodes[0].marks.clone(), bench.nodes[1].marks.clone())
    };
    assert_eq!(marks(0), marks(1));
    assert_ne!(marks(0).0, Time::ZERO);
}

fn cut(lens: &[u32], total: u32) -> Vec<u32> {
    let mut left = total;
    let mut pieces: Vec<u32> = lens
        .iter()
        .map(|&len| {
            let piece = len.min(left);
            left -= piece;
            piece
        })
        .collect();
    pieces.push(left);
    pieces
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]
    /// A message of any segments arrives whole in buffers of any other segments, some of them
    /// discarded.
    #[test]
    fn segments_and_discards_at_random(
        total in 0_u32..3000,
        tx in proptest::collection::vec(0_u32..700, 0..8),
        rx in proptest::collection::vec((0_u32..700, any::<bool>()), 0..8),
        skew in 0_u64..64,
        early in any::<bool>(),
    ) {
        let mut bench = Bench::new(2);
        let payload = pattern(total as usize, u64::from(total));
        bench.header(0, HEADER, 1, total);
        let (mut addr, mut at, mut segments) = (SOURCE + skew, 0, Vec::new());
        for len in cut(&tx, total) {
            let bytes = &payload[at..at + len as usize];
            bench.nodes[0].host[addr as usize..][..len as usize].copy_from_slice(bytes);
            segments.push((addr, len));
            at += len as usize;
            addr += u64::from(len) + 13;
        }
        bench.send(0, 1, 1, HEADER, &segments);
        let stream = bench.await_rx(1) & 0xffff;
        if !early {
            bench.settle();
        }
        let pieces = cut(&rx.iter().map(|piece| piece.0).collect::<Vec<_>>(), total);
        let mut addr = TARGET + skew / 3;
        let mut places = Vec::new();
        for (i, &len) in pieces.iter().enumerate() {
            let discard = rx.get(i).is_some_and(|piece| piece.1);
            let op = if discard { dma_op::DISCARD } else { dma_op::PAYLOAD };
            let last = if i + 1 == pieces.len() { dma_flag::LAST } else { 0 };
            bench.rx(1, rx_command(op, last, stream, 2, addr, len));
            places.push((discard, addr, len));
            addr += u64::from(len) + 5;
        }
        prop_assert_eq!(bench.await_rx(1), done::COMPLETE | 2);
        bench.settle();
        prop_assert_eq!(bench.tx_done(0), Some(done::COMPLETE | 1));
        let mut at = 0;
        for (discard, addr, len) in places {
            let got = &bench.nodes[1].host[addr as usize..][..len as usize];
            if discard {
                prop_assert!(got.iter().all(|&byte| byte == 0));
            } else {
                prop_assert_eq!(got, &payload[at..at + len as usize]);
            }
            at += len as usize;
        }
        prop_assert!(bench.nodes.iter().all(|node| node.faults.is_empty()));
        prop_assert_eq!(bench.nics[1].counters().cam_in_use, 0);
    }
}
