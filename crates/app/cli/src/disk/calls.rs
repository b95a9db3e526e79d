//! The system calls that tell time or wait for it: the filter that stops at them, and what they ask for.

use super::tracee::{Memory, Registers};
use libc::{
    sock_filter, BPF_ABS, BPF_ALU, BPF_AND, BPF_JEQ, BPF_JMP, BPF_K, BPF_LD, BPF_RET, BPF_W,
};
use std::io;

/// Picoseconds.
pub type Time = u64;
const SECOND: Time = 1_000_000_000_000;
const NS: Time = 1_000;

/// Seconds of the calendar at time 0 (assumed: the first day of 2006).
const DATE: u64 = 1_136_073_600;
/// Cycles of the time-stamp counter in 1,250 ps: 2.4 GHz, the Xeon of marazakis2006 s2.4.
const CYCLES: u128 = 3;

/// Wish of a stopped call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wish {
    /// It is answered at once with this result; it has told the time if it `looks`.
    Answered { result: i64, looks: bool },
    /// It is the kernel's alone; one that waits for nothing is a `look`.
    Kernel { looks: bool },
    /// It sleeps until then.
    Sleep(Time),
    /// It waits for something, at most until then, which gives the result; the register says for how long.
    Wait { until: Time, register: Register, result: i64, sets: u64 },
    /// It makes a timer that is a file, for which another kind of file stands, of the kernel's call `number`.
    MakeTimer { number: i64 },
    /// It sets that timer: its first end, if it has one, and the time from one to the next.
    SetTimer { file: u64, until: Option<Time>, every: Time },
    /// It cannot be told simulated time.
    Refused(&'static str),
}

/// Register with a call's longest wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Register {
    /// The third argument, a number or a place.
    Third(u64),
    /// The fourth.
    Fourth(u64),
    /// The fifth.
    Fifth(u64),
}

impl Register {
    /// Writes it; what was there before.
    pub fn swap(self, registers: &mut Registers) -> Register {
        match self {
            Register::Third(value) => Register::Third(std::mem::replace(&mut registers.rdx, value)),
            Register::Fourth(value) => {
                Register::Fourth(std::mem::replace(&mut registers.r10, value))
            }
            Register::Fifth(value) => Register::Fifth(std::mem::replace(&mut registers.r8, value)),
        }
    }
}

/// Calls that are answered, or changed, here.
const OURS: [i64; 19] = [
    libc::SYS_clock_gettime,
    libc::SYS_gettimeofday,
    libc::SYS_time,
    libc::SYS_times,
    libc::SYS_getrusage,
    libc::SYS_nanosleep,
    libc::SYS_clock_nanosleep,
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_select,
    libc::SYS_pselect6,
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_io_uring_setup,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_alarm,
    libc::SYS_setitimer,
];

/// Calls with a time that nobody here knows to tell, and the argument that must be 0; 6: none may be.
const REFUSED: [(i64, &str, usize); 8] = [
    (libc::SYS_timer_create, "timer_create", 6),
    (libc::SYS_timerfd_gettime, "timerfd_gettime", 6),
    (libc::SYS_io_getevents, "io_getevents", 4),
    (libc::SYS_semtimedop, "semtimedop", 3),
    (libc::SYS_rt_sigtimedwait, "sigtimedwait", 2),
    (libc::SYS_recvmmsg, "recvmmsg", 4),
    (libc::SYS_mq_timedreceive, "mq_timedreceive", 4),
    (449, "futex_waitv", 3),
];

const fn op(code: u32, k: u32) -> sock_filter {
    sock_filter { code: code as u16, jt: 0, jf: 0, k }
}
const fn jump(k: u32, jt: usize, jf: usize) -> sock_filter {
    sock_filter { code: (BPF_JMP | BPF_JEQ | BPF_K) as u16, jt: jt as u8, jf: jf as u8, k }
}

/// Operations of a futex that wait.
const FUTEX_WAITS: [i32; 5] = [
    libc::FUTEX_WAIT,
    libc::FUTEX_WAIT_BITSET,
    libc::FUTEX_LOCK_PI,
    libc::FUTEX_WAIT_REQUEUE_PI,
    13,
];
const FUTEX_OPERATION: u64 = 0x7F;

