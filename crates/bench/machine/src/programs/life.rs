//! The life of a rank, from its libraries' start to its end.

use super::marshal::Marshal;
use super::observers::Observer;
use super::{Program, RankSlot, Software};
use crate::console;
use crate::placement::Placement;
use crate::programs::Carrier;
use host::{Cpu, SpaceId};
use portals::{Kernel, Ni};
use std::rc::Rc;

/// Reason for which a rank's life ends without an ending of its program.
#[derive(Debug, thiserror::Error)]
enum LifeError {
    /// A call of a built-in workload fails.
    #[error(transparent)]
    Mpi(#[from] mpi::Error),
    /// Its output cannot be printed.
    #[error(transparent)]
    Print(#[from] console::PrintError),
    /// There is no process.
    #[error(transparent)]
    Spawn(#[from] rank::SpawnError),
}

/// A rank's life, in its fibre.
pub(super) struct Life<'a> {
    pub cpu: &'a Cpu,
    /// The kernel; none if MPI's messages need no kernel.
    pub kernel: Option<&'a Rc<Kernel>>,
    pub software: &'a Software,
    pub observer: &'a Rc<Observer>,
    pub slot: &'a RankSlot,
}

impl Life<'_> {
    /// Runs the rank: its libraries start, `until_launch` passes, its program runs.
    pub fn run(&self, until_launch: impl FnOnce()) -> rank::Ending {
        let (cpu, software, rank) = (self.cpu, self.software, self.slot.rank);
        let memory = self.slot.memory.clone();
        let space = cpu.memory().borrow_mut().add_space(Box::new(memory));
        let world = mpi::World {
            rank,
            size: software.start.placement.ranks,
            program: software.start.program.part_of(rank) as u32,
        };
        let params = software.mpi.clone();
        let over = |local: &mut mpi::Local| {
            if let Some(rules) = &software.rules {
                local.set_witness(Rc::new(Marshal::new(
                    rank,
                    rules.clone(),
                    software.check_types,
                    cpu.clone(),
                    space,
                )));
            }
            self.transport(local, space)
        };
        let mut mpi = mpi::Mpi::new(cpu.clone(), space, world, params, over);
        mpi.process().set_observer(self.observer.clone());
        *self.slot.waiting.borrow_mut() = Some(mpi.waiting());
        until_launch();
        let ended = match &software.start.program {
            Program::Builtin(builtin) => self.builtin(builtin, &mut mpi),
            Program::Executables(_) => self.process(&mut mpi).map_err(LifeError::from),
            Program::Native(_) | Program::Guests(_) => {
                unreachable!("what does not call MPI is software of its own")
            }
        };
        ended.unwrap_or_else(|why| rank::Ending::Fatal(format!("rank {rank}: {why}")))
    }

    /// Transport of the rank's messages.
    fn transport(&self, local: &mut mpi::Local, space: SpaceId) -> Box<dyn mpi::Transport> {
        let (cpu, core) = (self.cpu, self.slot.core);
        let kernel = match &self.software.carrier {
            Carrier::Queues(open) => return open(local, core),
            Carrier::Portals(_) => self.kernel.expect("Portals stands in a kernel"),
        };
        let pid = Placement::library_pid(core);
        match Ni::init(cpu, kernel, pid, space) {
            Ok(ni) => {
                let params = self.software.over_portals.expect("costs of MPI over Portals");
                Box::new(mpi::Portals::open(local, ni, self.software.map.clone(), params))
            }
            Err(error) => cpu.fault(format!("PtlNIInit: {error}")),
        }
    }

    /// Runs the program as a function here, and prints its output.
    fn builtin(
        &self,
        builtin: &rank::Builtin,
        mpi: &mut mpi::Mpi,
    ) -> Result<rank::Ending, LifeError> {
        let text = builtin.run(mpi.process(), &**self.observer)?;
        console::print(&text)?;
        Ok(rank::Ending::Exited(rank::ExitStatus::FINISHED))
    }

    /// Runs the program as a process. The error is the reason for which there is none.
    fn process(&self, mpi: &mut mpi::Mpi) -> Result<rank::Ending, rank::SpawnError> {
        let (software, rank) = (self.software, self.slot.rank);
        let process = software.start.process(rank, self.slot.core, self.cpu.now())?;
        self.slot.memory.set(process.memory());
        mpi.process().set_initial_errors(process.initial_errors());
        let party = rank::Party { rank, map: software.programs.clone() };
        let (waiting, space) = (mpi.waiting(), mpi.process().space());
        let bridge = self.kernel.map(|kernel| {
            let memory = self.slot.memory.clone();
            let in_kernel = software
                .kernel_programs
                .then(|| self.cpu.memory().borrow_mut().add_program_space(Box::new(memory)));
            let memory = rank::ProgramSpaces { space, in_kernel };
            rank::Bridge::new(self.cpu.clone(), kernel.clone(), memory, party, waiting)
        });
        let (core, costs) = (self.cpu.clone(), software.start.agent);
        let runner = rank::Runner::with_portals(process, core, costs, bridge);
        mpi.process().set_program(runner.clone());
        let call = |function, args: &[u64]| mpi.call(function, args);
        Ok(rank::agent(call, &runner, &**self.observer))
    }
}
