//! Messages by which a guest's kernel and we agree on the time (Linux, include/uapi/linux/um_timetravel.h).

/// Bytes of each.
pub(crate) const SIZE: usize = 16;

/// Kinds of messages.
pub(crate) mod op {
    pub const ACK: u32 = 0;
    /// The guest begins.
    pub const START: u32 = 1;
    /// It wants to go on at a time.
    pub const REQUEST: u32 = 2;
    /// It waits for RUN.
    pub const WAIT: u32 = 3;
    /// It asks for the time.
    pub const GET: u32 = 4;
    /// It says what time it is.
    pub const UPDATE: u32 = 5;
    /// It is that time.
    pub const RUN: u32 = 6;
    /// It asks for the time of day.
    pub const GET_TOD: u32 = 8;
    /// A number for everybody: what the guest's first program says.
    pub const BROADCAST: u32 = 9;
}

/// A message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub op: u32,
    /// Number of the message; an answer has that of what it answers.
    pub sequence: u32,
    /// Nanoseconds, mostly.
    pub time: u64,
}

impl Message {
    pub fn parse(bytes: [u8; SIZE]) -> Message {
        let [o0, o1, o2, o3, s0, s1, s2, s3, a, b, c, d, e, f, g, h] = bytes;
        Message {
            op: u32::from_le_bytes([o0, o1, o2, o3]),
            sequence: u32::from_le_bytes([s0, s1, s2, s3]),
            time: u64::from_le_bytes([a, b, c, d, e, f, g, h]),
        }
    }
    pub fn emit(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        bytes[..4].copy_from_slice(&self.op.to_le_bytes());
        bytes[4..8].copy_from_slice(&self.sequence.to_le_bytes());
        bytes[8..].copy_from_slice(&self.time.to_le_bytes());
        bytes
    }
}
