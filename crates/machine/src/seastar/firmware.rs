//! What is known of the firmware from its files: image and sizes, functions and lines, trace.

pub mod image;
pub mod symbols;
pub mod tracedump;
