//! A lane from transmitter to receiver: latency, drift of two clocks, clock correction, shifted bytes,
//! faults.
//!
//! Behavioural: it models two transceivers and a cable, whose insides are the manufacturer's.

use crate::lanes::lane_bytes;
use crate::{Shifter, Symbol, Word};
use des::{Duration, Time};
use std::collections::VecDeque;

/// Settings of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelParams {
    /// Time from the transmitter's input to the receiver's elastic buffer.
    pub latency: Duration,
    /// Lanes of the link: of four each carries two bytes in a cycle, else four.
    pub lanes: u8,
    /// Bytes by which words are late at the receiver, less than a symbol has: where the receiver locked on.
    pub shift: u8,
    /// Elastic buffer: it fills up to `fill` symbols before the first is taken, holds `depth`, and drops or
    /// repeats an idle symbol when it holds more than `fill + 1` or less than `fill`.
    pub fill: usize,
    /// Symbols that the elastic buffer holds.
    pub depth: usize,
    /// Clock correction. Without it (a wrong attribute) the buffer runs over or dry, after long.
    pub correction: bool,
    /// A mistake in the transceiver's settings or around it, on request, and a number that says where it
    /// strikes.
    pub bug: Option<(LaneBug, u64)>,
}

/// Bug of a lane (marazakis2006 s3.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneBug {
    /// An attribute of clock correction is wrong: it takes a symbol of data along with the idle one.
    CorrectsData,
    /// Now and then the lane is two symbols late, until clock correction has caught up.
    Slips,
}

/// Symbols of data between two slips: so many, and up to twice as many. Clock correction takes one symbol
/// back for each packet.
const SLIP_PERIOD: u64 = 1500;

impl Default for ChannelParams {
    /// Two transceivers with 5 m of cable: about 30 cycles of 12.8 ns (assumed; marazakis2006 has no number).
    fn default() -> ChannelParams {
        ChannelParams {
            latency: Duration::from_ns(384),
            lanes: 2,
            shift: 0,
            fill: 4,
            depth: 16,
            correction: true,
            bug: None,
        }
    }
}

/// A fault on the wire: turns bits of one symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Number of the symbol, counted from switching on.
    pub nth: u64,
    /// Bits that are turned.
    pub bits: u32,
}

/// The receiver of a lane: the elastic buffer between the clock that comes with the symbols and its own,
/// with clock correction.
#[derive(Clone, Debug)]
pub struct Elastic {
    params: ChannelParams,
    symbols: VecDeque<Symbol>,
    /// The receiver has begun to take symbols.
    running: bool,
    /// The transmitter sends idle symbols that are not reported.
    resting: bool,
    last: Symbol,
    shifter: Shifter,
    idle: Symbol,
    dropped: u64,
    repeated: u64,
    errors: u64,
    /// A symbol of data goes with the idle one that was corrected.
    takes_along: bool,
    /// Symbols of data to the next slip, slips so far, and symbols that the one under way is still late.
    to_slip: u64,
    slips: u64,
    late: u8,
}

impl Elastic {
    /// Buffer of lane `lane` of a link.
    pub fn new(params: ChannelParams, lane: u8) -> Elastic {
        assert!(params.fill + 1 < params.depth, "a lane's settings");
        let idle = Word::Idle.part(params.lanes, lane);
        let mut shifter = Shifter::new(lane_bytes(params.lanes), params.shift);
        shifter.shift(idle);
        Elastic {
            params,
            symbols: VecDeque::with_capacity(params.depth),
            running: false,
            resting: false,
            last: idle,
            shifter,
            idle,
            dropped: 0,
            repeated: 0,
            errors: 0,
            takes_along: false,
            to_slip: SLIP_PERIOD,
            slips: 0,
            late: 0,
        }
    }

    /// Idle symbols that clock correction has dropped, and repeated.
    pub fn corrections(&self) -> (u64, u64) {
        (self.dropped, self.repeated)
    }
    /// Symbols lost because the buffer was full, or made up because it was empty.
    pub fn errors(&self) -> u64 {
        self.errors
    }

