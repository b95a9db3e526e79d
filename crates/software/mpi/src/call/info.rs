//! Info objects: keys with values, in the order in which they were first set. No key means anything
//! to this library.

use super::handler::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::side::infos::Pairs;
use abi::mpi::args;

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

pub(super) fn create(mpi: &mut Process, args: &args::InfoCreate) -> Answer {
    let handle = mpi.side.infos.add(Pairs::default());
    mpi.put_word(args.info, "the info object", handle)
}

/// The arguments say nothing that is a key here.
pub(super) fn create_env(mpi: &mut Process, args: &args::InfoCreateEnv) -> Answer {
    let pairs = mpi.info(constant::INFO_ENV)?.clone();
    let handle = mpi.side.infos.add(pairs);
    mpi.put_word(args.info, "the info object", handle)
}

pub(super) fn dup(mpi: &mut Process, args: &args::InfoDup) -> Answer {
    let pairs = mpi.info(args.info)?.clone();
    let handle = mpi.side.infos.add(pairs);
    mpi.put_word(args.newinfo, "the info object", handle)
}

pub(super) fn free(mpi: &mut Process, args: &args::InfoFree) -> Answer {
    let handle = mpi.get_word(args.info, "the info object")?;
    mpi.info(handle)?;
    if handle == constant::INFO_ENV {
        return Err(Error::new(constant::ERR_INFO, "MPI_INFO_ENV cannot be freed"));
    }
    mpi.side.infos.table.remove(handle);
    mpi.put_word(args.info, "the info object", constant::INFO_NULL)
}

pub(super) fn set(mpi: &mut Process, args: &args::InfoSet) -> Answer {
    let key = mpi.key(args.key)?;
    let (max, class) = (constant::MAX_INFO_VAL, constant::ERR_INFO_VALUE);
    let value = mpi.info_text(args.value, max, class, "the value")?;
    mpi.info(args.info)?.set(key, value);
    Ok(())
}

pub(super) fn delete(mpi: &mut Process, args: &args::InfoDelete) -> Answer {
    let key = mpi.key(args.key)?;
    if mpi.info(args.info)?.remove(&key) {
        return Ok(());
    }
    let text = format!("there is no key {}", String::from_utf8_lossy(&key));
    Err(Error::new(constant::ERR_INFO_NOKEY, text))
}

pub(super) fn get(mpi: &mut Process, args: &args::InfoGet) -> Answer {
    let key = mpi.key(args.key)?;
    let found = mpi.value(args.info, &key)?;
    if let Some(value) = &found {
        mpi.put_text(args.value, value, usize::try_from(args.valuelen).unwrap_or(0))?;
    }
    mpi.put_int(args.flag, "the flag", i32::from(found.is_some()))
}

/// Lengths count the zero at the end.
pub(super) fn get_string(mpi: &mut Process, args: &args::InfoGetString) -> Answer {
    let key = mpi.key(args.key)?;
    let room = usize::try_from(mpi.get_int(args.buflen, "the length")?).unwrap_or(0);
    let found = mpi.value(args.info, &key)?;
    if let Some(value) = &found {
        if room > 0 {
            mpi.put_text(args.value, value, room - 1)?;
        }
        mpi.put_int(args.buflen, "the length", value.len() as i32 + 1)?;
    }
    mpi.put_int(args.flag, "the flag", i32::from(found.is_some()))
}

pub(super) fn get_valuelen(mpi: &mut Process, args: &args::InfoGetValuelen) -> Answer {
    let key = mpi.key(args.key)?;
    let found = mpi.value(args.info, &key)?;
    if let Some(value) = &found {
        mpi.put_int(args.valuelen, "the length", value.len() as i32)?;
    }
    mpi.put_int(args.flag, "the flag", i32::from(found.is_some()))
}

pub(super) fn get_nkeys(mpi: &mut Process, args: &args::InfoGetNkeys) -> Answer {
    let number = mpi.info(args.info)?.len();
    mpi.put_int(args.nkeys, "the number of keys", number as i32)
}

pub(super) fn get_nthkey(mpi: &mut Process, args: &args::InfoGetNthkey) -> Answer {
    let n = args.n;
    let pairs = mpi.info(args.info)?;
    let found = usize::try_from(n).ok().and_then(|n| pairs.key(n)).cloned();
    let key = found.ok_or_else(|| {
        let text = format!("there is no key {n}: the info object has {}", pairs.len());
        Error::new(constant::ERR_ARG, text)
    })?;
    mpi.put_text(args.key, &key, key.len())
}

/// No wish of a program changes anything, and none is remembered.
pub(super) fn comm_set(mpi: &mut Process, args: &args::CommSetInfo) -> Answer {
    mpi.comm_of(args.comm)?;
    if args.info != constant::INFO_NULL {
        mpi.info(args.info)?;
    }
    Ok(())
}

/// No hint is in use.
pub(super) fn comm_get(mpi: &mut Process, args: &args::CommGetInfo) -> Answer {
    mpi.comm_of(args.comm)?;
    let handle = mpi.side.infos.add(Pairs::default());
    mpi.put_word(args.info_used, "the info object", handle)
}
