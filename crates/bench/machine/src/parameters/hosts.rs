//! Parameters of hosts. A machine has those of what its hosts are made of: a model states it in a line
//! ([`Model::hosts`](crate::models::Model::hosts)).

use super::schema::Row;
use des::Duration;

/// Hosts whose processes call Portals, and MPI over it, under either operating system.
pub const WITH_PORTALS: &[Row] = rows![
    Machine::ROWS,
    Catamount::ROWS,
    Host::ROWS,
    Processor::ROWS,
    Cores::ROWS,
    Choice::ROWS,
    KernelPrograms::ROWS,
    Linux::ROWS,
    Bridge::ROWS,
    Pins::ROWS,
    Pages::ROWS,
    Clocks::ROWS,
    Administration::ROWS,
    Mpi::ROWS,
    MpiOverPortals::ROWS,
    Collectives::ROWS,
    Fabric::ROWS,
    Portals::ROWS,
];

/// Hosts under Catamount whose processes call MPI over queues that the network interface keeps.
pub const WITH_QUEUES: &[Row] = rows![
    Machine::ROWS,
    Catamount::ROWS,
    Host::ROWS,
    Processor::ROWS,
    Cores::ROWS,
    Clocks::ROWS,
    Administration::ROWS,
    Mpi::ROWS,
    Collectives::ROWS,
];

/// Hosts under Linux whose processes call verbs, one on each node.
pub const WITH_VERBS: &[Row] = rows![
    Machine::ROWS,
    Host::ROWS,
    Processor::ROWS,
    Linux::ROWS,
    Pins::ROWS,
    Pages::ROWS,
    Clocks::ROWS,
    Administration::ROWS,
];

/// Hosts with a driver of the model's own, under either operating system, or Linux guests in their place.
pub const WITH_DRIVERS: &[Row] = rows![
    Machine::ROWS,
    Catamount::ROWS,
    Host::ROWS,
    Choice::ROWS,
    Linux::ROWS,
    Pages::ROWS,
    Clocks::ROWS,
    GuestNode::ROWS,
];

/// Hosts that are Linux guests.
pub const GUESTS: &[Row] = rows![Host::ROWS, Linux::ROWS, Clocks::ROWS, GuestNode::ROWS];

parameters! {
    /// The machine.
    pub struct Machine in "machine" {
        /// Time at which the program starts.
        launch: time("0 ns", "100000 ms"),
    }
}

parameters! {
    /// Entering and leaving the kernel under Catamount.
    pub Catamount in "host" => Crossings {
        kernel_entry: time("0 ns", "1 ms"),
        kernel_exit: time("0 ns", "1 ms"),
        interrupt_entry: time("0 ns", "1 ms"),
        interrupt_exit: time("0 ns", "1 ms"),
    }
}

/// Times of entering and leaving a kernel.
#[derive(Clone, Copy, Debug)]
pub struct Crossings {
    /// A system call begins.
    pub kernel_entry: Duration,
    /// It returns.
    pub kernel_exit: Duration,
    /// An interrupt's handler begins.
    pub interrupt_entry: Duration,
    /// It returns.
    pub interrupt_exit: Duration,
}

parameters! {
    /// Hosts.
    pub struct Host in "host" {
        mmio_write: time("0 ns", "1 ms"),
        copy_start: time("0 ns", "1 ms"),
        copy_rate: rate("1 MB/s", "1000 GB/s"),
        poll_period: time("1 ps", "1 ms"),
        poll_most: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// The processor, as programs see it.
    pub struct Processor in "host" {
        clock: frequency("1 MHz", "1000 GHz"),
    }
}

parameters! {
    /// Cores, and ranks on them.
    pub struct Cores in "host" {
        cores: count("1", "16") as u32,
        ranks_per_node: count("1", "16") as u32,
        lock_take: time("0 ns", "1 ms"),
        lock_pass: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Operating systems.
    pub struct Choice in "host" {
        /// Operating system of the nodes that have not Linux.
        os: choice("catamount" => Os::Catamount, "linux" => Os::Linux) as Os,
        /// Nodes, from 0 on, that have Linux.
        linux_nodes: count("0", "65536") as u32,
    }
}

parameters! {
    /// Users of Portals in the kernel.
    pub struct KernelPrograms in "host" {
        echo: choice("off" => Echo::Off, "on" => Echo::OnLinux, "all" => Echo::All) as Echo,
        kernel_programs: choice("off" => false, "on" => true) as bool,
    }
}

/// An operating system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Os {
    /// Contiguous memory, qkbridge.
    Catamount,
    /// 4 KB pages, ukbridge.
    Linux,
}

/// Nodes whose kernel echoes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Echo {
    /// None.
    Off,
    /// Those with Linux.
    OnLinux,
    /// All.
    All,
}

