//! The parameters of machines of this model.

use block::SECTOR;
use forth_nic::Estimate;
use machine::parameters::Row;
use machine::{parameters, rows};

/// All of them, in the order in which they are printed.
pub(crate) const ROWS: &[Row] = rows![
    Bus::ROWS,
    Card::ROWS,
    Lanes::ROWS,
    Switch::ROWS,
    Crossbar::ROWS,
    Console::ROWS,
    Library::ROWS,
    Layers::ROWS,
    Disk::ROWS,
];

parameters! {
    /// The bus.
    pub(crate) struct Bus in "pcix" {
        protocol: choice(
            "pcix" => pci::Protocol::Pcix, "pci" => pci::Protocol::Pci,
        ) as pci::Protocol,
        clock: frequency("1 MHz", "1 GHz"),
        width: bytes("4 B", "8 B") as u8,
        arbitration: cycles("1 cycles", "64 cycles") as u8,
        target_overhead: cycles("1 cycles", "64 cycles") as u8,
        split_word: cycles("4 cycles", "1000 cycles") as u16,
        split_page: cycles("4 cycles", "1000 cycles") as u16,
        splits: count("1", "16") as u8,
        host_queue: count("16", "1024") as u16,
        posted_words: count("16", "1024") as u16,
        combining: switch(),
    }
}

parameters! {
    /// The card.
    pub(crate) struct Card in "nic" {
        queue: count("8", "128") as u8,
        tx_fifo: bytes("4096 B", "65536 B") as u32,
        rx_fifo: bytes("4120 B", "65536 B") as u32,
        reads: count("1", "8") as u8,
        bindings: count("0", "512") as u16,
        estimate: choice(
            "fine" => Estimate::Fine, "conservative" => Estimate::Conservative,
        ) as Estimate,
        round_trip: bytes("0 B", "8192 B") as u32,
        credit: bytes("8 B", "4096 B") as u32,
        rtl: switch(),
    }
}

parameters! {
    /// The lanes between two cards, or between cards and crossbar.
    pub(crate) struct Lanes in "lanes" {
        clock: frequency("1 MHz", "1 GHz"),
        drift: count("0", "100"),
        delay: time("50 ns", "1 ms"),
        fill: count("2", "8") as usize,
        depth: count("10", "64") as usize,
        topology: choice(
            "link" => Topology::Link, "crossbar" => Topology::Crossbar,
        ) as Topology,
        /// Lanes of a link.
        bonded: choice("2" => 2, "4" => 4) as u8,
    }
}

/// Network of the cards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    Link,
    Crossbar,
}

parameters! {
    /// The crossbar.
    pub(crate) struct Switch in "switch" {
        rtl: switch(),
    }
}

parameters! {
    /// Its buffers.
    pub(crate) struct Crossbar in "crossbar" {
        point: bytes("8192 B", "65536 B") as u32,
        credit: bytes("8 B", "4096 B") as u32,
    }
}

parameters! {
    /// Its console: clock of the processor that watches it, and bits a second of the serial line.
    pub(crate) struct Console in "console" {
        clock: frequency("1 MHz", "1 GHz"),
        baud: count("300", "100000000"),
    }
}

parameters! {
    /// The host library and the kernel module.
    pub(crate) struct Library in "rdma" {
        post: time("0 ns", "1 ms"),
        reclaim: time("0 ns", "1 ms"),
        doorbell: time("0 ns", "1 ms"),
        handles: count("8", "256"),
        notify: count("1", "64"),
        second_look: switch(),
    }
}

parameters! {
    /// Block layers of both sides.
    pub(crate) struct Layers in "block" {
        protocol: choice(
            "flags" => Protocol::Flags, "tails" => Protocol::Tails,
        ) as Protocol,
        request: bytes("512 B", "32768 B"),
        merge: bytes("512 B", "32768 B"),
        read_ahead: bytes("0 B", "4194304 B"),
        timeout: time("1 us", "1000 ms"),
        resend: time("1 ms", "1000 ms"),
        retries: count("1", "100"),
        stop: switch(),
        sums: switch(),
        sum_rate: rate("1 MB/s", "100 GB/s"),
        submit: time("0 ns", "1000 ms"),
        complete: time("0 ns", "1000 ms"),
        serve: time("0 ns", "1000 ms"),
    }
}

/// Sign of a message in a queue: a pending flag in it, or writes of heads and tails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Flags,
    Tails,
}

parameters! {
    /// The disks of the target.
    pub(crate) struct Disk in "disk" {
        kind: choice("memory" => Kind::Memory, "drives" => Kind::Drives) as Kind,
        capacity: bytes("1048576 B", "1000000000000 B"),
        heads: count("1", "16"),
        outer: count("64", "10000"),
        inner: count("64", "10000"),
        rpm: count("1000", "100000"),
        seek_track: time("0 ns", "1000 ms"),
        seek_average: time("0 ns", "1000 ms"),
        seek_full: time("0 ns", "1000 ms"),
        write_settle: time("0 ns", "1000 ms"),
        switch: time("0 ns", "1000 ms"),
        overhead: time("0 ns", "1000 ms"),
        interface: rate("1 MB/s", "10 GB/s"),
        cache: bytes("1048576 B", "1073741824 B"),
        segments: count("1", "64") as usize,
        power_cut: time("0 ns", "1000000 ms"),
    }
}

/// Kind of the disks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Memory,
    Drives,
}

impl Disk {
    /// The drives.
    pub fn drive(&self) -> block::DriveParams {
        block::DriveParams {
            sectors: self.capacity / SECTOR,
            heads: self.heads,
            track_sectors: [self.outer, self.inner],
            revolution: 60_000_000_000_000 / self.rpm,
            seek: [self.seek_track, self.seek_average, self.seek_full].map(|time| time.0),
            write_settle: self.write_settle.0,
            switch: self.switch.0,
            overhead: self.overhead.0,
            interface: self.interface,
            cache: self.cache,
            segments: self.segments,
        }
    }
}
