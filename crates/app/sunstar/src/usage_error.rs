//! Usage errors.

pub use machine::UsageError;
