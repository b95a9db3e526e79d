//! Parts of a run's nodes that do not depend on the network interface: hosts, ranks, their judge; and the
//! function that runs all of them and reports ([`Plan`]).

use crate::faults::{self, Faults};
use crate::firmware::profile::Profile;
use crate::instruments::journal::Journal;
use crate::instruments::message_trace::Tallies;
use crate::judge::Adapter;
use crate::node::{Equipment, Nic, Node};
use crate::parameters::hosts::{
    Administration, Clocks, Collectives, Fabric, GuestNode, Machine, Mpi, MpiOverPortals, Portals,
    Processor,
};
use crate::parameters::{Parameters, Row};
use crate::placement::Placement;
use crate::programs::{Carrier, Executable, MakeNal, Program, Ranks, Software, Start};
use crate::remains::Remains;
use crate::run::Options;
use crate::system::{Echo, Os, Systems};
use crate::usage_error::UsageError;
use des::{Bounds, Duration, Ending, Links, LogicalProcess, Time};
use portals::ProcessId;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

/// Process ids of the ranks: those of the MPI libraries, then those of the programs' own Portals processes.
pub(crate) type Maps = [Arc<[ProcessId]>; 2];

/// Parameters of the software of hosts.
#[derive(Clone)]
pub struct Common {
    /// The ranks' places.
    pub placement: Placement,
    /// Operating systems and hosts.
    pub systems: Systems,
    /// Costs and limits of Portals, where hosts have it.
    pub portals: Option<portals::Config>,
    /// Costs and limits of MPI, where processes call it.
    pub mpi: Option<mpi::Settings>,
    /// The same of MPI over Portals.
    pub over_portals: Option<mpi::PortalsParams>,
    /// Costs of what the agents of ranks do beside MPI; none where no process runs.
    pub agent: rank::Costs,
    /// Time of the launch, since power on.
    pub launch: Duration,
}

/// Parts of a run that all models share: its options, its nodes' software, its observers.
#[derive(Clone)]
pub struct Bench<'a> {
    /// Options of the run.
    pub options: &'a Options,
    /// Parameters of the software of hosts.
    pub common: Common,
    /// Number of nodes.
    pub nodes: u32,
    /// Faults that the user asked for.
    pub faults: Faults,
    /// Sums and samples over the run's messages.
    pub(crate) tallies: Arc<Tallies>,
    /// Ledger of the judges, if there are any.
    pub ledger: Option<Arc<spec::Ledger>>,
    /// Ledger of MPI's rules, if they are judged; none where messages may be lost, because then no rule
    /// holds.
    pub rules: Option<Arc<spec::mpi::Ledger>>,
    /// Template processes, from which the program's processes are forked.
    templates: Option<Arc<rank::Templates>>,
    /// Each executable's own libraries that come before that of MPI.
    ahead: Arc<[Arc<[PathBuf]>]>,
    /// Process ids of all ranks, shared by all nodes.
    maps: Maps,
}

/// Model's part in a run: its processes and the links between them.
pub trait Plan: Sync {
    /// A node, or a part of the network that is a process of its own.
    type Process: LogicalProcess<Report = Remains<Self::Left>>;
    /// Results of such a node that only this model has.
    type Left: Send;
    /// Processes that are no nodes.
    fn switches(&self) -> u32 {
        0
    }
    /// Links between the processes, with their lookahead.
    fn links(&self) -> Links;
    /// Time after a failure at which the run ends everywhere ([`Bounds::notice`]).
    fn notice(&self) -> Duration;
    /// Process `number`, on the thread that runs it: the nodes come first.
    fn process(&self, number: u32) -> Self::Process;
}

/// Results of a run.
pub struct Ended<L> {
    /// Results of all processes, the nodes first.
    pub remains: Vec<Remains<L>>,
    /// Why it is over.
    pub ending: Ending,
    /// Wall time that it took.
    pub wall_seconds: f64,
}

impl<L> Ended<L> {
    /// The profiles of all nodes that have one.
    pub fn take_profiles(&mut self) -> Vec<Profile> {
        self.remains.iter_mut().filter_map(|node| node.profile.take()).collect()
    }
}

