//! Firmware files: image and sizes, trace.

pub mod image;
pub mod options;
pub mod tracedump;
