//! All programs of up to three steps, with all placements of up to two interrupts (three for two steps),
//! against a model that works the other way round: it follows the program and looks for interrupts.

use crate::world::{Log, World, COSTS, ROUND_TRIP};
use des::{Duration, Time};
use host::{Cpu, Waker};
use std::cell::RefCell;
use std::rc::Rc;

#[derive(Clone, Copy, Debug)]
enum Step {
    Spend,
    Kernel,
    Load,
    Store,
    Wait,
    /// A read of the NIC from within the kernel.
    KernelLoad,
}
const STEPS: [Step; 6] =
    [Step::Spend, Step::Kernel, Step::Load, Step::Store, Step::Wait, Step::KernelLoad];
const SPEND: Duration = Duration(3);
const KERNEL: Duration = Duration(2);
const POLL: Duration = Duration(2);
const HANDLER: Duration = Duration(2);

fn run_host(program: &[Step], interrupts: &[u64], passes: bool) -> World {
    let mut world = World::new();
    world.node.passes = passes;
    let waker: Rc<RefCell<Option<Waker>>> = Rc::default();
    let (log, handler_waker) = (world.node.log.clone(), waker.clone());
    world.host.set_interrupt_handler(Rc::new(move |cpu: &Cpu| {
        log.borrow_mut().push((cpu.now().0, format!("handler {}", cpu.interrupt_raised_at().0)));
        if let Some(waker) = &*handler_waker.borrow() {
            waker.wake();
        }
        cpu.spend(HANDLER);
        log.borrow_mut().push((cpu.now().0, "handled".into()));
    }));
    let (log, steps) = (world.node.log.clone(), program.to_vec());
    world.host.spawn("program", move |cpu| {
        *waker.borrow_mut() = Some(cpu.waker());
        steps.iter().for_each(|step| do_step(&cpu, *step, &log));
    });
    interrupts.iter().for_each(|at| world.interrupt_at(*at));
    world.run();
    let times = world.host.times(world.now);
    let sum =
        [times.user, times.kernel, times.interrupt, times.mmio_stall, times.polling, times.idle];
    assert_eq!(sum.into_iter().sum::<Duration>(), world.now.since(Time::ZERO), "{times:?}");
    world
}

fn do_step(cpu: &Cpu, step: Step, log: &Log) {
    let mut value = 0;
    match step {
        Step::Spend => cpu.spend(SPEND),
        Step::Kernel => cpu.kernel(|| {
            cpu.spend(KERNEL);
            cpu.kernel(|| log.borrow_mut().push((cpu.now().0, "in kernel".into())));
        }),
        Step::Load => value = cpu.mmio_read(0x40_u64),
        Step::Store => cpu.mmio_write(0x44_u64, &[7; 12]),
        Step::Wait => cpu.wait(POLL),
        Step::KernelLoad => value = cpu.kernel(|| cpu.mmio_read(0x50_u64)),
    }
    log.borrow_mut().push((cpu.now().0, format!("{step:?} {value:x}")));
}

/// The model: one clock that runs along the program.
struct Model {
    now: u64,
    interrupts: Vec<u64>,
    woken: bool,
    log: Vec<(u64, String)>,
}

