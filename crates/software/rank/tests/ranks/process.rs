//! Real processes under a simulator that the test plays: calls, ring, clocks, callbacks, ends.

use crate::harness;
use crate::harness::{call_back, play, run, Program};
use abi::mpi::{self, Function};
use des::Time;
use host::AddressSpace;
use rank::{Callback, Demand, ExitStatus, Process, SpawnError};
use std::time::{Duration, Instant};

const CLEAN: ExitStatus =
    ExitStatus { code: Some(0), signal: None, initialized: true, finalized: true, portals: false };

#[test]
fn calls_arrive_with_their_arguments_and_get_their_answers() {
    let program = Program::new(
        "",
        "MPI_Init(&argc, &argv);
         int rank = -1, size = -1;
         if (MPI_Comm_rank(MPI_COMM_WORLD, &rank) != MPI_SUCCESS) return 10;
         if (MPI_Comm_size(MPI_COMM_WORLD, &size) != MPI_ERR_COMM) return 11;
         MPI_Send(&rank, -7, MPI_INT, 2, MPI_ANY_TAG, MPI_COMM_SELF);
         MPI_Finalize();
         return rank;",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let mut sent = Vec::new();
    let status = play(&mut process, |_, function, args, posted| {
        assert!(!posted);
        match function {
            Function::CommRank => {
                assert_eq!(args[0], mpi::COMM_WORLD);
                memory.write(args[1], &42i32.to_le_bytes()).unwrap();
            }
            Function::CommSize => return mpi::ERR_COMM,
            Function::Send => {
                let mut rank = [0; 4];
                memory.read(args[0], &mut rank).unwrap();
                assert_eq!(rank, [42, 0, 0, 0]);
                sent = args[1..].to_vec();
            }
            _ => {}
        }
        mpi::SUCCESS
    });
    assert_eq!(sent, [-7i64 as u64, mpi::INT, 2, -2i64 as u64, mpi::COMM_SELF]);
    assert_eq!(status, ExitStatus { code: Some(42), ..CLEAN });
}

#[test]
fn memory_that_is_not_there_is_a_bus_error() {
    let program = Program::new("", "MPI_Init(0, 0); MPI_Finalize();");
    let mut process = program.spawn();
    let memory = process.memory();
    let checked = play(&mut process, |_, _, _, _| {
        let error = memory.read(8, &mut [0; 4]).unwrap_err();
        assert_eq!((error.addr, error.len, error.write), (8, 4, false));
        assert!(memory.write(8, &[0; 4]).unwrap_err().write);
        0
    });
    assert_eq!(checked, CLEAN);
    assert!(memory.read(8, &mut [0; 4]).unwrap_err().why.contains("ended"));
}

#[test]
fn sends_are_posted_under_handles_of_the_library() {
    let program = Program::new(
        "",
        "MPI_Request r[3]; int x = 5, y;
         MPI_Init(&argc, &argv);
         MPI_Isend(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &r[0]);
         MPI_Irecv(&y, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &r[1]);
         MPI_Send_init(&x, 1, MPI_INT, 1, 2, MPI_COMM_WORLD, &r[2]);
         if (r[0] == r[1] || r[0] == MPI_REQUEST_NULL) return 1;
         if (r[2] != MPI_REQUEST_NULL) return 2;
         MPI_Waitall(3, r, MPI_STATUSES_IGNORE);
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let (mut posted_handles, mut waited) = (Vec::new(), [0; 24]);
    let status = play(&mut process, |_, function, args, posted| {
        assert_eq!(posted, function.is_posted(), "{}", function.name());
        match function {
            Function::Isend | Function::Irecv => posted_handles.push(args[6]),
            Function::SendInit => {
                assert!(function.makes_request() && args[6] > posted_handles[1]);
                return mpi::ERR_RANK; // The program gets MPI_REQUEST_NULL then.
            }
            Function::Waitall => memory.read(args[1], &mut waited).unwrap(),
            _ => {}
        }
        0
    });
    let words: Vec<u64> =
        waited.chunks(8).map(|w| u64::from_le_bytes(w.try_into().unwrap())).collect();
    assert_eq!(words, [posted_handles[0], posted_handles[1], mpi::REQUEST_NULL]);
    assert!(posted_handles[0] > 0xFFF, "not among the handles of the ABI");
    assert_eq!(status, CLEAN);
}

#[test]
fn a_full_ring_is_emptied_and_keeps_its_order() {
    let program = Program::new(
        "",
        "MPI_Request r; MPI_Init(&argc, &argv);
         for (int i = 0; i < 10000; i++) MPI_Isend(0, 0, MPI_INT, 1, i, MPI_COMM_WORLD, &r);
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let mut tags = 0;
    let status = play(&mut process, |_, function, args, _| {
        if function == Function::Isend {
            assert_eq!(args[4], tags);
            tags += 1;
        }
        0
    });
    assert_eq!((tags, status), (10_000, CLEAN));
}

#[test]
fn a_crash_is_noticed_at_once() {
    let program = Program::new("", "MPI_Init(0, 0); volatile int *p = 0; *p = 1;");
    let start = Instant::now();
    let (names, status) = run(&program);
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(names, ["MPI_Init"]);
    assert_eq!((status.signal, status.code), (Some(11), None));
    assert!(status.to_string().starts_with("was killed by SIGSEGV"), "{status}");
}

#[test]
fn an_exit_without_finalize_shows() {
    let (_, status) = run(&Program::new("", "MPI_Init(0, 0); exit(7);"));
    assert_eq!(status, ExitStatus { code: Some(7), finalized: false, ..CLEAN });
    let (names, status) = run(&Program::new("", "return 0;"));
    assert!(names.is_empty() && !status.initialized && status.code == Some(0));
}

#[test]
fn a_process_that_waits_can_be_killed() {
    let program = Program::new("", "MPI_Init(0, 0); MPI_Finalize();");
    let mut process = program.spawn();
    assert!(matches!(process.next(), Demand::Call { function: Function::Init, .. }));
    process.kill();
    let start = Instant::now();
    loop {
        process.reply(0, Time(0));
        match process.next() {
            Demand::Exited(status) => break assert_eq!(status.signal, Some(9)),
            _ => assert!(start.elapsed() < Duration::from_secs(5)),
        }
    }
}

#[test]
fn a_program_that_was_ended_is_dead_before_anything_else_happens() {
    let program = Program::new(
        "static int word;",
        "MPI_Init(0, 0); MPI_Bcast(&word, 1, MPI_INT, 0, MPI_COMM_WORLD);",
    );
    let mut process = program.spawn();
    assert!(matches!(process.next(), Demand::Call { function: Function::Init, .. }));
    process.reply(0, Time(0));
    let Demand::Call { function: Function::Bcast, args, .. } = process.next() else {
        panic!("the program broadcasts");
    };
    let (memory, at) = (process.memory(), args[0]);
    memory.write(at, &[2]).unwrap();
    process.flush_in_call_and_kill();
    let error = memory.write(at, &[3]).unwrap_err();
    assert_eq!(error.why, "the program has ended");
    // Nor is it dying: data still written to it would depend on the host.
    assert!(!std::path::Path::new(&format!("/proc/{}", process.pid())).exists());
}

#[test]
fn all_clocks_tell_simulated_time() {
    let program = Program::new(
        "static double wall(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t);
             return t.tv_sec + t.tv_nsec * 1e-9; }",
        "double before = wall();
         if (before > 0.001) return 1;
         MPI_Init(&argc, &argv);
         double a = MPI_Wtime(), b = MPI_Wtime();
         if (b - a < 0.9e-6 || b - a > 1.1e-6) return 2;
         if (MPI_Wtick() > 1e-9) return 3;
         usleep(2000000);
         if (wall() < 2.0 || wall() > 2.1) return 4;
         struct timeval v; gettimeofday(&v, 0);
         if (v.tv_sec != 2 || time(0) != 2 || clock() / CLOCKS_PER_SEC != 2) return 5;
         sleep(3600);
         if (time(0) != 3602) return 6;
         MPI_Finalize();
         if (wall() < 3602) return 7;",
    );
    let start = Instant::now();
    assert_eq!(run(&program).1, CLEAN);
    assert!(start.elapsed() < Duration::from_secs(2), "sleeping takes no real time");
}

/// Also while its thread takes the library's lock or gives it back.
#[test]
fn a_signal_handler_may_look_at_the_clock() {
    let program = Program::new(
        "static volatile int seen;
         static void tick(int s) { struct timespec t; clock_gettime(CLOCK_REALTIME, &t); seen++; }",
        "MPI_Init(0, 0);
         signal(SIGALRM, tick);
         struct itimerval it = {{0, 20}, {0, 20}}, off = {{0, 0}, {0, 0}};
         setitimer(ITIMER_REAL, &it, 0);
         struct timespec t;
         while (seen < 5000) clock_gettime(CLOCK_MONOTONIC, &t);
         while (seen < 6000) MPI_Barrier(MPI_COMM_WORLD);
         setitimer(ITIMER_REAL, &off, 0);
         MPI_Finalize();",
    );
    assert_eq!(run(&program).1, CLEAN);
}

#[test]
fn user_operations_run_in_the_process() {
    let program = Program::new(
        "static void add(void *in, void *inout, int *len, MPI_Datatype *type) {
             if (*type != MPI_INT) exit(20);
             for (int i = 0; i < *len; i++) ((int *)inout)[i] += ((int *)in)[i];
             (void)MPI_Wtime();
         }",
        "MPI_Init(0, 0);
         MPI_Op op = MPI_OP_NULL; int a[3] = {1, 2, 3}, b[3] = {10, 20, 30};
         MPI_Op_create(add, 1, &op);
         MPI_Reduce_local(a, b, 3, MPI_INT, op);
         MPI_Finalize();
         return b[0] == 11 && b[1] == 22 && b[2] == 33 ? 0 : 1;",
    );
    let mut process = program.spawn();
    let mut add = 0;
    let status = play(&mut process, |process, function, args, _| {
        match function {
            Function::OpCreate => add = args[0],
            Function::ReduceLocal => {
                let callback = Callback::operation(add, args[0], args[1], args[2], args[3]);
                call_back(process, &callback);
            }
            _ => {}
        }
        0
    });
    assert_eq!(status, CLEAN);
}

#[test]
fn callbacks_answer_through_their_arguments_and_may_call_mpi() {
    let program = Program::new(
        "static int copy(MPI_Comm c, int key, void *extra, void *in, void *out, int *flag) {
             int size; MPI_Comm_size(c, &size);
             *(void **)out = (char *)in + size; *flag = 1; return 0;
         }",
        "MPI_Init(0, 0);
         int key; MPI_Comm_create_keyval(copy, MPI_COMM_NULL_DELETE_FN, &key, 0);
         MPI_Comm dup = MPI_COMM_NULL; MPI_Comm_dup(MPI_COMM_WORLD, &dup);
         MPI_Finalize();",
    );
    let mut process = program.spawn();
    let memory = process.memory();
    let (mut copy, mut seen) = (0, None);
    let status = play(&mut process, |process, function, args, _| {
        match function {
            Function::CommCreateKeyval => copy = args[0],
            Function::CommDup => {
                let arguments = [mpi::COMM_WORLD, 9, 0, 1000, 0, 0];
                let callback = Callback { function: copy, arguments, indirect: 0b11_0000 };
                process.start_callback(&callback, Time(0));
                let Demand::Call { function: Function::CommSize, args, .. } = process.next() else {
                    panic!("the callback asks for the size");
                };
                memory.write(args[1], &5i32.to_le_bytes()).unwrap();
                process.reply(0, Time(0));
                let Demand::CallbackReturned { result, arguments } = process.next() else {
                    panic!("the callback returns");
                };
                seen = Some((result as i32, arguments[4], arguments[5] as i32));
            }
            _ => {}
        }
        0
    });
    assert_eq!((seen, status), (Some((0, 1005, 1)), CLEAN));
}

