//! A core as others see it: debuggers, observers, tests, files, and the bench that copies it.

pub(crate) mod debug;
pub(crate) mod inspect;
pub(crate) mod probe;
pub(crate) mod twin;