    /// True if the symbols in it are idle ones.
    pub fn is_idle(&self) -> bool {
        self.symbols.iter().all(Symbol::is_idle)
    }

    /// Takes idle symbols without [`Elastic::arrive`], until that is called again: clock
    /// correction holds the buffer at its fill meanwhile. As many idle symbols have come as it holds.
    pub fn rest(&mut self) {
        debug_assert!(self.is_idle(), "only idle symbols are skipped");
        self.resting = true;
        self.running = true;
        self.symbols.clear();
    }

    /// A symbol comes from the lane.
    pub fn arrive(&mut self, symbol: Symbol) {
        if std::mem::take(&mut self.resting) {
            self.symbols.resize(self.params.fill, self.idle);
            self.last = self.idle;
        }
        if self.symbols.len() == self.params.depth {
            self.errors += 1;
            return;
        }
        self.symbols.push_back(symbol);
    }

    /// The receiver's edge; returns its output.
    pub fn receive(&mut self) -> Symbol {
        self.running |= self.symbols.len() >= self.params.fill;
        let take = self.running && !self.resting;
        let symbol = if take { self.take() } else { self.idle };
        self.shifter.shift(symbol)
    }

    /// True if the lane is late in this cycle: it gives an idle symbol.
    fn slips(&mut self, salt: u64) -> bool {
        if self.late > 0 {
            self.late -= 1;
            return true;
        }
        if self.symbols.front().is_none_or(Symbol::is_idle) {
            return false;
        }
        self.to_slip -= 1;
        if self.to_slip > 0 {
            return false;
        }
        self.slips += 1;
        self.to_slip = SLIP_PERIOD + (self.slips ^ salt).wrapping_mul(0x9E37_79B9) % SLIP_PERIOD;
        self.late = 1;
        true
    }

    fn take(&mut self) -> Symbol {
        let bug = self.params.bug;
        match bug {
            Some((LaneBug::Slips, salt)) if self.slips(salt) => return self.idle,
            Some((LaneBug::CorrectsData, _)) if self.takes_along => {
                let data = self.symbols.front().is_some_and(|symbol| !symbol.is_idle());
                if data {
                    self.symbols.pop_front();
                    self.takes_along = false;
                }
            }
            _ => {}
        }
        let (fill, correction) = (self.params.fill, self.params.correction);
        let next_is_idle = self.symbols.front().is_some_and(Symbol::is_idle);
        if correction && self.symbols.len() > fill + 1 && next_is_idle {
            self.symbols.pop_front();
            self.dropped += 1;
            self.takes_along = true;
        } else if correction && self.symbols.len() < fill && self.last.is_idle() {
            self.repeated += 1;
            self.takes_along = true;
            return self.last;
        }
        match self.symbols.pop_front() {
            Some(symbol) => self.last = symbol,
            // An empty buffer gives its last symbol again.
            None => self.errors += 1,
        }
        self.last
    }
}

/// A lane.
#[derive(Clone, Debug)]
pub struct Channel {
    latency: Duration,
    /// Symbols on the way, with the time of arrival.
    flying: VecDeque<(Time, Symbol)>,
    elastic: Elastic,
    sent: u64,
    fault: Option<Fault>,
}

impl Channel {
    /// Lane `lane` of a link.
    pub fn new(params: ChannelParams, lane: u8) -> Channel {
        let (latency, elastic) = (params.latency, Elastic::new(params, lane));
        Channel { latency, flying: VecDeque::new(), elastic, sent: 0, fault: None }
    }

    /// Plants a fault.
    pub fn inject(&mut self, fault: Fault) {
        self.fault = Some(fault);
    }
    /// Idle symbols that clock correction has dropped, and repeated.
    pub fn corrections(&self) -> (u64, u64) {
        self.elastic.corrections()
    }
    /// Symbols lost because the elastic buffer was full, or made up because it was empty.
    pub fn errors(&self) -> u64 {
        self.elastic.errors()
    }

