//! Confinement of a guest's process on this computer, below the guest's kernel, whose modules a guest loads
//! as it likes.
//!
//! Two means of Linux, which need no rights. Landlock lets the process write in its own folder alone, and
//! make nothing there that leads elsewhere; a filter of system calls refuses what Landlock does not know:
//! rights, owners, dates and attributes of files, mounts, and what administrators do to a running system.
//! If this computer's Linux lacks one of them, the other remains, and the guest's own kernel, which only
//! reads (`linux/kernel/read_only.h`).

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::path::Path;

// include/uapi/linux/landlock.h
const WRITE_FILE: u64 = 1 << 1;
const REMOVE_DIR: u64 = 1 << 4;
const REMOVE_FILE: u64 = 1 << 5;
const MAKE_DIR: u64 = 1 << 7;
const MAKE_REG: u64 = 1 << 8;
const MAKE_SOCK: u64 = 1 << 9;
/// Devices, pipes, links of both kinds: nobody of a guest makes those.
const MAKE_OTHERS: u64 = 1 << 6 | 1 << 10 | 1 << 11 | 1 << 12;
/// Links and names across folders (version 2), shortening (3).
const REFER: u64 = 1 << 13;
const TRUNCATE: u64 = 1 << 14;
const OF_FIRST_VERSION: u64 =
    WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | MAKE_OTHERS;
const OWN: u64 = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | MAKE_SOCK | TRUNCATE;
const ASK_VERSION: u32 = 1;
const PATH_BENEATH: libc::c_int = 1;

#[repr(C)]
struct Ruleset {
    handled: u64,
}

#[repr(C, packed)]
struct Beneath {
    allowed: u64,
    parent: i32,
}

/// System calls that are refused.
const REFUSED: &[libc::c_long] = &[
    libc::SYS_chmod,
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    452, // fchmodat2
    libc::SYS_chown,
    libc::SYS_fchown,
    libc::SYS_lchown,
    libc::SYS_fchownat,
    libc::SYS_utime,
    libc::SYS_utimes,
    libc::SYS_futimesat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    463, // setxattrat
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    466, // removexattrat
    469, // file_setattr
    libc::SYS_open_by_handle_at,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_quotactl,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_bpf,
    // It would not be seen by this filter.
    libc::SYS_io_uring_setup,
];

// include/uapi/linux/audit.h, seccomp.h
const X86_64: u32 = 0xC000_003E;
/// Numbers of the x32 interface, which has each call by another number.
const X32: u32 = 0x4000_0000;
const OFFSET_OF_NUMBER: u32 = 0;
const OFFSET_OF_ARCHITECTURE: u32 = 4;

/// Confinement of a child that is to become a guest's kernel.
pub(crate) struct Confinement {
    rules: Option<OwnedFd>,
    filter: Vec<libc::sock_filter>,
}

impl Confinement {
    /// Writing in this folder, and nowhere else.
    pub fn to(folder: &Path) -> io::Result<Confinement> {
        Ok(Confinement { rules: rules(folder)?, filter: filter() })
    }

    /// Confines this process, a child that is to become another program. Allocates nothing.
    pub fn enter(&self) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: self.filter.len() as u16,
            filter: self.filter.as_ptr().cast_mut(),
        };
        // SAFETY: calls that take numbers, and the filter, which is as long as said.
        unsafe {
            if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 {
                return Ok(()); // Linux before 3.5, which has neither
            }
            if let Some(rules) = &self.rules
                && libc::syscall(libc::SYS_landlock_restrict_self, rules.as_raw_fd(), 0) < 0
            {
                return Err(io::Error::last_os_error());
            }
            // A kernel without filters says EINVAL.
            libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program);
        }
        Ok(())
    }
}

