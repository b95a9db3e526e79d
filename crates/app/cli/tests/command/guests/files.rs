//! A guest cannot write this computer's files, however it mounts them.

use crate::runner::{command, ended, hearing, root, waited_for};
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::process::{Command, Stdio};

/// A shell's function that says how a command went.
const WELL: &str = "ok() { if \"$@\" 2>/dev/null; then echo yes; else echo no; fi; }\n";

/// Each way of changing something in the folder M.
const CHANGES: [&str; 20] = [
    "ok sh -c 'echo x >$M/new'",
    "ok sh -c 'echo x >$M/file'",
    "ok sh -c 'echo x >>$M/file'",
    "ok sh -c 'echo x 1<>$M/file'",
    "ok rm $M/file",
    "ok mv $M/file $M/moved",
    "ok mv $M/file /tmp/moved",
    "ok cp /etc/passwd $M/copy",
    "ok ln $M/file $M/hard",
    "ok ln -s / $M/link",
    "ok mkdir $M/sub",
    "ok rmdir $M/empty",
    "ok mknod $M/device c 1 3",
    "ok mkfifo $M/pipe",
    "ok chmod 777 $M/file",
    "ok chown 1 $M/file",
    "ok touch -d 2001-01-01 $M/file",
    "ok truncate -s 0 $M/file",
    "ok python3 -c 'import os, sys; os.setxattr(sys.argv[1], \"user.x\", b\"x\")' $M/file",
    "ok python3 -c 'import mmap, sys; f = open(sys.argv[1], \"r+\"); mmap.mmap(f.fileno(), 4)' \
        $M/file",
];

/// Lines that a guest's script says.
fn told(script: &str) -> Vec<String> {
    let ended = ended(command().args(["guest", "sh", "-c", script]));
    ended.went_well().stdout.lines().map(Into::into).collect()
}

fn facts(path: &Path) -> (u64, u32, u32, i64, u64) {
    let facts = fs::symlink_metadata(path).unwrap();
    (facts.ino(), facts.permissions().mode(), facts.uid(), facts.mtime(), facts.nlink())
}

#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn no_mount_lets_a_guest_write_the_computers_files() {
    let folder = tempfile::tempdir().unwrap();
    let (file, empty) = (folder.path().join("file"), folder.path().join("empty"));
    fs::write(&file, "text").unwrap();
    fs::create_dir(&empty).unwrap();
    let before = [folder.path(), &file, &empty].map(facts);
    let changes = CHANGES.join("\n");
    let at = folder.path().display();
    let mounts = [
        format!("mount -t hostfs none /tmp/m -o {at}"),
        format!("mount -t hostfs -r none /tmp/m -o {at} && mount -o remount,rw /tmp/m"),
        format!("mount -t hostfs none /mnt -o / && mount --bind /mnt{at} /tmp/m"),
    ];
    for mount in mounts {
        let script = format!(
            "mkdir -p /tmp/m; export M=/tmp/m; {mount} || exit 9
            {WELL}ok grep -q text $M/file\n{changes}"
        );
        let expected: Vec<&str> = [&["yes"][..], &["no"; CHANGES.len()]].concat();
        assert_eq!(told(&script), expected, "{mount}");
        assert_eq!([folder.path(), &file, &empty].map(facts), before, "{mount}");
        assert_eq!(fs::read(&file).unwrap(), b"text", "{mount}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "{mount}");
    }
}

/// The bench's folder of the guest has its output; nothing in it leads elsewhere.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn the_benchs_folder_leads_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "{WELL}cd /run/sunstar
        ok ln -s {at} link; ok mkdir sub; ok mv stdin other; ok rm .owner; ok ln stdout hard
        ok mknod d c 1 3
        own=$(sed -n 's/.*SUNSTAR=\\([^ ]*\\).*/\\1/p' /proc/cmdline)
        mkdir /tmp/m && mount -t hostfs none /tmp/m -o $own/..
        ok sh -c 'echo x >/tmp/m/new'; ok ls /tmp/m >/dev/null
        ok sh -c 'echo out >>stdout'; ok sh -c 'echo x >free && rm free'",
        at = folder.path().display()
    );
    let expected = [&["no"; 7][..], &["out", "yes", "yes"]].concat();
    assert_eq!(told(&script), expected);
}

/// Beside that a guest writes as it likes, into its own memory.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn ordinary_work_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("file"), "text").unwrap();
    let script = format!(
        "export M={at}; {WELL}{changes}\necho inside >/etc/new && cat /etc/new && ls $M | wc -l",
        at = folder.path().display(),
        changes =
            ["ok sh -c 'echo x >$M/new'", "ok rm $M/file", "ok mkdir $M/sub", "ok rmdir $M/empty"]
                .join("\n"),
    );
    assert_eq!(told(&script), ["yes", "yes", "yes", "yes", "inside", "2"]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
}

/// A guest's folder is owned by a lock: commands of another PID namespace, in which there is no such
/// process, leave it.
#[test]
#[cfg_attr(not(kernel), ignore = "there is no kernel for guests: sunstar guest --prepare")]
fn a_guest_of_another_namespace_goes_on() {
    let mut long = command();
    let script = "for i in $(seq 600); do /bin/true; done; wc -l </run/sunstar/program";
    long.args(["guest", "sh", "-c", script]);
    let long = long.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..3 {
        let plain = command();
        let mut other = Command::new("unshare");
        other.args(["-rpf", "--mount-proc"]).arg(plain.get_program()).args(["guest", "true"]);
        other.envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))));
        hearing(other.current_dir(root()).stdin(Stdio::null()));
        let other = ended(&mut other);
        if other.stderr.starts_with("unshare") {
            eprintln!("not tested: the system has no namespaces for this user");
            break;
        }
        other.went_well();
    }
    assert_eq!(waited_for(long).went_well().stdout, "0\n");
}
