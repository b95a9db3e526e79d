//! A card on its node.

use super::image::Loaded;
use super::meter::Meter;
use super::network::{Event, Message, Network};
use super::settings::Settings;
use super::trail::Trail;
use abi::offload::panic_reason;
use abi::offload::register::Panic;
use abi::offload::{Packet, PACKET_SIZE};
use bus::BusError;
use des::Time;
use machine::firmware::profile::Profile;
use machine::firmware::recorder::Recorder;
use machine::firmware::symbols::Symbols;
use machine::instruments::capture::{Side, Streams, Tap};
use machine::instruments::timeline::About;
use machine::node::{Nic, Ports};
use machine::report::NodeReport;
use machine::Options;
use mesh_network::{OfNode, Outgoing, Port, Told as News};
use offload_nic::{Card, Chip, Fault, Params, Point, WireMessage};
use ppc440_debug::debugger::{Debugger, GdbSlot};
use ppc440_debug::Told;
use std::rc::Rc;
use std::sync::Arc;

/// Chips in place of its units, if they are not models.
type Chips = Option<[Box<dyn Chip>; 2]>;

/// Parts of a node around its card.
pub(super) struct Surroundings {
    pub network: Network,
    pub rings: Rc<mpi::Rings>,
    pub trail: Trail,
    pub chips: Chips,
}

/// A card, and who waits for what it writes.
pub(super) struct Station {
    pub(super) card: Card,
    network: Network,
    image: Arc<Loaded>,
    rings: Rc<mpi::Rings>,
    /// Records of the program's messages, and points that the card has passed.
    trail: Trail,
    points: Vec<(Time, Point)>,
    /// Its messages are captured.
    tap: Option<Box<(Tap, Streams)>>,
    recorder: Option<Box<Recorder>>,
    /// The recorder knows how the firmware idles.
    learns: bool,
    failed: bool,
    /// gdb's.
    pub(super) gdb: GdbSlot,
    /// True if the failure that ends the run has been shown.
    pub(super) shown: bool,
    /// Work of its firmware.
    pub(super) meter: Meter,
}

/// The node, for the card.
pub(super) struct NodePorts<'a> {
    ports: &'a mut Ports<Station>,
    network: &'a mut Network,
    rings: &'a mpi::Rings,
    trail: &'a Trail,
    tap: Option<&'a mut Tap>,
    /// Time of the first scheduled event.
    due: Time,
}

impl NodePorts<'_> {
    /// Failure that ends the run, if any.
    pub fn failure(&self) -> Option<&str> {
        self.ports.failure()
    }
}

impl offload_nic::Ports for NodePorts<'_> {
    fn schedule(&mut self, at: Time, event: offload_nic::Event) {
        self.due = self.due.min(at);
        self.ports.schedule(at, Event::Card(event));
    }
    fn due(&self) -> Time {
        self.due
    }
    fn send(&mut self, at: Time, target: u32, message: WireMessage) {
        if let Some(tap) = &mut self.tap {
            tap.packet(at, Side::Sent, |out| bytes_of(&message, out));
        }
        match self.network {
            Network::Wire(delay) => {
                self.ports.send(target, at + *delay, Message::Card(message));
            }
            Network::Mesh(port) => {
                let header = Packet::parse(&message.header).expect("a header's bytes");
                let id = self.trail.own_of(&header, target);
                let mut bytes = Vec::with_capacity(message.header.len() + message.payload.len());
                bytes_of(&message, &mut bytes);
                let node = &mut OfNode { ports: self.ports };
                port.send(at, Outgoing { target, id, bytes }, node);
            }
        }
    }
    fn host_read(&mut self, phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.ports.read(phys, buf)
    }
    fn host_write(&mut self, at: Time, phys: u64, data: &[u8]) -> Result<(), BusError> {
        self.ports.write(phys, data)?;
        if self.rings.landed(phys) {
            self.ports.attend(at);
        }
        Ok(())
    }
}

/// A message as it is on the wire.
fn bytes_of(message: &WireMessage, out: &mut Vec<u8>) {
    out.extend_from_slice(&message.header);
    out.extend_from_slice(&message.payload);
}

