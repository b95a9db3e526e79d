//! Info objects: keys with values, in the order in which they were first set. No key means anything
//! to this library.

use super::arguments::int;
use super::handler::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::side::infos::Pairs;

impl Process {
    fn info(&mut self, handle: u64) -> Result<&mut Pairs> {
        self.side.infos.get(handle)
    }

    fn key(&self, va: u64) -> Result<Vec<u8>> {
        self.info_text(va, constant::MAX_INFO_KEY, constant::ERR_INFO_KEY, "the key")
    }

    fn info_text(&self, va: u64, max: i32, class: i32, what: &str) -> Result<Vec<u8>> {
        let text = self.get_string(va, max + 1, what)?;
        if text.is_empty() && class == constant::ERR_INFO_KEY || text.len() >= max as usize {
            return Err(Error::new(class, format!("{what} has {} bytes", text.len())));
        }
        Ok(text)
    }

    /// The value of a key.
    pub(super) fn value(&mut self, handle: u64, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.info(handle)?.value(key).cloned())
    }

    /// Stores at most `room` bytes of a text, and a zero behind them.
    fn put_text(&self, va: u64, text: &[u8], room: usize) -> Result<()> {
        let bytes = &text[..text.len().min(room)];
        self.put_bytes(va, "the string", &[bytes, &[0]].concat())
    }

    /// Fills MPI_INFO_ENV: called when the program initialises MPI.
    pub(super) fn set_environment(&mut self) {
        let size = self.world().size;
        self.side.infos.environment.set("maxprocs".into(), size.to_string().into());
    }
}

pub(super) fn create(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.side.infos.add(Pairs::default());
    mpi.put_word(args[0], "the info object", handle)
}

/// `argc, argv, info`: the arguments say nothing that is a key here.
pub(super) fn create_env(mpi: &mut Process, args: &[u64]) -> Answer {
    let pairs = mpi.info(constant::INFO_ENV)?.clone();
    let handle = mpi.side.infos.add(pairs);
    mpi.put_word(args[2], "the info object", handle)
}

/// `info, newinfo`.
pub(super) fn dup(mpi: &mut Process, args: &[u64]) -> Answer {
    let pairs = mpi.info(args[0])?.clone();
    let handle = mpi.side.infos.add(pairs);
    mpi.put_word(args[1], "the info object", handle)
}

pub(super) fn free(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the info object")?;
    mpi.info(handle)?;
    if handle == constant::INFO_ENV {
        return Err(Error::new(constant::ERR_INFO, "MPI_INFO_ENV cannot be freed"));
    }
    mpi.side.infos.table.remove(handle);
    mpi.put_word(args[0], "the info object", constant::INFO_NULL)
}

/// `info, key, value`.
pub(super) fn set(mpi: &mut Process, args: &[u64]) -> Answer {
    let key = mpi.key(args[1])?;
    let (max, class) = (constant::MAX_INFO_VAL, constant::ERR_INFO_VALUE);
    let value = mpi.info_text(args[2], max, class, "the value")?;
    mpi.info(args[0])?.set(key, value);
    Ok(())
}

/// `info, key`.
pub(super) fn delete(mpi: &mut Process, args: &[u64]) -> Answer {
    let key = mpi.key(args[1])?;
    if mpi.info(args[0])?.remove(&key) {
        return Ok(());
    }
    let text = format!("there is no key {}", String::from_utf8_lossy(&key));
    Err(Error::new(constant::ERR_INFO_NOKEY, text))
}

/// `info, key, valuelen, value, flag`.
pub(super) fn get(mpi: &mut Process, args: &[u64]) -> Answer {
    let key = mpi.key(args[1])?;
    let found = mpi.value(args[0], &key)?;
    if let Some(value) = &found {
        mpi.put_text(args[3], value, usize::try_from(int(args[2])).unwrap_or(0))?;
    }
    mpi.put_int(args[4], "the flag", i32::from(found.is_some()))
}

/// `info, key, buflen, value, flag`; lengths count the zero at the end.
pub(super) fn get_string(mpi: &mut Process, args: &[u64]) -> Answer {
    let key = mpi.key(args[1])?;
    let room = usize::try_from(mpi.get_int(args[2], "the length")?).unwrap_or(0);
    let found = mpi.value(args[0], &key)?;
    if let Some(value) = &found {
        if room > 0 {
            mpi.put_text(args[3], value, room - 1)?;
        }
        mpi.put_int(args[2], "the length", value.len() as i32 + 1)?;
    }
    mpi.put_int(args[4], "the flag", i32::from(found.is_some()))
}

/// `info, key, valuelen, flag`.
pub(super) fn get_valuelen(mpi: &mut Process, args: &[u64]) -> Answer {
    let key = mpi.key(args[1])?;
    let found = mpi.value(args[0], &key)?;
    if let Some(value) = &found {
        mpi.put_int(args[2], "the length", value.len() as i32)?;
    }
    mpi.put_int(args[3], "the flag", i32::from(found.is_some()))
}

/// `info, nkeys`.
pub(super) fn get_nkeys(mpi: &mut Process, args: &[u64]) -> Answer {
    let number = mpi.info(args[0])?.len();
    mpi.put_int(args[1], "the number of keys", number as i32)
}

/// `info, n, key`.
pub(super) fn get_nthkey(mpi: &mut Process, args: &[u64]) -> Answer {
    let n = int(args[1]);
    let pairs = mpi.info(args[0])?;
    let found = usize::try_from(n).ok().and_then(|n| pairs.key(n)).cloned();
    let key = found.ok_or_else(|| {
        let text = format!("there is no key {n}: the info object has {}", pairs.len());
        Error::new(constant::ERR_ARG, text)
    })?;
    mpi.put_text(args[2], &key, key.len())
}

/// `comm, info`: what a program wishes changes nothing, and is not remembered.
pub(super) fn comm_set(mpi: &mut Process, args: &[u64]) -> Answer {
    mpi.comm_of(args[0])?;
    if args[1] != constant::INFO_NULL {
        mpi.info(args[1])?;
    }
    Ok(())
}

/// `comm, info`: no hint is in use.
pub(super) fn comm_get(mpi: &mut Process, args: &[u64]) -> Answer {
    mpi.comm_of(args[0])?;
    let handle = mpi.side.infos.add(Pairs::default());
    mpi.put_word(args[1], "the info object", handle)
}
