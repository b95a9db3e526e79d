//! The card: its processor and the rest of it.

use crate::around::Around;
use crate::inside::{Inside, POSTED, UNEXPECTED};
use crate::local::LocalBus;
use crate::point::{packet, Point};
use crate::{Chip, Event, Header, Image, Params, Ports, WireMessage};
use bus::BusError;
use des::{Duration, Time};
use std::fmt;

/// Turns of the firmware's loop in which it did nothing that others can see, after which it only polls: of
/// two one began after the last thing that it could see, and its last store may come late.
const IDLE_TURNS: u64 = 3;

/// Reason for which a card has stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The processor has.
    Processor(ppc440::Fault),
    /// The firmware says so: `panic_reason` in the highest byte, a detail.
    Panic(u32),
    /// The firmware has requested something impossible of a part.
    Part(&'static str),
    /// The host has no memory there.
    Host(BusError),
    /// A chip in the place of a matching unit has done what cannot be.
    Unit {
        /// Name of the unit.
        unit: &'static str,
        /// Cycle of the unit.
        cycle: u64,
        /// Time of the end of that cycle.
        at: Time,
        /// Description, in words.
        what: String,
    },
}

/// Counters of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that have left, and bytes behind their headers.
    pub sent: [u64; 2],
    /// The same of those that have come.
    pub received: [u64; 2],
    /// Commands of the host.
    pub commands: u64,
    /// Completions, in stores of up to 16 bytes.
    pub stores: u64,
    /// Copies that the units have got, and matches that they have found: posted, unexpected.
    pub units: [[u64; 2]; 2],
    /// Turns of the firmware's loop.
    pub turns: u64,
}

/// A card.
pub struct Card {
    core: ppc440::Core,
    inside: Inside,
}

impl fmt::Debug for Card {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Card").field("counters", &self.inside.counters).finish_non_exhaustive()
    }
}

impl Card {
    /// A card with its firmware in place, whose processor leaves reset at time 0.
    pub fn new(params: Params, image: &Image) -> Card {
        Card::with_chips(params, image, None)
    }

    /// The same with chips in the place of the units for posted receives and for unexpected messages.
    pub fn with_chips(params: Params, image: &Image, chips: Option<[Box<dyn Chip>; 2]>) -> Card {
        let mut core = ppc440::Core::new(&params.processor);
        core.release_reset(Time::ZERO);
        Card { core, inside: Inside::new(params, image, chips) }
    }

    /// The processor, for who looks at it.
    pub fn core(&self) -> &ppc440::Core {
        &self.core
    }

    /// The same, to set how it is simulated.
    pub fn core_mut(&mut self) -> &mut ppc440::Core {
        &mut self.core
    }

    /// The firmware has started.
    pub fn is_ready(&self) -> bool {
        self.inside.ready
    }

    /// Reason for which it has stopped, and the time.
    pub fn fault(&self) -> Option<&(Time, Fault)> {
        self.inside.fault.as_ref()
    }

    /// Serial of the message that the firmware deals with, as it says.
    pub fn serial(&self) -> u32 {
        self.inside.serial
    }

    /// Swaps the points for observers with `empty`, in the order in which they happened.
    pub fn points(&mut self, empty: &mut Vec<(Time, Point)>) {
        std::mem::swap(&mut self.inside.points, empty);
    }

    /// Counters of the card.
    pub fn counters(&self) -> Counters {
        let mut counters = self.inside.counters;
        if let Some(units) = &self.inside.units {
            counters.units = [POSTED, UNEXPECTED].map(|n| [units[n].delivered, units[n].successes]);
        }
        counters
    }

    /// Messages that wait at its end of the wire.
    pub fn held(&self) -> usize {
        self.inside.receiver.held()
    }

    /// Time of its processor's next action that others may see; `Time::NEVER` while it only polls.
    pub fn next_action(&self) -> Time {
        if self.inside.idle >= IDLE_TURNS || self.inside.fault.is_some() {
            return Time::NEVER;
        }
        self.core.now()
    }

    /// Time at which it is known that its firmware only polls, if nothing comes after `last`; no window of
    /// the run is longer than `window`.
    pub fn quiesce_time(&self, last: Time, window: Duration) -> Time {
        let Inside { acted, idle_turn, .. } = &self.inside;
        last.max(*acted) + *idle_turn * (IDLE_TURNS + 2) + window
    }

