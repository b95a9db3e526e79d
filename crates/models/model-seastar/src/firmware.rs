//! Firmware files: image and sizes, trace.

pub mod image;
pub mod tracedump;
