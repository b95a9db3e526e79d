//! Exports and refusals of the thin library, and the kinds of files that are told apart.

use crate::harness;
use crate::harness::{play, Program};
use abi::mpi::{self, Function, FUNCTIONS};
use rank::{inspect, ProgramKind};
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

/// Global dynamic symbols of the library.
fn exports() -> BTreeSet<String> {
    exports_of("libmpi_abi.so.1")
}

fn exports_of(library: &str) -> BTreeSet<String> {
    let library = harness::library_dir().join(library);
    let run = Command::new("nm").args(["-D", "--defined-only"]).arg(library).output().unwrap();
    let text = String::from_utf8(run.stdout).unwrap();
    text.lines().filter_map(|line| line.split_whitespace().nth(2)).map(str::to_string).collect()
}

#[test]
fn every_function_of_the_standard_is_exported_twice() {
    let exports = exports();
    assert_eq!(Function::all().len(), FUNCTIONS);
    assert_eq!(FUNCTIONS, 662);
    for function in Function::all() {
        let name = function.name();
        assert!(exports.contains(name) && exports.contains(&format!("P{name}")), "{name}");
    }
    let of_mpi = exports.iter().filter(|name| name.contains("MPI_")).count();
    assert_eq!(of_mpi, 2 * FUNCTIONS);
    assert_eq!(exports.len(), of_mpi, "and nothing else");
}

#[test]
fn every_procedure_of_fortran_is_exported_twice() {
    let exports = exports_of("libmpi_fortran.so.1");
    let there: Vec<_> = Function::all().iter().filter(|function| function.has_fortran()).collect();
    assert!(there.len() > 400, "{}", there.len());
    for function in there {
        let name = format!("{}_", function.name().to_lowercase());
        assert!(exports.contains(&name) && exports.contains(&format!("p{name}")), "{name}");
    }
    let others: Vec<_> = exports.iter().filter(|name| !name.contains("mpi_")).collect();
    assert_eq!(others, ["sunstar_compute_"]);
}

/// All that the seam exports, by what it answers in the system's place.
const SEAM: [(&str, &str); 9] = [
    (
        "simulated time",
        "clock clock_gettime clock_nanosleep getrusage gettimeofday nanosleep sleep time times \
         timespec_get usleep",
    ),
    (
        "waits with a limit in simulated time",
        "epoll_ctl epoll_pwait epoll_wait poll ppoll pselect pthread_cond_clockwait \
         pthread_cond_timedwait pthread_mutex_clocklock pthread_mutex_timedlock \
         pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_rwlock_timedrdlock \
         pthread_rwlock_timedwrlock select sem_clockwait sem_timedwait",
    ),
    (
        "the time-stamp counter, whose trap other programs must not inherit nor handlers take",
        "__sysv_signal bsd_signal execl execle execlp execv execve execvp execvpe fexecve popen \
         posix_spawn posix_spawnp pthread_sigmask sigaction signal sigprocmask ssignal system \
         sysv_signal",
    ),
    (
        "the processor that /proc/cpuinfo tells",
        "__open64_2 __open_2 fopen fopen64 open open64 openat openat64",
    ),
    (
        "random numbers by seed and rank",
        "_ZNSt13random_device9_M_getvalEv arc4random arc4random_buf arc4random_uniform getentropy \
         getrandom syscall",
    ),
    (
        "sockets between ranks",
        "__dprintf_chk __read_chk __recv_chk __recvfrom_chk __vdprintf_chk accept accept4 bind \
         close connect dprintf dup dup2 dup3 fcntl fcntl64 fdopen getaddrinfo gethostbyaddr \
         gethostbyname gethostbyname2 gethostbyname_r getnameinfo getpeername getsockname \
         getsockopt ioctl listen read readv recv recvfrom recvmsg send sendmsg sendto shutdown \
         socket vdprintf write writev",
    ),
    (
        "the card's memory region, and its request queue (forth.h)",
        "forth_fence forth_open forth_register forth_unregister forth_where sunstar_nic_map",
    ),
    (
        "the node, its memory, and what its processes share in this run",
        "gethostname mmap mmap64 mprotect munmap shm_open shm_unlink uname",
    ),
    (
        "the seam to the other libraries of a rank",
        "sunstar_compute_seconds sunstar_rank_attach sunstar_rank_call_mpi \
         sunstar_rank_call_noting sunstar_rank_call_verbs sunstar_rank_clock \
         sunstar_rank_compute sunstar_rank_counter_begin sunstar_rank_do_alone \
         sunstar_rank_events sunstar_rank_fabric_begin sunstar_rank_fabric_end \
         sunstar_rank_fabric_tell sunstar_rank_fail \
         sunstar_rank_flush sunstar_rank_gate_enter sunstar_rank_gate_leave sunstar_rank_guard \
         sunstar_rank_may_call sunstar_rank_pass sunstar_rank_post_mpi sunstar_rank_require \
         sunstar_rank_sleep sunstar_rank_state_add sunstar_rank_state_has sunstar_rank_told \
         sunstar_rank_unguard sunstar_rank_vain_looks",
    ),
];

/// A program's own MPI and verbs stay its own: what is preloaded has no name of theirs.
#[test]
fn what_the_seam_exports_has_a_reason() {
    let expected: BTreeSet<_> =
        SEAM.iter().flat_map(|(_, names)| names.split_whitespace()).map(str::to_string).collect();
    assert_eq!(exports_of("libsunstar_seam.so"), expected);
    for name in &expected {
        assert!(
            !name.contains("MPI_") && !name.contains("ibv_") && !name.contains("Ptl"),
            "{name}"
        );
    }
}

