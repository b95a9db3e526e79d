//! Registers of the adapter, by their offsets and bits (Realtek, RTL8139C(L) data sheet, section 6).

/// Bytes of the region with the registers.
pub const REGION: u32 = 256;

/// Offsets.
pub mod register {
    /// Its own address, 6 bytes.
    pub const ADDRESS: u8 = 0x00;
    /// Filter of group addresses, 8 bytes.
    pub const GROUPS: u8 = 0x08;
    /// States of the four transmit slots, 4 bytes each.
    pub const TX_STATUS: u8 = 0x10;
    /// Addresses of their frames, 4 bytes each.
    pub const TX_ADDRESS: u8 = 0x20;
    /// Address of the receive ring.
    pub const RX_RING: u8 = 0x30;
    /// Command, 1 byte.
    pub const COMMAND: u8 = 0x37;
    /// Position to which the driver has read the ring, less 16; 2 bytes.
    pub const RX_READ: u8 = 0x38;
    /// Position to which the adapter has written the ring; 2 bytes.
    pub const RX_WRITTEN: u8 = 0x3A;
    /// Causes of interrupts that raise the line; 2 bytes.
    pub const INTERRUPT_MASK: u8 = 0x3C;
    /// Pending causes of interrupts; ones clear. 2 bytes.
    pub const INTERRUPT_STATUS: u8 = 0x3E;
    /// Configuration of the transmitter, and the chip's version.
    pub const TX_CONFIG: u8 = 0x40;
    /// Configuration of the receiver: frames that it takes, and their ring.
    pub const RX_CONFIG: u8 = 0x44;
    /// Frames for which there was no room; a store clears.
    pub const RX_MISSED: u8 = 0x4C;
    /// The memory for its address, bit by bit; and the lock of the following registers.
    pub const EEPROM: u8 = 0x50;
    /// Configuration of the chip.
    pub const CONFIG1: u8 = 0x52;
    /// State of the medium.
    pub const MEDIA: u8 = 0x58;
    /// The transceiver's registers (IEEE 802.3, 22.2.4), 2 bytes each.
    pub const MII_CONTROL: u8 = 0x62;
    /// Its status.
    pub const MII_STATUS: u8 = 0x64;
    /// Abilities that it advertises.
    pub const MII_OFFERS: u8 = 0x66;
    /// Abilities of the other end.
    pub const MII_PARTNER: u8 = 0x68;
    /// State of the negotiation.
    pub const MII_EXPANSION: u8 = 0x6A;
    /// State of the link's chip.
    pub const LINK: u8 = 0x74;
}

/// Bits of the command.
pub(crate) mod command {
    pub const RESET: u8 = 1 << 4;
    pub const RECEIVE: u8 = 1 << 3;
    pub const TRANSMIT: u8 = 1 << 2;
    /// The ring is empty; read only.
    pub const EMPTY: u8 = 1;
}

/// Bits of a transmit slot.
pub(crate) mod slot {
    pub const LENGTH: u32 = 0x1FFF;
    /// The adapter no longer needs the frame's memory.
    pub const OWN: u32 = 1 << 13;
    /// It has been sent.
    pub const SENT: u32 = 1 << 15;
    /// Bytes in the adapter, in units of 32, at which it may begin to send.
    pub const EARLY: u32 = 0x3F << 16;
    pub const EARLY_SHIFT: u32 = 16;
    pub const EARLY_UNIT: u64 = 32;
}

/// Causes of interrupts.
pub(crate) mod cause {
    pub const RX_OK: u16 = 1;
    pub const TX_OK: u16 = 1 << 2;
    pub const RX_OVERFLOW: u16 = 1 << 4;
}

/// Bits of the receiver's configuration.
pub(crate) mod accept {
    pub const ALL: u32 = 1;
    pub const OWN: u32 = 1 << 1;
    pub const GROUP: u32 = 1 << 2;
    pub const BROADCAST: u32 = 1 << 3;
    /// Frames do not wrap at the ring's end.
    pub const NO_WRAP: u32 = 1 << 7;
    /// Size of the ring: 8 KB, doubled so many times.
    pub const SIZE: u32 = 3 << 11;
    pub const SIZE_SHIFT: u32 = 11;
}

/// Status before a frame in the ring.
pub(crate) mod received {
    pub const OK: u16 = 1;
    pub const BROADCAST: u16 = 1 << 13;
    pub const OWN: u16 = 1 << 14;
    pub const GROUP: u16 = 1 << 15;
}

/// The version of an RTL8139C, among the bits of TX_CONFIG that are read only.
pub(crate) const VERSION: u32 = 0x7400_0000;
pub(crate) const VERSION_MASK: u32 = 0x7CC0_0000;

/// The transceiver: 100 Mb/s in both directions, agreed upon with the other end, link up.
pub(crate) const MII_CONTROL: u16 = 0x3100;
pub(crate) const MII_STATUS: u16 = 0x782D;
pub(crate) const MII_OFFERS: u16 = 0x01E1;
pub(crate) const MII_PARTNER: u16 = 0x41E1;
pub(crate) const MII_EXPANSION: u16 = 0x0001;
/// The link is good.
pub(crate) const LINK: u16 = 0x0400;
/// EEPROM: configuration may be written.
pub(crate) const UNLOCKED: u8 = 0xC0;
