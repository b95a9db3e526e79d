//! Counters of a node by name, for the report.

use abi::seastar::{Niccb, NICCB_BASE};
use std::collections::BTreeMap;

/// The scalar fields of the NIC control block, read with `read` (the RAS back door).
pub(crate) fn niccb(read: &mut dyn FnMut(u64, &mut [u8])) -> BTreeMap<&'static str, u64> {
    let mut block = vec![0; Niccb::SIZE];
    read(NICCB_BASE.into(), &mut block);
    let field = |&(name, offset, size): &(&'static str, usize, usize)| {
        let mut word = [0; 8];
        word[..size].copy_from_slice(&block[offset..offset + size]);
        (name, u64::from_le_bytes(word))
    };
    Niccb::SCALARS.iter().map(field).collect()
}

/// Counters of processor, NIC and router since power-on.
pub(crate) fn of(
    core: &ppc440::Core,
    nic: &seastar_nic::SeaStar,
    router: &mesh::Router,
) -> BTreeMap<String, u64> {
    let nic = nic.counters();
    let counters = [
        ("tx.messages", nic.tx_messages),
        ("tx.packets", nic.tx_packets),
        ("tx.bytes", nic.tx_bytes),
        ("tx.errors", nic.tx_errors),
        ("rx.messages", nic.rx_messages),
        ("rx.packets", nic.rx_packets),
        ("rx.bytes", nic.rx_bytes),
        ("rx.deposited_bytes", nic.rx_deposited_bytes),
        ("rx.discarded_bytes", nic.rx_discarded_bytes),
        ("rx.completed", nic.rx_completed),
        ("rx.crc_errors", nic.rx_crc_errors),
        ("rx.cam_overflows", nic.cam_overflows),
        ("rx.cam_in_use_max", nic.cam_in_use_max),
        ("rx.stalls", nic.rx_stalls),
        ("rx.held_max", nic.rx_held_max),
        ("rx.dropped_packets", nic.rx_dropped_packets),
        ("tx.blocked", nic.tx_blocked),
        ("rx.buffered_bytes_max", nic.rx_buffered_bytes_max),
        ("nic.interrupts", nic.interrupts),
        ("nic.mmio_reads", nic.mmio_reads),
        ("nic.mmio_writes", nic.mmio_writes),
        ("nic.window_reads", nic.window_reads),
        ("nic.window_writes", nic.window_writes),
    ];
    let processor = ppc440_debug::counters(core).into_iter();
    let all = processor.chain(counters).chain(mesh_network::counters(router));
    all.map(|(name, value)| (name.to_string(), value)).collect()
}
