//! Calls of libfabric, which take their time beside the Portals calls in them; and programs that look for
//! events in vain.

use super::{Observer, Runner};
use crate::bridge::Bridge;
use crate::demand::Demand;
use crate::fabric::FabricNote;
use crate::lease::Deed;
use abi::portals::code;
use des::Duration;
use host::AddressSpace;
use mpi::{Callback, Wait};

/// Looks that have waited in vain, one after the other, after which the next one may wait for longer: for a
/// part of the time that all have waited. A program may look at its memory meanwhile, which others write
/// without an event, and sees that so much later. Assumed: no program counts so many looks to give up.
const WAITS_MAX: u32 = 10_000;
const WAIT_PART: u64 = 64;

/// Time of such looks after which the next one waits until something comes, so that a deadlock is one.
const DESPAIR: Duration = Duration(1_000_000_000_000_000);

/// Bytes of a function's name.
const NAME_BYTES: usize = 64;

impl Runner {
    /// Ends the call of libfabric that the program is in if it demands something outside of it. A call that
    /// looks goes on until then.
    pub(super) fn leave_fabric(&self, demand: &Demand, observer: &dyn Observer) {
        if self.above.get().is_none() {
            return;
        }
        let goes_on = matches!(demand, Demand::Clock | Demand::Did(_) | Demand::Fabric(_));
        if !goes_on && !self.process.borrow().is_in_fabric() {
            self.end_fabric(observer);
        }
    }

    /// A program that does more than look for events begins a new wait: above all, one that looks at a clock.
    pub(super) fn end_wait(&self, demand: &Demand) {
        let only_looks = match demand {
            Demand::Portals { .. } | Demand::Fabric(_) | Demand::Computed(_) => true,
            Demand::Did(deeds) => !deeds.rows().any(|row| row.0 == Deed::Tell && row.1 > 0),
            _ => false,
        };
        if !only_looks {
            self.waited.set((self.cpu.now(), 0));
        }
    }

    fn end_fabric(&self, observer: &dyn Observer) {
        if self.above.take().is_some() {
            observer.fabric_returned(self.cpu.now());
        }
    }

    /// Does what the provider's note says takes time.
    pub(super) fn note_fabric(&self, note: FabricNote, observer: &dyn Observer) {
        self.looks.set(self.looks.get().disturbed());
        let began = self.cpu.now();
        let costs = &self.costs.fabric;
        match note {
            FabricNote::Begins(call) => {
                self.end_fabric(observer);
                self.above.set(Some(call));
                observer.fabric_entered(began, call);
                self.cpu.spend(call.cost(costs));
            }
            FabricNote::Ends(completions) => {
                self.cpu.spend(costs.completion * completions.min(COMPLETIONS_MAX));
                self.end_fabric(observer);
            }
            FabricNote::Searched(entries) => {
                self.cpu.spend(costs.unexpected_entry * entries.min(COMPLETIONS_MAX));
            }
            FabricNote::Copied(bytes) => {
                let cost = self.cpu.copy_cost(bytes.min(COPY_MAX));
                self.cpu.spend(cost);
            }
            _ => {}
        }
        let took = self.cpu.now().since(began);
        observer.fabric_noted(self.cpu.now(), note, took);
    }

    /// Before a Portals call: how long it may wait if it is a look, and for whom it does.
    pub(super) fn prepare(&self, bridge: &Bridge, waits: bool, observer: &dyn Observer) {
        let (since, looks) = self.waited.get();
        let waited = self.cpu.now().since(since);
        let patient = waits && looks >= WAITS_MAX && bridge.is_alone();
        let despairs = patient && waited >= DESPAIR;
        let (most, part) = (self.cpu.costs().poll_most, Duration(waited.0 / WAIT_PART));
        bridge.set_watch_most(match patient {
            _ if despairs => None,
            true => Some(most.max(part)),
            false => Some(most),
        });
        let Some(call) = self.above.get() else { return bridge.set_above(None) };
        let caller = if despairs { self.caller(observer) } else { None };
        bridge.set_above(Some(match caller {
            Some(caller) => Wait::in_call_for(call.name(), &caller),
            None => Wait::in_call(call.name()),
        }));
    }

    /// Counts a look that has waited.
    pub(super) fn note_wait(&self, waits: bool, code: i32) {
        let in_vain = waits && code == code::EQ_EMPTY;
        let (since, looks) = self.waited.get();
        self.waited.set(match in_vain {
            true => (since, looks + 1),
            false => (self.cpu.now(), 0),
        });
    }

    /// The function of MPI that the process is in, which waits for an answer.
    fn caller(&self, observer: &dyn Observer) -> Option<String> {
        let function = abi::rank::service::CALLER;
        let ask = Callback { function, arguments: [0; 6], indirect: 0 };
        self.process.borrow_mut().start_callback(&ask, self.cpu.now());
        let Demand::CallbackReturned { result, .. } = self.next(observer) else { return None };
        let memory = self.process.borrow().memory();
        let mut name = [0; NAME_BYTES];
        memory.read(result, &mut name).ok()?;
        let end = name.iter().position(|byte| *byte == 0)?;
        std::str::from_utf8(&name[..end]).ok().map(str::to_owned)
    }
}

/// Most completions and entries of one call, and bytes of one copy, that take time: a program that writes
/// where only its libraries do may say anything.
const COMPLETIONS_MAX: u64 = 1 << 20;
const COPY_MAX: u64 = 1 << 32;
