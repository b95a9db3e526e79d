//! Loops that nothing ends, and others.

use crate::harness::Program;
use des::Time;
use rank::Demand;
use std::time::Duration;

/// Acts of programs after MPI_Init, within so much real time; all at once.
fn demanded(before: &str, bodies: &[&str], patience: u64) -> Vec<Option<Demand>> {
    let one = |body: &&str| {
        let program = Program::new(before, &format!("MPI_Init(0, 0);\n{body}"));
        let mut process = program.spawn();
        assert!(matches!(process.next(), Demand::Call { .. }));
        process.reply(0, Time(0));
        process.next_within(Some(Duration::from_secs(patience)))
    };
    std::thread::scope(|scope| {
        let each: Vec<_> = bodies.iter().map(|body| scope.spawn(move || one(body))).collect();
        each.into_iter().map(|one| one.join().unwrap()).collect()
    })
}

#[test]
fn loops_that_nothing_ends_are_seen() {
    let bodies = [
        "for (;;) {}",
        "volatile int i = 1; while (i == 1) { i = i + 3; i = i - 2; i = i - 1; }",
        "while (!strstr(\"text\", getenv(\"PATH\"))) MPI_Get_address(&argc, &(MPI_Aint){0});",
        "volatile double x = 1; for (;;) x = x * 0.5 + 0.5;",
        "for (;;) sched_yield();",
    ];
    let found = demanded("#include <sched.h>", &bodies, 120);
    assert_eq!(found, bodies.map(|_| Some(Demand::Nothing)));
}

#[test]
fn loops_that_may_end_are_none_of_those() {
    let before = "#include <pthread.h>\n#include <sys/mman.h>\nstatic volatile int flag;\n\
                  static void *idle(void *it) { return pause(), it; }\n\
                  static void handle(int signal) { flag = signal; }";
    let bodies = [
        "volatile long i; for (i = 0; i >= 0; i++) {}",
        "volatile double x = 1; for (;;) x = x * 1.0000001;",
        "pthread_t it; pthread_create(&it, 0, idle, 0); while (!flag) {}",
        "signal(SIGALRM, handle); while (!flag) {}",
        "volatile int *it = mmap(0, 4096, 3, MAP_SHARED | MAP_ANONYMOUS, -1, 0); while (!*it) {}",
        "for (;;) getppid();",
        "pause();",
    ];
    assert_eq!(demanded(before, &bodies, 4), bodies.map(|_| None));
}
