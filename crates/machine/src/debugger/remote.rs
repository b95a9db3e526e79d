//! The node as gdbstub sees it: each thing that is asked for goes to the node, which answers.

use super::arch::{Number, Ppc440, Registers};
use super::{Mark, Pace, Reply, Request};
use gdbstub::common::Signal;
use gdbstub::target::ext::base::single_register_access::{
    SingleRegisterAccess, SingleRegisterAccessOps,
};
use gdbstub::target::ext::base::singlethread::{
    SingleThreadBase, SingleThreadRangeStepping, SingleThreadRangeSteppingOps, SingleThreadResume,
    SingleThreadResumeOps, SingleThreadSingleStep, SingleThreadSingleStepOps,
};
use gdbstub::target::ext::base::BaseOps;
use gdbstub::target::ext::breakpoints::{
    Breakpoints, BreakpointsOps, HwBreakpoint, HwBreakpointOps, HwWatchpoint, HwWatchpointOps,
    SwBreakpoint, SwBreakpointOps, WatchKind,
};
use gdbstub::target::ext::monitor_cmd::{ConsoleOutput, MonitorCmd, MonitorCmdOps};
use gdbstub::target::{Target, TargetError, TargetResult};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender};
use std::sync::Arc;

/// The run has ended, so that nobody answers.
pub(crate) const OVER: &str = "the run is over";

/// gdb's side of the debugger.
pub(crate) struct Remote {
    pub requests: Sender<Request>,
    pub replies: Receiver<Reply>,
    pub interrupt: Arc<AtomicBool>,
}

impl Remote {
    fn ask(&self, request: Request) -> TargetResult<Reply, Remote> {
        let over = TargetError::Fatal(OVER);
        match self.requests.send(request).map(|()| self.replies.recv()) {
            Ok(Ok(reply)) => Ok(reply),
            _ => Err(over),
        }
    }
    /// For what can be refused.
    fn obeyed(&self, request: Request) -> TargetResult<(), Remote> {
        match self.ask(request)? {
            Reply::Refused => Err(TargetError::NonFatal),
            _ => Ok(()),
        }
    }
    fn go(&self, pace: Pace) -> Result<(), &'static str> {
        // What was asked for while it stood still is done.
        self.interrupt.store(false, Ordering::Relaxed);
        self.requests.send(Request::Go(pace)).map_err(|_| OVER)
    }
    fn mark(&self, mark: Mark, add: bool) -> TargetResult<bool, Remote> {
        self.obeyed(Request::Mark(mark, add)).map(|()| true)
    }
}

impl Target for Remote {
    type Arch = Ppc440;
    type Error = &'static str;
    fn base_ops(&mut self) -> BaseOps<'_, Ppc440, &'static str> {
        BaseOps::SingleThread(self)
    }
    fn support_breakpoints(&mut self) -> Option<BreakpointsOps<'_, Remote>> {
        Some(self)
    }
    fn support_monitor_cmd(&mut self) -> Option<MonitorCmdOps<'_, Remote>> {
        Some(self)
    }
}

impl SingleThreadBase for Remote {
    fn read_registers(&mut self, registers: &mut Registers) -> TargetResult<(), Remote> {
        match self.ask(Request::Registers)? {
            Reply::Registers(found) => *registers = *found,
            _ => return Err(TargetError::NonFatal),
        }
        Ok(())
    }
    fn write_registers(&mut self, registers: &Registers) -> TargetResult<(), Remote> {
        self.obeyed(Request::SetRegisters(Box::new(registers.clone())))
    }
    fn support_single_register_access(
        &mut self,
    ) -> Option<SingleRegisterAccessOps<'_, (), Remote>> {
        Some(self)
    }
    fn read_addrs(&mut self, start: u32, data: &mut [u8]) -> TargetResult<usize, Remote> {
        match self.ask(Request::Read(start, data.len()))? {
            Reply::Bytes(bytes) if !bytes.is_empty() => {
                data[..bytes.len()].copy_from_slice(&bytes);
                Ok(bytes.len())
            }
            _ => Err(TargetError::NonFatal),
        }
    }
    fn write_addrs(&mut self, start: u32, data: &[u8]) -> TargetResult<(), Remote> {
        self.obeyed(Request::Write(start, data.to_vec()))
    }
    fn support_resume(&mut self) -> Option<SingleThreadResumeOps<'_, Remote>> {
        Some(self)
    }
}

