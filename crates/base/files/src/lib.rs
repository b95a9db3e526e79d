//! Files of others, and files of ours.
//!
//! [`input`] reads what a user has named, completely, or refuses it at once. [`Cache`] keeps what can be made
//! again, and gives back only what this user has made and nobody has changed.

mod cache;
pub mod input;

pub use cache::{digest, Cache, CacheError, Writers};
