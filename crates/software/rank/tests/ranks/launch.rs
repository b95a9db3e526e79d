//! Processes that meet by PMI-1, each on a node of its own at its own time.

use crate::harness::Program;
use des::{Duration, EventQueue, Random, Time};
use host::Host;
use mpi::Outcome;
use rank::{
    agent, Costs, Ending, Launcher, Network, Process, RankPosition, Runner, SocketCosts,
    SpawnOptions, Surroundings,
};
use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

const RANKS: u32 = 3;
const NOTICE: Duration = Duration(20_000_000);
const SOCKETS: SocketCosts = SocketCosts {
    call: Duration(5_000_000),
    latency: Duration(50_000_000),
    rate: 117_000_000,
    buffer: 128 << 10,
    segment: 1448,
    launcher: Duration(20_000_000),
};

struct Ports(EventQueue<host::Event>);

impl host::Ports for Ports {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.0.schedule(at, event);
    }
    fn mmio_write(&mut self, _: Time, _: u64, _: &[u8]) {}
    fn mmio_read(&mut self, _: Time, _: u64, _: usize) {}
}

/// A rank's node.
struct Node {
    host: Host,
    ports: Ports,
    ended: Rc<RefCell<Option<End>>>,
}

/// End of a rank.
#[derive(Clone, Debug, PartialEq)]
struct End {
    ending: Ending,
    at: Time,
    /// Answers that it has noted, with their times.
    notes: String,
}

/// Program that does `body` as `rank`.
fn program(body: &str) -> Program {
    let before = include_str!("launch.h");
    let begin = "notes = fopen(argv[1], \"w\"); const int rank = join();";
    Program::new(before, &format!("{begin}\n{body}"))
}

fn node(program: &Program, rank: u32, network: &Arc<Network>, notes: &Path) -> Node {
    let (ended, mut host) = (Rc::new(RefCell::new(None)), Host::new(&crate::agent::costs()));
    let network = network.clone();
    let around = Surroundings { network, launcher: Launcher::Pmi1, ..Surroundings::default() };
    let options = SpawnOptions {
        rank,
        size: RANKS,
        args: vec![notes.into()],
        surroundings: Arc::new(around),
        place: RankPosition { node: rank, nodes: RANKS, local: 0, locals: 1 },
        clock_read: Duration::from_ns(50),
        ..program.options()
    };
    let (result, notes) = (ended.clone(), notes.to_owned());
    host.spawn("rank", move |cpu| {
        let process = Process::spawn(&options).unwrap();
        let clock_read = Duration::from_ns(50);
        let costs = Costs { clock_read, sockets: SOCKETS, ..Costs::default() };
        let runner = Runner::new(process, cpu.clone(), costs);
        let ending = agent(|_, _: &[u64]| Outcome::Ok(0), &runner, &());
        let notes = std::fs::read_to_string(&notes).unwrap();
        *result.borrow_mut() = Some(End { ending, at: cpu.now(), notes });
    });
    Node { host, ports: Ports(EventQueue::new(rank)), ended }
}

/// Runs it; nodes take turns as they are drawn, as far as none gets ahead of another by the notice.
fn run(program: &Program, lots: u64) -> Vec<End> {
    let folder = tempfile::tempdir().unwrap();
    let network = Arc::new(Network::default());
    network.begin(SOCKETS, NOTICE, RANKS, 1);
    network.launch(std::slice::from_ref(&(0..RANKS)));
    let notes = |rank: u32| folder.path().join(rank.to_string());
    let begin = |rank| node(program, rank, &network, &notes(rank));
    let mut nodes: Vec<Node> = (0..RANKS).map(begin).collect();
    for Node { host, ports, .. } in &mut nodes {
        host.start(Time::ZERO, ports);
    }
    let mut lots = Random::new(lots);
    loop {
        let first = nodes.iter().map(|node| node.ports.0.next_time()).min().unwrap();
        if first == Time::NEVER {
            break;
        }
        let able = |node: &&mut Node| node.ports.0.next_time() < first + NOTICE;
        let mut able: Vec<_> = nodes.iter_mut().filter(able).collect();
        let drawn = lots.below(able.len() as u64) as usize;
        let Node { host, ports, .. } = &mut able[drawn];
        if let Some((now, event)) = ports.0.pop_before(Time::NEVER) {
            host.handle(now, event, ports);
        }
    }
    nodes.into_iter().map(|node| node.ended.take().unwrap()).collect()
}

