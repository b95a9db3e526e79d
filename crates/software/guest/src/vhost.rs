//! Messages by which a guest's kernel sets up its device (the vhost-user protocol), and those of a PCI device
//! in its queues (Linux, include/uapi/linux/virtio_pcidev.h).

/// Bytes before each message's payload: request, flags, length.
pub(crate) const HEADER: usize = 12;
/// Most bytes of a payload that a guest sends.
pub(crate) const PAYLOAD_MAX: usize = 512;

/// Flags: the version of the protocol, an answer, an answer is wanted.
pub(crate) const VERSION: u32 = 1;
pub(crate) const REPLY: u32 = 1 << 2;
pub(crate) const NEED_REPLY: u32 = 1 << 3;

/// Features of the device: features of the protocol, and virtio 1.
pub(crate) const FEATURES: u64 = 1 << 30 | 1 << 32;
/// Features of the protocol: answers on request; the device's own requests; notifications as messages.
pub(crate) const PROTOCOL: u64 = 1 << 3 | 1 << 5 | 1 << 14;

/// Requests of the guest that have an effect.
pub(crate) mod request {
    pub const GET_FEATURES: u32 = 1;
    pub const SET_MEM_TABLE: u32 = 5;
    pub const SET_VRING_NUM: u32 = 8;
    pub const SET_VRING_ADDR: u32 = 9;
    pub const SET_VRING_BASE: u32 = 10;
    pub const GET_PROTOCOL_FEATURES: u32 = 15;
    pub const SET_SLAVE_REQ_FD: u32 = 21;
    pub const VRING_KICK: u32 = 35;
    /// Request of the device: look at a queue.
    pub const VRING_CALL: u32 = 4;
}

/// A message's first bytes.
#[derive(Clone, Copy)]
pub(crate) struct Header {
    pub request: u32,
    pub flags: u32,
    pub size: u32,
}

impl Header {
    pub fn parse(bytes: [u8; HEADER]) -> Header {
        let word = |at: usize| {
            u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
        };
        Header { request: word(0), flags: word(4), size: word(8) }
    }
}

/// A message with a payload of 8 bytes.
pub(crate) fn message(request: u32, flags: u32, payload: u64) -> [u8; HEADER + 8] {
    let mut bytes = [0; HEADER + 8];
    bytes[..4].copy_from_slice(&request.to_le_bytes());
    bytes[4..8].copy_from_slice(&flags.to_le_bytes());
    bytes[8..12].copy_from_slice(&8_u32.to_le_bytes());
    bytes[12..].copy_from_slice(&payload.to_le_bytes());
    bytes
}

/// Numbers in a payload; missing bytes are 0.
pub(crate) struct Payload<'a>(pub &'a [u8]);

impl Payload<'_> {
    pub fn u32(&self, at: usize) -> u32 {
        self.0.get(at..at + 4).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]))
    }
    pub fn u64(&self, at: usize) -> u64 {
        u64::from(self.u32(at)) | u64::from(self.u32(at + 4)) << 32
    }
}

/// Operations of a guest on its PCI device, and of the device on the guest.
pub(crate) mod pci {
    pub const CFG_READ: u8 = 1;
    pub const CFG_WRITE: u8 = 2;
    pub const MMIO_READ: u8 = 3;
    pub const MMIO_WRITE: u8 = 4;
    pub const MMIO_MEMSET: u8 = 5;
    pub const INT: u8 = 6;
    pub const MSI: u8 = 7;

    /// Bytes of a message before its data.
    pub const HEADER: usize = 16;
    /// Data of a message-signalled interrupt.
    pub const MSI_BYTES: usize = 4;

    /// A message to the guest.
    pub fn message(op: u8, addr: u64, data: &[u8]) -> [u8; HEADER + MSI_BYTES] {
        let mut bytes = [0; HEADER + MSI_BYTES];
        bytes[0] = op;
        bytes[4..8].copy_from_slice(&(data.len() as u32).to_le_bytes());
        bytes[8..16].copy_from_slice(&addr.to_le_bytes());
        bytes[HEADER..HEADER + data.len()].copy_from_slice(data);
        bytes
    }
}
