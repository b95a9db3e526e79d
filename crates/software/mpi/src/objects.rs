//! Objects that a program makes and frees: datatypes, operations, groups, and uses of them.

use crate::comm::group::Groups;
use crate::comm::CommId;
use crate::constant;
use crate::datatype::items::Items;
use crate::datatype::types::Types;
use crate::datatype::Type;
use crate::error::Result;
use crate::reduction::Ops;
use crate::request::point_to_point::PointToPoint;
use crate::uses::Uses;
use std::rc::Rc;

/// The objects of a process, except its communicators.
pub(crate) struct Objects {
    pub types: Types,
    pub ops: Ops,
    pub groups: Groups,
    pub uses: Uses,
}

impl Objects {
    /// Those that the standard predefines.
    pub fn new() -> Objects {
        Objects {
            types: Types::new(),
            ops: Ops::default(),
            groups: Groups::default(),
            uses: Uses::default(),
        }
    }

    /// Bytes as items.
    pub fn bytes(&self, va: u64, count: u64) -> Items {
        let datatype = self.types.any(constant::BYTE).expect("a predefined type is there");
        Items { va, count, datatype }
    }

    /// The committed type of a handle.
    pub fn datatype(&self, handle: u64) -> Result<Rc<Type>> {
        self.types.committed(handle)
    }

    /// True if the program has made what this handle names, and may free it: a datatype, an
    /// operation, a communicator.
    pub fn is_freeable(&self, p2p: &PointToPoint, handle: u64) -> bool {
        Types::is_derived(handle) && self.types.any(handle).is_ok()
            || self.ops.is_user(handle)
            || CommId::made(handle).is_some_and(|comm| p2p.comm(comm).is_ok())
    }

    /// Ends an operation's use of an object, which is removed if it was freed.
    pub fn let_go(&mut self, p2p: &mut PointToPoint, handle: u64) -> Result<()> {
        if self.uses.let_go(handle) {
            self.free(p2p, handle)?;
        }
        Ok(())
    }

    /// The program frees an object: now, or when no operation needs it any more.
    pub fn free_when_unused(&mut self, p2p: &mut PointToPoint, handle: u64) -> Result<()> {
        if self.uses.free(handle) {
            self.free(p2p, handle)?;
        }
        Ok(())
    }

    /// Frees an object that the program has made.
    fn free(&mut self, p2p: &mut PointToPoint, handle: u64) -> Result<()> {
        if Types::is_derived(handle) {
            return self.types.free(handle);
        }
        if self.ops.is_user(handle) {
            return self.ops.remove(handle);
        }
        p2p.free_comm(CommId::made(handle).unwrap_or(CommId(u32::MAX)))
    }
}
