//! The untimed specification: bytes at an address, in order per flow, notifications counted. Shares nothing
//! with the model, so that it can judge the model and the RTL.

use std::collections::{HashMap, VecDeque};

/// A remote write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemoteWrite {
    /// Physical address at the receiver.
    pub addr: u32,
    /// Contents of its source when it was posted; the program leaves them so until it is sent.
    pub data: Vec<u64>,
    /// Local notification wanted.
    pub notify: bool,
    /// Interrupt wanted.
    pub interrupt: bool,
}

/// Something that the specification does not allow.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum Violation {
    /// Nobody has sent the message.
    #[error("a message from {from}, flow {flow} that was never posted")]
    Unposted { from: u8, flow: u8 },
    /// The message is not the next one of its flow.
    #[error(
        "{words} words at {addr:#x} from {from}, flow {flow}, where {} at {:#x} are next",
        .next.words, .next.addr
    )]
    Order { from: u8, flow: u8, words: u16, addr: u32, next: Extent },
    /// A word has come as another.
    #[error("{got:#x} at {at:#x} from {from}, flow {flow}, word {place}: {sent:#x} was sent")]
    Word { from: u8, flow: u8, place: usize, at: u64, got: u64, sent: u64 },
    /// A host sees too few or too many notifications.
    #[error("{host} is notified of {count}, after {told}, with {posted} posted")]
    Notified { host: u8, count: u64, told: u64, posted: u64 },
    /// Messages of a flow have not come.
    #[error("{messages} messages from {from}, flow {flow}, never came")]
    Lost { from: u8, flow: u8, messages: usize },
    /// A host has not seen all of its notifications.
    #[error("{host} was not notified: ({posted}, {told})")]
    Unnotified { host: u8, posted: u64, told: u64 },
}

/// Memory that a message is written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Physical address.
    pub addr: u32,
    /// Number of words.
    pub words: usize,
}

/// Everything that was posted and has not arrived.
#[derive(Clone, Debug, Default)]
pub struct Spec {
    /// By source and flow.
    waiting: HashMap<(u8, u8), VecDeque<RemoteWrite>>,
    /// By source: notifications asked for, and told.
    notifications: HashMap<u8, (u64, u64)>,
    arrived: u64,
}

impl Spec {
    /// Nothing posted.
    pub fn new() -> Spec {
        Spec::default()
    }

    /// A host posts a message.
    pub fn post(&mut self, source: u8, flow: u8, message: RemoteWrite) {
        self.notifications.entry(source).or_default().0 += u64::from(message.notify);
        self.waiting.entry((source, flow)).or_default().push_back(message);
    }

    /// The card of a host begins anew: what it was to send and to notify of is lost.
    pub fn forget(&mut self, source: u8) {
        self.waiting.retain(|(from, _), _| *from != source);
        self.notifications.remove(&source);
    }

    /// A packet has been written to its receiver's memory, of which `read` gives the word at an address. A
    /// message of another flow may have written there since: it need not have arrived whole.
    pub fn arrive(
        &mut self,
        from: u8,
        flow: u8,
        addr: u32,
        words: u16,
        read: impl Fn(u64) -> u64,
    ) -> Result<RemoteWrite, Violation> {
        let waiting = self.waiting.get_mut(&(from, flow));
        let message = waiting.and_then(VecDeque::pop_front);
        let message = message.ok_or(Violation::Unposted { from, flow })?;
        if (message.addr, message.data.len()) != (addr, usize::from(words)) {
            let next = Extent { addr: message.addr, words: message.data.len() };
            return Err(Violation::Order { from, flow, words, addr, next });
        }
        for (place, sent) in message.data.iter().enumerate() {
            let at = u64::from(addr) + 8 * place as u64;
            let got = read(at);
            if got != *sent && !self.writes(at, got) {
                return Err(Violation::Word { from, flow, place, at, got, sent: *sent });
            }
        }
        self.arrived += 1;
        Ok(message)
    }

    /// A message that is under way writes this word there.
    fn writes(&self, at: u64, word: u64) -> bool {
        self.waiting.values().flatten().any(|message| {
            let place = at.checked_sub(message.addr.into()).map(|offset| offset as usize / 8);
            place.and_then(|place| message.data.get(place)) == Some(&word)
        })
    }

    /// A host sees the count of its local notifications.
    pub fn notified(&mut self, source: u8, count: u64) -> Result<(), Violation> {
        let (posted, told) = self.notifications.entry(source).or_default();
        if count < *told || count > *posted {
            let (told, posted) = (*told, *posted);
            return Err(Violation::Notified { host: source, count, told, posted });
        }
        *told = count;
        Ok(())
    }

    /// Messages that have arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Nothing moves any more: everything must have arrived.
    pub fn all_arrived(&self) -> Result<(), Violation> {
        let lost = self.waiting.iter().find(|(_, messages)| !messages.is_empty());
        if let Some((&(from, flow), messages)) = lost {
            return Err(Violation::Lost { from, flow, messages: messages.len() });
        }
        Ok(())
    }

    /// The same, and every notification must have been told.
    pub fn at_rest(&self) -> Result<(), Violation> {
        self.all_arrived()?;
        let untold = self.notifications.iter().find(|(_, (posted, told))| posted != told);
        untold.map_or(Ok(()), |(&host, &(posted, told))| {
            Err(Violation::Unnotified { host, posted, told })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Extent, RemoteWrite, Spec, Violation};

    #[test]
    fn each_violation_is_a_sentence() {
        let (from, flow) = (2, 7);
        let next = Extent { addr: 0x100, words: 3 };
        let cases = [
            (Violation::Unposted { from, flow }, "a message from 2, flow 7 that was never posted"),
            (
                Violation::Order { from, flow, words: 2, addr: 0x108, next },
                "2 words at 0x108 from 2, flow 7, where 3 at 0x100 are next",
            ),
            (
                Violation::Word { from, flow, place: 1, at: 0x108, got: 9, sent: 8 },
                "0x9 at 0x108 from 2, flow 7, word 1: 0x8 was sent",
            ),
            (
                Violation::Notified { host: 1, count: 5, told: 2, posted: 4 },
                "1 is notified of 5, after 2, with 4 posted",
            ),
            (Violation::Lost { from, flow, messages: 4 }, "4 messages from 2, flow 7, never came"),
            (Violation::Unnotified { host: 1, posted: 4, told: 2 }, "1 was not notified: (4, 2)"),
        ];
        for (violation, sentence) in cases {
            assert_eq!(violation.to_string(), sentence);
        }
    }

    #[test]
    fn a_later_message_may_have_written_there_but_nothing_else() {
        let message = |addr, data: &[u64]| RemoteWrite {
            addr,
            data: data.into(),
            notify: false,
            interrupt: false,
        };
        let both = || {
            let mut spec = Spec::new();
            spec.post(0, 1, message(0x100, &[1, 2, 3]));
            spec.post(0, 77, message(0x108, &[7, 8]));
            spec
        };
        let memory = |words: [u64; 3]| move |at: u64| words[(at - 0x100) as usize / 8];
        assert!(both().arrive(0, 1, 0x100, 3, memory([1, 7, 3])).is_ok());
        assert!(both().arrive(0, 1, 0x100, 3, memory([1, 8, 3])).is_err());
        assert!(both().arrive(0, 1, 0x100, 3, memory([7, 2, 3])).is_err());
        let mut spec = both();
        spec.arrive(0, 77, 0x108, 2, memory([0, 7, 8])).unwrap();
        assert!(spec.arrive(0, 1, 0x100, 3, memory([1, 7, 3])).is_err(), "it came before");
    }
}
