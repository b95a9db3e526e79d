//! Local bus as processor, host and RAS system see it: memory, registers, windows, faults.

use crate::bench::*;
use abi::seastar::*;
use des::{Duration, Time};

#[test]
fn registers_answer_every_width_and_gathered_stores() {
    let mut bench = Bench::new(1);
    let entry = TX_FIFO + 16 * 5;
    // A command written as the compiler likes: byte, half word, word, and two words gathered into
    // one store.
    bench.try_write(0, entry, &[dma_op::PAYLOAD]).unwrap();
    bench.try_write(0, entry + 1, &[dma_flag::LAST]).unwrap();
    bench.try_write(0, entry + 2, &0x1234_u16.to_le_bytes()).unwrap();
    bench.try_write(0, entry + 4, &0x5678_9abc_u32.to_le_bytes()).unwrap();
    bench.try_write(0, entry + 8, &0x1122_3344_5566_7788_u64.to_le_bytes()).unwrap();
    let mut line = [0; 32];
    bench.call(0, |nic, now, ports| nic.plb_read(now, entry.into(), &mut line, ports)).unwrap();
    let command = DmaCommand::parse(&line).unwrap();
    assert_eq!((command.op, command.flags, command.peer), (dma_op::PAYLOAD, 1, 0x1234));
    assert_eq!((command.tag, command.addr_hi), (0x9abc, 0x5678));
    assert_eq!((command.addr_lo, command.length), (0x5566_7788, 0x1122_3344));
    for (offset, want) in line.iter().enumerate() {
        let mut byte = [0];
        let addr = u64::from(entry) + offset as u64;
        bench.call(0, |nic, now, ports| nic.plb_read(now, addr, &mut byte, ports)).unwrap();
        assert_eq!(byte[0], *want);
    }
    // Index registers too.
    bench.try_write(0, TX_DONE_HEAD, &[0xff, 0x03]).unwrap();
    assert_eq!(bench.read(0, TX_DONE_HEAD), 0x3ff);
    bench.try_write(0, TX_DONE_HEAD + 1, &[0]).unwrap();
    assert_eq!(bench.read(0, TX_DONE_HEAD), 0xff);
}

#[test]
fn addresses_and_values_that_no_device_takes_are_errors_with_a_reason() {
    let mut bench = Bench::new(1);
    for (addr, word, why) in [
        (0xf000_0000, 0, "no device answers"),
        (0xffe0_0000, 0, "no device register answers"),
        (HTB_MAP + 4 * WINDOW_COUNT, 0, "no device register answers"),
        (0x1000_0000, 0, "the host window is not mapped"),
        (REG_NID, 7, "the device register is read only"),
        (TX_HEAD, 0, "the device register is read only"),
        (RX_DONE_TAIL, 0, "the device register is read only"),
        (TX_DONE_FIFO, 0, "the device register is read only"),
        (TX_TAIL, DMA_FIFO_DEPTH, "tail index beyond the command FIFO"),
        (RX_TAIL, u32::MAX, "tail index beyond the command FIFO"),
        (RX_DONE_HEAD, DONE_FIFO_DEPTH, "head index beyond the completion FIFO"),
    ] {
        let error = bench.try_write(0, addr, &word.to_le_bytes()).unwrap_err();
        assert_eq!((error.addr, error.why, error.write), (u64::from(addr), why, true));
        bench.call(0, |nic, now, ports| nic.mmio_write(now, addr, &word.to_le_bytes(), ports));
        let fault = bench.nodes[0].faults.pop().expect("the host's wild write is recorded");
        assert!(fault.why == why || addr < HOST_WINDOW_BASE, "{fault}");
    }
    let high = bench.call(0, |nic, now, ports| nic.plb_read(now, 1 << 32, &mut [0; 4], ports));
    assert_eq!(high.unwrap_err().why, "no device answers");
    let mut word = [0; 4];
    bench.call(0, |nic, now, ports| nic.mmio_read(now, 0xffe0_0000, &mut word, ports));
    assert_eq!((word, bench.nodes[0].faults.len()), ([0xff; 4], 1));
}

