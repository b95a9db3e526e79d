//! Attributes: words that a program attaches to communicators and datatypes.

use super::handler::Answer;
use crate::callback::Callback;
use crate::comm::attributes::Attributes;
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use crate::side::keyvals::{Keyval, FIRST};
use abi::mpi::args;

/// Predefined functions: no copy, and a copy of the word.
const NO_COPY: u64 = constant::COMM_NULL_COPY_FN;
const PLAIN_COPY: u64 = constant::COMM_DUP_FN;
/// Predefined function: nothing to be done.
const NO_DELETE: u64 = 0;

impl Process {
    /// Attributes that a copy of the object `old` gets, made from its `attributes`.
    fn copied(&mut self, old: u64, attributes: &Attributes) -> Result<Attributes> {
        let mut new = Attributes::new();
        for (key, value) in attributes.iter() {
            let keyval = self.side.keyvals.get(key)?;
            match keyval.copy {
                NO_COPY => {}
                PLAIN_COPY => {
                    new.insert(key, value);
                }
                function => {
                    let args = [old, key as u64, keyval.extra, value, 0, 0];
                    let callback =
                        Callback { indirect: 0b11_0000, ..Callback::new(function, &args) };
                    let returned = self.run_callback(&callback)?;
                    check(returned.result, "copy", key)?;
                    if returned.arguments[5] as i32 != 0 {
                        new.insert(key, returned.arguments[4]);
                    }
                }
            }
        }
        Ok(new)
    }

    /// A key that may be used: one that was freed lives on as long as something is attached under it.
    fn live_keyval(&self, key: i32) -> Result<Keyval> {
        let keyval = self.side.keyvals.get(key)?;
        let of_types = || self.side.keyvals.types.values().any(|words| words.contains_key(&key));
        if keyval.freed && !self.p2p.comms.have_attribute(key) && !of_types() {
            let text = format!("attribute key {key} was freed");
            return Err(Error::new(constant::ERR_KEYVAL, text));
        }
        Ok(keyval)
    }

    /// Value attached to a datatype under `key`.
    fn type_attribute(&self, datatype: u64, key: i32) -> Option<u64> {
        self.side.keyvals.types.get(&datatype)?.get(&key).copied()
    }

    /// Tells the program that an attribute goes away.
    fn deleted(&mut self, object: u64, key: i32, value: u64) -> Result<()> {
        let keyval = self.side.keyvals.get(key)?;
        if keyval.delete == NO_DELETE {
            return Ok(());
        }
        let args = [object, key as u64, value, keyval.extra];
        let returned = self.run_callback(&Callback::new(keyval.delete, &args))?;
        check(returned.result, "delete", key)
    }

    /// Attributes of a new copy of a communicator.
    pub(crate) fn copy_comm_attributes(&mut self, old: CommId, new: CommId) -> Result<()> {
        let attributes = self.comm(old)?.attributes.clone();
        let copied = self.copied(old.handle(), &attributes)?;
        self.p2p.comms.get_mut(new)?.attributes = copied;
        Ok(())
    }

    /// A communicator goes away.
    pub(crate) fn delete_comm_attributes(&mut self, comm: CommId) -> Result<()> {
        // One after the other: what cannot be deleted stays, and so does what comes after it.
        while let Some((&key, &value)) = self.comm(comm)?.attributes.last_key_value() {
            self.deleted(comm.handle(), key, value)?;
            self.p2p.comms.get_mut(comm)?.attributes.remove(&key);
        }
        Ok(())
    }

    /// A datatype was copied.
    pub(crate) fn copy_type_attributes(&mut self, old: u64, new: u64) -> Result<()> {
        if let Some(attributes) = self.side.keyvals.types.get(&old).cloned() {
            let copied = self.copied(old, &attributes)?;
            self.side.keyvals.types.insert(new, copied);
        }
        Ok(())
    }

    /// A datatype goes away.
    pub(crate) fn delete_type_attributes(&mut self, datatype: u64) -> Result<()> {
        let last = |words: &Attributes| words.last_key_value().map(|(&key, &value)| (key, value));
        while let Some((key, value)) = self.side.keyvals.types.get(&datatype).and_then(last) {
            self.deleted(datatype, key, value)?;
            if let Some(words) = self.side.keyvals.types.get_mut(&datatype) {
                words.remove(&key);
            }
        }
        self.side.keyvals.types.remove(&datatype);
        Ok(())
    }

