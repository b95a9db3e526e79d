//! Judge of a unit's results by the untimed specification.
//!
//! A unit may take from its two FIFOs in any order; the fill of the FIFOs shows the order. The specification
//! then takes the same, and must give the same results.

use alpu::{Command, Config, Inputs, Outputs, Request, Response, Spec, Waiting};
use std::collections::VecDeque;

pub struct Judge {
    spec: Spec,
    commands: VecDeque<Command>,
    requests: VecDeque<Request>,
    results: VecDeque<Response>,
}

/// Something that the specification does not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unspecified {
    #[error("a command that was never given")]
    Command,
    #[error("a header that was never given")]
    Header,
    #[error("a match ended without result, {inserting}")]
    NoResult { inserting: bool },
    #[error("two results in one cycle")]
    TwoResults,
    #[error("{got:?} came where {right:?} is right")]
    Result { got: Option<Response>, right: Option<Response> },
    #[error("at rest with {commands} commands, {headers} headers and {results} results left")]
    Left { commands: usize, headers: usize, results: usize },
}

impl Judge {
    /// A judge of an empty unit.
    pub fn new(config: &Config) -> Judge {
        let (commands, requests, results) = Default::default();
        Judge { spec: Spec::new(config.kind, config.cells), commands, requests, results }
    }

    /// Checks a cycle: the fill of the FIFOs at its beginning and at its end, and its inputs and outputs.
    pub fn cycle(
        &mut self,
        before: Waiting,
        inputs: &Inputs,
        outputs: &Outputs,
        after: Waiting,
    ) -> Result<(), Unspecified> {
        let moved = |port: bool| usize::from(port);
        let taken = moved(outputs.result.is_some() && inputs.result_ready);
        let command = inputs.command.filter(|_| outputs.command_ready);
        let request = inputs.header.filter(|_| outputs.header_ready);
        if before.commands + moved(command.is_some()) > after.commands {
            let command = self.commands.pop_front().ok_or(Unspecified::Command)?;
            self.results.extend(self.spec.command(command));
        }
        if before.headers + moved(request.is_some()) > after.headers {
            let request = self.requests.pop_front().ok_or(Unspecified::Header)?;
            let inserting = self.spec.inserting();
            let result = self.spec.request(request);
            let result = result.ok_or(Unspecified::NoResult { inserting })?;
            self.results.push_back(result);
        }
        if after.results + taken - before.results > 1 {
            return Err(Unspecified::TwoResults);
        }
        if taken == 1 {
            let (got, right) = (outputs.result, self.results.pop_front());
            if got != right {
                return Err(Unspecified::Result { got, right });
            }
        }
        self.commands.extend(command);
        self.requests.extend(request);
        Ok(())
    }

    /// Checks a unit at rest: all must have been taken and answered, except headers behind one that failed in
    /// insert mode.
    pub fn at_rest(&self) -> Result<(), Unspecified> {
        let answered = self.requests.is_empty() || self.spec.inserting();
        if self.commands.is_empty() && answered && self.results.is_empty() {
            return Ok(());
        }
        Err(Unspecified::Left {
            commands: self.commands.len(),
            headers: self.requests.len(),
            results: self.results.len(),
        })
    }
}
