//! Words that a program attaches to a communicator or a datatype.

/// Keys and words in the order in which they were attached: the last one is deleted first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Attributes(Vec<(i32, u64)>);

impl Attributes {
    /// Nothing is attached.
    pub fn new() -> Attributes {
        Attributes::default()
    }
    /// Value attached under a key.
    pub fn get(&self, key: &i32) -> Option<&u64> {
        self.0.iter().find(|(other, _)| other == key).map(|(_, value)| value)
    }
    /// True if something is.
    pub fn contains_key(&self, key: &i32) -> bool {
        self.get(key).is_some()
    }
    /// Attaches a word; the old one, if there was one.
    pub fn insert(&mut self, key: i32, value: u64) -> Option<u64> {
        let old = self.remove(&key);
        self.0.push((key, value));
        old
    }
    /// Detaches it.
    pub fn remove(&mut self, key: &i32) -> Option<u64> {
        let index = self.0.iter().position(|(other, _)| other == key)?;
        Some(self.0.remove(index).1)
    }
    /// The one that was attached last.
    pub fn last_key_value(&self) -> Option<(&i32, &u64)> {
        self.0.last().map(|(key, value)| (key, value))
    }
    /// All of them, in the order in which they were attached.
    pub fn iter(&self) -> impl Iterator<Item = (i32, u64)> + '_ {
        self.0.iter().copied()
    }
}
