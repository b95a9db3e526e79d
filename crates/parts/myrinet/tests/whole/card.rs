//! The card by its registers, without a control program.

use crate::bench::cards::MEMORY;
use crate::bench::Bench;
use crate::trouble::Trouble;
use abi::myrinet::{self as my, board_control, dma, dma_block, isr, register};
use des::Duration;
use myrinet::{Params, Stopped};

const SPECIAL: u32 = my::BOARD_SPECIAL;

fn one() -> Bench {
    let mut bench = Bench::new(&Params::new(Duration::from_ns(50)));
    bench.add_card(Params::new(Duration::from_ns(50)));
    bench
}

/// Writes a DMA block.
fn put_block(bench: &mut Bench, at: u32, next: u32, length: u32, local: u32, host: u64) {
    let fields = [
        (dma_block::NEXT, next),
        (dma_block::LENGTH, length),
        (dma_block::LOCAL, local),
        (dma_block::HOST_HI, (host >> 32) as u32),
        (dma_block::HOST_LO, host as u32),
    ];
    for (offset, value) in fields {
        bench.set(0, at + offset as u32, value);
    }
}

/// Three blocks, from the host, to the host, and back again, of sizes that are no multiples of
/// anything.
pub fn chain(bench: &mut Bench) -> Result<(), Trouble> {
    let first = my::DMA_SEND_CHAIN;
    let bytes: Vec<u8> = (0..1003_u32).map(|n| (n * 13) as u8).collect();
    bench.host(0).memory[5..1008].copy_from_slice(&bytes);
    put_block(bench, first, (first + 24) | dma::FROM_HOST, 1003, 0x9_0001, MEMORY + 5);
    put_block(bench, first + 24, first + 48, 1003, 0x9_0001, MEMORY + 0x2_0003);
    put_block(
        bench,
        first + 48,
        dma::FROM_HOST | dma::TERMINAL | dma::WAKE,
        7,
        0xa_0000,
        MEMORY + 0x2_0003,
    );
    bench.set(0, my::BOARD_CONTROL, board_control::DMA_0);
    bench.wait("the end of the chain", |bench| {
        bench.get(0, SPECIAL + register::ISR) & isr::WAKE != 0
    })?;
    if bench.host(0).memory[0x2_0003..][..1003] != bytes {
        return Err(Trouble::HostBytes);
    }
    if bench.card(0).sram()[0xa_0000..][..8] != [&bytes[..7], &[0]].concat() {
        return Err(Trouble::CardBytes);
    }
    let counters = bench.card(0).counters();
    if (counters.blocks, counters.bytes_moved) != (3, 2013) {
        return Err(Trouble::Counters(Box::new(counters)));
    }
    // Ones' complement sum, as the headers of IP have it.
    let halves =
        bytes.chunks(2).map(|two| u32::from(two[0]) << 8 | u32::from(*two.get(1).unwrap_or(&0)));
    let sum: u32 = halves.sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    match bench.get(0, first + dma_block::SUMS as u32) == sum << 16 {
        true => Ok(()),
        false => Err(Trouble::Sum),
    }
}

#[test]
fn dma_follows_its_chain() {
    chain(&mut one()).unwrap();
}

#[test]
fn a_chain_without_end_is_named() {
    let mut bench = one();
    put_block(&mut bench, my::DMA_SEND_CHAIN, 0, 64, 0x9_0000, MEMORY);
    bench.set(0, my::BOARD_CONTROL, board_control::DMA_0);
    bench.pass(Duration::from_us(100));
    let stopped = bench.card(0).stopped().unwrap();
    assert!(matches!(stopped, Stopped::Chain { chain: 0, block: 0, .. }), "{stopped}");
    assert!(stopped.to_string().contains("no terminal bit"), "{stopped}");
}

#[test]
fn a_block_beyond_the_memory_is_named() {
    let mut bench = one();
    put_block(&mut bench, my::DMA_RECEIVE_CHAIN, dma::TERMINAL, 64, 0x1f_fff0, MEMORY);
    bench.set(0, my::BOARD_CONTROL, board_control::DMA_1);
    bench.pass(Duration::from_us(100));
    let stopped = bench.card(0).stopped().unwrap();
    assert!(matches!(stopped, Stopped::Block { chain: 1, .. }), "{stopped}");
}