/// Each puts its address, and gets that of the next one behind the barrier.
const MEETS: &str = "
    char line[256];
    ask(\"cmd=get_maxes\\n\"), ask(\"cmd=get_appnum\\n\"), ask(\"cmd=get_my_kvsname\\n\");
    ask(\"cmd=get kvsname=kvs_0 key=PMI_process_mapping\\n\");
    usleep(rank == 1 ? 300 : 0);
    snprintf(line, sizeof line, \"cmd=put kvsname=kvs_0 key=P%d value=at-%d\\n\", rank, rank);
    ask(line);
    ask(\"cmd=barrier_in\\n\");
    snprintf(line, sizeof line, \"cmd=get kvsname=kvs_0 key=P%d\\n\", (rank + 1) % 3);
    ask(line);
    ask(\"cmd=finalize\\n\");
    close(server);";

#[test]
fn ranks_meet_by_pmi_at_the_same_times_in_every_run() {
    let program = program(MEETS);
    let ends = run(&program, 0);
    for (rank, End { ending, at, notes }) in ends.iter().enumerate() {
        assert_eq!(ending.failure(rank as u32), None, "{notes}");
        let next = format!("value=at-{}\n", (rank + 1) % 3);
        for part in ["cmd=set size=3\n", "value=(vector,(0,3,1))\n", "barrier_out rc=0\n", &next] {
            assert!(notes.contains(part), "{part}: {notes}");
        }
        // Ten commands and a connection, of two latencies each, and what they cost beside.
        assert!((Time(1_690_000_000)..Time(1_740_000_000)).contains(at), "{at}");
    }
    for lots in 1..6 {
        assert_eq!(run(&program, lots), ends);
    }
}

#[test]
fn a_rank_that_aborts_ends_the_run_whether_it_waits_or_exits() {
    let asks = "const char *abort = \"cmd=abort exitcode=7\\n\";
        if (rank == 1) { if (write(server, abort, strlen(abort)) < 0) return 1; ";
    for rest in ["return 0;", "exit(3);", "answer();", "for (;;) usleep(10);", "sleep(1);"] {
        let program = program(&format!("{asks}{rest} }}"));
        let ends = run(&program, 0);
        let failure = ends[1].ending.failure(1);
        let sentence = "rank 1 asked its launcher to abort the run with code 7";
        assert_eq!(failure, Some((7, sentence.into())), "{rest}: {ends:?}");
        assert!(ends[1].at < Time(1_100_000_000_000), "{rest}");
        assert_eq!(run(&program, 1), ends, "{rest}");
    }
}

#[test]
fn a_barrier_without_a_rank_is_told() {
    let ends = run(&program("if (rank != 1) ask(\"cmd=barrier_in\\n\");"), 0);
    let sentence =
        "rank 0 has waited in the launcher's barrier (PMI) for a day of simulated time: \
                    2 of 3 ranks came, and rank 1 left without finalize";
    // It is the first that gives up, and with that the end of a run.
    assert_eq!(ends[0].ending, Ending::Fatal(sentence.into()));
    assert!(ends[0].at <= ends[2].at);
}

/// Malformed lines are answered, and nothing else happens.
#[test]
fn nonsense_is_answered() {
    let body = "
        for (int i = 0; i < 10000; i++)
            if (write(server, \"xxxxxxxxxx\", 10) != 10) return 1;
        if (!strstr(ask(\"\\n\"), \"cmd=error rc=-1 msg=the_line_is_too_long\")) return 2;
        if (!strstr(ask(\"\\xff=\\n\"), \"the_line_is_no_text\")) return 3;
        if (!strstr(ask(\"cmd=fly\\n\"), \"cmd=unknown rc=-1\")) return 4;
        if (!strstr(ask(\"fly\\n\"), \"the_line_is_no_command\")) return 5;
        if (!strstr(ask(\"cmd=get_appnum\\n\"), \"appnum=0\")) return 6;";
    for End { ending, notes, .. } in run(&program(body), 0) {
        assert_eq!(ending.failure(0), None, "{notes}");
    }
}
