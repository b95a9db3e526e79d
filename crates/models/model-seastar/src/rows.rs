//! The parameters that only machines with SeaStars have.

use machine::parameters::schema::{bytes, choice, count, joined, rate, switch, time};
use machine::parameters::Row;

/// Parameters, in the order in which they are printed.
pub(crate) const ROWS: &[Row] = &joined::<{ WITH_NETWORK.len() + ppc440_debug::ROWS.len() }>(
    &WITH_NETWORK,
    &ppc440_debug::ROWS,
);

const WITH_NETWORK: [Row; OWN.len() + mesh_network::ROWS.len()] = joined(&OWN, &mesh_network::ROWS);

const OWN: [Row; 47] = [
    time("machine.ras_poll", "1 ns", "1000 ms"),
    time("machine.ras_patience", "1 us", "1000000 ms"),
    choice("firmware.cache", &["id", "i", "none"]),
    switch("firmware.inline"),
    switch("firmware.shadow_fifos"),
    switch("firmware.pinned_regs"),
    switch("firmware.trace"),
    count("firmware.sources", "1", "1024"),
    count("firmware.accelerated", "0", "2"),
    choice("firmware.overflow", &["panic", "nic", "host"]),
    count("linux.list_commands", "257", "1048576"),
    time("portals.header_build", "0 ns", "1 ms"),
    time("portals.header_read", "0 ns", "1 ms"),
    time("portals.slot_read", "0 ns", "1 ms"),
    time("portals.dispatch", "0 ns", "1 ms"),
    time("portals.command_build", "0 ns", "1 ms"),
    time("portals.peer", "0 ns", "1 ms"),
    count("portals.tx_pendings", "1", "1273"),
    count("portals.accelerated_tx_pendings", "1", "383"),
    // Without a fault two follow one another at most (machines/redstorm.toml).
    count("portals.empty_interrupts", "16", "1000000000"),
    time("portals.boot_timeout", "1 us", "100000 ms"),
    rate("ht.bandwidth", "1 MB/s", "1000 GB/s"),
    rate("ht.dma_rate", "1 MB/s", "1000 GB/s"),
    time("ht.latency", "1 ns", "1 ms"),
    bytes("ht.request_bytes", "0 B", "1 KB"),
    bytes("ht.response_bytes", "0 B", "1 KB"),
    bytes("ht.write_bytes", "0 B", "1 KB"),
    bytes("ht.mask_bytes", "0 B", "1 KB"),
    bytes("ht.interrupt_bytes", "0 B", "1 KB"),
    rate("nic.plb_bandwidth", "1 MB/s", "1000 GB/s"),
    time("nic.plb_request", "0 ns", "1 ms"),
    time("nic.sram_read", "0 ns", "1 ms"),
    time("nic.sram_write", "0 ns", "1 ms"),
    time("nic.register_read", "0 ns", "1 ms"),
    time("nic.register_write", "0 ns", "1 ms"),
    time("nic.window_access", "0 ns", "1 ms"),
    time("nic.host_memory_read", "0 ns", "1 ms"),
    time("nic.tx_start", "0 ns", "1 ms"),
    time("nic.tx_command", "0 ns", "1 ms"),
    count("nic.tx_buffers", "1", "1024"),
    time("nic.tx_packet", "0 ns", "1 ms"),
    time("nic.tx_complete", "0 ns", "1 ms"),
    mesh_network::ROOM,
    time("nic.rx_packet", "0 ns", "1 ms"),
    time("nic.rx_notify", "0 ns", "1 ms"),
    time("nic.rx_start", "0 ns", "1 ms"),
    time("nic.rx_command", "0 ns", "1 ms"),
];
