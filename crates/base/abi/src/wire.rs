//! Portals on the wire, for whoever carries its messages: the header, its operations and flags. They are
//! generated with the layout of the SeaStar, whose firmware reads them (`abi/seastar/wire.toml`).

pub use crate::seastar::{header_flag, portals_header, portals_op};
pub use crate::seastar::{PortalsHeader, INLINE_MAX, SERIAL_SPACE_SHIFT};
