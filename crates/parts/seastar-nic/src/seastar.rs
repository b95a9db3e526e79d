//! The whole chip: dispatch of addresses and events.

use crate::express::Express;
use crate::fabric::Fabric;
use crate::plb::{decode, Target};
use crate::registers::{Control, Registers};
use crate::rx::{Routing, Rx};
use crate::tx::Tx;
use crate::windows::Windows;
use crate::{Counters, Params, Ports};
use abi::packet::{flag, Packet};
use bus::{read_words, write_words, BusError, Direction, Memory};
use des::Time;

/// Event for which the NIC waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// The oldest posted write or interrupt arrives at the host, one of the processor.
    HostWrite,
    /// The same of the receive engine: payload.
    HostPayload,
    /// The transmit engine takes a command.
    TxTake,
    /// The oldest read's data leave host memory.
    TxAnswer,
    /// The oldest read's data have passed the packetiser.
    TxData,
    /// The port to the network is free.
    TxPort,
    /// A transmit completion becomes visible.
    TxDone,
    /// The oldest packet has been demultiplexed.
    RxPacket,
    /// A new message becomes visible.
    RxAnnounce {
        /// Its stream.
        stream: u16,
        /// It is complete in its first packet, and its CRC is wrong.
        error: bool,
        /// Routing of its message.
        routing: Routing,
    },
    /// A message that found no stream becomes visible.
    RxOverflow {
        /// Routing of its message.
        routing: Routing,
    },
    /// The receive engine takes a command.
    RxTake,
    /// The receive engine's way to the host is free.
    RxDeposit,
    /// A receive completion becomes visible.
    RxDone,
    /// The engine of the control class takes a command.
    CtlTake,
    /// A packet of the control class goes to its slot.
    CtlStore,
    /// A packet of the control class becomes visible.
    CtlNotify,
}

impl Event {
    /// A number for an event that only moves a stream on.
    pub fn passing(&self) -> Option<u64> {
        match self {
            Event::HostWrite | Event::HostPayload => Some(0),
            Event::TxAnswer => Some(1),
            Event::TxData => Some(2),
            Event::TxPort => Some(3),
            Event::RxPacket => Some(4),
            Event::RxDeposit => Some(5),
            Event::TxTake | Event::TxDone | Event::RxTake | Event::RxDone => None,
            Event::RxAnnounce { .. } | Event::RxOverflow { .. } => None,
            Event::CtlTake | Event::CtlStore | Event::CtlNotify => None,
        }
    }
}

const NOTHING: &str = "no device answers";

/// A SeaStar.
#[derive(Clone, Debug)]
pub struct SeaStar {
    pub(crate) fabric: Fabric,
    pub(crate) control: Control,
    pub(crate) tx: Tx,
    pub(crate) rx: Rx,
    pub(crate) express: Express,
}