    /// The address of the word behind a predefined attribute; None if there is no such attribute.
    fn predefined_attribute(&mut self, key: i32) -> Result<Option<u64>> {
        let value = match key {
            constant::TAG_UB => self.p2p.transport.tag_max(),
            constant::HOST => constant::PROC_NULL,
            constant::IO => constant::ANY_SOURCE,
            constant::WTIME_IS_GLOBAL => 1,
            constant::UNIVERSE_SIZE => self.world().size as i32,
            constant::LASTUSEDCODE => self.side.errhandlers.last(),
            constant::APPNUM => self.world().program as i32,
            _ => return Ok(None),
        };
        let va = match self.side.keyvals.predefined.get(&key) {
            Some(&va) => va,
            None => self.run_callback(&Callback::allocate(8))?.result,
        };
        self.side.keyvals.predefined.insert(key, va);
        self.write(va, &i64::from(value).to_le_bytes())?;
        Ok(Some(va))
    }
}

fn check(result: u64, what: &str, key: i32) -> Result<()> {
    match result as i32 {
        constant::SUCCESS => Ok(()),
        code => {
            let text = format!("the {what} function of attribute key {key} has failed ({code})");
            Err(Error::new(code, text))
        }
    }
}

pub(super) fn create_keyval(mpi: &mut Process, args: &args::CommCreateKeyval) -> Answer {
    let table = &mut mpi.side.keyvals.table;
    table.push(Keyval {
        copy: args.copy_fn,
        delete: args.delete_fn,
        extra: args.extra_state,
        freed: false,
    });
    let key = FIRST + table.len() as i32 - 1;
    mpi.put_int(args.keyval, "the key", key)
}

/// Frees a key. Values attached under it stay.
pub(super) fn free_keyval(mpi: &mut Process, args: &args::CommFreeKeyval) -> Answer {
    let key = mpi.get_int(args.keyval, "the key")?;
    mpi.live_keyval(key)?;
    mpi.side.keyvals.table[(key - FIRST) as usize].freed = true;
    mpi.put_int(args.keyval, "the key", constant::KEYVAL_INVALID)
}

pub(super) fn comm_set(mpi: &mut Process, args: &args::CommSetAttr) -> Answer {
    let (comm, key) = (mpi.comm_of(args.comm)?, args.keyval);
    mpi.live_keyval(key)?;
    if let Some(&old) = mpi.comm(comm)?.attributes.get(&key) {
        mpi.deleted(args.comm, key, old)?;
    }
    mpi.p2p.comms.get_mut(comm)?.attributes.insert(key, args.attribute_val);
    Ok(())
}

fn put(mpi: &Process, flag: u64, at: u64, value: Option<u64>) -> Answer {
    mpi.put_int(flag, "the flag", i32::from(value.is_some()))?;
    value.map_or(Ok(()), |value| mpi.put_word(at, "the attribute", value))
}

pub(super) fn comm_get(mpi: &mut Process, args: &args::CommGetAttr) -> Answer {
    let (comm, key) = (mpi.comm_of(args.comm)?, args.keyval);
    if let Some(va) = mpi.predefined_attribute(key)? {
        return put(mpi, args.flag, args.attribute_val, Some(va));
    }
    mpi.live_keyval(key)?;
    let value = mpi.comm(comm)?.attributes.get(&key).copied();
    put(mpi, args.flag, args.attribute_val, value)
}

pub(super) fn comm_delete(mpi: &mut Process, args: &args::CommDeleteAttr) -> Answer {
    let (comm, key) = (mpi.comm_of(args.comm)?, args.keyval);
    mpi.live_keyval(key)?;
    if let Some(&old) = mpi.comm(comm)?.attributes.get(&key) {
        mpi.deleted(args.comm, key, old)?;
        mpi.p2p.comms.get_mut(comm)?.attributes.remove(&key);
    }
    Ok(())
}

pub(super) fn type_set(mpi: &mut Process, args: &args::TypeSetAttr) -> Answer {
    mpi.objects.types.any(args.datatype)?;
    let key = args.keyval;
    mpi.live_keyval(key)?;
    if let Some(old) = mpi.type_attribute(args.datatype, key) {
        mpi.deleted(args.datatype, key, old)?;
    }
    mpi.side.keyvals.types.entry(args.datatype).or_default().insert(key, args.attribute_val);
    Ok(())
}

pub(super) fn type_get(mpi: &mut Process, args: &args::TypeGetAttr) -> Answer {
    mpi.objects.types.any(args.datatype)?;
    let key = args.keyval;
    mpi.live_keyval(key)?;
    let value = mpi.type_attribute(args.datatype, key);
    put(mpi, args.flag, args.attribute_val, value)
}

pub(super) fn type_delete(mpi: &mut Process, args: &args::TypeDeleteAttr) -> Answer {
    mpi.objects.types.any(args.datatype)?;
    let key = args.keyval;
    mpi.live_keyval(key)?;
    if let Some(old) = mpi.type_attribute(args.datatype, key) {
        mpi.deleted(args.datatype, key, old)?;
        if let Some(words) = mpi.side.keyvals.types.get_mut(&args.datatype) {
            words.remove(&key);
        }
    }
    Ok(())
}
