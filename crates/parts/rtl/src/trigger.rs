//! Triggers: events at which the recorder of a NIC keeps the cycles around.

use crate::nic::{BusIn, BusOut, LinkIn, LinkOut};
use std::fmt::{self, Display};

/// An event that a recorder waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// One of [`EVENTS`], by its place.
    Event(usize),
    /// A port comes to have a value: its place in `PORTS`.
    Port(usize, u64),
    /// A time, in picoseconds.
    Time(u64),
}

/// Events with a name.
pub const EVENTS: [(&str, &str); 9] = [
    ("crc", "a header or payload with a wrong CRC"),
    ("parity", "a credit with wrong parity"),
    ("bond", "lanes that have lost one another"),
    ("overflow", "an entry that finds the receive FIFO full"),
    ("credits", "a message that waits for credits"),
    ("frozen", "the card is stopped by an error"),
    ("interrupt", "the interrupt line rises"),
    ("stop", "STOP#: a retry on the bus, or a write of the card that is disconnected"),
    ("fault", "a fault strikes the card's lanes (--fault)"),
];

/// An event that the ports do not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sign {
    /// A target has asserted STOP# without data.
    Retry,
    /// A fault has struck.
    Fault,
}

/// State of the ports, and counters, after an edge.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub bus_in: BusIn,
    pub bus_out: BusOut,
    pub link_in: LinkIn,
    pub link_out: LinkOut,
    /// Back-pressure, wrong headers, payloads and credits, lost lanes, overflows.
    pub counts: [u64; 6],
    /// Signs so far: retries, and faults.
    pub signs: [u64; 2],
    /// Writes that were disconnected.
    pub disconnects: u64,
}

/// A port of `rdma_nic` that can be waited for.
type Port = (&'static str, fn(&Seen) -> u64);

fn pair(parts: [u32; 2]) -> u64 {
    u64::from(parts[1]) << 32 | u64::from(parts[0])
}
fn flags(parts: [u8; 2]) -> u64 {
    u64::from(parts[1]) << 4 | u64::from(parts[0])
}

/// Ports by their names.
pub(crate) const PORTS: [Port; 28] = [
    ("request_o", |s| s.bus_out.request.into()),
    ("request_write_o", |s| s.bus_out.request_write.into()),
    ("request_addr_o", |s| s.bus_out.addr),
    ("request_words_o", |s| s.bus_out.words.into()),
    ("request_tag_o", |s| s.bus_out.tag.into()),
    ("write_word_o", |s| s.bus_out.write_word),
    ("write_on_o", |s| s.bus_out.write_on.into()),
    ("read_word_o", |s| s.bus_out.read_word),
    ("busy_o", |s| s.bus_out.busy.into()),
    ("interrupt_o", |s| s.bus_out.interrupt.into()),
    ("frozen_o", |s| s.bus_out.frozen.into()),
    ("arrived_o", |s| s.bus_out.arrived.into()),
    ("arrived_header_o", |s| s.bus_out.arrived_header),
    ("write_i", |s| s.bus_in.write.into()),
    ("write_offset_i", |s| s.bus_in.write_offset.into()),
    ("write_data_i", |s| s.bus_in.write_data),
    ("write_enables_i", |s| s.bus_in.write_enables.into()),
    ("read_i", |s| s.bus_in.read.into()),
    ("read_offset_i", |s| s.bus_in.read_offset.into()),
    ("accepted_i", |s| s.bus_in.accepted.into()),
    ("completion_i", |s| s.bus_in.completion.into()),
    ("completion_data_i", |s| s.bus_in.completion_data),
    ("took_i", |s| s.bus_in.took.into()),
    ("ended_i", |s| s.bus_in.ended.into()),
    ("bytes_i", |s| pair(s.link_in.bytes)),
    ("control_i", |s| flags(s.link_in.control)),
    ("bytes_o", |s| pair(s.link_out.bytes)),
    ("control_o", |s| flags(s.link_out.control)),
];

/// Reason for which a text is no trigger, as the rest of a sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TriggerError {
    /// No event has that name.
    #[error(
        "an event is one of {}, time=TIME or PORT=VALUE",
        EVENTS.map(|(name, _)| name).join(", ")
    )]
    Event,
    /// No port has that name.
    #[error(
        "{0} is no port that can be waited for; these can: {ports}",
        ports = PORTS.map(|(port, _)| port).join(", ")
    )]
    Port(String),
    /// A port never has that value.
    #[error("{0} is no value; write 17 or 0x11")]
    Value(String),
}

impl Trigger {
    /// Reads an event's name, or `PORT=VALUE` with a decimal or (0x) hexadecimal value.
    pub fn parse(text: &str) -> Result<Trigger, TriggerError> {
        if let Some(event) = EVENTS.iter().position(|(name, _)| *name == text) {
            return Ok(Trigger::Event(event));
        }
        let Some((name, value)) = text.split_once('=') else {
            return Err(TriggerError::Event);
        };
        let Some(port) = PORTS.iter().position(|(port, _)| *port == name) else {
            return Err(TriggerError::Port(name.to_owned()));
        };
        let number = match value.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        let number = number.map_err(|_| TriggerError::Value(value.to_owned()))?;
        Ok(Trigger::Port(port, number))
    }

    /// True if it comes with the edge between `before` and `after`, which is at `time`.
    pub(crate) fn comes(&self, before: &Seen, after: &Seen, time: u64) -> bool {
        let more = |count: usize| after.counts[count] > before.counts[count];
        let rises = |level: fn(&BusOut) -> u8| level(&before.bus_out) < level(&after.bus_out);
        match *self {
            Trigger::Time(from) => time >= from,
            Trigger::Port(port, value) => {
                let level = PORTS[port].1;
                level(after) == value && level(before) != value
            }
            Trigger::Event(event) => match EVENTS[event].0 {
                "crc" => more(1) || more(2),
                "parity" => more(3),
                "bond" => more(4),
                "overflow" => more(5),
                "credits" => more(0),
                "frozen" => rises(|out| out.frozen),
                "interrupt" => rises(|out| out.interrupt),
                "stop" => {
                    after.disconnects > before.disconnects || after.signs[0] > before.signs[0]
                }
                _ => after.signs[1] > before.signs[1],
            },
        }
    }

    /// True if it looks at counters, which cost a call.
    pub(crate) fn counts(&self) -> bool {
        matches!(self, Trigger::Event(event) if *event < 5)
    }
}

impl Display for Trigger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Trigger::Event(event) => write!(f, "{} ({})", EVENTS[*event].0, EVENTS[*event].1),
            Trigger::Port(port, value) => write!(f, "{}={value:#x}", PORTS[*port].0),
            Trigger::Time(from) => write!(f, "time={from} ps"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_trigger_is_refused_with_a_sentence() {
        let refused = |text| Trigger::parse(text).unwrap_err().to_string();
        assert_eq!(
            refused("noise"),
            "an event is one of crc, parity, bond, overflow, credits, frozen, interrupt, stop, \
             fault, time=TIME or PORT=VALUE"
        );
        let ports = refused("noise=1");
        let begins =
            "noise is no port that can be waited for; these can: request_o, request_write_o,";
        assert!(ports.starts_with(begins) && ports.ends_with(", bytes_o, control_o"), "{ports}");
        assert_eq!(refused("busy_o=yes"), "yes is no value; write 17 or 0x11");
    }
}
