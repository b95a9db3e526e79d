//! Collective operations that the network interface performs.

use super::Portals;
use crate::datatype::Basic;
use crate::local::Local;
use crate::reduction::op::Op;
use crate::request::RequestId;
use crate::transport::{Awaits, Entries, GroupStep, Step};
use abi::seastar::{reduce_op, reduce_type, REDUCE_ENTRIES};
use portals::Reduced;

/// An operation that this process has to enter, or waits for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Collecting {
    group: u16,
    id: RequestId,
    entries: Option<Entries>,
}

/// Bytes of an entry; none if the network interface does not know its type.
fn size_of(basic: Basic) -> Option<(usize, u8)> {
    Some(match basic {
        Basic::Signed(4) => (4, reduce_type::I32),
        Basic::Unsigned(4) => (4, reduce_type::U32),
        Basic::Signed(8) => (8, reduce_type::I64),
        Basic::Unsigned(8) => (8, reduce_type::U64),
        Basic::Float(8) => (8, reduce_type::F64),
        _ => return None,
    })
}

/// The code of an operation that the network interface knows.
fn code_of(op: Op) -> Option<u8> {
    Some(match op {
        Op::Sum => reduce_op::SUM,
        Op::Min => reduce_op::MIN,
        Op::Max => reduce_op::MAX,
        Op::BitAnd => reduce_op::BAND,
        Op::BitOr => reduce_op::BOR,
        Op::BitXor => reduce_op::BXOR,
        _ => return None,
    })
}

impl Portals {
    pub(super) fn knows(&self, entries: &Entries) -> bool {
        let few = (1..=REDUCE_ENTRIES).contains(&entries.count);
        few && size_of(entries.basic).is_some() && code_of(entries.op).is_some()
    }

    pub(super) fn open_steps(&mut self, group: u16, steps: &[GroupStep], reduces: bool) -> bool {
        let step = |step: &GroupStep| portals::GroupStep {
            tells: step.tells.map(|rank| self.map[rank as usize]),
            awaits: step.awaits != Awaits::Nothing,
            replaces: step.awaits == Awaits::Result,
        };
        let steps: Vec<_> = steps.iter().map(step).collect();
        self.ni.open_group(group, &steps, reduces)
    }

    pub(super) fn close_steps(&mut self, group: u16) {
        self.ni.close_group(group);
    }

    /// Enters an operation, or keeps it until the one before it in its group is over.
    pub(super) fn start_collecting(
        &mut self,
        local: &mut Local,
        id: RequestId,
        group: u16,
        entries: Option<Entries>,
    ) {
        let collecting = Collecting { group, id, entries };
        let busy = self.collecting.iter().any(|other| other.group == group);
        self.collecting.push(collecting);
        if !busy {
            self.enter(local, collecting);
        }
    }

    fn enter(&self, local: &mut Local, Collecting { group, entries, .. }: Collecting) {
        local.settle();
        let reduced = entries.map(|entries| {
            let (size, kind) = size_of(entries.basic).expect("only a known type gets here");
            let op = code_of(entries.op).expect("only a known operation gets here");
            let mut bytes = vec![0; size * entries.count as usize];
            local.read(entries.va, &mut bytes).expect(OWN);
            let word = |chunk: &[u8]| {
                let mut word = [0; 8];
                word[..size].copy_from_slice(chunk);
                u64::from_le_bytes(word)
            };
            Reduced { kind: op | kind << 4, entries: bytes.chunks_exact(size).map(word).collect() }
        });
        self.ni.collect(group, reduced);
        let at = local.cpu.now();
        local.observe(|observer| observer.collects(at));
    }

    /// An operation that has ended on the network interface.
    pub(super) fn take_collected(&mut self, local: &mut Local) -> Option<Step> {
        let group = self.collected.pop_front()?;
        let at = self.collecting.iter().position(|collecting| collecting.group == group);
        let Collecting { id, entries, .. } = self.collecting.remove(at?);
        let ended = local.cpu.now();
        local.observe(|observer| observer.collected(ended));
        if let Some(entries) = entries {
            let (size, _) = size_of(entries.basic).expect("only a known type gets here");
            let results = self.ni.reduced(entries.count);
            let bytes: Vec<u8> =
                results.iter().flat_map(|result| result.to_le_bytes()[..size].to_vec()).collect();
            local.write(entries.va, &bytes).expect(OWN);
        }
        let next = self.collecting.iter().find(|collecting| collecting.group == group).copied();
        if let Some(next) = next {
            self.enter(local, next);
        }
        Some(Step::Collected(id))
    }
}

const OWN: &str = "entries stand in the library's own memory";
