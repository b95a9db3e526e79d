//! Judge of a unit from outside: it uses the specification and the rules of the ports alone, not the unit's
//! inside or timing.
//!
//! A unit may take from its two FIFOs in any order. So the judge keeps every state that the specification can
//! be in, and a result is wrong if it fits none of them.

use crate::{Command, Config, Inputs, Outputs, Request, Response, Spec};
use std::collections::VecDeque;

/// Most cycles for which a unit may owe a result, beside those for each of its cells.
const PATIENCE: u64 = 4096;

/// Most cycles for each cell: enough for a unit that compares an entry every few cycles.
const PATIENCE_CELL: u64 = 64;

/// State that the unit can be in.
#[derive(Clone, Debug, PartialEq, Eq)]
struct State {
    spec: Spec,
    /// Commands that it has taken, of all.
    taken: usize,
}

/// Something that no unit may do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum Violation {
    /// A result did not wait until it was taken.
    #[error(
        "{stood} stood at the output, was not taken, and now is {}",
        .now.map_or("nothing".into(), |now| now.to_string())
    )]
    Changed { stood: Response, now: Option<Response> },
    /// A result does not come.
    #[error("it has owed a result for {cycles} cycles")]
    Owes { cycles: u64 },
    /// A result will never come.
    #[error("it rests, and owes a result")]
    Rests,
    /// A result that nobody asked for.
    #[error("{result} comes, and no result is due")]
    Undue { result: Response },
    /// A wrong result, and all that are right.
    #[error("{result} comes, where {} is right", listed(.right))]
    Other { result: Response, right: Vec<Response> },
}

fn listed(responses: &[Response]) -> String {
    responses.iter().map(Response::to_string).collect::<Vec<_>>().join(", or ")
}

/// The judge of a unit.
#[derive(Clone, Debug)]
pub struct Judge {
    config: Config,
    states: Vec<State>,
    /// Commands that some state has not taken, and the number of those before them.
    commands: VecDeque<Command>,
    before: usize,
    /// Requests without result.
    requests: VecDeque<Request>,
    /// Result at the output in the cycle before, if it was not taken.
    stands: Option<Response>,
    /// Cycles for which it has owed a result.
    waited: u64,
}

impl Judge {
    /// Judge of an empty unit.
    pub fn new(config: &Config) -> Judge {
        Judge {
            config: *config,
            states: vec![State { spec: Spec::new(config.kind, config.cells), taken: 0 }],
            commands: VecDeque::new(),
            before: 0,
            requests: VecDeque::new(),
            stands: None,
            waited: 0,
        }
    }

    /// Checks a cycle: its inputs and outputs.
    pub fn cycle(&mut self, inputs: &Inputs, outputs: &Outputs) -> Result<(), Violation> {
        match (self.stands, outputs.result) {
            (Some(stood), now) if now != Some(stood) => {
                return Err(Violation::Changed { stood, now });
            }
            (None, Some(result)) => self.result(result)?,
            _ => {}
        }
        self.stands = outputs.result.filter(|_| !inputs.result_ready);
        if let Some(mut header) = inputs.header.filter(|_| outputs.header_ready) {
            header.bits &= self.config.match_bits();
            header.mask &= self.config.match_bits();
            self.requests.push_back(header);
        }
        if let Some(mut command) = inputs.command.filter(|_| outputs.command_ready) {
            if let Command::Insert(entry) = &mut command {
                entry.bits &= self.config.match_bits();
                entry.mask &= self.config.match_bits();
                entry.tag &= self.config.tag_bits();
            }
            self.commands.push_back(command);
        }
        // The output may be what it waits for.
        self.waited = if outputs.result.is_none() && self.owes() { self.waited + 1 } else { 0 };
        let cycles = PATIENCE + PATIENCE_CELL * self.config.cells as u64;
        if self.waited > cycles {
            return Err(Violation::Owes { cycles });
        }
        Ok(())
    }

    /// Checks a unit at rest, in which nothing will happen until somebody pushes or pops.
    pub fn at_rest(&self) -> Result<(), Violation> {
        if self.stands.is_none() && self.owes() {
            return Err(Violation::Rests);
        }
        Ok(())
    }

