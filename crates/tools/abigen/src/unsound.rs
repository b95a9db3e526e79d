//! Sentences about definitions that contradict themselves or others.

/// Reason for which a definition is unsound. Its file and its name stand before the sentence.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum Unsound {
    /// Another one has its name.
    #[error("is defined twice")]
    Twice,
    /// Two fields of a structure have one name.
    #[error("field {field} stands twice")]
    FieldTwice { field: String },
    /// A field begins before the one before it ends.
    #[error("field {field} at {offset} overlaps its predecessor")]
    Overlap { field: String, offset: usize },
    /// A field is not at a multiple of its size.
    #[error("field {field} at {offset} is not naturally aligned")]
    Alignment { field: String, offset: usize },
    /// A field is longer than the structure.
    #[error("field {field} ends at {end}, beyond the size {size}")]
    Beyond { field: String, end: usize, size: usize },
    /// A structure cannot stand in an array.
    #[error("size {size} is not a multiple of its alignment")]
    Size { size: usize },
    /// A value is larger than its enumeration's type.
    #[error("{name} = {value} does not fit {repr}")]
    Value { name: String, value: u32, repr: String },
    /// Two values have one name.
    #[error("{name} stands twice")]
    ValueTwice { name: String },
    /// A block's registers have an odd width.
    #[error("registers of {width} bits are neither 32 nor 64 wide")]
    Width { width: u32 },
    /// A register of a block is unsound.
    #[error("register {register}: {why}")]
    Register { register: String, why: RegisterError },
}

/// Reason for which a register is unsound.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum RegisterError {
    /// Another one has its name.
    #[error("stands twice")]
    Twice,
    /// Another one has its place.
    #[error("overlaps {other}")]
    Overlaps { other: String },
    /// It is not at a multiple of its bytes.
    #[error("offset {offset:#x} is not a multiple of {bytes}")]
    Offset { offset: u32, bytes: u32 },
    /// Those of an array overlap.
    #[error("a stride of {stride} bytes is less than a register")]
    Stride { stride: u32 },
    /// A field is wider than the register.
    #[error("field {field} has bit {bit} of {width}")]
    Bit { field: String, bit: u32, width: u32 },
    /// Two fields have the same bits.
    #[error("field {field} overlaps field {other}")]
    FieldsOverlap { field: String, other: String },
    /// Two fields have one name.
    #[error("field {field} stands twice")]
    FieldTwice { field: String },
    /// No field has some bits of the reset value.
    #[error("the reset value {value:#x} has bits outside of the fields")]
    ResetOutside { value: u64 },
    /// Nobody sees some bits of the reset value.
    #[error("the reset value {value:#x} has bits that cannot be read")]
    ResetUnread { value: u64 },
    /// Nobody sees the reset value.
    #[error("it cannot be read, and has a reset value")]
    WriteOnlyReset,
    /// It has no reset value.
    #[error("it can be read, and has no reset value")]
    NoReset,
    /// It has no address.
    #[error("there is no constant of this name")]
    NoConstant,
    /// Its masks or values are nowhere.
    #[error("there is no enumeration {name}")]
    NoEnumeration { name: String },
    /// A mask is no field.
    #[error("{mask} of {enumeration} is no run of bits")]
    NoRun { mask: String, enumeration: String },
    /// An exception is for no mask.
    #[error("there is no bit {name}")]
    NoBit { name: String },
}

/// A text that is not what stands at its place.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum TextError {
    /// It is no type of a field.
    #[error("unknown type {text}")]
    Type { text: String },
    /// An array has no number of elements.
    #[error("bad array length in {text}")]
    Length { text: String },
    /// It is no access.
    #[error("unknown access {text}: known are {}", known.join(", "))]
    Access { text: String, known: Vec<&'static str> },
    /// It is no run of bits.
    #[error("bits {text} are not as 7:0 or 3")]
    Bits { text: String },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name() -> String {
        "A".to_owned()
    }

    #[test]
    fn each_error_of_a_definition_is_a_sentence() {
        let cases = [
            (Unsound::Twice, "is defined twice"),
            (Unsound::FieldTwice { field: name() }, "field A stands twice"),
            (
                Unsound::Overlap { field: name(), offset: 2 },
                "field A at 2 overlaps its predecessor",
            ),
            (
                Unsound::Alignment { field: name(), offset: 2 },
                "field A at 2 is not naturally aligned",
            ),
            (
                Unsound::Beyond { field: name(), end: 6, size: 4 },
                "field A ends at 6, beyond the size 4",
            ),
            (Unsound::Size { size: 6 }, "size 6 is not a multiple of its alignment"),
            (
                Unsound::Value { name: name(), value: 256, repr: "u8".into() },
                "A = 256 does not fit u8",
            ),
            (Unsound::ValueTwice { name: name() }, "A stands twice"),
            (Unsound::Width { width: 16 }, "registers of 16 bits are neither 32 nor 64 wide"),
            (
                Unsound::Register { register: name(), why: RegisterError::Twice },
                "register A: stands twice",
            ),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn each_error_of_a_register_is_a_sentence() {
        let other = || "B".to_owned();
        let cases = [
            (RegisterError::Twice, "stands twice"),
            (RegisterError::Overlaps { other: other() }, "overlaps B"),
            (RegisterError::Offset { offset: 18, bytes: 4 }, "offset 0x12 is not a multiple of 4"),
            (RegisterError::Stride { stride: 2 }, "a stride of 2 bytes is less than a register"),
            (RegisterError::Bit { field: name(), bit: 32, width: 32 }, "field A has bit 32 of 32"),
            (
                RegisterError::FieldsOverlap { field: name(), other: other() },
                "field A overlaps field B",
            ),
            (RegisterError::FieldTwice { field: name() }, "field A stands twice"),
            (
                RegisterError::ResetOutside { value: 16 },
                "the reset value 0x10 has bits outside of the fields",
            ),
            (
                RegisterError::ResetUnread { value: 1 },
                "the reset value 0x1 has bits that cannot be read",
            ),
            (RegisterError::WriteOnlyReset, "it cannot be read, and has a reset value"),
            (RegisterError::NoReset, "it can be read, and has no reset value"),
            (RegisterError::NoConstant, "there is no constant of this name"),
            (RegisterError::NoEnumeration { name: name() }, "there is no enumeration A"),
            (
                RegisterError::NoRun { mask: name(), enumeration: other() },
                "A of B is no run of bits",
            ),
            (RegisterError::NoBit { name: name() }, "there is no bit A"),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }

    #[test]
    fn each_error_of_a_text_is_a_sentence() {
        let text = || "i8".to_owned();
        let cases = [
            (TextError::Type { text: text() }, "unknown type i8"),
            (TextError::Length { text: "[u8; x]".into() }, "bad array length in [u8; x]"),
            (
                TextError::Access { text: text(), known: vec!["ro", "rw"] },
                "unknown access i8: known are ro, rw",
            ),
            (TextError::Bits { text: text() }, "bits i8 are not as 7:0 or 3"),
        ];
        for (error, sentence) in cases {
            assert_eq!(error.to_string(), sentence);
        }
    }
}