/// The message of these bytes.
fn message_of(bytes: &[u8]) -> WireMessage {
    let (header, payload) = bytes.split_at(PACKET_SIZE as usize);
    let header = header.try_into().expect("a header's bytes");
    WireMessage { header, payload: payload.to_vec() }
}

impl Station {
    pub fn new(
        node: u32,
        settings: &Settings,
        image: &Arc<Loaded>,
        surroundings: Surroundings,
    ) -> Station {
        let Surroundings { network, rings, trail, chips } = surroundings;
        let params = Params { node, ..settings.card.clone() };
        let card = Card::with_chips(params, &image.image, chips);
        Station {
            card,
            network,
            image: image.clone(),
            rings,
            trail,
            points: Vec::new(),
            tap: None,
            recorder: None,
            learns: false,
            failed: false,
            gdb: GdbSlot::default(),
            shown: false,
            meter: Meter::default(),
        }
    }

    /// Sets options of the processor's simulation.
    pub fn set_options(&mut self, options: &Options) {
        let core = self.card.core_mut();
        core.set_idle_fast_forward(options.shortcuts.park);
        if !options.shortcuts.translate {
            core.set_translation(0);
        }
    }

    /// Captures its messages.
    pub fn set_tap(&mut self, tap: Tap, streams: Streams) {
        self.tap = Some(Box::new((tap, streams)));
    }

    /// Tells of the processor from reset on.
    pub fn set_recorder(&mut self, recorder: Option<Recorder>) {
        self.recorder = recorder.map(Box::new);
    }

    /// Lets gdb debug the processor, from its first instruction on.
    pub fn set_debugger(&mut self, debugger: Option<Debugger>) {
        self.gdb = GdbSlot::new(debugger, self.card.core_mut());
    }

    /// The card with who looks at its processor, and the node for it.
    pub(super) fn parts<'a>(
        &'a mut self,
        ports: &'a mut Ports<Station>,
    ) -> (&'a mut Card, Option<&'a mut Recorder>, &'a mut GdbSlot, NodePorts<'a>) {
        let Station { card, rings, recorder, tap, network, trail, gdb, .. } = self;
        let tap = tap.as_deref_mut().map(|(tap, _)| tap);
        let node_ports = NodePorts { ports, network, rings, trail, tap, due: Time::NEVER };
        (card, recorder.as_deref_mut(), gdb, node_ports)
    }

    pub(super) fn symbols(&self) -> &Symbols {
        &self.image.symbols
    }

    /// Lets the processor do what it does before `until`.
    pub(super) fn advance(&mut self, until: Time, ports: &mut Ports<Station>) {
        let mut until = self.debug(until, ports);
        let ended = ports.failure().is_some();
        while !ended && self.card.fault().is_none() && self.card.core().now() < until {
            let (card, recorder, _, mut node_ports) = self.parts(ports);
            match recorder {
                None => card.run(until, &mut node_ports),
                Some(recorder) => {
                    card.run_observed(until, &mut node_ports, &mut Told(recorder));
                }
            }
            until = until.min(node_ports.due);
        }
        if let Some(recorder) = self.recorder.as_deref_mut().filter(|_| !self.learns) {
            // Once it only polls it has nothing to do until the launch.
            if self.card.is_ready() && self.card.next_action() == Time::NEVER {
                self.learns = true;
                recorder.learn();
            }
        }
        self.tell(ports);
    }

    /// Does something to the card, whose processor has reached `now`.
    fn act<R>(
        &mut self,
        now: Time,
        ports: &mut Ports<Station>,
        act: impl FnOnce(&mut Card, &mut NodePorts<'_>) -> R,
    ) -> R {
        self.advance(now, ports);
        let (card, _, _, mut node_ports) = self.parts(ports);
        let done = act(card, &mut node_ports);
        self.tell(ports);
        done
    }

    /// A message has come from another card.
    fn comes(&mut self, now: Time, message: WireMessage, ports: &mut Ports<Station>) {
        self.captures(now, &message);
        self.act(now, ports, |card, node_ports| card.receive(now, message, node_ports));
    }

    fn captures(&mut self, now: Time, message: &WireMessage) {
        if let Some((tap, _)) = self.tap.as_deref_mut() {
            tap.packet(now, Side::Received, |out| bytes_of(message, out));
        }
    }

    /// The port to the mesh, if there is one, and the node for it.
    fn port<'a>(
        &'a mut self,
        ports: &'a mut Ports<Station>,
    ) -> Option<(&'a mut Port, OfNode<'a, Station>)> {
        let node = OfNode { ports };
        match &mut self.network {
            Network::Wire(_) => None,
            Network::Mesh(port) => Some((port, node)),
        }
    }

    /// Tells of the points that the card has passed. Why it has stopped ends the run.
    fn tell(&mut self, ports: &mut Ports<Station>) {
        self.card.points(&mut self.points);
        for (at, point) in self.points.drain(..) {
            let Some((at, message, target)) = self.trail.passes(at, point) else { continue };
            if self.network.stays_here(target, ports.nid()) {
                // A record that went to the node itself would come at the end of the window.
                let journal = self.trail.journal();
                journal.departs(at, message).into_iter().for_each(|flight| journal.comes(flight));
            } else {
                ports.departs(at, message, target);
            }
        }
        let Some((at, fault)) = self.card.fault().filter(|_| !self.failed) else { return };
        let at = *at;
        let place = |pc| self.symbols().describe(pc);
        let what = match fault {
            Fault::Processor(fault) => format!("the firmware: {fault}, in {}", place(fault.pc)),
            Fault::Panic(word) => {
                format!("the firmware stopped the node at {at}: {}", reason(*word))
            }
            Fault::Part(why) => {
                format!("the firmware: {why}, in {}", place(self.card.core().pc()))
            }
            Fault::Host(error) => format!("the network interface's DMA: {error}"),
            Fault::Unit { unit, cycle, at, what } => {
                format!("{unit}, in its cycle {cycle} (up to {at}): {what}")
            }
        };
        self.failed = true;
        ports.fail(at, what);
    }
}