/// The filter.
pub fn filter() -> Vec<sock_filter> {
    const LOAD: u32 = BPF_LD | BPF_W | BPF_ABS;
    const NATIVE: u32 = 0xC000_003E;
    let mut numbers: Vec<i64> = OURS.to_vec();
    numbers.extend(REFUSED.iter().map(|(number, ..)| *number));
    let count = numbers.len();
    // Jumps are counted from the next instruction on; the last is the one that stops.
    let mut all = vec![op(LOAD, 4), jump(NATIVE, 1, 0), op(BPF_RET, libc::SECCOMP_RET_ERRNO | 38)];
    all.push(op(LOAD, 0));
    // A futex with a time: both halves of its fourth argument, then its operation.
    let waits = FUTEX_WAITS.len();
    all.push(jump(libc::SYS_futex as u32, 0, waits + 7));
    all.push(op(LOAD, 40));
    all.push(jump(0, 0, 2));
    all.push(op(LOAD, 44));
    all.push(jump(0, waits + 2, 0));
    all.push(op(LOAD, 24));
    all.push(op(BPF_ALU | BPF_AND | BPF_K, FUTEX_OPERATION as u32));
    for (at, operation) in FUTEX_WAITS.iter().enumerate() {
        all.push(jump(*operation as u32, waits + count + 1 - at, 0));
    }
    all.push(op(BPF_RET, libc::SECCOMP_RET_ALLOW));
    for (at, number) in numbers.iter().enumerate() {
        all.push(jump(*number as u32, count - at, 0));
    }
    all.push(op(BPF_RET, libc::SECCOMP_RET_ALLOW));
    all.push(op(BPF_RET, libc::SECCOMP_RET_TRACE));
    all
}

/// Value of the time-stamp counter.
pub fn cycles(now: Time) -> u64 {
    (u128::from(now) * CYCLES / 1_250) as u64
}

/// Seconds, and picoseconds of a second, of a clock.
fn clock(number: u64, now: Time) -> (u64, Time) {
    let calendar = [libc::CLOCK_REALTIME, libc::CLOCK_REALTIME_COARSE, libc::CLOCK_TAI];
    match number as i32 {
        // Programs take no time.
        libc::CLOCK_PROCESS_CPUTIME_ID | libc::CLOCK_THREAD_CPUTIME_ID | i32::MIN..=-1 => (0, 0),
        clock if calendar.contains(&clock) => (now / SECOND + DATE, now % SECOND),
        _ => (now / SECOND, now % SECOND),
    }
}

/// A time in memory, of seconds and parts of `unit`.
fn span(memory: &Memory, at: u64, unit: Time) -> io::Result<Time> {
    let [seconds, parts] = memory.read(at)?;
    Ok(seconds.saturating_mul(SECOND).saturating_add(parts.saturating_mul(unit)))
}
/// The same, of a time of a clock.
fn instant(memory: &Memory, at: u64, calendar: bool) -> io::Result<Time> {
    let [seconds, parts] = memory.read(at)?;
    let seconds = if calendar { seconds.saturating_sub(DATE) } else { seconds };
    Ok(seconds.saturating_mul(SECOND).saturating_add(parts.saturating_mul(NS)))
}

