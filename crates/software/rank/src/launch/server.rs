//! The PMI-1 server: what it keeps for its clients, and its answer to each line.

use super::group::Group;
use super::wire::{abort_code, Answer, Command, Line};
use des::Time;
use std::collections::{BTreeMap, BTreeSet};

/// Bounds that clients are told, with the byte that ends a text in C.
const SPACE_MAX: usize = 256;
const KEY_MAX: usize = 64;
const VALUE_MAX: usize = 1024;

/// Name of the space of all keys.
const SPACE: &str = "kvs_0";
/// Key under which the places of ranks stand.
const MAPPING: &str = "PMI_process_mapping";

/// Consequence of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// This is sent to the client.
    Answer { client: usize, line: Vec<u8> },
    /// A rank ends the run with this code.
    Abort { rank: u32, code: i32 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// It has not said who it is.
    Unknown,
    /// It has this number.
    Joined(u32),
    Finalized(u32),
}

/// A connection.
#[derive(Clone, Debug)]
struct Client {
    rank: u32,
    phase: Phase,
    /// It is in a command of several lines.
    in_spawn: bool,
    /// It is at the barrier.
    waits: bool,
}

/// Ranks at the barrier, which waits for the others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Barrier {
    pub came: u32,
    pub size: u32,
    /// The first rank that has not come.
    pub missing: u32,
    /// That has left without finalize.
    pub left: bool,
}

/// A client's stay at the barrier.
#[derive(Clone, Copy, Debug)]
struct Visit {
    client: usize,
    rank: u32,
    since: Time,
    until: Option<Time>,
}

/// A rank that has closed its connection without finalize.
#[derive(Clone, Copy, Debug)]
struct Lost {
    rank: u32,
    at: Time,
}

/// The server of a run.
#[derive(Debug, Default)]
pub(crate) struct Server {
    group: Group,
    clients: BTreeMap<usize, Client>,
    /// Numbers of those that have joined and not left.
    joined: BTreeSet<u32>,
    pairs: BTreeMap<String, String>,
    services: BTreeMap<String, String>,
    /// Visits of the barrier in the order in which they began, with those that the last barrier has ended.
    visits: Vec<Visit>,
    /// Visits that have not ended.
    waiting: u32,
    lost: Vec<Lost>,
}

impl Server {
    pub fn new(group: Group) -> Server {
        Server { group, ..Server::default() }
    }

    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Somebody has connected.
    pub fn come(&mut self, client: usize, rank: u32) {
        let phase = Phase::Unknown;
        self.clients.insert(client, Client { rank, phase, in_spawn: false, waits: false });
    }

    /// A connection is closed.
    pub fn leave(&mut self, client: usize, now: Time) {
        let Some(Client { rank, phase, waits, .. }) = self.clients.remove(&client) else { return };
        if waits {
            let own = |visit: &&mut Visit| visit.client == client && visit.until.is_none();
            if let Some(visit) = self.visits.iter_mut().find(own) {
                visit.until = Some(now);
                self.waiting -= 1;
            }
        }
        match phase {
            Phase::Unknown => {}
            Phase::Finalized(number) => {
                self.joined.remove(&number);
            }
            Phase::Joined(number) => {
                self.joined.remove(&number);
                self.lost.push(Lost { rank, at: now });
            }
        }
    }

    /// The barrier as it was just before `known`, if the rank was at it.
    pub fn barrier_of(&self, rank: u32, known: Time) -> Option<Barrier> {
        let there =
            |visit: &&Visit| visit.since < known && visit.until.is_none_or(|until| until >= known);
        let came: BTreeSet<u32> =
            self.visits.iter().filter(there).map(|visit| visit.rank).collect();
        let size = self.group.size();
        let mut all = (0..size).filter_map(|number| self.group.rank_of(number));
        let missing = all.find(|other| !came.contains(other))?;
        let left = self.lost.iter().any(|lost| lost.rank == missing && lost.at < known);
        let barrier = Barrier { came: u32::try_from(came.len()).ok()?, size, missing, left };
        came.contains(&rank).then_some(barrier)
    }

