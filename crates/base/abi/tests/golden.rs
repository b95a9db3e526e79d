//! Golden bytes of layouts, which must never change without a decision.

use abi::seastar::*;
use abi::MessageId;

#[test]
fn tx_command_bytes() {
    let command = TxCommand {
        op: command_op::TX,
        process_index: 1,
        pending: 0x0203,
        peer: 0x0405,
        dma_count: 0x0607,
        length: 0x0809_0A0B,
        addr_lo: 0x0C0D_0E0F,
        addr_hi: 0x10,
        dma_list: 0xFFFA_4010,
        number: 0x1314,
    };
    let mut bytes = [0; TxCommand::SIZE];
    command.emit(&mut bytes);
    let expected = [
        0x03, 0x01, 0x03, 0x02, 0x05, 0x04, 0x07, 0x06, 0x0B, 0x0A, 0x09, 0x08, 0x0F, 0x0E, 0x0D,
        0x0C, 0x10, 0x00, 0x00, 0x00, 0x10, 0x40, 0xFA, 0xFF, 0x00, 0x00, 0x14, 0x13,
    ];
    assert_eq!(bytes[..28], expected);
    assert_eq!(bytes[28..], [0; 36]);
    assert_eq!(TxCommand::parse(&bytes), Some(command));
    assert_eq!(TxCommand::parse(&bytes[..63]), None);
}

#[test]
fn transmit_slot_bytes() {
    let slot = TransmitSlot {
        op: command_op::TX,
        process_index: 2,
        pending: 0x0304,
        length: 0x0506_0708,
        addr_lo: 0x090A_0B0C,
        addr_hi: 0x0D,
        entry: 0x0E0F,
        header: std::array::from_fn(|at| at as u8),
    };
    let mut bytes = [0; TransmitSlot::SIZE];
    slot.emit(&mut bytes);
    let command = [
        0x03, 0x02, 0x04, 0x03, 0x08, 0x07, 0x06, 0x05, 0x0C, 0x0B, 0x0A, 0x09, 0x0D, 0x00, 0x0F,
        0x0E,
    ];
    assert_eq!(bytes[..16], command);
    assert_eq!(bytes[16..80], slot.header);
    assert_eq!(bytes[80..], [0; 48]);
    assert_eq!(TransmitSlot::parse(&bytes), Some(slot));
}

#[test]
fn event_line_bytes() {
    let line = EventLine {
        op: portals_op::PUT,
        flags: header_flag::INLINE,
        pt_index: 4,
        ac_index: 5,
        source_nid: 0x0607,
        source_pid: 0x0809,
        length: 10,
        match_bits_lo: 11,
        match_bits_hi: 12,
        hdr_data_lo: 13,
        hdr_data_hi: 14,
        uid: 15,
        serial: 16,
        entry: 17,
        visits: 18,
        mlength: 19,
        offset: 20,
        handle: 21,
        taken: 22,
        answer: 23,
        word: u32::from(event_type::RX_INLINE) << 16 | EVENT_WHOLE,
    };
    let mut bytes = [0; EventLine::SIZE];
    line.emit(&mut bytes);
    let words: Vec<_> =
        bytes.chunks(4).map(|word| u32::from_le_bytes(word.try_into().expect("4 bytes"))).collect();
    let expected = [
        0x0504_0101,
        0x0809_0607,
        10,
        11,
        12,
        13,
        14,
        15,
        16,
        0x0012_0011,
        19,
        20,
        21,
        22,
        23,
        0x0004_FFFF,
    ];
    assert_eq!(words, expected);
    assert_eq!(EventLine::parse(&bytes), Some(line));
}

#[test]
fn portals_header_bytes() {
    let header = PortalsHeader {
        op: portals_op::PUT,
        flags: header_flag::INLINE | header_flag::ACK_REQUESTED,
        pt_index: 4,
        ac_index: 5,
        source_nid: 0x1122,
        source_pid: 0x3344,
        target_nid: 0x5566,
        target_pid: 0x7788,
        length: 12,
        match_bits: 0x0123_4567_89AB_CDEF,
        hdr_data: 0xFEDC_BA98_7654_3210,
        remote_offset: 1 << 40,
        md_handle: 0xA1A2_A3A4,
        uid: 0xB1B2_B3B4,
        serial: 0xC1C2_C3C4,
        inline_data: *b"twelve bytes",
    };
    let mut bytes = [0xEE; PortalsHeader::SIZE];
    header.emit(&mut bytes);
    let expected = [
        0x01, 0x03, 0x04, 0x05, 0x22, 0x11, 0x44, 0x33, 0x66, 0x55, 0x88, 0x77, 0x0C, 0x00, 0x00,
        0x00, 0xEF, 0xCD, 0xAB, 0x89, 0x67, 0x45, 0x23, 0x01, 0x10, 0x32, 0x54, 0x76, 0x98, 0xBA,
        0xDC, 0xFE, 0x00, 0x00, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0xA4, 0xA3, 0xA2, 0xA1, 0xB4,
        0xB3, 0xB2, 0xB1, 0xC4, 0xC3, 0xC2, 0xC1,
    ];
    assert_eq!(bytes[..52], expected);
    assert_eq!(&bytes[52..], b"twelve bytes");
    assert_eq!(PortalsHeader::parse(&bytes), Some(header));
    let id = MessageId { source_nid: 0x1122, serial: 0xC1C2_C3C4 };
    assert_eq!(MessageId::of_header(&bytes), Some(id));
    assert_eq!(MessageId::from(&header), id);
    assert_eq!(MessageId::of_header(&bytes[..63]), None);
}

