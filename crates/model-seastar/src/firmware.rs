//! What is known of the firmware from its files: image and sizes, trace.

pub mod image;
pub mod tracedump;