#[test]
fn the_clock_and_the_timers_count_half_microseconds() {
    let mut bench = one();
    let clock = bench.get(0, SPECIAL + register::RTC);
    bench.set(0, SPECIAL + register::IT1, 10);
    bench.pass(Duration::from_us(4));
    assert_eq!(bench.get(0, SPECIAL + register::RTC), clock + 8);
    assert_eq!(bench.get(0, SPECIAL + register::IT1), 2);
    assert_eq!(bench.get(0, SPECIAL + register::ISR), 0);
    bench.pass(Duration::from_us(2));
    assert_eq!(bench.get(0, SPECIAL + register::ISR), isr::TIME1);
    bench.set(0, SPECIAL + register::ISR, isr::TIME1);
    assert_eq!(bench.get(0, SPECIAL + register::ISR), 0);
}

/// Interrupts, by mask and switch.
pub fn interrupts(bench: &mut Bench) -> Result<(), Trouble> {
    let line = |bench: &mut Bench| {
        bench.pass(Duration::from_us(1));
        bench.host(0).line
    };
    bench.set(0, my::BOARD_DOORBELLS + 3 * my::DOORBELL_SIZE + 4, 77);
    let mut seen = vec![line(bench)];
    bench.set(0, SPECIAL + register::EIMR, isr::HOST);
    bench.set(0, my::BOARD_CONTROL, board_control::INTERRUPT_ON);
    seen.push(line(bench));
    bench.set(0, SPECIAL + register::EIMR, isr::DOORBELL);
    seen.push(line(bench));
    bench.set(0, my::BOARD_CONTROL, board_control::INTERRUPT_OFF);
    seen.push(line(bench));
    bench.set(0, my::BOARD_CONTROL, board_control::INTERRUPT_ON);
    seen.push(line(bench));
    bench.set(0, SPECIAL + register::ISR, isr::DOORBELL);
    seen.push(line(bench));
    let queue = [0, 4].map(|offset| bench.get(0, my::DOORBELL_QUEUE + offset));
    match (&*seen, queue) {
        ([false, false, true, false, true, false], [0x3004, 77]) => Ok(()),
        _ => Err(Trouble::Interrupts { lines: seen, queue }),
    }
}

#[test]
fn doorbells_interrupt_if_they_may() {
    interrupts(&mut one()).unwrap();
}

/// The card takes all of its space: who reads where nothing is gets ones.
#[test]
fn what_is_not_there_reads_as_ones_and_takes_nothing() {
    let mut bench = one();
    let now = bench.now;
    let card = bench.card(0);
    for addr in [0x20_0000, 0x7f_fffc, 0x80_0000, SPECIAL + 4, 0xff_fffc] {
        let mut word = [0; 4];
        assert!(card.host_read(now, addr, &mut word).is_ok() && word == [0xFF; 4], "{addr:#x}");
    }
    for addr in [0x20_0000, 0x7f_fffc, 0x80_0000, SPECIAL + 4, 0x100_0000] {
        assert!(card.host_write(now, addr, &[0; 4]).is_err(), "{addr:#x}");
    }
    assert!(card.host_read(now, 0x100_0000, &mut [0; 4]).is_err());
    assert!(card.host_read(now, SPECIAL + register::ISR, &mut [0; 2]).is_err());
    assert!(card.host_read(now, 0x1f_fffe, &mut [0; 4]).is_err(), "over the end");
}

/// Sends so many bytes of the send buffer, all of this value.
fn send_all(bench: &mut Bench, node: usize, byte: u8, bytes: u32) {
    bench.write(node, my::REGION_SEND_BASE, &vec![byte; bytes as usize]);
    bench.set(node, SPECIAL + register::SMP, my::REGION_SEND_BASE);
    bench.set(node, SPECIAL + register::SMH, my::REGION_SEND_BASE);
    bench.set(node, SPECIAL + register::SMLT, my::REGION_SEND_BASE + bytes);
}