#[test]
fn a_header_leaves_twelve_inline_bytes() {
    assert_eq!(portals_header::INLINE_DATA + INLINE_MAX as usize, PortalsHeader::SIZE);
    assert_eq!(PortalsHeader::SIZE, PACKET_PAYLOAD as usize);
}

#[test]
fn dma_command_bytes() {
    let command = DmaCommand {
        op: dma_op::PAYLOAD,
        flags: dma_flag::LAST,
        peer: 0x0102,
        tag: 0x0304,
        addr_hi: 0x00FF,
        addr_lo: 0x0506_0708,
        length: 0x1000,
    };
    let mut bytes = [0; DmaCommand::SIZE];
    command.emit(&mut bytes);
    let expected = [2, 1, 2, 1, 4, 3, 0xFF, 0, 8, 7, 6, 5, 0, 0x10, 0, 0];
    assert_eq!(bytes, expected);
    assert_eq!(DmaCommand::parse(&bytes), Some(command));
}

#[test]
fn mailbox_fills_its_page() {
    assert_eq!(Mailbox::SIZE, MAILBOX_SIZE as usize);
    assert_eq!(COMMAND_COUNT * COMMAND_SIZE, mailbox::RESULTS as u32);
    let offsets = [mailbox::RESULT_READ, mailbox::RESULT_WRITE, mailbox::COMMAND_WRITE];
    assert_eq!(offsets, [4040, 4044, 4048]);
    assert_eq!(mailbox::COMMAND_READ, 4052);
    let commands = [
        InitProcessCommand::SIZE,
        InitEqcbCommand::SIZE,
        MarkAliveCommand::SIZE,
        TxCommand::SIZE,
        RxCommand::SIZE,
        ReleaseCommand::SIZE,
    ];
    assert_eq!(commands, [COMMAND_SIZE as usize; 6]);
}

#[test]
fn niccb_offsets() {
    let mut bytes = [0; Niccb::SIZE];
    let niccb = Niccb { firmware_heartbeat: 0x0102_0304, local_nid: 0x0506, ..Niccb::default() };
    niccb.emit(&mut bytes);
    assert_eq!(Niccb::SIZE, 320);
    assert_eq!(bytes[16..20], [4, 3, 2, 1]);
    assert_eq!(bytes[168..170], [6, 5]);
    assert_eq!(bytes.iter().filter(|byte| **byte != 0).count(), 6);
    assert_eq!(niccb::TRACEBUF_INFO, 192);
}

#[test]
fn pendings_and_events() {
    assert_eq!((LowerPending::SIZE, UpperPending::SIZE), (32, 128));
    assert_eq!(upper_pending::HEADER, 0);
    assert_eq!(event_type::ERR_RX_HDR_CRC, 135);
    assert_eq!(command_op::MARK_ALIVE, 1);
}

#[test]
fn regions_of_sram_do_not_overlap() {
    let regions = [
        ("mailboxes", MAILBOX_BASE, MAILBOX_COUNT * MAILBOX_SIZE),
        ("DMA list", DMA_LIST_BASE, DMA_LIST_COUNT * DmaCommand::SIZE as u32),
        ("headers", RX_HEADER_BASE, CAM_ENTRIES * RX_HEADER_SIZE),
        ("trace", TRACE_BASE, TRACE_COUNT * TraceRecord::SIZE as u32),
        ("cached data", CACHED_DATA_BASE, CACHED_DATA_SIZE),
        ("text", TEXT_BASE, TEXT_SIZE),
        ("stack", STACK_BASE, STACK_SIZE),
        ("uncached data", UNCACHED_DATA_BASE, UNCACHED_DATA_SIZE),
        ("niccb", NICCB_BASE, Niccb::SIZE as u32),
        ("ready flag", READY_FLAG, 4),
        ("shim", SHIM_BASE, SHIM_SIZE),
    ];
    let mut end = u64::from(SRAM_BASE);
    for (name, base, size) in regions {
        assert!(u64::from(base) >= end, "{name} at {base:#x} overlaps what stands before it");
        end = u64::from(base) + u64::from(size);
    }
    assert_eq!(end, u64::from(SRAM_BASE) + u64::from(SRAM_SIZE));
}
