//! Projects without knowledge of Sunstar find it by the names of other MPI implementations.

use crate::runner::{command, ended, root, Ended};
use std::path::Path;
use std::process::Command;

/// The names, in a folder of their own, as `make parts` makes them in build/bin.
fn names(folder: &Path) {
    let makefile = std::fs::read_to_string(root().join("Makefile")).unwrap();
    let names = makefile.lines().find_map(|line| line.strip_prefix("names := ")).unwrap();
    assert!(names.split(' ').count() >= 8, "{names}");
    for name in names.split(' ') {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_sunstar"), folder.join(name)).unwrap();
    }
}

/// A command of the project's, in its folder, which finds the names first.
fn inside(folder: &Path, program: &str, arguments: &[&str]) -> Ended {
    let mut run = Command::new(program);
    let first = [folder.join("bin")];
    let path = std::env::var_os("PATH").unwrap();
    let path = std::env::join_paths(first.into_iter().chain(std::env::split_paths(&path)));
    let plain = command();
    run.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
    ended(run.current_dir(folder).env("PATH", path.unwrap()).args(arguments))
}

/// A folder with a program, and the names in `bin`.
fn project() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("bin")).unwrap();
    names(&folder.path().join("bin"));
    std::fs::copy(root().join("examples/ring.c"), folder.path().join("ring.c")).unwrap();
    folder
}

#[test]
fn a_makefile_builds_and_runs() {
    let folder = project();
    let makefile = "CC = mpicc\nring: ring.o\n\t$(CC) -o $@ $^\n\
                    check: ring\n\tmpirun -np 3 ./ring && mpiexec -n 1 ./ring : -n 2 ./ring\n";
    std::fs::write(folder.path().join("Makefile"), makefile).unwrap();
    let built = inside(folder.path(), "make", &["-s", "check"]);
    assert_eq!(built.went_well().stdout.matches("token 3 after 3 hops").count(), 2, "{built:?}");
}

/// A compiled program runs by itself, as in configure scripts, and by a real MPI's mpiexec, whose library
/// comes first.
#[test]
fn what_is_compiled_can_be_loaded() {
    let folder = project();
    let script =
        "echo 'int main(void) { return 0; }' >t.c && mpicc -Wl,--no-as-needed t.c -o t && ./t\n";
    std::fs::write(folder.path().join("configure"), script).unwrap();
    inside(folder.path(), "sh", &["configure"]).went_well();
    let before = format!("LD_LIBRARY_PATH={} ldd t", folder.path().display());
    let library = "mpicc -shared -x c /dev/null -o libmpi_abi.so.1";
    let found = inside(folder.path(), "sh", &["-c", &format!("{library} && {before}")]);
    let own = format!("libmpi_abi.so.1 => {}", folder.path().display());
    assert!(found.went_well().stdout.contains(&own), "{found:?}");
}

#[test]
fn cmake_finds_mpi() {
    let folder = project();
    let lists = "cmake_minimum_required(VERSION 3.12)\nproject(ring C CXX)\n\
                 find_package(MPI REQUIRED COMPONENTS C CXX)\nadd_executable(ring ring.c)\n\
                 target_link_libraries(ring MPI::MPI_C)\nenable_testing()\n\
                 add_test(NAME ring COMMAND ${MPIEXEC_EXECUTABLE} ${MPIEXEC_NUMPROC_FLAG} 3 \
                 $<TARGET_FILE:ring>)\n";
    std::fs::write(folder.path().join("CMakeLists.txt"), lists).unwrap();
    let Ok(_) = Command::new("cmake").arg("--version").output() else {
        return eprintln!("skipped: there is no cmake");
    };
    inside(folder.path(), "cmake", &["-S", ".", "-B", "build"]).went_well();
    inside(folder.path(), "cmake", &["--build", "build"]).went_well();
    let words = ["-E", "chdir", "build", "ctest", "--output-on-failure", "--verbose"];
    let tested = inside(folder.path(), "cmake", &words);
    assert!(tested.went_well().stdout.contains("token 3 after 3 hops"), "{tested:?}");
}

#[test]
fn pkg_config_finds_mpi() {
    let folder = project();
    let path = root().join("include/pkgconfig");
    let line = format!(
        "gcc ring.c -o ring $(PKG_CONFIG_PATH='{}' pkg-config --cflags --libs sunstar-mpi) && \
         mpirun -n 3 ./ring",
        path.display()
    );
    let built = inside(folder.path(), "sh", &["-c", &line]);
    assert!(built.went_well().stdout.contains("token 3 after 3 hops"), "{built:?}");
}

#[test]
fn what_a_compiler_would_do_is_shown() {
    let folder = project();
    let show = |name: &str, words: &[&str]| {
        let name = folder.path().join("bin").join(name);
        inside(folder.path(), name.to_str().unwrap(), words)
            .went_well()
            .stdout
            .trim_end()
            .to_owned()
    };
    let include = root().join("include");
    let include = format!("-I{}", include.display());
    // Build systems split the line at blanks, and take the words that begin with -I, -L and -l.
    for name in ["mpicc", "mpicxx", "mpifort"] {
        let line = show(name, &["-show", "x.o"]);
        let words: Vec<&str> = line.split(' ').collect();
        for option in ["-I", "-L", "-l"] {
            assert!(words.iter().any(|word| word.starts_with(option)), "{line}");
            assert!(!words.contains(&option), "{line}");
        }
    }
    for word in ["-show", "--showme", "-showme"] {
        let line = show("mpicc", &[word, "-O2", "a.c"]);
        assert!(line.starts_with(&format!("gcc {include} -O2 a.c -L/")), "{line}");
        assert!(line.contains("-lmpi_abi"), "{line}");
    }
    // Asked about itself, the compiler links nothing.
    for word in ["-v", "--version", "-dumpversion"] {
        let asked = inside(folder.path(), "mpicc", &[word]);
        assert!(asked.code == 0 && !asked.stderr.contains("undefined"), "{word}: {asked:?}");
    }
    assert!(show("mpicxx", &["-show"]).starts_with("g++ "));
    assert!(show("mpic++", &["-show"]).starts_with("g++ "));
    assert_eq!(show("mpicc", &["-compile_info"]), format!("gcc {include}"));
    assert_eq!(show("mpicc", &["-showme:compile"]), include);
    let link = show("mpicc", &["-showme:link"]);
    assert!(link.starts_with("-L/") && link.contains("-lmpi_abi"), "{link}");
    assert_eq!(show("mpicc", &["-link_info"]), format!("gcc {link}"));
    for name in ["mpifort", "mpif90", "mpif77"] {
        let line = show(name, &["-show", "a.f90"]);
        assert!(line.starts_with("gfortran ") && line.contains("-lmpi_fortran"), "{line}");
    }
}