impl SeaStar {
    /// The NIC of node `nid`.
    pub fn new(params: &Params, nid: u16) -> SeaStar {
        assert!(params.tx_buffers > 0, "the transmit engine needs a line buffer");
        assert!(params.rx_buffers > 0, "the receive engine needs a buffer");
        SeaStar {
            fabric: Fabric::new(params),
            control: Control { nid, panic: 0, windows: Windows::default() },
            tx: Tx::new(nid),
            rx: Rx::new(),
            express: Express::new(),
        }
    }
    /// The embedded processor reads `buf.len()` bytes at `addr`. Returns when the first beat is
    /// there.
    ///
    /// Host memory is read as it is now, with this processor's own writes that are still on their
    /// way.
    #[inline(always)]
    pub fn plb_read(
        &mut self,
        now: Time,
        addr: u64,
        buf: &mut [u8],
        ports: &mut impl Ports,
    ) -> Result<Time, BusError> {
        let len = buf.len();
        let fabric = &mut self.fabric;
        match decode(addr) {
            Target::Sram => {
                fabric.sram.read(addr, buf)?;
                fabric.counters.sram_accesses += 1;
                Ok(fabric.plb.read(now, len, fabric.params.sram_read))
            }
            Target::Register => {
                fabric.counters.register_accesses += 1;
                let at = fabric.plb.read(now, len, fabric.params.register_read);
                read_words(&mut self.registers(at, ports), addr, buf).map(|()| at)
            }
            Target::Window(window, offset) => {
                let phys = self.translate(addr, window, offset, len, false)?;
                self.read_host(phys, buf, ports)?;
                Ok(self.host_round_trip(now, len, ports))
            }
            Target::Nothing => Err(BusError { addr, len, write: false, why: NOTHING }),
        }
    }
    /// The embedded processor writes `data` at `addr`, up to 16 bytes of a quadword or a line of 32.
    /// Returns when the write frees its slot in the processor; a write to host memory is posted, as
    /// one packet, and frees it once it is on the link.
    #[inline(always)]
    pub fn plb_write(
        &mut self,
        now: Time,
        addr: u64,
        data: &[u8],
        ports: &mut impl Ports,
    ) -> Result<Time, BusError> {
        let len = data.len();
        let fabric = &mut self.fabric;
        match decode(addr) {
            Target::Sram => {
                fabric.sram.write(addr, data)?;
                fabric.counters.sram_accesses += 1;
                Ok(fabric.plb.write(now, len, fabric.params.sram_write))
            }
            Target::Register => {
                fabric.counters.register_accesses += 1;
                let at = fabric.plb.write(now, len, fabric.params.register_write);
                write_words(&mut self.registers(at, ports), addr, data).map(|()| at)
            }
            Target::Window(window, offset) => {
                let phys = self.translate(addr, window, offset, len, true)?;
                let fabric = &mut self.fabric;
                fabric.counters.window_writes += 1;
                let at = fabric.plb.write(now, len, fabric.params.window_access);
                let arrival = fabric.send_bytes(at, phys, len as u64, ports);
                fabric.posted.write(arrival, phys, data, ports);
                Ok(ports.link().free_at(Direction::ToHost))
            }
            Target::Nothing => Err(BusError { addr, len, write: true, why: NOTHING }),
        }
    }
    /// A write of the host to its window arrives. Something that the chip cannot do goes to
    /// [`Ports::fault`].
    pub fn mmio_write(&mut self, now: Time, addr: u32, data: &[u8], ports: &mut impl Ports) {
        self.fabric.counters.mmio_writes += 1;
        if let Err(error) = self.host_access_write(now, u64::from(addr), data, ports) {
            ports.fault(now, error);
        }
    }
    /// A read of the host from its window arrives. Returns when the data leave for the host.
    pub fn mmio_read(
        &mut self,
        now: Time,
        addr: u32,
        buf: &mut [u8],
        ports: &mut impl Ports,
    ) -> Time {
        self.fabric.counters.mmio_reads += 1;
        self.host_access_read(now, u64::from(addr), buf, ports).unwrap_or_else(|error| {
            // A read that nobody answers gives ones, as on PCI.
            buf.fill(0xff);
            ports.fault(now, error);
            now
        })
    }
    /// The RAS system reads anything on the local bus, behind the back of everybody and in no time.
    pub fn ras_read(
        &mut self,
        addr: u64,
        buf: &mut [u8],
        ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        match decode(addr) {
            Target::Sram => self.fabric.sram.read(addr, buf),
            Target::Register => read_words(&mut self.registers(Time::ZERO, ports), addr, buf),
            Target::Window(window, offset) => {
                let phys = self.control.windows.translate(window, offset);
                let error = |why| BusError { addr, len: buf.len(), write: false, why };
                ports.host_peek(phys.map_err(error)?, buf)
            }
            Target::Nothing => Err(BusError { addr, len: buf.len(), write: false, why: NOTHING }),
        }
    }
    /// The RAS system writes anything on the local bus; writing a register does what it does for
    /// the processor.
    pub fn ras_write(
        &mut self,
        now: Time,
        addr: u64,
        data: &[u8],
        ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        match decode(addr) {
            Target::Sram => {
                ports.sram_written(addr, data.len());
                self.fabric.sram.write(addr, data)
            }
            Target::Register => write_words(&mut self.registers(now, ports), addr, data),
            Target::Window(window, offset) => {
                let phys = self.control.windows.translate(window, offset);
                let error = |why| BusError { addr, len: data.len(), write: true, why };
                ports.host_write(phys.map_err(error)?, data)
            }
            Target::Nothing => Err(BusError { addr, len: data.len(), write: true, why: NOTHING }),
        }
    }
    /// Local memory, as the RAS system sees it.
    pub fn sram(&self) -> &Memory {
        &self.fabric.sram
    }
    /// Local memory, for the loader and other tools behind the RAS back door.
    pub fn sram_mut(&mut self) -> &mut Memory {
        &mut self.fabric.sram
    }
    /// Local memory, when the chip is gone.
    pub fn into_sram(self) -> Memory {
        self.fabric.sram
    }
    /// Carries out what was scheduled.
    #[inline(always)]
    pub fn handle(&mut self, now: Time, event: Event, ports: &mut impl Ports) {
        let SeaStar { fabric, tx, rx, express, .. } = self;
        match event {
            Event::HostWrite | Event::HostPayload => {
                fabric.posted.arrive(now, &mut fabric.counters, ports);
            }
            Event::TxTake => tx.take(now, fabric, ports),
            Event::TxAnswer => tx.answer(now, fabric, ports),
            Event::TxData => tx.data(now, fabric, ports),
            Event::TxPort => tx.port(now, fabric, ports),
            Event::TxDone => tx.complete(now, ports),
            Event::RxPacket => rx.demultiplexed(now, fabric, ports),
            Event::RxAnnounce { stream, error, routing } => {
                rx.announce(now, stream, error, routing, fabric, ports);
            }
            Event::RxOverflow { routing } => rx.overflow(now, routing, fabric, ports),
            Event::CtlTake => express.take(now, tx, fabric, ports),
            Event::CtlStore => express.store(now, fabric, ports),
            Event::CtlNotify => express.notify(now, rx, ports),
            Event::RxTake => rx.take(now, fabric, ports),
            Event::RxDeposit => rx.deposit(now, fabric, ports),
            Event::RxDone => rx.complete(now, ports),
        }
    }
    /// True if the processor can see what an event does when it is carried out: a register that it
    /// polls, local memory, or the local bus itself changes.
    #[inline(always)]
    pub fn is_visible(&self, event: &Event) -> bool {
        match event {
            Event::TxTake | Event::TxDone | Event::RxTake | Event::RxDone => true,
            Event::RxAnnounce { .. } | Event::RxOverflow { .. } => true,
            Event::CtlTake | Event::CtlStore | Event::CtlNotify => true,
            Event::TxData => self.tx.ends_command(),
            Event::RxPacket => self.rx.begins_message(),
            Event::HostWrite | Event::HostPayload => false,
            Event::TxAnswer | Event::TxPort | Event::RxDeposit => false,
        }
    }
    /// A packet comes from the network, whole. The error is the packet itself, if the receive engine has no
    /// room for it; [`Ports::room`] tells of room.
    pub fn packet(
        &mut self,
        now: Time,
        packet: Packet,
        ports: &mut impl Ports,
    ) -> Result<(), Packet> {
        if packet.flags & flag::CONTROL != 0 {
            self.express.packet(now, packet, &mut self.fabric, ports);
            return Ok(());
        }
        self.rx.packet(now, packet, &mut self.fabric, ports)
    }
    /// Packets that the chip holds: of messages, of [`Params::rx_buffers`], and of the control class.
    pub fn packets_held(&self) -> u32 {
        self.rx.held() + self.express.held()
    }
    /// Keeps all but `number` of the receive engine's streams from being used: a fault on request, before
    /// any message has come.
    pub fn withhold_streams(&mut self, number: u32) {
        self.rx.cam.withhold(number as usize);
    }
    /// The network can take packets again, after an injection that returned `Time::NEVER`.
    pub fn injection_free(&mut self, now: Time, ports: &mut impl Ports) {
        self.tx.unblock(now, &mut self.fabric, ports);
    }
    /// The same for packets of the control class.
    pub fn control_injection_free(&mut self, now: Time, ports: &mut impl Ports) {
        self.express.unblock(now, &self.fabric, ports);
    }
    /// Counters since power-on.
    pub fn counters(&self) -> Counters {
        self.fabric.counters
    }

