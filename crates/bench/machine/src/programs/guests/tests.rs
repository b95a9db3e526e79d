//! Scripted guests on a host before a scripted card.

use super::life::{Driven, Life};
use super::line::{Line, Pin};
use super::output_error::OutputError;
use super::Slot;
use des::{Duration, EventQueue, Time};
use guest::{Act, Ending, Location, Space, Watch};
use host::{Costs, Event, Host, Ports, Waker};
use std::cell::{Cell, RefCell};
use std::rc::Rc;

/// Addresses of the card's configuration, and of its region as the script sets it.
const CONFIG: u64 = 0xE000_0000;
const REGION: u32 = 0xF000_0000;

/// Stores take 30 ns; what else the host's kernel does, the guest's does.
const COSTS: Costs = Costs {
    kernel_entry: Duration::ZERO,
    kernel_exit: Duration::ZERO,
    interrupt_entry: Duration::ZERO,
    interrupt_exit: Duration::ZERO,
    mmio_write: Duration(30_000),
    copy_start: Duration::ZERO,
    copy_rate: 1 << 30,
    poll_period: Duration(1),
    poll_most: Duration::ZERO,
    lock_take: Duration::ZERO,
    lock_pass: Duration::ZERO,
};

/// Times and texts of what a guest was told.
type Told = Vec<(u64, String)>;
/// Stores in the card: time, address, bytes.
type Stores = Vec<(Time, u64, Vec<u8>)>;

/// A guest that does one act after the other, and records what it is told.
struct Scripted {
    acts: std::vec::IntoIter<Act>,
    /// Acts after an interrupt until its handler has ended.
    handler: usize,
    serves: usize,
    told: Rc<RefCell<Told>>,
    watched: Rc<Cell<bool>>,
}

impl Scripted {
    fn next(&mut self, now: u64, what: impl Into<String>) -> Act {
        self.told.borrow_mut().push((now, what.into()));
        self.serves = self.serves.saturating_sub(1);
        self.acts.next().unwrap()
    }
}

