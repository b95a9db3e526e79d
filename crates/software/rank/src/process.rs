//! A rank's process: what it demands, and the answers.

use crate::channel::{Channel, Taken, Turn, OVERWRITTEN};
use crate::crowd;
use crate::demand::Demand;
use crate::ending::Ending;
use crate::endless::Looks;
use crate::exit::ExitStatus;
use crate::fabric::FabricNote;
use crate::lease::Lease;
use crate::life::Life;
use crate::memory::ProcessMemory;
use crate::memory_file;
use crate::processor::Follower;
use crate::sockets::{SocketCall, Told};
use crate::spawn::{self, SpawnError, SpawnOptions};
use crate::stuck;
use crate::surroundings::Surroundings;
use crate::verbs::VerbsAnswer;
use crate::watcher::Watcher;
use abi::mpi::Function;
use abi::rank::{record_kind, state};
use des::{Duration, Time};
use mpi::Callback;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

/// Real time that a process gets to write out what it has printed, before it is killed.
const LAST_WORDS: std::time::Duration = std::time::Duration::from_secs(2);

/// Error for an unknown process.
const LOST: &str = "the process that uses MPI is not among those that the program has started (is \
                    there a launcher with a PID namespace, as unshare -p? that is not supported)";

/// Real time from which on a wait for the process is its own work, and not the system's, which lets others
/// use the processor for a while; of the first wait more is the loader's.
const WORK_MIN: std::time::Duration = std::time::Duration::from_millis(10);
const BEGINNING_MIN: std::time::Duration = std::time::Duration::from_millis(20);

/// Real time after which it is noticed that nothing has woken the simulator, though the turn is its own: the
/// program has overwritten who sleeps.
pub(crate) const LOOK_AGAIN: std::time::Duration = std::time::Duration::from_millis(250);

/// A process that runs a rank. Dropping it kills it.
#[derive(Debug)]
pub struct Process {
    life: Arc<Life>,
    pub(crate) channel: Arc<Channel>,
    follower: Follower,
    /// Key under which the watcher knows it.
    watch: Option<u64>,
    /// End of the process, once it was waited for.
    ended: Option<ExitStatus>,
    /// It has demanded what no library demands.
    corrupt: bool,
    /// It says that it is the rank, and is none of those that were started for that.
    lost: bool,
    /// Callbacks in progress.
    callbacks: u32,
    /// Calls that its library may answer by itself.
    lease: Lease,
    measures: bool,
    /// It has demanded the last thing within a call of libfabric.
    in_fabric: bool,
    /// Real time at which it got the turn, if it has it.
    went_on: Option<Instant>,
    /// Real time in which it has had the turn, and whether it has demanded anything yet.
    worked: std::time::Duration,
    met: bool,
    surroundings: Arc<Surroundings>,
    node: u32,
    /// SIGTERM was sent to it, as it serves others that have ended.
    told: bool,
    retired: bool,
}

impl Process {
    /// Starts the program. It runs until it demands something, whether asked or not.
    ///
    /// The process dies with the thread that calls this, so that nothing outlives the simulator:
    /// call it from a thread that lives as long as the process is wanted.
    pub fn spawn(options: &SpawnOptions) -> Result<Process, SpawnError> {
        if let Some((channel, child)) = options.templates.as_ref().and_then(|t| t.fork(options)) {
            return Process::born(channel, child, options);
        }
        let memory = memory_file::new(1).map_err(SpawnError::channel)?;
        let channel = Channel::in_file(&memory, 0, options).map_err(SpawnError::channel)?;
        Process::spawn_with(channel, &memory, options)
    }

    /// Starts the program, whose channel is the first one in this memory file.
    pub(crate) fn spawn_with(
        channel: Channel,
        memory: &OwnedFd,
        options: &SpawnOptions,
    ) -> Result<Process, SpawnError> {
        // No process without a watcher.
        Watcher::get().map_err(SpawnError::channel)?;
        let child = spawn::start(options, memory)?;
        Process::born(channel, child, options)
    }

