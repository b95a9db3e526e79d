//! The transceiver module: the NIC's half in the clock of the lanes.

use crate::aids::{Aids, Sample, Seen};
use crate::credit::{CreditReceiver, CreditSender};
use crate::nic::Crossing;
use crate::packet::{Entry, Header, Parser};
use crate::params::{Bug, Params};
use abi::forth::register::{Credits, Lanes, States};
use abi::forth::{trace_point, PACKET_OVERHEAD};
use serial::{crc32, Credit, LinkRx, LinkTx, Symbols, Word};

/// Counters of the lanes' half.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkCounters {
    /// Payload words sent.
    pub sent_words: u64,
    /// Cycles in which a message waited for credits.
    pub back_pressure: u64,
    /// Headers with a wrong CRC.
    pub header_errors: u64,
    /// Payloads with a wrong CRC, or cut off.
    pub payload_errors: u64,
    /// Credits with wrong parity.
    pub credit_errors: u64,
    /// Halves of words that did not belong together.
    pub bond_errors: u64,
    /// Entries that found the receiving FIFO full.
    pub overflows: u64,
}

impl LinkCounters {
    /// These and those of before.
    pub fn plus(&self, before: &LinkCounters) -> LinkCounters {
        LinkCounters {
            sent_words: self.sent_words + before.sent_words,
            back_pressure: self.back_pressure + before.back_pressure,
            header_errors: self.header_errors + before.header_errors,
            payload_errors: self.payload_errors + before.payload_errors,
            credit_errors: self.credit_errors + before.credit_errors,
            bond_errors: self.bond_errors + before.bond_errors,
            overflows: self.overflows + before.overflows,
        }
    }
}

/// Counts of events, for debugging.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Events {
    pub credits_in: u64,
    pub credits_out: u64,
    /// Most entries in the receive FIFO.
    pub level_max: u64,
    /// Words of payload that came into it.
    pub words_in: u64,
}

/// Next word of the packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    Nothing,
    First(Header),
    Second(Header),
    Payload(u8, u16),
    Trailer,
    /// An idle word after each packet, for alignment and clock correction.
    Gap,
}

/// The half.
#[derive(Clone, Debug)]
pub(crate) struct LinkSide {
    params: Params,
    tx: LinkTx,
    rx: LinkRx,
    sending: Sending,
    crc: u32,
    parser: Parser,
    credits: CreditSender,
    freed: CreditReceiver,
    counters: LinkCounters,
    /// Word sent in the last cycle, for loop-back.
    looped: Option<Word>,
    events: Events,
    /// Word that has left the sending FIFO with this edge.
    taken: Option<Seen>,
    /// Packets sent, and credits received: where mistakes strike.
    packets: u64,
    credits_seen: u64,
}

impl LinkSide {
    pub fn new(params: Params) -> LinkSide {
        let (near, far) = (params.rx_words, params.peer_words);
        let (near, far) = (Params::counter_bits(near), Params::counter_bits(far));
        LinkSide {
            params,
            tx: LinkTx::new(params.lanes),
            rx: LinkRx::new(params.lanes),
            sending: Sending::Nothing,
            crc: 0,
            parser: Parser::default(),
            credits: CreditSender::new(far),
            freed: CreditReceiver::new(near, params.credit_words),
            counters: LinkCounters::default(),
            looped: None,
            events: Events::default(),
            taken: None,
            packets: 0,
            credits_seen: 0,
        }
        .with_bugs()
    }

    /// Sets the bugs that are there from the beginning.
    fn with_bugs(mut self) -> LinkSide {
        if self.params.has(Bug::EmptyFifo) && self.params.lanes > 1 {
            self.rx.set_bug();
        }
        if self.params.has(Bug::NoWrapBits) {
            self.credits.forget_wrapping();
        }
        if self.params.has(Bug::RoundTripShort) {
            self.credits.trust(self.params.peer_words);
        }
        self
    }

    pub fn counters(&self) -> LinkCounters {
        LinkCounters {
            header_errors: self.parser.header_errors(),
            payload_errors: self.parser.payload_errors(),
            credit_errors: self.credits.errors(),
            bond_errors: self.rx.errors(),
            ..self.counters
        }
    }
    /// The word that came with the last edge.
    pub fn word(&self) -> Option<Word> {
        self.rx.word()
    }
    pub fn outstanding(&self, flow: u8) -> u16 {
        self.credits.outstanding(flow)
    }

