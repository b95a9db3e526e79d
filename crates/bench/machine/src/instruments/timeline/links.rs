//! Outputs of a router: packets that follow one another become one span.

use super::{Load, What, LINKS};
use abi::packet::Packet;
use abi::MessageId;
use des::{Interval, Time};

/// A message on the wire: its sender, and its number there.
type Wire = (u16, u16);

/// Consecutive packets of one message on an output.
struct Run {
    wire: Wire,
    message: MessageId,
    begin: Time,
    end: Time,
    load: Load,
}

/// The outputs of one router.
#[derive(Default)]
pub(super) struct Links {
    runs: [Option<Run>; LINKS + 1],
}

impl Links {
    /// Records a packet on an output. Finished runs go to `tell`.
    pub fn passed(
        &mut self,
        output: usize,
        Interval { start, end }: Interval,
        packet: &Packet,
        tell: impl FnOnce(Time, What),
    ) {
        let (wire, message) = ((packet.source, packet.message), packet.id);
        let busy = end.since(start);
        let run = &mut self.runs[output];
        // With a longer gap the output would be idle for more than half of the time.
        let joins =
            |run: &Run| run.wire == wire && run.message == message && start <= run.end + busy;
        if !run.as_ref().is_some_and(joins) {
            let new = Run { wire, message, begin: start, end, load: Load::default() };
            if let Some(old) = run.replace(new) {
                tell(old.begin, old.told(output));
            }
        }
        if let Some(run) = run {
            run.end = end;
            run.load.packets += 1;
            run.load.bytes += u64::from(packet.size);
            run.load.busy += busy;
        }
    }

    /// Reports the remaining runs.
    pub fn finish(&mut self, mut tell: impl FnMut(Time, What)) {
        for (output, run) in self.runs.iter_mut().enumerate() {
            if let Some(run) = run.take() {
                tell(run.begin, run.told(output));
            }
        }
    }
}

impl Run {
    fn told(&self, output: usize) -> What<'static> {
        let Run { message, end, load, .. } = *self;
        What::Busy { output: output as u8, until: end, message, load }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::packet::flag;

    #[test]
    fn packets_of_a_message_join_unless_the_output_idles_more_than_half_of_the_time() {
        let mut links = Links::default();
        let mut told = Vec::new();
        let id = |message: u16| MessageId { source_nid: 3, serial: message.into() };
        let packet = |message, flags, size| Packet {
            source: 3,
            message,
            id: id(message),
            flags,
            size,
            ..Packet::default()
        };
        // Header and payload, payload after a gap of its own length, after a longer one, what is left of
        // another message that has lost its header.
        for (start, packet) in [
            (0, packet(1, flag::FIRST, 64)),
            (10, packet(1, 0, 32)),
            (30, packet(1, 0, 16)),
            (51, packet(1, flag::LAST, 8)),
            (61, packet(2, flag::LAST, 64)),
        ] {
            let interval = Interval { start: Time(start), end: Time(start + 10) };
            links.passed(2, interval, &packet, |at, what| told.push((at, format!("{what:?}"))));
        }
        links.finish(|at, what| told.push((at, format!("{what:?}"))));
        let run = |until, message, packets, bytes, busy| {
            let load = Load { packets, bytes, busy: des::Duration(busy) };
            format!(
                "{:?}",
                What::Busy { output: 2, until: Time(until), message: id(message), load }
            )
        };
        let expected = [
            (Time(0), run(40, 1, 3, 112, 30)),
            (Time(51), run(61, 1, 1, 8, 10)),
            (Time(61), run(71, 2, 1, 64, 10)),
        ];
        assert_eq!(told, expected);
    }
}
