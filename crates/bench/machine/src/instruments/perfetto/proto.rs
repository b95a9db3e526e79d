//! Writing protocol buffers: fields one after the other, each with its number and wire type.
//!
//! Encoding: protobuf.dev, "Encoding". Field numbers: Perfetto's `trace_packet.proto`,
//! `track_event.proto`, `track_descriptor.proto`, `counter_descriptor.proto`, `process_descriptor.proto`,
//! `interned_data.proto` and `debug_annotation.proto`.

/// Wire types: varint, eight bytes, length and bytes.
const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;

/// Appends a number of up to 64 bits, seven bits a byte.
fn varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field with a number.
pub(super) fn number(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3 | VARINT);
    varint(out, value);
}

/// Appends a field with eight bytes.
pub(super) fn fixed64(out: &mut Vec<u8>, field: u32, value: u64) {
    varint(out, u64::from(field) << 3 | FIXED64);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field with a text.
pub(super) fn text(out: &mut Vec<u8>, field: u32, value: &str) {
    varint(out, u64::from(field) << 3 | BYTES);
    varint(out, value.len() as u64);
    out.extend_from_slice(value.as_bytes());
}

/// Appends a field with the message that `body` appends.
pub(super) fn message(out: &mut Vec<u8>, field: u32, body: impl FnOnce(&mut Vec<u8>)) {
    varint(out, u64::from(field) << 3 | BYTES);
    let start = out.len();
    // Most messages are so short that their length is one byte.
    out.push(0);
    body(out);
    let length = out.len() - start - 1;
    if length < 0x80 {
        out[start] = length as u8;
    } else {
        let mut prefix = Vec::with_capacity(10);
        varint(&mut prefix, length as u64);
        out.splice(start..=start, prefix);
    }
}

/// Numbers of fields and of values, by the message that has them.
pub(super) mod field {
    pub mod trace {
        pub const PACKET: u32 = 1;
    }
    pub mod packet {
        pub const TIMESTAMP: u32 = 8;
        pub const SEQUENCE: u32 = 10;
        pub const TRACK_EVENT: u32 = 11;
        pub const INTERNED_DATA: u32 = 12;
        pub const SEQUENCE_FLAGS: u32 = 13;
        pub const TRACK_DESCRIPTOR: u32 = 60;
        pub const FIRST_ON_SEQUENCE: u32 = 87;
        /// Values of the sequence's flags.
        pub const STATE_CLEARED: u64 = 1;
        pub const NEEDS_STATE: u64 = 2;
    }
    pub mod event {
        pub const ANNOTATIONS: u32 = 4;
        pub const TYPE: u32 = 9;
        pub const NAME_IID: u32 = 10;
        pub const TRACK: u32 = 11;
        pub const NAME: u32 = 23;
        pub const COUNTER_VALUE: u32 = 30;
        pub const FLOWS: u32 = 47;
        pub const ENDING_FLOWS: u32 = 48;
        /// Values of the type.
        pub const SLICE_BEGIN: u64 = 1;
        pub const SLICE_END: u64 = 2;
        pub const INSTANT: u64 = 3;
        pub const COUNTER: u64 = 4;
    }
    pub mod annotation {
        pub const NAME_IID: u32 = 1;
        pub const UINT: u32 = 3;
        pub const STRING: u32 = 6;
    }
    pub mod interned {
        pub const EVENT_NAMES: u32 = 2;
        pub const ANNOTATION_NAMES: u32 = 3;
        /// Of both kinds of names.
        pub const IID: u32 = 1;
        pub const NAME: u32 = 2;
    }
    pub mod track {
        pub const UUID: u32 = 1;
        pub const NAME: u32 = 2;
        pub const PROCESS: u32 = 3;
        pub const PARENT: u32 = 5;
        pub const COUNTER: u32 = 8;
        pub const CHILD_ORDERING: u32 = 11;
        pub const RANK: u32 = 12;
        pub const DESCRIPTION: u32 = 14;
        /// A value of the ordering of children: by their rank.
        pub const EXPLICIT: u64 = 3;
    }
    pub mod process {
        pub const PID: u32 = 1;
        pub const NAME: u32 = 6;
    }
    pub mod counter {
        pub const UNIT_NAME: u32 = 6;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The examples of the encoding's description.
    #[test]
    fn fields_are_encoded_as_described() {
        let mut out = Vec::new();
        number(&mut out, 1, 150);
        assert_eq!(out, [0x08, 0x96, 0x01]);
        out.clear();
        text(&mut out, 2, "testing");
        assert_eq!(out, [0x12, 0x07, b't', b'e', b's', b't', b'i', b'n', b'g']);
        out.clear();
        message(&mut out, 3, |out| number(out, 1, 150));
        assert_eq!(out, [0x1a, 0x03, 0x08, 0x96, 0x01]);
        out.clear();
        fixed64(&mut out, 47, 1);
        assert_eq!(out, [0xf9, 0x02, 1, 0, 0, 0, 0, 0, 0, 0]);
    }

    #[test]
    fn a_long_message_has_a_long_length() {
        let mut out = Vec::new();
        let long = "x".repeat(300);
        message(&mut out, 1, |out| message(out, 2, |out| text(out, 3, &long)));
        // 300 bytes, 3 before them, 3 before those.
        assert_eq!(out[..9], [0x0a, 0xb2, 0x02, 0x12, 0xaf, 0x02, 0x1a, 0xac, 0x02]);
        assert_eq!(out.len(), 309);
        out.clear();
        number(&mut out, 1, u64::MAX);
        assert_eq!(out.len(), 11);
    }
}
