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
        (source, flow): (u8, u8),
        addr: u32,
        words: u16,
        read: impl Fn(u64) -> u64,
    ) -> Result<RemoteWrite, String> {
        let who = format!("from {source}, flow {flow}");
        let waiting = self.waiting.get_mut(&(source, flow));
        let message = waiting.and_then(VecDeque::pop_front);
        let message = message.ok_or(format!("a message {who} that was never posted"))?;
        if (message.addr, message.data.len()) != (addr, usize::from(words)) {
            let (right, len) = (message.addr, message.data.len());
            return Err(format!(
                "{words} words at {addr:#x} {who}, where {len} at {right:#x} are next"
            ));
        }
        for (place, right) in message.data.iter().enumerate() {
            let at = u64::from(addr) + 8 * place as u64;
            let got = read(at);
            if got != *right && !self.writes(at, got) {
                return Err(format!(
                    "{got:#x} at {at:#x} {who}, word {place}: {right:#x} was sent"
                ));
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
    pub fn notified(&mut self, source: u8, count: u64) -> Result<(), String> {
        let (posted, told) = self.notifications.entry(source).or_default();
        if count < *told || count > *posted {
            return Err(format!(
                "{source} is notified of {count}, after {told}, with {posted} posted"
            ));
        }
        *told = count;
        Ok(())
    }

    /// Messages that have arrived.
    pub fn arrived(&self) -> u64 {
        self.arrived
    }

    /// Nothing moves any more: everything must have arrived.
    pub fn all_arrived(&self) -> Result<(), String> {
        let lost = self.waiting.iter().find(|(_, messages)| !messages.is_empty());
        if let Some(((source, flow), messages)) = lost {
            return Err(format!(
                "{} messages from {source}, flow {flow}, never came",
                messages.len()
            ));
        }
        Ok(())
    }

    /// The same, and every notification must have been told.
    pub fn at_rest(&self) -> Result<(), String> {
        self.all_arrived()?;
        let untold = self.notifications.iter().find(|(_, (posted, told))| posted != told);
        untold.map_or(Ok(()), |(source, counts)| {
            Err(format!("{source} was not notified: {counts:?}"))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{RemoteWrite, Spec};

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
        assert!(both().arrive((0, 1), 0x100, 3, memory([1, 7, 3])).is_ok());
        assert!(both().arrive((0, 1), 0x100, 3, memory([1, 8, 3])).is_err());
        assert!(both().arrive((0, 1), 0x100, 3, memory([7, 2, 3])).is_err());
        let mut spec = both();
        spec.arrive((0, 77), 0x108, 2, memory([0, 7, 8])).unwrap();
        assert!(spec.arrive((0, 1), 0x100, 3, memory([1, 7, 3])).is_err(), "it came before");
    }
}
