//! A user of Portals in the kernel (kbridge): it sends every put back to its sender.

use host::Cpu;
use portals::{
    option, AckRequest, Criteria, EventKind, Kernel, Md, Ni, Position, ProcessId, Target, Unlink,
};
use std::rc::Rc;

/// Its Portals process on its node.
pub(crate) const PID: u32 = 50;
/// Its portal, and the portal of a process that gets the echo.
const PORTAL: u32 = 4;
/// Longest message, in bytes; longer ones are truncated.
const ROOM: u64 = 1 << 20;
/// Events that may wait for it.
const EVENTS: u32 = 1024;

/// Serves for ever. Run by the fibre of a kernel thread.
pub(crate) fn serve(cpu: &Cpu, kernel: &Rc<Kernel>) {
    if let Err(error) = start(cpu, kernel) {
        cpu.fault(format_args!("the echo in the kernel: {error}"));
    }
}

/// Sets up the echo, which has the offset, match bits and header data of the put that it answers. Processes
/// that send at the same time use different offsets.
fn start(cpu: &Cpu, kernel: &Rc<Kernel>) -> Result<(), portals::Error> {
    let (space, buffer) = {
        let mut memory = cpu.memory().borrow_mut();
        let space = memory.add_kernel_space();
        (space, memory.alloc_library(space, ROOM))
    };
    let ni = Ni::init_in_kernel(cpu, kernel, PID, space)?;
    let eq = ni.eq_alloc(EVENTS)?;
    let anybody = ProcessId { nid: portals::NID_ANY, pid: portals::PID_ANY };
    let criteria = Criteria { match_id: anybody, match_bits: 0, ignore_bits: u64::MAX };
    let entry = ni.me_attach(PORTAL, criteria, Unlink::Retain, Position::After)?;
    let options =
        option::OP_PUT | option::TRUNCATE | option::MANAGE_REMOTE | option::EVENT_START_DISABLE;
    let target = Md { eq: Some(eq), ..Md::new(buffer, ROOM, options) };
    ni.md_attach(entry, target, Unlink::Retain)?;
    let source = ni.md_bind(Md::new(buffer, ROOM, 0), Unlink::Retain)?;
    loop {
        let event = ni.eq_wait(eq)?.event;
        if event.kind != EventKind::PutEnd {
            continue;
        }
        let back = Target {
            id: event.initiator,
            pt_index: PORTAL,
            ac_index: 0,
            match_bits: event.match_bits,
            offset: event.offset,
        };
        let region = portals::Region { offset: event.offset, length: event.mlength };
        ni.put_region(source, region, AckRequest::NoAck, back, event.hdr_data)?;
    }
}