impl Driven for Scripted {
    fn boot(&mut self) -> Act {
        self.next(0, "boot")
    }
    fn run(&mut self, now: u64) -> Act {
        self.next(now, "run")
    }
    fn answer(&mut self, now: u64, bytes: &[u8]) -> Act {
        self.next(now, format!("{bytes:x?}"))
    }
    fn interrupt(&mut self, now: u64) -> Act {
        self.serves = self.handler + 1;
        self.next(now, "interrupt")
    }
    fn watch(&self, word: Option<u64>) -> bool {
        self.watched.replace(word.is_some())
    }
    fn serves(&self) -> bool {
        self.serves > 0
    }
    fn is_ready(&self) -> bool {
        true
    }
    fn kept(&self) -> guest::Kept {
        guest::Kept::default()
    }
    fn pass_on(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

/// Event on the card's board.
#[derive(Clone, Copy, Debug)]
enum Due {
    Host(Event),
    Answer(u32),
    Interrupt,
    Level(bool),
    /// The card stores something in the guest's memory.
    Stored,
}

/// A card that answers each load 400.3 ns later with the address's low bytes, and keeps stores.
struct Board {
    due: EventQueue<Due>,
    stores: Stores,
}

impl Ports for Board {
    fn schedule(&mut self, at: Time, event: Event) {
        self.due.schedule(at, Due::Host(event));
    }
    fn mmio_write(&mut self, now: Time, addr: u64, data: &[u8]) {
        self.stores.push((now, addr, data.to_vec()));
    }
    fn mmio_read(&mut self, now: Time, addr: u64, len: usize) {
        assert_eq!(len, 4, "a word");
        let at = addr as u32 & 0xFF;
        let word = u32::from_le_bytes([at as u8, at as u8 + 1, at as u8 + 2, at as u8 + 3]);
        self.due.schedule(Time(now.0 + 400_300), Due::Answer(word));
    }
}

/// Runs such a guest, with interrupts at these times: what it was told, the stores in the card, and its
/// ending.
fn live(acts: Vec<Act>, rises: &[u64]) -> (Told, Stores, Ending) {
    let dues: Vec<_> = rises.iter().map(|at| (*at, Due::Interrupt)).collect();
    live_with(acts, 0, &dues, None)
}

/// The same with handlers of so many acts, and a pin of the card's.
fn live_with(
    acts: Vec<Act>,
    handler: usize,
    dues: &[(u64, Due)],
    pin: Option<Pin>,
) -> (Told, Stores, Ending) {
    let mut host = Host::new(&COSTS);
    let (told, ending) = (Rc::<RefCell<_>>::default(), Rc::<RefCell<Option<Ending>>>::default());
    let watched = Rc::<Cell<bool>>::default();
    let acts = acts.into_iter();
    let guest = Scripted { acts, handler, serves: 0, told: told.clone(), watched: watched.clone() };
    let waker = Rc::<RefCell<Option<Waker>>>::default();
    let own = waker.clone();
    let line = Rc::new(Line::of(pin.clone()));
    let raised = line.clone();
    host.set_interrupt_handler(Rc::new(move |_| raised.rise()));
    let end = ending.clone();
    host.spawn("guest", move |cpu| {
        line.set_waker(cpu.waker());
        *own.borrow_mut() = Some(cpu.waker());
        let ready = Cell::new(false);
        let ended = Life::new(&cpu, guest, Slot::new(CONFIG), &line, &ready).run();
        *end.borrow_mut() = Some(ended);
    });
    let mut board = Board { due: EventQueue::new(0), stores: Vec::new() };
    dues.iter().for_each(|(at, due)| board.due.schedule(Time(*at), *due));
    host.start(Time::ZERO, &mut board);
    while let Some((now, due)) = board.due.pop_before(Time::NEVER) {
        match due {
            Due::Host(event) => host.handle(now, event, &mut board),
            Due::Answer(word) => host.mmio_reply(now, &word.to_le_bytes(), &mut board),
            Due::Interrupt => host.interrupt(now, &mut board),
            Due::Level(level) => pin.as_ref().expect("a pin").drive(level),
            Due::Stored if watched.take() => waker.borrow().as_ref().expect("it began").notice(),
            Due::Stored => {}
        }
        if host.has_noticed() {
            host.attend(now, &mut board);
        }
    }
    let (told, ending) = (told.take(), ending.take().expect("it ends"));
    (told, board.stores, ending)
}

fn at(offset: u64) -> Location {
    Location { space: Space::Region(0), offset }
}

fn end() -> Act {
    Act::End(Ending::Exited(0))
}

fn words(told: &[(u64, String)]) -> Vec<(u64, &str)> {
    told.iter().map(|(now, what)| (*now, what.as_str())).collect()
}

/// Its clock counts whole nanoseconds, and shows the end of the load.
#[test]
fn a_load_takes_the_time_of_the_bus() {
    let acts =
        vec![Act::Sleep(10), Act::Load(at(6), 2), Act::Load(at(0), 8), Act::Load(at(3), 3), end()];
    let (told, _, _) = live(acts, &[]);
    assert_eq!(
        words(&told),
        [
            (0, "boot"),
            (10, "run"),
            // 410.3 ns, and two words, and two of which parts are wanted.
            (411, "[6, 7]"),
            (1212, "[0, 1, 2, 3, 4, 5, 6, 7]"),
            (2013, "[3, 4, 5]"),
        ]
    );
}

/// A guest runs exactly at its time; an interrupt comes at the next tick, and not within a load.
#[test]
fn it_sleeps_until_its_time_or_an_interrupt() {
    let acts = vec![
        Act::Sleep(100),
        Act::Sleep(10_000),
        Act::Sleep(56),
        Act::Load(at(0), 4),
        Act::Sleep(u64::MAX),
        end(),
    ];
    // In a sleep, and in the load.
    let (told, _, _) = live(acts, &[500_500, 700_000]);
    let expected =
        [(0, "boot"), (100, "run"), (501, "interrupt"), (501, "run"), (902, "[0, 1, 2, 3]")];
    assert_eq!(words(&told)[..5], expected);
    assert_eq!(words(&told)[5..], [(902, "interrupt")]);
}

/// A guest that looks at memory goes on at its first look behind a store, or when its time has come; an
/// interrupt waits for no look.
#[test]
fn it_looks_at_memory_in_its_period() {
    let watch = |until| Act::Watch(until, Watch { word: 0, period: 70 });
    let acts = vec![
        watch(10_000),
        watch(10_000),
        watch(900),
        Act::Sleep(2000),
        watch(10_000),
        watch(2100),
        end(),
    ];
    // The second falls on a look; the third has no watcher.
    let dues = [
        (100_001, Due::Stored),
        (350_000, Due::Stored),
        (1_000_000, Due::Stored),
        (2_030_000, Due::Interrupt),
        (2_031_000, Due::Stored),
        (2_041_000, Due::Stored),
    ];
    let (told, _, _) = live_with(acts, 0, &dues, None);
    let expected = [
        (0, "boot"),
        (140, "run"),
        (350, "run"),
        (900, "run"),
        (2000, "run"),
        (2030, "interrupt"),
        (2100, "run"),
    ];
    assert_eq!(words(&told), expected);
}

/// Stores go where the guest has put the region, a word at most at a time; the processor goes on.
#[test]
fn stores_are_posted() {
    let config = Location { space: Space::Config, offset: 0x10 };
    let acts = vec![
        Act::Store(config, u32::MAX.to_le_bytes().into()),
        Act::Store(config, REGION.to_le_bytes().into()),
        Act::Store(at(0x102), vec![1, 2, 3, 4, 5]),
        Act::Sleep(200),
        end(),
    ];
    let (told, stores, ending) = live(acts, &[]);
    let region = u64::from(REGION);
    assert_eq!(
        stores,
        [
            (Time(30_000), CONFIG + 0x10, vec![0xFF; 4]),
            (Time(60_000), CONFIG + 0x10, vec![0, 0, 0, 0xF0]),
            (Time(90_000), region + 0x102, vec![1, 2]),
            (Time(120_000), region + 0x104, vec![3, 4, 5]),
        ]
    );
    let times: Vec<u64> = told.iter().map(|(now, _)| *now).collect();
    assert_eq!((times, ending), (vec![0, 30, 60, 120, 200], Ending::Exited(0)));
}

/// Rises of a pin, and the processor's view of them 1 ns later.
fn rise(at: u64) -> [(u64, Due); 2] {
    [(at, Due::Level(true)), (at + 1000, Due::Interrupt)]
}

/// A line that stays up interrupts again behind its handler; one that falls and rises while the handler runs
/// does, too, once; one that falls before the handler ends does not.
#[test]
fn a_line_is_level_sensitive() {
    let sleeps = |n: u64| (1..=n).map(|at| Act::Sleep(100 * at)).chain([end()]).collect();
    let times = |acts: Vec<Act>, dues: &[(u64, Due)]| -> Vec<u64> {
        let (told, ..) = live_with(acts, 1, dues, Some(Pin::default()));
        told.iter().filter(|(_, what)| what == "interrupt").map(|(at, _)| *at).collect()
    };
    let fall = |at: u64| (at, Due::Level(false));
    // The handler begins with the interrupt, and ends when the guest goes on the next time.
    let stays = [&rise(50_000)[..], &[fall(450_000)]].concat();
    assert_eq!(times(sleeps(9), &stays), [51, 200, 400]);
    let again = [&rise(50_000)[..], &[fall(60_000)], &rise(70_000), &[fall(250_000)]].concat();
    assert_eq!(times(sleeps(9), &again), [51, 200]);
    let once = [&rise(50_000)[..], &[fall(60_000)]].concat();
    assert_eq!(times(sleeps(9), &once), [51]);
    // Fallen before the processor sees it.
    let glitch = [&rise(50_000)[..], &[fall(50_500)]].concat();
    assert_eq!(times(sleeps(9), &glitch), []);
}

/// A line that nobody takes down does not keep the guest from going on for ever.
#[test]
fn a_stuck_line_is_given_up_until_it_falls() {
    let acts = (0..10_010).map(|_| Act::Sleep(1000)).chain([Act::Sleep(2000), end()]).collect();
    let pin = Pin::default();
    let (told, _, ending) = live_with(acts, 0, &rise(50_000), Some(pin));
    let interrupts = told.iter().filter(|(_, what)| what == "interrupt").count();
    assert_eq!((interrupts, ending), (10_000, Ending::Exited(0)));
}
