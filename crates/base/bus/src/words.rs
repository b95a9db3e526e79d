//! Device registers: 32-bit words behind accesses of any width, solved once.

use crate::BusError;

/// Little-endian 32-bit registers at word-aligned addresses.
pub trait Words {
    /// Value of the register at `addr`; the error is the `why` of a [`BusError`].
    fn read_word(&mut self, addr: u64) -> Result<u32, &'static str>;
    /// Writes the register at `addr`.
    fn write_word(&mut self, addr: u64, word: u32) -> Result<(), &'static str>;
}

/// The part of an access that falls into one word: the word's address, the first byte in the word,
/// the range in the access's data.
fn parts(addr: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let mut done = 0;
    std::iter::from_fn(move || {
        if done == len {
            return None;
        }
        let at = addr + done as u64;
        let byte = (at % 4) as usize;
        let start = done;
        done = len.min(start + 4 - byte);
        Some((at - byte as u64, byte, start..done))
    })
}

/// Reads any number of bytes at any address: every word touched is read once, in ascending order.
#[inline]
pub fn read_words(words: &mut impl Words, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
    // Mostly it is one word.
    match <&mut [u8; 4]>::try_from(&mut *buf) {
        Ok(whole) if addr % 4 == 0 => {
            let error = |why| BusError { addr, len: 4, write: false, why };
            *whole = words.read_word(addr).map_err(error)?.to_le_bytes();
            Ok(())
        }
        _ => read_parts(words, addr, buf),
    }
}

fn read_parts(words: &mut impl Words, addr: u64, buf: &mut [u8]) -> Result<(), BusError> {
    let len = buf.len();
    for (at, byte, range) in parts(addr, len) {
        let word =
            words.read_word(at).map_err(|why| BusError { addr: at, len, write: false, why })?;
        let count = range.len();
        buf[range].copy_from_slice(&word.to_le_bytes()[byte..byte + count]);
    }
    Ok(())
}

/// Writes any number of bytes at any address: every word touched is written once, in ascending order; other
/// bytes of the word are written with their values as read.
#[inline]
pub fn write_words(words: &mut impl Words, addr: u64, data: &[u8]) -> Result<(), BusError> {
    match <[u8; 4]>::try_from(data) {
        Ok(word) if addr % 4 == 0 => words
            .write_word(addr, u32::from_le_bytes(word))
            .map_err(|why| BusError { addr, len: 4, write: true, why }),
        _ => write_parts(words, addr, data),
    }
}

fn write_parts(words: &mut impl Words, addr: u64, data: &[u8]) -> Result<(), BusError> {
    let len = data.len();
    for (at, byte, range) in parts(addr, len) {
        let error = |why| BusError { addr: at, len, write: true, why };
        let count = range.len();
        let mut bytes = [0; 4];
        if count < 4 {
            bytes = words.read_word(at).map_err(error)?.to_le_bytes();
        }
        bytes[byte..byte + count].copy_from_slice(&data[range]);
        words.write_word(at, u32::from_le_bytes(bytes)).map_err(error)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    struct File([u32; 4]);
    impl Words for File {
        fn read_word(&mut self, addr: u64) -> Result<u32, &'static str> {
            self.0.get(addr as usize / 4).copied().ok_or("no register")
        }
        fn write_word(&mut self, addr: u64, word: u32) -> Result<(), &'static str> {
            *self.0.get_mut(addr as usize / 4).ok_or("no register")? = word;
            Ok(())
        }
    }

    #[test]
    fn every_width_and_offset_agrees_with_plain_bytes() {
        for addr in 0..16 {
            for len in 0..=16 - addr {
                let mut file = File([0x0302_0100, 0x0706_0504, 0x0b0a_0908, 0x0f0e_0d0c]);
                let mut plain: Vec<u8> = (0..16).collect();
                let data: Vec<u8> = (0..len as u8).map(|i| 0xa0 + i).collect();
                write_words(&mut file, addr as u64, &data).unwrap();
                plain[addr..addr + len].copy_from_slice(&data);
                let mut all = [0; 16];
                read_words(&mut file, 0, &mut all).unwrap();
                assert_eq!(all[..], plain[..]);
                let mut part = vec![0; len];
                read_words(&mut file, addr as u64, &mut part).unwrap();
                assert_eq!(part, data);
            }
        }
    }

    #[test]
    fn errors_name_the_word() {
        let error = read_words(&mut File([0; 4]), 14, &mut [0; 4]).unwrap_err();
        assert_eq!((error.addr, error.write), (16, false));
        let error = write_words(&mut File([0; 4]), 16, &[0; 2]).unwrap_err();
        assert_eq!((error.addr, error.write), (16, true));
    }
}
