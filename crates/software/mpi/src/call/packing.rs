//! Packing by hand, and the elements of what was received. `W` is the width of a position or a
//! size: 4 bytes (`int`), 8 in the functions for large counts.

use super::arguments::count;
use super::handler::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;

/// Position in a buffer at which packed data of `bytes` bytes begin.
fn place<const W: usize>(mpi: &Process, va: u64, bytes: u64, room: i64) -> Result<u64> {
    let position = mpi.counts::<W>(va, 1, "the position")?[0];
    let room = count(room, "size")?;
    if position.checked_add(bytes).is_some_and(|end| end <= room) {
        return Ok(position);
    }
    let text = format!("{bytes} packed bytes at {position} do not fit in the buffer of {room}");
    Err(Error::new(constant::ERR_TRUNCATE, text))
}

pub(super) fn pack<const W: usize>(mpi: &mut Process, args: &args::Pack) -> Answer {
    mpi.comm_of(args.comm)?;
    let items = mpi.items(args.inbuf, args.incount, args.datatype)?;
    let position = place::<W>(mpi, args.position, items.bytes(), args.outsize)?;
    items.gather(&mut mpi.p2p.local, args.outbuf.wrapping_add(position))?;
    mpi.put_numbers::<W>(args.position, "the position", &[(position + items.bytes()) as i64])
}

pub(super) fn unpack<const W: usize>(mpi: &mut Process, args: &args::Unpack) -> Answer {
    mpi.comm_of(args.comm)?;
    let items = mpi.items(args.outbuf, args.outcount, args.datatype)?;
    let position = place::<W>(mpi, args.position, items.bytes(), args.insize)?;
    items.scatter(&mut mpi.p2p.local, args.inbuf.wrapping_add(position), items.bytes())?;
    mpi.put_numbers::<W>(args.position, "the position", &[(position + items.bytes()) as i64])
}

/// A size, not a message; `MPI_UNDEFINED` if its type cannot hold it.
pub(super) fn pack_size<const W: usize>(mpi: &mut Process, args: &args::PackSize) -> Answer {
    mpi.comm_of(args.comm)?;
    let items = mpi.room(0, args.incount, args.datatype)?;
    let bytes = items.count.checked_mul(items.datatype.size);
    let most = i64::MAX as u64 >> (64 - 8 * W);
    let size =
        bytes.filter(|&bytes| bytes <= most).map_or(i64::from(constant::UNDEFINED), |b| b as i64);
    mpi.put_numbers::<W>(args.size, "the size", &[size])
}

fn elements(mpi: &Process, args: &args::GetElements) -> Result<Option<u64>> {
    let (bytes, _) = mpi.get_status(args.status)?;
    Ok(mpi.objects.types.any(args.datatype)?.elements_in(bytes))
}

pub(super) fn get_elements(mpi: &mut Process, args: &args::GetElements) -> Answer {
    let elements = elements(mpi, args)?.and_then(|elements| i32::try_from(elements).ok());
    mpi.put_int(args.count, "the count", elements.unwrap_or(constant::UNDEFINED))
}

pub(super) fn get_elements_c(mpi: &mut Process, args: &args::GetElementsC) -> Answer {
    let elements = elements(mpi, args)?.map_or(i64::from(constant::UNDEFINED), |e| e as i64);
    mpi.put_word(args.count, "the count", elements as u64)
}

pub(super) fn set_elements(mpi: &mut Process, args: &args::StatusSetElements) -> Answer {
    let datatype = mpi.objects.types.any(args.datatype)?;
    let elements = count(args.count, "count")?;
    let bytes = datatype.bytes_of(elements).ok_or_else(|| {
        let text = format!("{elements} elements of the type have more than 2^63 bytes");
        Error::new(constant::ERR_COUNT, text)
    })?;
    mpi.set_status_bytes(args.status, bytes)
}
