//! Programs of others that the command calls, or that go with it: how each is found, and the package that has
//! it. `sunstar doctor` lists them; whoever wants one that is not there says [`Tool::missing`].

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A program of others.
#[derive(Debug)]
pub struct Tool {
    /// Name, as it is called.
    pub name: &'static str,
    /// Other commands that do, in the order in which they are tried after the name itself.
    others: &'static [&'static str],
    /// Purpose, as the end of "which ...".
    pub purpose: &'static str,
    /// Packages of Debian and Ubuntu.
    debian: &'static str,
    /// Packages of Ubuntu where they are others.
    ubuntu: Option<&'static str>,
    /// Packages of Fedora; none if it has none.
    fedora: Option<&'static str>,
    /// Word that `--print-targets` lists, if not every program of the name will do.
    target: Option<&'static str>,
}

/// Row of the table for a tool that has one name everywhere.
const fn tool(
    name: &'static str,
    purpose: &'static str,
    debian: &'static str,
    fedora: Option<&'static str>,
) -> Tool {
    Tool { name, others: &[], purpose, debian, ubuntu: None, fedora, target: None }
}

/// Compiler of C.
pub const GCC: Tool =
    tool("gcc", "compiles programs in C", "gcc libc6-dev", Some("gcc glibc-devel"));
/// Compiler of C++.
pub const GXX: Tool = tool("g++", "compiles programs in C++", "g++", Some("gcc-c++"));
/// Compiler of Fortran.
pub const GFORTRAN: Tool =
    tool("gfortran", "compiles programs in Fortran", "gfortran", Some("gcc-gfortran"));
/// Reader of the Makefiles of firmware and of guests' modules.
pub const MAKE: Tool =
    tool("make", "builds firmware and guests' modules that have changed", "make", Some("make"));
/// Compiler for the PowerPC 440.
pub const POWERPC: Tool = tool(
    "powerpc-linux-gnu-gcc",
    "compiles changed firmware of a PowerPC",
    "gcc-powerpc-linux-gnu",
    None,
);
/// Its linker, and the maker of images.
pub const POWERPC_BINUTILS: Tool = tool(
    "powerpc-linux-gnu-objcopy",
    "makes images of changed firmware of a PowerPC",
    "binutils-powerpc-linux-gnu",
    None,
);
/// Compiler for the LANai.
pub const CLANG: Tool = Tool {
    name: "clang-14",
    others: &[
        "clang", "clang-15", "clang-16", "clang-17", "clang-18", "clang-19", "clang-20", "clang-21",
    ],
    purpose: "compiles changed firmware of a LANai (any clang with the target lanai)",
    debian: "clang-14 (Debian 13: clang-19)",
    ubuntu: Some("clang-14"),
    fedora: Some("clang"),
    target: Some("lanai"),
};

/// A heading, and the tools below it.
pub type Group = (&'static str, &'static [Tool]);

/// All of them, by what they are for.
pub const GROUPS: [Group; 5] = [
    (
        "Programs from source (built-in ones, and those that are compiled, need nothing)",
        &[GCC, GXX, GFORTRAN, PYTHON],
    ),
    ("Firmware whose sources were changed", &[MAKE, POWERPC, POWERPC_BINUTILS, CLANG]),
    (
        "RTL in place of models (--rtl)",
        &[tool(
            "verilator",
            "compiles RTL, with g++ and make",
            "verilator g++ make",
            Some("verilator gcc-c++ make"),
        )],
    ),
    (
        "The kernel of Linux guests, which sunstar guest --prepare builds, and their programs",
        &[
            tool("apt-get", "fetches the kernel's source, a package of Debian's", "apt", None),
            tool("dpkg-deb", "unpacks it", "dpkg", Some("dpkg")),
            tool("flex", "is part of the kernel's build", "flex", Some("flex")),
            tool("bison", "is part of the kernel's build", "bison", Some("bison")),
            tool("bc", "is part of the kernel's build", "bc", Some("bc")),
            tool("xz", "unpacks the kernel's source", "xz-utils", Some("xz")),
        ],
    ),
    (
        "Beside a run",
        &[
            Tool {
                others: &["gdb"],
                ..tool(
                    "gdb-multiarch",
                    "debugs firmware of a PowerPC (--gdb)",
                    "gdb-multiarch",
                    Some("gdb"),
                )
            },
            tool("tshark", "reads captured packets (--pcap)", "tshark", Some("wireshark-cli")),
        ],
    ),
];

