//! The two CRCs.

/// x^8 + x^2 + x + 1: assumed.
const POLYNOMIAL: u8 = 0x07;

const TABLE: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u8;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 0x80 != 0 { crc << 1 ^ POLYNOMIAL } else { crc << 1 };
            bit += 1;
        }
        table[byte] = crc;
        byte += 1;
    }
    table
};

/// The CRC-8 of the bytes behind `crc`'s.
#[inline]
pub(crate) fn extend8(crc: u8, bytes: &[u8]) -> u8 {
    bytes.iter().fold(crc, |crc, byte| TABLE[usize::from(crc ^ byte)])
}

/// The CRC-8 of a link: over all bytes of a packet before it.
pub fn crc8(bytes: &[u8]) -> u8 {
    extend8(0, bytes)
}

/// The CRC-32 (IEEE) from card to card: over all that was sent behind the routing header.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_are_the_known_ones() {
        assert_eq!(crc8(b"123456789"), 0xf4);
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
    }

    #[test]
    fn behind_itself_the_small_one_is_zero() {
        let crc = crc8(b"a packet");
        assert_eq!(extend8(0, &[b"a packet", &[crc][..]].concat()), 0);
    }
}