/// Costs of the agents of ranks, if processes run on a machine.
fn agent(p: &Parameters) -> Option<rank::Costs> {
    let (processor, sockets) = Processor::find(p).zip(Administration::find(p))?;
    let Clocks { clock_read } = Clocks::of(p);
    let fabric = Fabric::find(p).unwrap_or_default();
    Some(rank::Costs { clock_read, frequency: processor.clock.hz(), sockets, fabric })
}

/// Time of the launch, since power on.
pub fn launch(p: &Parameters, in_guests: bool) -> Duration {
    // Linux takes longer to boot.
    match Machine::find(p) {
        Some(machine) if !in_guests => machine.launch,
        _ => GuestNode::of(p).launch,
    }
}

impl Common {
    /// Those of a machine with so many ranks.
    pub fn new(p: &Parameters, ranks: u32) -> Result<Common, UsageError> {
        let systems = Systems::of(p);
        Ok(Common {
            placement: Placement::new(p.name(), systems.cores, ranks)?,
            portals: portals(p),
            mpi: mpi(p)?,
            over_portals: over_portals(p)?,
            agent: agent(p).unwrap_or_default(),
            launch: launch(p, false),
            systems,
        })
    }

    /// Time at which the program starts.
    pub fn launch(&self) -> Time {
        Time::ZERO + self.launch
    }
}

