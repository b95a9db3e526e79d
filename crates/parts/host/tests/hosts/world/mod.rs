//! The smallest node around a host: an event queue, a NIC that answers reads after a fixed round trip, and a
//! log of all events.

use des::{Duration, EventQueue, Time, TraceHash};
use host::{Costs, Event, Host, Ports};
use std::cell::RefCell;
use std::rc::Rc;

/// Costs in single picoseconds, so that small worlds can be enumerated.
pub const COSTS: Costs = Costs {
    kernel_entry: Duration(2),
    kernel_exit: Duration(1),
    interrupt_entry: Duration(3),
    interrupt_exit: Duration(1),
    mmio_write: Duration(2),
    copy_start: Duration(5),
    copy_rate: 1_000_000_000,
    poll_period: Duration(3),
    poll_most: Duration::ZERO,
    lock_take: Duration(1),
    lock_pass: Duration(2),
};
pub const ROUND_TRIP: Duration = Duration(4);

pub type Log = Rc<RefCell<Vec<(u64, String)>>>;

#[derive(Clone, Copy)]
pub enum Happening {
    Host(Event),
    Interrupt,
    /// A read of this many bytes is answered: a word with one more than its address, bytes each with that.
    Reply(u32, u8),
}

pub struct Node {
    pub queue: EventQueue<Happening>,
    pub log: Log,
    /// True if the host does without events that nothing else comes before.
    pub passes: bool,
}

impl Ports for Node {
    fn schedule(&mut self, at: Time, event: Event) {
        self.queue.schedule(at, Happening::Host(event));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        self.log.borrow_mut().push((now.0, format!("store {addr:x} {data:02x?}")));
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        self.queue.schedule(now + ROUND_TRIP, Happening::Reply(addr as u32 + 1, len as u8));
    }
    fn alone_until(&self) -> Time {
        if self.passes {
            self.queue.next_time()
        } else {
            Time::ZERO
        }
    }
    fn undisturbed_until(&self, disturbs: &dyn Fn(Time, Event) -> Time) -> Time {
        let until = |(at, _, happening): (Time, u32, &Happening)| match happening {
            Happening::Host(event) => disturbs(at, *event),
            _ => at,
        };
        self.queue.iter().map(until).min().unwrap_or(Time::NEVER)
    }
    fn reaction(&self) -> Duration {
        ROUND_TRIP
    }
}

pub struct World {
    pub host: Host,
    pub node: Node,
    pub now: Time,
    pub hash: TraceHash,
    pub passed: u64,
}

impl World {
    pub fn new() -> World {
        World::with_cores(1)
    }
    pub fn with_cores(cores: usize) -> World {
        let node = Node { queue: EventQueue::new(0), log: Log::default(), passes: false };
        let host = Host::with_cores(&COSTS, cores);
        World { host, node, now: Time::ZERO, hash: TraceHash::default(), passed: 0 }
    }
    pub fn interrupt_at(&mut self, at: u64) {
        self.node.queue.schedule(Time(at), Happening::Interrupt);
    }
    /// Runs until nothing is scheduled any more.
    pub fn run(&mut self) {
        self.host.start(self.now, &mut self.node);
        self.take_passed();
        while let Some((now, happening)) = self.node.queue.pop_before(Time::NEVER) {
            assert!(now >= self.now, "time goes forward");
            self.now = now;
            match happening {
                Happening::Host(event) => self.host.handle(now, event, &mut self.node),
                Happening::Interrupt => self.host.interrupt(now, &mut self.node),
                Happening::Reply(first, len) => {
                    let mut bytes = vec![0; len.into()];
                    match len {
                        4 => bytes.copy_from_slice(&first.to_le_bytes()),
                        _ => bytes.iter_mut().zip(first..).for_each(|(byte, at)| *byte = at as u8),
                    }
                    self.host.mmio_reply(now, &bytes, &mut self.node);
                }
            }
            self.take_passed();
            self.hash.event(now, self.node.log.borrow().len() as u64);
        }
    }
    fn take_passed(&mut self) {
        let World { host, now, passed, .. } = self;
        host.take_passed(|at, _| {
            assert!(at > *now, "time goes forward");
            *now = at;
            *passed += 1;
        });
    }
    pub fn log(&self) -> Vec<(u64, String)> {
        self.node.log.borrow().clone()
    }
}
