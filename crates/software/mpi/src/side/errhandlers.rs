//! Error handlers, and error classes of the program's own.

use crate::constant;

/// The first code that a program can add.
const FIRST: i32 = constant::ERR_LASTCODE + 1;

/// Error handlers and codes that the program has added. Handlers are never removed: a communicator may use
/// one that was freed.
#[derive(Default)]
pub(crate) struct Errhandlers {
    pub functions: Vec<u64>,
    /// By number from the first free one on; None: it was removed.
    codes: Vec<Option<Code>>,
}

pub(crate) struct Code {
    /// Its class; a class is its own.
    class: i32,
    text: Vec<u8>,
}

/// Reason for which a code or a class cannot be removed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Kept {
    /// The program has added no such code, or no such class.
    Unknown,
    /// It has a text.
    HasText,
    /// A code of this class is there.
    HasCode(i32),
}

impl Errhandlers {
    fn index(code: i32) -> Option<usize> {
        usize::try_from(code.checked_sub(FIRST)?).ok()
    }
    fn code(&self, code: i32) -> Option<&Code> {
        self.codes.get(Errhandlers::index(code)?)?.as_ref()
    }
    pub fn add(&mut self, class: Option<i32>) -> i32 {
        let code = FIRST + self.codes.len() as i32;
        self.codes.push(Some(Code { class: class.unwrap_or(code), text: Vec::new() }));
        code
    }
    /// The class of a code that the program has added.
    pub fn class(&self, code: i32) -> Option<i32> {
        self.code(code).map(|code| code.class)
    }
    /// Its text.
    pub fn text(&self, code: i32) -> Option<&[u8]> {
        self.code(code).map(|code| code.text.as_slice())
    }
    /// The same, to be changed.
    pub fn text_mut(&mut self, code: i32) -> Option<&mut Vec<u8>> {
        let code = self.codes.get_mut(Errhandlers::index(code)?)?.as_mut()?;
        Some(&mut code.text)
    }
    /// Removes a code, or a class with `is_class`: its text goes before it, and the codes of a class before
    /// the class (MPI 5.0, s9.5). Numbers above those that are left are used again.
    pub fn remove(&mut self, code: i32, is_class: bool) -> Result<(), Kept> {
        let found = self.code(code).filter(|found| (found.class == code) == is_class);
        if !found.ok_or(Kept::Unknown)?.text.is_empty() {
            return Err(Kept::HasText);
        }
        let of_class = |other: &i32| *other != code && self.class(*other) == Some(code);
        if let Some(other) = (FIRST..=self.last()).find(of_class) {
            return Err(Kept::HasCode(other));
        }
        let index = Errhandlers::index(code).expect("it was found");
        self.codes[index] = None;
        while self.codes.last().is_some_and(Option::is_none) {
            self.codes.pop();
        }
        Ok(())
    }
    /// The largest code.
    pub fn last(&self) -> i32 {
        constant::ERR_LASTCODE + self.codes.len() as i32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_go_in_any_order_before_their_class_and_texts_before_them() {
        let mut added = Errhandlers::default();
        let class = added.add(None);
        let codes: Vec<i32> = (0..4).map(|_| added.add(Some(class))).collect();
        let of_standard = added.add(Some(constant::ERR_ARG));
        added.text_mut(codes[1]).unwrap().extend(b"text");
        assert_eq!(added.remove(codes[1], false), Err(Kept::HasText));
        added.text_mut(codes[1]).unwrap().clear();
        for (kind, wrong) in [(true, codes[0]), (false, class), (false, FIRST - 1), (true, 999)] {
            assert_eq!(added.remove(wrong, kind), Err(Kept::Unknown), "{wrong}");
        }
        for at in [1, 3, 0, 2] {
            assert_eq!(
                added.remove(class, true),
                Err(Kept::HasCode(
                    *codes.iter().find(|code| added.class(**code).is_some()).unwrap()
                ))
            );
            assert_eq!(added.remove(codes[at], false), Ok(()));
            assert_eq!((added.class(codes[at]), added.last()), (None, of_standard));
            assert_eq!(added.remove(codes[at], false), Err(Kept::Unknown));
        }
        assert_eq!(added.remove(class, true), Ok(()));
        assert_eq!(added.remove(of_standard, false), Ok(()));
        assert_eq!((added.last(), added.add(None)), (constant::ERR_LASTCODE, FIRST));
    }
}
