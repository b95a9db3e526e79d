//! Exceptions that stop a node's firmware, in words.

use super::*;
use abi::seastar::STACK_BASE;
use std::fmt::Write;

impl Station {
    /// The firmware's handler has recorded an exception in `exception_record` and stopped the node.
    pub(super) fn exception(&mut self, now: Time, vector: u32, ports: &mut Ports<Station>) {
        let mut record = [0; 24];
        if let Some(object) = self.symbols.object("exception_record") {
            let address = object.address.into();
            let (nic, mut around) = self.chip(ports);
            let read = nic.ras_read(address, &mut record, &mut around);
            read.expect("the firmware's data stand in SRAM");
        }
        let word = |i: usize| {
            let bytes = record[4 * i..].first_chunk().expect("a record of six words");
            u32::from_le_bytes(*bytes)
        };
        let [_, next, _, data, link, stack] = [0, 1, 2, 3, 4, 5].map(word);
        // After a system call the processor tells where to go on.
        let pc = if vector == SYSTEM_CALL { next.wrapping_sub(4) } else { next };
        let place = self.symbols.describe(pc);
        let mut sentence =
            format!("the firmware stopped the node at {now}: {}", exception_name(vector));
        if exception_has_address(vector) {
            write!(sentence, " of address {data:#010x}").expect("a string takes everything");
        }
        write!(sentence, " in {place}").expect("a string takes everything");
        if self.symbols.function(pc).is_none() {
            let caller = self.symbols.describe(link);
            write!(sentence, ", called before {caller}").expect("a string takes everything");
        }
        let overflows = |address: u32| BELOW_STACK.contains(&address);
        if overflows(stack) || exception_has_address(vector) && overflows(data) {
            sentence.push_str("; its stack overflows");
        }
        ports.fail(now, sentence);
    }
}

/// Region below the stack in which there is nothing.
const BELOW_STACK: std::ops::Range<u32> = STACK_BASE - 0x8000..STACK_BASE;

/// Address of the firmware's vector for system calls.
const SYSTEM_CALL: u32 = 0x180;

/// Name of the exception whose vector the firmware has at `offset` (16 bytes each from 0x100, in the order
/// of the IVORs).
fn exception_name(offset: u32) -> &'static str {
    const NAMES: [&str; 16] = [
        "critical input",
        "machine check",
        "forbidden access to data",
        "execution of data",
        "external interrupt",
        "misaligned access",
        "trap",
        "floating-point instruction",
        "system call",
        "auxiliary processor instruction",
        "decrementer",
        "fixed interval timer",
        "watchdog",
        "access to unmapped data",
        "execution of unmapped code",
        "debug event",
    ];
    let index = offset.wrapping_sub(0x100) / 16;
    NAMES.get(index as usize).copied().unwrap_or("unknown exception")
}

/// True if DEAR holds the address of the data.
fn exception_has_address(offset: u32) -> bool {
    matches!(offset, 0x120 | 0x150 | 0x1d0)
}