/// Interpreter of programs in Python.
pub const PYTHON: Tool = tool("python3", "runs programs in Python", "python3", Some("python3"));

impl Tool {
    /// The program, if it is there.
    pub fn found(&self) -> Option<PathBuf> {
        let names = [self.name].into_iter().chain(self.others.iter().copied());
        names.filter_map(located).find(|path| self.suits(path))
    }

    /// Sentence for who needs it.
    pub fn missing(&self) -> String {
        format!("there is no {}, which {}: {}", self.name, self.purpose, self.packages())
    }

    /// Packages to install, one distribution after another.
    pub fn packages(&self) -> String {
        let Tool { debian, .. } = self;
        let both = match self.ubuntu {
            None => format!("on Debian and Ubuntu install {debian}"),
            Some(ubuntu) => format!("on Debian install {debian}, on Ubuntu {ubuntu}"),
        };
        match self.fedora {
            Some(fedora) => format!("{both}, on Fedora {fedora}"),
            None => format!("{both}; Fedora has no package of it"),
        }
    }

    /// First number in the program's answer to `--version`.
    pub fn version(&self, path: &Path) -> Option<String> {
        let text = answer(path, "--version")?;
        let number = |word: &&str| word.starts_with(|c: char| c.is_ascii_digit());
        let word = text.split([' ', '\n', '(', ',', '-', '+']).find(number)?;
        Some(word.trim_end_matches(['.', ')']).to_owned())
    }

    fn suits(&self, path: &Path) -> bool {
        let Some(target) = self.target else { return true };
        let targets = answer(path, "--print-targets").unwrap_or_default();
        targets.split_whitespace().any(|word| word == target)
    }
}

fn answer(path: &Path, question: &str) -> Option<String> {
    let mut command = Command::new(path);
    let output = command.arg(question).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// File of a command on PATH.
fn located(name: &str) -> Option<PathBuf> {
    let folders = std::env::var_os("PATH")?;
    std::env::split_paths(&folders).map(|folder| folder.join(name)).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    let Ok(text) = std::ffi::CString::new(path.as_os_str().as_bytes()) else { return false };
    // SAFETY: the call reads a text that ends with a zero byte.
    path.is_file() && unsafe { libc::access(text.as_ptr(), libc::X_OK) } == 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn each_tool_is_named_once_and_says_what_to_install() {
        let mut names = BTreeSet::new();
        for tool in GROUPS.iter().flat_map(|(_, tools)| *tools) {
            assert!(names.insert(tool.name), "{} is there twice", tool.name);
            let said = tool.missing();
            for word in ["there is no ", tool.name, "Debian", "Ubuntu", "Fedora"] {
                assert!(said.contains(word), "no {word} in {said}");
            }
            assert!(!said.ends_with('.') && !said.contains('\n'), "{said}");
        }
    }

    #[test]
    fn a_tool_is_what_can_be_executed_and_has_the_target() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("clang");
        let write = |text: &str, mode| {
            use std::os::unix::fs::PermissionsExt;
            std::fs::write(&file, text).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        write("#!/bin/sh\n", 0o644);
        assert!(!is_program(&file) && !is_program(folder.path()));
        write("#!/bin/sh\necho 'Registered Targets:\n  x86 - a\n  lanai - Lanai'\n", 0o755);
        assert!(is_program(&file) && CLANG.suits(&file));
        write("#!/bin/sh\necho 'clang version 19.1.7 (3+b1)\n  lanaish - b'\n", 0o755);
        assert!(!CLANG.suits(&file) && GCC.suits(&file));
        assert_eq!(CLANG.version(&file).as_deref(), Some("19.1.7"));
    }
}
