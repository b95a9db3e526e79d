//! A card whose processor gdb debugs: it halts where gdb wants it to, and before faults end the run.

use super::nic::{NodePorts, Station};
use des::Time;
use machine::node::Ports;
use offload_nic::{Around, Ports as _};
use ppc440_debug::debugger::{killed, Debugged, Halted, Surroundings, Why, KILLED};
use ppc440_debug::{Off, Stop, Told};

/// All of the node but its processor.
struct Rest<'a, 'b>(Around<'a, NodePorts<'b>>);

impl Surroundings for Rest<'_, '_> {
    fn look(&mut self, now: Time, real: u64, bytes: &mut [u8]) -> bool {
        self.0.look(now, real, bytes)
    }

    fn write(&mut self, now: Time, real: u64, bytes: &[u8]) -> bool {
        self.0.write(now, real, bytes)
    }

    fn changed(&mut self) {
        self.0.changed();
    }

    fn failure(&self) -> Option<&str> {
        self.0.ports().failure()
    }
}

impl Station {
    /// Lets the processor do what it does before `until` as long as gdb is there, and halts where it
    /// wants to look. Returns until when the processor may go on by itself.
    pub(super) fn debug(&mut self, until: Time, ports: &mut Ports<Station>) -> Time {
        let mut until = until;
        while self.gdb.is_taken() && self.card.fault().is_none() && ports.failure().is_none() {
            let mut stop = Stop::Until;
            if self.card.core().now() < until {
                let (card, recorder, gdb, mut node_ports) = self.parts(ports);
                let Some(watch) = gdb.watch() else { break };
                stop = match recorder {
                    None => {
                        let mut probe = Debugged { watch, observer: &mut Off };
                        card.run_observed(until, &mut node_ports, &mut probe)
                    }
                    Some(recorder) => {
                        let mut probe = Debugged { watch, observer: &mut Told(recorder) };
                        card.run_observed(until, &mut node_ports, &mut probe)
                    }
                };
                until = until.min(node_ports.due());
            }
            let Some(why) = self.gdb.why(stop) else { break };
            until = self.stand_still(why, until, ports);
        }
        until
    }

    /// Shows the debugger the failure that ends the run, once, unless it was shown before it happened.
    pub(super) fn show_failure(&mut self, at: Time, ports: &mut Ports<Station>) {
        if std::mem::replace(&mut self.shown, true) {
            return;
        }
        if let Some(why) = self.gdb.last_look(self.card.core()) {
            self.stand_still(why, at, ports);
        }
    }

    /// Does what gdb requests until it wants the processor to go on, which has reached `limit` at most.
    /// Returns that, or when something is due that gdb has begun.
    fn stand_still(&mut self, why: Why, limit: Time, ports: &mut Ports<Station>) -> Time {
        let now = self.card.core().now().min(limit);
        let (card, _, gdb, mut node_ports) = self.parts(ports);
        let (core, around) = card.halted(&mut node_ports);
        let around = &mut Rest(around);
        let ends = gdb.stand_still(why, &mut Halted { core, around, now });
        let due = node_ports.due();
        if ends {
            ports.end(now, KILLED, killed(now, self.card.core(), self.symbols()));
        }
        limit.min(due)
    }
}