/// Reason for which the firmware stopped, in words.
fn reason(word: u32) -> String {
    let panic = Panic(word);
    let detail = panic.detail();
    match panic.reason() {
        panic_reason::EXCEPTION => format!("the processor took exception {detail:#x}"),
        panic_reason::NO_ENTRY => format!(
            "the queues of process {detail} have no entry left for a message that nobody has \
             asked for. Let the program receive messages earlier, or send fewer at a time"
        ),
        panic_reason::NO_BUFFER => format!(
            "the memory of the network interface is full of messages that process {detail} has \
             not asked for. Let the program receive messages earlier, or send fewer at a time"
        ),
        panic_reason::BAD_COMMAND => format!("command {detail:#x} cannot be obeyed"),
        panic_reason::BAD_PACKET => format!("a packet cannot be (kind or handle {detail:#x})"),
        panic_reason::BAD_RESULT => format!("a matching unit says what cannot be ({detail:#x})"),
        other => format!("unknown reason {other}, detail {detail:#x}"),
    }
}

impl Nic for Station {
    type Event = Event;
    type Message = Message;
    type Left = Option<mesh_network::Left>;

    fn handle(&mut self, now: Time, event: Event, ports: &mut Ports<Station>) {
        let event = match event {
            Event::Card(event) => {
                return self.act(now, ports, |card, node| card.handle(now, event, node));
            }
            Event::Mesh(event) => event,
        };
        let Some((port, mut node)) = self.port(ports) else { return };
        match port.handle(now, event, &mut node) {
            None => {}
            Some(News::Left) => self.act(now, ports, |card, node| card.left(now, node)),
            Some(News::Came(message)) => self.comes(now, message_of(&message.bytes), ports),
            Some(News::Began(message)) => {
                let header = message_of(&message.bytes).header;
                self.act(now, ports, |card, _| card.begins(now, message.source, header));
            }
            Some(News::Ended(message)) => {
                let whole = message_of(&message.bytes);
                self.captures(now, &whole);
                let (source, payload) = (message.source, whole.payload);
                self.act(now, ports, |card, node| card.ends(now, source, payload, node));
            }
        }
    }

