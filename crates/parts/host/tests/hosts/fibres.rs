//! Waiting, several fibres on one core, faults, panics and the end of a host.

use crate::world;
use crate::world::World;
use des::{Duration, Time};
use host::{Cpu, FibreState, Waker};
use std::cell::{Cell, RefCell};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::rc::Rc;

fn note(log: &world::Log, cpu: &Cpu, what: &str) {
    log.borrow_mut().push((cpu.now().0, what.into()));
}

fn notes(world: &World) -> Vec<(u64, String)> {
    world.log()
}

fn expect(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(at, what)| (*at, what.to_string())).collect()
}

#[test]
fn a_wake_before_the_wait_is_not_lost() {
    let mut world = World::new();
    let log = world.node.log.clone();
    world.host.spawn("program", move |cpu| {
        cpu.waker().wake();
        cpu.waker().wake();
        cpu.spend(Duration(5));
        cpu.wait(Duration(7));
        note(&log, &cpu, "woken");
        let timely = cpu.wait_until(Duration(7), Time(20));
        note(&log, &cpu, if timely { "woken" } else { "late" });
    });
    world.run();
    // Two wakes are one; the first look at or after the deadline is 5 + 3 * 7.
    assert_eq!(notes(&world), expect(&[(5, "woken"), (26, "late")]));
}

#[test]
fn a_wake_from_outside_is_seen_at_the_next_poll_instant() {
    for wake_at in 3..40 {
        let mut world = World::new();
        let log = world.node.log.clone();
        let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
        let given = waker.clone();
        world.host.spawn("program", move |cpu| {
            *given.borrow_mut() = Some(cpu.waker());
            cpu.spend(Duration(3));
            cpu.wait(Duration(10));
            note(&log, &cpu, "woken");
        });
        world.run();
        waker.borrow().as_ref().expect("given at the start").wake();
        world.host.attend(Time(wake_at), &mut world.node);
        world.now = Time(wake_at);
        world.run();
        // The look at 3 found nothing.
        let seen = 3 + u64::max(1, (wake_at - 3).div_ceil(10)) * 10;
        assert_eq!(notes(&world), expect(&[(seen, "woken")]), "woken at {wake_at}");
    }
}

#[test]
fn a_deadline_and_a_later_wait_do_not_mix() {
    let mut world = World::new();
    let log = world.node.log.clone();
    world.host.set_interrupt_handler(Rc::new(|_| {}));
    world.host.spawn("program", move |cpu| {
        let waker = cpu.waker();
        cpu.spawn("other", move |cpu| {
            cpu.spend(Duration(4));
            waker.wake();
            cpu.spend(Duration(2));
        });
        assert!(cpu.wait_until(Duration(1), Time(30)));
        note(&log, &cpu, "woken");
        assert!(!cpu.wait_until(Duration(1), Time(100)));
        note(&log, &cpu, "late");
    });
    world.run();
    // The other fibre keeps the core until it ends.
    assert_eq!(notes(&world), expect(&[(6, "woken"), (100, "late")]));
}

#[test]
fn fibres_share_the_core_when_they_wait() {
    let mut world = World::new();
    let log = world.node.log.clone();
    for name in ["a", "b"] {
        let log = log.clone();
        world.host.spawn(name, move |cpu| {
            for _ in 0..2 {
                cpu.spend(Duration(3));
                note(&log, &cpu, name);
                cpu.wait_until(Duration(10), cpu.now() + Duration(1));
            }
        });
    }
    world.run();
    assert_eq!(notes(&world), expect(&[(3, "a"), (6, "b"), (16, "a"), (19, "b")]));
    assert!(world.host.fibres().all(|(_, state)| state == FibreState::Done));
}

#[test]
fn a_fault_stops_its_fibre_and_is_remembered() {
    let mut world = World::new();
    let dropped = Rc::new(Cell::new(false));
    struct OnDrop(Rc<Cell<bool>>);
    impl Drop for OnDrop {
        fn drop(&mut self) {
            self.0.set(true);
        }
    }
    let guard = OnDrop(dropped.clone());
    world.host.spawn("rank 3", move |cpu| {
        let _guard = guard;
        cpu.spend(Duration(8));
        cpu.fault("wild store");
    });
    world.run();
    let fault = world.host.fault().expect("recorded");
    assert_eq!(fault.to_string(), "wild store (in rank 3, at 8 ps)");
    assert!(!dropped.get());
    drop(world);
    assert!(dropped.get(), "what a suspended fibre owns is freed with its host");
}

