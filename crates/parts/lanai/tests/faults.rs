//! Faults that stop the core, with their names, and the state that they leave.
#![allow(clippy::unwrap_used)]

mod support;

use des::{Clock, Time};
use lanai::{Config, Core, FaultKind, Stop};
use support::Flat;

const NOP: u32 = 1;

/// Runs `words` from address 0 with `r4` = `address`, in a memory guarded at 0x40000 to 0x4ffff.
fn fault(words: &[u32], address: u32) -> (u32, FaultKind, String) {
    let mut flat = Flat::new();
    flat.put(0, words);
    let clock = Clock::from_hz(66_000_000);
    let mut core = Core::new(Config { clock, guard: 0x4_0000..0x5_0000 });
    core.set_register(4, address);
    assert_eq!(core.run(&mut flat, Time(1_000_000_000)), Stop::Fault);
    let fault = core.fault().unwrap();
    assert_eq!(core.run(&mut flat, Time::NEVER), Stop::Fault, "it stays stopped");
    (fault.pc, fault.kind, fault.to_string())
}

#[test]
fn faults_are_named() {
    let (pc, kind, text) = fault(&[NOP, 0xd000_0008], 0);
    assert_eq!((pc, kind), (4, FaultKind::Illegal { word: 0xd000_0008 }));
    assert!(text.ends_with("pc 0x000004: illegal instruction 0xd0000008"), "{text}");
    // st %r6, 0[%r4] and its neighbours.
    let (_, kind, text) = fault(&[0x9310_0000], 0x4_0000);
    assert_eq!(kind, FaultKind::Guard);
    assert!(text.ends_with("store into the guard region at 0x040000"), "{text}");
    for beside in [0x3_fffc, 0x5_0000] {
        let (pc, _, _) = fault(&[0x9310_0000, 0xd000_0000], beside);
        assert_eq!(pc, 4, "it may store at {beside:#x}");
    }
    let (_, kind, _) = fault(&[0xf313_6000], 0x4_ffff);
    assert_eq!(kind, FaultKind::Guard);
    let (_, kind, text) = fault(&[0x8310_0000], 0x1002);
    assert_eq!(kind, FaultKind::Misaligned { len: 4, store: false });
    assert!(text.ends_with("misaligned load of 4 bytes at 0x001002"), "{text}");
    let (_, kind, _) = fault(&[0x9310_0000], 0x1001);
    assert_eq!(kind, FaultKind::Misaligned { len: 4, store: true });
    let (_, kind, text) = fault(&[0x8310_0000], 0x20_0000);
    assert!(matches!(kind, FaultKind::Bus(_)) && text.contains("no device answers"), "{text}");
    let (_, kind, _) = fault(&[0xf003_ff47], 0);
    assert_eq!(kind, FaultKind::Punt);
}

#[test]
fn branches_in_slots_are_faults() {
    // bt 0x10; bt 0x20: the second is taken in the first one's slot.
    let (pc, kind, _) = fault(&[0xe000_0010, 0xe000_0020], 0);
    assert_eq!((pc, kind), (4, FaultKind::Slot));
    // One that is not taken is none (bf 0x20); the fault comes from the word at the target.
    let (pc, _, _) = fault(&[0xe000_0010, 0xe000_0021, NOP, NOP, 0xd000_0000], 0);
    assert_eq!(pc, 0x10);
    // ld 0[%r4], %pc has two slots.
    for slot in [4, 8] {
        let mut words = [0x8110_0000, NOP, NOP, NOP];
        words[slot / 4] = 0xe000_0020;
        let (pc, kind, _) = fault(&words, 0x1000);
        assert_eq!((pc as usize, kind), (slot, FaultKind::Slot));
    }
}

#[test]
fn code_must_stand_in_memory_at_words() {
    // bt 0x1fffffc: a slot, and then there is no memory.
    let (pc, kind, _) = fault(&[0xe1ff_fffc, NOP], 0);
    assert_eq!((pc, kind), (0x01ff_fffc, FaultKind::Fetch));
    // or %r0, %r4, %pc with r4 = 2.
    let (pc, kind, _) = fault(&[0xc100_2500, NOP], 2);
    assert_eq!((pc, kind), (0, FaultKind::Fetch));
}

/// A store changes the next instruction at once: there is no cache.
#[test]
fn code_that_changes_itself_is_executed_as_changed() {
    // st %r6, 0[%r4] writes what follows; the rest of the page is decoded by then.
    let mut flat = Flat::new();
    flat.put(0, &[NOP, 0x9310_0000, 0xd000_0000, 0xe000_0008, NOP]);
    let mut core = support::core();
    core.set_register(4, 8);
    core.set_register(6, NOP);
    assert_eq!(core.run(&mut flat, Time(200_000)), Stop::Reached, "{:?}", core.fault());
    // Writes of others are reported, too.
    flat.put(12, &[0xd000_0000]);
    core.memory_changed(12, 4);
    assert_eq!(core.run(&mut flat, Time(400_000)), Stop::Fault);
}

/// Instructions are kept decoded, data may lie beside them, and the processor has no cache.
#[test]
fn an_instruction_that_was_written_is_executed_as_it_is_now() {
    const ILLEGAL: u32 = 0xd000_0008;
    const PUNT: u32 = 0xf003_ff47;
    // Word and byte of %r6, which is 0, to [%r4].
    for store in [0x9310_0000, 0xf313_6000] {
        let words = [store, NOP, NOP, ILLEGAL, PUNT];
        let (pc, kind, _) = fault(&words, 12);
        assert_eq!((pc, kind), (16, FaultKind::Punt));
        let (pc, _, _) = fault(&words, 24);
        assert_eq!(pc, 12, "what stands beside stays");
    }
    // By another master, in the middle of a write.
    let mut flat = Flat::new();
    flat.put(0, &[NOP, NOP, NOP, ILLEGAL, ILLEGAL, PUNT]);
    let clock = Clock::from_hz(66_000_000);
    let mut core = Core::new(Config { clock, guard: 0..0 });
    assert_eq!(core.run(&mut flat, clock.edge(core.cycle() + 2)), Stop::Reached);
    flat.put(8, &[NOP, NOP, NOP]);
    core.memory_changed(8, 10);
    assert_eq!(core.run(&mut flat, Time::NEVER), Stop::Fault);
    assert_eq!(core.fault().unwrap().pc, 20);
}