impl<'a> Bench<'a> {
    /// Bench for a machine of `nodes` nodes.
    pub fn new(
        options: &'a Options,
        mut common: Common,
        nodes: u32,
        faults: Faults,
    ) -> Result<Bench<'a>, UsageError> {
        if !options.program.executables().is_empty() {
            rank::allow_ranks(options.ranks)?;
        }
        rank::allow_mappings(nodes, mappings(options, &common, nodes))?;
        let ledger = || spec::Ledger::new(nodes, faults.loses()).with_stalls(faults.stalls());
        let ledger = options.observers.judge.then(|| Arc::new(ledger()));
        let speaks_mpi = !matches!(options.program, Program::Native(_) | Program::Guests(_));
        let judged = (options.observers.judge || options.observers.check_types)
            && speaks_mpi
            && !faults.loses();
        let rules = judged.then(|| Arc::new(spec::mpi::Ledger::new(options.ranks)));
        let templates = match options.program.executables() {
            [all] => rank::Templates::of(&all.path, options.ranks),
            _ => None, // A template has loaded one program.
        };
        let ahead = ahead(options)?;
        let maps = [common.placement.libraries(), common.placement.programs()];
        if let Some(portals) = &mut common.portals {
            portals.nodes = nodes;
        }
        let tallies = Tallies::new(
            options.seed,
            options.observers.follow,
            &options.observers.progress,
            options.threads,
            nodes,
        );
        let in_guests = matches!(options.program, Program::Guests(_));
        let way = options.parameters.model().message_path(in_guests, &options.parameters);
        let tallies = Arc::new(tallies.with_way(way).with_tables(options.observers.tables.clone()));
        Ok(Bench { options, common, nodes, faults, tallies, ledger, rules, templates, ahead, maps })
    }

    /// Tells the bench that its network interfaces repeat refused messages.
    pub fn expect_repeats(&mut self) {
        let ledger = self.ledger.take().and_then(Arc::into_inner);
        self.ledger = ledger.map(|ledger| Arc::new(ledger.with_repeats(true)));
    }

    /// Bench for a machine of as many nodes as the ranks need ([`nodes_needed`]), of which only hosts and
    /// their interrupt lines can fail.
    pub fn of_hosts(options: &'a Options) -> Result<Bench<'a>, UsageError> {
        let p = &options.parameters;
        let mut common = Common::new(p, options.ranks)?;
        common.launch = launch(p, matches!(options.program, Program::Guests(_)));
        let nodes = nodes_needed(p, options.ranks)?;
        let (texts, launch) = (&options.faults, common.launch());
        let faults =
            faults::parse_of_hosts(texts, options.seed, nodes, launch, p.model().fault_kinds());
        Bench::new(options, common, nodes, faults?)
    }

    /// The same bench without ranks and without a judge.
    pub fn without_ranks(&self) -> Bench<'a> {
        let mut bench = Bench { ledger: None, rules: None, ..self.clone() };
        bench.common.placement.ranks = 0;
        bench
    }

    /// The operating system of a node.
    pub fn os(&self, nid: u32) -> Os {
        self.common.systems.os(nid)
    }

    /// The host of a node.
    pub fn host(&self, nid: u32) -> host::Host {
        let (os, Common { systems, placement, .. }) = (self.os(nid), &self.common);
        let host = host::Host::with_cores(&systems.costs(os), placement.per_node as usize);
        systems.map(os, &mut host.memory().borrow_mut());
        host
    }

    /// The journal of a node.
    pub fn journal(&self, nid: u32) -> Rc<Journal> {
        Rc::new(Journal::new(nid, self.common.launch(), self.tallies.clone()))
    }

    /// Judge of a node, if there is one. `scattered`: memory may be in more pieces than a command of the
    /// network interface can describe.
    pub fn judge(&self, nid: u32, host: &host::Host, scattered: bool) -> Option<Rc<Adapter>> {
        let ledger = self.ledger.clone()?;
        Some(Rc::new(Adapter::new(nid, ledger, host.memory().clone(), true, scattered)))
    }

    /// The software of a node with this operating system and number.
    pub fn ranks(
        &self,
        os: Os,
        nid: u32,
        journal: Rc<Journal>,
        judge: Option<Rc<Adapter>>,
        carrier: Carrier,
    ) -> Ranks {
        let Bench { options, common, .. } = self;
        let systems = &common.systems;
        let software = Rc::new(Software {
            portals: common
                .portals
                .map(|portals| portals::Config { system: systems.portals(os), ..portals }),
            carrier,
            loopback: systems.echoes(os),
            kernel_programs: systems.kernel_programs(),
            mpi: common.mpi.clone().expect("a machine whose processes call MPI"),
            over_portals: common.over_portals,
            rules: self.rules.clone(),
            check_types: options.observers.check_types,
            start: self.start(),
            map: self.maps[0].clone(),
            programs: self.maps[1].clone(),
        });
        Ranks::new(nid, software, journal, judge)
    }

    /// Node `nid`, which boots from time 0 on, with Portals in its kernel over the driver that `nal` makes.
    pub fn node_with_portals<N: Nic>(&self, nid: u32, nic: N, nal: MakeNal) -> Node<N> {
        let (host, journal) = (self.host(nid), self.journal(nid));
        let judge = self.judge(nid, &host, true);
        let carrier = Carrier::Portals(nal);
        let ranks = self.ranks(self.os(nid), nid, journal.clone(), judge.clone(), carrier);
        let equipment = Equipment { host, software: Box::new(ranks), journal, judge };
        self.node(nid, nic, equipment)
    }

    /// Node `nid`, which boots from time 0 on, with this equipment.
    pub fn node<N: Nic>(&self, nid: u32, nic: N, equipment: Equipment) -> Node<N> {
        let mut node = Node::new(nid, nic, equipment, &self.faults, self.common.launch());
        node.set_queues(self.options.parameters.model().queues);
        node.set_watchers(&self.options.observers.watchers);
        node
    }

    /// Parameters with which the processes of all ranks start.
    pub fn start(&self) -> Start {
        let Bench { options, common, .. } = self;
        Start {
            program: options.program.clone(),
            library: options.places.library.clone(),
            compute: options.compute,
            templates: self.templates.clone(),
            ahead: self.ahead.clone(),
            placement: common.placement,
            agent: common.agent,
        }
    }

    /// Runs it.
    pub fn simulate<P: Plan>(&self, plan: &P) -> Ended<P::Left> {
        let started = std::time::Instant::now();
        let Options { threads, stop, until, .. } = self.options;
        let launch = self.common.launch();
        let until = until.map_or(Time::NEVER, |until| launch + until);
        // Nodes that share a boot begin behind it, when one that does not may have failed in its own.
        let notice = plan.notice();
        for executable in self.options.program.executables() {
            let Common { agent, placement, .. } = &self.common;
            executable.surroundings.crowd.set_notice(notice);
            let network = &executable.surroundings.network;
            network.begin(agent.sockets, notice, placement.ranks, placement.per_node);
        }
        // Programs of a run share their network.
        let executables = self.options.program.executables().iter();
        let mut launched = executables.map(|executable| &executable.surroundings);
        if let Some(around) = launched.find(|around| around.launcher == rank::Launcher::Pmi1) {
            around.network.launch(&self.options.program.launched());
        }
        if let Program::Guests(guests) = &self.options.program {
            for executable in &guests.executables {
                executable.surroundings.crowd.set_notice(notice);
            }
        }
        let bounds = Bounds { until, notice, begins: launch };
        let builders =
            (0..self.nodes + plan.switches()).map(|nid| move || plan.process(nid)).collect();
        let (remains, ending, _) =
            des::run::<P::Process, _>(builders, &plan.links(), *threads, bounds, stop);
        Ended { remains, ending, wall_seconds: started.elapsed().as_secs_f64() }
    }
}