/// Lets the next packet in.
fn let_in(bench: &mut Bench, node: usize) {
    bench.set(node, SPECIAL + register::RMP, my::REGION_RECEIVE_BASE);
    bench.set(node, SPECIAL + register::RML, my::REGION_RECEIVE_BASE + my::REGION_RECEIVE_SIZE);
}

/// A packet of 12 us is coming in when the processor is reset, and the next is let in: the rest of the first
/// is no packet, and no bit of it is left.
#[test]
fn a_reset_within_a_packet_loses_that_one_only() {
    let params = Params::new(Duration::from_ns(50));
    let mut bench = one();
    let second = bench.add_card(params);
    bench.connect((0, 0), (second, 0));
    let_in(&mut bench, second);
    send_all(&mut bench, 0, 1, 3000);
    bench.pass(Duration::from_us(4));
    bench.set(second, my::BOARD_CONTROL, board_control::RESET_ON);
    let_in(&mut bench, second);
    bench.pass(Duration::from_us(30));
    assert_eq!(bench.get(second, SPECIAL + register::ISR), 0);
    send_all(&mut bench, 0, 2, 100);
    bench.pass(Duration::from_us(10));
    assert_eq!(bench.get(second, SPECIAL + register::ISR), isr::RECV);
    let end = bench.get(second, SPECIAL + register::RMW);
    // No CRC-32 is checked, or taken off, unless a program asks for it.
    assert_eq!(end, my::REGION_RECEIVE_BASE + 100);
    assert_eq!(bench.card(second).sram()[my::REGION_RECEIVE_BASE as usize..][..100], [2; 100]);
}

/// The link holds the first packet back, of whatever length; once it has been read the second is asked for.
/// The first one's CRCs may not have left by then, and stand before the second all the same.
#[test]
fn a_packet_ends_before_the_next_begins() {
    let params = Params::new(Duration::from_ns(50));
    let mut bench = one();
    let second = bench.add_card(params);
    bench.connect((0, 0), (second, 0));
    for node in [0, second] {
        bench.set(node, SPECIAL + register::MYRINET, my::mode::CRC32);
    }
    let mut held_back = 0;
    for bytes in 1..200 {
        send_all(&mut bench, 0, 1, bytes);
        bench.pass(Duration::from_us(5));
        held_back += u32::from(bench.card(second).held() < u64::from(bytes) + 5);
        let has_been_read = bench.get(0, SPECIAL + register::ISR) & isr::SEND != 0;
        if has_been_read {
            bench.set(0, SPECIAL + register::ISR, isr::SEND);
            send_all(&mut bench, 0, 2, 20);
        }
        for (length, byte) in [(bytes, 1), (20, 2)] {
            let_in(&mut bench, second);
            bench.pass(Duration::from_us(5));
            let status = bench.get(second, SPECIAL + register::ISR);
            assert_eq!(status, isr::RECV, "{bytes} bytes: {status:#x}");
            bench.set(second, SPECIAL + register::ISR, isr::RECV);
            let end = bench.get(second, SPECIAL + register::RMW);
            assert_eq!(end, my::REGION_RECEIVE_BASE + length, "{bytes} bytes");
            let came = &bench.card(second).sram()[my::REGION_RECEIVE_BASE as usize..];
            assert!(came[..length as usize].iter().all(|other| *other == byte), "{bytes} bytes");
            if !has_been_read && byte == 1 {
                send_all(&mut bench, 0, 2, 20);
                bench.pass(Duration::from_us(5));
            }
        }
        bench.set(0, SPECIAL + register::ISR, isr::SEND);
    }
    assert!(held_back > 50, "{held_back}");
}

/// A program on the card that stores into the guard region is stopped, with its address.
#[test]
fn a_store_into_the_guard_region_is_a_fault() {
    let mut bench = one();
    // mov 0x40000, %r6; st %r7, 4[%r6].
    bench.set(0, 0, 0xf312_0000);
    bench.set(0, 4, 0x939a_0004);
    bench.set(0, my::BOARD_CONTROL, board_control::RESET_OFF);
    bench.pass(Duration::from_us(1));
    let text = bench.card(0).stopped().unwrap().to_string();
    assert!(text.ends_with("pc 0x000004: store into the guard region at 0x040004"), "{text}");
}