    /// Does what a line says. Consequences in their order.
    pub fn take(&mut self, client: usize, line: &Line, now: Time) -> Vec<Event> {
        let Some(own) = self.clients.get_mut(&client) else { return Vec::new() };
        if let Some(code) = abort_code(line) {
            return vec![Event::Abort { rank: own.rank, code }];
        }
        let answers = match line {
            Line::Long => vec![Answer::refused("error", "the_line_is_too_long")],
            Line::Binary => vec![Answer::refused("error", "the_line_is_no_text")],
            Line::Text(text) if own.in_spawn => {
                if text != "endcmd" {
                    return Vec::new();
                }
                own.in_spawn = false;
                vec![Answer::refused("spawn_result", "a_run_has_the_ranks_with_which_it_begins")]
            }
            Line::Text(text) if text.starts_with("mcmd=") => {
                own.in_spawn = true;
                return Vec::new();
            }
            Line::Text(text) => match Command::parse(text) {
                Some(command) if command.name == "barrier_in" => return self.barrier(client, now),
                Some(command) => self.answers(client, &command),
                None => vec![Answer::refused("error", "the_line_is_no_command")],
            },
        };
        let line = |answer: Answer| Event::Answer { client, line: answer.line() };
        answers.into_iter().map(line).collect()
    }

    fn answers(&mut self, client: usize, command: &Command) -> Vec<Answer> {
        let phase = self.clients.get(&client).map_or(Phase::Unknown, |client| client.phase);
        let number = match phase {
            _ if command.name == "initack" => return self.join(client, command),
            Phase::Unknown => {
                return vec![Answer::refused(result_of(command.name), "initack_comes_first")];
            }
            Phase::Joined(number) | Phase::Finalized(number) => number,
        };
        let size = self.group.size();
        vec![match command.name {
            "init" => init(command),
            "get_maxes" => Answer::plain("maxes")
                .with("kvsname_max", SPACE_MAX)
                .with("keylen_max", KEY_MAX)
                .with("vallen_max", VALUE_MAX)
                .with("rc", 0),
            "get_appnum" => Answer::plain("appnum")
                .with("appnum", self.group.program_of(number).unwrap_or_default())
                .with("rc", 0),
            "get_my_kvsname" => Answer::plain("my_kvsname").with("kvsname", SPACE).with("rc", 0),
            "get_universe_size" => Answer::plain("universe_size").with("size", size).with("rc", 0),
            "put" => self.put(command),
            "get" => self.get(command),
            "getbyidx" => self.pair(command),
            "publish_name" | "unpublish_name" | "lookup_name" => self.name(command),
            "finalize" => {
                if let Some(own) = self.clients.get_mut(&client) {
                    own.phase = Phase::Finalized(number);
                }
                Answer::done("finalize_ack")
            }
            "spawn" => Answer::refused("spawn_result", "a_run_has_the_ranks_with_which_it_begins"),
            _ => Answer::refused("unknown", "the_command_is_unknown"),
        }]
    }

    /// A client says who it is.
    fn join(&mut self, client: usize, command: &Command) -> Vec<Answer> {
        let number = command.number("pmiid").filter(|number| *number < self.group.size());
        let Some(number) = number else {
            return vec![Answer::refused("initack", "pmiid_is_no_rank")];
        };
        if self.joined.contains(&number) {
            return vec![Answer::refused("initack", "this_rank_has_joined_already")];
        }
        let rank = self.group.rank_of(number);
        match self.clients.get_mut(&client) {
            Some(own) if Some(own.rank) == rank && own.phase == Phase::Unknown => {
                own.phase = Phase::Joined(number);
                self.joined.insert(number);
            }
            _ => return vec![Answer::refused("initack", "pmiid_is_another_rank")],
        }
        let set = || Answer::plain("set");
        vec![
            Answer::done("initack"),
            set().with("size", self.group.size()),
            set().with("rank", number),
            set().with("debug", 0),
        ]
    }

    fn barrier(&mut self, client: usize, now: Time) -> Vec<Event> {
        let refuse = |why: &str| {
            let line = Answer::refused("barrier_out", why).line();
            vec![Event::Answer { client, line }]
        };
        let rank = match self.clients.get_mut(&client) {
            Some(Client { waits: true, .. }) => {
                return refuse("this_rank_is_at_the_barrier_already");
            }
            Some(own) if matches!(own.phase, Phase::Joined(_)) => {
                own.waits = true;
                own.rank
            }
            _ => return refuse("only_ranks_that_have_joined_meet"),
        };
        self.visits.push(Visit { client, rank, since: now, until: None });
        self.waiting += 1;
        if self.waiting < self.group.size() {
            return Vec::new();
        }
        // Who asks for a past barrier means the last one: the next takes longer than nodes are apart.
        self.visits.retain(|visit| visit.until.is_none());
        self.waiting = 0;
        let line = Answer::done("barrier_out").line();
        let mut events = Vec::new();
        for visit in &mut self.visits {
            visit.until = Some(now);
            if let Some(own) = self.clients.get_mut(&visit.client) {
                own.waits = false;
            }
            events.push(Event::Answer { client: visit.client, line: line.clone() });
        }
        events
    }

