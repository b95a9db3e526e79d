//! Construction of derived datatypes: what MPI_Type_get_contents reports.

use super::Type;
use std::rc::Rc;

/// A type that another was made of.
#[derive(Clone, Debug)]
pub(crate) enum Ingredient {
    /// A predefined one, by its handle.
    Predefined(u64),
    /// One that the program had made; it may be free now.
    Derived(Rc<Type>),
}

/// The types that one was made of.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ingredients(pub Vec<Ingredient>);

impl Drop for Ingredients {
    /// A program may make types of types as long as it likes: dropping them one within the other would
    /// overflow the stack.
    fn drop(&mut self) {
        let mut waiting = std::mem::take(&mut self.0);
        while let Some(ingredient) = waiting.pop() {
            let Ingredient::Derived(datatype) = ingredient else { continue };
            let recipe = Rc::into_inner(datatype).and_then(|datatype| datatype.recipe);
            if let Some(mut recipe) = recipe.and_then(Rc::into_inner) {
                waiting.append(&mut recipe.types.0);
            }
        }
    }
}

/// The constructor of a type, and its arguments.
#[derive(Clone, Debug)]
pub(crate) struct Recipe {
    /// `MPI_COMBINER_...`.
    pub combiner: i32,
    /// Integers, in the order of the standard; true for those that are large counts in the functions
    /// for large counts.
    pub integers: Vec<(i64, bool)>,
    /// Offsets in bytes.
    pub addresses: Vec<i64>,
    /// Types.
    pub types: Ingredients,
    /// It was made by a function for large counts.
    pub large: bool,
}

impl Recipe {
    /// A constructor without arguments so far.
    pub fn new(combiner: i32) -> Recipe {
        let (integers, addresses, types) = (Vec::new(), Vec::new(), Ingredients::default());
        Recipe { combiner, integers, addresses, types, large: false }
    }
    /// Counts, lengths, displacements.
    pub fn counts(mut self, numbers: impl IntoIterator<Item = i64>) -> Recipe {
        self.integers.extend(numbers.into_iter().map(|number| (number, true)));
        self
    }
    /// Integers that are never large.
    pub fn integers(mut self, numbers: impl IntoIterator<Item = i64>) -> Recipe {
        self.integers.extend(numbers.into_iter().map(|number| (number, false)));
        self
    }
    /// Offsets in bytes.
    pub fn addresses(mut self, offsets: impl IntoIterator<Item = i64>) -> Recipe {
        self.addresses.extend(offsets);
        self
    }
    /// Made by a function whose counts have `width` bytes.
    pub fn width(mut self, width: usize) -> Recipe {
        self.large = width > 4;
        self
    }

    /// The integers that the program gets.
    pub fn plain(&self) -> Vec<i64> {
        let plain = self.integers.iter().filter(|&&(_, is_count)| !(self.large && is_count));
        plain.map(|&(number, _)| number).collect()
    }
    /// The large counts.
    pub fn large_counts(&self) -> Vec<i64> {
        if !self.large {
            return Vec::new();
        }
        let counts = self.integers.iter().filter(|&&(_, is_count)| is_count);
        counts.map(|&(number, _)| number).chain(self.addresses.iter().copied()).collect()
    }
    /// The offsets.
    pub fn plain_addresses(&self) -> &[i64] {
        if self.large {
            &[]
        } else {
            &self.addresses
        }
    }
}
