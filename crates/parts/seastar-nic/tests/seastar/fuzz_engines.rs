//! The engines go on whatever a firmware writes, and whatever packets come.

use crate::bench::*;
use abi::packet::{flag, Packet, PAYLOAD_BYTES};
use abi::seastar::*;
use des::Duration;

/// Bytes of something that is done to the network interfaces: what, on which node, and with what.
const ACTION: usize = 20;
/// More events than any of these need.
const EVENTS_MAX: u64 = 1_000_000;

fn action(kind: u8, node: u8, rest: &[u8]) -> [u8; ACTION] {
    let mut action = [0; ACTION];
    (action[0], action[1]) = (kind, node);
    action[2..2 + rest.len()].copy_from_slice(rest);
    action
}

fn command(kind: u8, node: u8, command: DmaCommand) -> [u8; ACTION] {
    let mut bytes = [0; DmaCommand::SIZE];
    command.emit(&mut bytes);
    action(kind, node, &bytes)
}

fn has_room(bench: &mut Bench, node: usize, head: u32, tail: u32) -> bool {
    (bench.read(node, tail) + 1) % DMA_FIFO_DEPTH != bench.read(node, head)
}

fn act(bench: &mut Bench, action: &[u8]) {
    let (node, rest) = (usize::from(action[1] % 2), &action[2..]);
    let word = |at: usize| u32::from_le_bytes(rest[at..at + 4].try_into().unwrap());
    let command = DmaCommand::parse(rest).unwrap();
    // Longer ones do more of the same.
    let command = DmaCommand { length: command.length & 0x7ffff, ..command };
    match action[0] % 6 {
        0 if has_room(bench, node, TX_HEAD, TX_TAIL) => bench.tx(node, command),
        1 if has_room(bench, node, RX_HEAD, RX_TAIL) => bench.rx(node, command),
        2 => drop(bench.try_write(node, word(0), &rest[4..4 + rest[8] as usize % 9])),
        3 => bench.wait(Duration::from_ns(u64::from(word(0) & 0xffff))),
        4 => drop((bench.rx_done(node), bench.tx_done(node))),
        5 => {
            let size = rest[0] % (PAYLOAD_BYTES as u8 + 1);
            let mut packet = Packet { dest: node as u16, size, ..Packet::default() };
            (packet.flags, packet.source) = (rest[1], u16::from(rest[2] % 4));
            (packet.message, packet.crc) = (u16::from(rest[3] % 4), word(4));
            packet.payload[..14].copy_from_slice(&rest[4..18]);
            bench.arrive(node, packet);
        }
        _ => {}
    }
}

#[test]
fn fuzz_engines() {
    let header = DmaCommand { peer: 1, tag: 9, ..command_of(dma_op::HEADER, 0, 0x1000, 64) };
    let payload = DmaCommand { tag: 9, ..command_of(dma_op::PAYLOAD, dma_flag::LAST, 0x2000, 300) };
    let wait = action(3, 0, &5000u32.to_le_bytes());
    let receive = rx_command(dma_op::PAYLOAD, dma_flag::LAST, 0, 21, 0x3000, 300);
    let message =
        [command(0, 0, header), command(0, 0, payload), wait, command(1, 1, receive), wait];
    let packet = |flags| action(5, 1, &[64, flags, 0, 1, 1, 0, 0, 0]);
    let packets = [packet(flag::FIRST), packet(0), packet(flag::LAST), wait, action(4, 1, &[])];
    let write = |addr: u32, value: u32| {
        action(2, 0, &[addr.to_le_bytes(), value.to_le_bytes(), 4u32.to_le_bytes()].concat())
    };
    let writes = [write(TX_TAIL, 1), write(RX_TAIL, 31), write(SRAM_BASE, 7), wait];
    let registers = [TX_HEAD, TX_TAIL, RX_HEAD, RX_TAIL, TX_DONE_HEAD, RX_DONE_HEAD, RX_DONE_TAIL];
    fuzz::Target::new("engines")
        .seed(message.concat())
        .seed(packets.concat())
        .seed(writes.concat())
        .words(registers.map(|register| register.to_le_bytes()))
        .run(|bytes| {
            let mut bench = Bench::new(2);
            // There is nobody else.
            bench.tap = Box::new(|packet| packet.dest < 2);
            for index in 0..4 {
                bench.header(0, 0x1000 + 64 * index, index as u32, 300);
            }
            for action in bytes.chunks_exact(ACTION).take(500) {
                act(&mut bench, action);
            }
            while bench.step() {
                assert!(bench.events < EVENTS_MAX, "they never come to an end");
            }
        });
}
