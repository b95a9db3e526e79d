//! Raw arguments become what they mean, or an error that says what is allowed.

use crate::comm::CommId;
use crate::constant;
use crate::datatype::items::{Items, MAX_MESSAGE};
use crate::error::{Error, Result};
use crate::process::Process;
use crate::request::{RequestId, Status};
use abi::mpi::status;

/// Bytes of an array that are read at a time.
const READ_MAX: usize = 1 << 16;
/// Bytes of a string that are read at a time: a part of a page.
const STRING_PIECE: usize = 64;

/// A count of something.
pub(crate) fn count(number: impl Into<i64>, what: &str) -> Result<u64> {
    let number = number.into();
    u64::try_from(number)
        .map_err(|_| Error::new(constant::ERR_COUNT, format!("{what} {number} is negative")))
}

/// All of several counts.
pub(crate) fn total(counts: &[u64], what: &str) -> Result<u64> {
    let total = counts.iter().try_fold(0u64, |all, &count| all.checked_add(count));
    let total = total.filter(|&total| i64::try_from(total).is_ok());
    total.ok_or_else(|| {
        Error::new(constant::ERR_COUNT, format!("{what} are more than 2^63 together"))
    })
}

impl Process {
    /// A communicator; its error handler hears of the call's errors.
    pub(crate) fn comm_of(&mut self, handle: u64) -> Result<CommId> {
        let id = match handle {
            constant::COMM_WORLD => Some(CommId::WORLD),
            constant::COMM_SELF => Some(CommId::SELF),
            _ => CommId::made(handle),
        };
        let id = id.filter(|&id| self.comm(id).is_ok_and(|comm| !comm.freed));
        let id = id.ok_or_else(|| {
            let text = match handle {
                constant::COMM_NULL => "the communicator is MPI_COMM_NULL".to_string(),
                _ => format!("{handle:#x} is no communicator, or it was freed"),
            };
            Error::new(constant::ERR_COMM, text)
        })?;
        if !self.comm(id)?.is_ready {
            let text =
                "the communicator is not there before the request of MPI_Comm_idup is complete";
            return Err(Error::new(constant::ERR_COMM, text));
        }
        self.side.blame = id;
        Ok(id)
    }

    /// `count` items of the type `datatype` at `va`, which one message can hold.
    pub(crate) fn items(&self, va: u64, number: i64, datatype: u64) -> Result<Items> {
        let items = self.room(va, number, datatype)?;
        if items.bytes() > MAX_MESSAGE {
            let (number, size) = (items.count, items.datatype.size);
            let text = format!("{number} items of {size} bytes are more than {MAX_MESSAGE} bytes");
            return Err(Error::new(constant::ERR_COUNT, text));
        }
        Ok(items)
    }
    /// The same for items that a message is received into, which may be smaller.
    pub(crate) fn room(&self, va: u64, number: i64, datatype: u64) -> Result<Items> {
        let count = count(number, "count")?;
        Ok(Items { va, count, datatype: self.datatype(datatype)? })
    }

    /// The request of a handle; None for MPI_REQUEST_NULL and for one that is not active.
    pub(crate) fn request_of(&self, handle: u64) -> Result<Option<RequestId>> {
        if handle == constant::REQUEST_NULL {
            return Ok(None);
        }
        let found = self.side.handles.get(handle);
        if found.is_none() && self.side.persistent.has(handle) {
            return Ok(None);
        }
        found.map(Some).ok_or_else(|| {
            let text = format!("{handle:#x} is no request, or it was completed before");
            Error::new(constant::ERR_REQUEST, text)
        })
    }

    // Results.