    fn born(
        channel: Channel,
        child: spawn::Child,
        options: &SpawnOptions,
    ) -> Result<Process, SpawnError> {
        let channel = Arc::new(channel);
        let life = Arc::new(Life::new(options.rank, child.pid, child.pidfd, channel.clone()));
        let watched = Watcher::get().and_then(|watcher| watcher.watch(life.clone()));
        let follower = Follower::new(child.pid, child.processor);
        let mut process = Process {
            life,
            channel,
            follower,
            watch: None,
            ended: None,
            corrupt: false,
            lost: false,
            callbacks: 0,
            lease: Lease::default(),
            measures: options.compute.millionths() != 0,
            in_fabric: false,
            went_on: Some(Instant::now()),
            worked: std::time::Duration::ZERO,
            met: false,
            surroundings: options.surroundings.clone(),
            node: options.place.node,
            told: false,
            retired: false,
        };
        // On failure the process is dropped here, which kills it.
        process.watch = Some(watched.map_err(SpawnError::channel)?);
        Ok(process)
    }

    /// True if its computation takes simulated time.
    pub fn measures(&self) -> bool {
        self.measures
    }

    /// Tells a server, once, that all others have ended. Its end, if it has ended by that.
    pub(crate) fn tell(&mut self, now: Time) -> Option<ExitStatus> {
        let Surroundings { server, crowd, .. } = &*self.surroundings;
        if !server || self.told || !crowd.is_over(now) {
            return None;
        }
        self.told = true;
        crowd::terminate(&self.life).then(|| self.wait())
    }

    /// Error handler before the program sets one.
    pub fn initial_errors(&self) -> mpi::InitialErrors {
        self.surroundings.errors
    }

    /// It needs no server any more: it has ended, or has reached MPI_Finalize.
    pub(crate) fn retire(&mut self, now: Time) {
        if !std::mem::replace(&mut self.retired, true) && !self.surroundings.server {
            self.surroundings.crowd.end(now);
        }
    }

    /// Its end, as the run sees it: a rank that was told to end has not failed.
    pub(crate) fn excuse(&self, ending: Ending) -> Ending {
        match ending {
            Ending::Exited(_) if self.told => Ending::Exited(ExitStatus::FINISHED),
            ending => ending,
        }
    }

    /// The number of its node.
    pub(crate) fn node(&self) -> u32 {
        self.node
    }

    pub(crate) fn surroundings(&self) -> Arc<Surroundings> {
        self.surroundings.clone()
    }

    /// Its number in the operating system.
    pub fn pid(&self) -> i32 {
        self.life.pid
    }

    /// Its rank.
    pub fn rank(&self) -> u32 {
        self.life.rank
    }

    /// Error of the program, if its library has ended it for that: "rank 3: MPI_Send was called before
    /// MPI_Init".
    pub fn fault(&self) -> Option<String> {
        let rank = self.life.rank;
        let corrupt = || format!("rank {rank}: {OVERWRITTEN}");
        let lost = || format!("rank {rank}: {LOST}");
        let own = || self.corrupt.then(corrupt).or_else(|| self.lost.then(lost));
        self.life.fault().or_else(own)
    }

    /// End of the process, if it ended while it waited for an answer and its memory was missing: the
    /// outcome of the call is a consequence.
    pub fn end_if_missed(&self) -> Option<ExitStatus> {
        self.life.end_if_missed()
    }

    /// Its memory.
    pub fn memory(&self) -> ProcessMemory {
        ProcessMemory { life: self.life.clone() }
    }

    /// Blocks until the process demands something or ends.
    #[allow(clippy::should_implement_trait)] // No iterator: most demands need an answer in between.
    pub fn next(&mut self) -> Demand {
        self.next_within(None).expect("patience without a limit does not run out")
    }

    /// Like [`Process::next`]; `None` if the program has computed for `patience` of real time.
    pub fn next_within(&mut self, patience: Option<std::time::Duration>) -> Option<Demand> {
        let (mut waited, mut began) = (false, None);
        let mut looks = Looks::new(self.measures);
        loop {
            let turn = self.channel.turn();
            if let Some(did) = self.did(turn) {
                return Some(did);
            }
            match turn {
                Turn::Dead => return Some(Demand::Exited(self.wait())),
                Turn::Overwritten => return Some(self.end_corrupt()),
                Turn::Simulator => match self.channel.take() {
                    Taken::Record(record) => {
                        self.note();
                        return Some(self.demand(&record));
                    }
                    // It only handed over because the ring was full.
                    Taken::Emptied => {
                        self.follower.follow();
                        self.channel.yield_turn();
                    }
                    Taken::Overwritten => return Some(self.end_corrupt()),
                },
                Turn::Process => {
                    if waited {
                        let time = began.get_or_insert_with(Instant::now).elapsed();
                        if patience.is_some_and(|patience| time >= patience) {
                            return None;
                        }
                        if time >= LOOK_AGAIN && self.waits_in_vain() {
                            return Some(self.end_corrupt());
                        }
                        let worked = self.went_on.map_or(time, |began| began.elapsed());
                        if looks.find(worked, &self.life) {
                            self.note();
                            return Some(Demand::Nothing);
                        }
                    }
                    // Mostly there is no second time, and no clock is looked at.
                    waited = true;
                    let most = patience.map_or(LOOK_AGAIN, |patience| patience.min(LOOK_AGAIN));
                    self.channel.wait_for_turn(most);
                }
            }
        }
    }

