//! Packing by hand, and the elements of what was received. `W` is the width of a position or a
//! size: 4 bytes (`int`), 8 in the functions for large counts.

use super::arguments::count;
use super::handler::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;

/// Position in a buffer at which packed data of `bytes` bytes begin.
fn place<const W: usize>(mpi: &Process, va: u64, bytes: u64, room: u64) -> Result<u64> {
    let position = mpi.counts::<W>(va, 1, "the position")?[0];
    let room = count(room, "size")?;
    if position.checked_add(bytes).is_some_and(|end| end <= room) {
        return Ok(position);
    }
    let text = format!("{bytes} packed bytes at {position} do not fit in the buffer of {room}");
    Err(Error::new(constant::ERR_TRUNCATE, text))
}

/// `inbuf, incount, datatype, outbuf, outsize, position, comm`.
pub(super) fn pack<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    mpi.comm_of(args[6])?;
    let items = mpi.items(args[0], args[1], args[2])?;
    let position = place::<W>(mpi, args[5], items.bytes(), args[4])?;
    items.gather(&mut mpi.p2p.local, args[3].wrapping_add(position))?;
    mpi.put_numbers::<W>(args[5], "the position", &[(position + items.bytes()) as i64])
}

/// `inbuf, insize, position, outbuf, outcount, datatype, comm`.
pub(super) fn unpack<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    mpi.comm_of(args[6])?;
    let items = mpi.items(args[3], args[4], args[5])?;
    let position = place::<W>(mpi, args[2], items.bytes(), args[1])?;
    items.scatter(&mut mpi.p2p.local, args[0].wrapping_add(position), items.bytes())?;
    mpi.put_numbers::<W>(args[2], "the position", &[(position + items.bytes()) as i64])
}

/// `incount, datatype, comm, size`: a size, not a message; `MPI_UNDEFINED` if its type cannot hold it.
pub(super) fn pack_size<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    mpi.comm_of(args[2])?;
    let items = mpi.room(0, args[0], args[1])?;
    let bytes = items.count.checked_mul(items.datatype.size);
    let most = i64::MAX as u64 >> (64 - 8 * W);
    let size =
        bytes.filter(|&bytes| bytes <= most).map_or(i64::from(constant::UNDEFINED), |b| b as i64);
    mpi.put_numbers::<W>(args[3], "the size", &[size])
}

fn elements(mpi: &Process, args: &[u64]) -> Result<Option<u64>> {
    let (bytes, _) = mpi.get_status(args[0])?;
    Ok(mpi.objects.types.any(args[1])?.elements_in(bytes))
}

/// `status, datatype, count`.
pub(super) fn get_elements(mpi: &mut Process, args: &[u64]) -> Answer {
    let elements = elements(mpi, args)?.and_then(|elements| i32::try_from(elements).ok());
    mpi.put_int(args[2], "the count", elements.unwrap_or(constant::UNDEFINED))
}

pub(super) fn get_elements_c(mpi: &mut Process, args: &[u64]) -> Answer {
    let elements = elements(mpi, args)?.map_or(i64::from(constant::UNDEFINED), |e| e as i64);
    mpi.put_word(args[2], "the count", elements as u64)
}

/// `status, datatype, count`.
pub(super) fn set_elements(mpi: &mut Process, args: &[u64]) -> Answer {
    let datatype = mpi.objects.types.any(args[1])?;
    let elements = count(args[2], "count")?;
    let bytes = datatype.bytes_of(elements).ok_or_else(|| {
        let text = format!("{elements} elements of the type have more than 2^63 bytes");
        Error::new(constant::ERR_COUNT, text)
    })?;
    mpi.set_status_bytes(args[0], bytes)
}
