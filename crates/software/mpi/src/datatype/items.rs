//! Items of a datatype in the program's memory, as operations send and receive them.

use super::Type;
use crate::error::Result;
use crate::local::Local;
use std::rc::Rc;

/// Most bytes of a message: the wire header has 32 bits for its length.
pub(crate) const MAX_MESSAGE: u64 = u32::MAX as u64;

/// Predefined items that one side of a message has, for an observer of both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kinds {
    /// The call: "MPI_Send".
    pub call: &'static str,
    /// Their number.
    pub items: u64,
    /// A number for their kinds and order: equal on both sides, if those are.
    pub number: u64,
    /// `MPI_PACKED` is among them, which matches everything.
    pub matches_all: bool,
    /// The items as the call has them: "4 MPI_INT".
    pub text: String,
}

impl Kinds {
    /// Those of items of which the message ends in the middle of one: no sender has such.
    pub(crate) const CUT: Kinds = Kinds {
        call: "",
        items: u64::MAX,
        number: u64::MAX,
        matches_all: false,
        text: String::new(),
    };
}

/// `count` items of a type from address `va` on.
#[derive(Clone, Debug)]
pub(crate) struct Items {
    pub va: u64,
    pub count: u64,
    pub datatype: Rc<Type>,
}

impl Items {
    /// Bytes of data.
    pub fn bytes(&self) -> u64 {
        self.count.saturating_mul(self.datatype.size)
    }
    /// Bytes of the longest message that finds room here.
    pub fn room(&self) -> u64 {
        self.bytes().min(MAX_MESSAGE)
    }
    /// True if the data are one run of bytes from `va` on.
    pub fn is_contiguous(&self) -> bool {
        self.datatype.is_contiguous(self.count)
    }
    /// `count` items of the same type, `index` items further on.
    pub fn part(&self, index: u64, count: u64) -> Items {
        let offset = self.datatype.extent.wrapping_mul(index as i64);
        Items { va: self.va.wrapping_add_signed(offset), count, datatype: self.datatype.clone() }
    }
    /// The `index`th of neighbours that are as large. Counts of items without data have no limit.
    pub fn nth(&self, index: u32) -> Items {
        self.part(self.count.wrapping_mul(index.into()), self.count)
    }
    /// So many neighbours, each as large, together.
    pub fn times(&self, number: u32) -> Items {
        self.part(0, self.count.saturating_mul(number.into()))
    }

    /// They in words.
    pub fn text(&self) -> String {
        self.datatype.described(self.count)
    }

    /// Kinds of the predefined items in their first `bytes` bytes, which the call sends or receives; None if
    /// the last one is cut.
    pub fn kinds(&self, bytes: u64, call: &'static str) -> Option<Kinds> {
        let (kinds, items) = self.datatype.signature.kinds_in(bytes)?;
        let text = self.text();
        let (number, matches_all) = (kinds.number(), kinds.matches_all);
        Some(Kinds { call, items, number, matches_all, text })
    }

    /// Checks that they lie in the program's memory.
    pub fn check(&self, local: &Local) -> Result<()> {
        let (low, high) = self.datatype.span(self.count);
        let first = self.va.wrapping_add_signed(low);
        local.check_buffer(first, high.abs_diff(low))
    }

    /// Packs them to `to`.
    pub fn gather(&self, local: &mut Local, to: u64) -> Result<()> {
        if self.is_contiguous() {
            return local.copy(self.va, to, self.bytes());
        }
        let runs = self.pack(local, to)?;
        local.charge(local.params.datatype_run * runs + local.cpu.copy_cost(self.bytes()));
        Ok(())
    }

    /// Unpacks the first `bytes` bytes at `from` into them.
    pub fn scatter(&self, local: &mut Local, from: u64, bytes: u64) -> Result<()> {
        if self.is_contiguous() {
            return local.copy(from, self.va, bytes);
        }
        let runs = self.unpack(local, from, bytes)?;
        local.charge(local.params.datatype_run * runs + local.cpu.copy_cost(bytes));
        Ok(())
    }

    /// Copies them to items of the same number of bytes.
    pub fn copy_to(&self, local: &mut Local, to: &Items) -> Result<()> {
        let bytes = self.bytes().min(to.bytes());
        if self.is_contiguous() {
            return to.scatter(local, self.va, bytes);
        }
        let buffer = local.take_buffer(self.bytes());
        let copied =
            self.gather(local, buffer.va).and_then(|()| to.scatter(local, buffer.va, bytes));
        local.give_buffer(buffer);
        copied
    }
}