    /// Calls that the library has answered by itself: they come before its present demand.
    fn did(&mut self, turn: Turn) -> Option<Demand> {
        if self.lease == Lease::default() || turn == Turn::Process {
            return None;
        }
        self.lease = Lease::default();
        self.channel.take_deeds().map(Demand::Did)
    }

    /// While it says so, the program's memory is as it was when the library has repeated a call: there is the
    /// request at `at`, and what has already been written there.
    pub(crate) fn repeat(&self, at: Option<u64>) {
        self.life.repeat(at);
    }

    /// Lets the library answer by itself after the next answer.
    pub fn lease(&mut self, lease: Lease) {
        self.lease = lease;
    }

    /// After so many looks at event queues in vain the next one waits; 0: none does.
    pub(crate) fn set_looks_max(&self, looks: u32) {
        self.channel.set_looks_max(looks);
    }

    /// Counts what it has worked since it got the turn.
    fn note(&mut self) {
        let Some(took) = self.went_on.take().map(|began| began.elapsed()) else { return };
        let least = if self.met { WORK_MIN } else { BEGINNING_MIN };
        self.met = true;
        if took >= least {
            self.worked += took;
        }
    }

    /// True if the process sleeps until the simulator hands over, which waits for the process: they do not
    /// look at the same memory any more, or a thread of the program's has changed the turn.
    fn waits_in_vain(&self) -> bool {
        stuck::waits_for_simulator(self.life.rank_pid()) && self.channel.turn() == Turn::Process
    }

    /// True if the last demand comes from within a call of libfabric.
    pub(crate) fn is_in_fabric(&self) -> bool {
        self.in_fabric
    }

    /// The processor to which it was sent last, if it follows the simulator.
    pub(crate) fn processor(&self) -> Option<libc::c_int> {
        self.follower.sent_to()
    }

    /// Notes the process that writes the records. False if it is not a process of the rank's.
    fn knows_owner(&mut self) -> bool {
        let owner = self.channel.owner() as libc::pid_t;
        if owner == self.life.rank_pid() {
            return true;
        }
        self.follower.replace(owner);
        self.life.inherit(owner)
    }

    fn demand(&mut self, record: &crate::channel::Record) -> Demand {
        if !self.knows_owner() {
            self.lost = true;
            return Demand::Exited(self.end());
        }
        self.in_fabric = record.inside;
        let arguments = &record.arguments;
        let posted = record.kind == record_kind::POSTED;
        match record.kind {
            record_kind::CLOCK => Demand::Clock,
            record_kind::SOCKET => Demand::Socket(SocketCall::new(record.function, arguments)),
            record_kind::VERBS => Demand::Verbs { call: record.function.into(), args: *arguments },
            record_kind::SLEEP => Demand::Sleep(Duration(arguments[0])),
            record_kind::COMPUTED => Demand::Computed(Duration(arguments[0])),
            record_kind::FABRIC => match FabricNote::of(record.function, arguments[0]) {
                Some(note) => Demand::Fabric(note),
                None => self.end_corrupt(),
            },
            record_kind::RETURNED if self.callbacks > 0 => {
                self.callbacks -= 1;
                let result = arguments[0];
                let arguments = std::array::from_fn(|i| arguments[i + 1]);
                Demand::CallbackReturned { result, arguments }
            }
            record_kind::LEFT if self.callbacks > 0 => {
                self.callbacks -= 1;
                Demand::CallbackLeft
            }
            record_kind::POSTED | record_kind::CALL => match Function::from_id(record.function) {
                Some(function) => {
                    let args = std::array::from_fn(|i| arguments[i]);
                    Demand::Call { function, args, posted }
                }
                None => self.end_corrupt(),
            },
            record_kind::PORTALS => match abi::portals::Function::from_id(record.function) {
                Some(function) => Demand::Portals { function, args: *arguments },
                None => self.end_corrupt(),
            },
            _ => self.end_corrupt(),
        }
    }

