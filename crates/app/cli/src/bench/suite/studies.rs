//! The studies of the suite: programs in examples/studies/suite.

use crate::args::SuiteOptions;
use machine::suggestion;
use std::path::PathBuf;
use sunstar::usage_error::UsageError;

/// The ranks that a study wants, and the ways in which they are placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum World {
    /// Two, on two nodes.
    Pair,
    /// Many, one a node (SN) and two a node (VN).
    Nodes,
    /// Many, one a node; the firmware does collectives where it can.
    Collective,
}

impl World {
    /// Its ranks, if a user wants so many.
    pub fn ranks(self, wanted: u32) -> u32 {
        if self == World::Pair {
            2
        } else {
            wanted
        }
    }
}

/// Argument of a study's program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Argument {
    /// The program's own choice.
    None,
    /// Largest message.
    Largest,
    /// A number.
    Number(&'static str),
    /// Messages of the flood.
    Flood,
}

/// A study.
pub struct Study {
    /// Name for `--only` and `--original`.
    pub name: &'static str,
    /// Title.
    pub title: &'static str,
    /// Definition, and where it is from.
    pub source: &'static str,
    /// Its ranks.
    pub world: World,
    /// True if its abscissae are sizes or numbers of ranks, which grow by factors.
    pub grows: bool,
    program: &'static str,
    argument: Argument,
}

/// Messages of the slides' flood.
pub const FLOOD: u64 = 10_000_000;

/// All studies, in the order of the slides.
pub const STUDIES: [Study; 14] = [
    Study {
        name: "pingpong",
        title: "PMB ping-pong",
        source: "Pallas MPI Benchmarks 2.1: half of a round trip; MiB are PMB's MByte",
        world: World::Pair,
        grows: true,
        program: "pingpong",
        argument: Argument::Largest,
    },
    Study {
        name: "sendrecv",
        title: "PMB Sendrecv",
        source: "Pallas MPI Benchmarks 2.1: a periodic chain; two messages a process count",
        world: World::Nodes,
        grows: true,
        program: "sendrecv",
        argument: Argument::Largest,
    },
    Study {
        name: "streaming",
        title: "OSU streaming bandwidth",
        source: "osu_bw: windows of 64 messages",
        world: World::Pair,
        grows: true,
        program: "streaming",
        argument: Argument::Largest,
    },
    Study {
        name: "rate",
        title: "Message rate",
        source: "windows of 64 messages between the first and the second half of the ranks, all \
                 pairs together",
        world: World::Nodes,
        grows: true,
        program: "message_rate",
        argument: Argument::None,
    },
    Study {
        name: "availability",
        title: "CPU availability and overhead",
        source: "post, work, wait, as Sandia's overhead benchmark has it",
        world: World::Pair,
        grows: true,
        program: "availability",
        argument: Argument::Largest,
    },
    Study {
        name: "rotate",
        title: "Rotate latency",
        source:
            "all ranks at once, averaged over all distances; our definition, as the slides have \
                 none",
        world: World::Nodes,
        grows: true,
        program: "rotate",
        argument: Argument::None,
    },
    Study {
        name: "pairs",
        title: "Latency of all pairs",
        source: "half of a round trip of an empty message, one pair at a time",
        world: World::Nodes,
        grows: true,
        program: "all_pairs",
        argument: Argument::None,
    },
    Study {
        name: "random-access",
        title: "HPC Challenge RandomAccess, baseline",
        source: "1,024 updates ahead; as many updates as words, a quarter of HPCC's; \
                 --original random-access=PROGRAM runs HPCC's own",
        world: World::Nodes,
        grows: true,
        program: "random_access",
        argument: Argument::None,
    },
    Study {
        name: "partisn-12",
        title: "Partisn's pattern, 12^3 cells a process",
        source:
            "transport: 8 sweeps; diffusion: an iteration; Partisn is not public, 20 ns a cell and \
                 angle are assumed",
        world: World::Nodes,
        grows: true,
        program: "partisn",
        argument: Argument::Number("12"),
    },
    Study {
        name: "partisn-15",
        title: "Partisn's pattern, 15^3 cells a process",
        source: "as above",
        world: World::Nodes,
        grows: true,
        program: "partisn",
        argument: Argument::Number("15"),
    },
    Study {
        name: "put-get",
        title: "Put and get",
        source:
            "Portals as GASNet uses it: a put ends with its acknowledgement, a get with its reply; \
                 16 at a time for the bandwidth",
        world: World::Pair,
        grows: true,
        program: "put_get",
        argument: Argument::Largest,
    },
    Study {
        name: "atomics",
        title: "Atomic operations",
        source:
            "one after the other; brightwell2007: 10.6 us for PtlGetAdd by the host, 3.9 by the \
                 network interface",
        world: World::Pair,
        grows: true,
        program: "atomics",
        argument: Argument::None,
    },
    Study {
        name: "barrier",
        title: "Barrier, and allreduce of a double",
        source: "MPI_Barrier and MPI_Allreduce; by firmware: mpi.barrier=nic, mpi.allreduce=nic",
        world: World::Collective,
        grows: true,
        program: "barrier",
        argument: Argument::None,
    },
    Study {
        name: "flood",
        title: "Unexpected messages",
        source: "the slides' loop of empty messages: sent, and behind: sent and not yet received",
        world: World::Pair,
        grows: false,
        program: "flood",
        argument: Argument::Flood,
    },
];

/// The study of that name.
pub fn find(name: &str) -> Result<&'static Study, UsageError> {
    STUDIES.iter().find(|study| study.name == name).ok_or_else(|| {
        let names: Vec<&str> = STUDIES.iter().map(|study| study.name).collect();
        let advice = suggestion::question_or(name, names.iter().copied(), || {
            format!("there are {}", names.join(", "))
        });
        UsageError::sentence(format!("there is no study {name:?}; {advice}"))
    })
}

impl Study {
    /// Its program, relative to the root.
    pub fn file(&self) -> PathBuf {
        PathBuf::from(format!("examples/studies/suite/{}.c", self.program))
    }

    /// Arguments of its program.
    pub fn arguments(&self, options: &SuiteOptions) -> Vec<String> {
        match self.argument {
            Argument::None => Vec::new(),
            Argument::Largest => vec![options.largest.to_string()],
            Argument::Number(number) => vec![number.to_owned()],
            Argument::Flood => vec![options.flood.to_string()],
        }
    }

    /// Part of the original that its numbers are, if that is not all of it.
    pub fn part(&self, options: &SuiteOptions) -> Option<String> {
        let less = self.argument == Argument::Flood && options.flood < FLOOD;
        less.then(|| {
            format!("{} of the slides' {FLOOD} messages; all: --flood {FLOOD}", options.flood)
        })
    }
}
