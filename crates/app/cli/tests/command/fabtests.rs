//! fabtests, the test programs of libfabric, from a folder that SUNSTAR_FABTESTS names. No registry has them
//! built; their source is in Debian's source package of MPICH (modules/libfabric/fabtests). Two processes
//! each, of which the second one asks the first one for its address.

use crate::runner::{ended, judged_alone, root};
use std::path::Path;

/// Each with its options. What they do not have is not here: connections, scalable endpoints, wait sets.
const PROGRAMS: [&str; 16] = [
    "fi_rdm",
    "fi_rdm_pingpong -I 20",
    "fi_rdm_tagged_pingpong -I 20",
    "fi_rdm_tagged_bw -I 20",
    "fi_rdm_cntr_pingpong -I 20",
    "fi_rma_bw -I 20 -o write",
    "fi_rma_bw -I 20 -o read",
    "fi_rma_bw -I 20 -o writedata",
    "fi_unexpected_msg -I 20",
    "fi_recv_cancel",
    "fi_cq_data",
    "fi_rdm_tagged_peek",
    "fi_rdm_multi_client",
    "fi_resmgmt_test -I 20",
    "fi_multi_recv -I 20",
    "fi_av_xfer",
];

#[test]
#[ignore = "needs fabtests, which no registry has built: SUNSTAR_FABTESTS=FOLDER says where its programs are"]
fn fabtests_pass() {
    let Some(folder) = std::env::var_os("SUNSTAR_FABTESTS") else {
        return println!(
            "skipped: fabtests, as SUNSTAR_FABTESTS names no folder with its programs"
        );
    };
    let mut wrong = Vec::new();
    for line in PROGRAMS {
        let mut words = line.split(' ');
        let program = Path::new(&folder).join(words.next().unwrap());
        let options: Vec<&str> = ["-p", "sunstar", "-E"].into_iter().chain(words).collect();
        let mut run = judged_alone("300");
        run.env("FI_PROVIDER", "sunstar");
        run.env("FI_PROVIDER_PATH", root().join("build/lib/libfabric"));
        run.args(["-q", "-m", "redstorm-accelerated", "-n", "1", "--server"]).arg(&program);
        run.args(&options).args([":", "-n", "1"]).arg(&program).args(&options);
        let run = ended(run.arg("node0"));
        println!("{line}\t{}", if run.code == 0 { "ok" } else { "failed" });
        if run.code != 0 {
            wrong.push((line, run));
        }
    }
    assert!(wrong.is_empty(), "{} of {} failed: {wrong:#?}", wrong.len(), PROGRAMS.len());
}