/// Landlock's rules; none where this computer's Linux has no Landlock.
fn rules(folder: &Path) -> io::Result<Option<OwnedFd>> {
    let nothing = std::ptr::null::<Ruleset>();
    // SAFETY: asks for a number.
    let version =
        unsafe { libc::syscall(libc::SYS_landlock_create_ruleset, nothing, 0_usize, ASK_VERSION) };
    let handled = match version {
        ..=0 => return Ok(None),
        1 => OF_FIRST_VERSION,
        2 => OF_FIRST_VERSION | REFER,
        _ => OF_FIRST_VERSION | REFER | TRUNCATE,
    };
    let ruleset = Ruleset { handled };
    // SAFETY: the structure outlives the call, which is told its size; a descriptor comes back that is ours.
    let rules = unsafe {
        let size = size_of::<Ruleset>();
        let fd = libc::syscall(libc::SYS_landlock_create_ruleset, &raw const ruleset, size, 0_u32);
        if fd < 0 {
            return Err(io::Error::last_os_error());
        }
        OwnedFd::from_raw_fd(fd as libc::c_int)
    };
    for (path, allowed) in [(folder, OWN), (Path::new("/dev/null"), WRITE_FILE | TRUNCATE)] {
        let file = File::open(path)?;
        let rule = Beneath { allowed: allowed & handled, parent: file.as_raw_fd() };
        // SAFETY: the structure outlives the call; both descriptors are open.
        let added = unsafe {
            let (own, at) = (rules.as_raw_fd(), &raw const rule);
            libc::syscall(libc::SYS_landlock_add_rule, own, PATH_BENEATH, at, 0_u32)
        };
        if added < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Some(rules))
}

/// Filter that refuses [`REFUSED`] with EPERM, and calls of other interfaces than that of x86-64.
fn filter() -> Vec<libc::sock_filter> {
    let word = |at| (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, at);
    let end = |what| (libc::BPF_RET | libc::BPF_K, what);
    let step = |(code, k): (u32, u32), jt, jf| libc::sock_filter { code: code as u16, jt, jf, k };
    let equal = |value| (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, value);
    let at_least = |value| (libc::BPF_JMP | libc::BPF_JGE | libc::BPF_K, value);
    let refused = end(libc::SECCOMP_RET_ERRNO | libc::EPERM as u32);
    let mut filter = vec![
        step(word(OFFSET_OF_ARCHITECTURE), 0, 0),
        step(equal(X86_64), 1, 0),
        step(refused, 0, 0),
        step(word(OFFSET_OF_NUMBER), 0, 0),
        step(at_least(X32), 0, 1),
        step(refused, 0, 0),
    ];
    for number in REFUSED {
        filter.push(step(equal(*number as u32), 0, 1));
        filter.push(step(refused, 0, 0));
    }
    filter.push(step(end(libc::SECCOMP_RET_ALLOW), 0, 0));
    filter
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::process::CommandExt;
    use std::process::Command;

    /// Output of a confined shell's script.
    fn confined(folder: &Path, script: &str) -> String {
        let confinement = Confinement::to(folder).expect("it can be made");
        let mut command = Command::new("sh");
        command.args(["-c", script]).current_dir(folder);
        // SAFETY: makes calls of the system alone.
        unsafe { command.pre_exec(move || confinement.enter()) };
        let output = command.output().expect("a shell");
        String::from_utf8(output.stdout).expect("text")
    }

    #[test]
    fn a_confined_process_writes_in_its_folder_alone() {
        let around = tempfile::tempdir().expect("a folder");
        let folder = around.path().join("own");
        std::fs::create_dir(&folder).expect("a folder");
        std::fs::write(around.path().join("file"), "text").expect("a file");
        std::fs::write(folder.join("old"), "text").expect("a file");
        let well = "ok() { if \"$@\" 2>/dev/null; then echo yes; else echo no; fi; }\n";
        let inside = "ok touch new; ok sh -c 'echo x >old'; ok mkdir sub; ok rm old
            ok cat ../file >/dev/null";
        let told = confined(&folder, &format!("{well}{inside}"));
        // `cat` says yes into /dev/null, which may be written.
        assert_eq!(told, "no\nyes\nyes\nyes\n", "touch sets a date");
        if rules(&folder).expect("rules").is_none() {
            return; // there is no Landlock
        }
        let outside = "ok sh -c 'echo x >../file'; ok sh -c 'echo x >>../file'
            ok sh -c ': >../new'; ok mkdir ../sub; ok rm -f ../file; ok mv ../file ../moved
            ok mv new ../new; ok ln ../file hard; ok ln -s .. link; ok mkfifo pipe
            ok chmod 777 ../file; ok truncate -s 0 ../file; ok touch -d 2001-01-01 ../file
            ok chown 1 ../file; ok mount -t tmpfs none sub; ok unshare -m true";
        let told = confined(&folder, &format!("{well}{outside}"));
        assert_eq!(told, "no\n".repeat(16));
        assert_eq!(std::fs::read(around.path().join("file")).expect("a file"), b"text");
        assert_eq!(std::fs::read_dir(around.path()).expect("a folder").count(), 2);
    }
}
