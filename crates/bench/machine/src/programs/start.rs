//! Start of the ranks of a program.

use super::Program;
use crate::placement::Placement;
use bus::BusError;
use des::Time;
use std::cell::OnceCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Parameters with which the processes of all ranks start.
#[derive(Clone)]
pub struct Start {
    /// Program of the ranks.
    pub program: Program,
    /// Folder of the libraries that they load.
    pub library: PathBuf,
    /// Simulated time of the program's own computation.
    pub compute: rank::Compute,
    /// Template processes, from which the program's processes are forked.
    pub templates: Option<Arc<rank::Templates>>,
    /// Each executable's own libraries that come before that of MPI.
    pub ahead: Arc<[Arc<[PathBuf]>]>,
    /// Placement of the ranks.
    pub placement: Placement,
    /// Costs that the simulator's agents charge them.
    pub agent: rank::Costs,
}

impl Start {
    /// The process of a rank on a core of its node.
    pub fn process(
        &self,
        rank: u32,
        core: u32,
        now: Time,
    ) -> Result<rank::Process, rank::SpawnError> {
        let (part, placement) = (self.program.part_of(rank), self.placement);
        let executable = &self.program.executables()[part];
        let place = rank::RankPosition {
            node: rank / placement.per_node,
            nodes: placement.nodes(),
            local: core,
            locals: placement.on(rank / placement.per_node).len() as u32,
        };
        rank::Process::spawn(&rank::SpawnOptions {
            program: executable.path.clone(),
            args: executable.args.clone(),
            rank,
            size: placement.ranks,
            library_dir: self.library.clone(),
            stdin: if rank == 0 { rank::Stdin::Inherit } else { rank::Stdin::Null },
            compute: self.compute,
            follow: true,
            templates: self.templates.clone(),
            ahead: self.ahead[part].clone(),
            place,
            now,
            clock_read: self.agent.clock_read,
            frequency: self.agent.frequency,
            surroundings: executable.surroundings.clone(),
            ..rank::SpawnOptions::default()
        })
    }
}

/// The memory of a process that starts later: until then only library buffers are in its space.
#[derive(Clone, Default)]
pub struct Late(Rc<OnceCell<rank::ProcessMemory>>);

impl Late {
    /// Sets the memory: the process has started.
    pub fn set(&self, memory: rank::ProcessMemory) {
        self.0.set(memory).expect("a rank has one process");
    }
    /// The memory, if the process has started.
    pub fn get(&self) -> Option<&rank::ProcessMemory> {
        self.0.get()
    }
    fn started(
        &self,
        addr: u64,
        len: usize,
        write: bool,
    ) -> Result<&rank::ProcessMemory, BusError> {
        let why = "the program has not started";
        self.0.get().ok_or(BusError { addr, len, write, why })
    }
}

impl host::AddressSpace for Late {
    fn read(&self, va: u64, buf: &mut [u8]) -> Result<(), BusError> {
        self.started(va, buf.len(), false)?.read(va, buf)
    }
    fn write(&self, va: u64, data: &[u8]) -> Result<(), BusError> {
        self.started(va, data.len(), true)?.write(va, data)
    }
    fn read_pieces(&self, pieces: &[(u64, usize)], buf: &mut [u8]) -> Result<(), BusError> {
        let (va, len) = pieces.first().copied().unwrap_or_default();
        self.started(va, len, false)?.read_pieces(pieces, buf)
    }
    fn write_pieces(&self, pieces: &[(u64, usize)], data: &[u8]) -> Result<(), BusError> {
        let (va, len) = pieces.first().copied().unwrap_or_default();
        self.started(va, len, true)?.write_pieces(pieces, data)
    }
}
