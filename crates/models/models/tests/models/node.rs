//! A node between doubles: an interface, and a host's software, that do what a script says, and a switch that
//! has neither.

use des::{Duration, Ending, Envelope, Links, Outbox, Time};
use host::{Cpu, Host};
use machine::bench::{Bench, Plan};
use machine::node::{self, Crossing, Equipment, Nic, Ports, Process, Software};
use machine::parameters::Parameters;
use machine::remains::Remains;
use machine::{Options, Places, Program};
use models::MODELS;
use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

/// Log of each node, in order, with times.
type Log = Arc<Mutex<Vec<(Time, String)>>>;

/// A way of the network, and the time that the interface takes to answer a load.
const MESSAGE_PATH: Duration = Duration::from_ns(100);
const LATE: Duration = Duration::from_us(7);

/// An interface that passes each store on to the other node by the switch, and answers loads late.
struct Double {
    log: Log,
    /// A processor that acts by itself, so often.
    acts: Time,
    runs: u32,
}

impl Nic for Double {
    type Event = u8;
    type Message = u32;
    type Left = ();
    fn handle(&mut self, now: Time, event: u8, ports: &mut Ports<Double>) {
        self.log.lock().unwrap().push((now, format!("event {event}")));
        ports.interrupt_by(now, event);
    }
    fn receive(&mut self, now: Time, message: u32, ports: &mut Ports<Double>) {
        self.log.lock().unwrap().push((now, format!("message {message}")));
        // The host has allocated nothing.
        assert!(ports.write(0, &[0]).is_err() && ports.read(0, &mut [0]).is_err());
        ports.schedule(now, 2);
        ports.schedule(now, 1);
    }
    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Double>) {
        if data.len() > 8 {
            // A line, by its sum.
            let sum: u32 = data.iter().map(|byte| u32::from(*byte)).sum();
            return self.log.lock().unwrap().push((now, format!("line {sum}")));
        }
        ports.send(SWITCH, now + MESSAGE_PATH, 2 * addr as u32 + (1 - ports.nid()));
    }
    fn load(&mut self, now: Time, addr: u64, len: usize, ports: &mut Ports<Double>) {
        let word = (addr >> 32) as u32 + addr as u32;
        match len {
            4 => ports.answer(now + LATE, &word.to_le_bytes()),
            _ => ports.answer(now + LATE, &vec![word as u8; len]),
        }
    }
    fn word(event: &u8) -> u64 {
        (*event).into()
    }
    fn next_action(&self) -> Time {
        self.acts
    }
    fn run(&mut self, until: Time, _ports: &mut Ports<Double>) {
        assert!(self.acts < until);
        self.runs += 1;
        let more = self.runs < 3;
        self.acts = if more { self.acts + Duration::from_us(1) } else { Time::NEVER };
    }
    fn counters(&self) -> Vec<(&'static str, u64)> {
        vec![("runs", self.runs.into())]
    }
    fn waiting(&self) -> Vec<String> {
        vec!["the double stands".into()]
    }
}

/// Software whose only fibre stores, loads, and waits for interrupts.
struct Script {
    log: Log,
    interrupts: Rc<Cell<u64>>,
    ended: Rc<Cell<Option<Time>>>,
    patient: bool,
}

