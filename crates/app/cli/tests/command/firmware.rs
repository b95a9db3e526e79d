//! Firmware that goes wrong: instructions planted into its image.

use crate::runner::{command, ended, root, Ended};
use crate::usage_errors::installation;
use std::path::Path;
use std::process::Command;

/// The build that machine `redstorm` uses.
pub const VARIANT: &str = "build/firmware/cache-id_inline-on_shadow-on_trace-off_pinned-on";

/// The I attribute of a TLB entry's last word.
const INHIBITED: u32 = 0x400;

/// Address of a function of the firmware.
pub fn address(function: &str) -> u32 {
    let elf = root().join(VARIANT).join("seastar.elf");
    let symbols = Command::new("powerpc-linux-gnu-nm").arg(elf).output().unwrap();
    let text = String::from_utf8(symbols.stdout).unwrap();
    let line = text.lines().find(|line| line.ends_with(&format!(" {function}")));
    let line = line.unwrap_or_else(|| panic!("the firmware has {function}"));
    u32::from_str_radix(line.split(' ').next().unwrap(), 16).unwrap()
}

/// Runs a program on an installation whose firmware has `words` instead of the first instructions
/// of `function`.
fn run_with(function: &str, words: &[u32]) -> Ended {
    run_patched(address(function), words, &[])
}

/// Runs a program on an installation whose firmware has `words` at an address of its image.
fn run_patched(address: u32, words: &[u32], options: &[&str]) -> Ended {
    let folder = tempfile::tempdir().unwrap();
    assert!(installation(folder.path()));
    patch(&folder.path().join(VARIANT).join("seastar.img"), address, words);
    let mut command = command();
    let line = ["run", "--judge", "-n", "2", "--quiet"];
    let program = ["examples/hello.c"];
    command.env("SUNSTAR_ROOT", folder.path()).args(line).args(options).args(program);
    ended(&mut command)
}

/// Writes words at an address of an image, and in the ELF beside it. The image holds every word with
/// its bytes swapped for the loader: big endian.
pub fn patch(image: &Path, address: u32, words: &[u32]) {
    let elf = image.with_extension("elf");
    let mut files = [image, &elf].map(|file| std::fs::read(file).unwrap());
    let start = (address - abi::seastar::TEXT_BASE) as usize;
    let in_elf = offset(&files[1], address);
    for (i, word) in words.iter().enumerate() {
        files[0][start + 4 * i..][..4].copy_from_slice(&word.to_be_bytes());
        files[1][in_elf + 4 * i..][..4].copy_from_slice(&word.to_le_bytes());
    }
    for (file, bytes) in [image, &elf].iter().zip(files) {
        std::fs::write(file, bytes).unwrap();
    }
}

/// Offset in an ELF file of the byte that is loaded at an address.
pub fn offset(elf: &[u8], address: u32) -> usize {
    let word = |at: usize| u32::from_le_bytes(*elf[at..].first_chunk().unwrap());
    let half = |at: usize| usize::from(u16::from_le_bytes(*elf[at..].first_chunk().unwrap()));
    // e_phoff, e_phentsize and e_phnum; then p_offset, p_paddr and p_filesz of each.
    let headers = (0..half(44)).map(|i| word(28) as usize + i * half(42));
    let mut segments = headers.map(|at| (word(at + 4), word(at + 12), word(at + 16)));
    let holder = segments.find(|(_, base, size)| address.wrapping_sub(*base) < *size);
    let (offset, base, _) = holder.expect("the address is loaded");
    (offset + (address - base)) as usize
}

#[test]
fn an_illegal_instruction_is_recorded_with_address_function_and_line() {
    let place = format!("{:#010x}", address("event_post"));
    run_with("event_post", &[0])
        .said(1, &["node 0", "event_post+0x0", "core/event.", &place, "illegal instruction"]);
}

#[test]
fn a_store_that_nobody_takes_is_recorded() {
    // lis r9, 0xFFE0; stw r9, 0x500(r9): among the device registers, but none of them.
    run_with("event_post", &[0x3d20_ffe0, 0x9129_0500])
        .said(1, &["node", "event_post+0x4", ".h:", "write of 4 bytes at 0xffe00500", "no device"]);
}

#[test]
fn a_wild_store_ends_in_the_firmwares_own_exception_handler() {
    // li r9, 0; stw r9, 8(r9): window 0 is not mapped.
    run_with("event_post", &[0x3920_0000, 0x9129_0008]).said(
        1,
        &["node", "access to unmapped data of address 0x00000008", "event_post+0x4", ".h:"],
    );
}

