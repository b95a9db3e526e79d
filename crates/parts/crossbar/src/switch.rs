//! The crossbar with its lanes: one in each direction for each port.

use crate::{Crossbar, Params, PORTS_MAX};
use serial::{LinkRx, LinkTx, Symbol, Word};

/// A crossbar with alignment and synchronisation at its lanes.
#[derive(Clone, Debug)]
pub struct Switch {
    /// Crossbar without the lanes.
    pub crossbar: Crossbar,
    rx: Vec<LinkRx>,
    tx: Vec<LinkTx>,
}

impl Switch {
    /// A switch after reset.
    pub fn new(params: Params) -> Switch {
        Switch {
            crossbar: Crossbar::new(params),
            rx: vec![LinkRx::new(1); params.ports],
            tx: vec![LinkTx::new(1); params.ports],
        }
    }

    /// The edge of the switch's clock: symbols at the receivers in, symbols for the transmitters out.
    pub fn clock(&mut self, symbols: &[Symbol]) -> [Symbol; PORTS_MAX] {
        let (mut arrived, mut ready) = ([None; PORTS_MAX], [false; PORTS_MAX]);
        for (port, (rx, tx)) in self.rx.iter().zip(&self.tx).enumerate() {
            (arrived[port], ready[port]) = (rx.word(), tx.ready());
        }
        let words = self.crossbar.clock(&arrived, &ready);
        let mut out = [Symbol::default(); PORTS_MAX];
        for (port, (rx, tx)) in self.rx.iter_mut().zip(&mut self.tx).enumerate() {
            rx.clock([symbols[port], Symbol::default()]);
            out[port] = tx.clock(words[port].unwrap_or(Word::Idle))[0];
        }
        out
    }

    /// True if edges change nothing in it until a symbol comes that is not idle.
    pub fn rests(&self) -> bool {
        let lanes = self.rx.iter().all(LinkRx::is_empty) && self.tx.iter().all(LinkTx::ready);
        lanes && self.crossbar.is_quiet() && !self.crossbar.makes_up()
    }

    /// Halves of words that did not belong together, at all ports.
    pub fn bond_errors(&self) -> u64 {
        self.rx.iter().map(LinkRx::errors).sum()
    }
}