impl SingleRegisterAccess<()> for Remote {
    fn read_register(
        &mut self,
        _thread: (),
        Number(number): Number,
        buf: &mut [u8],
    ) -> TargetResult<usize, Remote> {
        match (self.ask(Request::Register(number))?, buf.first_chunk_mut()) {
            (Reply::Word(word), Some(place)) => {
                *place = word.to_le_bytes();
                Ok(place.len())
            }
            _ => Err(TargetError::NonFatal),
        }
    }
    fn write_register(
        &mut self,
        _thread: (),
        Number(number): Number,
        value: &[u8],
    ) -> TargetResult<(), Remote> {
        let word = value.try_into().map_err(|_| TargetError::NonFatal)?;
        self.obeyed(Request::SetRegister(number, u32::from_le_bytes(word)))
    }
}

impl SingleThreadResume for Remote {
    fn resume(&mut self, _signal: Option<Signal>) -> Result<(), &'static str> {
        self.go(Pace::Continue)
    }
    fn support_single_step(&mut self) -> Option<SingleThreadSingleStepOps<'_, Remote>> {
        Some(self)
    }
    fn support_range_step(&mut self) -> Option<SingleThreadRangeSteppingOps<'_, Remote>> {
        Some(self)
    }
}

impl SingleThreadSingleStep for Remote {
    fn step(&mut self, _signal: Option<Signal>) -> Result<(), &'static str> {
        self.go(Pace::Step)
    }
}

impl SingleThreadRangeStepping for Remote {
    fn resume_range_step(&mut self, start: u32, end: u32) -> Result<(), &'static str> {
        self.go(Pace::Range(start, end))
    }
}

impl Breakpoints for Remote {
    fn support_sw_breakpoint(&mut self) -> Option<SwBreakpointOps<'_, Remote>> {
        Some(self)
    }
    fn support_hw_breakpoint(&mut self) -> Option<HwBreakpointOps<'_, Remote>> {
        Some(self)
    }
    fn support_hw_watchpoint(&mut self) -> Option<HwWatchpointOps<'_, Remote>> {
        Some(self)
    }
}

/// None of them touches the code in memory: a breakpoint that did would be seen by the firmware.
impl SwBreakpoint for Remote {
    fn add_sw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Remote> {
        self.mark(Mark::Break { addr, hardware: false }, true)
    }
    fn remove_sw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Remote> {
        self.mark(Mark::Break { addr, hardware: false }, false)
    }
}

impl HwBreakpoint for Remote {
    fn add_hw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Remote> {
        self.mark(Mark::Break { addr, hardware: true }, true)
    }
    fn remove_hw_breakpoint(&mut self, addr: u32, _kind: usize) -> TargetResult<bool, Remote> {
        self.mark(Mark::Break { addr, hardware: true }, false)
    }
}

impl HwWatchpoint for Remote {
    fn add_hw_watchpoint(
        &mut self,
        addr: u32,
        len: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Remote> {
        self.mark(Mark::Watch { addr, len, kind }, true)
    }
    fn remove_hw_watchpoint(
        &mut self,
        addr: u32,
        len: u32,
        kind: WatchKind,
    ) -> TargetResult<bool, Remote> {
        self.mark(Mark::Watch { addr, len, kind }, false)
    }
}

impl MonitorCmd for Remote {
    fn handle_monitor_cmd(
        &mut self,
        command: &[u8],
        mut out: ConsoleOutput<'_>,
    ) -> Result<(), &'static str> {
        let words = String::from_utf8_lossy(command).into_owned();
        match self.ask(Request::Monitor(words)) {
            Ok(Reply::Text(text)) => out.write_raw(text.as_bytes()),
            Ok(_) => {}
            Err(_) => return Err(OVER),
        }
        Ok(())
    }
}