#[test]
fn host_and_processor_share_sram_and_registers() {
    let mut bench = Bench::new(3);
    bench.call(2, |nic, now, ports| nic.mmio_write(now, MAILBOX_BASE + 8, &[1, 2, 3, 4], ports));
    assert_eq!(bench.read(2, MAILBOX_BASE + 8), 0x0403_0201);
    let mut word = [0; 4];
    bench.now = Time(1_000_000);
    let at = bench.call(2, |nic, now, ports| nic.mmio_read(now, REG_NID, &mut word, ports));
    assert_eq!(u32::from_le_bytes(word), 2);
    assert_eq!(at.since(bench.now), Duration::from_ns(30), "request, register, one beat");
}

#[test]
fn a_local_read_costs_what_the_parameters_say_and_a_host_read_about_ten_times_that() {
    let mut bench = Bench::new(1);
    bench.write(0, HTB_MAP, HTB_VALID);
    bench.now = Time(1_000_000);
    let mut read = |addr: u64, len: usize| {
        bench.now += Duration::from_us(1);
        let mut buf = vec![0; len];
        let at = bench.call(0, |nic, now, ports| nic.plb_read(now, addr, &mut buf, ports)).unwrap();
        at.since(bench.now)
    };
    assert_eq!(read(SRAM_BASE.into(), 4), Duration::from_ns(30));
    assert_eq!(read(SRAM_BASE.into(), 32), Duration::from_ns(30), "the first beat of two");
    let host = read(0x100, 4);
    let want = 10.0 + 10.0 + 2.5 + 100.0 + 60.0 + 2.5 + 100.0 + 10.0 + 5.0;
    assert_eq!(host.as_ns(), want);
}

#[test]
fn transactions_of_one_kind_share_the_data_path() {
    let mut bench = Bench::new(1);
    let mut line = [0; 32];
    let mut read = |at: u64| {
        bench.call(0, |nic, _, ports| {
            nic.plb_read(Time(at), SRAM_BASE.into(), &mut line, ports).unwrap()
        })
    };
    assert_eq!(read(0), Time(30_000));
    assert_eq!(read(0), Time(40_000), "behind two beats of 5 ns");
    assert_eq!(read(100_000), Time(130_000));
    let mut write = || bench.try_write(0, SRAM_BASE, &[0; 32]).unwrap();
    assert_eq!((write(), write()), (Time(25_000), Time(35_000)));
}

#[test]
fn windows_reach_the_host_memory_that_they_are_mapped_to() {
    let mut bench = Bench::new(1);
    bench.write(0, HTB_MAP + 4 * 8, HTB_VALID);
    bench.nodes[0].host[0x1234] = 0xab;
    let mut byte = [0];
    bench.call(0, |nic, now, ports| nic.plb_read(now, 0x8000_1234, &mut byte, ports)).unwrap();
    assert_eq!(byte, [0xab]);
    // The map register holds bits 39..28 of the host address.
    bench.write(0, HTB_MAP + 4 * 9, HTB_VALID | 0x123);
    let error = bench
        .call(0, |nic, now, ports| nic.plb_read(now, 0x9000_0010, &mut byte, ports))
        .unwrap_err();
    assert_eq!((error.addr, error.why), (0x12_3000_0010, "no host memory"));
}

#[test]
fn posted_writes_arrive_later_in_order_and_reads_do_not_pass_them() {
    let mut bench = Bench::new(1);
    bench.write(0, HTB_MAP, HTB_VALID);
    for i in 0..4 {
        bench.write(0, 0x100 + 4 * i, 0x1111_1111 * (i + 1));
    }
    bench.write(0, REG_INTERRUPT, 1);
    bench.write(0, 0x200, 9);
    assert_eq!(bench.nodes[0].host[0x100], 0, "still on its way");
    assert_eq!(bench.read(0, 0x104), 0x2222_2222, "a read sees earlier writes");
    bench.settle();
    let node = &bench.nodes[0];
    let order: Vec<_> = node.writes.iter().map(|write| write.1).collect();
    assert_eq!(order, [0x100, 0x104, 0x108, 0x10c, 0x200]);
    assert!(node.writes[3].0 <= node.interrupts[0] && node.interrupts[0] <= node.writes[4].0);
    assert!(node.writes[0].0 > Time(100_000), "the link's latency");
    assert_eq!(bench.nics[0].counters().interrupts, 1);
}

