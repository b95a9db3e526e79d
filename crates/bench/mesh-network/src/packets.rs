//! Messages cut into packets, and packets put together to messages.

use abi::packet::{flag, Packet, PAYLOAD_BYTES};
use abi::MessageId;
use std::collections::BTreeMap;

/// A message that has come.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Node that sent it.
    pub source: u32,
    /// Its id, which goes beside its packets.
    pub id: MessageId,
    /// All of its bytes.
    pub bytes: Vec<u8>,
}

/// News for the network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    /// All of the message that leaves is in the network: the next can be sent.
    Left,
    /// A message of one packet has come.
    Came(Message),
    /// The first packet of a longer one has come, with these bytes.
    Began(Message),
    /// All of that has come.
    Ended(Message),
}

/// A message that leaves: a packet after another.
#[derive(Debug)]
pub(crate) struct Leaving {
    dest: u16,
    source: u16,
    /// Its number among those of its source.
    number: u16,
    id: MessageId,
    bytes: Vec<u8>,
    /// Bytes that are cut off.
    cut: usize,
}

impl Leaving {
    pub fn new(ends: [u16; 2], number: u16, id: MessageId, bytes: Vec<u8>) -> Leaving {
        let [source, dest] = ends;
        Leaving { dest, source, number, id, bytes, cut: 0 }
    }

    /// Payload bytes of the next packet.
    pub fn size(&self) -> usize {
        (self.bytes.len() - self.cut).min(PAYLOAD_BYTES)
    }

    /// Cuts off the next packet. An empty message is one packet without payload.
    pub fn next(&mut self) -> Packet {
        let size = self.size();
        let mut payload = [0; PAYLOAD_BYTES];
        payload[..size].copy_from_slice(&self.bytes[self.cut..][..size]);
        let mut flags = if self.cut == 0 { flag::FIRST } else { 0 };
        self.cut += size;
        let mut crc = 0;
        if self.cut == self.bytes.len() {
            flags |= flag::LAST;
            crc = crc32fast::hash(&self.bytes);
        }
        let Leaving { dest, source, number, id, .. } = *self;
        Packet { dest, source, flags, size: size as u8, message: number, id, crc, payload }
    }
}

/// A message of which not all packets are here.
#[derive(Debug)]
struct Partial {
    number: u16,
    bytes: Vec<u8>,
}

/// Messages that come, one of each source at a time: routes are fixed, and a source sends one after another.
#[derive(Debug, Default)]
pub(crate) struct Assembly {
    partial: BTreeMap<u16, Partial>,
}

impl Assembly {
    /// Takes a packet. Tells of its message, if it is the first or the last of it.
    ///
    /// # Panics
    /// If packets of a source do not come in order and undamaged, which no fault on request causes.
    pub fn take(&mut self, packet: &Packet) -> Option<Told> {
        let (source, alone) = (packet.source, packet.is_first());
        if packet.is_first() {
            let new = Partial { number: packet.message, bytes: Vec::new() };
            let old = self.partial.insert(source, new);
            assert!(old.is_none(), "a source sends a message after another");
        }
        let partial = self.partial.get_mut(&source).expect("a first packet comes first");
        assert_eq!(partial.number, packet.message, "packets of a source keep their order");
        partial.bytes.extend_from_slice(packet.data());
        let message = |bytes| Message { source: source.into(), id: packet.id, bytes };
        if !packet.is_last() {
            return alone.then(|| Told::Began(message(packet.data().to_vec())));
        }
        let Partial { bytes, .. } = self.partial.remove(&source)?;
        assert_eq!(crc32fast::hash(&bytes), packet.crc, "links change no bits");
        Some(if alone { Told::Came(message(bytes)) } else { Told::Ended(message(bytes)) })
    }

    /// Messages of which a part is here.
    pub fn partial(&self) -> usize {
        self.partial.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(source: u16, number: u16, bytes: &[u8]) -> Vec<Packet> {
        let id = MessageId { source_nid: source.into(), serial: number.into() };
        let mut leaving = Leaving::new([source, 9], number, id, bytes.to_vec());
        let mut all = vec![leaving.next()];
        while !all.last().is_some_and(Packet::is_last) {
            all.push(leaving.next());
        }
        all
    }

    #[test]
    fn messages_of_any_length_come_back_whole_from_between_others() {
        for length in [0, 1, 63, 64, 65, 128, 1000] {
            let bytes: Vec<u8> = (0..length).map(|i| (i * 7) as u8).collect();
            let other = vec![0x5A; 640];
            let (packets, others) = (cut(3, 7, &bytes), cut(4, 7, &other));
            assert_eq!(packets.len(), bytes.len().div_ceil(PAYLOAD_BYTES).max(1), "{length}");
            let mut assembly = Assembly::default();
            let (mut done, mut begun) = (Vec::new(), 0);
            for at in 0..packets.len().max(others.len()) {
                for packet in [packets.get(at), others.get(at)].into_iter().flatten() {
                    match assembly.take(packet) {
                        Some(Told::Came(message) | Told::Ended(message)) => done.push(message),
                        Some(Told::Began(_)) => begun += 1,
                        _ => {}
                    }
                }
            }
            assert_eq!((done.len(), assembly.partial()), (2, 0), "{length}");
            assert_eq!(begun, 1 + usize::from(packets.len() > 1), "{length}");
            let own = done.iter().find(|message| message.source == 3).unwrap();
            assert_eq!((&own.bytes, own.id.serial), (&bytes, 7), "{length}");
        }
    }

    #[test]
    #[should_panic(expected = "links change no bits")]
    fn a_damaged_message_is_noticed() {
        let mut packet = cut(3, 7, b"twelve bytes")[0];
        packet.payload[4] ^= 1;
        Assembly::default().take(&packet);
    }
}