    /// Only a program that overwrites its library's memory gets here.
    pub(crate) fn end_corrupt(&mut self) -> Demand {
        self.corrupt = true;
        Demand::Exited(self.end())
    }

    /// Answers a call with an MPI error code or Portals return code. `now` is what a clock tells
    /// that cannot ask (in a signal handler).
    pub fn reply(&mut self, code: i32, now: Time) {
        self.begin_reply(now);
        self.channel.answer(code);
    }

    fn begin_reply(&mut self, now: Time) {
        self.channel.set_time(now.0);
        self.channel.set_lease(self.lease);
        self.follower.follow();
        self.went_on = Some(Instant::now());
    }

    /// Answers `Socket`.
    pub(crate) fn reply_socket(&mut self, told: &Told, now: Time) {
        self.begin_reply(now);
        self.channel.answer_words(told.code, &told.words);
    }

    /// Answers `Verbs`.
    pub(crate) fn reply_verbs(&mut self, answer: &VerbsAnswer, now: Time) {
        self.begin_reply(now);
        self.channel.answer_words(answer.code, &answer.words);
    }

    /// Answers `Clock` and `Sleep`.
    pub fn reply_with_time(&mut self, now: Time) {
        self.reply(0, now);
    }

    /// Lets the process run a function before the call that waits gets its answer. Ask for demands
    /// then: calls that the function makes, which are answered as always, and at last
    /// `CallbackReturned`.
    pub fn start_callback(&mut self, callback: &Callback, now: Time) {
        let Callback { function, arguments, indirect } = callback;
        self.begin_reply(now);
        self.callbacks += 1;
        self.channel.answer_callback(*function, arguments, *indirect);
    }

    /// Ends the process; what it has printed is not lost. It must be in a call or about to make
    /// one.
    pub fn flush_and_kill(&mut self) {
        let started = Instant::now();
        while started.elapsed() < LAST_WORDS {
            let Some(demand) = self.next_within(Some(LAST_WORDS)) else { break };
            match demand {
                Demand::Call { posted: true, .. } | Demand::CallbackLeft => {}
                Demand::Computed(_) | Demand::Did(_) | Demand::Fabric(_) => {}
                Demand::Exited(_) => return,
                _ => {
                    self.flush_in_call();
                    break;
                }
            }
        }
        self.end();
    }

    /// The same while the process waits for an answer.
    pub fn flush_in_call_and_kill(&mut self) {
        self.flush_in_call();
        self.end();
    }

    /// Kills the process and sees it dead: what devices go on writing to its memory must not depend
    /// on how long it takes to die.
    fn end(&mut self) -> ExitStatus {
        self.kill();
        self.wait()
    }

    fn flush_in_call(&mut self) {
        let function = abi::rank::service::FLUSH;
        self.start_callback(&Callback { function, arguments: [0; 6], indirect: 0 }, Time::ZERO);
        // Whatever comes back, or nothing in that time: it is killed next.
        self.next_within(Some(LAST_WORDS));
    }

    /// Kills the process at once; nothing happens if it has ended. [`Process::next`] then says how.
    pub fn kill(&self) {
        self.life.kill();
    }

    fn wait(&mut self) -> ExitStatus {
        if let Some(status) = self.ended {
            return status;
        }
        let ended = self.life.wait();
        self.follower.stop();
        self.ended = Some(ended);
        ended
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let used = self.channel.owner() != 0;
        if self.ended.is_none() {
            self.end();
        }
        if let (Some(id), Ok(watcher)) = (self.watch, Watcher::get()) {
            watcher.forget(id);
        }
        let begun_mpi = self.channel.state() & state::INITIALIZED != 0;
        // Real time is longer where others use the processor, too; the system tells of some processes only
        // that.
        let computed = self.life.computed();
        let own = if computed.is_zero() { self.worked } else { computed };
        self.surroundings.notes.add(own, used, begun_mpi);
    }
}
