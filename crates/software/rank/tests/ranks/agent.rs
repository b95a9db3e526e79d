//! The agent in a fibre of a real host, with a stand-in for MPI.

use crate::harness::Program;
use abi::mpi::Function;
use des::{Duration, EventQueue, Time};
use host::Host;
use mpi::Outcome;
use rank::{agent, Costs, Ending, Process, Runner, Stdin};
use std::cell::RefCell;
use std::io::Read;
use std::rc::Rc;

struct Ports(EventQueue<host::Event>);

impl host::Ports for Ports {
    fn schedule(&mut self, at: Time, event: host::Event) {
        self.0.schedule(at, event);
    }
    fn mmio_write(&mut self, _: Time, _: u64, _: &[u8]) {}
    fn mmio_read(&mut self, _: Time, _: u64, _: usize) {}
}

/// Runs the program as the only rank; every call costs a microsecond and gives what `call` says.
fn run(program: &Program, mut call: impl FnMut(Function) -> Outcome + 'static) -> (Ending, Time) {
    let ended = Rc::new(RefCell::new(None));
    let mut host = Host::new(&costs());
    let options = program.options();
    let result = ended.clone();
    host.spawn("rank", move |cpu| {
        let process = Process::spawn(&options).unwrap();
        let costs = Costs { clock_read: Duration::from_ns(50), ..Costs::default() };
        let calls = |function, _: &[u64]| {
            cpu.spend(Duration::from_us(1));
            call(function)
        };
        let runner = Runner::new(process, cpu.clone(), costs);
        let ending = agent(calls, &runner, &());
        *result.borrow_mut() = Some((ending, cpu.now()));
    });
    let mut ports = Ports(EventQueue::new(0));
    host.start(Time::ZERO, &mut ports);
    while let Some((now, event)) = ports.0.pop_before(Time::NEVER) {
        host.handle(now, event, &mut ports);
    }
    let ended = ended.borrow_mut().take();
    ended.unwrap()
}

#[test]
fn calls_and_clocks_cost_their_simulated_time() {
    let program = Program::new(
        "",
        "MPI_Init(0, 0);
         double a = MPI_Wtime();
         MPI_Barrier(MPI_COMM_WORLD);
         double b = MPI_Wtime();
         usleep(10);
         double c = MPI_Wtime();
         MPI_Finalize();
         printf(\"%.3f %.3f %.3f\\n\", a * 1e6, b * 1e6, c * 1e6);
         return (int)(c * 1e6);",
    );
    let (ending, end) = run(&program, |_| Outcome::Ok(0));
    // 1 for MPI_Init, 0.05 a clock, 1 for the barrier, 10.05 for the sleep: the program sees 12.20.
    assert_eq!(ending.code(), 12);
    assert_eq!(ending.failure(0), None);
    assert_eq!(end, Time(13_200_000));
}

#[test]
fn the_clock_alone_lets_time_pass() {
    let program = Program::new("", "while (time(0) == 0) usleep(100000); return 0;");
    let (ending, end) = run(&program, |_| Outcome::Ok(0));
    assert_eq!((ending.code(), ending.failure(0)), (0, None));
    assert!(end >= Time(1_000_000_000_000));
}

/// Neither does time begin again, nor does it stop.
#[test]
fn simulated_time_ends_after_213_days() {
    let says =
        "rank 3: simulated time ends after 213 days, and the program sleeps or computes for longer";
    for body in [
        "nanosleep(&(struct timespec){1000000000, 0}, 0);",
        "nanosleep(&(struct timespec){18446745, 0}, 0);",
        "sleep(213 * 86400 - 1); sleep(2);",
        "for (int i = 0; i < 20; i++) sunstar_compute_seconds(1e6); time(0);",
        "for (;;) sunstar_compute_seconds(1e6);",
        "for (;;) poll(0, 0, 2147483647);",
    ] {
        let extern_c = "#include <poll.h>\nextern void sunstar_compute_seconds(double);";
        let (ending, _) = run(&Program::new(extern_c, body), |_| Outcome::Ok(0));
        assert_eq!(ending, Ending::Fatal(says.into()), "{body}");
    }
    let (ending, end) = run(&Program::new("", "sleep(213 * 86400 - 1);"), |_| Outcome::Ok(0));
    assert_eq!((ending.code(), end.as_seconds().round()), (0, 213.0 * 86400.0 - 1.0));
}

/// Standard output of a run that ends early.
fn printed(calls: &str, outcome: Outcome) -> (Ending, String) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("output");
    let program = Program::new(
        "",
        &format!(
            "freopen(\"{}\", \"w\", stdout); printf(\"last words\");
             MPI_Request r; MPI_Init(0, 0); {calls} for (;;) MPI_Wtime();",
            file.display()
        ),
    );
    let mut outcome = Some(outcome);
    let (ending, _) = run(&program, move |function| match function {
        Function::Init => Outcome::Ok(0),
        _ => outcome.take().unwrap(),
    });
    let mut text = String::new();
    std::fs::File::open(file).unwrap().read_to_string(&mut text).unwrap();
    (ending, text)
}

#[test]
fn an_end_in_a_call_loses_nothing_that_was_printed() {
    let ends = [
        ("MPI_Barrier(MPI_COMM_WORLD);", Outcome::Fatal("rank 0: MPI_Barrier: wrong".into())),
        ("MPI_Abort(MPI_COMM_WORLD, 4);", Outcome::Abort(4)),
        ("MPI_Win_fence(0, MPI_WIN_NULL);", Outcome::Unimplemented),
        ("MPI_Isend(0, 0, MPI_INT, 7, 0, MPI_COMM_WORLD, &r);", Outcome::Fatal("rank".into())),
    ];
    for (calls, outcome) in ends {
        let (ending, text) = printed(calls, outcome);
        assert!(ending.failure(0).is_some(), "{calls}");
        assert_eq!(text, "last words", "{calls}");
    }
}

#[test]
fn standard_input_reaches_only_who_shall_read_it() {
    let program = Program::new("", "return getchar() == EOF ? 0 : 1;");
    assert_eq!(program.options().stdin, Stdin::Null);
    assert_eq!(run(&program, |_| Outcome::Ok(0)).0.code(), 0);
}

pub fn costs() -> host::Costs {
    host::Costs {
        kernel_entry: Duration::from_ns(100),
        kernel_exit: Duration::from_ns(100),
        interrupt_entry: Duration::from_ns(100),
        interrupt_exit: Duration::from_ns(100),
        mmio_write: Duration::from_ns(10),
        copy_start: Duration::from_ns(10),
        copy_rate: 1_000_000_000,
        poll_period: Duration::from_ns(10),
        poll_most: Duration::ZERO,
        lock_take: Duration::from_ns(10),
        lock_pass: Duration::from_ns(60),
    }
}
