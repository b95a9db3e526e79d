//! Constructors of datatypes that take arrays. `W` is the width of the numbers in them: 4 bytes
//! (`int`), 8 in the functions for large counts; offsets in bytes are always of 8.

use super::arguments::{count, int};
use super::datatype::add;
use super::Answer;
use crate::constant;
use crate::constructor::{check_shape, Block};
use crate::datatype::Type;
use crate::error::{Error, Result};
use crate::process::Process;

/// Offsets in items become offsets in bytes.
fn scaled(places: Vec<i64>, of: &Type) -> Result<Vec<i64>> {
    let scale = |place: i64| {
        place.checked_mul(of.extent).ok_or_else(|| {
            Error::new(constant::ERR_ARG, format!("displacement {place} is too large"))
        })
    };
    places.into_iter().map(scale).collect()
}

fn zip(places: Vec<i64>, lengths: Vec<u64>) -> Vec<(i64, u64)> {
    places.into_iter().zip(lengths).collect()
}

/// `count, blocklengths, displacements, oldtype, newtype`.
pub(super) fn indexed<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let number = count(args[0], "count")?;
    let of = mpi.types.any(args[3])?;
    let lengths = mpi.counts::<W>(args[1], number, "the block lengths")?;
    let places = scaled(mpi.numbers::<W>(args[2], number, "the displacements")?, &of)?;
    add(mpi, of.indexed(&zip(places, lengths)), args[4])
}

/// The same; the displacements are in bytes.
pub(super) fn hindexed<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let number = count(args[0], "count")?;
    let of = mpi.types.any(args[3])?;
    let lengths = mpi.counts::<W>(args[1], number, "the block lengths")?;
    let places = mpi.numbers::<8>(args[2], number, "the displacements")?;
    add(mpi, of.indexed(&zip(places, lengths)), args[4])
}

/// `count, blocklength, displacements, oldtype, newtype`.
pub(super) fn indexed_block<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let (number, length) = (count(args[0], "count")?, count(args[1], "block length")?);
    let of = mpi.types.any(args[3])?;
    let places = scaled(mpi.numbers::<W>(args[2], number, "the displacements")?, &of)?;
    let lengths = vec![length; places.len()];
    add(mpi, of.indexed(&zip(places, lengths)), args[4])
}

/// The same; the displacements are in bytes.
pub(super) fn hindexed_block(mpi: &mut Process, args: &[u64]) -> Answer {
    let (number, length) = (count(args[0], "count")?, count(args[1], "block length")?);
    let of = mpi.types.any(args[3])?;
    let places = mpi.numbers::<8>(args[2], number, "the displacements")?;
    let lengths = vec![length; places.len()];
    add(mpi, of.indexed(&zip(places, lengths)), args[4])
}

/// `count, blocklengths, displacements, types, newtype`.
pub(super) fn structure<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let number = count(args[0], "count")?;
    let lengths = mpi.counts::<W>(args[1], number, "the block lengths")?;
    let places = mpi.numbers::<8>(args[2], number, "the displacements")?;
    let types = mpi.numbers::<8>(args[3], number, "the datatypes")?;
    let types = types.into_iter().map(|handle| mpi.types.any(handle as u64));
    let types = types.collect::<Result<Vec<_>>>()?;
    let blocks: Vec<Block<'_>> = (lengths.into_iter().zip(places).zip(&types))
        .map(|((count, offset), of)| Block { offset, count, of })
        .collect();
    add(mpi, Type::structure(&blocks), args[4])
}

/// `ndims, sizes, subsizes, starts, order, oldtype, newtype`.
pub(super) fn subarray<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let number = count(args[0], "the number of dimensions")?;
    let mut whole = mpi.counts::<W>(args[1], number, "the sizes")?;
    let mut part = mpi.counts::<W>(args[2], number, "the subsizes")?;
    let mut start = mpi.counts::<W>(args[3], number, "the starts")?;
    check_shape(&whole, &part, &start)?;
    match int(args[4]) {
        constant::ORDER_C => {}
        constant::ORDER_FORTRAN => {
            [&mut whole, &mut part, &mut start].into_iter().for_each(|list| list.reverse());
        }
        order => {
            let text = format!("order {order} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
            return Err(Error::new(constant::ERR_ARG, text));
        }
    }
    let of = mpi.types.any(args[5])?;
    add(mpi, of.subarray(&whole, &part, &start), args[6])
}
