//! Decides whether a unit's results can be explained by the specification.
//!
//! Commands and requests reach a unit through two FIFOs, and only the unit decides in which order it takes
//! from them. The judge therefore keeps every state that the specification can be in, given the results so
//! far: a result that no state can give is wrong, and so is a unit that comes to rest with work left.

use crate::{Command, Kind, Request, Response, Spec};
use std::collections::{HashSet, VecDeque};

/// A state of the specification and how far it has come in the two streams.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct World {
    spec: Spec,
    commands: usize,
    requests: usize,
}

/// The streams that went into a unit, and the states that explain what came out.
#[derive(Clone, Debug)]
pub struct Judge {
    worlds: HashSet<World>,
    commands: VecDeque<Command>,
    requests: VecDeque<Request>,
    commands_dropped: usize,
    requests_dropped: usize,
    lag_max: usize,
}

impl Judge {
    /// A judge of an empty unit of `cells` cells that has taken all but the last `lag_max` commands.
    pub fn new(kind: Kind, cells: usize, lag_max: usize) -> Judge {
        let world = World { spec: Spec::new(kind, cells), commands: 0, requests: 0 };
        Judge {
            worlds: HashSet::from([world]),
            commands: VecDeque::new(),
            requests: VecDeque::new(),
            commands_dropped: 0,
            requests_dropped: 0,
            lag_max,
        }
    }

    /// `command` has entered the command FIFO.
    pub fn command(&mut self, command: Command) {
        self.commands.push_back(command);
        let total = self.commands_dropped + self.commands.len();
        if total > self.lag_max && self.worlds.iter().any(|w| w.commands < total - self.lag_max) {
            self.worlds = self.reachable();
            self.worlds.retain(|world| world.commands >= total - self.lag_max);
        }
    }

    /// `request` has entered the header FIFO.
    pub fn request(&mut self, request: Request) {
        self.requests.push_back(request);
    }

    /// `response` has left the result FIFO.
    pub fn response(&mut self, response: Response) -> Result<(), String> {
        let mut next = HashSet::new();
        let mut instead = Vec::new();
        for world in self.reachable() {
            for (other, given) in self.steps(&world) {
                match given {
                    Some(given) if given == response => _ = next.insert(other),
                    Some(given) => instead.push(given.to_string()),
                    None => {}
                }
            }
        }
        if next.is_empty() {
            instead.sort();
            instead.dedup();
            let instead = if instead.is_empty() { "nothing".into() } else { instead.join(" or ") };
            return Err(format!("{response} came where {instead} was right"));
        }
        self.worlds = next;
        self.forget();
        Ok(())
    }

    /// The unit is at rest: everything must have been taken and answered, except for a request that fails in
    /// insert mode and those behind it.
    pub fn at_rest(&self) -> Result<(), String> {
        let commands = self.commands_dropped + self.commands.len();
        let requests = self.requests_dropped + self.requests.len();
        let done = |world: &World| {
            let answered = match world.spec.held() {
                None => world.requests == requests,
                Some(_) => world.spec.inserting() && world.spec.clone().retry().is_none(),
            };
            world.commands == commands && answered
        };
        if self.reachable().iter().any(done) {
            return Ok(());
        }
        Err("the unit is at rest, but a command or a request has not been answered".into())
    }

    /// What `world` can do next, and the response that comes with it.
    fn steps(&self, world: &World) -> Vec<(World, Option<Response>)> {
        let mut steps = Vec::new();
        if let Some(command) = self.commands.get(world.commands - self.commands_dropped) {
            let mut next = World { commands: world.commands + 1, ..world.clone() };
            let response = next.spec.command(*command);
            steps.push((next, response));
        }
        if world.spec.held().is_some() {
            let mut next = world.clone();
            let response = next.spec.retry();
            steps.push((next, response));
        } else if let Some(request) = self.requests.get(world.requests - self.requests_dropped) {
            let mut next = World { requests: world.requests + 1, ..world.clone() };
            let response = next.spec.request(*request);
            steps.push((next, response));
        }
        steps
    }

    /// The worlds and all that can be reached from them without a response.
    fn reachable(&self) -> HashSet<World> {
        let mut found = self.worlds.clone();
        let mut open: Vec<World> = found.iter().cloned().collect();
        while let Some(world) = open.pop() {
            for (next, response) in self.steps(&world) {
                if response.is_none() && found.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
        found
    }

    /// Drops what every world has taken.
    fn forget(&mut self) {
        let commands = self.worlds.iter().map(|world| world.commands).min().unwrap_or(0);
        let requests = self.worlds.iter().map(|world| world.requests).min().unwrap_or(0);
        self.commands.drain(..commands - self.commands_dropped);
        self.requests.drain(..requests - self.requests_dropped);
        (self.commands_dropped, self.requests_dropped) = (commands, requests);
    }
}