/// Nodes of a machine without a topology: as many as so many ranks need.
pub fn nodes_needed(p: &Parameters, ranks: u32) -> Result<u32, UsageError> {
    Ok(Common::new(p, ranks)?.placement.nodes_needed()?)
}

/// Checks without a run that such a machine, ranks and faults fit together.
pub fn check_hosts(
    p: &Parameters,
    ranks: u32,
    faults: &[String],
    seed: u64,
) -> Result<(), UsageError> {
    let (nodes, launch) = (nodes_needed(p, ranks)?, Common::new(p, ranks)?.launch());
    faults::parse_of_hosts(faults, seed, nodes, launch, p.model().fault_kinds())?;
    Ok(())
}

/// Each executable's own libraries that come before that of MPI.
fn ahead(options: &Options) -> Result<Arc<[Arc<[PathBuf]>]>, UsageError> {
    let of = |executable: &Executable| {
        let path = &executable.path;
        let ahead =
            rank::ahead_of_mpi(path, &executable.args, &options.places.library).map(Arc::from);
        ahead.map_err(|e| {
            UsageError::sentence(format!("cannot list the libraries of {}: {e}", path.display()))
        })
    };
    options.program.executables().iter().map(of).collect()
}

/// Mappings of memory that the software of all nodes takes: stacks, and what each process shares with us.
fn mappings(options: &Options, common: &Common, nodes: u32) -> u64 {
    let ranks = common.placement.per_node;
    let loopback = u32::from(common.systems.echo() != Echo::Off);
    // The interrupt handler, and behind the kernel's boot what it starts.
    let fibres = u64::from(1 + ranks + loopback) * u64::from(nodes);
    let shared = match options.program {
        Program::Executables(_) => options.ranks,
        Program::Builtin(_) | Program::Native(_) | Program::Guests(_) => 0,
    };
    fibres * host::MAPPINGS_PER_FIBRE + u64::from(shared)
}

/// Configuration of Portals for Catamount, without the number of nodes; `Systems::portals` has the rest.
fn portals(p: &Parameters) -> Option<portals::Config> {
    let (system, limits) = (portals::System::CATAMOUNT, portals::Limits::default());
    let costs = Portals::find(p)?;
    Some(portals::Config { nodes: 0, system, costs, limits })
}

fn over_portals(p: &Parameters) -> Result<Option<mpi::PortalsParams>, UsageError> {
    let Some(params) = MpiOverPortals::find(p) else { return Ok(None) };
    params.check()?;
    Ok(Some(params))
}

/// An algorithm that network interfaces of a model do not perform.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{key}=nic: network interfaces of model {model} perform no collective operations; take another \
     algorithm, or machine redstorm-accelerated"
)]
struct NotOnNic {
    key: &'static str,
    model: &'static str,
}

fn mpi(p: &Parameters) -> Result<Option<mpi::Settings>, UsageError> {
    let Some(params) = Mpi::find(p) else { return Ok(None) };
    let mut algorithms = mpi::Algorithms::default();
    let model = p.model();
    for Row { key, .. } in Collectives::ROWS {
        let (_, collective) = key.split_once('.').expect("a section and a name");
        let chosen = p.choice(key);
        if chosen == "nic" && !model.collectives {
            return Err(NotOnNic { key, model: model.name }.into());
        }
        algorithms.set(collective, chosen)?;
    }
    Ok(Some(mpi::Settings { params, algorithms }))
}