#[test]
fn a_gathered_write_is_one_packet_of_doublewords() {
    // Address, length, bytes on the link: 8 of header, a mask of 4 unless whole doublewords, data.
    for (addr, len, bytes) in
        [(0x100, 16, 24), (0x104, 12, 20), (0x100, 1, 16), (0x103, 2, 20), (0x105, 11, 24)]
    {
        let mut bench = Bench::new(1);
        bench.write(0, HTB_MAP, HTB_VALID);
        bench.now = Time(1_000_000);
        bench.try_write(0, addr, &[7; 16][..len]).unwrap();
        // 10 ns to the grant, 5 for the beat, 10 to make the packet; 0.3125 ns a byte.
        let free = bench.nodes[0].link.free_at(bus::Direction::ToHost);
        let sent = free.since(bench.now + Duration::from_ns(25));
        assert_eq!(sent, Duration::of_transfer(bytes, HT_BYTES_PER_SECOND), "{addr:#x} {len}");
        bench.settle();
        let node = &bench.nodes[0];
        let writes: Vec<_> = node.writes.iter().map(|&(_, addr, len)| (addr, len)).collect();
        assert_eq!(writes, [(addr.into(), len)]);
        assert_eq!(node.host[addr as usize..][..len], [7; 16][..len]);
    }
}

#[test]
fn a_busy_link_keeps_the_slot_of_a_posted_write() {
    let mut bench = Bench::new(1);
    bench.write(0, HTB_MAP, HTB_VALID);
    bench.nodes[0].link.send(Time::ZERO, bus::Direction::ToHost, 32_000); // 10 us
    let free = bench.try_write(0, 0x100, &[0; 4]).unwrap();
    assert!(free > Time(10_000_000));
}

#[test]
fn the_ras_system_reads_and_writes_everything_in_no_time() {
    let mut bench = Bench::new(1);
    bench.nics[0].sram_mut().write_u32(READY_FLAG.into(), READY_VALUE).unwrap();
    let mut word = [0; 4];
    let mut read = |bench: &mut Bench, addr: u32| {
        bench.call(0, |nic, _, ports| nic.ras_read(addr.into(), &mut word, ports)).unwrap();
        u32::from_le_bytes(word)
    };
    assert_eq!(read(&mut bench, READY_FLAG), READY_VALUE);
    let write = |bench: &mut Bench, addr: u32, word: u32| {
        let data = word.to_le_bytes();
        bench.call(0, |nic, now, ports| nic.ras_write(now, addr.into(), &data, ports)).unwrap();
    };
    write(&mut bench, HTB_MAP + 4, HTB_VALID);
    write(&mut bench, 0x1000_0040, 77);
    assert_eq!(bench.nodes[0].host[0x40], 77);
    assert_eq!(read(&mut bench, 0x1000_0040), 77);
    write(&mut bench, SRAM_BASE, 5);
    assert_eq!((read(&mut bench, SRAM_BASE), read(&mut bench, HTB_MAP + 4)), (5, HTB_VALID));
    let error = bench.call(0, |nic, _, ports| nic.ras_read(0xf000_0000, &mut [0], ports));
    assert_eq!(error.unwrap_err().why, "no device answers");
    let counters = bench.nics[0].counters();
    assert_eq!((counters.sram_accesses, counters.register_accesses), (0, 0));
}

#[test]
fn the_panic_register_stops_the_node_with_its_reason() {
    let mut bench = Bench::new(1);
    let word = u32::from(panic_reason::NO_SOURCE) << 24 | 0x42;
    bench.write(0, REG_PANIC, word);
    assert_eq!(bench.nodes[0].panics, [(panic_reason::NO_SOURCE, 0x42)]);
    assert_eq!(bench.read(0, REG_PANIC), word);
}

/// Gives commands to an engine and returns the only fault's address and reason.
fn fault_of(bench: &mut Bench, rx: bool, commands: &[DmaCommand]) -> (u64, &'static str) {
    for &command in commands {
        if rx {
            bench.rx(0, command)
        } else {
            bench.tx(0, command)
        }
    }
    bench.settle();
    let faults = std::mem::take(&mut bench.nodes[0].faults);
    assert_eq!(faults.len(), 1, "{faults:?}");
    (faults[0].addr, faults[0].why)
}