    /// The edge: symbols at the transceivers in, symbols for them out.
    pub fn clock(&mut self, symbols: Symbols, crossing: &mut Crossing, aids: &mut Aids) -> Symbols {
        let loop_back = crossing.levels_seen.seen().loop_back;
        let arrived = if loop_back { self.looped } else { self.rx.word() };
        let lost = self.rx.errors();
        self.rx.clock(symbols);
        let lost = self.rx.errors() > lost;
        let word = if self.tx.ready() { self.choose(crossing) } else { None };
        self.take_freed(crossing);
        let entry = self.receive(arrived, lost, crossing);
        self.look_on(entry, crossing, aids);
        self.take_limit(crossing);
        let idle = word.unwrap_or(Word::Idle);
        self.looped = word.filter(|word| *word != Word::Idle);
        self.tx.clock(if loop_back { Word::Idle } else { idle })
    }

    /// Tracing and sampling.
    fn look_on(&mut self, entry: Option<Entry>, c: &Crossing, aids: &mut Aids) {
        let levels = c.levels_seen.seen();
        let taken = self.taken.take();
        self.events.words_in += u64::from(matches!(entry, Some(Entry::Data(_))));
        self.events.level_max = self.events.level_max.max(c.rx.held() as u64);
        if levels.aids.trace.on() != 0 {
            let entered = (trace_point::RECEIVE_IN, entry.map(Seen::from));
            let seen = [(trace_point::SEND_OUT, taken), entered];
            aids.trace(&levels.aids, levels.frozen, seen);
        }
        aids.sampler.edge(&levels.aids, || Sample {
            sent: self.counters.sent_words,
            received: self.events.words_in,
            pressure: self.counters.back_pressure,
        });
    }

    pub fn events(&self) -> &Events {
        &self.events
    }
    /// Its part of STATES.
    pub fn states(&self) -> States {
        let sending = match self.sending {
            Sending::Nothing => 0,
            Sending::First(_) => 1,
            Sending::Second(_) => 2,
            Sending::Payload(..) => 3,
            Sending::Trailer => 4,
            Sending::Gap => 5,
        };
        States(0).with_send(sending).with_parse(self.parser.number())
    }
    /// LANES of a lane.
    pub fn lane_status(&self, lane: usize, aids: &Aids) -> Lanes {
        let (shift, level) = self.rx.status(lane);
        let transceiver = &aids.transceivers[lane];
        let byte = |count: u64| count.min(255) as u8;
        Lanes(0)
            .with_comma(shift.is_some())
            .with_shift(shift.unwrap_or(0))
            .with_sync_level(level as u8)
            .with_buffer_errors(byte(transceiver.buffer_errors))
            .with_corrections(byte(transceiver.corrections))
    }
    /// CREDITS of a flow.
    pub fn credit_counts(&self, flow: u8) -> Credits {
        let (sent, credited, limit) = self.credits.counts(flow);
        let freed = self.freed.count(flow);
        Credits(0).with_sent(sent).with_credited(credited).with_limit(limit).with_freed(freed)
    }

    fn take_limit(&mut self, crossing: &mut Crossing) {
        let limit = crossing.limits.front();
        if let Some((flow, words)) = limit {
            if self.params.has(Bug::FirstCredit) {
                self.credits.set_wrong_limit(flow, 2 * words);
            } else {
                self.credits.set_limit(flow, words);
            }
        }
        crossing.limits.read_edge(limit.is_some());
    }

    /// Takes over the words that the DMA engine has taken out of the receiving FIFO.
    fn take_freed(&mut self, crossing: &mut Crossing) {
        let freed = crossing.freed.front().filter(|(flow, _)| self.freed.takes(*flow));
        if let Some((flow, words)) = freed {
            self.freed.free(flow, words);
        }
        crossing.freed.read_edge(freed.is_some());
    }

    /// Gives what has come into the receive FIFO.
    fn receive(
        &mut self,
        arrived: Option<Word>,
        lost: bool,
        crossing: &mut Crossing,
    ) -> Option<Entry> {
        let mut word = arrived;
        if let Some(Word::Credit(credit)) = arrived {
            self.credits.receive(self.flipped(credit));
            self.credits_seen += 1;
            self.events.credits_in += 1;
            word = None;
        }
        let errors = self.parser.header_errors() + self.parser.payload_errors();
        let entry = self.parser.clock(word);
        if !crossing.rx.write_edge(entry) {
            self.counters.overflows += 1;
        }
        let after = self.parser.header_errors() + self.parser.payload_errors();
        let levels = crossing.levels_seen.seen();
        crossing.stop &= !levels.frozen;
        crossing.stop |= levels.freeze && (lost || after > errors);
        entry
    }

