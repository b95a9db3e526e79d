//! A process of which each thread can be stopped at chosen system calls and at the time-stamp counter, by
//! ptrace and a seccomp filter. x86-64.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use sunstar::usage_error::UsageError;

pub type Tid = libc::pid_t;
pub type Registers = libc::user_regs_struct;

/// Exit status of a child whose system has no such filters.
const NO_FILTER: i32 = 120;

/// A change of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It has ended, with this status of the process if it is the first.
    Ended(u8),
    /// It is about to make a system call of the filter's.
    Call,
    /// It comes back from one.
    Return,
    /// It has made a thread.
    Thread(Tid),
    /// It has made a process.
    Process,
    /// It has begun another program.
    Program,
    /// A signal is on its way to it.
    Signal(i32),
    /// Something else, which does not matter.
    Other,
}

fn check(result: libc::c_long) -> io::Result<libc::c_long> {
    if result == -1 {
        return Err(io::Error::last_os_error());
    }
    Ok(result)
}

fn request(what: libc::c_uint, tid: Tid, data: usize) -> io::Result<libc::c_long> {
    // SAFETY: none of the requests that come here reads or writes memory of this process.
    check(unsafe { libc::ptrace(what, tid, 0, data) })
}

/// Starts a program by a shell, stopped at what the filter has, with more environment.
pub fn start(
    command: &OsStr,
    more: &[(&str, String)],
    filter: &[libc::sock_filter],
) -> Result<Tid, UsageError> {
    let string = |bytes: &[u8]| {
        CString::new(bytes).map_err(|_| UsageError::sentence("--run: a command has no zero bytes"))
    };
    let arguments =
        [string(b"sh")?, string(b"-c")?, string(&[b"exec ", command.as_bytes()].concat())?];
    let mut environment = Vec::new();
    for (name, value) in std::env::vars_os() {
        if more.iter().all(|(own, _)| name != *own) {
            environment.push(string(&[name.as_bytes(), b"=", value.as_bytes()].concat())?);
        }
    }
    for (name, value) in more {
        environment.push(string(format!("{name}={value}").as_bytes())?);
    }
    let pointers = |all: &[CString]| -> Vec<*const libc::c_char> {
        all.iter().map(|one| one.as_ptr()).chain([std::ptr::null()]).collect()
    };
    let (argv, envp) = (pointers(&arguments), pointers(&environment));
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
    // SAFETY: the child makes system calls only, with memory that was made before.
    let pid =
        check(unsafe { libc::fork() }.into()).map_err(|why| cannot("start a process", &why))?;
    if pid == 0 {
        // SAFETY: these are system calls that are async-signal-safe; what they point at is alive.
        unsafe {
            libc::raise(libc::SIGSTOP);
            libc::personality(libc::ADDR_NO_RANDOMIZE as libc::c_ulong);
            let limited = libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
                && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
                && libc::prctl(libc::PR_SET_TSC, libc::PR_TSC_SIGSEGV) == 0;
            if !limited {
                libc::_exit(NO_FILTER);
            }
            libc::execve(c"/bin/sh".as_ptr(), argv.as_ptr(), envp.as_ptr());
            libc::_exit(127);
        }
    }
    let pid = pid as Tid;
    // SAFETY: without a place for the status nothing is written.
    check(unsafe { libc::waitpid(pid, std::ptr::null_mut(), libc::WUNTRACED) }.into())
        .map_err(|why| cannot("wait for a process", &why))?;
    let options = libc::PTRACE_O_TRACESYSGOOD
        | libc::PTRACE_O_TRACECLONE
        | libc::PTRACE_O_TRACEFORK
        | libc::PTRACE_O_TRACEVFORK
        | libc::PTRACE_O_TRACEEXEC
        | libc::PTRACE_O_TRACESECCOMP
        | libc::PTRACE_O_EXITKILL;
    if let Err(why) = request(libc::PTRACE_SEIZE, pid, options as usize) {
        kill(pid);
        return Err(cannot("trace a process (ptrace)", &why));
    }
    // SAFETY: a signal to a child of ours.
    unsafe { libc::kill(pid, libc::SIGCONT) };
    Ok(pid)
}

fn cannot(what: &str, why: &io::Error) -> UsageError {
    UsageError::sentence(format!("--clocked: cannot {what} on this system: {why}"))
}

/// Ends the process.
pub fn kill(pid: Tid) {
    // SAFETY: a signal to a child of ours, which was not waited for to its end, so that the number is its.
    unsafe { libc::kill(pid, libc::SIGKILL) };
}

