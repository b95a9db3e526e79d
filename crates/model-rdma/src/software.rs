//! What runs on a host: the kernel module, and the rank of the workload over the library.

use super::library::Library;
use super::memory::Watch;
use super::module::Module;
use super::workloads::Task;
use des::Time;
use host::Host;
use machine::console;
use machine::instruments::calls::Calls;
use machine::node::Software;
use machine::programs::native::Workload;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// The software of a node with one rank.
pub(super) struct Hosted {
    pub rank: u32,
    pub ranks: u32,
    pub workload: Workload,
    pub module: Rc<Module>,
    pub watch: Rc<Watch>,
    /// Who is told of calls, and whether the request queue is mapped with write combining.
    pub user: (Rc<Calls>, bool),
    seat: Rc<Seat>,
}

/// The rank, as its fibre and the node see it.
#[derive(Default)]
struct Seat {
    ready: Cell<bool>,
    /// When it ended, and what went wrong.
    ending: RefCell<Option<(Time, Result<(), String>)>>,
}

impl Hosted {
    pub fn new(
        (rank, ranks): (u32, u32),
        workload: Workload,
        module: Rc<Module>,
        watch: Rc<Watch>,
        user: (Rc<Calls>, bool),
    ) -> Hosted {
        Hosted { rank, ranks, workload, module, watch, user, seat: Rc::default() }
    }
}

impl Software for Hosted {
    fn boot(&self, host: &mut Host, launch: Time) {
        let handler = self.module.clone();
        host.set_interrupt_handler(Rc::new(move |cpu| handler.interrupt(cpu)));
        let (rank, ranks, workload) = (self.rank, self.ranks, self.workload);
        let (module, watch, user) = (self.module.clone(), self.watch.clone(), self.user.clone());
        let seat = self.seat.clone();
        host.spawn("module", move |cpu| {
            module.boot(&cpu);
            cpu.spawn(&format!("rank {rank}"), move |cpu| {
                let library = Library::new(&cpu, rank, (module, watch), user);
                let task = Task::new(&library, rank, ranks, workload);
                seat.ready.set(true);
                cpu.spend(launch.since(cpu.now()));
                let ended = task.run().and_then(|text| console::print(&text));
                *seat.ending.borrow_mut() = Some((cpu.now(), ended));
            });
        });
    }
    fn late(&self) -> Option<String> {
        let what = if self.module.ready.get() { "a rank's library" } else { "the kernel module" };
        (!self.seat.ready.get()).then(|| format!("{what} was"))
    }
    fn ranks(&self) -> Vec<u32> {
        vec![self.rank]
    }
    fn all_ended(&self) -> bool {
        self.seat.ending.borrow().is_some()
    }
    fn endings(&self) -> Vec<(u32, Time, i32)> {
        let ending = self.seat.ending.borrow();
        let row =
            |(at, ended): &(Time, Result<(), String>)| (self.rank, *at, i32::from(ended.is_err()));
        ending.iter().map(row).collect()
    }
    fn failure(&self) -> Option<(i32, String)> {
        let ending = self.seat.ending.borrow();
        let (_, ended) = ending.as_ref()?;
        ended.as_ref().err().map(|why| (1, format!("rank {}: {why}", self.rank)))
    }
    fn waiting(&self) -> Vec<String> {
        let waits = !self.all_ended();
        waits.then(|| format!("rank {} waits for a message", self.rank)).into_iter().collect()
    }
}
