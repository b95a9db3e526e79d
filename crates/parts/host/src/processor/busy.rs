//! Work of a core: it ends with an event, or without one while nothing else happens on the node.

use super::Processor;
use crate::host::{Kind, Ports};
use des::{Duration, Time};
use std::rc::Weak;

impl Processor {
    /// Makes the core busy for `time` at full speed. The event for its end is only scheduled if something
    /// else may come before ([`Processor::go_on`]).
    pub(super) fn busy_for(&mut self, time: Duration, ports: &mut impl Ports) {
        self.schedule_end(ports);
        let now = self.core.now();
        self.ends = self.pace.as_ref().map_or(now + time, |pace| pace.end(now, time));
        self.core.begin();
        self.unscheduled = true;
    }

    fn schedule_end(&mut self, ports: &mut impl Ports) {
        if std::mem::take(&mut self.unscheduled) {
            self.schedule(self.ends, Kind::Ends { generation: self.core.generation.get() }, ports);
        }
    }

    /// Goes on while nothing else happens before the end of the core's work.
    pub(super) fn go_on(&mut self, ports: &mut impl Ports) {
        while self.unscheduled {
            self.look_ahead(ports);
            if !self.core.pass(self.ends) {
                return self.schedule_end(ports);
            }
            self.unscheduled = false;
            self.ended(ports);
        }
    }

    /// True in the kernel and in the handler.
    pub(crate) fn is_masked(&self) -> bool {
        self.core.masked()
    }

    /// Finds the time until which only this core has events, and until which its program is undisturbed.
    pub(super) fn look_ahead(&self, ports: &impl Ports) {
        let core = &*self.core;
        core.stirs.set(ports.stirs().map(|stirs| stirs + core.shared.stirs.get()));
        // Only of several cores it matters how soon they affect each other; without a bound they do at once.
        let reaction = || ports.reaction().min(core.shared.costs.kernel_entry);
        let bounded = core.shared.cores == 1 || reaction() > Duration::ZERO;
        let alone = bounded && self.pace.is_none() && !core.shared.together.get();
        core.alone_until.set(if alone { ports.alone_until() } else { Time::ZERO });
        if core.shared.cores == 1 || core.alone_until.get() == Time::ZERO {
            return core.undisturbed_until.set(core.alone_until.get());
        }
        let (reaction, cores) = (reaction(), core.shared.all.borrow());
        core.undisturbed_until.set(ports.undisturbed_until(&|at, event| {
            let other = cores.get(event.core()).and_then(Weak::upgrade);
            other.map_or(at, |other| other.reaches_others(at, event.kind(), reaction))
        }));
    }
}