    /// True if a result must come, whatever it has taken so far: an acknowledgement, or one for a request
    /// that is not held.
    fn owes(&self) -> bool {
        if self.commands.is_empty() && self.requests.is_empty() {
            return false;
        }
        self.states.iter().all(|state| {
            let mut inserting = state.spec.inserting();
            for command in self.commands.iter().skip(state.taken - self.before) {
                match command {
                    Command::StartInsert if !inserting => return true,
                    Command::StopInsert => inserting = false,
                    _ => {}
                }
            }
            !inserting && !self.requests.is_empty()
        })
    }

    /// Checks a new result at the output.
    fn result(&mut self, result: Response) -> Result<(), Violation> {
        let (mut next, mut right) = (Vec::new(), Vec::new());
        let mut offer = |state: State, response: Response| {
            if response == result && !next.contains(&state) {
                next.push(state);
            } else if !right.contains(&response) {
                right.push(response);
            }
        };
        for state in &self.states {
            let mut state = state.clone();
            loop {
                if let Some(request) = self.requests.front() {
                    let mut then = state.clone();
                    if let Some(response) = then.spec.request(*request) {
                        offer(then, response);
                    }
                }
                let Some(command) = self.commands.get(state.taken - self.before) else { break };
                state.taken += 1;
                if let Some(response) = state.spec.command(*command) {
                    offer(state, response);
                    break;
                }
            }
        }
        if next.is_empty() {
            return Err(match right.is_empty() {
                true => Violation::Undue { result },
                false => Violation::Other { result, right },
            });
        }
        self.states = next;
        if !matches!(result, Response::StartAcknowledge { .. }) {
            self.requests.pop_front();
        }
        let taken = self.states.iter().map(|state| state.taken).min().expect("there is one");
        self.commands.drain(..taken - self.before);
        self.before = taken;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Alpu, Entry, QueueKind};

    fn config() -> Config {
        Config { match_width: 8, tag_width: 4, ..Config::new(QueueKind::Posted, 4, 2) }
    }

    fn insert(bits: u64, tag: u64) -> Command {
        Command::Insert(Entry { bits, mask: 0, tag })
    }

    const IDLE: Inputs = Inputs { reset: false, header: None, command: None, result_ready: false };

    /// A judge, and a scripted unit.
    struct Play {
        judge: Judge,
    }

    impl Play {
        fn new() -> Play {
            Play { judge: Judge::new(&config()) }
        }
        fn out(result: Option<Response>) -> Outputs {
            Outputs { header_ready: true, command_ready: true, result }
        }
        fn command(&mut self, command: Command) {
            let inputs = Inputs { command: Some(command), ..IDLE };
            self.judge.cycle(&inputs, &Play::out(None)).unwrap();
        }
        fn header(&mut self, bits: u64) {
            let header = Some(Request { bits, mask: 0 });
            self.judge.cycle(&Inputs { header, ..IDLE }, &Play::out(None)).unwrap();
        }
        fn result(&mut self, result: Response) -> Result<(), Violation> {
            self.judge.cycle(&Inputs { result_ready: true, ..IDLE }, &Play::out(Some(result)))
        }
        /// Two entries, 1 and then 2, and the acknowledgement of the first command.
        fn filled() -> Play {
            let mut play = Play::new();
            play.command(Command::StartInsert);
            play.result(Response::StartAcknowledge { free: 4 }).unwrap();
            play.command(insert(7, 1));
            play.command(insert(7, 2));
            play.command(Command::StopInsert);
            play
        }
    }

    #[test]
    fn the_oldest_entry_is_right_and_another_is_not() {
        let mut play = Play::filled();
        play.header(7);
        let result = Response::MatchSuccess { tag: 2 };
        let why = play.result(result).unwrap_err();
        let first = Response::MatchSuccess { tag: 1 };
        assert!(
            matches!(&why, Violation::Other { right, .. } if right.first() == Some(&first)),
            "{why}"
        );
        let mut play = Play::filled();
        play.header(7);
        play.result(Response::MatchSuccess { tag: 1 }).unwrap();
        play.header(7);
        play.result(Response::MatchSuccess { tag: 2 }).unwrap();
        play.header(7);
        play.result(Response::MatchFailure).unwrap();
        play.judge.at_rest().unwrap();
    }