/// The next change of a thread, if there is one.
pub fn look(tid: Tid) -> io::Result<Option<Stop>> {
    let mut status = 0;
    // SAFETY: the status is a place of ours.
    let changed = unsafe { libc::waitpid(tid, &mut status, libc::WNOHANG | libc::__WALL) };
    if check(changed.into())? == 0 {
        return Ok(None);
    }
    if libc::WIFEXITED(status) {
        return Ok(Some(Stop::Ended(libc::WEXITSTATUS(status) as u8)));
    }
    if libc::WIFSIGNALED(status) {
        return Ok(Some(Stop::Ended((128 + libc::WTERMSIG(status)) as u8)));
    }
    let signal = libc::WSTOPSIG(status);
    Ok(Some(match status >> 16 {
        libc::PTRACE_EVENT_SECCOMP => Stop::Call,
        libc::PTRACE_EVENT_CLONE => {
            let mut made: libc::c_ulong = 0;
            // SAFETY: the message is written to a place of ours.
            check(unsafe { libc::ptrace(libc::PTRACE_GETEVENTMSG, tid, 0, &mut made) })?;
            Stop::Thread(made as Tid)
        }
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK => Stop::Process,
        libc::PTRACE_EVENT_EXEC => Stop::Program,
        0 if signal == libc::SIGTRAP | 0x80 => Stop::Return,
        0 => Stop::Signal(signal),
        _ => Stop::Other,
    }))
}

/// A stopped thread goes on, with a signal.
pub fn go_on(tid: Tid, signal: i32) -> io::Result<()> {
    request(libc::PTRACE_CONT, tid, signal as usize).map(drop)
}
/// A thread goes on, to the end of its call.
pub fn go_to_return(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_SYSCALL, tid, 0).map(drop)
}
/// A thread that waits in a call is to leave it.
pub fn interrupt(tid: Tid) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, tid, 0).map(drop)
}

/// Registers of a stopped thread.
pub fn registers(tid: Tid) -> io::Result<Registers> {
    // SAFETY: zeroes are registers.
    let mut registers: Registers = unsafe { std::mem::zeroed() };
    // SAFETY: they are written to a place of ours, of the type that the kernel has.
    check(unsafe { libc::ptrace(libc::PTRACE_GETREGS, tid, 0, &mut registers) })?;
    Ok(registers)
}
/// Sets them.
pub fn set_registers(tid: Tid, registers: &Registers) -> io::Result<()> {
    // SAFETY: they are read from a place of ours, of the type that the kernel has.
    check(unsafe { libc::ptrace(libc::PTRACE_SETREGS, tid, 0, registers) }).map(drop)
}

/// A file that a process has open, as it has it.
pub fn file(pid: Tid, number: i32) -> io::Result<File> {
    // SAFETY: these give descriptors that nobody else has.
    unsafe {
        let process = check(libc::syscall(libc::SYS_pidfd_open, pid, 0))?;
        let process = OwnedFd::from_raw_fd(process as i32);
        let file = check(libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), number, 0))?;
        Ok(File::from_raw_fd(file as i32))
    }
}

/// Memory of a process.
pub struct Memory(File);

impl Memory {
    /// Of the program that it runs now.
    pub fn of(pid: Tid) -> io::Result<Memory> {
        let file = File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?;
        Ok(Memory(file))
    }
    /// Reads words of 64 bits.
    pub fn read<const WORDS: usize>(&self, at: u64) -> io::Result<[u64; WORDS]> {
        let mut words = [0; WORDS];
        for (place, word) in (at..).step_by(8).zip(&mut words) {
            let mut bytes = [0; 8];
            self.0.read_exact_at(&mut bytes, place)?;
            *word = u64::from_le_bytes(bytes);
        }
        Ok(words)
    }
    /// Reads bytes.
    pub fn bytes(&self, at: u64, bytes: &mut [u8]) -> io::Result<()> {
        self.0.read_exact_at(bytes, at)
    }
    /// Writes words of 64 bits.
    pub fn write(&self, at: u64, words: &[u64]) -> io::Result<()> {
        let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        self.0.write_all_at(&bytes, at)
    }

    /// Takes from a program that has just begun the functions of the kernel in its own memory, which tell
    /// time without a call: its stack has their place.
    pub fn hide_vdso(&self, stack: u64) -> io::Result<()> {
        const PLACE: u64 = 33;
        const IGNORED: u64 = 1;
        let mut at = stack + 8;
        // Arguments, environment, and what the kernel tells in pairs; zeroes end each.
        for _ in 0..2 {
            while self.read::<1>(at)? != [0] {
                at += 8;
            }
            at += 8;
        }
        loop {
            match self.read::<1>(at)? {
                [0] => return Ok(()),
                [PLACE] => return self.write(at, &[IGNORED]),
                _ => at += 16,
            }
        }
    }
}
