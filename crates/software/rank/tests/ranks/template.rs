//! Ranks that are forked from a template, beside those that load the program themselves.

use crate::harness::{play, Program};
use rank::{ExitStatus, Process, SpawnOptions, Templates};
use std::path::Path;
use std::sync::Arc;

/// Ranks of the runs that the tests play.
const RANKS: u32 = 5;

/// Ends as its number says.
const ENDS: &str = "MPI_Init(&argc, &argv);
     int rank;
     MPI_Comm_rank(MPI_COMM_WORLD, &rank);
     MPI_Finalize();
     if (argc == 2 && strcmp(argv[1], \"abort\") == 0) abort();
     return 40 + argc;";

fn templates(program: &Program) -> Arc<Templates> {
    Templates::of(&program.path(), RANKS).expect("the program loads nothing unknown")
}

fn of_template(program: &Program, templates: &Arc<Templates>) -> SpawnOptions {
    let options = SpawnOptions { follow: true, size: RANKS, ..program.options() };
    SpawnOptions { templates: Some(templates.clone()), ..options }
}

fn end(options: &SpawnOptions) -> ExitStatus {
    play(&mut Process::spawn(options).unwrap(), |_, _, _, _| 0)
}

/// Processes of this executable.
fn processes_of(program: &Path) -> usize {
    let of = |entry: std::io::Result<std::fs::DirEntry>| {
        let exe = std::fs::read_link(entry.ok()?.path().join("exe")).ok()?;
        (exe == program).then_some(())
    };
    std::fs::read_dir("/proc").unwrap().filter_map(of).count()
}

/// A program that writes all that it sees of its process into the file that its argument names.
fn describer() -> Program {
    Program::with_options(
        &["-pthread"],
        "#include <dlfcn.h>
         #include <dirent.h>
         #include <errno.h>
         #include <link.h>
         #include <pthread.h>
         #include <sched.h>
         #include <sys/personality.h>
         #include <sys/prctl.h>
         #include <sys/resource.h>
         #include <sys/stat.h>
         #include <sys/syscall.h>
         extern char **environ;
         static int constructed;
         __attribute__((constructor)) static void construct(void) { constructed += getpid(); }
         static void *load(void *mutex)
         {
             pthread_mutex_lock(mutex);
             void *library = dlopen(\"libm.so.6\", RTLD_NOW | RTLD_GLOBAL);
             pthread_mutex_unlock(mutex);
             return library;
         }
         static void files(FILE *out)
         {
             char name[64], to[256];
             for (int fd = 0; fd < 64; fd++) {
                 snprintf(name, sizeof name, \"/proc/self/fd/%d\", fd);
                 long bytes = readlink(name, to, sizeof to - 1);
                 if (bytes > 0 && fd != fileno(out) && fd > 2)
                     fprintf(out, \"file %d %.*s\\n\", fd, (int)bytes, to);
                 if (bytes > 0 && fd == 0)
                     fprintf(out, \"reads %.*s\\n\", (int)bytes, to);
             }
         }",
        "int error = errno;
         FILE *out = fopen(argv[1], \"w\");
         void *first = malloc(100);
         fprintf(out, \"errno %d, constructed %d\\n\", error, constructed == getpid());
         fprintf(out, \"descriptor %d\\n\", fileno(out));
         files(out);
         fprintf(out, \"at %p %p %p %p %p\\n\", (void *)argv, first, sbrk(0), (void *)&out, (void *)main);
         for (char **e = environ; *e; e++) fprintf(out, \"%p %s\\n\", *e, *e);
         fprintf(out, \"group %d, session %d\\n\", getpgrp() == getpid(),
                 getsid(0) == getsid(getppid()));
         fprintf(out, \"parent %d\\n\", getppid());
         int death = 0, *tid = 0;
         prctl(PR_GET_PDEATHSIG, &death);
         prctl(PR_GET_TID_ADDRESS, &tid);
         fprintf(out, \"dies of %d, thread %d\\n\", death,
                 *tid == getpid() && gettid() == getpid());
         fprintf(out, \"personality %x\\n\", personality(-1));
         fprintf(out, \"nice %d\\n\", getpriority(PRIO_PROCESS, 0));
         for (int i = 0; i < RLIM_NLIMITS; i++) {
             struct rlimit limit;
             getrlimit(i, &limit);
             fprintf(out, \"limit %lx %lx\\n\", limit.rlim_cur, limit.rlim_max);
         }
         for (int i = 1; i < 32; i++) {
             struct sigaction action;
             sigaction(i, 0, &action);
             fprintf(out, \"signal %p %x\\n\", (void *)action.sa_handler, action.sa_flags);
         }
         sigset_t mask;
         sigprocmask(0, 0, &mask);
         fprintf(out, \"mask %lx\\n\", *(long *)&mask);
         void *robust = 0; size_t bytes = 0;
         syscall(SYS_get_robust_list, 0, &robust, &bytes);
         fprintf(out, \"robust %p %zu\\n\", robust, bytes);
         cpu_set_t set;
         sched_getaffinity(0, sizeof set, &set);
         fprintf(out, \"processors %d %d\\n\", CPU_COUNT(&set),
                 pthread_getaffinity_np(pthread_self(), sizeof set, &set));
         struct { unsigned size, policy; unsigned long flags; int nice; unsigned priority;
                  unsigned long runtime, deadline, period; } turns = {0};
         syscall(SYS_sched_getattr, 0, &turns, sizeof turns, 0);
         fprintf(out, \"turns %u %lu\\n\", turns.policy, turns.runtime);
         char name[64] = {0};
         prctl(PR_GET_NAME, name);
         fprintf(out, \"name %s\\n\", name);
         pthread_mutexattr_t kind;
         pthread_mutex_t mutex;
         pthread_mutexattr_init(&kind);
         pthread_mutexattr_setrobust(&kind, PTHREAD_MUTEX_ROBUST);
         pthread_mutexattr_setprotocol(&kind, PTHREAD_PRIO_INHERIT);
         pthread_mutex_init(&mutex, &kind);
         fprintf(out, \"lock %d\\n\", pthread_mutex_lock(&mutex) | pthread_mutex_unlock(&mutex));
         char line[512];
         FILE *maps = fopen(\"/proc/self/maps\", \"r\");
         while (fgets(line, sizeof line, maps)) {
             char *end = strchr(line, ' ');
             char *path = strchr(line, '/');
             fprintf(out, \"%.*s %s\", (int)(end + 5 - line), line, path ? path : \"\\n\");
         }
         fclose(maps);
         pthread_t thread;
         void *library = 0;
         pthread_create(&thread, 0, load, &mutex);
         pthread_join(thread, &library);
         fprintf(out, \"loads %d\\n\", library != 0 && dlopen(\"libm.so.6\", RTLD_NOW) == library);
         int status = -1;
         pid_t child = fork();
         if (child == 0) _exit(7);
         pid_t ended = waitpid(child, &status, 0);
         fprintf(out, \"waits %d\\n\", ended == child && WEXITSTATUS(status) == 7);
         fprintf(out, \"raises %d\\n\", signal(SIGUSR1, SIG_IGN) == SIG_DFL && raise(SIGUSR1) == 0);
         fclose(out);
         MPI_Init(&argc, &argv);
         MPI_Finalize();",
    )
}

#[test]
fn a_forked_rank_sees_what_one_sees_that_has_loaded_the_program() {
    let program = describer();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("seen");
    let templates = templates(&program);
    let forking = SpawnOptions {
        args: vec![file.clone().into()],
        env: vec![("PLACE".into(), "here".into())],
        ..of_template(&program, &templates)
    };
    let loading = SpawnOptions { templates: None, ..forking.clone() };
    let seen = |options: &SpawnOptions| {
        assert_eq!(end(options), ExitStatus::FINISHED);
        std::fs::read_to_string(&file).unwrap()
    };
    let (loaded, forked) = (seen(&loading), seen(&forking));
    assert_eq!(processes_of(&program.path()), 1, "only the template is left");
    for truth in
        ["constructed 1", "group 1, session 1", "thread 1", "loads 1", "waits 1", "raises 1"]
    {
        assert!(loaded.contains(truth), "{truth}: {loaded}");
    }
    let lines = loaded.lines().zip(forked.lines());
    let differ: Vec<_> = lines.filter(|(loaded, forked)| loaded != forked).collect();
    assert!(differ.is_empty() && loaded.len() == forked.len(), "{differ:#?}\n{forked}");
    let another = SpawnOptions { rank: 4, ..forking };
    let again = seen(&another);
    assert!(forked.contains("PMI_RANK=3") && again.contains("PMI_RANK=4"), "{forked}\n{again}");
    assert_eq!(again, seen(&SpawnOptions { templates: None, ..another }));
}

#[test]
fn a_forked_rank_ends_as_others() {
    let program = Program::new("", ENDS);
    let templates = templates(&program);
    let options = of_template(&program, &templates);
    for rank in 1..4 {
        let options = SpawnOptions { rank, ..options.clone() };
        assert_eq!(end(&options), ExitStatus { code: Some(41), ..ExitStatus::FINISHED });
    }
    let mut killed = Process::spawn(&options).unwrap();
    assert_eq!(killed.next(), Process::spawn(&options).unwrap().next(), "both call MPI_Init");
    killed.kill();
    let status = play(&mut killed, |_, _, _, _| 0);
    assert_eq!((status.code, status.signal), (None, Some(9)));
    let aborting = SpawnOptions { args: vec!["abort".into()], ..options };
    let status = end(&aborting);
    assert_eq!((status.code, status.signal), (None, Some(6)), "other arguments: loads by itself");
    let templates = self::templates(&program);
    let status = end(&SpawnOptions { templates: Some(templates), ..aborting });
    assert_eq!((status.code, status.signal), (None, Some(6)));
    assert_eq!(processes_of(&program.path()), 0, "its template is for others");
}

#[test]
fn without_its_template_a_rank_loads_the_program() {
    let program = Program::new("", ENDS);
    let templates = templates(&program);
    let options = of_template(&program, &templates);
    end(&options);
    let pid = |entry: std::io::Result<std::fs::DirEntry>| {
        let path = entry.unwrap().path();
        let ours = std::fs::read_link(path.join("exe")).is_ok_and(|exe| exe == program.path());
        ours.then(|| path.file_name()?.to_str()?.parse::<i32>().ok()).flatten()
    };
    let template = std::fs::read_dir("/proc").unwrap().find_map(pid).unwrap();
    // SAFETY: a signal to our own child, for which nobody has waited.
    unsafe { libc::kill(template, libc::SIGKILL) };
    assert_eq!(end(&options), ExitStatus { code: Some(41), ..ExitStatus::FINISHED });
    drop((templates, options));
    assert_eq!(processes_of(&program.path()), 0);
}

#[test]
fn a_program_that_loads_more_has_no_template() {
    let plain = Program::new("", ENDS);
    assert!(Templates::of(&plain.path(), 2).is_none(), "two ranks are few");
    let early = "static void look(void) {}
         __attribute__((section(\".preinit_array\"), used)) static void (*first)(void) = look;";
    let early = Program::new(early, ENDS);
    let more = Program::with_options(&["-Wl,--no-as-needed", "-lcrypt"], "", ENDS);
    for program in [early, more] {
        assert!(Templates::of(&program.path(), RANKS).is_none());
    }
    assert!(Templates::of(Path::new("/proc/none"), RANKS).is_none());
    assert!(Templates::of(Path::new("/bin/sh"), RANKS).is_none());
}