parameters! {
    /// Entering and leaving the kernel under Linux.
    pub Linux in "linux" => Crossings {
        kernel_entry: time("0 ns", "1 ms"),
        kernel_exit: time("0 ns", "1 ms"),
        interrupt_entry: time("0 ns", "1 ms"),
        interrupt_exit: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Portals' bridge into Linux' kernel.
    pub struct Bridge in "linux" {
        ioctl: time("0 ns", "1 ms"),
        copy_in: time("0 ns", "1 ms"),
        copy_out: time("0 ns", "1 ms"),
        translate_page: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Memory that Linux pins.
    pub struct Pins in "linux" {
        pin_page: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Memory that Linux maps.
    pub struct Pages in "linux" {
        /// Pages that are contiguous.
        page_run: power_of_two("1", "1024") as u32,
    }
}

parameters! {
    /// A Linux guest as a host, and what it costs beside the primitives of hosts under Linux.
    pub struct GuestNode in "guest" {
        /// Time at which its program starts: Linux takes longer to boot.
        launch: time("0 ns", "100000 ms"),
        memory: bytes("32 MiB", "2 GiB"),
        context_switch: time("0 ns", "1 ms"),
        packet: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Clocks that a program reads.
    pub struct Clocks in "rank" {
        clock_read: time("1 ps", "1 ms"),
    }
}

parameters! {
    /// The network of the machine's administration.
    pub Administration in "admin" => rank::SocketCosts {
        call: time("1 ps", "1 ms"),
        latency: time("1 ps", "1000 ms"),
        rate: rate("1 KB/s", "1000 GB/s"),
        buffer: bytes("1 B", "1 GiB"),
        segment: bytes("1 B", "1 MiB"),
        launcher: time("0 ns", "1000 ms"),
    }
}

parameters! {
    /// The MPI library.
    pub Mpi in "mpi" => mpi::Params {
        call: time("1 ps", "1 ms"),
        request: time("0 ns", "1 ms"),
        event: time("0 ns", "1 ms"),
        reduce_element: time("0 ns", "1 ms"),
        datatype_run: time("0 ns", "1 ms"),
        alltoall_short: bytes("0 B", "1 MiB"),
        allgather_short: bytes("0 B", "1 GiB"),
    }
}

parameters! {
    /// The same library over Portals.
    pub MpiOverPortals in "mpi" => mpi::PortalsParams {
        unexpected_entry: time("0 ns", "1 ms"),
        eager_limit: bytes("0 B", "1 MiB"),
        copy_limit: bytes("0 B", "1 MiB"),
        copy_buffers: count("1", "65536"),
        unexpected_blocks: count("2", "1024"),
        unexpected_block_size: bytes("2 MiB", "1 GiB"),
        unexpected_events: count("0", "1048576"),
        unexpected_queue: count("16", "1048576"),
        unexpected_growth: count("16", "1048576"),
        send_credits: count("0", "65536"),
        events: count("64", "1048576"),
    }
}

parameters! {
    /// Its algorithms, by the names of the collective operations.
    pub struct Collectives in "mpi" {
        barrier: choice("dissemination", "tree", "nic"),
        bcast: choice("binomial", "linear"),
        reduce: choice("binomial", "linear"),
        allreduce: choice("recursive_doubling", "reduce_bcast", "ring", "nic"),
        gather: choice("binomial", "linear"),
        scatter: choice("binomial", "linear"),
        allgather: choice("by_size", "ring", "bruck", "linear"),
        alltoall: choice("by_size", "bruck", "pairwise", "linear"),
        reduce_scatter: choice("pairwise", "reduce"),
        scan: choice("recursive_doubling", "linear"),
    }
}

parameters! {
    /// The libfabric provider of programs that have an MPI of another implementation.
    pub Fabric in "fabric" => rank::FabricCosts {
        send: time("0 ns", "1 ms"),
        recv: time("0 ns", "1 ms"),
        tsend: time("0 ns", "1 ms"),
        trecv: time("0 ns", "1 ms"),
        write: time("0 ns", "1 ms"),
        read: time("0 ns", "1 ms"),
        atomic: time("0 ns", "1 ms"),
        cq_read: time("0 ns", "1 ms"),
        completion: time("0 ns", "1 ms"),
        cntr: time("0 ns", "1 ms"),
        mr_reg: time("0 ns", "1 ms"),
        av_insert: time("0 ns", "1 ms"),
        cancel: time("0 ns", "1 ms"),
        call: time("0 ns", "1 ms"),
        unexpected_entry: time("0 ns", "1 ms"),
    }
}

parameters! {
    /// Portals in the hosts.
    pub Portals in "portals" => portals::Costs {
        api_call: time("0 ns", "1 ms"),
        api_check: time("0 ns", "1 ms"),
        object: time("0 ns", "1 ms"),
        translate: time("0 ns", "1 ms"),
        list_entry: time("0 ns", "1 ms"),
        event_post: time("0 ns", "1 ms"),
        queue_event: time("0 ns", "1 ms"),
        event_get: time("0 ns", "1 ms"),
    }
}
