//! Configuration of the parts of a machine with SeaStars, from its parameters.

use super::rows::{
    Driver, DriverCosts, Firmware, Kernel, Link, Memory, Overflow, Ras, Receive, Transmit,
};
use machine::parameters::Parameters;

use abi::packet::PAYLOAD_BYTES;
use abi::seastar::{ACCELERATED_PENDINGS, FLIT_BYTES, WAITING_NODES};
use bus::HyperTransport;
use des::Duration;
use machine::placement::Placement;
use machine::system::Os;
use machine::UsageError;
use mesh::Topology;
use mesh_network::{Network, Room};

/// Everything that the parts of such a machine are built from.
pub(crate) struct Configuration {
    pub network: Network,
    pub nic: seastar_nic::Params,
    pub link: HyperTransport,
    pub ppc440: ppc440::Config,
    pub driver: portals::seastar::Config,
    pub ras_poll: Duration,
    pub ras_patience: Duration,
}

impl Configuration {
    /// The parts of a machine with room for these ranks.
    pub fn new(p: &Parameters, placement: Placement) -> Result<Configuration, UsageError> {
        let network = Network::new(p, placement)?;
        let (firmware, link, ras) = (Firmware::of(p), Link::of(p), Ras::of(p));
        let mut nic = nic(p, &firmware, &link);
        nic.in_flight = in_flight(&nic, &network);
        if nic.recovers {
            can_recover(p, &network.topology)?;
        }
        Ok(Configuration {
            network,
            nic,
            link: HyperTransport::new(link.latency, link.bandwidth),
            ppc440: ppc440_debug::config(p),
            driver: driver(p, &firmware),
            ras_poll: ras.ras_poll,
            ras_patience: ras.ras_patience,
        })
    }
}

/// Parameters that firmware with recovery cannot do with.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RecoveryError {
    #[error(
        "portals.accelerated_tx_pendings={sent} leaves one pending to what a process receives; \
         firmware.overflow=nic needs two, for requests and for answers; set it to {} or less",
        ACCELERATED_PENDINGS - 2
    )]
    Pendings { sent: u32 },
    #[error(
        "firmware.sources={sources}: firmware.overflow=nic keeps one for what comes and one for \
         answers of the network interface; set firmware.sources={least} or more"
    )]
    Sources { sources: u32, least: u32 },
    #[error(
        "firmware.overflow={overflow} has room to name {WAITING_NODES} nodes, and net.x, net.y and \
         net.z make {nodes}"
    )]
    Nodes { overflow: &'static str, nodes: u32 },
    #[error(
        "--fault pool.rx_pendings=1: firmware.overflow=nic needs two pendings, for requests and \
         for answers; give it 2 or more"
    )]
    Pool,
}

/// Checks the parameters that firmware with recovery needs.
fn can_recover(p: &Parameters, topology: &Topology) -> Result<(), RecoveryError> {
    let firmware = Firmware::of(p);
    let sent = u32::from(Driver::of(p).accelerated_tx_pendings);
    if firmware.accelerates() && ACCELERATED_PENDINGS - sent < 2 {
        return Err(RecoveryError::Pendings { sent });
    }
    let (sources, least) = (firmware.sources, 2 + u32::from(firmware.accelerates()));
    if firmware.overflow == Overflow::Nic && sources < least {
        return Err(RecoveryError::Sources { sources, least });
    }
    let nodes = topology.nodes();
    if nodes > WAITING_NODES {
        return Err(RecoveryError::Nodes { overflow: p.choice(Firmware::overflow), nodes });
    }
    Ok(())
}

fn nic(p: &Parameters, firmware: &Firmware, link: &Link) -> seastar_nic::Params {
    let (memory, transmit, receive) = (Memory::of(p), Transmit::of(p), Receive::of(p));
    seastar_nic::Params {
        local_headers: firmware.accelerates(),
        recovers: firmware.overflow != Overflow::Panic,
        plb_request: memory.plb_request,
        plb_bytes_per_second: memory.plb_bandwidth,
        sram_read: memory.sram_read,
        sram_write: memory.sram_write,
        register_read: memory.register_read,
        register_write: memory.register_write,
        window_access: memory.window_access,
        host_memory_read: memory.host_memory_read,
        ht_dma_rate: link.dma_rate,
        ht_request_bytes: link.request_bytes,
        ht_response_bytes: link.response_bytes,
        ht_write_bytes: link.write_bytes,
        ht_mask_bytes: link.mask_bytes,
        ht_interrupt_bytes: link.interrupt_bytes,
        tx_start: transmit.tx_start,
        tx_command: transmit.tx_command,
        tx_buffers: transmit.tx_buffers,
        tx_packet: transmit.tx_packet,
        tx_complete: transmit.tx_complete,
        rx_buffers: Room::of(p).rx_buffers,
        rx_packet: receive.rx_packet,
        rx_notify: receive.rx_notify,
        rx_start: receive.rx_start,
        rx_command: receive.rx_command,
        in_flight: 0,
    }
}

const PACKET: u64 = PAYLOAD_BYTES as u64;

/// Bytes of full packets that fit between two network interfaces: in their engines, and in the queues of
/// the longest way.
fn in_flight(nic: &seastar_nic::Params, network: &Network) -> u64 {
    let Network { topology, routers: net } = network;
    let packets = |flits: u32| u64::from(flits) * u64::from(FLIT_BYTES) / PACKET + 1;
    let hop = packets(net.output_queue) + packets(net.input_queue);
    let ends = nic.tx_buffers as u64 + u64::from(nic.rx_buffers);
    let queues = packets(net.input_queue) + packets(net.node_queue);
    PACKET * (ends + queues + hop * u64::from(topology.longest_way()))
}

/// Commands of DMA lists that the kernel of a node keeps in its own memory.
pub(crate) fn list_commands(os: Os, p: &Parameters) -> u32 {
    match os {
        Os::Catamount => 0,
        Os::Linux => Kernel::of(p).list_commands,
    }
}

/// Configuration of a driver that lacks nothing; its operating system has the rest.
fn driver(p: &Parameters, firmware: &Firmware) -> portals::seastar::Config {
    let own = Driver::of(p);
    portals::seastar::Config {
        costs: DriverCosts::of(p),
        shadow_fifos: firmware.shadow_fifos,
        inline_messages: firmware.inline,
        tx_pendings: own.tx_pendings,
        list_commands: 0,
        recovers: firmware.overflow == Overflow::Host,
        accelerated: firmware.accelerated,
        collectives: crate::firmware::options::collectives(p),
        accelerated_tx_pendings: own.accelerated_tx_pendings,
        pools: portals::seastar::Pools::FULL,
        empty_interrupts: own.empty_interrupts,
        boot_timeout: own.boot_timeout,
    }
}