#[test]
fn a_panic_in_a_fibre_reaches_the_caller_and_others_are_unwound() {
    let mut world = World::new();
    let alive = Rc::new(());
    let (held, held_in_kernel) = (alive.clone(), alive.clone());
    world.host.spawn("waits", move |cpu| {
        cpu.wait(Duration(1));
        drop(held);
    });
    world.host.spawn("panics", move |cpu| {
        cpu.kernel(|| {
            cpu.spend(Duration(1));
            let _held = &held_in_kernel;
            panic!("our bug");
        })
    });
    let panic = catch_unwind(AssertUnwindSafe(|| world.run())).expect_err("the panic comes out");
    assert_eq!(*panic.downcast::<&str>().expect("a message"), "our bug");
    drop(world);
    assert_eq!(Rc::strong_count(&alive), 1);
}

#[test]
fn dropping_a_host_while_panicking_does_not_abort() {
    let panic = catch_unwind(|| {
        let mut world = World::new();
        world.host.spawn("waits", |cpu| cpu.wait(Duration(1)));
        world.host.spawn("panics", |_| panic!("our bug"));
        world.run();
    });
    assert!(panic.is_err());
}

#[test]
fn stores_are_split_at_eight_bytes() {
    let mut world = World::new();
    world.host.spawn("program", |cpu| cpu.mmio_write(0x104_u64, &[1, 2, 3, 4, 5, 6, 7, 8]));
    world.run();
    let expected = [(2, "store 104 [01, 02, 03, 04]"), (4, "store 108 [05, 06, 07, 08]")];
    assert_eq!(notes(&world), expect(&expected));
}

/// A line leaves at once, and comes at once; an interrupt handler that reads meanwhile takes nothing of it.
#[test]
fn a_line_is_one_access() {
    let mut world = World::new();
    let log = world.node.log.clone();
    world.host.set_interrupt_handler(Rc::new(move |cpu: &Cpu| {
        let mut line = [0; 64];
        cpu.mmio_read_line(0x80_u64, &mut line);
        note(&log, cpu, &format!("handler {} to {}", line[0], line[63]));
    }));
    let log = world.node.log.clone();
    world.host.spawn("program", move |cpu| {
        let line: Vec<u8> = (0..64).collect();
        cpu.mmio_write_line(0x40_u64, &line);
        cpu.mmio_write_line(0x79_u64, &line[..7]);
        let mut read = [0; 64];
        cpu.mmio_read_line(0_u64, &mut read);
        note(&log, &cpu, &format!("program {} to {}", read[0], read[63]));
        let mut some = [0; 7];
        cpu.mmio_read_line(0x39_u64, &mut some);
        note(&log, &cpu, &format!("{some:?}"));
    });
    world.interrupt_at(5);
    world.run();
    let all: Vec<u8> = (0..64).collect();
    let whole = format!("store 40 {all:02x?}");
    let expected = [
        (2, &*whole),
        (4, "store 79 [00, 01, 02, 03, 04, 05, 06]"),
        // The read left at 4 and is answered at 8; the handler enters, reads for 4, and exits.
        (15, "handler 129 to 192"),
        (16, "program 1 to 64"),
        (20, "[58, 59, 60, 61, 62, 63, 64]"),
    ];
    assert_eq!(notes(&world), expect(&expected));
}

#[test]
fn an_access_stays_within_a_line() {
    for (addr, len) in [(0x41_u64, 64), (0x7c, 5), (0x40, 0), (0x40, 65)] {
        let panic = catch_unwind(|| {
            let mut world = World::new();
            world.host.spawn("program", move |cpu| cpu.mmio_write_line(addr, &vec![0; len]));
            world.run();
        });
        assert!(panic.is_err(), "{len} bytes at {addr:#x}");
    }
}

#[test]
fn an_interrupt_before_the_handler_stays_pending() {
    let mut world = World::new();
    let log = world.node.log.clone();
    world.host.spawn("boot", |cpu| cpu.kernel(|| cpu.spend(Duration(20))));
    world.interrupt_at(5);
    world.run();
    world.host.set_interrupt_handler(Rc::new(move |cpu: &Cpu| {
        note(&log, cpu, &format!("raised at {}", cpu.interrupt_raised_at().0));
    }));
    assert!(notes(&world).is_empty());
    world.run();
    // The kernel was left at 23; entry takes 3.
    assert_eq!(notes(&world), expect(&[(26, "raised at 5")]));
}
