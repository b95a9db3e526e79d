//! Software of another kind on a SeaStar: no ranks, no Portals, only a driver of a bell. It sets up a
//! firmware process, and one node rings the other by an inline message.

use super::{Bench, Parts};
use crate::node::{Left, Node};
use abi::seastar::{
    command_op, event_type, header_flag, mailbox, InitEqcbCommand, InitProcessCommand,
    MarkAliveCommand, PortalsHeader, TxCommand, UpperPending, COMMAND_SIZE, GENERIC_PENDINGS,
    GENERIC_PROCESS, HTB_MAP, HTB_VALID, MAILBOX_BASE, MAILBOX_SIZE, READY_FLAG, READY_VALUE,
    RESULT_COUNT, WINDOW_SIZE,
};
use des::{Duration, Ending, Links, Time};
use host::{Cpu, Host};
use machine::bench::Plan;
use machine::node::{Equipment, Software};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

const VALUE: [u8; 4] = *b"bell";
/// Slots of the event ring, and the window in which it stands behind the pendings.
const SLOTS: u32 = 2048;
const WINDOW: u32 = 8;
/// Pendings from which on messages are received.
const RECEIVED: u16 = 8;
const POLL: Duration = Duration::from_ns(100);

/// A driver of the bell.
struct Bell {
    nid: u32,
    ended: Rc<Cell<Option<Time>>>,
    heard: Rc<RefCell<Vec<u8>>>,
}

/// Driver while it runs: its processor, its memory, and the places of the next command and event.
struct Driver<'a> {
    cpu: &'a Cpu,
    base: u64,
    commands: u32,
    results: u32,
    events: u32,
}

impl Driver<'_> {
    fn new(cpu: &Cpu) -> Driver<'_> {
        let bytes = GENERIC_PENDINGS as u64 * UpperPending::SIZE as u64 + 4 * u64::from(SLOTS);
        let base = cpu.memory().borrow_mut().alloc_kernel(bytes, 4096);
        let frame = (base / u64::from(WINDOW_SIZE)) as u32;
        cpu.mmio_write(HTB_MAP + WINDOW * 4, &(HTB_VALID | frame).to_le_bytes());
        Driver { cpu, base, commands: 0, results: 0, events: 0 }
    }
    fn ring(&self) -> u64 {
        self.base + GENERIC_PENDINGS as u64 * UpperPending::SIZE as u64
    }
    /// An address in its memory as the firmware sees it.
    fn local(&self, phys: u64) -> u32 {
        WINDOW * WINDOW_SIZE + (phys % u64::from(WINDOW_SIZE)) as u32
    }
    fn mailbox(&self, offset: usize) -> u32 {
        MAILBOX_BASE + GENERIC_PROCESS * MAILBOX_SIZE + offset as u32
    }
    fn command(&mut self, bytes: &[u8]) {
        let slot = self.mailbox(mailbox::COMMANDS) + self.commands * COMMAND_SIZE;
        self.cpu.mmio_write(slot, bytes);
        self.commands += 1;
        self.cpu.mmio_write(self.mailbox(mailbox::COMMAND_WRITE), &self.commands.to_le_bytes());
    }
    fn ask(&mut self, bytes: &[u8]) -> u32 {
        self.command(bytes);
        while self.cpu.mmio_read(self.mailbox(mailbox::RESULT_WRITE)) == self.results {}
        let result = self.cpu.mmio_read(self.mailbox(mailbox::RESULTS) + 4 * self.results);
        self.results = (self.results + 1) % RESULT_COUNT;
        self.cpu.mmio_write(self.mailbox(mailbox::RESULT_READ), &self.results.to_le_bytes());
        result
    }
    fn set_up(&mut self) {
        let process_index = GENERIC_PROCESS as u8;
        let mut bytes = [0; COMMAND_SIZE as usize];
        let init = InitProcessCommand {
            op: command_op::INIT_PROCESS,
            process_index,
            num_pendings: GENERIC_PENDINGS as u16,
            pending_tx_limit: RECEIVED,
            upper_pending_lo: self.base as u32,
            upper_pending_hi: (self.base >> 32) as u32,
            upper_pending_local: self.local(self.base),
            ..InitProcessCommand::default()
        };
        init.emit(&mut bytes);
        assert_eq!(self.ask(&bytes), 0);
        let base_local = self.local(self.ring());
        let (op, count) = (command_op::INIT_EQCB, SLOTS);
        InitEqcbCommand { op, process_index, count, base_local }.emit(&mut bytes);
        assert_eq!(self.ask(&bytes), 1);
        MarkAliveCommand { op: command_op::MARK_ALIVE, process_index }.emit(&mut bytes);
        assert_eq!(self.ask(&bytes), 0);
    }
    /// Waits for the firmware's next event: its kind and its pending.
    fn event(&mut self) -> (u16, u16) {
        let at = self.ring() + 4 * u64::from(self.events);
        self.events += 1;
        loop {
            let mut word = [0; 4];
            self.cpu.memory().borrow_mut().read_phys(at, &mut word).unwrap();
            match u32::from_le_bytes(word) {
                0 => self.cpu.spend(POLL),
                word => return ((word >> 16) as u16, word as u16),
            }
        }
    }
    fn send(&mut self, source_nid: u16, target_nid: u16) {
        let mut header = PortalsHeader {
            flags: header_flag::INLINE,
            source_nid,
            target_nid,
            length: VALUE.len() as u32,
            ..PortalsHeader::default()
        };
        header.inline_data[..VALUE.len()].copy_from_slice(&VALUE);
        let mut bytes = [0; PortalsHeader::SIZE];
        header.emit(&mut bytes);
        self.cpu.memory().borrow_mut().write_phys(self.base, &bytes).unwrap();
        let (op, process_index) = (command_op::TX, GENERIC_PROCESS as u8);
        let mut bytes = [0; COMMAND_SIZE as usize];
        TxCommand { op, process_index, peer: target_nid, ..TxCommand::default() }.emit(&mut bytes);
        self.command(&bytes);
        assert_eq!(self.event(), (event_type::TX_COMPLETE, 0));
    }
    /// Bytes of the next message.
    fn hear(&mut self) -> Vec<u8> {
        let (kind, pending) = self.event();
        assert_eq!(kind, event_type::RX_INLINE);
        let mut bytes = [0; PortalsHeader::SIZE];
        let at = self.base + u64::from(pending) * UpperPending::SIZE as u64;
        self.cpu.memory().borrow_mut().read_phys(at, &mut bytes).unwrap();
        let header = PortalsHeader::parse(&bytes).unwrap();
        header.inline_data[..header.length as usize].to_vec()
    }
}

