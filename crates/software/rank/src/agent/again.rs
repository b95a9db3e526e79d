//! Calls that only look whether something has come, and what the library has done of them by itself.

use super::{Observer, Outside, Runner, Step};
use crate::demand::Demand;
use crate::ending::Ending;
use crate::lease::{request_of, Deed, Deeds, Looks};
use abi::portals::{code, Function};
use des::Duration;
use mpi::Outcome;

/// Place of the request of a call that has none.
const NO_REQUEST: u64 = 1;

impl Runner {
    /// Does what a Portals call wants, a look at one `queue` or not; how long that took.
    pub(super) fn carry_out_portals(
        &self,
        function: Function,
        queue: Option<u32>,
        call: impl FnOnce() -> i32,
        observer: &dyn Observer,
    ) -> (i32, Duration) {
        let (began, before) = (self.cpu.now(), self.surroundings());
        observer.portals_entered(began, function);
        let code = call();
        observer.portals_returned(self.cpu.now(), function);
        let took = self.cpu.now().since(began);
        self.looks.set(match queue.filter(|_| code == code::EQ_EMPTY) {
            Some(queue) => {
                self.looks.get().at_queue(queue, took, self.is_undisturbed_since(before))
            }
            None => Looks::default(),
        });
        (code, took)
    }

    /// Looks again at the queue that is the `index`th of the empty ones. True if it is one, and empty.
    fn look_again(&self, empties: &Looks, index: usize, observer: &dyn Observer) -> bool {
        let (Some(bridge), Some(&queue)) = (&self.bridge, empties.empties().get(index)) else {
            return false;
        };
        let look = || bridge.look(queue);
        let function = Function::EqGet;
        let (code, took) = self.carry_out_portals(function, Some(queue), look, observer);
        code == code::EQ_EMPTY && took == empties.repeat_cost()
    }

    /// Does what the library has done by itself, each at its time.
    pub(super) fn do_again(
        &self,
        deeds: &Deeds,
        call: &mut dyn FnMut(abi::mpi::Function, &[u64]) -> Outcome,
        observer: &dyn Observer,
    ) -> Step {
        let looks = self.looks.get();
        let (cost, end) = (looks.repeat_cost(), self.cpu.undisturbed_until());
        let time = deeds.time(self.costs.clock_read, cost);
        let mut right = time.is_some_and(|time| self.cpu.now() + time < end);
        let repeated = looks.call();
        if let (true, Some(time)) = (right, time) {
            self.cpu.computes_until(self.cpu.now() + time);
        }
        let request = repeated.map(|call| request_of(&call).unwrap_or(NO_REQUEST));
        self.process.borrow().repeat(request);
        for (deed, count) in deeds.rows() {
            for _ in 0..count {
                right = right
                    && match (deed, repeated) {
                        (Deed::Tell, _) => {
                            self.cpu.spend(self.costs.clock_read);
                            observer.outside(Outside::Clock, self.costs.clock_read);
                            true
                        }
                        (Deed::Repeat, Some((function, args))) => {
                            let (outcome, took) = self.carry_out(function, &args, call, observer);
                            matches!(outcome, Outcome::Ok(abi::mpi::SUCCESS)) && took == cost
                        }
                        (Deed::Repeat, None) => false,
                        (Deed::Look(index), _) => self.look_again(&looks, index, observer),
                    };
                if !right {
                    break;
                }
            }
        }
        self.process.borrow().repeat(None);
        if !right {
            let mut process = self.process.borrow_mut();
            let Demand::Exited(status) = process.end_corrupt() else {
                unreachable!("it has ended")
            };
            return Step::Ended(Ending::of(status, process.fault()));
        }
        Step::Done
    }
}
