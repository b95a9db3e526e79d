//! The datatypes that a process knows, by handle.

use crate::constant;
use crate::datatype::{predefined, Type};
use crate::error::{Error, Result};
use crate::recipe::Ingredient;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Handles of predefined types lie in this range.
const FIRST: u64 = 0x200;
const LAST: u64 = 0x2ff;
/// First handle of the types that programs make.
const DERIVED: u64 = 0x1000_0000;

/// Table of datatypes.
pub(crate) struct Types {
    predefined: Vec<Option<Rc<Type>>>,
    derived: Vec<Option<Rc<Type>>>,
    /// Names that the program has given.
    names: BTreeMap<u64, Vec<u8>>,
    /// Types of a precision and a range.
    lasting: BTreeMap<(i32, i32, i32), u64>,
}

impl Types {
    /// The predefined ones.
    pub fn new() -> Types {
        let mut table = vec![None; (LAST - FIRST + 1) as usize];
        for (handle, datatype) in predefined() {
            table[(handle - FIRST) as usize] = Some(Rc::new(datatype));
        }
        Types {
            predefined: table,
            derived: Vec::new(),
            names: BTreeMap::new(),
            lasting: BTreeMap::new(),
        }
    }
    /// The type of `handle`, committed or not.
    pub fn any(&self, handle: u64) -> Result<Rc<Type>> {
        let slot = match handle {
            FIRST..=LAST => self.predefined.get((handle - FIRST) as usize),
            _ => handle.checked_sub(DERIVED).and_then(|index| self.derived.get(index as usize)),
        };
        slot.cloned().flatten().ok_or_else(|| {
            let text = match handle {
                constant::DATATYPE_NULL => "the datatype is MPI_DATATYPE_NULL".to_string(),
                _ => format!("{handle:#x} is no datatype, or it was freed"),
            };
            Error::new(constant::ERR_TYPE, text)
        })
    }
    /// The type of `handle`, ready for communication.
    pub fn committed(&self, handle: u64) -> Result<Rc<Type>> {
        let datatype = self.any(handle)?;
        if datatype.committed {
            return Ok(datatype);
        }
        Err(Error::new(constant::ERR_TYPE, "the datatype was not committed (MPI_Type_commit)"))
    }
    /// The type of `handle`, as another keeps it that is made of it.
    pub fn ingredient(&self, handle: u64) -> Result<Ingredient> {
        let datatype = self.any(handle)?;
        Ok(match datatype.recipe {
            None => Ingredient::Predefined(handle),
            Some(_) => Ingredient::Derived(datatype),
        })
    }
    /// A type that is there for all time, under this key; its handle.
    pub fn lasting(&mut self, key: (i32, i32, i32), make: impl FnOnce() -> Type) -> u64 {
        if let Some(&handle) = self.lasting.get(&key) {
            return handle;
        }
        let handle = self.add(Type { committed: true, predefined: true, ..make() });
        self.lasting.insert(key, handle);
        handle
    }
    /// True if `handle` is in the range of those that programs make.
    pub fn is_derived(handle: u64) -> bool {
        (DERIVED..DERIVED << 1).contains(&handle)
    }
    /// Another handle for a derived type.
    pub fn add_again(&mut self, datatype: &Rc<Type>) -> u64 {
        if datatype.predefined {
            // One that is there for all time: it has just one handle.
            let same =
                |slot: &Option<Rc<Type>>| slot.as_ref().is_some_and(|t| Rc::ptr_eq(t, datatype));
            if let Some(index) = self.derived.iter().position(same) {
                return DERIVED + index as u64;
            }
        }
        self.add((**datatype).clone())
    }
    /// Adds a derived type; its handle.
    pub fn add(&mut self, datatype: Type) -> u64 {
        let index = self.derived.iter().position(Option::is_none).unwrap_or(self.derived.len());
        if index == self.derived.len() {
            self.derived.push(None);
        }
        self.derived[index] = Some(Rc::new(datatype));
        DERIVED + index as u64
    }
    fn own(&mut self, handle: u64, verb: &str) -> Result<Option<&mut Option<Rc<Type>>>> {
        let datatype = self.any(handle)?;
        if datatype.predefined {
            let text = format!("the predefined type {} cannot be {verb}", datatype.name);
            return Err(Error::new(constant::ERR_TYPE, text));
        }
        Ok(self.derived.get_mut((handle - DERIVED) as usize))
    }
    /// The name that the program has given to a type.
    pub fn given_name(&self, handle: u64) -> Option<&[u8]> {
        self.names.get(&handle).map(Vec::as_slice)
    }
    /// Gives a name to a type.
    pub fn give_name(&mut self, handle: u64, name: Vec<u8>) {
        self.names.insert(handle, name);
    }
    /// Makes a type ready for communication.
    pub fn commit(&mut self, handle: u64) -> Result<()> {
        if self.any(handle)?.committed {
            return Ok(());
        }
        if let Some(Some(datatype)) = self.own(handle, "committed")? {
            Rc::make_mut(datatype).committed = true;
        }
        Ok(())
    }
    /// Forgets a type; operations under way keep it.
    pub fn free(&mut self, handle: u64) -> Result<()> {
        if let Some(slot) = self.own(handle, "freed")? {
            *slot = None;
        }
        self.names.remove(&handle);
        Ok(())
    }
}