#[test]
fn names_and_numbers_of_functions_agree() {
    for (id, function) in Function::all().iter().enumerate() {
        assert_eq!(usize::from(function.id()), id);
        assert_eq!(Function::from_id(function.id()), Some(*function));
    }
    assert_eq!(Function::from_id(FUNCTIONS as u16), None);
    assert_eq!(Function::IsendC.name(), "MPI_Isend_c");
}

#[track_caller]
fn refused(path: &Path, why: &str) {
    let error = inspect(path).unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}

#[test]
fn programs_are_told_from_other_files() {
    let program = Program::new("", "MPI_Init(0, 0);");
    assert_eq!(inspect(&program.path()).unwrap(), ProgramKind::Mpi);

    refused(Path::new("/nowhere"), "cannot read /nowhere: No such file");
    refused(Path::new("/tmp"), "it is a folder");
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = folder.path().join(name);
        std::fs::write(&path, content).unwrap();
        path
    };
    refused(&file("script", b"#!/bin/sh\n"), "is not executable");
    refused(&file("text", b"hello"), "it is not an executable file");
    refused(&file("short", b"\x7FELF"), "another machine");
    let whole = std::fs::read(program.path()).unwrap();
    refused(&file("plain", &whole), "is not executable");
    let mut foreign = whole.clone();
    foreign[18] = 20; // e_machine: PowerPC
    refused(&file("foreign", &foreign), "another machine");
    for length in (64..whole.len()).step_by(997) {
        // Damaged in any place: refused or taken for whole, but never a panic.
        let _ = inspect(&file("cut", &whole[..length]));
    }
}

#[test]
fn programs_without_our_abi_are_named_so() {
    assert_eq!(inspect(Path::new("/bin/sh")).unwrap(), ProgramKind::Launcher);
    let folder = tempfile::tempdir().unwrap();
    let build = |arguments: &[&str], source: &str, output: &str| {
        std::fs::write(folder.path().join("s.c"), source).unwrap();
        let run = Command::new("gcc")
            .current_dir(folder.path())
            .args(arguments)
            .args(["s.c", "-o", output])
            .status()
            .unwrap();
        assert!(run.success());
        folder.path().join(output)
    };
    build(&["-shared", "-fPIC", "-Wl,-soname,libmpi.so.12"], "int MPI_Init;", "libmpi.so");
    let other = "extern int MPI_Init; int main(void) { return MPI_Init; }";
    std::fs::write(folder.path().join("o.c"), other).unwrap();
    let run = Command::new("gcc")
        .current_dir(folder.path())
        .args(["o.c", "-o", "other", "-L.", "-lmpi"])
        .status()
        .unwrap();
    assert!(run.success());
    assert_eq!(inspect(&folder.path().join("other")).unwrap(), ProgramKind::Foreign);
    build(&["-shared", "-fPIC", "-Wl,-soname,libmpi.so.1"], "int MPI_Init;", "libmpi.so");
    std::fs::write(folder.path().join("o.c"), other).unwrap();
    let mut again = Command::new("gcc");
    again.current_dir(folder.path()).args(["o.c", "-o", "old", "-L.", "-lmpi"]);
    assert!(again.status().unwrap().success());
    refused(&folder.path().join("old"), "it needs libmpi.so.1,");
    let loader = "#include <dlfcn.h>\nint main(void) { return !dlopen(0, 0); }";
    assert_eq!(inspect(&build(&[], loader, "loader")).unwrap(), ProgramKind::Indirect);
    refused(&build(&["-c"], "int x;", "s.o"), "it is an object file");
    refused(&build(&["-shared", "-fPIC"], "int x;", "x.so"), "it is a shared library");
    for how in ["-static", "-static-pie"] {
        let program = build(&[how], "int main(void) { return 0; }", "static");
        assert_eq!(inspect(&program).unwrap(), ProgramKind::Launcher, "{how}");
    }
}

#[test]
fn a_program_that_overwrites_the_channel_is_told() {
    let program = Program::new(
        "",
        "MPI_Init(0, 0);
         char line[256]; char *channel = 0;
         for (FILE *maps = fopen(\"/proc/self/maps\", \"r\"); fgets(line, sizeof line, maps);)
             if (strstr(line, \"sunstar-rank\")) channel = (char *)strtoul(line, 0, 16);
         memset(channel + 0x1000, 0xff, 0x8000);
         ++*(unsigned *)(channel + 68); /* a record that no call has written */
         MPI_Barrier(MPI_COMM_WORLD);",
    );
    let mut process = program.spawn();
    play(&mut process, |_, _, _, _| 0);
    let says = "rank 3: the program has overwritten its MPI library's memory";
    assert_eq!(process.fault().as_deref(), Some(says));
}

#[test]
fn what_the_library_cannot_do_is_the_error_handlers() {
    let program = Program::new(
        "",
        "void *memory = 0; MPI_Request request;
         MPI_Init(0, 0);
         if (MPI_Alloc_mem(-1, MPI_INFO_NULL, &memory) != MPI_ERR_NO_MEM) return 1;
         if (MPI_Alloc_mem(16, MPI_INFO_NULL, &memory) != MPI_SUCCESS) return 2;
         if (MPI_Request_toint((MPI_Request)0x7fffffffL) != 0x7fffffff) return 3;
         MPI_Request_toint((MPI_Request)0x80000000L);",
    );
    let mut process = program.spawn();
    play(&mut process, |_, function, args, _| {
        let fails = function == Function::AllocMem && args[0] as i64 == -1;
        if fails {
            mpi::ERR_NO_MEM
        } else {
            0
        }
    });
    assert!(process.fault().unwrap().starts_with("rank 3: Fortran has no number for a request"));
}
