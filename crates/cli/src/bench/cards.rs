//! `sunstar validate` for machines without MPI: the workloads of marazakis2006, measured by the counters of
//! the cards.

use super::measure::Broken;
use super::published::{compare, Published};
use super::{table, write_json};
use crate::args::LadderOptions;
use crate::child;
use crate::interrupt;
use crate::mistake::Mistake;
use crate::root::Root;
use crate::terminal::{self, Terminal};
use machine::console;
use machine::parameters::Parameters;
use serde_json::Value;
use std::collections::BTreeMap;
use std::process::Stdio;

/// Cycles of the arbitration behind the last write, which is no part of a posting.
const ARBITRATION: f64 = 2.0;

/// Cycles of both cards together.
struct Account {
    initiation: f64,
    fetch: f64,
    fetch_more: f64,
    deposit: f64,
}

impl Account {
    fn sum(&self) -> f64 {
        self.initiation + self.fetch + self.fetch_more + self.deposit
    }
}

/// Runs what measures the published results and prints both; gives the exit status.
pub fn validate(root: &Root, options: &LadderOptions, machine: &Parameters) -> Result<u8, Mistake> {
    let published = Published::of_machine(root, machine)?;
    let measured = match measurements(root, options, machine) {
        Ok(measured) => measured,
        Err(Broken { text, code }) => {
            console::pass_on(&text);
            return Ok(code);
        }
    };
    let results = compare(&published, &measured, machine);
    if let Some(file) = &options.json {
        write_json(file, &results)?;
    }
    if options.json.as_ref().is_none_or(|file| file.as_os_str() != "-") {
        terminal::write(&table::validation(machine, &results, &Terminal::of_stdout()))?;
    }
    Ok(0)
}

fn measurements(
    root: &Root,
    options: &LadderOptions,
    machine: &Parameters,
) -> Result<BTreeMap<String, f64>, Broken> {
    let account = |settings: &[&str], bytes: &str, messages: &str| {
        run(root, options, settings, ["builtin:rdma-latency", bytes, messages]).map(|run| {
            let of = |node: usize, name: &str| {
                run.0["nodes"][node]["counters"][name].as_f64().unwrap_or_default()
            };
            Account {
                initiation: of(0, "account.initiation"),
                fetch: of(0, "account.fetch"),
                fetch_more: of(0, "account.fetch_more"),
                deposit: of(1, "account.deposit"),
            }
        })
    };
    let rate = |estimate| {
        let setting = format!("nic.estimate={estimate}");
        let run = run(root, options, &[&setting], ["builtin:rdma-stream", "4096", "200"])?;
        let told = run.1.split_whitespace().rev().nth(1).and_then(|word| word.parse::<f64>().ok());
        told.ok_or_else(|| Broken { text: "sunstar: a stream told no rate\n".into(), code: 1 })
    };
    let single = account(&["pcix.combining=off"], "8", "1")?;
    let one = account(&["pcix.combining=on"], "8", "1")?;
    let two = account(&["pcix.combining=on"], "8", "2")?;
    let page = account(&["pcix.combining=on"], "4096", "1")?;
    let (fine, conservative) = (rate("fine")?, rate("conservative")?);
    let cycle = 1e9 / machine.clock("pcix.clock").hz() as f64;
    let posting = |account: &Account| (account.initiation - ARBITRATION) * cycle;
    let share = |part: f64, all: &Account| 100.0 * part / all.sum();
    let named = [
        ("post.one", posting(&one)),
        ("post.two", posting(&two)),
        ("post.write", single.initiation / 4.0),
        ("post.four", single.initiation),
        ("read.page", page.fetch + page.fetch_more + ARBITRATION),
        ("single.initiation", share(single.initiation, &single)),
        ("single.dma", share(single.fetch, &single)),
        ("double.initiation", share(two.initiation - ARBITRATION, &two)),
        ("double.dma", share(two.fetch, &two)),
        ("double.saves", 100.0 * (1.0 - two.sum() / single.sum())),
        ("estimate", 100.0 * (fine / conservative - 1.0)),
    ];
    Ok(named.map(|(name, value)| (name.to_string(), value)).into())
}

/// A run of two nodes: its JSON, and what it printed before it.
fn run(
    root: &Root,
    options: &LadderOptions,
    settings: &[&str],
    program: [&str; 3],
) -> Result<(Value, String), Broken> {
    let mut words = vec!["run", "-q", "-n", "2", "--machine", &options.machine.machine];
    let own = options.machine.overrides.iter().map(String::as_str);
    own.chain(settings.iter().copied()).for_each(|setting| words.extend(["--set", setting]));
    let broken = |said: &str, code| Broken {
        text: format!(
            "{said}sunstar: this failed: sunstar {} {}\n",
            words.join(" "),
            program.join(" ")
        ),
        code,
    };
    let folder = crate::scratch::Scratch::new("").map_err(|why| broken(&format!("{why}\n"), 1))?;
    let json = folder.path().join("run.json");
    let mut command = child::command();
    command.args(&words).arg("--json").arg(&json).args(program);
    command.env("SUNSTAR_ROOT", root.path()).stdin(Stdio::null());
    let output = command.output();
    interrupt::go_on();
    let output = output.map_err(|why| broken(&format!("sunstar: {why}\n"), 1))?;
    if !output.status.success() {
        let code = output.status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(1);
        return Err(broken(&String::from_utf8_lossy(&output.stderr), code));
    }
    let text = std::fs::read_to_string(&json).unwrap_or_default();
    let report = serde_json::from_str(&text).map_err(|why| broken(&format!("{why}\n"), 1))?;
    Ok((report, String::from_utf8_lossy(&output.stdout).into_owned()))
}
