//! The bench of the lock-step tests: plays a program into the model and the RTL and compares.

// Each test program uses its part of this.
#![allow(dead_code)]

mod judge;

use crate::rtl::{RawOut, Rtl};
use crate::stimulus::{self, Player, Program};
use alpu::{Alpu, Config, Inputs};
use judge::{Judge, Unspecified};

/// Most cycles of a program.
const CYCLES_MAX: usize = 100_000;

/// Cycles at rest that are compared at the end of a program.
const REST: usize = 12;

/// The first thing that goes wrong with a program.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Failure {
    #[error("cycle {cycle}: {wrong}")]
    Unspecified { cycle: usize, wrong: Unspecified },
    #[error("{0}")]
    AtRest(Unspecified),
    #[error("the program never ends")]
    Endless,
    /// With the last cycles, of each its number, inputs, and outputs of the model.
    #[error("cycle {cycle}: {who} differs from the model\n{}  {who} {real:x?}", listed(.shown))]
    Differs { who: &'static str, cycle: usize, shown: Vec<(usize, Inputs, RawOut)>, real: RawOut },
    #[error("cycle {cycle}: advance_until_output passed {passed} cycles")]
    Passed { cycle: usize, passed: usize },
}

fn listed(cycles: &[(usize, Inputs, RawOut)]) -> String {
    let line = |(at, inputs, model): &(usize, Inputs, RawOut)| {
        format!("{at:5} in  {inputs:x?}\n      out {model:x?}\n")
    };
    cycles.iter().map(line).collect()
}

/// A model and the RTL of one configuration.
pub struct Bench {
    config: Config,
    model: Alpu,
    /// The model again, driven by the calls that advance many cycles at once.
    leaper: Alpu,
    rtl: Option<Rtl>,
    inputs: Vec<Inputs>,
    outputs: Vec<RawOut>,
    /// Cycles that have been compared.
    pub cycles: u64,
}

impl Bench {
    /// The model beside the RTL.
    pub fn new(config: Config) -> Bench {
        Bench::between(config, config)
    }

    /// A model of one configuration beside the RTL of another.
    pub fn between(config: Config, rtl: Config) -> Bench {
        Bench { rtl: Some(Rtl::new(&rtl)), ..Bench::without_rtl(config) }
    }

    /// The model alone, against the specification.
    pub fn without_rtl(config: Config) -> Bench {
        let (model, leaper) = (Alpu::new(config), Alpu::new(config));
        Bench {
            config,
            model,
            leaper,
            rtl: None,
            inputs: Vec::new(),
            outputs: Vec::new(),
            cycles: 0,
        }
    }

    /// Random programs from the seeds; a failure is shrunk and printed with its seed.
    pub fn random(&mut self, seeds: std::ops::Range<u64>) {
        for seed in seeds {
            if let Some((program, failure)) = self.fails(seed) {
                panic!("seed {seed}, {:?}:\n{failure}\n{program:#x?}", self.config);
            }
        }
    }

    /// Plays the random program of a seed. If it fails: the program, shrunk, and the error.
    pub fn fails(&mut self, seed: u64) -> Option<(Program, Failure)> {
        let program = stimulus::random(&self.config, seed);
        let failure = self.play(&program).err()?;
        Some(stimulus::shrink(program, failure, |program| self.play(program).err()))
    }

    /// Checks a program; a failure prints it.
    pub fn check(&mut self, program: &Program) {
        if let Err(failure) = self.play(program) {
            panic!("{:?}:\n{failure}\n{program:#x?}", self.config);
        }
    }

    /// Plays a program. The error says what went wrong in which cycle.
    pub fn play(&mut self, program: &Program) -> Result<(), Failure> {
        let judged = self.play_model(program);
        self.cycles += self.inputs.len() as u64;
        // A difference says more than a judgement on the model alone.
        if let Some(rtl) = &mut self.rtl {
            let real = rtl.run(&self.inputs);
            compare("the RTL", &self.inputs, &self.outputs, real)?;
        }
        judged?;
        self.play_leaper()
    }

    /// Records the model's outputs, and judges them.
    fn play_model(&mut self, program: &Program) -> Result<(), Failure> {
        let mut judge = Judge::new(&self.config);
        let mut player = Player::new(program);
        let mut rest = 0;
        self.inputs.clear();
        self.outputs.clear();
        while rest < REST {
            let cycle = self.inputs.len();
            let before = self.model.waiting();
            let inputs = player.inputs(&self.model.outputs());
            let outputs = self.model.clock(&inputs);
            self.inputs.push(inputs);
            self.outputs.push(RawOut::from(&outputs));
            if inputs.reset {
                judge = Judge::new(&self.config);
                continue;
            }
            let verdict = judge.cycle(before, &inputs, &outputs, self.model.waiting());
            verdict.map_err(|wrong| Failure::Unspecified { cycle, wrong })?;
            let now = self.model.outputs();
            let still = self.model.is_at_rest() && now.result.is_none() && player.is_done(&now);
            rest = if still { rest + 1 } else { 0 };
            if cycle > CYCLES_MAX {
                return Err(Failure::Endless);
            }
        }
        judge.at_rest().map_err(Failure::AtRest)
    }

    /// The same inputs, with `advance` wherever nothing is at the ports.
    fn play_leaper(&mut self) -> Result<(), Failure> {
        let mut cycle = 0;
        while cycle < self.inputs.len() {
            let idle = |inputs: &&Inputs| **inputs == Inputs::default();
            let run = self.inputs[cycle..].iter().take_while(idle).count();
            if run == 0 {
                let outputs = RawOut::from(&self.leaper.clock(&self.inputs[cycle]));
                let (inputs, expected) = (&self.inputs[..=cycle], &self.outputs[..=cycle]);
                if cycle > 0 {
                    compare("advance", &inputs[cycle..], &expected[cycle..], &[outputs])?;
                }
                cycle += 1;
                continue;
            }
            let passed = self.leaper.advance_until_output(run as u64) as usize;
            let early = self.outputs[cycle..cycle + passed].iter().any(|out| out.rsp_valid == 1);
            let found = self.leaper.outputs().result.is_some();
            if early || (passed < run && !found) {
                return Err(Failure::Passed { cycle, passed });
            }
            self.leaper.advance((run - passed) as u64);
            cycle += run;
        }
        Ok(())
    }
}

/// Error with the cycle in which `real` differs from the model, and the cycles before it.
fn compare(
    who: &'static str,
    inputs: &[Inputs],
    model: &[RawOut],
    real: &[RawOut],
) -> Result<(), Failure> {
    // Before the first reset outputs mean nothing.
    let skip = usize::from(inputs[0].reset);
    let pairs = model.iter().zip(real).enumerate().skip(skip);
    let Some((cycle, _)) = pairs.into_iter().find(|(_, (model, real))| model != real) else {
        return Ok(());
    };
    let shown = cycle.saturating_sub(12)..=cycle;
    let shown = shown.map(|at| (at, inputs[at], model[at])).collect();
    Err(Failure::Differs { who, cycle, shown, real: real[cycle] })
}
