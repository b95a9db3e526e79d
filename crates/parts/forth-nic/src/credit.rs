//! Credit-based flow control (marazakis2006 s3.5), cycle by cycle as `rtl/rdma/rdma_credit.sv`.
//!
//! For each flow the sender counts the words that it has sent, and keeps the count of words that have left
//! the receiver's buffer, as the last credit told it. Counts are cumulative and wrap; a counter has two
//! bits more than the buffer needs, so that differences stay unambiguous.

use abi::forth::FLOWS;
use serial::Credit;

/// The sender's side of all flows.
#[derive(Clone, Debug)]
pub struct CreditSender {
    mask: u16,
    flows: Vec<Flow>,
    errors: u64,
    /// Counts are compared as if they never wrapped (a bug, on request).
    wrapless: bool,
    /// Words that are taken to be freed while a packet travels (a bug, on request).
    trusted: u16,
}

/// The counters of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Flow {
    sent: u16,
    credited: u16,
    /// Words of buffer at the other end.
    limit: u16,
}

impl CreditSender {
    /// Counters of `bits`; no flow may send before it has a limit.
    pub fn new(bits: u32) -> CreditSender {
        assert!((3..16).contains(&bits), "counters of 3 to 15 bits");
        CreditSender {
            mask: (1 << bits) - 1,
            flows: vec![Flow::default(); FLOWS as usize],
            errors: 0,
            wrapless: false,
            trusted: 0,
        }
    }
    /// Plants the bug of marazakis2006 s3.5: comparators that do not know of wrapping.
    pub fn forget_wrapping(&mut self) {
        self.wrapless = true;
    }
    /// Plants the bug of marazakis2006 s4.3: an estimate that trusts the receiver to free words in time.
    pub fn trust(&mut self, words: u16) {
        self.trusted = words;
    }
    /// Tells a flow of more buffer than there is: the bug of a wrong first credit.
    pub fn set_wrong_limit(&mut self, flow: u8, words: u16) {
        self.flows[usize::from(flow)] = Flow { sent: 0, credited: 0, limit: words };
    }
    /// Tells the words of buffer that are the flow's at the other end, at start-up: its counters begin at
    /// zero.
    pub fn set_limit(&mut self, flow: u8, words: u16) {
        assert!(
            words <= (self.mask >> 2) + 1,
            "counters of {:#x} hold no buffer of {words}",
            self.mask
        );
        self.flows[usize::from(flow)] = Flow { sent: 0, credited: 0, limit: words };
    }
    /// Words under way or in the buffer, as far as is known.
    pub fn outstanding(&self, flow: u8) -> u16 {
        let flow = &self.flows[usize::from(flow)];
        if self.wrapless {
            return flow.sent.saturating_sub(flow.credited);
        }
        flow.sent.wrapping_sub(flow.credited) & self.mask
    }
    /// Words sent and credited, and the limit, of a flow.
    pub fn counts(&self, flow: u8) -> (u16, u16, u16) {
        let flow = &self.flows[usize::from(flow)];
        (flow.sent, flow.credited, flow.limit)
    }
    /// True if the buffer has space for `words` more.
    pub fn allows(&self, flow: u8, words: u16) -> bool {
        self.outstanding(flow) + words <= self.flows[usize::from(flow)].limit + self.trusted
    }
    /// Counts what is sent.
    pub fn send(&mut self, flow: u8, words: u16) {
        let flow = &mut self.flows[usize::from(flow)];
        flow.sent = flow.sent.wrapping_add(words) & self.mask;
    }
    /// Takes a credit; one whose parity is wrong is discarded.
    pub fn receive(&mut self, credit: Credit) {
        if !credit.is_whole() {
            self.errors += 1;
            return;
        }
        self.flows[usize::from(credit.flow)].credited = credit.count & self.mask;
    }
    /// Credits that were discarded.
    pub fn errors(&self) -> u64 {
        self.errors
    }
}

/// The receiver's side: counts what has left the buffer, and says when a credit is due.
#[derive(Clone, Debug)]
pub struct CreditReceiver {
    mask: u16,
    freed: Vec<u16>,
    /// The flow to be told of, and the words since it was told.
    pending: Option<(u8, u16)>,
    urgent_words: u16,
}

impl CreditReceiver {
    /// Counters of `bits`; from `urgent_words` on a credit goes before packets.
    pub fn new(bits: u32, urgent_words: u16) -> CreditReceiver {
        let freed = vec![0; FLOWS as usize];
        CreditReceiver { mask: (1 << bits) - 1, freed, pending: None, urgent_words }
    }
    /// True if `free` can be called for the flow: a credit tells of one.
    pub fn takes(&self, flow: u8) -> bool {
        self.pending.is_none_or(|(pending, _)| pending == flow)
    }
    /// Words of a flow that have left the buffer.
    pub fn count(&self, flow: u8) -> u16 {
        self.freed[usize::from(flow)]
    }
    /// Counts words that have left the buffer.
    pub fn free(&mut self, flow: u8, words: u16) {
        assert!(self.takes(flow), "the flow before is told of first");
        let count = &mut self.freed[usize::from(flow)];
        *count = count.wrapping_add(words) & self.mask;
        let before = self.pending.map_or(0, |(_, words)| words);
        self.pending = Some((flow, before.saturating_add(words)));
    }
    /// A credit to send: at once if the link is idle, or else once enough words were freed, or another flow
    /// waits.
    pub fn due(&self, idle: bool, waiting: bool) -> Option<Credit> {
        let (flow, words) = self.pending?;
        let due = idle || waiting || words >= self.urgent_words;
        due.then(|| Credit::new(flow, self.freed[usize::from(flow)]))
    }
    /// The credit that was due is sent.
    pub fn sent(&mut self) {
        self.pending = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_wrap_and_nothing_is_lost() {
        let (mut sender, mut receiver) = (CreditSender::new(6), CreditReceiver::new(6, 1));
        sender.set_limit(5, 15);
        let mut inside = 0;
        for turn in 0..1000_u16 {
            let words = 1 + turn * 7 % 9;
            if sender.allows(5, words) {
                sender.send(5, words);
                inside += words;
                assert!(inside <= 15);
            }
            assert_eq!(sender.outstanding(5), inside);
            let out = inside.min(1 + turn % 5);
            inside -= out;
            receiver.free(5, out);
            sender.receive(receiver.due(true, false).expect("idle"));
            receiver.sent();
        }
        assert!(!sender.allows(4, 1), "a flow without a limit sends nothing");
    }

    #[test]
    fn a_spoilt_credit_is_discarded_and_the_next_tells_all() {
        let mut sender = CreditSender::new(6);
        sender.set_limit(0, 8);
        sender.send(0, 8);
        let good = Credit::new(0, 3);
        sender.receive(Credit { count: 2, ..good });
        assert_eq!((sender.outstanding(0), sender.errors()), (8, 1));
        sender.receive(Credit::new(0, 6));
        assert_eq!(sender.outstanding(0), 2);
    }
}