    fn registers<'a, P: Ports>(&'a mut self, at: Time, ports: &'a mut P) -> Registers<'a, P> {
        let SeaStar { fabric, control, tx, rx, express } = self;
        Registers { at, control, tx, rx, express, fabric, ports }
    }
    fn translate(
        &self,
        addr: u64,
        window: usize,
        offset: u64,
        len: usize,
        write: bool,
    ) -> Result<u64, BusError> {
        let error = |why| BusError { addr, len, write, why };
        self.control.windows.translate(window, offset).map_err(error)
    }
    fn read_host(
        &mut self,
        phys: u64,
        buf: &mut [u8],
        ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        self.fabric.counters.window_reads += 1;
        ports.host_load(phys, buf)?;
        self.fabric.posted.overlay(phys, buf);
        Ok(())
    }
    /// Time of a read of host memory by the processor. Its response does not queue for the link: it
    /// leaves in the future, and booking the link for it now would delay packets sent in between.
    fn host_round_trip(&mut self, now: Time, len: usize, ports: &mut impl Ports) -> Time {
        let fabric = &mut self.fabric;
        let params = &fabric.params;
        let at = now + params.plb_request + params.window_access;
        let leaves = fabric.request(at, ports);
        let bytes = params.ht_response_bytes + len as u64;
        let back = leaves + ports.link().unloaded(bytes);
        fabric.plb.response(back, params.window_access)
    }
    fn host_access_write(
        &mut self,
        now: Time,
        addr: u64,
        data: &[u8],
        ports: &mut impl Ports,
    ) -> Result<(), BusError> {
        let fabric = &mut self.fabric;
        let params = &fabric.params;
        match decode(addr) {
            Target::Sram => {
                fabric.plb.write(now, data.len(), params.sram_write);
                ports.sram_written(addr, data.len());
                fabric.sram.write(addr, data)
            }
            Target::Register => {
                let at = fabric.plb.write(now, data.len(), params.register_write);
                write_words(&mut self.registers(at, ports), addr, data)
            }
            // The host's window shows registers and local memory only.
            _ => Err(BusError { addr, len: data.len(), write: true, why: NOTHING }),
        }
    }
    fn host_access_read(
        &mut self,
        now: Time,
        addr: u64,
        buf: &mut [u8],
        ports: &mut impl Ports,
    ) -> Result<Time, BusError> {
        let len = buf.len();
        let fabric = &mut self.fabric;
        let params = &fabric.params;
        match decode(addr) {
            Target::Sram => {
                fabric.sram.read(addr, buf)?;
                ports.sram_read(addr, buf);
                Ok(fabric.plb.read(now, len, params.sram_read))
            }
            Target::Register => {
                let at = fabric.plb.read(now, len, params.register_read);
                read_words(&mut self.registers(at, ports), addr, buf).map(|()| at)
            }
            _ => Err(BusError { addr, len, write: false, why: NOTHING }),
        }
    }
}
