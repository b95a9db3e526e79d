//! Digests of files, to compare them.

use des::TraceHash;

/// Digest of these bytes: 64 bits in 16 hex digits. It tells accidental changes, not malicious ones.
pub fn digest(bytes: &[u8]) -> String {
    let mut hash = TraceHash::default();
    hash.word(bytes.len() as u64);
    for chunk in bytes.chunks(8) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        hash.word(u64::from_le_bytes(word));
    }
    // Spreads the last word over all bits.
    hash.word(0);
    hash.word(0);
    format!("{:016x}", hash.value())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_byte_and_the_length_count() {
        let bytes: Vec<u8> = (0..37).collect();
        let mut seen = BTreeSet::from([digest(&bytes), digest(&[]), digest(&[0]), digest(&[0; 8])]);
        for index in 0..bytes.len() {
            let mut other = bytes.clone();
            other[index] ^= 0x80;
            seen.insert(digest(&other));
            seen.insert(digest(&bytes[..index]));
        }
        // The shortest prefix is the empty text again, the next the single zero.
        assert_eq!(seen.len(), 4 + 37 + 37 - 2);
    }
}
