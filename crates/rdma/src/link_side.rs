//! The transceiver module: the NIC's half in the clock of the lanes.

use crate::credit::{CreditReceiver, CreditSender};
use crate::nic::Crossing;
use crate::packet::{Header, Parser};
use crate::params::Params;
use abi::forth::PACKET_OVERHEAD;
use serial::{crc32, LinkRx, LinkTx, Symbols, Word};

/// What the lanes' half has counted.
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

/// Next word of the packet that is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sending {
    Nothing,
    First(Header),
    Second(Header),
    Payload(u16),
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
    /// What was sent in the last cycle, for loop-back.
    looped: Option<Word>,
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
        }
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
    pub fn clock(&mut self, symbols: Symbols, crossing: &mut Crossing) -> Symbols {
        let loop_back = crossing.levels_seen.seen().loop_back;
        let arrived = if loop_back { self.looped } else { self.rx.word() };
        let lost = self.rx.errors();
        self.rx.clock(symbols);
        let lost = self.rx.errors() > lost;
        let word = if self.tx.ready() { self.choose(crossing) } else { None };
        self.take_freed(crossing);
        self.receive(arrived, lost, crossing);
        self.take_limit(crossing);
        let idle = word.unwrap_or(Word::Idle);
        self.looped = word.filter(|word| *word != Word::Idle);
        self.tx.clock(if loop_back { Word::Idle } else { idle })
    }

    fn take_limit(&mut self, crossing: &mut Crossing) {
        let limit = crossing.limits.front();
        if let Some((flow, words)) = limit {
            self.credits.set_limit(flow, words);
        }
        crossing.limits.read_edge(limit.is_some());
    }

    /// What the DMA engine has taken out of the receiving FIFO.
    fn take_freed(&mut self, crossing: &mut Crossing) {
        let freed = crossing.freed.front().filter(|(flow, _)| self.freed.takes(*flow));
        if let Some((flow, words)) = freed {
            self.freed.free(flow, words);
        }
        crossing.freed.read_edge(freed.is_some());
    }

    fn receive(&mut self, arrived: Option<Word>, lost: bool, crossing: &mut Crossing) {
        let mut word = arrived;
        if let Some(Word::Credit(credit)) = arrived {
            self.credits.receive(credit);
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
            self.edges(crossing, false, false);
            return Some(Word::Credit(credit));
        }
        let (word, message, data) = self.packet_word(head.filter(|_| starts), crossing);
        self.edges(crossing, message, data);
        word
    }

    fn edges(&mut self, crossing: &mut Crossing, message: bool, data: bool) {
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
                self.sending = Sending::Payload(head.words);
                self.crc = 0;
                (Some(Word::Data(head.emit()[1])), true, false)
            }
            Sending::Payload(left) => {
                let data =
                    c.tx_data.front().expect("a message is announced when all of it is there");
                self.crc = crc32(self.crc, data);
                self.counters.sent_words += 1;
                self.sending =
                    if left == 1 { Sending::Trailer } else { Sending::Payload(left - 1) };
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
