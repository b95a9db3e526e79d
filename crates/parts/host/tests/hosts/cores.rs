//! Hosts of several cores: they run side by side, wake one another, and wait for one another's locks.

use crate::world::{World, COSTS, ROUND_TRIP};
use des::{Duration, Time};
use host::{Cpu, FibreState, Lock, Waker};
use std::cell::RefCell;
use std::rc::Rc;

type Notes = Rc<RefCell<Vec<(usize, u64, &'static str)>>>;

/// Runs a function on each of so many cores; their notes, with core and time, in order. The host does without
/// events that nothing else comes before.
fn run_on(cores: usize, f: impl Fn(&Cpu, &dyn Fn(&Cpu, &'static str)) + 'static) -> World {
    run_with(cores, true, f)
}

/// The same, with all events or without some.
fn run_with(
    cores: usize,
    passes: bool,
    f: impl Fn(&Cpu, &dyn Fn(&Cpu, &'static str)) + 'static,
) -> World {
    let mut world = World::with_cores(cores);
    world.node.passes = passes;
    let f = Rc::new(f);
    let log = world.node.log.clone();
    world.host.spawn("start", move |cpu| {
        for core in (0..cpu.cores()).rev() {
            let (f, log) = (f.clone(), log.clone());
            cpu.spawn_on(core, &format!("on {core}"), move |cpu| {
                assert_eq!(cpu.core(), core);
                let note = |cpu: &Cpu, what: &'static str| {
                    log.borrow_mut().push((cpu.now().0, format!("{} {what}", cpu.core())));
                };
                f(&cpu, &note);
            });
        }
    });
    world.run();
    assert!(world.host.fibres().all(|(_, state)| state == FibreState::Done), "{:?}", world.log());
    for times in world.host.times_of_cores(world.now) {
        let kinds = [
            times.user,
            times.kernel,
            times.interrupt,
            times.mmio_stall,
            times.lock,
            times.polling,
        ];
        let sum = kinds.into_iter().sum::<Duration>() + times.idle;
        assert_eq!(sum, world.now.since(Time::ZERO), "{times:?}");
    }
    world
}

fn expect(list: &[(u64, &str)]) -> Vec<(u64, String)> {
    list.iter().map(|(at, what)| (*at, what.to_string())).collect()
}

#[test]
fn cores_run_side_by_side() {
    let world = run_on(3, |cpu, note| {
        for _ in 0..2 {
            cpu.spend(Duration(5 + cpu.core() as u64));
            note(cpu, "here");
        }
    });
    let here = [(5, "0 here"), (6, "1 here"), (7, "2 here"), (10, "0 here"), (12, "1 here")];
    assert_eq!(world.log(), [expect(&here), expect(&[(14, "2 here")])].concat());
    assert_eq!(world.host.times(world.now).user, Duration(10 + 12 + 14));
}

/// Reads of all cores are under way at once, and each core gets its own answer.
#[test]
fn reads_are_answered_to_the_core_that_asked() {
    for gap in 0..6 {
        run_on(3, move |cpu, _| {
            let core = cpu.core() as u64;
            cpu.spend(Duration((3 - core) * gap));
            for round in 0..3 {
                let addr = 0x100 * cpu.core() as u32 + 4 * round;
                let before = cpu.now();
                assert_eq!(cpu.mmio_read(addr), addr + 1);
                assert_eq!(cpu.now(), before + ROUND_TRIP);
            }
        });
    }
}

#[test]
fn a_core_is_woken_by_another_at_its_next_look() {
    for wake_at in 1..30 {
        let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
        let passes = wake_at % 2 == 0;
        let world = run_with(2, passes, move |cpu, note| {
            if cpu.core() == 1 {
                *waker.borrow_mut() = Some(cpu.waker());
                cpu.wait(Duration(10));
                note(cpu, "woken");
            } else {
                cpu.spend(Duration(wake_at));
                waker.borrow().as_ref().expect("core 1 waits").wake();
                cpu.spend(Duration(100));
            }
        });
        assert_eq!(world.log(), expect(&[(wake_at.next_multiple_of(10), "1 woken")]));
    }
}

/// One span of time in which a core had the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Held {
    core: usize,
    asked: u64,
    from: u64,
    to: u64,
}

/// Each core takes the lock twice: before each time it computes for so long, and then holds it for so long.
/// Events that nothing else comes before may be missing: nothing else changes.
fn hold_twice(cores: usize, times: Vec<[u64; 4]>) -> (Vec<Held>, Rc<Lock>) {
    let [with, without] = [false, true].map(|passes| hold_twice_with(cores, passes, times.clone()));
    assert_eq!((&with.0, with.1.counts()), (&without.0, without.1.counts()), "{times:?}");
    without
}

fn hold_twice_with(cores: usize, passes: bool, times: Vec<[u64; 4]>) -> (Vec<Held>, Rc<Lock>) {
    let held: Rc<RefCell<Vec<Held>>> = Rc::default();
    let lock = Rc::new(Lock::new());
    let (log, shared) = (held.clone(), lock.clone());
    run_with(cores, passes, move |cpu, _| {
        for step in times[cpu.core()].chunks(2) {
            cpu.spend(Duration(step[0]));
            cpu.kernel(|| {
                let asked = cpu.now().0;
                shared.hold(cpu, || {
                    let from = cpu.now().0;
                    cpu.spend(Duration(step[1]));
                    let (core, to) = (cpu.core(), cpu.now().0);
                    log.borrow_mut().push(Held { core, asked, from, to });
                });
            });
        }
    });
    let held = held.borrow().clone();
    (held, lock)
}

/// Checks that the lock is held by one core at a time, in the order of requests, and each time as soon as
/// possible.
fn assert_fair(held: &[Held], lock: &Lock) {
    let mut before = Held { core: 0, asked: 0, from: 0, to: 0 };
    let mut waited = 0;
    for now in held {
        let same = now.core == before.core;
        let cost = if same { COSTS.lock_take } else { COSTS.lock_pass };
        let earliest = now.asked.max(before.to) + cost.0;
        assert_eq!(now.from, earliest, "{held:?}");
        assert!(now.asked >= before.asked, "{held:?}");
        waited += u64::from(now.asked < before.to);
        before = *now;
    }
    let (taken, contended) = lock.counts();
    assert_eq!(taken, held.len() as u64);
    // Who asks in the very instant of the release may still find it held.
    assert!(contended >= waited, "{contended} of {waited} in {held:?}");
}

#[test]
fn two_cores_share_a_lock_at_all_distances() {
    for code in 0..4_u64.pow(6) {
        let digit = |place: u32| code / 4_u64.pow(place) % 4;
        let first = [1 + digit(0), 3 * digit(1), 1 + digit(2), 2];
        let second = [1 + 2 * digit(3), 4 * digit(4), 1 + 3 * digit(5), 1];
        let (held, lock) = hold_twice(2, vec![first, second]);
        assert_eq!(held.len(), 4);
        assert_fair(&held, &lock);
    }
}

#[test]
fn many_cores_get_a_lock_in_the_order_in_which_they_asked() {
    for code in 0..3_u64.pow(5) {
        let digit = |place: u32| code / 3_u64.pow(place) % 3;
        let times = (0..5).map(|core| [1 + digit(core), 2 + digit(4 - core), 1, 4]).collect();
        let (held, lock) = hold_twice(5, times);
        assert_eq!(held.len(), 10);
        assert_fair(&held, &lock);
        assert!(lock.counts().1 >= 4, "{held:?}");
    }
}

#[test]
fn on_one_core_a_lock_costs_nothing() {
    let (held, lock) = hold_twice(1, vec![[3, 2, 1, 4]]);
    assert!(held.iter().all(|held| held.asked == held.from));
    assert_eq!(lock.counts(), (0, 0));
}

/// The handler runs on the first core only; if it needs a lock, it spins while another core has it, and it
/// may wake a fibre there.
#[test]
fn the_interrupt_handler_waits_for_a_lock_of_another_core() {
    for raised in 1..40 {
        let notes: Notes = Rc::default();
        let mut world = World::with_cores(2);
        world.node.passes = raised % 2 == 0;
        let lock = Rc::new(Lock::new());
        let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
        let (log, of_handler, to_wake) = (notes.clone(), lock.clone(), waker.clone());
        world.host.set_interrupt_handler(Rc::new(move |cpu: &Cpu| {
            of_handler.hold(cpu, || {
                log.borrow_mut().push((cpu.core(), cpu.now().0, "handler"));
                to_wake.borrow().as_ref().expect("set at the start").wake();
                cpu.spend(Duration(2));
            });
        }));
        let log = notes.clone();
        world.host.spawn("start", move |cpu| {
            cpu.spawn_on(1, "worker", move |cpu| {
                *waker.borrow_mut() = Some(cpu.waker());
                cpu.spend(Duration(8));
                cpu.kernel(|| lock.hold(&cpu, || cpu.spend(Duration(10))));
                log.borrow_mut().push((cpu.core(), cpu.now().0, "worked"));
                cpu.wait(Duration(5));
                log.borrow_mut().push((cpu.core(), cpu.now().0, "woken"));
            });
            cpu.spend(Duration(60));
        });
        world.interrupt_at(raised);
        world.run();
        let notes = notes.borrow().clone();
        let at = |what| notes.iter().find(|note| note.2 == what).copied().expect("it happened");
        let (entered, pass) = (raised + COSTS.interrupt_entry.0, COSTS.lock_pass.0);
        // The worker asks at 8 + kernel entry; whoever asks first has it first. At the same time the handler,
        // whose entry began before the kernel's.
        let asks = 8 + COSTS.kernel_entry.0;
        let (handled, works_from) = if entered <= asks {
            let handled = entered + COSTS.lock_take.0;
            (handled, asks.max(handled + 2) + pass)
        } else {
            (entered.max(asks + pass + 10) + pass, asks + pass)
        };
        assert_eq!(at("handler"), (0, handled, "handler"), "raised at {raised}: {notes:?}");
        let worked = works_from + 10 + COSTS.kernel_exit.0;
        assert_eq!(at("worked"), (1, worked, "worked"), "raised at {raised}: {notes:?}");
        assert_eq!(at("woken").0, 1);
        let looks = if handled <= worked {
            worked
        } else {
            worked + (handled - worked).next_multiple_of(5)
        };
        assert_eq!(at("woken").1, looks, "raised at {raised}: {notes:?}");
        assert_eq!(world.host.times(world.now).interrupts, 1);
    }
}

#[test]
#[should_panic(expected = "takes a lock that it holds")]
fn a_lock_is_not_to_be_nested() {
    let lock = Lock::new();
    run_on(2, move |cpu, _| cpu.kernel(|| lock.hold(cpu, || lock.hold(cpu, || ()))));
}

#[test]
fn faults_of_all_cores_are_told_the_first_one_first() {
    let mut world = World::with_cores(2);
    world.host.spawn("start", |cpu| {
        cpu.spawn_on(1, "second", |cpu| {
            cpu.spend(Duration(3));
            cpu.fault("early");
        });
        cpu.spend(Duration(4));
        cpu.fault("late");
    });
    world.run();
    let fault = world.host.fault().expect("there are two");
    assert_eq!((fault.what.as_str(), fault.fibre.as_str()), ("early", "second"));
}

/// Time for which core 0 is undisturbed at 3, if core 1 does this from the start on.
fn undisturbed(f: impl Fn(&Cpu) + 'static) -> u64 {
    let until = Rc::new(RefCell::new(0));
    let told = until.clone();
    run_on(2, move |cpu, _| match cpu.core() {
        0 => {
            cpu.spend(Duration(3));
            *told.borrow_mut() = cpu.undisturbed_until().0;
            cpu.spend(Duration(50));
        }
        _ => f(cpu),
    });

    *until.borrow()
}

/// A user of another core enters the kernel before it does anything that others could notice; in the kernel
/// it does so at once.
#[test]
fn a_program_is_disturbed_by_other_cores_only_through_the_kernel_and_devices() {
    let entry = COSTS.kernel_entry.0;
    assert_eq!(undisturbed(|cpu| cpu.spend(Duration(10))), 10 + entry);
    assert_eq!(undisturbed(|cpu| cpu.kernel(|| cpu.spend(Duration(10)))), entry + 10);
    assert_eq!(undisturbed(|cpu| assert_eq!(cpu.mmio_read(1_u32), 2)), ROUND_TRIP.0);
    // A program that says so computes for longer than its present work.
    let longer = |cpu: &Cpu| {
        cpu.computes_until(Time(30));
        cpu.spend(Duration(10));
        cpu.spend(Duration(20));
    };
    assert_eq!(undisturbed(longer), 30 + entry);
}
