//! Whatever stands on a command line, it is taken or refused.

use super::spelling::Plain;
use super::{plain, Arguments};
use clap::Parser;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

/// Command lines, a word a line.
const LINES: &[&str] = &[
    "run\n-n\n2\n--machine\nredstorm\nexamples/pingpong.c\n8\n20",
    "run\n-np\n4\n-t2\n-q\n--set\nnet.route=20 ns\n--fault\nlink.drop=0.1@0-1\n--\nprog\n-n",
    "run\n--gdb\n1:40123\n--until\n5ms\n--seed=7\n--compute\nscale=4\nbuiltin:pingpong",
    "run\n--json=out.json\n--trace\na.pftrace\n--pcap\na.pcapng\n--judge\nx.c",
    "trace\n--node\n1\nexamples/hello.c",
    "profile\n--flame\na.svg\n-n\n2\nx.c",
    "report\npage.html\n-np\n8\na.c",
    "sweep\n--out\nt.csv\n--over\nnet.route=1ns,2ns\n-n\n2\na.c",
    "diff\na.json\nb.json\n--json",
    "bench\nladder\n--json",
    "machines\nredstorm",
    "faults\nlink",
    "cc\n-O2\nx.c",
    "validate\n--json\n-",
    "completions\nbash",
];

const WORDS: &[&[u8]] = &[
    b"\n",
    b"\n-n\n",
    b"\n-np\n",
    b"\n--\n",
    b"\n--set\n",
    b"\n--set=",
    b"\n--fault\n",
    b"\n--gdb\n",
    b"\n--monitor\n",
    b"\n--until\n",
    b"\n--compute\n",
    b"\n--help\n",
    b"\n-h\n",
    b"=",
    b":",
    b"-",
    b"18446744073709551616",
    b"0",
    b"99999999999ms",
    b"scale=1e999",
    b"scale=NaN",
    b"\xff\xfe",
    "\u{1f600}".as_bytes(),
];

#[test]
fn fuzz_command_lines() {
    let mut target = fuzz::Target::new("command lines").few(512).words(WORDS.iter().copied());
    for line in LINES {
        target = target.seed(*line);
    }
    target.run(|bytes| {
        // No argument has a zero byte.
        let lines = bytes.split(|byte| [b'\n', 0].contains(byte));
        let words = lines.map(|word| OsString::from_vec(word.to_vec()));
        let given: Vec<OsString> = std::iter::once("sunstar".into()).chain(words).collect();
        match plain(given.clone().into_iter()) {
            Ok(Plain { words, .. }) => {
                assert!(words.len() <= 2 * given.len());
                // What clap says of it is its own.
                let said = Arguments::try_parse_from(&words).map_err(|why| why.to_string());
                assert!(said.is_ok() || !said.unwrap_err().is_empty());
            }
            Err(usage_error) => assert!(!usage_error.to_string().is_empty()),
        }
    });
}
