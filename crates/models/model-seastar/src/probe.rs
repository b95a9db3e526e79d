//! Costs of the embedded processor's accesses on an idle machine: measured on the model of the network
//! interface and its link, without firmware and without a network.

use crate::configure::Configuration;
use abi::packet::Packet;
use abi::seastar::{CACHED_DATA_BASE, HTB_MAP, HTB_VALID, WINDOW_SIZE};
use abi::MessageId;
use bus::{BusError, HyperTransport};
use des::{Duration, Time};
use machine::parameters::Parameters;
use machine::placement::Placement;
use machine::UsageError;

/// Time of a read of one word on the local bus, from the request to the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReadTimes {
    /// Read of the local SRAM.
    pub sram: Duration,
    /// Read of host memory, through a window and over HyperTransport.
    pub host: Duration,
}

/// A host that is there when it is read, and nothing else.
struct IdleHost {
    link: HyperTransport,
}

impl seastar_nic::Ports for IdleHost {
    fn schedule(&mut self, at: Time, event: seastar_nic::Event) {
        unreachable!("a read leaves nothing to do, but {event:?} is due at {at}");
    }
    fn host_read(&mut self, _phys: u64, buf: &mut [u8]) -> Result<(), BusError> {
        buf.fill(0);
        Ok(())
    }
    fn host_write(&mut self, phys: u64, data: &[u8]) -> Result<(), BusError> {
        unreachable!("nobody writes {} bytes at {phys:#x}", data.len());
    }
    fn link(&mut self) -> &mut HyperTransport {
        &mut self.link
    }
    fn inject(&mut self, _at: Time, packet: Packet) -> Time {
        unreachable!("nobody sends {packet:?}");
    }
    fn room(&mut self, _now: Time, packets: u32) {
        unreachable!("nobody sent {packets} packets");
    }
    fn interrupt(&mut self, _now: Time) {
        unreachable!("nobody raises an interrupt");
    }
    fn panic(&mut self, _now: Time, reason: u8, detail: u32) {
        unreachable!("there is no firmware that could panic ({reason}, {detail})");
    }
    fn fault(&mut self, _now: Time, error: BusError) {
        unreachable!("{error}");
    }
    fn mark(&mut self, _at: Time, message: MessageId, mark: seastar_nic::TracePoint) {
        unreachable!("there is no message {message:?} to be at {mark:?}");
    }
}

/// Reads a word of SRAM and a word of host memory on an idle node of the machine.
pub fn read_times(parameters: &Parameters) -> Result<ReadTimes, UsageError> {
    let configuration = Configuration::new(parameters, Placement { ranks: 1, per_node: 1 })?;
    let mut nic = seastar_nic::SeaStar::new(&configuration.nic, 0);
    let mut host = IdleHost { link: configuration.link };
    let map = HTB_VALID.to_le_bytes();
    nic.ras_write(Time::ZERO, HTB_MAP.into(), &map, &mut host)
        .expect("mapping registers take words");
    let mut time = |start: Time, addr: u32| {
        let mut word = [0; 4];
        let read = nic.plb_read(start, addr.into(), &mut word, &mut host);
        read.expect("SRAM and the first window can be read").since(start)
    };
    // Far apart, so that neither waits for the other.
    let later = |seconds: u64| Time::ZERO + Duration::from_ns(seconds * 1_000_000_000);
    Ok(ReadTimes {
        sram: time(later(1), CACHED_DATA_BASE),
        host: time(later(2), FIRST_WINDOW + WINDOW_SIZE / 2),
    })
}

/// Window 0, which starts at address 0.
const FIRST_WINDOW: u32 = 0;

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn host_memory_is_farther_than_sram_by_what_lies_between() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap();
        let mut parameters =
            Parameters::load(&crate::tests::MODELS, &root.join("machines/redstorm.toml")).unwrap();
        let before = read_times(&parameters).unwrap();
        assert!(before.host > before.sram, "{before:?}");
        let latency = crate::rows::Link::of(&parameters).latency;
        parameters.set(&format!("ht.latency={} ps", 2 * latency.0)).unwrap();
        let after = read_times(&parameters).unwrap();
        assert_eq!(after.sram, before.sram);
        assert_eq!(after.host.0 - before.host.0, 2 * latency.0, "there and back");
    }
}