    /// Stores bytes.
    pub(crate) fn put_bytes(&self, va: u64, what: &str, data: &[u8]) -> Result<()> {
        if va == 0 {
            let text = format!("the address of {what} is a null pointer");
            return Err(Error::new(constant::ERR_ARG, text));
        }
        self.write(va, data)
    }
    /// Stores an `int`.
    pub(crate) fn put_int(&self, va: u64, what: &str, value: i32) -> Result<()> {
        self.put_bytes(va, what, &value.to_le_bytes())
    }
    /// Stores an `MPI_Aint`, an `MPI_Count` or a handle.
    pub(crate) fn put_word(&self, va: u64, what: &str, value: u64) -> Result<()> {
        self.put_bytes(va, what, &value.to_le_bytes())
    }
    /// Stores a string, in whatever encoding, and its length.
    pub(crate) fn put_string(&self, va: u64, length_va: u64, text: impl AsRef<[u8]>) -> Result<()> {
        let text = text.as_ref();
        let bytes = [text, &[0]].concat();
        self.put_bytes(va, "the string", &bytes)?;
        self.put_int(length_va, "the string's length", text.len() as i32)
    }
    /// Reads a handle.
    pub(crate) fn get_word(&self, va: u64, what: &str) -> Result<u64> {
        let mut bytes = [0; 8];
        if va == 0 {
            let text = format!("the address of {what} is a null pointer");
            return Err(Error::new(constant::ERR_ARG, text));
        }
        self.read(va, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Reads an `int`.
    pub(crate) fn get_int(&self, va: u64, what: &str) -> Result<i32> {
        Ok(self.numbers::<4>(va, 1, what)?[0] as i32)
    }
    /// Reads `count` numbers of `W` bytes.
    pub(crate) fn numbers<const W: usize>(
        &self,
        va: u64,
        count: u64,
        what: &str,
    ) -> Result<Vec<i64>> {
        if count == 0 {
            return Ok(Vec::new());
        }
        if va == 0 {
            let text = format!("the address of {what} is a null pointer");
            return Err(Error::new(constant::ERR_ARG, text));
        }
        let length = count.checked_mul(W as u64).filter(|&length| length <= MAX_MESSAGE);
        let length = length.ok_or_else(|| {
            Error::new(constant::ERR_COUNT, format!("{what} are {count}, which is too many"))
        })?;
        let number = |word: &[u8]| {
            let mut wide = [if word[W - 1] < 0x80 { 0 } else { 0xff }; 8];
            wide[..W].copy_from_slice(word);
            i64::from_le_bytes(wide)
        };
        // The count may be wrong: room is made only for what is there.
        let (mut numbers, mut piece) = (Vec::new(), [0; READ_MAX]);
        for at in (0..length).step_by(READ_MAX) {
            let piece = &mut piece[..(length - at).min(READ_MAX as u64) as usize];
            self.read(va.wrapping_add(at), piece)?;
            numbers.extend(piece.chunks_exact(W).map(number));
        }
        Ok(numbers)
    }
    /// Reads `number` counts of `W` bytes.
    pub(crate) fn counts<const W: usize>(
        &self,
        va: u64,
        number: u64,
        what: &str,
    ) -> Result<Vec<u64>> {
        let numbers = self.numbers::<W>(va, number, what)?;
        numbers.into_iter().map(|number| count(number, "count")).collect()
    }
    /// Stores numbers of `W` bytes.
    pub(crate) fn put_numbers<const W: usize>(
        &self,
        va: u64,
        what: &str,
        numbers: &[i64],
    ) -> Result<()> {
        if numbers.is_empty() {
            return Ok(());
        }
        let mut bytes = Vec::with_capacity(numbers.len() * W);
        numbers.iter().for_each(|number| bytes.extend(&number.to_le_bytes()[..W]));
        self.put_bytes(va, what, &bytes)
    }
    /// Reads a string of at most `limit - 1` bytes; the rest is cut off. Its encoding is the
    /// program's: it goes back as it came.
    pub(crate) fn get_string(&self, va: u64, limit: i32, what: &str) -> Result<Vec<u8>> {
        if va == 0 {
            let text = format!("the address of {what} is a null pointer");
            return Err(Error::new(constant::ERR_ARG, text));
        }
        let (mut bytes, mut piece) = (Vec::new(), [0; STRING_PIECE]);
        let max = usize::try_from(limit - 1).unwrap_or(0);
        while bytes.len() < max {
            // The memory behind the string need not be there: a piece ends with its page at the latest.
            let at = va.wrapping_add(bytes.len() as u64);
            let room = (max - bytes.len()).min(STRING_PIECE - at as usize % STRING_PIECE);
            self.read(at, &mut piece[..room])?;
            let end = piece[..room].iter().position(|&byte| byte == 0);
            bytes.extend(&piece[..end.unwrap_or(room)]);
            if end.is_some() {
                break;
            }
        }
        Ok(bytes)
    }
    /// Sets the number of bytes received in a status.
    pub(crate) fn set_status_bytes(&self, va: u64, bytes: u64) -> Result<()> {
        self.write(va.wrapping_add(BYTES as u64), &bytes.to_le_bytes())
    }
    /// Changes whether a status says that the operation was cancelled.
    pub(crate) fn set_status_cancelled(&self, va: u64, cancelled: bool) -> Result<()> {
        self.write(va.wrapping_add(status::INTERNAL as u64), &i32::from(cancelled).to_le_bytes())
    }

    /// Stores the status of a call that has one; its error field stays as it is, as the standard
    /// asks, unless the status is the empty one.
    pub(crate) fn put_status(&self, va: u64, value: &Status) -> Result<()> {
        if va == constant::STATUS_IGNORE {
            return Ok(());
        }
        let bytes = status_bytes(value);
        if *value == Status::EMPTY {
            return self.write(va, &bytes);
        }
        self.write(va, &bytes[..status::ERROR])?;
        self.write(va.wrapping_add(status::INTERNAL as u64), &bytes[status::INTERNAL..])
    }
    /// Stores the statuses of a call that has several, error fields included.
    pub(crate) fn put_statuses(&self, va: u64, values: &[Status]) -> Result<()> {
        if va == constant::STATUSES_IGNORE || values.is_empty() {
            return Ok(());
        }
        self.write(va, &values.iter().flat_map(status_bytes).collect::<Vec<u8>>())
    }
    /// Reads the library's part of a status: bytes received, and whether it was cancelled.
    pub(crate) fn get_status(&self, va: u64) -> Result<(u64, bool)> {
        let mut bytes = [0; status::SIZE];
        self.read(va, &mut bytes)?;
        let length = bytes[BYTES..BYTES + 8].try_into().expect("eight bytes");
        Ok((u64::from_le_bytes(length), bytes[status::INTERNAL] != 0))
    }
}

/// Offset in a status of the bytes received: the first aligned 8 bytes of its internal part, whose first
/// word says whether the operation was cancelled.
const BYTES: usize = 16;

fn status_bytes(value: &Status) -> [u8; status::SIZE] {
    let mut bytes = [0; status::SIZE];
    let mut put = |at: usize, word: i32| bytes[at..at + 4].copy_from_slice(&word.to_le_bytes());
    put(status::SOURCE, value.source);
    put(status::TAG, value.tag);
    put(status::ERROR, value.error);
    put(status::INTERNAL, i32::from(value.cancelled));
    bytes[BYTES..BYTES + 8].copy_from_slice(&value.bytes.to_le_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_beyond_every_memory_are_an_error() {
        let most = i64::MAX as u64;
        assert_eq!(total(&[], "the counts").map_err(|e| e.class), Ok(0));
        assert_eq!(total(&[most - 1, 1], "the counts").map_err(|e| e.class), Ok(most));
        for counts in [&[most, 1][..], &[most, most, most]] {
            let error = total(counts, "the counts").unwrap_err();
            assert_eq!(error.class, constant::ERR_COUNT);
            assert_eq!(error.text, "the counts are more than 2^63 together");
        }
    }
}
