//! The parameters that only machines with SeaStars have.

use machine::parameters::Row;
use machine::{parameters, rows};

/// Parameters, in the order in which they are printed.
pub(crate) const ROWS: &[Row] = rows![
    Ras::ROWS,
    Firmware::ROWS,
    Kernel::ROWS,
    DriverCosts::ROWS,
    Driver::ROWS,
    Link::ROWS,
    Memory::ROWS,
    Transmit::ROWS,
    mesh_network::Room::ROWS,
    Receive::ROWS,
    mesh_network::ROWS,
    ppc440_debug::ROWS,
];

parameters! {
    /// The administration of nodes.
    pub struct Ras in "machine" {
        ras_poll: time("1 ns", "1000 ms"),
        ras_patience: time("1 us", "1000000 ms"),
    }
}

parameters! {
    /// The firmware that is built.
    pub struct Firmware in "firmware" {
        /// Caches that it uses: instructions and data, instructions, none.
        cache: choice("id", "i", "none"),
        inline: switch(),
        shadow_fifos: switch(),
        pinned_regs: switch(),
        trace: switch(),
        sources: count("1", "1024") as u32,
        accelerated: count("0", "2") as u32,
        overflow: choice(
            "panic" => Overflow::Panic, "nic" => Overflow::Nic, "host" => Overflow::Host,
        ) as Overflow,
    }
}

/// Recovery where a network interface has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Overflow {
    /// Nobody: the firmware stops.
    Panic,
    /// The firmware.
    Nic,
    /// The host's kernel.
    Host,
}

impl Firmware {
    /// It serves processes without their kernel.
    pub fn accelerates(&self) -> bool {
        self.accelerated > 0
    }
}

parameters! {
    /// The kernel under Linux.
    pub(crate) struct Kernel in "linux" {
        /// Commands of DMA lists that it keeps in its own memory.
        list_commands: count("257", "1048576") as u32,
    }
}

parameters! {
    /// Costs of the driver.
    pub(crate) DriverCosts in "portals" => portals::seastar::Costs {
        header_build: time("0 ns", "1 ms"),
        header_read: time("0 ns", "1 ms"),
        slot_read: time("0 ns", "1 ms"),
        dispatch: time("0 ns", "1 ms"),
        command_build: time("0 ns", "1 ms"),
        peer: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Its limits.
    pub(crate) struct Driver in "portals" {
        tx_pendings: count("1", "1273") as u16,
        accelerated_tx_pendings: count("1", "383") as u16,
        /// Without a fault two follow one another at most (machines/redstorm.toml).
        empty_interrupts: count("16", "1000000000"),
        boot_timeout: time("1 us", "100000 ms"),
    }
}

parameters! {
    /// The link to the host.
    pub(crate) struct Link in "ht" {
        bandwidth: rate("1 MB/s", "1000 GB/s"),
        dma_rate: rate("1 MB/s", "1000 GB/s"),
        latency: time("1 ns", "1 ms"),
        request_bytes: bytes("0 B", "1 KB"),
        response_bytes: bytes("0 B", "1 KB"),
        write_bytes: bytes("0 B", "1 KB"),
        mask_bytes: bytes("0 B", "1 KB"),
        interrupt_bytes: bytes("0 B", "1 KB"),
    }
}

parameters! {
    /// The processor's ways to what is on the chip, and to the host.
    pub(crate) struct Memory in "nic" {
        plb_bandwidth: rate("1 MB/s", "1000 GB/s"),
        plb_request: time("0 ns", "1 ms"),
        sram_read: time("0 ns", "1 ms"),
        sram_write: time("0 ns", "1 ms"),
        register_read: time("0 ns", "1 ms"),
        register_write: time("0 ns", "1 ms"),
        window_access: time("0 ns", "1 ms"),
        host_memory_read: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// The transmit engine.
    pub(crate) struct Transmit in "nic" {
        tx_start: time("0 ns", "1 ms"),
        tx_command: time("0 ns", "1 ms"),
        tx_buffers: count("1", "1024") as usize,
        tx_packet: time("0 ns", "1 ms"),
        tx_complete: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// The receive engine.
    pub(crate) struct Receive in "nic" {
        rx_packet: time("0 ns", "1 ms"),
        rx_notify: time("0 ns", "1 ms"),
        rx_start: time("0 ns", "1 ms"),
        rx_command: time("0 ns", "1 ms"),
    }
}
