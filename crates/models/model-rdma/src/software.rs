//! Software of a host: the kernel module, and over the library the rank: a workload, or a program's
//! process.

use super::bringup::{self, BringUp};
use super::library::Library;
use super::module::Module;
use super::storage::{self, Storage, StorageError};
use super::verbs::{Shared, Verbs};
use super::workloads::{Task, WorkloadError};
use des::Time;
use host::Host;
use machine::console::{self, PrintError};
use machine::instruments::calls::Calls;
use machine::node::Software;
use machine::programs::native::Workload;
use machine::programs::{Late, Start};
use mpi::Outcome;
use rank::Ending;
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Work of a rank.
#[derive(Clone)]
pub(super) enum Work {
    /// A workload of this model.
    Workload(Workload),
    /// A program, by verbs.
    Program(Box<Start>, Shared),
}

/// The software of a node with one rank, or none.
pub(super) struct Hosted {
    rank: u32,
    ranks: u32,
    work: Work,
    module: Rc<Module>,
    /// Observers of calls.
    calls: Rc<Calls>,
    slot: Rc<RankSlot>,
}

/// The rank, as its fibre and the node see it.
#[derive(Default)]
struct RankSlot {
    ready: Cell<bool>,
    /// Time and kind of its end.
    ending: RefCell<Option<(Time, Ending)>>,
    memory: Late,
}

impl Hosted {
    pub fn new(rank: u32, ranks: u32, work: Work, module: Rc<Module>, calls: Rc<Calls>) -> Hosted {
        Hosted { rank, ranks, work, module, calls, slot: Rc::default() }
    }

    /// True if a rank runs here: a link has two ends, whatever the number of ranks.
    fn is_employed(&self) -> bool {
        self.rank < self.ranks
    }
}

/// Reason for which a rank ends before its work is done.
#[derive(Debug, thiserror::Error)]
enum Broken {
    #[error(transparent)]
    Workload(#[from] WorkloadError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Process(#[from] rank::SpawnError),
    #[error(transparent)]
    Output(#[from] PrintError),
}

/// Prints what a workload has to say.
fn print(text: &str) -> Result<Ending, Broken> {
    console::print(text)?;
    Ok(Ending::Exited(rank::ExitStatus::FINISHED))
}

/// The program's process, with its verbs.
fn run_program(
    library: &Rc<Library>,
    rank: u32,
    start: &Start,
    shared: &Shared,
    memory: &Late,
) -> Result<Ending, Broken> {
    let cpu = library.cpu();
    let space = cpu.memory().borrow_mut().add_space(Box::new(memory.clone()));
    let process = start.process(rank, 0, cpu.now())?;
    memory.set(process.memory());
    let verbs = Verbs::new(rank, space, library.clone(), shared.clone());
    let runner = rank::Runner::with_verbs(process, cpu.clone(), start.agent, verbs);
    let no_mpi = |function: abi::mpi::Function, _: &[u64]| {
        Outcome::Fatal(format!(
            "rank {rank}: {}: machines of model rdma have verbs (libibverbs) and no MPI; choose \
             another one with --machine",
            function.name()
        ))
    };
    Ok(rank::agent(no_mpi, &runner, &()))
}

impl Software for Hosted {
    fn boot(&self, host: &mut Host, launch: Time) {
        let handler = self.module.clone();
        host.set_interrupt_handler(Rc::new(move |cpu| handler.interrupt(cpu)));
        let (rank, ranks, work) = (self.rank, self.ranks, self.work.clone());
        let (module, calls, slot) = (self.module.clone(), self.calls.clone(), self.slot.clone());
        // The workloads' ranks without work have pages for what the others send.
        let employed = self.is_employed() || matches!(work, Work::Workload(_));
        host.spawn("module", move |cpu| {
            module.boot(&cpu);
            if !employed {
                return slot.ready.set(true);
            }
            cpu.spawn(&format!("rank {rank}"), move |cpu| {
                let library = Rc::new(Library::new(&cpu, rank, module, calls));
                let wait = || {
                    slot.ready.set(true);
                    cpu.spend(launch.since(cpu.now()));
                };
                let ended = match &work {
                    Work::Workload(workload) if bringup::is_stage(workload) => {
                        let stage = BringUp::new(&library, rank, ranks, workload);
                        wait();
                        print(&stage.run())
                    }
                    Work::Workload(workload) if storage::is_disk(workload) => {
                        let storage = Storage::new(&library, rank, workload, launch);
                        wait();
                        storage.run().map_err(Broken::from).and_then(|text| print(&text))
                    }
                    Work::Workload(workload) => {
                        let task = Task::new(&library, rank, ranks, *workload);
                        wait();
                        task.run().map_err(Broken::from).and_then(|text| print(&text))
                    }
                    Work::Program(start, shared) => {
                        wait();
                        run_program(&library, rank, start, shared, &slot.memory)
                    }
                };
                let fatal = |why| Ending::Fatal(format!("rank {rank}: {why}"));
                *slot.ending.borrow_mut() = Some((cpu.now(), ended.unwrap_or_else(fatal)));
            });
        });
    }
    fn late(&self) -> Option<String> {
        let what = if self.module.ready.get() { "a rank's library" } else { "the kernel module" };
        (!self.slot.ready.get()).then(|| format!("{what} was"))
    }
    fn ranks(&self) -> Vec<u32> {
        vec![self.rank]
    }
    fn all_ended(&self) -> bool {
        let idle = matches!(self.work, Work::Program(..)) && !self.is_employed();
        idle || self.slot.ending.borrow().is_some()
    }
    fn endings(&self) -> Vec<(u32, Time, i32)> {
        let ending = self.slot.ending.borrow();
        ending.iter().map(|(at, ending)| (self.rank, *at, ending.code())).collect()
    }
    fn failure(&self) -> Option<(i32, String)> {
        let ending = self.slot.ending.borrow();
        ending.as_ref()?.1.failure(self.rank)
    }
    fn missed(&self) -> Option<(i32, String)> {
        let (rank, ending) = self.slot.memory.get()?.ending()?;
        ending.failure(rank)
    }
    fn waiting(&self) -> Vec<String> {
        let waits = !self.all_ended();
        let what = match self.work {
            Work::Workload(_) => "waits for a message",
            Work::Program(..) => "waits for a completion, or for a word in its memory to change",
        };
        waits.then(|| format!("rank {} {what}", self.rank)).into_iter().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_the_sentence_of_its_room() {
        let samples = WorkloadError::Samples(1);
        let sentence = samples.to_string();
        assert_eq!(Broken::from(samples).to_string(), sentence);
        let closed = "cannot write to standard output: it is closed";
        assert_eq!(Broken::from(PrintError::Closed).to_string(), closed);
    }
}
