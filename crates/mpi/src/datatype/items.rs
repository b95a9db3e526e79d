//! Items of a datatype in the program's memory, as operations send and receive them.

use super::Type;
use crate::comm::CommId;
use crate::error::Result;
use crate::process::Process;
use crate::request::operation::Envelope;
use crate::request::{RequestId, Scattered};
use crate::transport::{Found, Mode, Taken};
use std::rc::Rc;

/// Most bytes of a message: the wire header has 32 bits for its length.
pub(crate) const MAX_MESSAGE: u64 = u32::MAX as u64;

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
    fn room(&self) -> u64 {
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
}

impl Process {
    /// Starts sending items.
    pub(crate) fn send_items(
        &mut self,
        to: Envelope,
        items: &Items,
        mode: Mode,
    ) -> Result<RequestId> {
        let bytes = items.bytes();
        if items.is_contiguous() {
            return self.start_send(to, (items.va, bytes), None, mode);
        }
        let buffer = self.scratch.take(self.local.cpu.memory(), bytes);
        if let Err(error) = self.gather(items, buffer.va) {
            self.scratch.give(buffer);
            return Err(error);
        }
        self.start_send(to, (buffer.va, bytes), Some(Scattered { buffer, target: None }), mode)
    }

    /// Starts receiving items.
    pub(crate) fn receive_items(&mut self, from: Envelope, items: &Items) -> Result<RequestId> {
        let bytes = items.room();
        if items.is_contiguous() {
            return self.start_receive(from, (items.va, bytes), None);
        }
        self.check_items(items)?;
        let buffer = self.scratch.take(self.local.cpu.memory(), bytes);
        let target = Some(items.clone());
        self.start_receive(from, (buffer.va, bytes), Some(Scattered { buffer, target }))
    }

    /// Starts receiving a message that was taken out of the list before.
    pub(crate) fn receive_matched(
        &mut self,
        comm: CommId,
        message: (Taken, Found),
        items: &Items,
    ) -> Result<RequestId> {
        let bytes = items.room();
        if items.is_contiguous() {
            return self.start_matched(comm, message, (items.va, bytes), None);
        }
        self.check_items(items)?;
        let buffer = self.scratch.take(self.local.cpu.memory(), bytes);
        let target = Some(items.clone());
        self.start_matched(comm, message, (buffer.va, bytes), Some(Scattered { buffer, target }))
    }

    /// Checks that items lie in the program's memory.
    pub(crate) fn check_items(&mut self, items: &Items) -> Result<()> {
        let (low, high) = items.datatype.span(items.count);
        let first = items.va.wrapping_add_signed(low);
        self.check_buffer(first, high.abs_diff(low))
    }

    /// Packs items to `to`.
    pub(crate) fn gather(&mut self, items: &Items, to: u64) -> Result<()> {
        if items.is_contiguous() {
            return self.copy(items.va, to, items.bytes());
        }
        let runs = self.pack(items, to)?;
        self.charge(
            self.local.params.datatype_run * runs + self.local.cpu.copy_cost(items.bytes()),
        );
        Ok(())
    }

    /// Unpacks the first `bytes` bytes at `from` into items.
    pub(crate) fn scatter(&mut self, from: u64, items: &Items, bytes: u64) -> Result<()> {
        if items.is_contiguous() {
            return self.copy(from, items.va, bytes);
        }
        let runs = self.unpack(from, items, bytes)?;
        self.charge(self.local.params.datatype_run * runs + self.local.cpu.copy_cost(bytes));
        Ok(())
    }

    /// Copies items to items of the same number of bytes.
    pub(crate) fn copy_items(&mut self, from: &Items, to: &Items) -> Result<()> {
        let bytes = from.bytes().min(to.bytes());
        if from.is_contiguous() {
            return self.scatter(from.va, to, bytes);
        }
        let buffer = self.scratch.take(self.local.cpu.memory(), from.bytes());
        let copied = self.gather(from, buffer.va).and_then(|()| self.scatter(buffer.va, to, bytes));
        self.scratch.give(buffer);
        copied
    }
}
