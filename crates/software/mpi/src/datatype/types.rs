//! The datatypes that a process knows, by handle.

use super::recipe::Ingredient;
use super::{predefined, Type};
use crate::constant;
use crate::error::{Error, Result};
use crate::slots::{Slots, DATATYPES, KIND};
use std::collections::BTreeMap;
use std::rc::Rc;

/// Handles of predefined types lie in this range.
const FIRST: u64 = 0x200;
const LAST: u64 = 0x2ff;

/// Types that all processes know, by handle.
type Predefined = Rc<[Option<Rc<Type>>]>;

thread_local! {
    /// The same for all processes: a thousand tables of their own would be megabytes.
    static PREDEFINED: Predefined = {
        let mut table = vec![None; (LAST - FIRST + 1) as usize];
        for (handle, datatype) in predefined() {
            table[(handle - FIRST) as usize] = Some(Rc::new(datatype));
        }
        table.into()
    };
}

/// The name of a predefined type, by the low byte of its handle.
pub(super) fn name_of(kind: u8) -> &'static str {
    PREDEFINED.with(|table| table[usize::from(kind)].as_ref().map_or("no type", |of| of.name))
}

/// A choice of kind by a Fortran program, which has one type for all time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FortranKind {
    /// Combiner: of reals, complex numbers or integers.
    pub combiner: i32,
    /// Decimal digits.
    pub precision: i32,
    /// Decimal exponents.
    pub range: i32,
}

/// Table of datatypes.
pub(crate) struct Types {
    predefined: Predefined,
    derived: Slots<Rc<Type>, DATATYPES>,
    /// Names that the program has given.
    names: BTreeMap<u64, Vec<u8>>,
    /// Types of a precision and a range.
    lasting: BTreeMap<FortranKind, u64>,
}

impl Types {
    /// The predefined ones.
    pub fn new() -> Types {
        Types {
            predefined: PREDEFINED.with(Rc::clone),
            derived: Slots::default(),
            names: BTreeMap::new(),
            lasting: BTreeMap::new(),
        }
    }
    /// The type of `handle`, committed or not.
    pub fn any(&self, handle: u64) -> Result<Rc<Type>> {
        let found = match handle {
            FIRST..=LAST => self.predefined[(handle - FIRST) as usize].as_ref(),
            _ => self.derived.get(handle),
        };
        found.cloned().ok_or_else(|| {
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
    pub fn lasting(&mut self, key: FortranKind, make: impl FnOnce() -> Type) -> u64 {
        if let Some(&handle) = self.lasting.get(&key) {
            return handle;
        }
        let handle = self.add(Type { committed: true, predefined: true, ..make() });
        self.lasting.insert(key, handle);
        handle
    }
    /// True if `handle` is in the range of those that programs make.
    pub fn is_derived(handle: u64) -> bool {
        (DATATYPES..DATATYPES + KIND).contains(&handle)
    }
    /// Another handle for a derived type.
    pub fn add_again(&mut self, datatype: &Rc<Type>) -> u64 {
        if datatype.predefined {
            // One that is there for all time: it has just one handle.
            let mut all = self.derived.iter();
            if let Some((handle, _)) = all.find(|(_, other)| Rc::ptr_eq(other, datatype)) {
                return handle;
            }
        }
        self.add((**datatype).clone())
    }
    /// Adds a derived type; its handle.
    pub fn add(&mut self, datatype: Type) -> u64 {
        self.derived.add(Rc::new(datatype))
    }
    /// An error if the type is not the program's own.
    fn check_own(&self, handle: u64, verb: &str) -> Result<()> {
        let datatype = self.any(handle)?;
        if datatype.predefined {
            let text = format!("the predefined type {} cannot be {verb}", datatype.name);
            return Err(Error::new(constant::ERR_TYPE, text));
        }
        Ok(())
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
        self.check_own(handle, "committed")?;
        if let Some(datatype) = self.derived.get_mut(handle) {
            Rc::make_mut(datatype).committed = true;
        }
        Ok(())
    }
    /// Forgets a type; operations under way keep it.
    pub fn free(&mut self, handle: u64) -> Result<()> {
        self.check_own(handle, "freed")?;
        self.derived.remove(handle);
        self.names.remove(&handle);
        Ok(())
    }
}
