//! Bindings: pages of receivers' memory that the kernel lets processes write to, by handles (marazakis2006
//! s2.2, which provides for them and has none).

use abi::forth::{table, WORDS_MAX};

/// Bytes of a page, and bits of an address within it.
const PAGE: u32 = 1 << PAGE_BITS;
const PAGE_BITS: u32 = 12;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Binding {
    page: u32,
    flow: u8,
    valid: bool,
}

/// The table of a card.
#[derive(Clone, Debug)]
pub(crate) struct Bindings {
    all: Vec<Binding>,
}

impl Bindings {
    /// So many, none of which is valid.
    pub fn new(count: u16) -> Bindings {
        Bindings { all: vec![Binding::default(); count.into()] }
    }
    /// True if there are none: destinations are physical addresses.
    pub fn is_none(&self) -> bool {
        self.all.is_empty()
    }

    /// The host writes the word of binding `number`; those that are none are ignored.
    pub fn set(&mut self, number: u32, word: u64) {
        if let Some(place) = self.all.get_mut(number as usize) {
            let word = table::Bindings(word);
            let page = word.page() << PAGE_BITS;
            *place = Binding { page, flow: word.flow(), valid: word.valid() };
        }
    }

    /// Physical address of a handle for so many words on `flow`; `None` if it is refused.
    pub fn resolve(&self, handle: u32, flow: u8, words: u16) -> Option<u32> {
        let (number, offset) = (handle >> PAGE_BITS, handle % PAGE);
        let bound = self.all.get(number as usize)?;
        let within = offset / 8 + u32::from(words) <= WORDS_MAX;
        (bound.valid && bound.flow == flow && within).then_some(bound.page | offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bound(page: u32, flow: u8, valid: bool) -> u64 {
        table::Bindings(0).with_page(page).with_flow(flow).with_valid(valid).0
    }

    #[test]
    fn a_handle_reaches_its_page_on_its_flow_and_nothing_else() {
        let mut bindings = Bindings::new(2);
        bindings.set(1, bound(0x83, 5, true));
        bindings.set(2, bound(0x84, 0, true));
        assert_eq!(bindings.resolve(0x1008, 5, 511), Some(0x8_3008));
        assert_eq!(bindings.resolve(0x1008, 5, 512), None, "beyond the page");
        assert_eq!(bindings.resolve(0x1000, 4, 1), None, "another flow");
        assert_eq!(bindings.resolve(0x0000, 0, 1), None, "not valid");
        assert_eq!(bindings.resolve(0x2000, 0, 1), None, "more than there are");
        bindings.set(1, bound(0x83, 5, false));
        assert_eq!(bindings.resolve(0x1008, 5, 1), None, "taken back");
    }
}
