//! Memory that a process may write and not read (`PROT_WRITE` alone): the processor reads it all the same,
//! and so does a network interface. `process_vm_readv` refuses it; the file of the process's memory does not,
//! but would also give what the process itself cannot read, so its mappings are asked first.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;

/// Reads `buf` at `va` of a process, if all of that is in mappings which it may write. False if it is not, or
/// if the system forbids it.
pub(crate) fn read(pid: libc::pid_t, va: u64, buf: &mut [u8]) -> bool {
    let Ok(maps) = fs::read_to_string(format!("/proc/{pid}/maps")) else { return false };
    if !is_writable(&maps, va, buf.len() as u64) {
        return false;
    }
    let file = File::open(format!("/proc/{pid}/mem"));
    file.is_ok_and(|file| file.read_exact_at(buf, va).is_ok())
}

/// True if these bytes are in mappings that may be written, by what the system shows of a process.
fn is_writable(maps: &str, va: u64, bytes: u64) -> bool {
    let Some(end) = va.checked_add(bytes) else { return false };
    let mut at = va;
    // In the order of their addresses.
    for line in maps.lines() {
        let Some((from, to, rights)) = mapping(line) else { continue };
        if at >= end || from > at {
            break;
        }
        if at < to {
            if !rights.contains('w') {
                return false;
            }
            at = to;
        }
    }
    at >= end
}

/// Begin, end and rights of a mapping: `7f1200000000-7f1200001000 -w-s 00000000 00:01 5 /memfd:x`.
fn mapping(line: &str) -> Option<(u64, u64, &str)> {
    let mut words = line.split(' ');
    let (from, to) = words.next()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some((address(from)?, address(to)?, words.next()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "1000-3000 r--p 00000000 00:00 0 \n\
                        3000-5000 -w-s 00000000 00:01 5 /memfd:x\n\
                        5000-6000 rw-p 00000000 00:00 0 [heap]\n\
                        7000-8000 ---p 00000000 00:00 0 \n\
                        nonsense\n\
                        8000-9000 -w-p 00000000 00:00 0 \n";

    #[test]
    fn only_what_may_be_written_is_read() {
        for (va, bytes, writable) in [
            (0x3000, 0x3000, true),
            (0x3fff, 1, true),
            (0x5fff, 1, true),
            (0x5fff, 2, false),
            (0x2fff, 2, false),
            (0x1000, 8, false),
            (0x7ff8, 16, false),
            (0x8ff8, 8, true),
            (0x8ff8, 9, false),
            (0, 1, false),
            (0x9000, 1, false),
            (u64::MAX, 2, false),
        ] {
            assert_eq!(is_writable(MAPS, va, bytes), writable, "{va:#x} {bytes}");
        }
    }
}
