//! Datatypes.

use super::arguments::count;
use super::{Answer, Mpi};
use crate::constant;
use crate::datatype::Type;
use crate::error::{Error, Result};

pub(super) fn size(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let size = mpi.process.types.any(args[0])?.size;
    mpi.put_int(args[1], "the size", i32::try_from(size).unwrap_or(constant::UNDEFINED))
}

pub(super) fn size_c(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let size = mpi.process.types.any(args[0])?.size;
    mpi.put_word(args[1], "the size", size)
}

pub(super) fn get_extent(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let datatype = mpi.process.types.any(args[0])?;
    mpi.put_word(args[1], "the lower bound", datatype.lower_bound as u64)?;
    mpi.put_word(args[2], "the extent", datatype.extent as u64)
}

pub(super) fn get_true_extent(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let (low, high) = mpi.process.types.any(args[0])?.span(1);
    mpi.put_word(args[1], "the true lower bound", low as u64)?;
    mpi.put_word(args[2], "the true extent", (high - low) as u64)
}

pub(super) fn contiguous(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let old = mpi.process.types.any(args[1])?;
    let new = old.contiguous(count(args[0], "count")?);
    add(mpi, new, args[2])
}

pub(super) fn vector(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let old = mpi.process.types.any(args[3])?;
    let (number, block) = (count(args[0], "count")?, count(args[1], "block length")?);
    let stride = (args[2] as i64).checked_mul(old.extent).ok_or_else(|| {
        Error::new(constant::ERR_ARG, format!("stride {} is too large", args[2] as i64))
    })?;
    add(mpi, old.vector(number, block, stride), args[4])
}

pub(super) fn hvector(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let old = mpi.process.types.any(args[3])?;
    let (number, block) = (count(args[0], "count")?, count(args[1], "block length")?);
    add(mpi, old.vector(number, block, args[2] as i64), args[4])
}

fn add(mpi: &mut Mpi, new: Result<Type>, va: u64) -> Answer {
    let handle = mpi.process.types.add(new?);
    mpi.put_word(va, "the new datatype", handle)
}

pub(super) fn commit(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the datatype")?;
    mpi.process.types.commit(handle)
}

pub(super) fn free(mpi: &mut Mpi, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the datatype")?;
    mpi.process.types.free(handle)?;
    mpi.put_word(args[0], "the datatype", constant::DATATYPE_NULL)
}
