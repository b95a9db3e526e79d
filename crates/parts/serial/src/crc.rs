//! Checksums of packets.

/// CRC16 of a header: CCITT polynomial x^16 + x^12 + x^5 + 1, most significant bit first, from all ones on.
pub fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0xFFFF, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc: u16, _| {
            let carry = crc >> 15;
            (crc << 1) ^ (carry * 0x1021)
        })
    })
}

/// CRC32 of a payload (IEEE 802.3), a word further from `crc`; 0 before the first.
pub fn crc32(crc: u32, word: u64) -> u32 {
    let mut hasher = crc32fast::Hasher::new_with_initial(crc);
    hasher.update(&word.to_le_bytes());
    hasher.finalize()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_check_values() {
        assert_eq!(crc16(b"123456789"), 0x29B1);
        let words = [*b"12345678", *b"9abcdefg"].map(u64::from_le_bytes);
        assert_eq!(words.iter().fold(0, |crc, word| crc32(crc, *word)), 0xA2CA_AFFF);
    }
}
