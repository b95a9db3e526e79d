//! The inside of the crossbar: in each cycle it takes a word of each lane, and gives a word for each lane.

use crate::input::Input;
use crate::output::{Action, Output};
use crate::params::{Params, PORTS_MAX};
use crate::point::{Forwarding, Point};
use serial::Word;

/// Counters of the crossbar, as its monitor shows them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Words that have passed each crosspoint, input by input.
    pub words: Vec<u64>,
    /// Packets that have begun to leave each crosspoint.
    pub packets: Vec<u64>,
    /// Words in each crosspoint now.
    pub occupancy: Vec<usize>,
    /// Headers with impossible values; they are dropped.
    pub header_errors: u64,
    /// Damaged credits; they are discarded.
    pub credit_errors: u64,
    /// Words that found a crosspoint full; they are lost.
    pub overflows: u64,
}

/// Crossbar without its lanes.
#[derive(Clone, Debug)]
pub struct Crossbar {
    params: Params,
    inputs: Vec<Input>,
    outputs: Vec<Output>,
    /// Crosspoints, row by row.
    points: Vec<Point>,
    overflows: u64,
    cycle: u64,
}

impl Crossbar {
    /// An empty crossbar.
    pub fn new(params: Params) -> Crossbar {
        params.check();
        let bits = Params::counter_bits(params.point_words);
        let card_bits = Params::counter_bits(params.card_words);
        let (ports, limit) = (params.ports, params.card_words);
        let mut points = vec![Point::new(params.point_words, bits); ports * ports];
        let row = params.miscounts.map_or(0..0, |port| port * ports..(port + 1) * ports);
        points[row].iter_mut().for_each(Point::miscount);
        Crossbar {
            params,
            inputs: vec![Input::default(); ports],
            outputs: (0..ports).map(|_| Output::new(ports, card_bits, limit)).collect(),
            points,
            overflows: 0,
            cycle: 0,
        }
    }

    /// Parameters.
    pub fn params(&self) -> &Params {
        &self.params
    }

    /// Advances a cycle: `arrived` is the word of each lane, `ready` tells which lanes take a word; returns
    /// the words for these.
    pub fn clock(&mut self, arrived: &[Option<Word>], ready: &[bool]) -> [Option<Word>; PORTS_MAX] {
        let ports = self.params.ports;
        let mut words = [None; PORTS_MAX];
        self.cycle += 1;
        let (mut pops, mut told) = ([false; PORTS_MAX * PORTS_MAX], [false; PORTS_MAX * PORTS_MAX]);
        for port in (0..ports).filter(|port| ready[*port]) {
            let action = self.choose(port);
            words[port] = action.word;
            if let Some(from) = action.pop {
                let place = from * ports + port;
                pops[place] = true;
                if action.last {
                    self.points[place].end(self.cycle);
                }
            }
            if let Some(to) = action.told {
                told[port * ports + to] = true;
            }
        }
        for (port, arrived) in arrived.iter().copied().enumerate().take(ports) {
            let first = self.inputs[port].at_header();
            let push = self.inputs[port].clock(arrived, ports);
            if let Some((to, _)) = push.filter(|_| first) {
                self.points[port * ports + to].begin(self.cycle);
            }
            for to in 0..ports {
                let place = port * ports + to;
                let word = push.filter(|(target, _)| *target == to).map(|(_, word)| word);
                let room = self.points[place].clock(word, pops[place], told[place]);
                self.overflows += u64::from(!room);
            }
            if let Some(Word::Credit(credit)) = arrived {
                self.outputs[port].credit(credit, port);
            }
        }
        words
    }

    fn choose(&mut self, port: usize) -> Action {
        let ports = self.params.ports;
        let (mut column, mut row) = ([None; PORTS_MAX], [(0, 0); PORTS_MAX]);
        for other in 0..ports {
            column[other] = self.points[other * ports + port].front();
            let point = &self.points[port * ports + other];
            row[other] = (point.untold(), point.freed());
        }
        self.outputs[port].choose(&column[..ports], &row[..ports], self.params.urgent_words)
    }

    /// Counters so far.
    pub fn counters(&self) -> Counters {
        let ports = self.params.ports;
        let packets = (0..ports * ports).map(|p| self.outputs[p % ports].packets[p / ports]);
        Counters {
            words: self.points.iter().map(|point| point.forwarded).collect(),
            packets: packets.collect(),
            occupancy: self.points.iter().map(Point::len).collect(),
            header_errors: self.inputs.iter().map(|input| input.errors).sum(),
            credit_errors: self.outputs.iter().map(|output| output.credit_errors).sum(),
            overflows: self.overflows,
        }
    }

    /// Edges of its clock until now.
    pub fn cycle(&self) -> u64 {
        self.cycle
    }
    /// Forwarding times of packets, of each crosspoint, input by input.
    pub fn forwarding(&self) -> impl Iterator<Item = Forwarding> + '_ {
        self.points.iter().map(|point| point.forwarding)
    }

    /// True while the missing words of a packet that was cut off are replaced.
    pub(crate) fn makes_up(&self) -> bool {
        self.inputs.iter().any(Input::makes_up)
    }

    /// True if it holds no words and owes no credits, and the cards have reported empty buffers.
    pub fn is_quiet(&self) -> bool {
        let empty = self.points.iter().all(|point| point.len() == 0 && point.untold() == 0);
        empty && self.outputs.iter().all(Output::is_quiet)
    }
}