    /// A credit as it comes through the card's other modules.
    fn flipped(&self, credit: Credit) -> Credit {
        let strikes = (self.credits_seen + self.params.salt()) % 5 == 4;
        if strikes && self.params.has(Bug::CreditFlip) {
            return Credit { count: credit.count ^ 1 << (self.credits_seen % 8), ..credit };
        }
        if strikes && self.params.has(Bug::CreditFlipUnseen) {
            return Credit::new(credit.flow, credit.count & !0x40);
        }
        credit
    }

    /// The word to send: a credit that is due, or the next of a packet.
    fn choose(&mut self, crossing: &mut Crossing) -> Option<Word> {
        let frozen = crossing.levels_seen.seen().frozen;
        let head = crossing.tx_messages.front().filter(|_| !frozen);
        let starts = self.sending == Sending::Nothing && head.is_some_and(|head| self.may(head));
        let idle = self.sending == Sending::Gap || self.sending == Sending::Nothing && !starts;
        let waiting = crossing.freed.front().is_some_and(|(flow, _)| !self.freed.takes(flow));
        let credit = self.freed.due(idle, waiting);
        let waits = self.sending == Sending::Nothing && head.is_some() && !starts;
        self.counters.back_pressure += u64::from(waits);
        // A gap stays one: it must be an idle word.
        if let Some(credit) = credit.filter(|_| self.sending != Sending::Gap) {
            self.freed.sent();
            self.events.credits_out += 1;
            self.edges(crossing, false, false);
            return Some(Word::Credit(credit));
        }
        let (word, message, data) = self.packet_word(head.filter(|_| starts), crossing);
        self.edges(crossing, message, data);
        word
    }

    fn edges(&mut self, crossing: &mut Crossing, message: bool, data: bool) {
        let header = crossing.tx_messages.front().filter(|_| message).map(Seen::Header);
        self.taken = header.or(crossing.tx_data.front().filter(|_| data).map(Seen::Data));
        crossing.tx_messages.read_edge(message);
        crossing.tx_data.read_edge(data);
    }

    /// True if the receiver has space for the message, as far as the estimate goes.
    fn may(&self, head: Header) -> bool {
        self.credits.allows(head.flow, self.params.needed(head.words))
    }

    /// The packet's next word, and what it takes out of the FIFOs.
    fn packet_word(&mut self, head: Option<Header>, c: &Crossing) -> (Option<Word>, bool, bool) {
        match self.sending {
            Sending::Nothing => {
                let Some(head) = head else { return (None, false, false) };
                self.credits.send(head.flow, head.words + PACKET_OVERHEAD as u16);
                self.sending = Sending::First(head);
                (Some(Word::Start), false, false)
            }
            Sending::First(head) => {
                self.sending = Sending::Second(head);
                (Some(Word::Data(head.emit()[0])), false, false)
            }
            Sending::Second(head) => {
                self.sending = Sending::Payload(head.flow, head.words);
                self.crc = 0;
                self.packets += 1;
                let struck = (self.packets + self.params.salt()) % 16 == 7;
                let wrong = struck && self.params.has(Bug::HeaderCrc);
                let word = head.emit()[1] ^ u64::from(wrong) << 48;
                (Some(Word::Data(word)), true, false)
            }
            Sending::Payload(flow, left) => {
                let mut data =
                    c.tx_data.front().expect("a message is announced when all of it is there");
                if left == 1 && c.levels_seen.seen().credits_in_payload {
                    data = self.credit_counts(flow).0;
                }
                self.crc = crc32(self.crc, data);
                self.counters.sent_words += 1;
                self.sending =
                    if left == 1 { Sending::Trailer } else { Sending::Payload(flow, left - 1) };
                (Some(Word::Data(data)), false, true)
            }
            Sending::Trailer => {
                self.sending = Sending::Gap;
                (Some(Word::Data(u64::from(self.crc))), false, false)
            }
            Sending::Gap => {
                self.sending = Sending::Nothing;
                (None, false, false)
            }
        }
    }

    /// The FIFOs' edges of a cycle in which the lane is busy with the second half of a word.
    pub fn busy_edges(&mut self, crossing: &mut Crossing) {
        self.edges(crossing, false, false);
    }
    pub fn is_ready(&self) -> bool {
        self.tx.ready()
    }
    /// No word stands anywhere between the transceivers and the FIFOs.
    pub fn is_empty(&self) -> bool {
        let parsed = !self.parser.makes_up();
        parsed && self.tx.ready() && self.rx.is_empty() && self.looped.is_none()
    }
    pub fn is_quiet(&self) -> bool {
        matches!(self.sending, Sending::Nothing) && self.freed.due(true, false).is_none()
    }
}
