//! The user side of a device's PCI core: what the chip sees and wants in each cycle.

/// A transfer that a device requests as bus master: a run of bytes, wherever it begins and ends. What it does
/// not reach of its first and last word has its byte enables off.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// Read or write.
    pub operation: Operation,
    /// Host's physical address.
    pub addr: u64,
    /// Bytes: 1 to 4096.
    pub bytes: u16,
    /// Tells the device's reads apart.
    pub tag: u8,
}

/// Direction of a [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Read from host memory.
    Read,
    /// Write to host memory.
    Write,
}

/// Outputs of a chip in a cycle. All of them come from registers: they may not depend on the cycle's
/// inputs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceOut {
    /// Stays until [`DeviceIn::accepted`] (reads) or [`DeviceIn::ended`] (writes).
    pub request: Option<Request>,
    /// Next word of the requested write: each byte in the lane of its address.
    pub write_word: u64,
    /// True at a 128-byte boundary if the words up to the next one (or the end) are there, so that the
    /// write may go on.
    pub write_on: bool,
    /// Word requested in the cycle before by [`DeviceIn::read`].
    pub read_word: u64,
    /// Writes of the host are answered with Retry.
    pub busy: bool,
    /// Level of the interrupt line.
    pub interrupt: bool,
}

/// A data phase of a host's write into the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetWrite {
    /// Bytes from the start of the device's region, a multiple of 8.
    pub offset: u32,
    /// Eight lanes.
    pub data: u64,
    /// Lanes that are written, bit 0 the lowest address.
    pub enables: u8,
}

/// A read of the host from the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TargetRead {
    /// Bytes from the start of the device's region, a multiple of 8.
    pub offset: u32,
    /// Lanes that are wanted, bit 0 the lowest address.
    pub enables: u8,
}

/// A word of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Completion {
    /// The read's tag.
    pub tag: u8,
    /// Eight bytes, the lowest address in the lowest bits; the requested ones are right.
    pub data: u64,
    /// Last of the read.
    pub last: bool,
}

/// The end of a device's write transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ended {
    /// Words that were moved, the first and the last maybe in part; fewer than requested if it was
    /// disconnected.
    pub words: u16,
    /// True if nobody has claimed the address.
    pub aborted: bool,
}

/// Inputs of a chip in a cycle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceIn {
    /// The host writes.
    pub write: Option<TargetWrite>,
    /// The host reads; answered by [`DeviceOut::read_word`] in the next cycle.
    pub read: Option<TargetRead>,
    /// The requested read is taken; its data will come.
    pub accepted: bool,
    /// Data of a read.
    pub completion: Option<Completion>,
    /// [`DeviceOut::write_word`] has gone.
    pub took_word: bool,
    /// The requested write is over.
    pub ended: Option<Ended>,
}

/// A chip on the bus.
pub trait Device {
    /// Its outputs in this cycle.
    fn outputs(&self) -> DeviceOut;
    /// The clock's edge at the end of the cycle.
    fn clock(&mut self, inputs: &DeviceIn);
}
