//! Speed of the cycle model: matches and simulated cycles a second on one core, in a unit of 256 cells that
//! is kept full. Hits are spread over all positions; deleted entries are inserted again, batch by batch.

use alpu::{Alpu, Command, Config, Entry, Inputs, QueueKind, Request, Response, Spec};
use des::Random;
use std::time::Instant;

/// Matches between two insertions, and entries inserted then. The command FIFO holds them.
const BATCH: usize = 14;

const CELLS: u64 = 256;

/// Runs that are measured, and batches in each: long enough for rare work of the model, too.
const RUNS: usize = 600;
const BATCHES: usize = 100;

fn main() {
    let posted = Config::new(QueueKind::Posted, CELLS as usize, 16);
    let unexpected = Config::new(QueueKind::Unexpected, CELLS as usize, 16);
    println!("256 full cells, hits at all positions, one delete and one insert a match");
    report("posted, as fast as it goes", posted, false);
    report("unexpected, as fast as it goes", unexpected, false);
    report("posted, clock by clock", posted, true);
}

/// The best of many short runs: other work on the machine only slows down.
fn report(name: &str, config: Config, clocked: bool) {
    let mut script = Script::new(&config);
    let mut load = Load { unit: Alpu::new(config), clocked, cycles: 0 };
    load.insert(&script.inserts(CELLS as usize));
    let mut runs = Vec::new();
    for _ in 0..RUNS {
        let batches: Vec<Batch> = (0..BATCHES).map(|_| script.batch()).collect();
        let (cycles, start) = (load.cycles, Instant::now());
        let sum = batches.iter().fold(0, |sum: u64, batch| sum + load.batch(batch));
        let seconds = start.elapsed().as_secs_f64();
        let tags = batches.iter().flat_map(|batch| &batch.tags);
        assert_eq!(sum, tags.sum::<u64>(), "the unit found other entries than the specification");
        let matches = (batches.len() * BATCH) as f64;
        runs.push((seconds / matches, (load.cycles - cycles) as f64 / matches));
    }
    runs.sort_by(|a, b| a.0.total_cmp(&b.0));
    let ((seconds, cycles), median) = (runs[0], runs[runs.len() / 2].0);
    let millions = [1.0 / seconds, 1.0 / median, cycles / seconds].map(|rate| rate * 1e-6);
    let [best, median, clock] = millions;
    println!(
        "{name:31} {best:5.1} M matches/s (median {median:.1})  {clock:6.1} M cycles/s  \
         {cycles:.1} cycles a match",
    );
}

/// A batch of matches, and the entries that replace those that it deletes.
struct Batch {
    headers: Vec<Request>,
    /// Tags of the entries that are found.
    tags: Vec<u64>,
    inserts: Vec<Command>,
}

/// Makes batches beforehand, so that only the unit is measured. The specification gives the entries that are
/// found.
struct Script {
    spec: Spec,
    random: Random,
    kind: QueueKind,
    tag: u64,
}

impl Script {
    fn new(config: &Config) -> Script {
        let (kind, spec) = (config.kind, Spec::new(config.kind, config.cells));
        Script { spec, random: Random::new(7), kind, tag: 0 }
    }

    /// Every eighth receive takes any source: of a posted unit they are the entries, of the other the
    /// requests.
    fn mask(&mut self, kind: QueueKind) -> u64 {
        let any = self.kind == kind && self.random.below(8) == 0;
        if any {
            0x7fff << 16
        } else {
            0
        }
    }

    /// Inserts with context, source and tag as in MPI.
    fn inserts(&mut self, count: usize) -> Vec<Command> {
        let mut inserts = vec![];
        self.spec.command(Command::StartInsert);
        for _ in 0..count {
            self.tag = (self.tag + 1) & 0xffff;
            let bits = self.random.below(1 << 31) | self.random.below(4) << 31;
            let mask = self.mask(QueueKind::Posted);
            let insert = Command::Insert(Entry { bits, mask, tag: self.tag });
            self.spec.command(insert);
            inserts.push(insert);
        }
        self.spec.command(Command::StopInsert);
        inserts
    }

    fn batch(&mut self) -> Batch {
        let (mut headers, mut tags) = (vec![], vec![]);
        for _ in 0..BATCH {
            let entries = self.spec.entries();
            let chosen = entries[self.random.below(entries.len() as u64) as usize];
            let header = Request { bits: chosen.bits, mask: self.mask(QueueKind::Unexpected) };
            let Some(Response::MatchSuccess { tag }) = self.spec.request(header) else {
                panic!("the header was made from an entry");
            };
            headers.push(header);
            tags.push(tag);
        }
        Batch { headers, tags, inserts: self.inserts(BATCH) }
    }
}

/// A processor that keeps a unit busy.
struct Load {
    unit: Alpu,
    clocked: bool,
    cycles: u64,
}

impl Load {
    /// Advances one cycle; the tag of a match that was taken in it.
    #[inline(always)]
    fn clock(&mut self, header: Option<Request>, command: Option<Command>) -> Option<u64> {
        self.cycles += 1;
        let inputs = Inputs { reset: false, header, command, result_ready: true };
        match self.unit.clock(&inputs).result {
            Some(Response::MatchSuccess { tag }) => Some(tag),
            Some(Response::StartAcknowledge { .. }) | None => None,
            Some(Response::MatchFailure) => panic!("every header was made from an entry"),
        }
    }

    /// Advances until a result is at the port, but at most `max` cycles.
    fn wait(&mut self, max: u64) {
        if !self.clocked {
            self.cycles += self.unit.advance_until_output(max);
            return;
        }
        for _ in 0..max {
            if self.unit.outputs().result.is_some() {
                break;
            }
            self.cycles += 1;
            self.unit.clock(&Inputs::default());
        }
    }

    /// The sum of the tags that were found.
    fn batch(&mut self, batch: &Batch) -> u64 {
        let (mut sum, mut found) = (0, 0);
        let mut headers = batch.headers.iter().copied();
        // Two headers are always there, so that the unit never waits.
        self.clock(headers.next(), None);
        while found < batch.headers.len() {
            let tag = self.clock(headers.next(), None);
            found += usize::from(tag.is_some());
            sum += tag.unwrap_or(0);
            if found < batch.headers.len() {
                self.wait(100);
            }
        }
        self.insert(&batch.inserts);
        sum
    }

    fn insert(&mut self, inserts: &[Command]) {
        self.clock(None, Some(Command::StartInsert));
        for command in inserts.iter().copied().chain([Command::StopInsert]) {
            while !self.unit.outputs().command_ready {
                self.clock(None, None);
            }
            self.clock(None, Some(command));
        }
    }
}