    /// Lets the processor go on until `until`, or until it has scheduled an event that is due before.
    pub fn run<P: Ports>(&mut self, until: Time, ports: &mut P) {
        if self.inside.fault.is_none() {
            let Card { core, inside } = self;
            let stop = core.run(&mut LocalBus { inside, ports, horizon: until }, until);
            self.ran(stop);
        }
    }

    /// The same, and tells `probe` where its cycles go. Returns why the processor halts.
    pub fn run_observed<P: Ports, O: ppc440::Probe>(
        &mut self,
        until: Time,
        ports: &mut P,
        probe: &mut O,
    ) -> ppc440::Stop {
        if self.inside.fault.is_some() {
            return ppc440::Stop::Fault;
        }
        let Card { core, inside } = self;
        let bus = &mut LocalBus { inside, ports, horizon: until };
        let stop = core.run_observed(bus, until, probe);
        self.ran(stop);
        stop
    }

    /// The processor, and the rest of the card as who debugs it sees it.
    pub fn halted<'a, P>(&'a mut self, ports: &'a mut P) -> (&'a mut ppc440::Core, Around<'a, P>) {
        (&mut self.core, Around { inside: &mut self.inside, ports })
    }

    fn ran(&mut self, stop: ppc440::Stop) {
        if stop == ppc440::Stop::Fault {
            let fault = *self.core.fault().expect("a processor that stops says why");
            self.inside.fail(fault.at, Fault::Processor(fault));
        }
    }

    /// An event that it has scheduled is due. Its processor has been run up to `now`.
    pub fn handle<P: Ports>(&mut self, now: Time, event: Event, ports: &mut P) {
        let inside = &mut self.inside;
        let done = match event {
            Event::Depart => inside.depart(now, ports),
            Event::Left => {
                inside.left(now, ports);
                Ok(())
            }
            Event::Header => {
                inside.receiver.header();
                header_comes(inside, now);
                Ok(())
            }
            Event::Moved => {
                inside.idle = 0;
                inside.moved(now, ports)
            }
            Event::Stored => {
                let (phys, bytes) = inside.stores.pop_front().expect("a store is on its way");
                inside.tell(now, Point::Stored);
                ports.host_write(now, phys, &bytes)
            }
        };
        if let Err(error) = done {
            inside.fail(now, Fault::Host(error));
        }
    }

    /// Chips in the place of units go up to `now`: their errors until then are reported.
    pub fn catch_up(&mut self, now: Time) {
        self.inside.catch_up(now);
    }

    /// A network with a pace of its own has taken all of the message that leaves.
    pub fn left<P: Ports>(&mut self, now: Time, ports: &mut P) {
        self.inside.left(now, ports);
    }

    /// A message has reached its end of the wire; from another network, all of it is here.
    pub fn receive<P: Ports>(&mut self, now: Time, message: WireMessage, ports: &mut P) {
        self.inside.tell(now, Point::Comes(packet(&message.header)));
        let Some(rate) = self.inside.params.wire_rate else {
            self.inside.receiver.come(message, now);
            return header_comes(&mut self.inside, now);
        };
        let header = self.inside.receiver.reach(now, message, rate);
        ports.schedule(header, Event::Header);
    }

    /// A header has come from another network, whose payload is not all here. The next message of its source
    /// comes behind that.
    pub fn begins(&mut self, now: Time, source: u32, header: Header) {
        self.inside.tell(now, Point::Comes(packet(&header)));
        self.inside.receiver.begin(source, header);
        header_comes(&mut self.inside, now);
    }

    /// All of that payload is here.
    pub fn ends<P: Ports>(&mut self, now: Time, source: u32, payload: Vec<u8>, ports: &mut P) {
        let Inside { receiver, mover, params, .. } = &mut self.inside;
        receiver.end(now, source, payload, mover);
        mover.schedule(params, ports);
    }

    /// The host stores `data` at `addr`. The processor has been run up to `now`.
    pub fn store(&mut self, now: Time, addr: u32, data: &[u8]) -> Result<(), BusError> {
        self.inside.store(now, addr, data)
    }

    /// The word that the host loads from `addr`.
    pub fn load(&self, addr: u32) -> u32 {
        self.inside.load(addr)
    }

    /// Time that a load of the host takes, there and back.
    pub fn load_time(&self) -> Duration {
        self.inside.params.bus_delay * 2
    }
}

/// A header is here, which the processor will see.
fn header_comes(inside: &mut Inside, now: Time) {
    inside.idle = 0;
    inside.counters.received[0] += 1;
    inside.settle(now);
}