#[test]
fn memory_can_be_allocated_in_the_process() {
    let program = Program::new("", "MPI_Init(0, 0); MPI_Finalize();");
    let mut process = program.spawn();
    let memory = process.memory();
    let status = play(&mut process, |process, _, _, _| {
        let (va, _) = call_back(process, &Callback::allocate(1 << 20));
        let data = vec![0xA5; 1 << 20];
        let mut back = vec![0; 1 << 20];
        memory.write(va, &data).unwrap();
        memory.read(va, &mut back).unwrap();
        assert!(data == back);
        call_back(process, &Callback::release(va));
        0
    });
    assert_eq!(status, CLEAN);
}

#[test]
fn local_functions_need_no_answer() {
    let program = Program::new(
        "#include <pthread.h>
         static void *ask(void *flag) { MPI_Is_thread_main(flag); return 0; }",
        "int flag, a, b; MPI_Initialized(&flag); if (flag) return 1;
         MPI_Get_version(&a, &b); if (a != 5 || b != 0) return 2;
         MPI_Init(&argc, &argv); MPI_Initialized(&flag); if (!flag) return 3;
         if (MPI_Comm_f2c(MPI_Comm_c2f(MPI_COMM_WORLD)) != MPI_COMM_WORLD) return 4;
         MPI_Aint x, y; MPI_Get_address(&a, &x); MPI_Address(&b, &y);
         if (MPI_Aint_diff(x, y) != (char *)&a - (char *)&b) return 5;
         pthread_t other; MPI_Is_thread_main(&flag); if (!flag) return 7;
         pthread_create(&other, 0, ask, &flag); pthread_join(other, 0); if (flag) return 8;
         MPI_Finalize(); MPI_Finalized(&flag); if (!flag) return 6;",
    );
    assert_eq!(run(&program), (vec!["MPI_Init", "MPI_Finalize"], CLEAN));
}