    fn put(&mut self, command: &Command) -> Answer {
        let refused = |why| Answer::refused("put_result", why);
        let (Some(key), Some(value)) = (command.text("key"), command.text("value")) else {
            return refused("key_or_value_is_missing");
        };
        match () {
            () if is_other(command) => refused("there_is_no_such_kvsname"),
            () if key.is_empty() || key.len() >= KEY_MAX => refused("the_key_has_a_wrong_length"),
            () if value.len() >= VALUE_MAX => refused("the_value_is_too_long"),
            () => {
                self.pairs.insert(key.to_owned(), value.to_owned());
                Answer::done("put_result").with("msg", "success")
            }
        }
    }

    fn get(&self, command: &Command) -> Answer {
        let refused = |why| Answer::refused("get_result", why).with("value", "unknown");
        if is_other(command) {
            return refused("there_is_no_such_kvsname");
        }
        let value = match command.text("key") {
            Some(MAPPING) => Some(self.group.mapping()),
            Some(key) => self.pairs.get(key).map(String::as_str),
            None => return refused("the_key_is_missing"),
        };
        match value {
            Some(value) => Answer::done("get_result").with("msg", "success").with("value", value),
            None => refused("the_key_is_unknown"),
        }
    }

    fn pair(&self, command: &Command) -> Answer {
        let name = "getbyidx_results";
        let Some(index) = command.number::<usize>("idx").filter(|_| !is_other(command)) else {
            return Answer::refused(name, "idx_or_kvsname_is_wrong");
        };
        match self.pairs.iter().nth(index) {
            Some((key, value)) => {
                Answer::done(name).with("nextidx", index + 1).with("key", key).with("val", value)
            }
            None => Answer::refused(name, "no_more_keyvals").with("reason", "no_more_keyvals"),
        }
    }

    /// Names of services.
    fn name(&mut self, command: &Command) -> Answer {
        let result = result_of(command.name);
        let done = || Answer::done(result).with("msg", "success");
        let Some(service) = command.text("service").filter(|name| !name.is_empty()) else {
            return Answer::refused(result, "the_service_is_missing");
        };
        match (command.name, command.text("port")) {
            ("publish_name", None) => Answer::refused(result, "the_port_is_missing"),
            ("publish_name", Some(_)) if self.services.contains_key(service) => {
                Answer::refused(result, "the_service_is_published_already")
            }
            ("publish_name", Some(port)) => {
                self.services.insert(service.to_owned(), port.to_owned());
                done()
            }
            ("unpublish_name", _) => match self.services.remove(service) {
                Some(_) => done(),
                None => Answer::refused(result, "the_service_is_unknown"),
            },
            _ => match self.services.get(service) {
                Some(port) => Answer::done(result).with("port", port).with("msg", "success"),
                None => Answer::refused(result, "the_service_is_unknown"),
            },
        }
    }
}

fn init(command: &Command) -> Answer {
    let name = "response_to_init";
    let answer = Answer::plain(name).with("pmi_version", 1).with("pmi_subversion", 1);
    match command.number("pmi_version") {
        Some(1) => answer.with("rc", 0),
        _ => answer.with("rc", -1).with("msg", "the_version_is_1.1"),
    }
}

/// True if a command means another space of keys.
fn is_other(command: &Command) -> bool {
    command.text("kvsname").is_some_and(|name| name != SPACE)
}

/// Name of the answer to a command.
fn result_of(command: &str) -> &'static str {
    match command {
        "init" => "response_to_init",
        "get_maxes" => "maxes",
        "get_appnum" => "appnum",
        "get_my_kvsname" => "my_kvsname",
        "get_universe_size" => "universe_size",
        "put" => "put_result",
        "get" => "get_result",
        "getbyidx" => "getbyidx_results",
        "publish_name" => "publish_result",
        "unpublish_name" => "unpublish_result",
        "lookup_name" => "lookup_result",
        "finalize" => "finalize_ack",
        "spawn" => "spawn_result",
        _ => "unknown",
    }
}
