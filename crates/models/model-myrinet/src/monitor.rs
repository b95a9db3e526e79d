//! A monitor on the LANai of one node (`sunstar run --monitor NODE`): no gdb knows this processor.
//!
//! The node's worker asks `stops` before each instruction. Where that says so, the worker stands still, takes
//! lines from `input`, and answers them on standard output until one lets the processor go on. So nothing of
//! the machine moves beyond the present window, and no simulated time passes. No command changes anything, so
//! the run is the one without a monitor; all that it prints follows from the lines alone.
//!
//! | module | what |
//! |---|---|
//! | `input` | lines of a terminal, a file or a pipe |
//! | `command` | what a line asks for |
//! | `place` | addresses by name, and names of addresses |
//! | `stops` | breakpoints, steps |
//! | `look` | registers, memory, instructions, stack |

use super::image::Image;
use ::myrinet::Card;
use command::{parse, Command, COMMANDS, PLACES};
use des::{Stop, Time};
use input::{Lines, Source};
use look::Look;
use machine::console;
use machine::firmware::facts::Facts;
use machine::models::check_node;
use machine::parameters::Parameters;
use machine::{Options, UsageError};
use mistake::Mistake;
use std::fmt::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use stops::{Stops, Why};

mod command;
mod input;
mod look;
mod mistake;
mod place;
pub(super) mod stops;

/// Commands for the processor of one node, which waits for them.
#[derive(Debug)]
pub struct Monitor {
    nid: u32,
    /// Until the run has begun.
    source: Mutex<Option<Source>>,
}

impl Monitor {
    /// For node `nid` of a machine for `ranks` ranks, with commands from a file or pipe, or from standard
    /// input.
    pub fn open(
        parameters: &Parameters,
        ranks: u32,
        nid: u32,
        file: Option<&Path>,
    ) -> Result<Monitor, UsageError> {
        check_node(parameters, ranks, "--monitor", nid)?;
        let failed = |why| {
            let file = file.unwrap_or(Path::new("standard input")).display();
            UsageError::sentence(format!("--monitor: cannot read commands from {file}: {why}"))
        };
        let source = Source::open(file).map_err(failed)?;
        Ok(Monitor { nid, source: Mutex::new(Some(source)) })
    }

    /// The node whose processor it looks at.
    pub fn node(&self) -> u32 {
        self.nid
    }

    /// The desk of the node, which reads commands from now on. Only once.
    pub(super) fn sit_down(
        &self,
        options: &Options,
        nodes: u32,
        launch: Time,
    ) -> Result<Desk, UsageError> {
        let source = self.source.lock().unwrap_or_else(PoisonError::into_inner).take();
        let source = source.expect("a run begins once");
        let loopback = !source.is_typed();
        let lines = Lines::of(source);
        Ok(Desk {
            facts: options.facts(self.nid, nodes, launch),
            lines: lines.map_err(|why| {
                UsageError::sentence(format!("--monitor: cannot start a thread: {why}"))
            })?,
            loopback,
            stop: Arc::clone(&options.stop),
            stops: Stops::new(),
        })
    }
}

/// Way in which the run goes on after the processor stood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// To the next stop.
    Run,
    /// Without the monitor.
    Detached,
    /// Not at all.
    Quit,
}

/// A node's side of the monitor.
pub(super) struct Desk {
    facts: Facts,
    lines: Lines,
    /// Nobody sees the lines where they are typed: they are printed.
    loopback: bool,
    stop: Arc<Stop>,
    pub stops: Stops,
}

/// Answer to a line.
enum Answer {
    Text(String),
    Go(Then),
}

