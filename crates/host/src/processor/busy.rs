//! Work of a core: it ends with an event, or without one while nothing else happens on the node.

use super::Processor;
use crate::host::{Kind, Ports};
use des::{Duration, Time};

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

    /// Finds the time until which only this core has events. Other cores, if any, must see its actions at
    /// once.
    pub(super) fn look_ahead(&self, ports: &impl Ports) {
        let alone = self.core.shared.cores == 1 && self.pace.is_none();
        self.core.alone_until.set(if alone { ports.alone_until() } else { Time::ZERO });
    }
}
