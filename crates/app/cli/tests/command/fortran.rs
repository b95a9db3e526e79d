//! Programs in Fortran: from source, from objects, and errors.

use crate::runner::{command, ended, root, run, sunstar};
use std::fs;

#[test]
fn a_fortran_source_is_compiled_and_run() {
    let hello = run("-n 2 --quiet examples/hello.f90");
    let mut lines: Vec<&str> = hello.went_well().stdout.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines, ["hello from rank 0 of 2 on nid00000", "hello from rank 1 of 2 on nid00001"]);
}

#[test]
fn parts_with_mpif_h_and_with_the_module_are_linked_together() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let old =
        "      INTEGER FUNCTION OLD()\n      INCLUDE 'mpif.h'\n      INTEGER ERROR, N\n      \
               N = 1\n      CALL MPI_ALLREDUCE(MPI_IN_PLACE, N, 1, MPI_INTEGER, MPI_SUM,\n     \
               &    MPI_COMM_WORLD, ERROR)\n      OLD = N\n      END\n";
    let new = "program new\n use mpi\n integer :: error, n = 2, old\n external old\n \
               call MPI_Init(error)\n \
               call MPI_Allreduce(MPI_IN_PLACE, n, 1, MPI_INTEGER, MPI_SUM, &\n \
               MPI_COMM_WORLD, error)\n \
               if (n == 6 .and. old() == 3) print *, 'both in place'\n \
               call MPI_Finalize(error)\nend program\n";
    fs::write(path("old.f"), old).unwrap();
    fs::write(path("new.f90"), new).unwrap();
    for name in ["old.f", "new.f90"] {
        let object = path(&name.replace(['.'], "_"));
        sunstar(["fc", "-c", "-o", &object, &path(name)]).went_well();
        fs::rename(&object, path(&format!("{name}.o"))).unwrap();
    }
    let program = path("program");
    sunstar(["fc", "-o", &program, &path("new.f90.o"), &path("old.f.o")]).went_well();
    let ended = run(&format!("-n 3 --quiet {program}"));
    assert_eq!(ended.went_well().stdout.matches("both in place").count(), 3);
}

#[test]
fn what_was_printed_before_an_abort_is_not_lost() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("aborts.f90");
    let text = "use mpi\ncall MPI_Init(i)\nprint '(a)', 'last words'\n\
                call MPI_Abort(MPI_COMM_WORLD, 7, i)\nend\n";
    fs::write(&source, text).unwrap();
    let aborted = run(&format!("--quiet {}", source.display()));
    assert_eq!(aborted.said(7, &["rank 0 called MPI_Abort with code 7"]).stdout, "last words\n");
    let text = text.replace("MPI_Abort(MPI_COMM_WORLD, 7, i)", "MPI_Send(i, 1, 0, 0, 0, 0, i)");
    fs::write(&source, text).unwrap();
    let failed = run(&format!("--quiet {}", source.display()));
    assert_eq!(failed.said(1, &["MPI_Send"]).stdout, "last words\n");
}

#[test]
fn clocks_of_fortran_tell_simulated_time() {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("clocks.f90");
    let text = "use mpi\ninteger(8) :: a, b, r\nreal(8) :: c, d\ncall MPI_Init(i)\n\
                call system_clock(a, r)\ncall cpu_time(c)\ncall sleep(3)\n\
                call system_clock(b)\ncall cpu_time(d)\n\
                print '(f0.3, 1x, f0.3)', real(b - a, 8) / r, d - c\ncall MPI_Finalize(i)\nend\n";
    fs::write(&source, text).unwrap();
    let clocks = run(&format!("--quiet {}", source.display()));
    assert_eq!(clocks.went_well().stdout, "3.000 3.000\n");
}

#[test]
fn mistakes_with_fortran_are_named() {
    let mut missing = command();
    missing.args(["run", "examples/hello.f90"]).env("SUNSTAR_FC", "no-such-compiler");
    let words = [
        "no Fortran compiler no-such-compiler",
        "Debian and Ubuntu install gfortran",
        "SUNSTAR_FC",
    ];
    ended(&mut missing).said(2, &words);
    let wide = sunstar(["fc", "-fdefault-integer-8", "examples/hello.f90"]);
    wide.said(2, &["INTEGER has 4 bytes", "-fdefault-integer-8"]);
    let mut broken = command();
    let cache = tempfile::tempdir().unwrap();
    broken.args(["fc", "a.f90"]).env("SUNSTAR_FC", "false").env("XDG_CACHE_HOME", cache.path());
    ended(&mut broken).said(2, &["false does not compile the modules"]);
    assert!(root().join("include/mpif.h").is_file());
}

#[test]
fn modules_are_compiled_where_no_home_is_to_be_written() {
    let program = tempfile::tempdir().unwrap();
    let mut homeless = command();
    homeless.args(["fc", "examples/hello.f90", "-o"]).arg(program.path().join("hello"));
    homeless.env("HOME", "/proc").env_remove("XDG_CACHE_HOME").env("TMPDIR", program.path());
    ended(&mut homeless).went_well();
}

/// `mpi_f08` has the procedures for large counts under the names of the others (MPI 5.0, s19.2).
#[test]
fn counts_of_the_kind_for_large_ones_choose_their_procedures() {
    let expected = [
        "received   0   1   2   2   0",
        "gathered  10  11   0   1",
        "large 34359738368           0 34359738368 T",
        "packed 34359738368",
        "reduced  10  11",
    ];
    let ended = run("-q -n 2 tests/cli/large.f90");
    let lines: Vec<&str> = ended.went_well().stdout.lines().map(str::trim_end).collect();
    for line in expected {
        assert!(lines.contains(&line), "{line}: {lines:?}");
    }
}
