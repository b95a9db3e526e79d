//! `sunstar trace`: the firmware's trace ring, read through the RAS back door and decoded with the image's
//! symbols.

use crate::args::TraceOptions;
use crate::mistake::Mistake;
use crate::root::Root;
use crate::{run, terminal};
use abi::seastar::TraceRecord;
use abi::seastar::{niccb, NICCB_BASE, SRAM_BASE, TRACE_BASE, TRACE_COUNT};
use machine::symbols::Symbols;
use machine::tracedump;

/// Word of `niccb.tracebuf_info` that holds the index of the next record.
const NEXT_RECORD: usize = 2;

/// Runs the program with a firmware that has trace points and prints one node's ring.
pub fn trace(root: &Root, options: &TraceOptions) -> Result<u8, Mistake> {
    let mut run_options = options.run.clone();
    run_options.machine.overrides.push("firmware.trace=on".into());
    run::check_node(root, &run_options, options.node)?;
    let run = run::execute(root, &run_options)?;
    let sram = &run.outcome.sram[options.node as usize];
    let symbols =
        Symbols::load(&run.firmware.join("seastar.elf")).map_err(|why| Mistake(why.to_string()))?;
    let clock = run.parameters.clock("ppc440.clock");
    let points = tracedump::decode(ring(sram), next_record(sram), &clock);
    terminal::print(&tracedump::dump(&points, &symbols));
    run::finish(&run_options, &run)
}

/// Offset in the SRAM of an address on the local bus.
fn offset(address: u32) -> usize {
    (address - SRAM_BASE) as usize
}

fn ring(sram: &[u8]) -> &[u8] {
    &sram[offset(TRACE_BASE)..][..TRACE_COUNT as usize * TraceRecord::SIZE]
}

fn next_record(sram: &[u8]) -> u32 {
    let word = offset(NICCB_BASE) + niccb::TRACEBUF_INFO + 4 * NEXT_RECORD;
    u32::from_le_bytes(sram[word..][..4].try_into().expect("four bytes were taken"))
}
