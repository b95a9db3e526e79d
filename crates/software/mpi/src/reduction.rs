//! Reductions as collectives do them: a predefined operation or one of the program's, on packed
//! items.

use crate::constant;
use crate::datatype::types::Types;
use crate::datatype::{Basic, Type};
use crate::error::{Error, Result};
use crate::local::{Local, PIECE};
use crate::slots::{Slots, OPERATIONS};
use op::Op;
use std::rc::Rc;

pub(crate) mod long_double;
pub(crate) mod op;

/// An operation of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UserOp {
    /// Address of its function.
    pub function: u64,
    /// The operands may change places.
    pub commutes: bool,
}

/// Any operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operator {
    Predefined(Op),
    User(UserOp),
}

impl Operator {
    /// The operands may change places.
    pub fn commutes(self) -> bool {
        match self {
            Operator::Predefined(op) => !matches!(op, Op::Replace | Op::NoOp),
            Operator::User(user) => user.commutes,
        }
    }
}

/// The operations that the program has made.
#[derive(Default)]
pub(crate) struct Ops {
    table: Slots<UserOp, OPERATIONS>,
}

impl Ops {
    /// Adds one; its handle.
    pub fn add(&mut self, op: UserOp) -> u64 {
        self.table.add(op)
    }
    /// The operation of a handle.
    pub fn get(&self, handle: u64) -> Result<Operator> {
        if let Some(op) = Op::from_handle(handle) {
            return Ok(Operator::Predefined(op));
        }
        self.table.get(handle).copied().map(Operator::User).ok_or_else(|| {
            let text = match handle {
                constant::OP_NULL => "the operation is MPI_OP_NULL".to_string(),
                _ => format!("{handle:#x} is no operation, or it was freed"),
            };
            Error::new(constant::ERR_OP, text)
        })
    }
    /// True if `handle` is one that the program has made.
    pub fn is_user(&self, handle: u64) -> bool {
        matches!(self.get(handle), Ok(Operator::User(_)))
    }
    /// Forgets one; operations under way keep it.
    pub fn remove(&mut self, handle: u64) -> Result<()> {
        if let Operator::Predefined(op) = self.get(handle)? {
            let text = format!("the predefined operation {} cannot be freed", op.name());
            return Err(Error::new(constant::ERR_OP, text));
        }
        self.table.remove(handle);
        Ok(())
    }
}

/// Operation to apply to two packed items of a type.
#[derive(Clone, Debug)]
pub(crate) struct Reduction {
    pub operator: Operator,
    pub datatype: Rc<Type>,
    /// Handle of the datatype, which a function of the program gets.
    pub handle: u64,
}

/// Addresses of packed items that are combined; the result replaces the second.
#[derive(Clone, Copy)]
pub(crate) struct Operands {
    pub input: u64,
    pub inout: u64,
}

impl Reduction {
    /// Bytes of a packed item.
    pub fn size(&self) -> u64 {
        self.datatype.size
    }
    /// True if the program gets the handle of a datatype that it may free meanwhile.
    pub fn needs_handle(&self) -> bool {
        matches!(self.operator, Operator::User(_)) && Types::is_derived(self.handle)
    }
    /// The meaning of the bytes for a predefined operation; an error if it is not defined on them.
    fn basic(&self, op: Op) -> Result<Basic> {
        let datatype = &self.datatype;
        let basic = datatype.basic.filter(|&basic| datatype.predefined && op.is_legal(basic));
        basic.ok_or_else(|| {
            let text = format!("{} is not defined on {}", op.name(), datatype.name);
            Error::new(constant::ERR_OP, text)
        })
    }
    /// An error if the operation is not defined on the type.
    pub fn check(&self) -> Result<()> {
        match self.operator {
            Operator::Predefined(op) => self.basic(op).map(|_| ()),
            Operator::User(_) => Ok(()),
        }
    }

    /// Charges the work of reducing `count` packed items.
    pub fn charge(&self, local: &mut Local, count: u64) {
        local.charge(local.params.reduce_element * (count * self.datatype.elements));
    }

    /// `inout = input op inout` on `count` packed items, by a predefined operation.
    pub fn combine(&self, op: Op, local: &mut Local, operands: Operands, count: u64) -> Result<()> {
        let Operands { input, inout } = operands;
        let bytes = count * self.size();
        let basic = self.basic(op)?;
        // Whole items at a time.
        let size = self.size();
        let most = (PIECE / size).max(1) * size;
        let mut bounce = std::mem::take(&mut local.bounce);
        bounce.resize(2 * most.min(bytes) as usize, 0);
        let (left, right) = bounce.split_at_mut(most.min(bytes) as usize);
        let mut pieces = (0..bytes).step_by(most as usize);
        let combined = pieces.try_for_each(|at| {
            let length = (bytes - at).min(most) as usize;
            let (left, right) = (&mut left[..length], &mut right[..length]);
            let (input, inout) = (input.wrapping_add(at), inout.wrapping_add(at));
            local.read(input, left).and_then(|()| local.read(inout, right))?;
            op.apply(basic, left, right);
            local.write(inout, right)
        });
        local.bounce = bounce;
        combined
    }
}
