//! The end-to-end CRC: CRC-32 (IEEE) over a message's header and payload.

/// A CRC in the making.
#[derive(Clone, Debug, Default)]
pub(crate) struct Crc(crc32fast::Hasher);

impl Crc {
    /// Takes in the message's next bytes.
    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }
    /// The CRC of all bytes so far; starts anew.
    pub(crate) fn finish(&mut self) -> u32 {
        std::mem::take(&mut self.0).finalize()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_ieee_crc_however_the_bytes_are_cut() {
        let mut crc = Crc::default();
        crc.update(b"1234");
        crc.update(b"");
        crc.update(b"56789");
        assert_eq!(crc.finish(), 0xcbf4_3926);
        assert_eq!(crc.finish(), 0);
    }
}