impl Software for Bell {
    fn boot(&self, host: &mut Host, launch: Time) {
        let (nid, ended, heard) = (self.nid, self.ended.clone(), self.heard.clone());
        host.set_interrupt_handler(Rc::new(|_: &Cpu| {}));
        host.spawn("bell", move |cpu| {
            assert_eq!(cpu.mmio_read(READY_FLAG), READY_VALUE, "a node boots when it is ready");
            let mut driver = Driver::new(&cpu);
            driver.set_up();
            cpu.spend(launch.since(cpu.now()));
            match nid {
                0 => driver.send(0, 1),
                _ => *heard.borrow_mut() = driver.hear(),
            }
            ended.set(Some(cpu.now()));
        });
    }
    fn late(&self) -> Option<String> {
        None
    }
    fn ranks(&self) -> Vec<u32> {
        Vec::new()
    }
    fn all_ended(&self) -> bool {
        self.ended.get().is_some()
    }
    fn endings(&self) -> Vec<(u32, Time, i32)> {
        Vec::new()
    }
    fn failure(&self) -> Option<(i32, String)> {
        None
    }
    fn waiting(&self) -> Vec<String> {
        vec![String::from_utf8_lossy(&self.heard.borrow()).into_owned()]
    }
}

struct Pair<'a>(Parts<'a>);

impl Plan for Pair<'_> {
    type Process = Node;
    type Left = Option<Left>;
    fn links(&self) -> Links {
        Links::between_all(self.0.configuration.network.routers.lookahead(), 2)
    }
    fn notice(&self) -> Duration {
        self.0.configuration.network.routers.lookahead()
    }
    fn process(&self, nid: u32) -> Node {
        let bench = self.0.bench;
        let host = bench.host(nid);
        let chip = self.0.chip(nid as u16);
        let station = self.0.station(nid, chip, host.memory(), None, Default::default());
        let software = Box::new(Bell { nid, ended: Rc::default(), heard: Rc::default() });
        let equipment = Equipment { host, software, journal: bench.journal(nid), judge: None };
        bench.node(nid, station, equipment)
    }
}

#[test]
fn a_bell_rings_over_firmware_without_portals() {
    let mut bench = Bench::new(&["net.topology=row"], true);
    bench.options.threads = 2;
    let parts = bench.parts_of(2);
    let ended = parts.bench.simulate(&Pair(parts));
    let failures: Vec<_> = ended.remains.iter().filter_map(|node| node.failure.clone()).collect();
    assert_eq!((ended.ending, failures), (Ending::Done, Vec::new()));
    assert_eq!(ended.remains[1].waiting, [String::from_utf8_lossy(&VALUE)]);
    let count =
        |node: usize, name: &str| ended.remains[node].report.as_ref().unwrap().counters[name];
    assert_eq!((count(0, "tx.messages"), count(1, "rx.messages")), (1, 1));
}
