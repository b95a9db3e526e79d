//! Collective operations by the firmware (`mpi.barrier=nic`, `mpi.allreduce=nic`): programs see what they see
//! with the hosts' algorithms. All runs are judged.

use crate::accelerated::{counter, lines};
use crate::runner::{json, run};

const HOSTS: &str = "-q --machine redstorm-accelerated";
const NIC: &str = "-q --machine redstorm-accelerated --set mpi.barrier=nic --set mpi.allreduce=nic";

/// Any number of ranks, one or two a node; more communicators than there are groups; many operations at a
/// time; messages that have to be fetched meanwhile.
#[test]
fn programs_see_what_they_see_with_the_hosts_algorithms() {
    for ranks in ["-n 3", "-n 10 --ppn 2"] {
        let program = format!("{ranks} tests/mpi/collectives_on_nic.c");
        let hosts = run(&format!("{HOSTS} {program}"));
        let nic = run(&format!("{NIC} -t 2 {program}"));
        assert_eq!(lines(&hosts), lines(&nic), "{ranks}");
        assert!(counter(&json(&format!("{NIC} {program}")), "niccb.collectives") > 80, "{ranks}");
    }
    for program in ["-n 5 --ppn 2 tests/mpi/collectives.c", "-n 4 tests/mpi/groups.c"] {
        assert_eq!(
            lines(&run(&format!("{HOSTS} {program}"))),
            lines(&run(&format!("{NIC} {program}"))),
            "{program}"
        );
    }
}

/// A process without Portals on the network interface takes part by messages, and all with it.
#[test]
fn a_generic_member_makes_all_use_messages() {
    let program = "-n 6 --set host.linux_nodes=1 tests/mpi/collectives_on_nic.c";
    let nic = run(&format!("{NIC} {program}"));
    assert_eq!(lines(&run(&format!("{HOSTS} {program}"))), lines(&nic));
}

/// A barrier is one command and one event: no message.
#[test]
fn a_barrier_of_the_firmware_is_no_message() {
    let run = json(&format!("{NIC} -n 4 builtin:barrier 200"));
    assert!(counter(&run, "niccb.collectives") >= 4 * 200);
    assert!(counter(&run, "tx.messages") < 4 * 20);
}

#[test]
fn machines_without_such_firmware_say_so() {
    for (machine, words) in [
        ("redstorm", "for accelerated processes"),
        ("redstorm-accelerated --set firmware.overflow=panic", "for accelerated processes"),
        ("ideal", "perform no collective operations"),
        ("alpu", "perform no collective operations"),
    ] {
        for key in ["mpi.barrier", "mpi.allreduce"] {
            let line = format!("-q --machine {machine} --set {key}=nic builtin:barrier 1");
            run(&line).said(2, &[words, "redstorm-accelerated"]);
        }
    }
}