    fn receive(&mut self, now: Time, message: Message, ports: &mut Ports<Station>) {
        match message {
            Message::Card(message) => self.comes(now, message, ports),
            Message::Link(message) => {
                if let Some((port, mut node)) = self.port(ports) {
                    port.receive(now, message, &mut node);
                }
            }
        }
    }

    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Station>) {
        if let Err(error) = self.act(now, ports, |card, _| card.store(now, local(addr), data)) {
            ports.fail(now, error);
        }
    }

    fn load(&mut self, now: Time, addr: u64, _len: usize, ports: &mut Ports<Station>) {
        let word = self.act(now, ports, |card, _| card.load(local(addr)));
        ports.answer(now + self.card.load_time(), &word.to_le_bytes());
    }

    fn word(event: &Event) -> u64 {
        match event {
            Event::Card(event) => *event as u64,
            Event::Mesh(event) => 0x80 | event.word() << 8,
        }
    }

    fn next_action(&self) -> Time {
        // gdb may make it do anything.
        if self.gdb.may_be_taken() && self.card.fault().is_none() {
            return self.card.core().now();
        }
        self.card.next_action()
    }

    fn works(&self) -> bool {
        self.card.next_action() < Time::NEVER
    }

    fn quiesce_time(&self, last: Time) -> Time {
        self.card.quiesce_time(last, self.network.window())
    }

    fn run(&mut self, until: Time, ports: &mut Ports<Station>) {
        if self.gdb.wants_back() {
            self.gdb.take_back(self.card.core_mut());
        }
        self.advance(until, ports);
    }

    fn failed(&mut self, at: Time, ports: &mut Ports<Station>) {
        self.show_failure(at, ports);
    }

    fn launched(&mut self, now: Time, ports: &mut Ports<Station>) {
        self.measure_idle_turn(now, ports);
        self.advance(now, ports);
        self.meter.launch = self.count(now);
        if !self.card.is_ready() {
            let place = self.symbols().describe(self.card.core().pc());
            let why = "the firmware was not ready for the launch";
            ports.fail(now, format_args!("{why} at {now}; it stands at {place}"));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.count(self.card.core().told_until());
        }
    }

    fn finish(&mut self, end: Time, ports: &mut Ports<Station>) -> Option<Profile> {
        self.advance(end, ports);
        self.card.catch_up(end);
        self.tell(ports);
        self.meter.end = self.count(end);
        if let Some((tap, streams)) = self.tap.take().map(|tap| *tap) {
            streams.put(ports.nid(), tap);
        }
        let recorder = self.recorder.take()?;
        Some(recorder.finish(ports.nid(), self.card.core().told_until()))
    }

    fn describe(&self, about: &mut About) {
        if let Network::Mesh(port) = &self.network {
            mesh_network::describe(port.router(), about);
        }
    }

    fn report(&mut self, report: &mut NodeReport, _: &mut Ports<Station>) {
        report.work = Some(self.meter.work(self.card.counters()));
        if let Network::Mesh(port) = &self.network {
            report.links = mesh_network::links(port.router());
        }
    }

    fn left(self) -> Option<mesh_network::Left> {
        match self.network {
            Network::Wire(_) => None,
            Network::Mesh(port) => Some(port.left()),
        }
    }

    fn counters(&self) -> Vec<(&'static str, u64)> {
        let card = self.card.counters();
        let [posted, unexpected] = card.units;
        let network = match &self.network {
            Network::Wire(_) => Vec::new(),
            Network::Mesh(port) => port.counters(),
        };
        let own = [
            ("offload.commands", card.commands),
            ("tx.messages", card.sent[0]),
            ("tx.bytes", card.sent[1]),
            ("rx.messages", card.received[0]),
            ("rx.bytes", card.received[1]),
            ("offload.stores_to_host", card.stores),
            ("offload.turns", card.turns),
            ("alpu.posted_requests", posted[0]),
            ("alpu.posted_matches", posted[1]),
            ("alpu.unexpected_requests", unexpected[0]),
            ("alpu.unexpected_matches", unexpected[1]),
        ];
        let processor = ppc440_debug::counters(self.card.core());
        own.into_iter().chain(processor).chain(network).collect()
    }

    fn waiting(&self) -> Vec<String> {
        let mut waiting = match &self.network {
            Network::Wire(_) => Vec::new(),
            Network::Mesh(port) => port.waiting(),
        };
        if self.card.held() > 0 {
            let held = self.card.held();
            waiting.push(format!("{held} messages wait before the network interface"));
        }
        waiting
    }
}

/// The card's own address. Behind 4 GB there is nothing, as at the last address below.
fn local(addr: u64) -> u32 {
    u32::try_from(addr).unwrap_or(u32::MAX)
}
