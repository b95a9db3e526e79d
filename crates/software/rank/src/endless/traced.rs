//! A process that is stopped, and goes on for an instruction at a time (ptrace(2)).

/// Most bytes of the state that XSAVE stores.
const EXTENDED_MAX: usize = 16 << 10;
const NT_X86_XSTATE: usize = 0x202;

/// No system call is under way.
const NO_CALL: u64 = u64::MAX;

/// State of a thread in the processor.
#[derive(PartialEq, Eq)]
pub(super) struct State {
    general: [u64; REGISTERS],
    extended: Vec<u64>,
}

const SYSCALL: [u8; 2] = [0x0F, 0x05];
const YIELD: u64 = libc::SYS_sched_yield as u64;
const CALLED: usize = std::mem::offset_of!(libc::user_regs_struct, rax) / 8;
const PLACE: usize = std::mem::offset_of!(libc::user_regs_struct, rip) / 8;
const UNDER_WAY: usize = std::mem::offset_of!(libc::user_regs_struct, orig_rax) / 8;
const REGISTERS: usize = size_of::<libc::user_regs_struct>() / 8;

impl State {
    /// The instruction that comes next.
    pub fn place(&self) -> u64 {
        self.general[PLACE]
    }
}

/// A process that goes on by itself when this is dropped.
pub(super) struct Traced {
    pid: libc::pid_t,
    /// A signal that it would have got.
    signal: libc::c_int,
}

/// Reason for which a process has stopped.
enum Stop {
    Asked,
    Stepped,
    Signal(libc::c_int),
    Ended,
}

impl Traced {
    /// Stops the process. `None` if the system does not allow that (or a debugger has it), or it is in a
    /// system call.
    pub fn stop(pid: libc::pid_t) -> Option<Traced> {
        request(libc::PTRACE_SEIZE, pid, 0, 0)?;
        let mut traced = Traced { pid, signal: 0 };
        request(libc::PTRACE_INTERRUPT, pid, 0, 0)?;
        match traced.stopped() {
            Stop::Asked => {}
            Stop::Signal(signal) => {
                traced.signal = signal;
                return None;
            }
            Stop::Stepped | Stop::Ended => return None,
        }
        let under_way = traced.registers()?[UNDER_WAY];
        (under_way == NO_CALL || under_way == YIELD).then_some(traced)
    }

    /// Instruction with which it goes on.
    pub fn state(&self) -> Option<State> {
        let mut extended = vec![0; EXTENDED_MAX / 8];
        let mut part =
            libc::iovec { iov_base: extended.as_mut_ptr().cast(), iov_len: EXTENDED_MAX };
        let data = (&raw mut part) as usize;
        request(libc::PTRACE_GETREGSET, self.pid, NT_X86_XSTATE, data)?;
        extended.truncate(part.iov_len / 8);
        Some(State { general: self.general()?, extended })
    }

    /// Lets it execute an instruction; its position afterwards. `None` if something from outside may come in
    /// by that, or has.
    pub fn step(&mut self) -> Option<u64> {
        let registers = self.general()?;
        let at = registers[PLACE];
        let mut code = [0u64; 2];
        // The next page may be nobody's.
        let whole = read(self.pid, at, &mut code) || read(self.pid, at, &mut code[..1]);
        let code = code.map(u64::to_le_bytes).concat();
        // Others may use the processor: that changes nothing here.
        let yields = code.starts_with(&SYSCALL) && registers[CALLED] == YIELD;
        if !whole || !yields && looks_outside(&code) {
            return None;
        }
        request(libc::PTRACE_SINGLESTEP, self.pid, 0, 0)?;
        match self.stopped() {
            Stop::Stepped => self.place(),
            Stop::Signal(signal) => {
                self.signal = signal;
                None
            }
            Stop::Asked | Stop::Ended => None,
        }
    }

    fn place(&self) -> Option<u64> {
        Some(self.general()?[PLACE])
    }

    /// All but what says which system call it was that has just ended.
    fn general(&self) -> Option<[u64; REGISTERS]> {
        let mut registers = self.registers()?;
        registers[UNDER_WAY] = NO_CALL;
        Some(registers)
    }