impl Software for Script {
    fn boot(&self, host: &mut Host, launch: Time) {
        let (interrupts, ended) = (self.interrupts.clone(), self.ended.clone());
        let (log, patient) = (self.log.clone(), self.patient);
        let counted = interrupts.clone();
        host.set_interrupt_handler(Rc::new(move |cpu: &Cpu| {
            counted.set(counted.get() | cpu.take_vectors());
            assert_eq!(cpu.take_vectors(), 0, "they are taken once");
        }));
        host.spawn("script", move |cpu| {
            cpu.spend(launch.since(cpu.now()));
            cpu.mmio_write(3_u64, &[0; 4]);
            let asked = cpu.now();
            let value = cpu.mmio_read(1_u64 << 32 | 40);
            log.lock().unwrap().push((cpu.now(), format!("loaded {value}")));
            assert!(cpu.now() >= asked + LATE);
            cpu.mmio_write_line(64_u64, &[2; 64]);
            for len in [1, 8, 9, 64] {
                let mut line = vec![0; len];
                cpu.mmio_read_line(64_u64, &mut line);
                assert_eq!(line, vec![64; len]);
            }
            // Both vectors by which the interface interrupts.
            while interrupts.get() != 1 << 1 | 1 << 2 || patient {
                cpu.spend(Duration::from_us(1));
                if patient && cpu.now() > launch + Duration::from_us(50) {
                    return;
                }
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
        vec!["the script waits".into()]
    }
}

/// Number of the switch's process: behind the nodes.
const SWITCH: u32 = 2;

/// Passes on what comes, to whom it names; it has neither host nor interface.
struct Switch {
    arrived: Vec<Envelope<u32>>,
    last: Time,
}

impl node::Switch for Switch {
    type Message = u32;
    type Left = ();
    fn next_event(&self) -> Time {
        self.arrived.iter().map(|e| e.at).min().unwrap_or(Time::NEVER)
    }
    fn advance_to(&mut self, horizon: Time, outbox: &mut Outbox<Crossing<u32>>) {
        while let Some(due) = self.arrived.iter().position(|e| e.at < horizon) {
            let envelope = self.arrived.remove(due);
            self.last = envelope.at;
            let message = Crossing::Message(envelope.message / 2);
            outbox.send(envelope.message % 2, envelope.at + MESSAGE_PATH, message);
        }
    }
    fn receive(&mut self, envelope: Envelope<u32>) {
        self.arrived.push(envelope);
    }
    fn last(&self) -> Time {
        self.last
    }
    fn finish(self, end: Time) -> Remains<Option<()>> {
        Remains::of_switch(end, 0, Some(()))
    }
}

/// Two nodes and a switch between them.
struct Machine<'a> {
    bench: &'a Bench<'a>,
    patient: bool,
    logs: [Log; 2],
}

impl Plan for Machine<'_> {
    type Process = Process<Double, Switch>;
    type Left = Option<()>;
    fn switches(&self) -> u32 {
        1
    }
    fn links(&self) -> Links {
        Links::new(MESSAGE_PATH, 3, |to| if to == SWITCH { 0..2 } else { SWITCH..3 })
    }
    fn notice(&self) -> Duration {
        MESSAGE_PATH
    }
    fn process(&self, number: u32) -> Process<Double, Switch> {
        if number == SWITCH {
            return Process::Switch(Box::new(Switch { arrived: Vec::new(), last: Time::ZERO }));
        }
        let log = &self.logs[number as usize];
        let acts = self.bench.common.launch();
        let nic = Double { log: log.clone(), acts, runs: 0 };
        let (interrupts, ended, patient) = (Rc::default(), Rc::default(), self.patient);
        let software = Script { log: log.clone(), interrupts, ended, patient };
        let (host, software) = (self.bench.host(number), Box::new(software));
        let journal = self.bench.journal(number);
        let equipment = Equipment { host, software, journal, judge: None };
        Process::Node(Box::new(self.bench.node(number, nic, equipment)))
    }
}

fn options(threads: usize) -> Options {
    let parameters = Parameters::load(&MODELS, &crate::machines().join("ideal.toml")).unwrap();
    let places = Places::of_repository(Path::new("/proc/none"));
    let program = Program::Executables(Vec::new());
    Options { threads, ..Options::new(parameters, program, 2, places) }
}

#[test]
fn host_interface_and_switch_see_one_another_in_time() {
    let mut hashes = Vec::new();
    for threads in [1, 2] {
        let options = options(threads);
        let bench = Bench::of_hosts(&options).unwrap();
        let logs = <[Log; 2]>::default();
        let machine = Machine { bench: &bench, patient: false, logs: logs.clone() };
        let ended = bench.simulate(&machine);
        assert_eq!((ended.ending, ended.remains.len()), (Ending::Done, 3));
        let launch = bench.common.launch();
        let arrives = launch + MESSAGE_PATH + MESSAGE_PATH;
        for (node, log) in ended.remains.iter().zip(&logs) {
            let expected = [
                (arrives, "message 3"),
                (arrives, "event 2"),
                (arrives, "event 1"),
                (launch + LATE, "loaded 41"),
                (launch + LATE, "line 128"),
            ];
            let expected = expected.map(|(at, what)| (at, what.to_owned()));
            assert_eq!(log.lock().unwrap()[..], expected);
            let counters = &node.report.as_ref().unwrap().counters;
            assert_eq!(counters["runs"], 3);
        }
        assert!(ended.remains[2].report.is_none(), "a switch is no node");
        hashes.push(ended.remains.iter().map(|process| process.hash).collect::<Vec<_>>());
    }
    assert_eq!(hashes[0], hashes[1]);
}

#[test]
fn what_stands_still_is_told_by_software_and_interface() {
    let options = options(1);
    let bench = Bench::of_hosts(&options).unwrap();
    let machine = Machine { bench: &bench, patient: true, logs: Default::default() };
    let ended = bench.simulate(&machine);
    assert_eq!(ended.ending, Ending::Deadlock);
    assert_eq!(ended.remains[0].waiting, ["the script waits", "the double stands"]);
}