/// Report of the library on a program that it ends.
fn fault(calls: &str) -> (Vec<&'static str>, String) {
    let mut process = Program::new("", calls).spawn();
    let mut names = Vec::new();
    let status = play(&mut process, |_, function, _, _| {
        names.push(function.name());
        0
    });
    assert_eq!(status.code, Some(1));
    (names, process.fault().unwrap())
}

#[test]
fn calls_at_the_wrong_time_end_the_process() {
    let sentence = "rank 3: MPI_Barrier was called before MPI_Init".into();
    assert_eq!(fault("MPI_Barrier(MPI_COMM_WORLD);"), (vec![], sentence));
    let sentence = "rank 3: MPI_Barrier was called after MPI_Finalize".into();
    let late = "MPI_Init(0, 0); MPI_Finalize(); MPI_Barrier(MPI_COMM_WORLD);";
    assert_eq!(fault(late), (vec!["MPI_Init", "MPI_Finalize"], sentence));
    let sentence = "rank 3: MPI_Init was called twice".into();
    assert_eq!(fault("MPI_Init(0, 0); MPI_Init(0, 0);"), (vec!["MPI_Init"], sentence));
}

#[test]
fn outside_of_the_simulator_one_sentence_says_so() {
    let program = Program::new("", "MPI_Init(0, 0);");
    let output = std::process::Command::new(program.path())
        .env("LD_LIBRARY_PATH", harness::library_dir())
        .output()
        .unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(text.starts_with("sunstar: only what sunstar run itself starts may use MPI"), "{text}");
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn children_of_a_rank_are_ordinary_processes() {
    let program = Program::new(
        "",
        "MPI_Init(0, 0);
         if (system(\"test $(date +%s) -gt 1000000\") != 0) return 1;
         pid_t child = fork();
         if (child == 0) _exit(time(0) > 1000000 ? 0 : 1);
         int status; waitpid(child, &status, 0); if (status) return 2;
         if (fork() == 0) MPI_Barrier(MPI_COMM_WORLD);
         wait(&status); if (!WIFEXITED(status) || WEXITSTATUS(status) != 1) return 3;
         MPI_Finalize();",
    );
    let (names, status) = run(&program);
    assert_eq!((names, status), (vec!["MPI_Init", "MPI_Finalize"], CLEAN));
}

#[test]
fn the_process_gets_arguments_environment_and_clean_descriptors() {
    let program = Program::new(
        "",
        "if (argc != 3 || strcmp(argv[1], \"a b\") || strcmp(argv[2], \"\")) return 1;
         if (strcmp(getenv(\"COLOUR\"), \"red\") || getenv(\"SUNSTAR_RANK_FD\")) return 2;
         if (getchar() != EOF) return 3;
         for (int fd = 3; fd < 64; fd++) if (lseek(fd, 0, SEEK_CUR) != -1) return 4;
         struct sigaction s; sigaction(SIGPIPE, 0, &s); if (s.sa_handler != SIG_DFL) return 5;
         sigset_t m; sigprocmask(SIG_BLOCK, 0, &m); if (sigismember(&m, SIGTERM)) return 6;
         if (getpgrp() != getpid()) return 7;
         MPI_Init(0, 0); MPI_Finalize();",
    );
    let mut options = program.options();
    options.args = vec!["a b".into(), "".into()];
    options.env = vec![("COLOUR".into(), "red".into())];
    options.follow = true;
    let mut process = Process::spawn(&options).unwrap();
    assert_eq!(play(&mut process, |_, _, _, _| 0), CLEAN);
}

#[test]
fn programs_built_with_the_address_sanitizer_run() {
    let options = ["-fsanitize=address"];
    let program = Program::with_options(&options, "", "MPI_Init(0, 0); MPI_Finalize();");
    assert_eq!(run(&program).1, CLEAN);
    // Its report would only be noise in ours.
    let body = "MPI_Init(0, 0); fclose(stderr); volatile char *p = malloc(8); p[argc + 7] = 1; \
                MPI_Finalize();";
    let program = Program::with_options(&options, "", body);
    assert_eq!(run(&program).1.code, Some(1), "it finds the fault");
}

#[test]
fn addresses_repeat_unless_randomised() {
    let program = Program::new("", "MPI_Init(malloc(10), 0); MPI_Finalize();");
    let address = |randomize| {
        let mut process =
            Process::spawn(&rank::SpawnOptions { randomize, ..program.options() }).unwrap();
        let mut seen = 0;
        play(&mut process, |_, function, args, _| {
            if function == Function::Init {
                seen = args[0];
            }
            0
        });
        seen
    };
    assert_eq!(address(false), address(false));
    assert!((0..4).any(|_| address(true) != address(true)), "randomisation can be forced on");
}

#[test]
fn addresses_do_not_depend_on_the_descriptors_of_the_simulator() {
    let program = Program::new("", "MPI_Init(&argc, 0); MPI_Finalize();");
    let stack = || {
        let mut process = program.spawn();
        loop {
            match process.next() {
                Demand::Call { args, .. } if args[0] != 0 => return args[0],
                Demand::Exited(_) => panic!("it calls MPI_Init"),
                _ => {}
            }
        }
    };
    let first = stack();
    let files: Vec<_> = (0..200).map(|_| std::fs::File::open("/dev/null").unwrap()).collect();
    assert_eq!(stack(), first);
    drop(files);
}

#[test]
fn what_cannot_be_started_is_said() {
    let program = Program::new("", "");
    let mut options = program.options();
    options.program = "/nowhere/at/all".into();
    let error = Process::spawn(&options).unwrap_err();
    assert!(matches!(error, SpawnError::Execute(..)));
    let text = "cannot execute /nowhere/at/all: No such file or directory (os error 2)";
    assert_eq!(error.to_string(), text);
    options.library_dir = "/nowhere".into();
    let text = "/nowhere/libsunstar_seam.so is missing: run `make`";
    assert_eq!(Process::spawn(&options).unwrap_err().to_string(), text);
}

#[test]
fn a_program_that_computes_for_long_can_be_noticed() {
    let program = Program::new("", "MPI_Init(0, 0); for (;;) {}");
    let mut process = program.spawn();
    assert!(matches!(process.next(), Demand::Call { .. }));
    process.reply(0, Time(0));
    assert_eq!(process.next_within(Some(Duration::from_millis(20))), None);
}

#[test]
fn starting_and_handing_over_are_cheap() {
    let program = Program::new(
        "",
        "MPI_Init(0, 0); for (int i = 0; i < 20000; i++) MPI_Barrier(MPI_COMM_WORLD); MPI_Finalize();",
    );
    let mut options = program.options();
    options.follow = true;
    rank::keep_thread_on(rank::processor_now(), 0);
    let start = Instant::now();
    let mut process = Process::spawn(&options).unwrap();
    let spawned = start.elapsed();
    play(&mut process, |_, _, _, _| 0);
    let each = (start.elapsed() - spawned) / 20_000;
    println!("spawn {spawned:?}, call {each:?}");
    assert!(spawned < Duration::from_millis(200), "{spawned:?}");
    assert!(each < Duration::from_micros(100), "{each:?}");
}
