//! The processor that watches the crossbar, and its serial port (marazakis2006 s3.7): `--console switch`. It
//! executes firmware/crossbar; our PowerPC 440 stands in for the paper's 405.
//!
//! It only reads the crossbar, so a run is the same with and without it.

use abi::console::{self, register};
use bus::{Bus, BusError, Memory};
use crossbar::Crossbar;
use des::{Clock, Duration, Time};
use ppc440::{Code, Config, Core, Timing};
use std::fmt::Write;
use std::io;
use std::path::{Path, PathBuf};

/// From the request of a read of memory to its data, and of a register (assumed: some cycles of 100 MHz).
const MEMORY: Duration = Duration::from_ns(40);
const REGISTER: Duration = Duration::from_ns(60);
/// A byte on the serial line, with start and stop bit.
const BITS: u64 = 10;

/// Reason for which there is no console.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoConsole {
    #[error("this machine has a link and no switch to watch; forth-switch has one")]
    Link,
    #[error(
        "--console switch shows counters that the RTL of the crossbar has not; leave out --rtl, or \
         set switch.rtl=off"
    )]
    Rtl,
    #[error("cannot load {}: {why}", file.display())]
    File { file: PathBuf, why: io::Error },
    #[error(
        "{} has {bytes} bytes, not the {} of the memory; make parts builds it anew",
        file.display(), console::RAM_SIZE
    )]
    Size { file: PathBuf, bytes: usize },
}

/// Parameters of the processor.
#[derive(Clone, Debug)]
pub(super) struct Params {
    /// Fills the memory.
    pub image: Vec<u8>,
    pub clock: Clock,
    /// Of the serial line, bits a second.
    pub baud: u64,
}

impl Params {
    /// With the image in this file.
    pub fn load(file: &Path, clock: Clock, baud: u64) -> Result<Params, NoConsole> {
        let image = machine::input::read(file, 1 << 20)
            .map_err(|why| NoConsole::File { file: file.into(), why })?;
        if image.len() != console::RAM_SIZE as usize {
            return Err(NoConsole::Size { file: file.into(), bytes: image.len() });
        }
        Ok(Params { image, clock, baud })
    }
}

/// Processor, memory, peripheral.
pub(super) struct Console {
    core: Core,
    board: Board,
}

/// Devices that the processor sees, except the crossbar.
struct Board {
    memory: Memory,
    /// Counters as they were taken last.
    latched: Vec<u32>,
    byte: Duration,
    /// Time at which the serial port takes the next byte.
    serial_free: Time,
    /// Bytes and when each was written.
    said: Vec<(Time, u8)>,
}

impl Console {
    pub fn new(params: &Params) -> Console {
        let mut memory = Memory::new(console::RAM_BASE.into(), params.image.len());
        memory.write(console::RAM_BASE.into(), &params.image).expect("the image fills it");
        let timing = Timing::POWERPC_440;
        let code = Code::new(&timing);
        let mut core =
            Core::new(&Config { clock: params.clock, timing, coherence_faults: true, code });
        core.release_reset(Time::ZERO);
        let board = Board {
            memory,
            latched: vec![0; console::DEVICE_SIZE as usize / 4],
            byte: Duration(BITS * 1_000_000_000_000 / params.baud),
            serial_free: Time::ZERO,
            said: Vec::new(),
        };
        Console { core, board }
    }

    /// Runs the processor until `now`; up to there the crossbar is as it is, after so many cycles.
    pub fn run(&mut self, now: Time, crossbar: &Crossbar, cycles: u64) {
        let mut bus = Sight { board: &mut self.board, crossbar, cycles, horizon: now };
        self.core.run(&mut bus, now);
    }

    /// Output before `end`, and the fault that has stopped the processor.
    pub fn text(&self, end: Time) -> String {
        let said = self.board.said.iter().take_while(|(at, _)| *at < end);
        let bytes: Vec<u8> = said.map(|(_, byte)| *byte).collect();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        if let Some(fault) = self.core.fault() {
            writeln!(text, "the console has stopped: {fault}").expect("a string takes everything");
        }
        text
    }
}

/// The board with the crossbar, as long as the processor runs.
struct Sight<'a> {
    board: &'a mut Board,
    crossbar: &'a Crossbar,
    cycles: u64,
    horizon: Time,
}

impl Sight<'_> {
    /// Offset of a register; none if it is no aligned word of the peripheral.
    fn register(addr: u64, len: usize) -> Option<u32> {
        let offset = addr.checked_sub(console::DEVICE_BASE.into())?;
        let inside = offset < u64::from(console::DEVICE_SIZE);
        (inside && len == 4 && offset % 4 == 0).then_some(offset as u32)
    }

    fn latch(&mut self) {
        let counters = self.crossbar.counters();
        let ports = self.crossbar.params().ports;
        let mut set = |register: u32, value: u64| {
            self.board.latched[register as usize / 4] = value as u32;
        };
        set(register::CYCLES, self.cycles);
        set(register::HEADER_ERRORS, counters.header_errors);
        set(register::CREDIT_ERRORS, counters.credit_errors);
        set(register::OVERFLOWS, counters.overflows);
        for (point, forwarding) in self.crossbar.forwarding().enumerate() {
            let (input, output) = (point / ports, point % ports);
            let flow = 4 * (console::PORTS_MAX * input as u32 + output as u32);
            set(register::WORDS + flow, counters.words[point]);
            // A packet counts when it has passed as a whole, as its cycles do.
            set(register::PACKETS + flow, forwarding.packets);
            set(register::HELD + flow, counters.occupancy[point] as u64);
            set(register::FORWARDING + flow, forwarding.sum);
            set(register::SLOWEST + flow, forwarding.most);
        }
    }
}

fn nobody(addr: u64, len: usize, write: bool) -> BusError {
    BusError { addr, len, write, why: "no device answers" }
}

impl Bus for Sight<'_> {
    fn horizon(&self) -> Time {
        self.horizon
    }
    fn read(&mut self, now: Time, addr: u64, buf: &mut [u8]) -> Result<Time, BusError> {
        if self.board.memory.contains(addr, buf.len()) {
            self.board.memory.read(addr, buf)?;
            return Ok(now + MEMORY);
        }
        let offset = Sight::register(addr, buf.len()).ok_or(nobody(addr, buf.len(), false))?;
        let value = match offset {
            register::PORTS => self.crossbar.params().ports as u32,
            register::SERIAL => u32::from(now >= self.board.serial_free),
            _ => self.board.latched[offset as usize / 4],
        };
        buf.copy_from_slice(&value.to_be_bytes());
        Ok(now + REGISTER)
    }
    fn write(&mut self, now: Time, addr: u64, data: &[u8]) -> Result<Time, BusError> {
        if self.board.memory.contains(addr, data.len()) {
            self.board.memory.write(addr, data)?;
            return Ok(now + MEMORY);
        }
        match (Sight::register(addr, data.len()), data) {
            (Some(register::LATCH), _) => self.latch(),
            (Some(register::SERIAL), [.., byte]) => {
                // A byte that comes too early is lost, as on a port without a buffer.
                if now >= self.board.serial_free {
                    self.board.said.push((now, *byte));
                    self.board.serial_free = now + self.board.byte;
                }
            }
            _ => return Err(nobody(addr, data.len(), true)),
        }
        Ok(now + REGISTER)
    }
}

#[cfg(test)]
mod tests;
