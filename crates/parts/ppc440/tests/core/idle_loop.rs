//! Fast-forward of idle loops is exact: a core that skips the iterations of its polling loop and one that
//! executes them are equal in everything, at any look and at any exit from the loop.

use crate::polled::{advance, start, start_loop, Polled, BUSY, HEARTBEAT, MAILBOX};
use crate::{polled, support};
use des::{Duration, Time};
use ppc440::{Core, TLB_E};

fn assert_equal(at: Time, skipped: &(Core, Polled), other: &(Core, Polled)) {
    assert_eq!(skipped.0.counters(), other.0.counters(), "counters at {at}");
    assert_eq!(skipped.0.pc(), other.0.pc(), "pc at {at}");
    for register in 0..32 {
        assert_eq!(skipped.0.gpr(register), other.0.gpr(register), "r{register} at {at}");
    }
    assert_eq!(skipped.1.free, other.1.free, "occupancy at {at}");
    assert_eq!(skipped.1.transactions, other.1.transactions, "transactions at {at}");
    assert_eq!(
        skipped.1.memory.bytes(0, 0x10000),
        other.1.memory.bytes(0, 0x10000),
        "memory at {at}"
    );
    assert_eq!(skipped.0.digest(), other.0.digest(), "state at {at}");
    let now = (skipped.0.now(), other.0.now());
    assert_eq!(now.0, now.1, "next issue at {at}");
}

#[test]
fn wake_ups_at_every_phase_of_the_loop() {
    for attributes in [0, TLB_E] {
        let (mut skipped, mut other) = (start(true, attributes), start(false, attributes));
        let mut at = Time::ZERO;
        // Odd steps drift through all phases of an iteration, in steps finer than a cycle.
        for wake in 0..2_000u32 {
            at += Duration(3_017_000 + 777 * u64::from(wake));
            for (core, bus) in [&mut skipped, &mut other] {
                advance(core, bus, at);
            }
            assert_equal(at, &skipped, &other);
            let address = MAILBOX + u64::from(wake % 3 == 0) * 4;
            for (_, bus) in [&mut skipped, &mut other] {
                bus.memory.write(address, &wake.to_be_bytes()).unwrap();
                // The write came over the bus.
                bus.free[1] = bus.free[1].max(at + BUSY);
            }
        }
        let executed = other.0.counters().instructions;
        assert!(
            skipped.1.repeated * 10 > executed / 4,
            "parking has skipped {}",
            skipped.1.repeated
        );
        assert_eq!(skipped.1.repeated, skipped.0.skipped_iterations());
        // An iteration of this loop has 14 to 17 instructions.
        let each = skipped.0.skipped_instructions() / skipped.0.skipped_iterations();
        assert!((14..=17).contains(&each), "{each} instructions a turn");
        assert_eq!(other.0.skipped_instructions(), 0);
    }
}

/// Most events do not concern the core: a core that may wait then is run again only for those that
/// do, and is in the same state as one that has executed everything.
#[test]
fn a_core_that_waits_misses_nothing() {
    for (source, seed) in [(polled::LOOP, 5), (DERIVED, 6), (DELAYED, 8), (LEVEL, 9)] {
        let mut waits = start_loop(source, true, TLB_E);
        let mut other = start_loop(source, false, TLB_E);
        let mut random = des::Random::new(seed);
        let (mut at, mut runs, mut events) = (Time::ZERO, 0, 0u64);
        while at < Time::ZERO + Duration::from_us(3_000) {
            at += Duration(random.below(if events < 40 { 20_000_000 } else { 700_000 }));
            events += 1;
            let passes = random.below(4) != 0;
            advance(&mut other.0, &mut other.1, at);
            waits.1.passes = passes;
            if !(passes && waits.0.is_waiting()) {
                advance(&mut waits.0, &mut waits.1, at);
                runs += 1;
            }
            if passes {
                continue;
            }
            assert_equal(at, &waits, &other);
            let value = random.below(1 << 32) as u32;
            let (busy, changes) = (random.below(2) == 0, random.below(2) == 0);
            for (_, bus) in [&mut waits, &mut other] {
                if changes {
                    bus.memory.write(MAILBOX, &value.to_be_bytes()).unwrap();
                }
                if busy {
                    bus.free[0] = bus.free[0].max(at + BUSY);
                }
            }
        }
        assert!(runs * 4 < events * 3, "{runs} runs for {events} events");
    }
}

#[test]
fn who_changes_a_core_that_waits_need_not_say_so() {
    let (mut waits, mut other) = (start(true, TLB_E), start(false, TLB_E));
    waits.1.passes = true;
    let at = Time::ZERO + Duration::from_us(20);
    for (core, bus) in [&mut waits, &mut other] {
        advance(core, bus, at);
    }
    assert!(waits.0.is_waiting() && !other.0.is_waiting());
    let changes: [fn(&mut Core); 6] = [
        |core| core.set_gpr(23, 1),
        |core| core.set_cr(0),
        |core| core.set_msr(0),
        |core| core.memory_changed(),
        |core| core.written_outside(0x4010, 4),
        |core| core.set_external_interrupt(true, Time::ZERO),
    ];
    for change in changes {
        let mut core = waits.0.clone();
        change(&mut core);
        assert!(!core.is_waiting());
    }
}