    fn registers(&self) -> Option<[u64; REGISTERS]> {
        let mut registers = [0; REGISTERS];
        request(libc::PTRACE_GETREGS, self.pid, 0, registers.as_mut_ptr() as usize)?;
        Some(registers)
    }

    /// Waits until it stops; its end is left to who waits for that.
    fn stopped(&self) -> Stop {
        // SAFETY: a structure of numbers and pointers that nobody follows.
        let mut found: libc::siginfo_t = unsafe { std::mem::zeroed() };
        let wanted = libc::WSTOPPED | libc::WEXITED | libc::WNOWAIT | libc::__WALL;
        // SAFETY: the structure outlives the call.
        while unsafe { libc::waitid(libc::P_PID, self.pid as u32, &raw mut found, wanted) } < 0 {
            if std::io::Error::last_os_error().raw_os_error() != Some(libc::EINTR) {
                return Stop::Ended;
            }
        }
        if found.si_code != libc::CLD_TRAPPED {
            return Stop::Ended;
        }
        // SAFETY: the kernel has filled in what a child has stopped for.
        let status = unsafe { found.si_status() };
        match (status & 0x7F, status >> 8) {
            (_, libc::PTRACE_EVENT_STOP) => Stop::Asked,
            (libc::SIGTRAP, 0) => Stop::Stepped,
            (signal, _) => Stop::Signal(signal),
        }
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        request(libc::PTRACE_DETACH, self.pid, 0, self.signal as usize);
    }
}

fn request(what: libc::c_uint, pid: libc::pid_t, at: usize, data: usize) -> Option<()> {
    // SAFETY: the requests above; those that store something do so where `data` is, which has room for it and
    // outlives the call.
    let result = unsafe { libc::ptrace(what, pid, at, data) };
    (result >= 0).then_some(())
}

/// Copies from the memory of a process. False if not all of it is there.
pub(super) fn read(pid: libc::pid_t, at: u64, words: &mut [u64]) -> bool {
    let bytes = size_of_val(words);
    let local = libc::iovec { iov_base: words.as_mut_ptr().cast(), iov_len: bytes };
    let remote = libc::iovec { iov_base: at as usize as *mut libc::c_void, iov_len: bytes };
    // SAFETY: writes into `words` alone, no more than they hold.
    let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
    read == bytes as isize
}

/// True for an instruction by which something from outside comes in: system calls, time-stamp counters,
/// random numbers, the number of the processor.
fn looks_outside(code: &[u8]) -> bool {
    let is_prefix = |byte: &u8| {
        let segment_or_size = matches!(byte, 0x26 | 0x2E | 0x36 | 0x3E | 0x64..=0x67);
        segment_or_size || matches!(byte, 0x40..=0x4F | 0xF0 | 0xF2 | 0xF3)
    };
    let code = &code[code.iter().take_while(|byte| is_prefix(byte)).count().min(code.len())..];
    match *code {
        // syscall, sysenter, rdtsc, rdpmc, cpuid
        [0x0F, 0x05 | 0x34 | 0x31 | 0x33 | 0xA2, ..] => true,
        [0x0F, 0x01, second, ..] => matches!(second, 0xD0 | 0xF9), // xgetbv, rdtscp
        [0x0F, 0xC7, operand, ..] => operand >> 6 == 3,            // rdrand, rdseed, rdpid
        [0xCD | 0xCC | 0xF1, ..] => true,                          // int
        [0x0F, ..] | [_, ..] => false,
        [] => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instructions_that_look_outside_are_known() {
        for code in [
            &[0x0F, 0x05][..],
            &[0x0F, 0x31],
            &[0x0F, 0x01, 0xF9],
            &[0x48, 0x0F, 0xC7, 0xF0],
            &[0xF3, 0x0F, 0xC7, 0xF8],
            &[0xCD, 0x80],
        ] {
            assert!(looks_outside(code), "{code:x?}");
        }
        for code in
            [&[0xEB, 0xFE][..], &[0x0F, 0xC7, 0x0E], &[0x0F, 0x84, 1, 0, 0, 0], &[0xF3, 0x90]]
        {
            assert!(!looks_outside(code), "{code:x?}");
        }
    }
}
