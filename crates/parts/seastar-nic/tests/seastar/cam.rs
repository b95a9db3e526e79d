//! The CAM: many messages in flight at once.

// Clippy takes only functions with #[test] for tests.
use crate::bench::*;
use abi::packet::{flag, PAYLOAD_BYTES};
use abi::seastar::*;
use des::Duration;
use seastar_nic::Params;

const TARGET: u64 = 0x30_0000;

/// Packets of a message of 128 bytes from `source`, made by hand: a NIC a source would be 256 times 8 MB
/// of host memory.
fn inject(bench: &mut Bench, source: usize, packets: &[u8]) {
    let mut header = [0; 64];
    PortalsHeader { source_nid: source as u16, ..Default::default() }.emit(&mut header);
    for flags in packets {
        let crc = crc32fast::hash(&[&header[..], &[7; 128]].concat());
        let payload = if *flags == flag::FIRST { header } else { [7; PAYLOAD_BYTES] };
        let packet = abi::packet::Packet {
            source: source as u16,
            id: abi::MessageId { source_nid: source as u32, serial: 0 },
            flags: *flags,
            size: 64,
            crc,
            payload,
            ..Default::default()
        };
        bench.call(0, |nic, now, ports| nic.packet(now, packet, ports)).unwrap();
        bench.wait(Duration::from_ns(27));
    }
}

#[test]
fn the_cam_overflows_into_a_notification_and_recovers() {
    let mut bench = Bench::with(1, &Params { rx_buffers: 1024, ..params() });
    for source in 0..CAM_ENTRIES as usize + 2 {
        inject(&mut bench, source, &[flag::FIRST, 0]);
    }
    bench.settle();
    for stream in 0..CAM_ENTRIES {
        assert_eq!(bench.rx_done(0), Some(done::NEW_MESSAGE | stream));
    }
    assert_eq!(bench.rx_done(0), Some(done::CAM_OVERFLOW | 256));
    assert_eq!(bench.rx_done(0), Some(done::CAM_OVERFLOW | 257));
    assert_eq!(bench.rx_done(0), None);
    let counters = bench.nics[0].counters();
    assert_eq!((counters.cam_overflows, counters.rx_dropped_packets), (2, 4));
    assert_eq!((counters.cam_in_use_max, counters.rx_stalls), (256, 0));
    assert_eq!(counters.rx_buffered_bytes_max, 256 * 64);

    inject(&mut bench, 3, &[flag::LAST]);
    bench.rx(0, rx_command(dma_op::PAYLOAD, dma_flag::LAST, 3, 1, TARGET, 128));
    assert_eq!(bench.await_rx(0), done::COMPLETE | 1);
    inject(&mut bench, 300, &[flag::FIRST, 0, flag::LAST]);
    assert_eq!(bench.await_rx(0), done::NEW_MESSAGE | 3, "the freed stream serves again");
}

#[test]
fn a_message_waits_for_a_stream_that_will_be_freed_without_it() {
    let mut bench = Bench::with(1, &Params { rx_buffers: 1024, ..params() });
    for source in 0..CAM_ENTRIES as usize + 2 {
        inject(&mut bench, source, &[flag::FIRST, 0, flag::LAST]);
    }
    bench.settle();
    for stream in 0..CAM_ENTRIES {
        assert_eq!(bench.rx_done(0), Some(done::NEW_MESSAGE | stream));
    }
    assert_eq!(bench.rx_done(0), None, "the 257th waits at the engine");
    for stream in [7, 3] {
        bench.rx(0, rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 1, TARGET, 128));
        let mut seen = [bench.await_rx(0), bench.await_rx(0)];
        seen.sort_unstable();
        assert_eq!(seen, [done::NEW_MESSAGE | stream, done::COMPLETE | 1]);
    }
    let counters = bench.nics[0].counters();
    assert_eq!((counters.cam_overflows, counters.rx_dropped_packets), (0, 0));
    assert_eq!(counters.rx_messages, 258);
}