/// A firmware that hangs ends the run: otherwise hosts would poll for ever.
#[test]
fn a_firmware_that_hangs_ends_the_run() {
    // b .
    run_with("event_post", &[0x4800_0000]).said(
        1,
        &["node", "not come round its main loop since", "event_post+0x0 (core/event.", "patience"],
    );
}

#[test]
fn a_firmware_that_sleeps_is_why_nothing_moves() {
    // lis r9, 4; mtmsr r9: MSR[WE] alone
    run_with("event_post", &[0x3d20_0004, 0x7d20_0124])
        .said(1, &["deadlock", "the firmware sleeps until an interrupt, at event_post+0x8"]);
}

#[test]
fn a_system_call_is_told_where_it_stands() {
    run_with("event_post", &[0x4400_0002]).said(1, &["node", "system call in event_post+0x0"]);
}

#[test]
fn a_jump_into_nowhere_tells_where_it_was_called() {
    // li r9, 8; mtctr r9; bctrl
    run_with("event_post", &[0x3920_0008, 0x7d29_03a6, 0x4e80_0421]).said(
        1,
        &["node", "execution of unmapped code in 0x00000008", "called before event_post+0xc"],
    );
}

#[test]
fn a_stack_that_overflows_is_told() {
    // stwu r1, -4096(r1); b there
    run_with("event_post", &[0x9421_f000, 0x4bff_fffc])
        .said(1, &["node", "access to", "event_post+0x0", "stack overflows"]);
}

/// Runs with the firmware's page at `page`, the entry of that number in its table of pages, made cacheable,
/// as if the I attribute were missing in the table.
fn run_cached(entry: u32, page: u32, options: &[&str]) -> Ended {
    // The table is a constant: in the image it is behind the text.
    let table = address("second_space") - address("__data_start") + address("__data_load");
    let words = table + 12 * entry;
    let image = std::fs::read(root().join(VARIANT).join("seastar.img")).unwrap();
    let word = |address: u32| {
        let bytes = image[(address - abi::seastar::TEXT_BASE) as usize..].first_chunk().unwrap();
        u32::from_be_bytes(*bytes)
    };
    assert_eq!((word(words + 4), word(words + 8) & INHIBITED), (page, INHIBITED));
    run_patched(words + 8, &[word(words + 8) & !INHIBITED], options)
}

#[test]
fn a_mailbox_in_the_cache_is_read_stale() {
    run_cached(0, abi::seastar::MAILBOX_BASE, &[]).said(
        1,
        &["node", "firmware fault in", "mainloop", "core/", "is stale", "in memory since"],
    );
}

#[test]
fn a_ready_flag_in_the_cache_is_not_flushed() {
    let page = abi::seastar::READY_FLAG & !0xfff;
    let entry = 6 + (page - abi::seastar::UNCACHED_DATA_BASE) / 0x1000;
    let flag = format!("{:#010x}", abi::seastar::READY_FLAG);
    run_cached(entry, page, &[])
        .said(1, &["node 0", "firmware fault in", ".c:", &flag, "never flushed"]);
    // As on the machine: nobody ever sees the flag.
    run_cached(entry, page, &["--set", "ppc440.coherence_faults=off"])
        .said(1, &["node 0", "the firmware was not ready for the launch"]);
}

/// A changed source of any firmware is compiled by the next run, as a mistake in it shows.
#[test]
fn no_change_of_any_firmware_is_ignored() {
    for (machine, sources, file) in [
        ("redstorm", "firmware/seastar", "core/mainloop.c"),
        ("alpu", "firmware/offload", "core/unit.c"),
        ("amata", "firmware/lanai", "core/receive.c"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        assert!(installation(folder.path()));
        for part in ["firmware", "abi"] {
            let mut copy = Command::new("cp");
            copy.arg("-r").arg(root().join(part)).arg(folder.path());
            assert!(copy.status().unwrap().success(), "{part}");
        }
        let file = folder.path().join(sources).join(file);
        let text = std::fs::read_to_string(&file).unwrap();
        std::fs::write(&file, format!("{text}\nthis is no C\n")).unwrap();
        let mut command = command();
        let workload = if machine == "amata" { "myrinet-pingpong" } else { "pingpong" };
        command.env("SUNSTAR_ROOT", folder.path());
        command.args(["run", "-q", "-n", "2", "-m", machine, &format!("builtin:{workload}")]);
        let ended = ended(&mut command);
        ended.said(2, &["does not build", "the compiler's"]);
        assert!(ended.stderr.contains("unknown type name"), "{machine}: {ended:#?}");
    }
}
