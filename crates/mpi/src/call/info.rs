//! Info objects: keys with values, in the order in which they were first set. No key means anything
//! to this library.

use super::arguments::int;
use super::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::slots::{Slots, INFOS};
use std::collections::BTreeMap;

/// Keys and values, in the program's encoding.
#[derive(Clone, Debug, Default)]
struct Pairs {
    /// Pairs in the order in which they were set, by numbers that rise.
    order: BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
    /// The number of each key: a program may set millions.
    numbers: BTreeMap<Vec<u8>, u64>,
    next: u64,
}

impl Pairs {
    fn value(&self, key: &[u8]) -> Option<&Vec<u8>> {
        let number = self.numbers.get(key)?;
        self.order.get(number).map(|(_, value)| value)
    }
    /// Sets a value; a new key comes last.
    fn set(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let number = self.numbers.get(&key).copied().unwrap_or(self.next);
        if number == self.next {
            self.next += 1;
            self.numbers.insert(key.clone(), number);
        }
        self.order.insert(number, (key, value));
    }
    /// Forgets a key. False if there is none.
    fn remove(&mut self, key: &[u8]) -> bool {
        let number = self.numbers.remove(key);
        number.is_some_and(|number| self.order.remove(&number).is_some())
    }
    /// The key at that place.
    fn key(&self, place: usize) -> Option<&Vec<u8>> {
        // While none was removed, its number is its place.
        let numbered = self.order.get(&(place as u64)).filter(|_| self.next == self.len() as u64);
        numbered.or_else(|| self.order.values().nth(place)).map(|(key, _)| key)
    }
    fn len(&self) -> usize {
        self.order.len()
    }
}

/// The info objects of a process.
#[derive(Default)]
pub(crate) struct Infos {
    table: Slots<Pairs, INFOS>,
    /// Contents of MPI_INFO_ENV.
    environment: Pairs,
}

impl Infos {
    /// Adds one; its handle.
    fn add(&mut self, pairs: Pairs) -> u64 {
        self.table.add(pairs)
    }

    fn get(&mut self, handle: u64) -> Result<&mut Pairs> {
        if handle == constant::INFO_ENV {
            return Ok(&mut self.environment);
        }
        self.table.get_mut(handle).ok_or_else(|| {
            let text = match handle {
                constant::INFO_NULL => "the info object is MPI_INFO_NULL".to_string(),
                _ => format!("{handle:#x} is no info object, or it was freed"),
            };
            Error::new(constant::ERR_INFO, text)
        })
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_the_order_in_which_they_were_set() {
        let mut pairs = Pairs::default();
        for key in ["d", "b", "a", "c", "b"] {
            pairs.set(key.into(), key.repeat(2).into());
        }
        let keys = |pairs: &Pairs| {
            (0..4).map_while(|n| pairs.key(n).cloned()).collect::<Vec<_>>().concat()
        };
        assert_eq!(keys(&pairs), b"dbac");
        assert!(pairs.remove(b"b") && !pairs.remove(b"b"));
        assert_eq!((keys(&pairs), pairs.len()), (b"dac".to_vec(), 3));
        pairs.set("b".into(), "new".into());
        assert_eq!((keys(&pairs), pairs.value(b"b")), (b"dacb".to_vec(), Some(&b"new".to_vec())));
    }
}