#[test]
fn a_twin_goes_on_as_one_that_parks() {
    let (mut skipped, mut other) = (start(true, TLB_E), start(false, TLB_E));
    let mut at = Time::ZERO;
    for wake in 0..200u32 {
        at += Duration(3_017_000 + 7_777 * u64::from(wake));
        for (core, bus) in [&mut skipped, &mut other] {
            advance(core, bus, at);
            bus.memory.write(MAILBOX, &wake.to_be_bytes()).unwrap();
        }
        let iterations = skipped.0.skipped_iterations();
        let instructions = skipped.0.counters().instructions;
        other.0 = support::twin(&skipped.0);
        other.0.set_idle_fast_forward(wake % 2 == 0);
        other.1 = skipped.1.clone();
        for (core, bus) in [&mut skipped, &mut other] {
            advance(core, bus, at + Duration(2_000_000));
        }
        at += Duration(2_000_000);
        assert_equal(at, &skipped, &other);
        assert!(
            skipped.0.skipped_iterations() >= iterations
                && other.0.counters().instructions > instructions
        );
    }
}

#[test]
fn looks_at_every_cycle_change_nothing() {
    let (mut skipped, mut other) = (start(true, TLB_E), start(false, TLB_E));
    let mut at = Time::ZERO + Duration::from_us(20);
    for (core, bus) in [&mut skipped, &mut other] {
        advance(core, bus, at);
    }
    assert!(skipped.1.repeated > 50);
    for step in 0..600u64 {
        at += Duration(2_000 * (1 + step % 7) + 130_000 * (step % 11) + step);
        for (core, bus) in [&mut skipped, &mut other] {
            advance(core, bus, at);
        }
        assert_equal(at, &skipped, &other);
    }
}

/// The polls of an iteration are used in the next one, so that they are outstanding where it begins; the
/// heartbeat is beside a word that is stored with it now and then.
const OVERLAPPED: &str = "
        lis 20,0
        ori 21,20,0x8000
        ori 20,20,0x4000
        li 23,0
        li 3,0
        .balign 32
turn:   cmpw 23,3
        lwz 9,16(20)
        addi 9,9,1
        stw 9,16(21)
        bne take
back:   nop
        nop
        nop
        nop
        nop
        nop
        nop
        addi 22,22,0
        lwz 4,0x24(21)
        lwz 3,0x20(21)
        stw 9,16(20)
        b turn
take:   stw 3,20(21)
        stb 3,24(21)
        mr 23,3
        b back
";

#[test]
fn what_is_outstanding_at_the_end_of_a_turn_is_kept() {
    let mut skipped = start_loop(OVERLAPPED, true, TLB_E);
    let mut other = start_loop(OVERLAPPED, false, TLB_E);
    let mut at = Time::ZERO;
    for step in 0..3_000u64 {
        at += Duration(2_000 * (1 + step % 7) + 130_000 * (step % 11) + step);
        for (core, bus) in [&mut skipped, &mut other] {
            advance(core, bus, at);
            if step % 5 == 0 {
                bus.memory.write(MAILBOX, &(step as u32).to_le_bytes()).unwrap();
            }
        }
        assert_equal(at, &skipped, &other);
    }
    assert!(skipped.1.repeated > 1_000, "{} turns skipped", skipped.1.repeated);
    assert!(skipped.0.counters().gathered_stores > 100);
}

#[test]
fn a_long_time_costs_nothing() {
    let (mut core, mut bus) = start(true, TLB_E);
    let end = Time::ZERO + Duration::from_us(10_000_000);
    advance(&mut core, &mut bus, end);
    let iterations = core.skipped_iterations();
    assert!(iterations > 10_000_000, "{iterations} turns in ten seconds");
    let beats = bus.memory.read_u32(HEARTBEAT).unwrap();
    assert!((beats.wrapping_sub(iterations as u32)) < 100, "the heartbeat counts on, modulo 2^32");
}

#[test]
fn code_that_has_changed_is_not_skipped() {
    let (mut skipped, mut other) = (start(true, TLB_E), start(false, TLB_E));
    let later = Time::ZERO + Duration::from_us(50);
    for (core, bus) in [&mut skipped, &mut other] {
        advance(core, bus, Time::ZERO + Duration::from_us(20));
        // addi 9,9,1 becomes addi 9,9,3.
        let words = bus.memory.bytes(0, 0x200).unwrap();
        let place = words.windows(4).position(|word| word == 0x3929_0001u32.to_le_bytes()).unwrap();
        bus.memory.write_u32(place as u64, 0x3929_0003).unwrap();
        core.memory_changed();
        advance(core, bus, later);
    }
    assert_equal(later, &skipped, &other);
}

