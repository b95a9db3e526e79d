//! Nodes that run Linux: scattered pages, ukbridge and kbridge; and both systems in one machine.

use crate::runner::{run, Ended};

/// One line of the ping-pong's table: bytes, microseconds.
fn table(ended: &Ended) -> Vec<(u64, f64)> {
    let rows = ended.went_well().stdout.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.parse().ok()?, words.next()?.parse().ok()?))
    });
    rows.collect()
}

fn trace_hash(ended: &Ended) -> String {
    let stdout = &ended.went_well().stdout;
    stdout.lines().find(|line| line.starts_with("Trace hash")).unwrap().to_string()
}

#[test]
fn pages_and_ioctl_cost_their_time_and_nothing_else_differs() {
    let line = "-q -n 2 --set net.topology=row examples/pingpong.c";
    let catamount = table(&run(line));
    let linux = table(&run(&format!("-m redstorm-linux {line}")));
    assert!(linux.len() == catamount.len() && linux.len() > 20, "{linux:?}");
    for (linux, catamount) in linux.iter().zip(&catamount) {
        assert!(linux.0 == catamount.0 && linux.1 > catamount.1, "{linux:?} {catamount:?}");
    }
    // With all that Linux costs set to what Catamount costs, small messages take the same time.
    let same = "--set linux.kernel_exit=100ns --set linux.interrupt_entry=900ns \
                --set linux.interrupt_exit=300ns --set linux.ioctl=0ns --set linux.copy_in=0ns \
                --set linux.copy_out=0ns --set linux.pin_page=0ns --set linux.translate_page=0ns";
    let free = table(&run(&format!("-m redstorm-linux {same} {line}")));
    for (free, catamount) in free.iter().zip(&catamount).filter(|(row, _)| row.0 <= 1024) {
        // Whether a buffer crosses a page shows in two small DMA commands.
        let close = (free.1 - catamount.1).abs() <= 0.2;
        assert!(close, "{free:?} {catamount:?}");
    }
    // Only the pages of long messages are left, less of them if they come in runs.
    let last = |rows: &[(u64, f64)]| rows.last().unwrap().1;
    let runs = table(&run(&format!("-m redstorm-linux --set linux.page_run=64 {same} {line}")));
    assert!(last(&free) > last(&runs) && last(&runs) >= last(&catamount));
}

/// `validate` runs every firmware on the chosen machine.
#[test]
fn machines_wait_for_their_slowest_firmware() {
    for machine in ["redstorm", "redstorm-linux"] {
        for slow in ["", "--set firmware.inline=off", "--ranks-per-node 2"] {
            let slow = format!("--set firmware.cache=none {slow}");
            run(&format!("-q -n 4 -m {machine} {slow} builtin:barrier 1")).went_well();
        }
    }
}

/// Messages of 2 MB each way need more commands than fit into SRAM at once; those of 6 MB more than ever fit.
#[test]
fn lists_that_do_not_fit_in_sram_stand_in_the_kernel_s_memory() {
    for bytes in [2_000_000, 6_000_000] {
        let ended = run(&format!("-q -n 2 -m redstorm-linux tests/network/exchange.c {bytes}"));
        assert_eq!(ended.went_well().stdout, "2 ranks\n");
    }
}

/// Messages that no list can describe fail with a sentence: within a collective, while the sender waits for
/// something else, and where the programs handle the error, on the receiver's side, too.
#[test]
fn a_message_of_more_pages_than_the_kernel_has_commands_fails() {
    let few = "-q -n 2 -m redstorm-linux --set linux.list_commands=257";
    let why = ["6000000 bytes for rank", "were not sent", "PTL_NI_FAIL", "linux.list_commands"];
    let ended = run(&format!("{few} tests/network/exchange.c 6000000"));
    ended.said(1, &why).said(1, &["MPI_Alltoall"]);
    let ended = run(&format!("{few} tests/network/unsent.c wait"));
    ended.said(1, &why).said(1, &["rank 0", "MPI_Recv"]);
    let ended = run(&format!("{few} tests/network/unsent.c handle"));
    // What the program makes of it is its own affair.
    assert_eq!(ended.stdout, "MPI_ERR_OTHER: 1\n", "{ended:#?}");
    ended.said(3, &["rank 0 called MPI_Abort with code 3"]);
    let ended = run(&format!("{few} tests/network/unsent.c both"));
    assert_eq!(ended.went_well().stdout, "MPI_ERR_OTHER: 1\nMPI_ERR_OTHER: 1\n");
}

/// Two nodes with Linux and a user in the kernel, two with Catamount, one firmware.
#[test]
fn one_firmware_serves_qkbridge_ukbridge_and_kbridge_at_once() {
    let mixed = "--set host.linux_nodes=2 --set host.echo=on";
    let ended = [1, 2].map(|threads| {
        run(&format!("-n 4 -t {threads} --set net.topology=row {mixed} tests/portals/echo.c 2"))
    });
    for ended in &ended {
        let said = &ended.went_well().stdout;
        assert!(said.starts_with("4 ranks, 2 echoes, 0 wrong\n"), "{ended:#?}");
    }
    assert_eq!(trace_hash(&ended[0]), trace_hash(&ended[1]));
}

/// A user in the kernel calls without an entry, under both systems, if the machine lets it in.
#[test]
fn programs_that_are_users_in_the_kernel_enter_nothing() {
    let price = |options: &str| {
        let ended = run(&format!("-q -n 1 {options}"));
        ended.went_well().stdout.clone()
    };
    let program = "tests/portals/bridges.c";
    assert_eq!(price(&format!("{program} kernel")), "PtlNIInit: PTL_IFACE_INVALID\n");
    for (machine, entry) in [("redstorm", "host"), ("redstorm-linux", "linux")] {
        let on = format!("--machine {machine} --set host.kernel_programs=on");
        let slow = format!("--set {entry}.kernel_entry=1us");
        let [user, of_user, kernel, of_kernel] = ["user", "kernel"]
            .map(|bridge| ["", &slow].map(|slow| price(&format!("{on} {slow} {program} {bridge}"))))
            .concat()
            .try_into()
            .unwrap();
        assert!(user != of_user && kernel == of_kernel, "{user}{of_user}{kernel}{of_kernel}");
        assert!(kernel.ends_with(" ns a call, 0 wrong\n"), "{kernel}");
    }
}
