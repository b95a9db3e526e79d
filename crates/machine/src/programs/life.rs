//! The life of a rank, from its libraries' start to its end.

use super::marshal::Marshal;
use super::observers::Observer;
use super::placement::Placement;
use super::{Executable, Program, Seat, Software};
use crate::bench::Carrier;
use crate::console;
use bus::BusError;
use host::{Cpu, SpaceId};
use portals::{Kernel, Ni};
use std::cell::OnceCell;
use std::rc::Rc;

/// The memory of a process that starts later: until then only library buffers are in its space.
#[derive(Clone, Default)]
pub(super) struct Late(pub Rc<OnceCell<rank::ProcessMemory>>);

impl Late {
    fn get(&self, addr: u64, len: usize, write: bool) -> Result<&rank::ProcessMemory, BusError> {
        let why = "the program has not started";
        self.0.get().ok_or(BusError { addr, len, write, why })
    }
}

impl host::AddressSpace for Late {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.get(va, buf.len(), false)?.read(va, buf)
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        self.get(va, data.len(), true)?.write(va, data)
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        let (va, len) = pieces.first().copied().unwrap_or_default();
        self.get(va, len, false)?.read_pieces(pieces, buf)
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        let (va, len) = pieces.first().copied().unwrap_or_default();
        self.get(va, len, true)?.write_pieces(pieces, data)
    }
}

/// A rank's life, in its fibre.
pub(super) struct Life<'a> {
    pub cpu: &'a Cpu,
    /// None where MPI's messages need no kernel.
    pub kernel: Option<&'a Rc<Kernel>>,
    pub software: &'a Software,
    pub observer: &'a Rc<Observer>,
    pub seat: &'a Seat,
}

impl Life<'_> {
    /// Its libraries start, `until_launch` passes, its program runs.
    pub fn run(&self, until_launch: impl FnOnce()) -> rank::Ending {
        let (cpu, software, rank) = (self.cpu, self.software, self.seat.rank);
        let memory = self.seat.memory.clone();
        let space = cpu.memory().borrow_mut().add_space(Box::new(memory));
        let world = mpi::World {
            rank,
            size: software.placement.ranks,
            program: software.program.part_of(rank) as u32,
        };
        let params = software.mpi.clone();
        let over = |local: &mut mpi::Local| {
            if let Some(rules) = &software.rules {
                local.set_witness(Rc::new(Marshal::new(rank, rules.clone(), cpu.clone(), space)));
            }
            self.transport(local, space)
        };
        let mut mpi = mpi::Mpi::new(cpu.clone(), space, world, params, over);
        mpi.process().set_observer(self.observer.clone());
        *self.seat.waiting.borrow_mut() = Some(mpi.waiting());
        until_launch();
        let ended = match &software.program {
            Program::Builtin(builtin) => {
                let result =
                    builtin.run(mpi.process(), &**self.observer).map_err(|error| error.to_string());
                result.and_then(|text| {
                    console::print(&text)?;
                    Ok(rank::Ending::Exited(rank::ExitStatus::FINISHED))
                })
            }
            Program::Executables(all) => self.process(&mut mpi, all),
            Program::Native(_) => unreachable!("a model without MPI has software of its own"),
        };
        ended.unwrap_or_else(|why| rank::Ending::Fatal(format!("rank {rank}: {why}")))
    }

    /// What carries the rank's messages.
    fn transport(&self, local: &mut mpi::Local, space: SpaceId) -> Box<dyn mpi::Transport> {
        let (cpu, core) = (self.cpu, self.seat.core);
        let kernel = match &self.software.carrier {
            Carrier::Queues(open) => return open(local, core),
            Carrier::Portals(_) => self.kernel.expect("Portals stands in a kernel"),
        };
        let pid = Placement::library_pid(core);
        match Ni::init(cpu, kernel, pid, space) {
            Ok(ni) => Box::new(mpi::Portals::open(local, ni, self.software.map.clone())),
            Err(error) => cpu.fault(format!("PtlNIInit: {error}")),
        }
    }

    /// The program as a process. The error says why there is none.
    fn process(
        &self,
        mpi: &mut mpi::Mpi,
        executables: &[Executable],
    ) -> Result<rank::Ending, String> {
        let (software, rank) = (self.software, self.seat.rank);
        let part = software.program.part_of(rank);
        let placement = software.placement;
        let place = rank::Place {
            node: rank / placement.per_node,
            nodes: placement.nodes(),
            local: self.seat.core,
            locals: placement.on(rank / placement.per_node).len() as u32,
        };
        let process = rank::Process::spawn(&rank::SpawnOptions {
            program: executables[part].path.clone(),
            args: executables[part].args.clone(),
            rank,
            size: software.placement.ranks,
            library_dir: software.library.clone(),
            stdin: if rank == 0 { rank::Stdin::Inherit } else { rank::Stdin::Null },
            compute: software.compute,
            follow: true,
            templates: software.templates.clone(),
            ahead: software.ahead[part].clone(),
            place,
            now: self.cpu.now(),
            clock_read: software.agent.clock_read,
            frequency: software.agent.frequency,
            surroundings: executables[part].surroundings.clone(),
            ..rank::SpawnOptions::default()
        });
        let process = process.map_err(|error| error.to_string())?;
        self.seat.memory.0.set(process.memory()).expect("a rank has one process");
        let party = rank::Party { rank, map: software.programs.clone() };
        let (waiting, space) = (mpi.waiting(), mpi.process().space());
        let bridge = self.kernel.map(|kernel| {
            rank::Bridge::new(self.cpu.clone(), kernel.clone(), space, party, waiting)
        });
        let (core, costs) = (self.cpu.clone(), software.agent);
        let runner = rank::Runner::with_portals(process, core, costs, bridge);
        mpi.process().set_program(runner.clone());
        let call = |function, args: &[u64]| mpi.call(function, args);
        Ok(rank::agent(call, &runner, &**self.observer))
    }
}