#[test]
fn ill_formed_transmit_commands_are_faults_that_name_the_command() {
    let mut bench = Bench::new(1);
    let header = command(dma_op::HEADER, 0, 0x1000, 64);
    let last = command(dma_op::PAYLOAD, dma_flag::LAST, 0x2000, 10);
    let at = |index: u32| u64::from(TX_FIFO) + 16 * u64::from(index);
    let unaligned = command(dma_op::HEADER, dma_flag::LAST, 0x1002, 64);
    assert_eq!(
        fault_of(&mut bench, false, &[unaligned]),
        (at(0), "header at an unaligned address")
    );
    assert_eq!(
        fault_of(&mut bench, false, &[last]),
        (at(1), "payload command outside of a message")
    );
    assert_eq!(
        fault_of(&mut bench, false, &[header, header, last]),
        (at(3), "header command inside of a message")
    );
    let unknown = command(9, 0, 0, 0);
    let why = "unknown operation of a transmit command";
    assert_eq!(fault_of(&mut bench, false, &[unknown]), (at(5), why));
    let far = DmaCommand { addr_hi: 0x100, ..header };
    assert_eq!(fault_of(&mut bench, false, &[far]), (at(6), "host address of more than 40 bits"));
    // Nothing is stuck, and the one good message among them has left.
    let nop = command(dma_op::NOP, 0, 0, 0);
    bench.tx(0, nop);
    bench.settle();
    assert_eq!(bench.read(0, TX_HEAD), bench.read(0, TX_TAIL));
    assert_eq!(bench.tx_done(0), Some(done::COMPLETE));
    assert_eq!(bench.tx_done(0), None);
}

#[test]
fn ill_formed_receive_commands_are_faults_and_the_stream_completes_with_error() {
    let mut bench = Bench::new(1);
    let at = |index: u32| u64::from(RX_FIFO) + 16 * u64::from(index);
    let message = |bench: &mut Bench| {
        bench.header(0, 0x1000, 1, 100);
        bench.send(0, 0, 0, 0x1000, &[(0x2000, 100)]);
        bench.await_rx(0) & 0xffff
    };
    let idle = rx_command(dma_op::PAYLOAD, dma_flag::LAST, 17, 0, 0x3000, 1);
    let why = "receive command for a stream that is not in flight";
    assert_eq!(fault_of(&mut bench, true, &[idle]), (at(0), why));
    let none = rx_command(dma_op::PAYLOAD, dma_flag::LAST, 256, 0, 0x3000, 1);
    assert_eq!(fault_of(&mut bench, true, &[none]), (at(1), why));
    let stream = message(&mut bench);
    let long = rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 5, 0x3000, 101);
    let why = "receive commands ask for more bytes than the message has";
    assert_eq!(fault_of(&mut bench, true, &[long]), (at(2), why));
    assert_eq!(bench.rx_done(0), Some(done::COMPLETE | done::ERROR | 5));
    let stream = message(&mut bench);
    let short = rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 6, 0x3000, 99);
    let why = "receive commands end before the message does";
    assert_eq!(fault_of(&mut bench, true, &[short]), (at(3), why));
    assert_eq!(bench.rx_done(0), Some(done::COMPLETE | done::ERROR | 6));
    let stream = message(&mut bench);
    let header = rx_command(dma_op::HEADER, 0, stream, 0, 0, 0);
    let why = "unknown operation of a receive command";
    assert_eq!(fault_of(&mut bench, true, &[header]), (at(4), why));
    let good = rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 7, 0x3000, 100);
    bench.rx(0, good);
    assert_eq!(bench.await_rx(0), done::COMPLETE | 7);
    assert_eq!(bench.nics[0].counters().cam_in_use, 0);
}

#[test]
fn a_command_behind_the_last_is_a_fault() {
    let mut bench = Bench::new(1);
    bench.header(0, 0x1000, 1, 100_000);
    bench.send(0, 0, 0, 0x1000, &[(0x2000, 100_000)]);
    let stream = bench.await_rx(0) & 0xffff;
    let last = rx_command(dma_op::PAYLOAD, dma_flag::LAST, stream, 5, 0x30_0000, 100_000);
    let (_, why) = fault_of(&mut bench, true, &[last, last]);
    assert_eq!(why, "receive command behind the last of its message");
    assert_eq!(bench.rx_done(0), Some(done::COMPLETE | 5));
}
