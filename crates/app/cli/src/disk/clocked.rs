//! `sunstar disk --clocked`: one client process whose clocks tell simulated time. That moves while all of its
//! threads wait: to the next answer of the disk, or to the end of the shortest wait.

use super::calls::{cycles, filter, wish, Time, Wish};
use super::simulator::Ended;
use super::thread::{State, Thread};
use super::tracee::{self, Memory, Stop, Tid};
use super::{uri, Service};
use machine::console;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use sunstar::usage_error::UsageError;

/// Time at which the client begins.
const START: Time = 1_000_000_000_000;
/// Looks at clocks without a wait between them, after which a thread is taken to wait in a loop for a time to
/// come. From then on looks let time pass, the more, the longer.
const LOOKS: u64 = 300;
const LOOK: Time = 1_000_000;
/// Shortest sleep.
const SLEEP_MIN: Time = 1_000_000;
/// Looks at the client's threads, after which they are left alone for a moment of real time.
const EAGER: u32 = 200;
const MOMENT: std::time::Duration = std::time::Duration::from_micros(50);

/// A timer of the client's that is a file.
struct Timer {
    /// The client's file: what is written to it counts ends of the timer.
    file: File,
    until: Option<Time>,
    every: Time,
}

/// A client with its disk.
struct Clocked<'a> {
    pid: Tid,
    memory: Memory,
    threads: BTreeMap<Tid, Thread>,
    timers: BTreeMap<u64, Timer>,
    now: Time,
    looks: u64,
    service: &'a mut Service,
    /// A request that has ended, to be told to the client at that time.
    ended: Option<(Time, Ended)>,
    status: Option<u8>,
}

/// Runs the client; its exit status.
pub fn run(command: &str, socket: &Path, service: &mut Service) -> Result<u8, super::Broken> {
    let environment = [("uri", uri(socket)), ("unixsocket", socket.display().to_string())];
    let pid = tracee::start(OsStr::new(command), &environment, &filter())?;
    let failed = |why: io::Error| UsageError::sentence(format!("--clocked: the client: {why}"));
    let threads = || -> io::Result<_> {
        Ok((Memory::of(pid)?, BTreeMap::from([(pid, Thread::of(pid, pid)?)])))
    };
    let (memory, threads) = threads().map_err(failed)?;
    let mut clocked = Clocked {
        pid,
        memory,
        threads,
        timers: BTreeMap::new(),
        now: START,
        looks: 0,
        service,
        ended: None,
        status: None,
    };
    let ended = clocked.simulate();
    if clocked.status.is_none() {
        tracee::kill(pid);
    }
    ended?;
    let us = (clocked.now - START) as f64 / 1e6;
    console::say(&format!("the client's clocks have gone {us:.1} us"));
    Ok(clocked.status.unwrap_or(1))
}

/// End of the simulation that is no end of the client.
enum Broken {
    Io(io::Error),
    Refused(String),
    Disk(super::Broken),
}

impl From<super::Broken> for Broken {
    fn from(why: super::Broken) -> Broken {
        Broken::Disk(why)
    }
}

impl From<io::Error> for Broken {
    fn from(why: io::Error) -> Broken {
        Broken::Io(why)
    }
}

