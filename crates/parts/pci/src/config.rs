//! Configuration space of a device with one memory region (header type 0, with the PCI-X capability).

/// Offsets of the registers that are used, in bytes (PCI specification 2.2, section 6.1; PCI-X addendum,
/// section 7).
pub mod register {
    /// Vendor (16 bits) and device.
    pub const ID: u8 = 0x00;
    /// Command (16 bits) and status.
    pub const COMMAND: u8 = 0x04;
    /// Revision and class.
    pub const CLASS: u8 = 0x08;
    /// First base address; the second is the upper half of a 64-bit one.
    pub const BAR0: u8 = 0x10;
    /// Pointer to the first capability.
    pub const CAPABILITIES: u8 = 0x34;
    /// Interrupt line (written by software) and pin.
    pub const INTERRUPT: u8 = 0x3C;
    /// The PCI-X capability: id, next, command.
    pub const PCIX: u8 = 0x40;
    /// PCI-X status: bus, device, function, 64-bit, 133 MHz.
    pub const PCIX_STATUS: u8 = 0x44;
}

const MEMORY_ENABLE: u32 = 1 << 1;
const MASTER_ENABLE: u32 = 1 << 2;
const PARITY_RESPONSE: u32 = 1 << 6;
const INTERRUPT_DISABLE: u32 = 1 << 10;
const COMMAND_WRITABLE: u32 = MEMORY_ENABLE | MASTER_ENABLE | PARITY_RESPONSE | INTERRUPT_DISABLE;
const INTERRUPT_STATUS: u32 = 1 << 19;
const CAPABILITY_LIST: u32 = 1 << 20;
const MASTER_ABORTED: u32 = 1 << 29;
const PARITY_DETECTED: u32 = 1 << 31;
/// Status bits that software clears by writing ones.
const STATUS_STICKY: u32 = MASTER_ABORTED | PARITY_DETECTED;
const PCIX_CAPABILITY: u32 = 0x07;

/// A device's configuration space.
#[derive(Clone, Debug)]
pub struct ConfigSpace {
    id: u32,
    class: u32,
    command: u32,
    status: u32,
    bar: u32,
    /// Bytes of the memory region, a power of two.
    region: u32,
    line: u8,
    pcix: bool,
}

impl ConfigSpace {
    /// A device of `vendor` and `device` (ids), a class, and a memory region of `region` bytes (a power of
    /// two, 128 at least, so that no write of a block leaves it); with the PCI-X capability or without.
    pub fn new(vendor: u16, device: u16, class: u32, region: u32, pcix: bool) -> ConfigSpace {
        assert!(region.is_power_of_two() && region >= 128, "a power of two, from 128 on");
        ConfigSpace {
            id: u32::from(device) << 16 | u32::from(vendor),
            class,
            command: 0,
            status: if pcix { CAPABILITY_LIST } else { 0 },
            bar: 0,
            region,
            line: 0xFF,
            pcix,
        }
    }

    /// Reads the aligned 32 bits at `offset`; registers that do not exist are zero.
    pub fn read(&self, offset: u8) -> u32 {
        match offset & !3 {
            register::ID => self.id,
            register::COMMAND => self.command | self.status,
            register::CLASS => self.class << 8,
            register::BAR0 => self.bar,
            register::CAPABILITIES if self.pcix => u32::from(register::PCIX),
            register::INTERRUPT => 1 << 8 | u32::from(self.line),
            register::PCIX if self.pcix => PCIX_CAPABILITY,
            register::PCIX_STATUS if self.pcix => 1 << 16,
            _ => 0,
        }
    }

    /// Writes those bytes of the aligned 32 bits at `offset` whose bits of `enables` are set.
    pub fn write(&mut self, offset: u8, value: u32, enables: u8) {
        let lanes = (0..4).filter(|lane| enables >> lane & 1 == 1);
        let mask = lanes.fold(0, |mask, lane| mask | 0xFF << (8 * lane));
        let merge = |old: u32, writable: u32| old & !(mask & writable) | value & mask & writable;
        match offset & !3 {
            register::COMMAND => {
                self.command = merge(self.command, COMMAND_WRITABLE);
                self.status &= !(value & mask & STATUS_STICKY);
            }
            register::BAR0 => self.bar = merge(self.bar, !(self.region - 1)),
            register::INTERRUPT => self.line = merge(u32::from(self.line), 0xFF) as u8,
            _ => {}
        }
    }

    /// Bytes from the start of the region, if the device claims `addr`.
    pub fn decode(&self, addr: u64) -> Option<u32> {
        let offset = addr.checked_sub(u64::from(self.bar))?;
        let claims = self.command & MEMORY_ENABLE != 0 && offset < u64::from(self.region);
        claims.then_some(offset as u32)
    }
    /// True if the device may request the bus.
    pub fn is_master(&self) -> bool {
        self.command & MASTER_ENABLE != 0
    }
    /// Level at the line for what the chip drives; the status bit tells the chip's level even if masked.
    pub fn interrupt(&mut self, level: bool) -> bool {
        self.status = self.status & !INTERRUPT_STATUS | if level { INTERRUPT_STATUS } else { 0 };
        level && self.command & INTERRUPT_DISABLE == 0
    }
    /// Notes wrong parity of what the device took.
    pub fn parity_error(&mut self) {
        self.status |= PARITY_DETECTED;
    }
    /// Notes a transaction of the device's that nobody claimed.
    pub fn master_abort(&mut self) {
        self.status |= MASTER_ABORTED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bar_is_sized_and_placed() {
        let mut space = ConfigSpace::new(0x10EE, 0x0300, 0x02_8000, 0x1_0000, true);
        space.write(register::BAR0, !0, 0xF);
        assert_eq!(!space.read(register::BAR0) + 1, 0x1_0000);
        space.write(register::BAR0, 0xF000_0000, 0xF);
        assert_eq!(space.decode(0xF000_0010), None, "memory is not enabled yet");
        space.write(register::COMMAND, MEMORY_ENABLE, 0b0001);
        assert_eq!(space.decode(0xF000_0010), Some(0x10));
        assert_eq!(space.decode(0xF001_0000), None);
        assert_eq!(space.decode(0xEFFF_FFFF), None);
    }

    #[test]
    fn sticky_status_is_cleared_by_ones_and_lanes_are_kept() {
        let mut space = ConfigSpace::new(1, 2, 0, 128, false);
        space.parity_error();
        space.write(register::COMMAND, MEMORY_ENABLE | 0xFFFF_0000, 0b0011);
        assert_eq!(space.read(register::COMMAND), MEMORY_ENABLE | PARITY_DETECTED);
        space.write(register::COMMAND, PARITY_DETECTED, 0b1100);
        assert_eq!(space.read(register::COMMAND), MEMORY_ENABLE);
        assert_eq!(space.read(register::CAPABILITIES), 0, "no PCI-X, no capability");
    }

    #[test]
    fn a_masked_interrupt_is_told_but_not_raised() {
        let mut space = ConfigSpace::new(1, 2, 0, 128, true);
        assert!(space.interrupt(true));
        space.write(register::COMMAND, INTERRUPT_DISABLE, 0xF);
        assert!(!space.interrupt(true));
        assert_ne!(space.read(register::COMMAND) & INTERRUPT_STATUS, 0);
    }
}
