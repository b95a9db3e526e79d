//! Predefined items of a type, in order: what MPI_Get_elements counts, and what the two sides of a message
//! must agree about.

use super::nested::{release, Nested};
use super::rolling::Rolling;
use std::rc::Rc;

/// A predefined item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Atom {
    /// Its bytes, at least one.
    pub bytes: u64,
    /// Its type: the low byte of the handle.
    pub kind: u8,
}

/// Predefined items of a type, in order. The two parts of a pair count apart.
#[derive(Clone, Debug)]
pub(crate) struct Signature {
    list: Rc<List>,
}

#[derive(Debug, Default)]
struct List {
    /// Parts in order, each with the number of its repetitions.
    parts: Vec<(u64, Part)>,
    total: Total,
}

#[derive(Clone, Debug)]
enum Part {
    /// A predefined item.
    Atom(Atom),
    /// Others, in order.
    Of(Rc<List>),
}

#[derive(Clone, Copy, Debug, Default)]
struct Total {
    bytes: u64,
    atoms: u64,
    /// Kinds of the items, in order.
    kinds: Rolling,
}

impl Total {
    /// So often one after the other, behind those.
    fn append(&mut self, times: u64, each: Total) {
        self.bytes += times * each.bytes;
        self.atoms += times * each.atoms;
        self.kinds = self.kinds.then(each.kinds.repeated(times));
    }
}

impl Part {
    fn total(&self) -> Total {
        match self {
            Part::Atom(Atom { bytes, kind }) => {
                Total { bytes: *bytes, atoms: 1, kinds: Rolling::of(*kind) }
            }
            Part::Of(list) => list.total,
        }
    }
    fn is(&self, other: &Part) -> bool {
        match (self, other) {
            (Part::Atom(one), Part::Atom(other)) => one == other,
            (Part::Of(one), Part::Of(other)) => Rc::ptr_eq(one, other),
            _ => false,
        }
    }
}

impl Nested for List {
    fn give_parts(&mut self, parts: &mut Vec<Rc<List>>) {
        parts.extend(self.parts.drain(..).filter_map(|(_, part)| match part {
            Part::Atom(_) => None,
            Part::Of(list) => Some(list),
        }));
    }
}

impl Drop for List {
    fn drop(&mut self) {
        if self.parts.iter().any(|(_, part)| matches!(part, Part::Of(_))) {
            release(self);
        }
    }
}

impl Signature {
    /// Predefined items.
    pub fn atoms(atoms: &[Atom]) -> Signature {
        let mut builder = Builder::default();
        for &atom in atoms {
            builder.push(1, Part::Atom(atom)).expect("few small items");
        }
        builder.finish()
    }
    /// Predefined items.
    pub fn count(&self) -> u64 {
        self.list.total.atoms
    }
    /// Bytes of the first `atoms` predefined items, or of all if there are fewer.
    pub fn bytes_of(&self, atoms: u64) -> u64 {
        self.descend(atoms, |total| total.atoms).0.bytes
    }
    /// Predefined items in the first `bytes` bytes, or in all if there are fewer; None if the last is cut.
    pub fn atoms_in(&self, bytes: u64) -> Option<u64> {
        let (total, rest) = self.descend(bytes, |total| total.bytes);
        (rest == 0).then_some(total.atoms)
    }
    /// The kinds of the predefined items in the first `bytes` bytes of so many types one after the other,
    /// and their number; None if the last is cut.
    pub fn kinds_in(&self, bytes: u64) -> Option<(Rolling, u64)> {
        let whole = self.list.total;
        let mut all = Total::default();
        let times = bytes.checked_div(whole.bytes).unwrap_or(0);
        all.append(times, whole);
        let (part, rest) = self.descend(bytes - times * whole.bytes, |total| total.bytes);
        all.append(1, part);
        (rest == 0).then_some((all.kinds, all.atoms))
    }
    /// Kinds of the first predefined items, at most so many, neighbours of a kind together.
    pub fn first_kinds(&self, most: u64) -> Vec<(u64, u8)> {
        let mut runs: Vec<(u64, u8)> = Vec::new();
        for at in 0..most.min(self.count()) {
            let kind = self.kind_at(at);
            match runs.last_mut() {
                Some((number, last)) if *last == kind => *number += 1,
                _ => runs.push((1, kind)),
            }
        }
        runs
    }
    /// The kind of a predefined item, which must be there.
    fn kind_at(&self, mut at: u64) -> u8 {
        let mut list = &self.list;
        'deeper: loop {
            for (times, part) in &list.parts {
                let each = part.total().atoms;
                if at < times * each {
                    match part {
                        Part::Atom(atom) => return atom.kind,
                        Part::Of(inner) => list = inner,
                    }
                    at %= each;
                    continue 'deeper;
                }
                at -= times * each;
            }
            unreachable!("the item is one of this type");
        }
    }
    /// Whole predefined items, as many as `wanted` has room for in the `measure`; and the rest of it.
    fn descend(&self, wanted: u64, measure: impl Fn(Total) -> u64) -> (Total, u64) {
        let (mut list, mut left, mut done) = (&self.list, wanted, Total::default());
        'deeper: loop {
            for (times, part) in &list.parts {
                let each = part.total();
                let here = (left / measure(each)).min(*times);
                done.append(here, each);
                left -= here * measure(each);
                if here < *times {
                    match part {
                        Part::Atom(_) => return (done, left),
                        Part::Of(inner) => list = inner,
                    }
                    continue 'deeper;
                }
            }
            return (done, 0);
        }
    }
}

/// Makes a signature, part by part. `None` where there are more than 2^64 bytes.
#[derive(Default)]
pub(super) struct Builder {
    list: List,
}

impl Builder {
    /// `times` times `of`.
    pub fn repeat(&mut self, times: u64, of: &Signature) -> Option<()> {
        match &of.list.parts[..] {
            [] => Some(()),
            [(inner, part)] => self.push(times.checked_mul(*inner)?, part.clone()),
            _ => self.push(times, Part::Of(of.list.clone())),
        }
    }

    fn push(&mut self, times: u64, part: Part) -> Option<()> {
        if times == 0 {
            return Some(());
        }
        let (each, total) = (part.total(), &mut self.list.total);
        total.bytes = total.bytes.checked_add(each.bytes.checked_mul(times)?)?;
        total.atoms = total.atoms.checked_add(each.atoms.checked_mul(times)?)?;
        total.kinds = total.kinds.then(each.kinds.repeated(times));
        match self.list.parts.last_mut() {
            Some((before, last)) if last.is(&part) => *before += times,
            _ => self.list.parts.push((times, part)),
        }
        Some(())
    }

    /// The signature.
    pub fn finish(mut self) -> Signature {
        if let [(1, Part::Of(list))] = &self.list.parts[..] {
            return Signature { list: list.clone() };
        }
        self.list.parts.shrink_to_fit();
        Signature { list: Rc::new(self.list) }
    }
}
