//! Info objects: keys with values, in the order in which they were first set. No key means anything
//! to this library.

use crate::constant;
use crate::error::{Error, Result};
use crate::slots::{Slots, INFOS};
use std::collections::BTreeMap;

/// Keys and values, in the program's encoding.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pairs {
    /// Pairs in the order in which they were set, by numbers that rise.
    order: BTreeMap<u64, (Vec<u8>, Vec<u8>)>,
    /// The number of each key: a program may set millions.
    numbers: BTreeMap<Vec<u8>, u64>,
    next: u64,
}

impl Pairs {
    pub fn value(&self, key: &[u8]) -> Option<&Vec<u8>> {
        let number = self.numbers.get(key)?;
        self.order.get(number).map(|(_, value)| value)
    }
    /// Sets a value; a new key comes last.
    pub fn set(&mut self, key: Vec<u8>, value: Vec<u8>) {
        let number = self.numbers.get(&key).copied().unwrap_or(self.next);
        if number == self.next {
            self.next += 1;
            self.numbers.insert(key.clone(), number);
        }
        self.order.insert(number, (key, value));
    }
    /// Forgets a key. False if there is none.
    pub fn remove(&mut self, key: &[u8]) -> bool {
        let number = self.numbers.remove(key);
        number.is_some_and(|number| self.order.remove(&number).is_some())
    }
    /// The key at that place.
    pub fn key(&self, place: usize) -> Option<&Vec<u8>> {
        // While none was removed, its number is its place.
        let numbered = self.order.get(&(place as u64)).filter(|_| self.next == self.len() as u64);
        numbered.or_else(|| self.order.values().nth(place)).map(|(key, _)| key)
    }
    pub fn len(&self) -> usize {
        self.order.len()
    }
}

/// The info objects of a process.
#[derive(Default)]
pub(crate) struct Infos {
    pub table: Slots<Pairs, INFOS>,
    /// Contents of MPI_INFO_ENV.
    pub environment: Pairs,
}

impl Infos {
    /// Adds one; its handle.
    pub fn add(&mut self, pairs: Pairs) -> u64 {
        self.table.add(pairs)
    }

    pub fn get(&mut self, handle: u64) -> Result<&mut Pairs> {
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