impl Desk {
    /// The processor stands: tells where, and does what is asked for until it is to go on.
    pub fn talk(&mut self, card: &Card, image: &Image, fault: Option<String>) -> Then {
        let look = Look { card, symbols: &image.symbols };
        let why = if fault.is_some() { Why::Fault } else { self.stops.why() };
        let mut text = match why {
            Why::Begins => format!("the LANai of node {} is let out of reset\n", self.facts.nid),
            Why::Breakpoint(number) => format!("breakpoint {number}\n"),
            Why::Stepped => String::new(),
            Why::Fault => format!("{}; the run ends with it\n", fault.unwrap_or_default()),
        };
        text += &look.place();
        loop {
            let _ = write!(text, "lanai {}> ", self.facts.nid);
            if !self.say(&text) {
                return Then::Detached;
            }
            let Some(line) = self.lines.next(&self.stop) else {
                self.say("\n");
                return Then::Detached;
            };
            let loopback = if self.loopback { format!("{}\n", line.trim()) } else { String::new() };
            match self.answer(&line, &look, why == Why::Fault) {
                Answer::Text(answer) => text = loopback + &answer,
                Answer::Go(then) => {
                    self.say(&loopback);
                    return then;
                }
            }
        }
    }

    /// The run is over.
    pub fn end(&self) {
        if self.lines.has_more() {
            console::say("--monitor: the run has ended, and commands are left");
        }
    }

    /// False if nobody can hear it: then nobody asks.
    fn say(&self, text: &str) -> bool {
        match console::print(text) {
            Ok(()) => true,
            Err(why) => {
                console::say(&why.to_string());
                false
            }
        }
    }

    fn answer(&mut self, line: &str, look: &Look<'_>, ends: bool) -> Answer {
        self.obey(line, look, ends).unwrap_or_else(|why| Answer::Text(format!("{why}\n")))
    }

    /// Does what a line asks for.
    fn obey(&mut self, line: &str, look: &Look<'_>, ends: bool) -> Result<Answer, Mistake> {
        let registers = look.card.core().registers();
        let find = |place: &str| place::find(place, look.symbols, &registers);
        Ok(Answer::Text(match parse(line)? {
            Command::Nothing => String::new(),
            Command::Help => help(),
            Command::Break(None) => self.breakpoints(look),
            Command::Break(Some(place)) => self.set(find(&place)?, look)?,
            Command::Delete(number) => match self.stops.delete(number) {
                true => String::new(),
                false => return Err(Mistake::NoBreakpoint(number.unwrap_or(0))),
            },
            Command::Step(_) | Command::Continue if ends => return Ok(Answer::Go(Then::Detached)),
            Command::Step(count) => {
                self.stops.step(look.card.core().counters().instructions, count);
                return Ok(Answer::Go(Then::Run));
            }
            Command::Continue => {
                self.stops.go_on();
                return Ok(Answer::Go(Then::Run));
            }
            Command::Where => look.place(),
            Command::Registers => look.registers(),
            Command::Card => look.card(),
            Command::Memory(place, count) => look.memory(find(&place)?, count)?,
            Command::Disassemble(place, count) => {
                let from = place.map_or(Ok(look.card.core().pc()), |place| find(&place))?;
                look.instructions(from, count)
            }
            Command::Stack => look.stack(),
            Command::Time => self.facts.time(look.now()),
            Command::Machine => self.facts.machine(),
            Command::Counters => look.counters(),
            Command::Detach => return Ok(Answer::Go(Then::Detached)),
            Command::Quit => return Ok(Answer::Go(Then::Quit)),
        }))
    }

    fn set(&mut self, addr: u32, look: &Look<'_>) -> Result<String, Mistake> {
        if addr % 4 != 0 || look.symbols.function(addr).is_none() {
            return Err(Mistake::NoInstruction(addr));
        }
        let number = self.stops.set(addr);
        Ok(format!("breakpoint {number} at {}\n", look.symbols.describe(addr)))
    }

    fn breakpoints(&self, look: &Look<'_>) -> String {
        let all = self.stops.breakpoints().iter();
        let text: String = all
            .map(|(number, addr)| {
                format!("breakpoint {number} at {}\n", look.symbols.describe(*addr))
            })
            .collect();
        if text.is_empty() {
            "there are no breakpoints\n".into()
        } else {
            text
        }
    }
}

fn help() -> String {
    let mut text = String::new();
    for (name, usage, does) in COMMANDS {
        let command = format!("{name} {usage}");
        // Writing into a string cannot fail.
        let _ = writeln!(text, "{command:<28} {does}");
    }
    text + "A command may be cut as long as no other begins so.\n" + PLACES
}
