//! Configuration space of a device as its function alone, without a bus: header type 0 with memory regions,
//! an interrupt pin, and message-signalled interrupts (PCI specification 2.2, sections 6.1, 6.2 and 6.8).

/// Bytes of it.
const SIZE: usize = 256;

/// Offsets beside those of [`crate::register`].
const STATUS: usize = 0x06;
const REVISION: usize = 0x08;
const CACHE_LINE: usize = 0x0C;
const LATENCY: usize = 0x0D;
const BAR0: usize = 0x10;
const SUBSYSTEM: usize = 0x2C;
const CAPABILITIES: usize = 0x34;
const LINE: usize = 0x3C;
const PIN: usize = 0x3D;
/// Offset of the capability of message-signalled interrupts: control, address, data behind its two bytes.
const MSI: usize = 0x50;
const MSI_CONTROL: usize = MSI + 2;
const MSI_ADDRESS: usize = MSI + 4;
const MSI_DATA: usize = MSI + 8;

const MEMORY: u8 = 1 << 1;
const MASTER: u8 = 1 << 2;
const PARITY: u8 = 1 << 6;
/// Bit in the second byte of the command: the pin is not used.
const NO_PIN: u8 = 1 << 2;
/// Bits in the status: there are capabilities; the pin is asserted.
const HAS_CAPABILITIES: u8 = 1 << 4;
const ASSERTED: u8 = 1 << 3;
const MSI_ID: u8 = 5;
const MSI_ENABLED: u8 = 1;

/// Identity of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Vendor.
    pub vendor: u16,
    /// Device, by the vendor's numbering.
    pub device: u16,
    /// Class, subclass and interface.
    pub class: u32,
    /// Revision.
    pub revision: u8,
}

/// Configuration space of a device.
#[derive(Clone, Debug)]
pub struct Function {
    bytes: [u8; SIZE],
    writable: [u8; SIZE],
}

impl Function {
    /// A device with an interrupt pin, and neither regions nor capabilities.
    pub fn new(identity: Identity) -> Function {
        let Identity { vendor, device, class, revision } = identity;
        let mut function = Function { bytes: [0; SIZE], writable: [0; SIZE] };
        for at in [0, SUBSYSTEM] {
            function.put(at, &vendor.to_le_bytes());
            function.put(at + 2, &device.to_le_bytes());
        }
        function.put(REVISION, &(class << 8 | u32::from(revision)).to_le_bytes());
        function.put(PIN, &[1]);
        let command = usize::from(crate::register::COMMAND);
        function.writable[command] = MEMORY | MASTER | PARITY;
        function.writable[command + 1] = NO_PIN;
        for at in [CACHE_LINE, LATENCY, LINE] {
            function.writable[at] = 0xFF;
        }
        function
    }

    /// Adds a memory region of `size` bytes (a power of two, 16 at least) at base address `bar`.
    pub fn with_region(mut self, bar: usize, size: u32) -> Function {
        assert!(size.is_power_of_two() && size >= 16 && bar < 6, "a region of a device");
        let writable = (!(size - 1)).to_le_bytes();
        self.writable[BAR0 + 4 * bar..][..4].copy_from_slice(&writable);
        self
    }

    /// Adds message-signalled interrupts: one message.
    pub fn with_msi(mut self) -> Function {
        self.put(CAPABILITIES, &[MSI as u8]);
        self.put(STATUS, &[HAS_CAPABILITIES]);
        self.put(MSI, &[MSI_ID]);
        self.writable[MSI_CONTROL] = MSI_ENABLED;
        self.writable[MSI_ADDRESS..MSI_ADDRESS + 4].copy_from_slice(&(!3_u32).to_le_bytes());
        self.writable[MSI_DATA..MSI_DATA + 2].fill(0xFF);
        self
    }

    fn put(&mut self, at: usize, data: &[u8]) {
        self.bytes[at..at + data.len()].copy_from_slice(data);
    }

    /// The aligned word at `offset`.
    pub fn load(&self, offset: u8) -> u32 {
        let at = usize::from(offset & !3);
        let word = &self.bytes[at..at + 4];
        u32::from_le_bytes([word[0], word[1], word[2], word[3]])
    }

    /// Bytes are stored from `offset` on.
    pub fn store(&mut self, offset: u8, data: &[u8]) {
        for (at, byte) in (usize::from(offset)..SIZE).zip(data) {
            let mask = self.writable[at];
            self.bytes[at] = self.bytes[at] & !mask | byte & mask;
        }
    }

    /// Bytes from the start of the region at base address `bar`, if the device claims `addr` for it.
    pub fn decode(&self, bar: usize, addr: u64) -> Option<u64> {
        let place = BAR0 + 4 * bar;
        let mask = &self.writable[place..place + 4];
        let size = u64::from(!u32::from_le_bytes([mask[0], mask[1], mask[2], mask[3]])) + 1;
        let enabled = self.bytes[usize::from(crate::register::COMMAND)] & MEMORY != 0;
        let offset = addr.checked_sub(u64::from(self.load(place as u8) & !0xF))?;
        (enabled && offset < size).then_some(offset)
    }

    /// True if it may access memory.
    pub fn is_master(&self) -> bool {
        self.bytes[usize::from(crate::register::COMMAND)] & MASTER != 0
    }

    /// The data of the message by which it interrupts, if software wants messages; else it has its pin.
    pub fn message(&self) -> Option<u16> {
        let data = u16::from_le_bytes([self.bytes[MSI_DATA], self.bytes[MSI_DATA + 1]]);
        (self.bytes[MSI_CONTROL] & MSI_ENABLED != 0).then_some(data)
    }

    /// Level of the interrupt pin when the device drives `level`.
    pub fn pin(&mut self, level: bool) -> bool {
        let before = self.bytes[STATUS] & !ASSERTED;
        self.bytes[STATUS] = before | if level { ASSERTED } else { 0 };
        let masked = self.bytes[usize::from(crate::register::COMMAND) + 1] & NO_PIN != 0;
        level && !masked && self.message().is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: Identity =
        Identity { vendor: 0x10EC, device: 0x8139, class: 0x02_0000, revision: 0x10 };

    #[test]
    fn a_region_is_sized_and_placed() {
        let mut function = Function::new(ID).with_region(1, 256);
        assert_eq!(function.load(0), 0x8139_10EC);
        assert_eq!(function.load(8), 0x0200_0010);
        function.store(0x10, &[0xFF; 4]);
        function.store(0x14, &[0xFF; 4]);
        assert_eq!((function.load(0x10), function.load(0x14)), (0, 0xFFFF_FF00));
        function.store(0x14, &0xF000_0100_u32.to_le_bytes());
        assert_eq!(function.decode(1, 0xF000_0104), None, "memory is not enabled yet");
        function.store(4, &[MEMORY | MASTER, 0]);
        assert_eq!(function.decode(1, 0xF000_0104), Some(4));
        assert_eq!(function.decode(1, 0xF000_0200), None);
        assert!(function.is_master());
    }

    #[test]
    fn interrupts_have_a_pin_or_messages() {
        let mut function = Function::new(ID).with_msi();
        assert_eq!((function.load(0x34), function.load(4) >> 20 & 1), (0x50, 1));
        assert!(function.pin(true));
        assert_eq!(function.load(4) >> 19 & 1, 1);
        function.store(5, &[NO_PIN]);
        assert!(!function.pin(true));
        function.store(5, &[0]);
        function.store(0x58, &77_u16.to_le_bytes());
        function.store(0x52, &[1, 0]);
        assert_eq!((function.message(), function.pin(true)), (Some(77), false));
    }
}
