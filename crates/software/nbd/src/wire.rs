//! Numbers of the protocol, and reading of big-endian bytes.

pub(crate) mod magic {
    pub const SERVER: u64 = 0x4E42_444D_4147_4943;
    pub const OPTION: u64 = 0x4948_4156_454F_5054;
    pub const OPTION_REPLY: u64 = 0x0003_E889_0455_65A9;
    pub const REQUEST: u32 = 0x2560_9513;
    pub const SIMPLE_REPLY: u32 = 0x6744_6698;
    pub const STRUCTURED_REPLY: u32 = 0x668E_33EF;
}

pub(crate) mod option {
    pub const EXPORT_NAME: u32 = 1;
    pub const ABORT: u32 = 2;
    pub const LIST: u32 = 3;
    pub const INFO: u32 = 6;
    pub const GO: u32 = 7;
    pub const STRUCTURED_REPLY: u32 = 8;
    pub const LIST_META_CONTEXT: u32 = 9;
    pub const SET_META_CONTEXT: u32 = 10;
}

pub(crate) mod reply {
    pub const ACK: u32 = 1;
    pub const SERVER: u32 = 2;
    pub const INFO: u32 = 3;
    pub const META_CONTEXT: u32 = 4;
    pub const UNSUPPORTED: u32 = 1 << 31 | 1;
    pub const INVALID: u32 = 1 << 31 | 3;
}

pub(crate) mod info {
    pub const EXPORT: u16 = 0;
    pub const BLOCK_SIZE: u16 = 3;
}

pub(crate) mod request {
    pub const READ: u16 = 0;
    pub const WRITE: u16 = 1;
    pub const DISCONNECT: u16 = 2;
    pub const FLUSH: u16 = 3;
    pub const TRIM: u16 = 4;
    pub const WRITE_ZEROES: u16 = 6;
    pub const BLOCK_STATUS: u16 = 7;
}

pub(crate) mod chunk {
    pub const NONE: u16 = 0;
    pub const OFFSET_DATA: u16 = 1;
    pub const BLOCK_STATUS: u16 = 5;
    pub const ERROR: u16 = 1 << 15 | 1;
}

/// Commands of a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Data are read.
    Read,
    /// Data are written; with `fua` they are on the disk when it is answered.
    Write {
        /// Forced unit access.
        fua: bool,
    },
    /// All that was answered is on the disk.
    Flush,
    /// The range is not needed any more.
    Trim {
        /// Forced unit access.
        fua: bool,
    },
    /// The range becomes zeroes.
    WriteZeroes {
        /// Forced unit access.
        fua: bool,
        /// It becomes no hole by that.
        no_hole: bool,
    },
    /// Holes of the range are told.
    BlockStatus {
        /// Its first part only.
        one: bool,
    },
    /// The client leaves.
    Disconnect,
}

impl Command {
    /// Of a request's type and flags; none if it is not known.
    pub(crate) fn of(number: u16, flags: u16) -> Option<Command> {
        let (fua, no_hole, no_fragments, one) = (1, 2, 4, 8);
        let has = |flag| flags & flag != 0;
        let (command, may) = match number {
            request::READ => (Command::Read, no_fragments),
            request::WRITE => (Command::Write { fua: has(fua) }, fua),
            request::DISCONNECT => (Command::Disconnect, 0),
            request::FLUSH => (Command::Flush, 0),
            request::TRIM => (Command::Trim { fua: has(fua) }, fua),
            request::WRITE_ZEROES => {
                (Command::WriteZeroes { fua: has(fua), no_hole: has(no_hole) }, fua | no_hole)
            }
            request::BLOCK_STATUS => (Command::BlockStatus { one: has(one) }, one),
            _ => return None,
        };
        // Clients may set FUA on whatever they ask for.
        (flags & !(may | fua) == 0).then_some(command)
    }
}

/// Why a request failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Error {
    /// The disk has failed.
    Io,
    /// It cannot be asked for so.
    Invalid,
    /// Beyond the end.
    NoSpace,
    /// More than can be read at once.
    Overflow,
}

impl Error {
    pub(crate) fn number(self) -> u32 {
        match self {
            Error::Io => 5,
            Error::Invalid => 22,
            Error::NoSpace => 28,
            Error::Overflow => 75,
        }
    }
}

/// Bytes that are left to be read.
pub(crate) struct Cursor<'a>(pub &'a [u8]);

impl<'a> Cursor<'a> {
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (first, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(first)
    }
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }
    pub fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }
    pub fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }
    pub fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }
}
