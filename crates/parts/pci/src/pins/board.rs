//! Agents on the same lines, with the arbiter between them.

use super::agent::Agent;
use super::lines::{agent, place, Control, Lines};
use super::mutant::Mutant;
use super::transfer::Transfer;
use crate::{Agent as Owner, ConfigSpace, Params};
use bus::Memory;

/// A bus at its pins.
#[derive(Clone, Debug)]
pub struct Board {
    agents: Vec<Agent>,
    number: u64,
    /// The arbiter's registers: whose GNT# is low. It parks at the bridge.
    grant: Owner,
    flip: Option<(u64, u8)>,
}

impl Board {
    /// A bridge in front of `memory`, and a device for each of `spaces` with `bytes` of registers.
    pub fn new(params: Params, memory: Memory, spaces: Vec<ConfigSpace>, bytes: usize) -> Board {
        let device = |(slot, config)| Agent::device(params, slot as u8, config, bytes);
        let devices = spaces.into_iter().enumerate().map(device);
        let agents = std::iter::once(Agent::bridge(params, memory)).chain(devices).collect();
        Board { agents, number: 0, grant: Owner::Bridge, flip: None }
    }

    /// Gives the agents their parts of a transaction.
    pub fn plan(&mut self, transfer: &Transfer) {
        for agent in &mut self.agents {
            agent.plan(transfer);
        }
    }
    /// Plants a bug in one agent.
    pub fn set_mutant(&mut self, of: Owner, mutant: Mutant) {
        self.agents[place(of)].mutant = Some(mutant);
    }
    /// Turns bit `bit` of AD in cycle `number`: a fault of the wires.
    pub fn flip(&mut self, number: u64, bit: u8) {
        self.flip = Some((number, bit));
    }
    /// An agent.
    pub fn agent(&self, of: Owner) -> &Agent {
        &self.agents[place(of)]
    }
    /// Level of the interrupt of the chip in a slot.
    pub fn interrupt(&mut self, slot: u8, level: bool) {
        self.agents[1 + usize::from(slot)].interrupt(level);
    }
    /// True if no agent has anything left to start.
    pub fn is_done(&self) -> bool {
        self.agents.iter().all(Agent::is_done)
    }

    /// A cycle: returns the levels on the lines, which all agents sample at its end.
    pub fn clock(&mut self) -> Lines {
        let drives = self.agents.iter().map(Agent::drive).collect();
        let mut lines = Lines::new(self.number, drives, self.grant);
        if let Some((_, bit)) = self.flip.filter(|(number, _)| *number == self.number) {
            let half = &mut lines.ad[usize::from(bit / 32)];
            *half = half.map(|ad| ad ^ 1 << (bit % 32));
        }
        for agent in &mut self.agents {
            agent.clock(&lines);
        }
        let asks = lines.drives.iter().position(|drive| drive.requests);
        self.grant = match asks {
            Some(place) if lines.is_high(Control::Frame) => agent(place),
            _ => Owner::Bridge,
        };
        self.number += 1;
        lines
    }
}