impl Model {
    fn note(&mut self, what: impl Into<String>) {
        self.log.push((self.now, what.into()));
    }
    /// Time passes in user mode.
    fn user(&mut self, time: u64) {
        let mut left = time;
        while let Some(at) = self.interrupts.first().map(|at| (*at).max(self.now)) {
            if at > self.now + left {
                break;
            }
            left -= at - self.now;
            self.now = at;
            self.handler();
        }
        self.now += left;
    }
    fn handler(&mut self) {
        while self.interrupts.first().is_some_and(|at| *at <= self.now) {
            let first = self.interrupts[0];
            self.interrupts.retain(|at| *at > self.now);
            self.now += COSTS.interrupt_entry.0;
            self.note(format!("handler {first}"));
            self.woken = true;
            self.now += HANDLER.0;
            self.note("handled");
            self.now += COSTS.interrupt_exit.0;
        }
    }
    fn step(&mut self, step: Step) -> bool {
        let mut value = 0;
        match step {
            Step::Spend => self.user(SPEND.0),
            Step::Kernel => {
                self.now += COSTS.kernel_entry.0 + KERNEL.0;
                self.note("in kernel");
                self.now += COSTS.kernel_exit.0;
                self.user(0);
            }
            Step::Load => {
                value = 0x41;
                self.now += ROUND_TRIP.0;
                self.user(0);
            }
            Step::Store => {
                self.user(COSTS.mmio_write.0);
                self.note("store 44 [07, 07, 07, 07]");
                self.user(COSTS.mmio_write.0);
                self.note("store 48 [07, 07, 07, 07, 07, 07, 07, 07]");
            }
            Step::Wait => {
                while !self.woken {
                    if self.interrupts.is_empty() {
                        return false;
                    }
                    self.user(POLL.0);
                }
                self.woken = false;
            }
            Step::KernelLoad => {
                value = 0x51;
                self.now += COSTS.kernel_entry.0 + ROUND_TRIP.0 + COSTS.kernel_exit.0;
                self.user(0);
            }
        }
        self.note(format!("{step:?} {value:x}"));
        true
    }
}

fn run_model(program: &[Step], interrupts: &[u64]) -> Vec<(u64, String)> {
    let mut model =
        Model { now: 0, interrupts: interrupts.to_vec(), woken: false, log: Vec::new() };
    let ended = program.iter().all(|step| model.step(*step));
    assert!(ended || model.interrupts.is_empty());
    // Interrupts after the program's end find the core idle.
    while let Some(at) = model.interrupts.first().copied() {
        model.now = model.now.max(at);
        model.handler();
    }
    model.log
}

fn programs(len: usize) -> impl Iterator<Item = Vec<Step>> {
    (0..STEPS.len().pow(len as u32)).map(move |number| {
        (0..len as u32).map(|place| STEPS[number / STEPS.len().pow(place) % STEPS.len()]).collect()
    })
}

#[test]
fn all_programs_of_three_steps_with_two_interrupts() {
    for program in programs(3) {
        for first in 0..26 {
            for second in first + 1..=26 {
                let interrupts = if second == 26 { vec![first] } else { vec![first, second] };
                check(&program, &interrupts);
            }
        }
    }
}

#[test]
fn all_programs_of_two_steps_with_three_interrupts() {
    for program in programs(2) {
        for times in 0..18 * 18 * 18 {
            let interrupts = [times / 324, times / 18 % 18, times % 18];
            if interrupts[0] < interrupts[1] && interrupts[1] < interrupts[2] {
                check(&program, &interrupts);
            }
        }
    }
}

fn check(program: &[Step], interrupts: &[u64]) {
    let [host, passing] = [false, true].map(|passes| run_host(program, interrupts, passes));
    let model = run_model(program, interrupts);
    assert_eq!(host.log(), model, "{program:?}, interrupts at {interrupts:?}");
    assert_eq!(passing.log(), model, "without events: {program:?}, interrupts at {interrupts:?}");
    assert_eq!(passing.now, host.now, "{program:?}, interrupts at {interrupts:?}");
    assert_eq!(host.passed, 0);
    let spends = program.iter().any(|step| !matches!(step, Step::Load | Step::Wait));
    assert!(passing.passed > 0 || !spends || !interrupts.is_empty(), "{program:?}");
}

#[test]
fn the_same_world_twice_has_the_same_hash() {
    let program = [Step::Store, Step::Wait, Step::KernelLoad, Step::Wait, Step::Spend];
    let hash = |interrupts: &[u64]| run_host(&program, interrupts, false).hash.value();
    assert_eq!(hash(&[3, 4, 19, 30]), hash(&[3, 4, 19, 30]));
    assert_ne!(hash(&[3, 4, 19, 30]), hash(&[3, 4, 20, 30]));
}