#[test]
fn external_interrupts_and_timers_end_the_skipping() {
    let (mut skipped, mut other) = (start(true, TLB_E), start(false, TLB_E));
    let mut at = Time::ZERO;
    for (core, _) in [&mut skipped, &mut other] {
        core.set_spr(ppc440::spr::IVOR0 + 10, 0x400).unwrap();
        core.set_spr(ppc440::spr::DEC, 12_345).unwrap();
        core.set_spr(ppc440::spr::DECAR, 12_345).unwrap();
        core.set_spr(ppc440::spr::IVOR0 + 11, 0x480).unwrap();
        core.set_spr(ppc440::spr::TCR, 0x04c0_0000).unwrap();
        core.set_msr(ppc440::MSR_EE);
    }
    // The handlers of decrementer and fixed interval timer: rfi after they have cleared the status.
    for (at, source) in [
        (0x400, "lis 26,0x0800\n mtspr 336,26\n addi 27,27,1\n rfi\n"),
        (0x480, "lis 26,0x0400\n mtspr 336,26\n addi 28,28,1\n rfi\n"),
    ] {
        let handler = support::assemble(source);
        for (_, bus) in [&mut skipped, &mut other] {
            for (index, word) in handler.iter().enumerate() {
                bus.memory.write(at + 4 * index as u64, &word.to_le_bytes()).unwrap();
            }
        }
    }
    for _ in 0..300 {
        at += Duration(7_003_001);
        for (core, bus) in [&mut skipped, &mut other] {
            advance(core, bus, at);
        }
        assert_equal(at, &skipped, &other);
    }
    assert!(skipped.0.gpr(27) > 50, "the decrementer has interrupted {} times", skipped.0.gpr(27));
    let intervals = (support::CLOCK.edge_at_or_after(at) + 0x1000) / 0x2000;
    assert_eq!(u64::from(skipped.0.gpr(28)), intervals);
    assert!(skipped.1.repeated > 1_000);
}

/// Values derived from the polled word, in registers and in the cache, in all widths; the path depends on
/// two of its bits.
const DERIVED: &str = "
        lis 20,0
        ori 21,20,0x8000
        ori 20,20,0x4000
        li 25,0
        .balign 32
turn:   lwz 9,16(20)
        addi 9,9,1
        stw 9,16(21)
        stw 9,16(20)
        lwz 3,0x20(21)
        lha 4,0x22(21)
        lbz 5,0x20(21)
        lhz 6,0x22(21)
        stw 3,32(20)
        sth 4,38(20)
        stb 6,41(20)
        lha 7,38(20)
        lwz 8,32(20)
        add 10,7,5
        rlwinm 11,8,3,4,28
        xor 12,10,11
        mr 14,12
        stw 14,44(20)
        andi. 15,3,0x30
        cmpwi 15,0x10
        bne turn
        addi 25,25,1
        bl 1f
        b turn
1:      andi. 15,3,0x20
        beqlr
        mullw 25,25,3
        blr
";

/// Polled value that passes through registers and a field of CR for some iterations before anything depends
/// on it.
const DELAYED: &str = "
        lis 20,0
        ori 21,20,0x8000
        ori 20,20,0x4000
        .balign 32
turn:   bne 7,take
back:   lwz 9,16(20)
        addi 9,9,1
        stw 9,16(21)
        stw 9,16(20)
        cmpw 7,27,28
        mr 27,26
        mr 26,25
        mr 25,3
        lwz 3,0x20(21)
        nop
        nop
        nop
        nop
        b turn
take:   mr 28,27
        addi 30,30,1
        b back
";

/// Loop with something to do in each iteration as long as the polled word is odd, of which the iteration's
/// own registers show nothing at its end.
const LEVEL: &str = "
        lis 20,0
        ori 21,20,0x8000
        ori 20,20,0x4000
        .balign 32
turn:   lwz 9,16(20)
        addi 9,9,1
        stw 9,16(21)
        stw 9,16(20)
        lwz 3,0x20(21)
        andi. 4,3,1
        bne take
back:   li 3,0
        li 4,0
        cmpwi 4,0
        nop
        nop
        b turn
take:   addi 30,30,1
        b back
";

#[test]
fn a_turn_is_known_again_by_its_way_whatever_the_values() {
    for attributes in [0, TLB_E] {
        let mut skipped = start_loop(DERIVED, true, attributes);
        let mut other = start_loop(DERIVED, false, attributes);
        let mut random = des::Random::new(4);
        let (mut at, mut changes) = (Time::ZERO, 0u64);
        // Long enough to learn an iteration, then never again: to record one, six must fit.
        let long = Time::ZERO + Duration::from_us(30);
        while at < Time::ZERO + Duration::from_us(3_000) {
            at += Duration(if at < long { 9_000_000 } else { 300_000 + random.below(600_000) });
            let value = random.below(1 << 32) as u32;
            for (core, bus) in [&mut skipped, &mut other] {
                advance(core, bus, at);
                if at > long {
                    bus.memory.write(MAILBOX, &value.to_be_bytes()).unwrap();
                }
            }
            changes += 1;
            assert_equal(at, &skipped, &other);
        }
        let skipped = skipped.1.repeated;
        assert!(skipped > 2 * changes, "{skipped} turns in {changes} pauses");
    }
}