    /// The transmitter's edge at `now`.
    pub fn send(&mut self, now: Time, mut symbol: Symbol) {
        if let Some(fault) = self.fault.filter(|fault| fault.nth == self.sent) {
            symbol.bytes ^= fault.bits;
        }
        self.sent += 1;
        self.flying.push_back((now + self.latency, symbol));
    }

    /// The receiver's edge at `now`; returns its output.
    pub fn receive(&mut self, now: Time) -> Symbol {
        while self.flying.front().is_some_and(|(time, _)| *time <= now) {
            if let Some((_, symbol)) = self.flying.pop_front() {
                self.elastic.arrive(symbol);
            }
        }
        self.elastic.receive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use des::Clock;

    /// Sends packets of 500 words with an idle one between for `cycles` over clocks `ppm` apart.
    fn run(params: ChannelParams, ppm: u64, faster: bool, cycles: u64) -> (Channel, u64) {
        const HZ: u64 = 78_125_000;
        let other = HZ + HZ / 1_000_000 * ppm;
        let (tx, rx) = if faster { (other, HZ) } else { (HZ, other) };
        let (tx, rx) = (Clock::from_hz(tx), Clock::from_hz(rx));
        let mut channel = Channel::new(params, 0);
        let (mut sent, mut received, mut expected, mut wrong) = (0, 0, 0, 0);
        while sent < cycles {
            if tx.edge(sent) <= rx.edge(received) {
                let idle = sent < 100 || sent % 501 == 0;
                let number = (sent - sent / 501) as u32;
                let symbol = Symbol { bytes: number, control: 0 };
                channel.send(tx.edge(sent), if idle { Word::Idle.half(0) } else { symbol });
                sent += 1;
                continue;
            }
            let symbol = channel.receive(rx.edge(received));
            received += 1;
            if symbol.is_idle() {
                continue;
            }
            wrong += u64::from(expected != 0 && symbol.bytes != expected);
            expected = symbol.bytes + 1;
        }
        (channel, wrong)
    }

    #[test]
    fn correction_holds_a_drift_of_200_ppm_for_ever() {
        for faster in [true, false] {
            let (channel, wrong) = run(ChannelParams::default(), 200, faster, 1_000_000);
            assert_eq!((channel.errors(), wrong), (0, 0));
            let (dropped, repeated) = channel.corrections();
            let used = if faster { dropped } else { repeated };
            assert!((150..260).contains(&used), "{dropped} dropped, {repeated} repeated");
        }
    }

    #[test]
    fn without_correction_data_are_lost_or_doubled() {
        let params = ChannelParams { correction: false, ..ChannelParams::default() };
        for faster in [true, false] {
            let (channel, wrong) = run(params, 200, faster, 1_000_000);
            assert!(channel.errors() > 100 && wrong > 100, "{} {wrong}", channel.errors());
        }
    }

    #[test]
    fn a_lane_that_has_rested_goes_on_as_if_idle_symbols_had_come() {
        let params = ChannelParams { shift: 3, ..ChannelParams::default() };
        for rested in [0, 1, 1000] {
            let mut elastic = Elastic::new(params, 1);
            let idle = Word::Idle.half(1);
            let data = |n: u32| Symbol { bytes: n, control: 0 };
            let mut seen = Vec::new();
            let mut edge = |elastic: &mut Elastic, symbol: Option<Symbol>| {
                symbol.into_iter().for_each(|symbol| elastic.arrive(symbol));
                seen.push(elastic.receive());
            };
            (0..40).for_each(|_| edge(&mut elastic, Some(idle)));
            elastic.rest();
            (0..rested).for_each(|_| edge(&mut elastic, None));
            (1..20).for_each(|n| edge(&mut elastic, Some(data(n))));
            (0..40).for_each(|_| edge(&mut elastic, Some(idle)));
            // Aligned, what comes is each number once, in order.
            let mut aligner = crate::Aligner::new(4);
            let mut numbers = Vec::new();
            for symbol in seen {
                aligner.clock(symbol);
                numbers.extend(aligner.output().filter(|out| out.control == 0));
            }
            assert_eq!(numbers, (1..20).map(data).collect::<Vec<_>>(), "{rested}");
            assert_eq!(elastic.errors(), 0);
        }
    }
}