    /// A header that came before START INSERT may be tried before it, or behind the inserts; what is known
    /// then holds for what follows.
    #[test]
    fn every_order_is_right_until_a_result_decides() {
        let early = || {
            let mut play = Play::new();
            play.header(7);
            play.command(Command::StartInsert);
            play.command(insert(7, 1));
            play
        };
        let mut play = early();
        play.result(Response::MatchFailure).unwrap();
        play.result(Response::StartAcknowledge { free: 4 }).unwrap();
        let mut play = early();
        play.result(Response::StartAcknowledge { free: 4 }).unwrap();
        play.judge.at_rest().unwrap();
        assert!(play.result(Response::MatchFailure).is_err(), "it is held in insert mode");
        let mut play = early();
        play.result(Response::StartAcknowledge { free: 4 }).unwrap();
        play.result(Response::MatchSuccess { tag: 1 }).unwrap();
    }

    #[test]
    fn what_nobody_asked_for_what_changes_and_what_never_comes_is_found() {
        let why = Play::new().result(Response::MatchFailure).unwrap_err();
        assert_eq!(why, Violation::Undue { result: Response::MatchFailure });

        let mut play = Play::new();
        play.header(7);
        play.judge.cycle(&IDLE, &Play::out(Some(Response::MatchFailure))).unwrap();
        let why = play.judge.cycle(&IDLE, &Play::out(None)).unwrap_err();
        assert_eq!(why, Violation::Changed { stood: Response::MatchFailure, now: None });

        let mut play = Play::filled();
        play.judge.at_rest().unwrap();
        play.header(7);
        assert_eq!(play.judge.at_rest(), Err(Violation::Rests));
        let found = (0..10_000).find_map(|_| play.judge.cycle(&IDLE, &Play::out(None)).err());
        assert_eq!(found, Some(Violation::Owes { cycles: 4096 + 4 * 64 }));
    }

    #[test]
    fn a_full_unit_says_what_is_free() {
        let mut play = Play::filled();
        play.command(Command::StartInsert);
        let [result, right] = [4, 2].map(|free| Response::StartAcknowledge { free });
        assert_eq!(play.result(result), Err(Violation::Other { result, right: vec![right] }));
    }

    #[test]
    fn each_violation_is_a_sentence() {
        let (stood, other) = (Response::MatchFailure, Response::MatchSuccess { tag: 1 });
        let free = Response::StartAcknowledge { free: 2 };
        let cases = [
            (
                Violation::Changed { stood, now: None },
                "match failure stood at the output, was not taken, and now is nothing",
            ),
            (
                Violation::Changed { stood, now: Some(other) },
                "match failure stood at the output, was not taken, and now is match success, \
                 tag 0x1",
            ),
            (Violation::Owes { cycles: 4352 }, "it has owed a result for 4352 cycles"),
            (Violation::Rests, "it rests, and owes a result"),
            (Violation::Undue { result: stood }, "match failure comes, and no result is due"),
            (
                Violation::Other { result: stood, right: vec![other, free] },
                "match failure comes, where match success, tag 0x1, or start acknowledge, 2 free \
                 is right",
            ),
        ];
        for (violation, sentence) in cases {
            assert_eq!(violation.to_string(), sentence);
        }
    }

    /// START INSERT waits for room in the result FIFO; nothing moves until somebody fetches a result.
    #[test]
    fn a_unit_that_waits_for_its_results_rests() {
        let config = Config { result_depth: 2, command_depth: 2, ..config() };
        let mut unit = Alpu::new(config);
        for _ in 0..3 {
            unit.clock(&Inputs { header: Some(Request::default()), ..IDLE });
            unit.advance(20);
        }
        for _ in 0..2 {
            unit.clock(&Inputs { command: Some(Command::StartInsert), ..IDLE });
        }
        unit.advance(20);
        assert!(!unit.outputs().command_ready && unit.is_at_rest());
        unit.clock(&Inputs { result_ready: true, ..IDLE });
        assert!(!unit.is_at_rest());
        unit.advance(20);
        assert!(unit.outputs().command_ready);
    }
}