impl Clocked<'_> {
    fn simulate(&mut self) -> Result<(), super::Broken> {
        let mut tries = 0;
        let ended = loop {
            match self.turn(&mut tries) {
                Ok(()) if self.status.is_some() => break Ok(()),
                Ok(()) => {}
                Err(why) => break Err(why),
            }
        };
        ended.map_err(|why| match why {
            Broken::Io(why) => UsageError::sentence(format!("--clocked: the client: {why}")).into(),
            Broken::Refused(why) => UsageError::sentence(why).into(),
            Broken::Disk(why) => why,
        })
    }

    fn turn(&mut self, tries: &mut u32) -> Result<(), Broken> {
        let mut some = self.handle_stops()?;
        some |= self.service.clients.send();
        if self.looks > LOOKS {
            // A thread that looks at clocks all the time waits.
            self.serve()?;
            self.go_on(Some(self.now))?;
            while self.pass(self.now)? {}
        }
        if some || self.status.is_some() {
            *tries = 0;
            return Ok(());
        }
        if !self.all_wait() {
            *tries += 1;
            if *tries < EAGER {
                std::thread::yield_now();
            } else {
                std::thread::sleep(MOMENT);
            }
            return Ok(());
        }
        *tries = 0;
        self.looks = 0;
        if self.serve()? {
            return Ok(());
        }
        let ends = self.threads.values().filter_map(Thread::until);
        let next = ends.chain(self.timers.values().filter_map(|timer| timer.until)).min();
        self.go_on(next)?;
        match next.into_iter().chain(self.ended.as_ref().map(|(end, _)| *end)).min() {
            Some(next) => {
                self.now = self.now.max(next);
                self.pass(next)?;
            }
            // It waits for something else: a terminal, a pipe.
            None => std::thread::sleep(20 * MOMENT),
        }
        Ok(())
    }

    // ---- threads -----------------------------------------------------------------------------------------

    /// True if each thread waits, and none of them can have woken another.
    fn all_wait(&self) -> bool {
        let look = || -> Option<Vec<u64>> {
            let kernel = |thread: &&Thread| !matches!(thread.state, State::Sleeps(_));
            self.threads.values().filter(kernel).map(Thread::asleep).collect()
        };
        let first = look();
        first.is_some() && first == look()
    }

    fn handle_stops(&mut self) -> Result<bool, Broken> {
        let tids: Vec<Tid> = self.threads.keys().copied().collect();
        let mut some = false;
        for tid in tids {
            if let Some(stop) = tracee::look(tid)? {
                some = true;
                match self.handle(tid, stop) {
                    // A thread that was killed is gone in the middle of anything.
                    Err(Broken::Io(why)) if why.raw_os_error() == Some(libc::ESRCH) => {}
                    handled => handled?,
                }
            }
        }
        Ok(some)
    }

    fn handle(&mut self, tid: Tid, stop: Stop) -> Result<(), Broken> {
        match stop {
            Stop::Ended(status) => {
                self.threads.remove(&tid);
                if tid == self.pid {
                    self.status = Some(status);
                }
            }
            Stop::Call => self.call(tid)?,
            Stop::Return => self.comes_back(tid)?,
            Stop::Thread(made) => {
                self.threads.insert(made, Thread::of(self.pid, made)?);
                tracee::go_on(tid, 0)?;
            }
            Stop::Process => {
                return Err(Broken::Refused(
                    "--clocked: the command starts another process; it must be one program, as \
                     its threads alone have the simulated clock (fio wants --thread)"
                        .into(),
                ));
            }
            Stop::Program => {
                self.memory = Memory::of(self.pid)?;
                self.threads.retain(|thread, _| *thread == self.pid);
                self.memory.hide_vdso(tracee::registers(tid)?.rsp)?;
                tracee::go_on(tid, 0)?;
            }
            Stop::Signal(libc::SIGSEGV) if self.counter(tid)? => tracee::go_on(tid, 0)?,
            Stop::Signal(libc::SIGTRAP) | Stop::Other => tracee::go_on(tid, 0)?,
            Stop::Signal(signal) => tracee::go_on(tid, signal)?,
        }
        Ok(())
    }

    /// A look at a clock.
    fn looked(&mut self) {
        self.looks += 1;
        self.now += self.looks / LOOKS * LOOK;
    }

    /// True if the thread wanted the time-stamp counter, and has got it.
    fn counter(&mut self, tid: Tid) -> Result<bool, Broken> {
        let mut registers = tracee::registers(tid)?;
        let mut code = [0; 3];
        let read = self.memory.bytes(registers.rip, &mut code);
        let length = match (read.is_ok(), code) {
            (true, [0x0F, 0x31, _]) => 2,
            (true, [0x0F, 0x01, 0xF9]) => 3,
            _ => return Ok(false),
        };
        self.looked();
        let count = cycles(self.now);
        registers.rax = count & 0xFFFF_FFFF;
        registers.rdx = count >> 32;
        if length == 3 {
            registers.rcx = 0;
        }
        registers.rip += length;
        tracee::set_registers(tid, &registers)?;
        Ok(true)
    }

    fn call(&mut self, tid: Tid) -> Result<(), Broken> {
        let mut registers = tracee::registers(tid)?;
        let state = match wish(&registers, &self.memory, self.now)? {
            Wish::Answered { result, looks } => {
                if looks {
                    self.looked();
                }
                skip(tid, &mut registers, result)?;
                tracee::go_on(tid, 0)?;
                State::Runs
            }
            Wish::Kernel { looks } => {
                if looks {
                    self.looked();
                }
                tracee::go_on(tid, 0)?;
                State::Runs
            }
            // Programs sleep for nothing until some time has passed (fio, with a rate).
            Wish::Sleep(until) => State::Sleeps(until.max(self.now + SLEEP_MIN)),
            Wish::Wait { until, register, result, sets } => {
                let before = register.swap(&mut registers);
                tracee::set_registers(tid, &registers)?;
                tracee::go_to_return(tid)?;
                State::Waits { until, before, result, sets, over: false }
            }
            Wish::MakeTimer { number } => {
                registers.orig_rax = number as u64;
                registers.rdi = 0;
                tracee::set_registers(tid, &registers)?;
                tracee::go_to_return(tid)?;
                State::MakesTimer
            }
            Wish::SetTimer { file, until, every } => {
                let known = self.timers.get_mut(&file);
                let result = if known.is_some() { 0 } else { -i64::from(libc::EBADF) };
                known.into_iter().for_each(|timer| (timer.until, timer.every) = (until, every));
                skip(tid, &mut registers, result)?;
                tracee::go_on(tid, 0)?;
                State::Runs
            }
            Wish::Refused(name) => {
                return Err(Broken::Refused(format!(
                    "--clocked: the client calls {name}, for which there is no simulated time"
                )));
            }
        };
        self.thread(tid).state = state;
        Ok(())
    }

    fn thread(&mut self, tid: Tid) -> &mut Thread {
        self.threads.get_mut(&tid).expect("it has not ended")
    }

    /// A wait in the kernel is over.
    fn comes_back(&mut self, tid: Tid) -> Result<(), Broken> {
        let state = std::mem::replace(&mut self.thread(tid).state, State::Runs);
        if let State::MakesTimer = state {
            let made = tracee::registers(tid)?.rax;
            if (made as i64) >= 0 {
                let file = tracee::file(self.pid, made as i32)?;
                self.timers.insert(made, Timer { file, until: None, every: 0 });
            }
        }
        if let State::Waits { before, result, sets, over, .. } = state {
            let mut registers = tracee::registers(tid)?;
            before.swap(&mut registers);
            // Interrupted, and to be made again: the kernel's numbers for that, which no program sees.
            let interrupted = matches!(-(registers.rax as i64), 4 | 512..=516);
            if over && interrupted {
                registers.rax = result as u64;
                registers.orig_rax = u64::MAX;
                let places = [registers.rsi, registers.rdx, registers.r10];
                for place in places.into_iter().filter(|place| sets > 0 && *place != 0) {
                    self.memory.write(place, &vec![0; sets.div_ceil(64) as usize])?;
                }
            }
            tracee::set_registers(tid, &registers)?;
        }
        tracee::go_on(tid, 0)?;
        Ok(())
    }

    // ---- time --------------------------------------------------------------------------------------------

    /// Ends one thing that ends at `now`, or before; true if there was one.
    fn pass(&mut self, now: Time) -> Result<bool, Broken> {
        if let Some((_, ended)) = self.ended.take_if(|(end, _)| *end <= now) {
            self.service.clients.answer(ended);
            self.service.clients.send();
            return Ok(true);
        }
        let due = |timer: &&mut Timer| timer.until.is_some_and(|until| until <= now);
        if let Some(timer) = self.timers.values_mut().find(due) {
            timer.until = timer.until.filter(|_| timer.every > 0).map(|until| until + timer.every);
            (&timer.file).write_all(&1_u64.to_ne_bytes())?;
            return Ok(true);
        }
        let due = |(_, thread): &(&Tid, &Thread)| thread.until().is_some_and(|until| until <= now);
        let first = self.threads.iter().filter(due).min_by_key(|(_, thread)| thread.until());
        let Some(tid) = first.map(|(tid, _)| *tid) else { return Ok(false) };
        let thread = self.thread(tid);
        match &mut thread.state {
            State::Sleeps(_) => {
                thread.state = State::Runs;
                skip(tid, &mut tracee::registers(tid)?, 0)?;
                tracee::go_on(tid, 0)?;
            }
            State::Waits { over, .. } => {
                *over = true;
                tracee::interrupt(tid)?;
            }
            State::Runs | State::MakesTimer => {}
        }
        Ok(true)
    }

    // ---- the disk ----------------------------------------------------------------------------------------

    /// Takes what the client has sent; true if there was something: it may send more before time moves.
    fn serve(&mut self) -> Result<bool, Broken> {
        if self.service.simulator.is_stopped() {
            return Err(Broken::Disk(super::Broken::Stopped));
        }
        Ok(self.service.exchange())
    }

    /// The disk begins with what it can take, and goes on to its next answer, or to `until`.
    fn go_on(&mut self, until: Option<Time>) -> Result<(), Broken> {
        let Service { clients, simulator, .. } = &mut *self.service;
        if simulator.under_way() > 0 || clients.are_waiting() {
            // Drives have turned, too, while nobody wanted anything.
            self.disk_to(Some(self.now))?;
        }
        if self.ended.as_ref().is_some_and(|(end, _)| *end <= self.now) {
            return Ok(());
        }
        let Service { clients, simulator, .. } = &mut *self.service;
        loop {
            let before = simulator.under_way();
            clients.begin_in_order(simulator)?;
            if simulator.under_way() == before || !clients.exchange() {
                break;
            }
        }
        if simulator.under_way() > 0 {
            self.disk_to(until)?;
        }
        Ok(())
    }

    /// The disk goes on to its next answer, or to a time.
    fn disk_to(&mut self, until: Option<Time>) -> Result<(), Broken> {
        let simulator = &mut self.service.simulator;
        let now = START + simulator.now;
        let most = until.map_or(Time::MAX, |until| until.saturating_sub(now));
        if self.ended.is_none() && most > 0 {
            simulator.go_on(most)?;
            let ended = simulator.answer()?;
            self.ended = ended.map(|ended| (START + simulator.now, ended));
        }
        Ok(())
    }
}

/// A call is not made, and has this result.
fn skip(tid: Tid, registers: &mut tracee::Registers, result: i64) -> io::Result<()> {
    registers.orig_rax = u64::MAX;
    registers.rax = result as u64;
    tracee::set_registers(tid, registers)
}
