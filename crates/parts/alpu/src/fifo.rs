//! The three plain FIFOs: a word that is pushed can be seen one cycle later.

/// A ring of a power of two words.
#[derive(Clone, Debug)]
pub(crate) struct Fifo<T> {
    ring: Box<[T]>,
    head: usize,
    len: usize,
}

impl<T: Copy> Fifo<T> {
    /// An empty FIFO; `nothing` fills the places that nobody reads.
    pub fn new(depth: usize, nothing: T) -> Fifo<T> {
        Fifo { ring: vec![nothing; depth].into_boxed_slice(), head: 0, len: 0 }
    }

    /// The oldest word.
    #[inline]
    pub fn head(&self) -> Option<&T> {
        (self.len > 0).then(|| &self.ring[self.head])
    }

    /// Words in it.
    pub fn len(&self) -> usize {
        self.len
    }

    /// True if there is no word.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// True if there is no room for a word.
    #[inline]
    pub fn is_full(&self) -> bool {
        self.len == self.ring.len()
    }

    /// Appends a word. The caller has looked for a place.
    #[inline]
    pub fn push(&mut self, word: T) {
        debug_assert!(!self.is_full());
        let mask = self.ring.len() - 1;
        self.ring[(self.head + self.len) & mask] = word;
        self.len += 1;
    }

    /// Removes the head, which must be there.
    #[inline]
    pub fn pop(&mut self) {
        debug_assert!(!self.is_empty());
        self.head = (self.head + 1) & (self.ring.len() - 1);
        self.len -= 1;
    }

    /// Forgets all words.
    pub fn clear(&mut self) {
        (self.head, self.len) = (0, 0);
    }
}