/// The wish of a thread that is stopped at a call at `now`.
pub fn wish(registers: &Registers, memory: &Memory, now: Time) -> io::Result<Wish> {
    let Registers { rdi, rsi, rdx, r10, r8, .. } = *registers;
    let told = |result| Wish::Answered { result, looks: true };
    let number = registers.orig_rax as i64;
    let wait = |span: Time, register, sets| match span {
        0 => Wish::Kernel { looks: true },
        span => Wish::Wait { until: now.saturating_add(span), register, result: 0, sets },
    };
    // A number of milliseconds, in which less than none is for ever.
    let milliseconds = |value: u64, register| match value as i32 {
        ..0 => Wish::Kernel { looks: false },
        some => wait(some as u64 * SECOND / 1_000, register, 0),
    };
    Ok(match number {
        libc::SYS_clock_gettime => {
            let (seconds, rest) = clock(rdi, now);
            memory.write(rsi, &[seconds, rest / NS])?;
            told(0)
        }
        libc::SYS_gettimeofday => {
            let (seconds, rest) = clock(libc::CLOCK_REALTIME as u64, now);
            memory.write(rdi, &[seconds, rest / (1_000 * NS)])?;
            told(0)
        }
        libc::SYS_time => {
            let (seconds, _) = clock(libc::CLOCK_REALTIME as u64, now);
            if rdi != 0 {
                memory.write(rdi, &[seconds])?;
            }
            told(seconds as i64)
        }
        libc::SYS_times => {
            if rdi != 0 {
                memory.write(rdi, &[0; 4])?;
            }
            told((now / (SECOND / 100)) as i64)
        }
        libc::SYS_getrusage => {
            memory.write(rsi, &[0; 18])?;
            Wish::Answered { result: 0, looks: false }
        }
        libc::SYS_nanosleep => Wish::Sleep(now.saturating_add(span(memory, rdi, NS)?)),
        libc::SYS_clock_nanosleep if rsi as i32 & libc::TIMER_ABSTIME != 0 => {
            Wish::Sleep(instant(memory, rdx, rdi as i32 == libc::CLOCK_REALTIME)?)
        }
        libc::SYS_clock_nanosleep => Wish::Sleep(now.saturating_add(span(memory, rdx, NS)?)),
        libc::SYS_poll => milliseconds(rdx, Register::Third(u64::MAX)),
        libc::SYS_epoll_wait | libc::SYS_epoll_pwait => {
            milliseconds(r10, Register::Fourth(u64::MAX))
        }
        libc::SYS_ppoll if rdx != 0 => wait(span(memory, rdx, NS)?, Register::Third(0), 0),
        libc::SYS_epoll_pwait2 if r10 != 0 => wait(span(memory, r10, NS)?, Register::Fourth(0), 0),
        libc::SYS_select if r8 != 0 => wait(span(memory, r8, 1_000 * NS)?, Register::Fifth(0), rdi),
        libc::SYS_pselect6 if r8 != 0 => wait(span(memory, r8, NS)?, Register::Fifth(0), rdi),
        libc::SYS_futex => {
            let until = match (rsi & FUTEX_OPERATION) as i32 {
                libc::FUTEX_WAIT => now.saturating_add(span(memory, r10, NS)?),
                libc::FUTEX_WAIT_BITSET => {
                    instant(memory, r10, rsi as i32 & libc::FUTEX_CLOCK_REALTIME != 0)?
                }
                _ => return Ok(Wish::Refused("futex of a lock with priorities")),
            };
            let result = -i64::from(libc::ETIMEDOUT);
            Wish::Wait { until, register: Register::Fourth(0), result, sets: 0 }
        }
        libc::SYS_io_uring_setup => {
            Wish::Answered { result: -i64::from(libc::ENOSYS), looks: false }
        }
        libc::SYS_timerfd_create => Wish::MakeTimer { number: libc::SYS_eventfd2 },
        libc::SYS_timerfd_settime => {
            let [.., seconds, parts] = memory.read::<4>(rdx)?;
            let every = span(memory, rdx, NS)?;
            let until = match rsi as i32 & libc::TFD_TIMER_ABSTIME {
                _ if (seconds, parts) == (0, 0) => None,
                0 => Some(now.saturating_add(span(memory, rdx + 16, NS)?)),
                _ => Some(instant(memory, rdx + 16, false)?),
            };
            Wish::SetTimer { file: rdi, until, every }
        }
        libc::SYS_alarm if rdi != 0 => Wish::Refused("alarm"),
        libc::SYS_setitimer if rsi != 0 && memory.read::<4>(rsi)?[2..] != [0, 0] => {
            Wish::Refused("setitimer")
        }
        _ => {
            let arguments = [rdi, rsi, rdx, r10, r8, 0, 1];
            let refused = REFUSED.iter().find(|(refused, ..)| *refused == number);
            match refused.filter(|(_, _, argument)| arguments[*argument] != 0) {
                Some((_, name, _)) => Wish::Refused(name),
                None => Wish::Kernel { looks: false },
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The filter, interpreted: true if a call is to be stopped.
    fn stops(number: i64, arguments: [u64; 6]) -> bool {
        let word = |offset: u32| match offset {
            0 => number as u32,
            4 => 0xC000_003E,
            _ => (arguments[(offset as usize - 16) / 8] >> (offset % 8 * 8)) as u32,
        };
        let (program, mut at, mut value) = (filter(), 0, 0);
        loop {
            let sock_filter { code, jt, jf, k } = program[at];
            at += 1;
            match u32::from(code) & 7 {
                BPF_LD => value = word(k),
                BPF_ALU => value &= k,
                BPF_JMP => at += usize::from(if value == k { jt } else { jf }),
                _ => return k == libc::SECCOMP_RET_TRACE,
            }
        }
    }

    #[test]
    fn the_filter_stops_at_what_tells_time() {
        for number in OURS.iter().chain(REFUSED.iter().map(|(number, ..)| number)) {
            assert!(stops(*number, [0; 6]), "{number}");
        }
        for number in [libc::SYS_read, libc::SYS_write, libc::SYS_recvfrom, libc::SYS_mmap] {
            assert!(!stops(number, [7; 6]), "{number}");
        }
        let futex = |operation: i32, time: u64| {
            stops(libc::SYS_futex, [1, operation as u64, 1, time, 0, 0])
        };
        let private = libc::FUTEX_PRIVATE_FLAG | libc::FUTEX_CLOCK_REALTIME;
        for operation in FUTEX_WAITS {
            assert!(futex(operation, 0x1000) && futex(operation | private, 1 << 40));
            assert!(!futex(operation, 0), "{operation} waits without a time");
        }
        for operation in [libc::FUTEX_WAKE, libc::FUTEX_CMP_REQUEUE, libc::FUTEX_UNLOCK_PI] {
            assert!(!futex(operation, 0x1000), "{operation}");
        }
    }

    #[test]
    fn clocks_agree() {
        let now = 3 * SECOND + 5 * NS;
        assert_eq!(clock(libc::CLOCK_MONOTONIC as u64, now), (3, 5 * NS));
        assert_eq!(clock(libc::CLOCK_REALTIME as u64, now), (DATE + 3, 5 * NS));
        assert_eq!(clock(libc::CLOCK_PROCESS_CPUTIME_ID as u64, now), (0, 0));
        assert_eq!(cycles(SECOND), 2_400_000_000);
    }
}
