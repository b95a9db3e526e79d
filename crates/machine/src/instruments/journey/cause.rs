//! The causes of the steps of a message, in words.

/// The cause of a step's time, and what decides it.
#[derive(Debug)]
pub struct Cause {
    /// A sentence without its period.
    pub sentence: &'static str,
    /// Keys of parameters that are in it.
    pub parameters: &'static [&'static str],
    /// The firmware's function that does it, where firmware does.
    pub function: &'static str,
    /// It grows with the entries of the match list that are looked at.
    pub walks: bool,
}

const fn cause(sentence: &'static str, parameters: &'static [&'static str]) -> Cause {
    Cause { sentence, parameters, function: "", walks: false }
}

const fn firmware(sentence: &'static str, function: &'static str) -> Cause {
    Cause { sentence, parameters: &[], function, walks: false }
}

/// By step, in the order of a message's way.
const CAUSES: [(&str, Cause); 27] = [
    (
        "MPI library, send",
        cause(
            "the library makes the request, and copies what is short",
            &["mpi.call", "mpi.request", "host.copy_rate"],
        ),
    ),
    (
        "kernel entry",
        cause("the process enters the kernel", &["host.kernel_entry", "portals.api_call"]),
    ),
    (
        "kernel Portals, send",
        cause(
            "the kernel checks the call and writes header and command",
            &["portals.api_check", "portals.translate", "host.mmio_write"],
        ),
    ),
    ("HyperTransport to the NIC", cause("the command crosses the host's link", &["ht.latency"])),
    (
        "firmware TX",
        firmware(
            "the firmware sees the command when it polls, and commands the transmit engine",
            "tx_command",
        ),
    ),
    (
        "TX DMA",
        cause(
            "the engine reads header and payload from host memory",
            &["nic.host_memory_read", "nic.tx_packet"],
        ),
    ),
    (
        "wire",
        cause(
            "the first packet passes links and routers, and waits for others there",
            &["net.link_latency", "net.route", "ideal.latency"],
        ),
    ),
    ("RX DMA", cause("the receive engine takes it in", &["nic.rx_packet", "nic.rx_notify"])),
    (
        "firmware RX",
        firmware(
            "the firmware sees the notification when it polls, finds the source and tells the host",
            "rx_message",
        ),
    ),
    ("HyperTransport to the host", cause("the interrupt crosses the host's link", &["ht.latency"])),
    (
        "interrupt",
        cause(
            "the interrupt: entering the handler, or waiting for the one before",
            &["host.interrupt_entry"],
        ),
    ),
    (
        "event queue",
        cause(
            "the handler reads the event, behind those that came before",
            &["portals.slot_read", "portals.dispatch"],
        ),
    ),
    (
        "kernel Portals, match",
        Cause {
            sentence: "the kernel finds the receive in the match list",
            parameters: &["portals.header_read", "portals.list_entry"],
            function: "",
            walks: true,
        },
    ),
    (
        "kernel Portals, command",
        cause(
            "the kernel translates the buffer and writes the command",
            &["portals.translate", "portals.command_build", "host.mmio_write"],
        ),
    ),
    ("receive command to the NIC", cause("the command crosses the host's link", &["ht.latency"])),
    (
        "firmware RX, command",
        firmware(
            "the firmware sees the command when it polls, and commands the receive engine",
            "rx_command",
        ),
    ),
    (
        "payload by DMA",
        cause(
            "the payload streams through network and engines into host memory",
            &["nic.rx_packet", "net.link_latency"],
        ),
    ),
    (
        "RX DMA, completion",
        cause("the engine tells the firmware that all came", &["nic.rx_notify"]),
    ),
    (
        "firmware RX, completion",
        firmware(
            "the firmware sees the completion when it polls, and tells the host",
            "rx_complete",
        ),
    ),
    ("completion to the host", cause("that interrupt crosses the host's link", &["ht.latency"])),
    (
        "second interrupt",
        cause(
            "the second interrupt: a payload costs one more than a header",
            &["host.interrupt_entry"],
        ),
    ),
    (
        "event queue, completion",
        cause(
            "the handler reads the event, behind those before",
            &["portals.slot_read", "portals.dispatch"],
        ),
    ),
    (
        "kernel Portals, receive",
        cause(
            "the kernel posts the event to the process",
            &["portals.event_post", "host.copy_rate"],
        ),
    ),
    (
        "waiting for the process",
        cause("a late receiver: the process was elsewhere, and looked at its queue later", &[]),
    ),
    (
        "return to the process",
        cause(
            "the handler returns, behind others that came, and the process finds the event",
            &["host.interrupt_exit", "host.poll_period", "portals.event_get"],
        ),
    ),
    (
        "waiting for the receive",
        cause("a late receiver: the message was unexpected, and its receive was called later", &[]),
    ),
    (
        "MPI library, receive",
        cause(
            "the library completes the request",
            &["mpi.event", "mpi.unexpected_entry", "host.copy_rate"],
        ),
    ),
];

/// The cause of a step's time; of one that is no step nothing is known. A leg before it (`fetch: `) is not
/// looked at.
pub fn cause_of(step: &str) -> Option<&'static Cause> {
    let name = ["fetch: ", "data: ", "reply: "].iter().find_map(|leg| step.strip_prefix(leg));
    let name = name.unwrap_or(step);
    CAUSES.iter().find(|(known, _)| *known == name).map(|(_, cause)| cause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_has_a_cause() {
        assert_eq!(CAUSES.map(|(name, _)| name), super::super::STRETCHES.map(|(_, name, _)| name));
    }
}
