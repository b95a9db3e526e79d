//! Error handlers, and error classes of the program's own.

use crate::constant;

/// Error handlers and codes that the program has added. Handlers are never removed: a communicator may use
/// one that was freed.
#[derive(Default)]
pub(crate) struct Errhandlers {
    pub functions: Vec<u64>,
    pub codes: Vec<Code>,
}

pub(crate) struct Code {
    pub class: i32,
    pub text: Vec<u8>,
}

impl Errhandlers {
    pub fn code(&self, code: i32) -> Option<&Code> {
        let index = code.checked_sub(constant::ERR_LASTCODE)?.checked_sub(1)?;
        self.codes.get(usize::try_from(index).ok()?)
    }
    pub fn add(&mut self, class: Option<i32>) -> i32 {
        let code = constant::ERR_LASTCODE + 1 + self.codes.len() as i32;
        self.codes.push(Code { class: class.unwrap_or(code), text: Vec::new() });
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
    /// The largest code.
    pub fn last(&self) -> i32 {
        constant::ERR_LASTCODE + self.codes.len() as i32
    }
}
