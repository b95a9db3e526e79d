//! Configuration of the parts of a machine with SeaStars, from its parameters.

use machine::parameters::Parameters;

use abi::packet::PAYLOAD_BYTES;
use abi::seastar::{ACCELERATED_PENDINGS, FLIT_BYTES, WAITING_NODES};
use bus::HyperTransport;
use des::Duration;
use machine::placement::Placement;
use machine::system::Os;
use mesh::Topology;
use mesh_network::Network;

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
    /// The parts of a machine with room for these ranks. The error is a sentence about the parameters.
    pub fn new(p: &Parameters, placement: Placement) -> Result<Configuration, String> {
        let network = Network::new(p, placement)?;
        let mut nic = nic(p);
        nic.in_flight = in_flight(&nic, &network);
        if nic.recovers {
            can_recover(p, &network.topology)?;
        }
        Ok(Configuration {
            network,
            nic,
            link: HyperTransport::new(p.duration("ht.latency"), p.number("ht.bandwidth")),
            ppc440: ppc440_debug::config(p),
            driver: driver(p),
            ras_poll: p.duration("machine.ras_poll"),
            ras_patience: p.duration("machine.ras_patience"),
        })
    }
}

/// Checks the parameters that firmware with recovery needs.
fn can_recover(p: &Parameters, topology: &Topology) -> Result<(), String> {
    let overflow = p.choice("firmware.overflow");
    let accelerated = p.number::<u32>("firmware.accelerated") > 0;
    let sent: u32 = p.number("portals.accelerated_tx_pendings");
    if accelerated && ACCELERATED_PENDINGS - sent < 2 {
        return Err(format!(
            "portals.accelerated_tx_pendings={sent} leaves one pending to what a process receives; \
             firmware.overflow=nic needs two, for requests and for answers; set it to {} or less",
            ACCELERATED_PENDINGS - 2
        ));
    }
    let (sources, least) = (p.number::<u32>("firmware.sources"), 2 + u32::from(accelerated));
    if overflow == "nic" && sources < least {
        return Err(format!(
            "firmware.sources={sources}: firmware.overflow=nic keeps one for what comes and one \
             for answers of the network interface; set firmware.sources={least} or more"
        ));
    }
    if topology.nodes() > WAITING_NODES {
        return Err(format!(
            "firmware.overflow={overflow} has room to name {WAITING_NODES} nodes, and net.x, net.y \
             and net.z make {}",
            topology.nodes()
        ));
    }
    Ok(())
}

fn nic(p: &Parameters) -> seastar_nic::Params {
    seastar_nic::Params {
        local_headers: p.number::<u32>("firmware.accelerated") > 0,
        recovers: p.choice("firmware.overflow") != "panic",
        plb_request: p.duration("nic.plb_request"),
        plb_bytes_per_second: p.number("nic.plb_bandwidth"),
        sram_read: p.duration("nic.sram_read"),
        sram_write: p.duration("nic.sram_write"),
        register_read: p.duration("nic.register_read"),
        register_write: p.duration("nic.register_write"),
        window_access: p.duration("nic.window_access"),
        host_memory_read: p.duration("nic.host_memory_read"),
        ht_dma_rate: p.number("ht.dma_rate"),
        ht_request_bytes: p.number("ht.request_bytes"),
        ht_response_bytes: p.number("ht.response_bytes"),
        ht_write_bytes: p.number("ht.write_bytes"),
        ht_mask_bytes: p.number("ht.mask_bytes"),
        ht_interrupt_bytes: p.number("ht.interrupt_bytes"),
        tx_start: p.duration("nic.tx_start"),
        tx_command: p.duration("nic.tx_command"),
        tx_buffers: p.number("nic.tx_buffers"),
        tx_packet: p.duration("nic.tx_packet"),
        tx_complete: p.duration("nic.tx_complete"),
        rx_buffers: p.number("nic.rx_buffers"),
        rx_packet: p.duration("nic.rx_packet"),
        rx_notify: p.duration("nic.rx_notify"),
        rx_start: p.duration("nic.rx_start"),
        rx_command: p.duration("nic.rx_command"),
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
        Os::Linux => p.number("linux.list_commands"),
    }
}

/// Configuration of a driver that lacks nothing; its operating system has the rest.
fn driver(p: &Parameters) -> portals::seastar::Config {
    portals::seastar::Config {
        costs: portals::seastar::Costs {
            header_build: p.duration("portals.header_build"),
            header_read: p.duration("portals.header_read"),
            slot_read: p.duration("portals.slot_read"),
            dispatch: p.duration("portals.dispatch"),
            command_build: p.duration("portals.command_build"),
            peer: p.duration("portals.peer"),
        },
        shadow_fifos: p.switch("firmware.shadow_fifos"),
        inline_messages: p.switch("firmware.inline"),
        tx_pendings: p.number("portals.tx_pendings"),
        list_commands: 0,
        recovers: p.choice("firmware.overflow") == "host",
        accelerated: p.number("firmware.accelerated"),
        collectives: crate::firmware::image::collectives(p),
        accelerated_tx_pendings: p.number("portals.accelerated_tx_pendings"),
        pools: portals::seastar::Pools::FULL,
        empty_interrupts: p.number("portals.empty_interrupts"),
        boot_timeout: p.duration("portals.boot_timeout"),
    }
}
