//! Cycles of both cards' buses, as marazakis2006 s2.6 counts them.

use machine::parameters::Parameters;
use serde_json::Value;

/// Cycles of the arbitration behind the host's last write, which do not belong to a posting.
pub const ARBITRATION: f64 = 2.0;

/// Cycles by their use, of a run of `builtin:rdma-latency` (`forth_nic::Account` defines the end of each).
#[derive(Clone, Copy, Debug)]
pub struct Account {
    /// Writing descriptors.
    pub initiation: f64,
    /// Reading the first message.
    pub fetch: f64,
    /// Reading the others.
    pub fetch_more: f64,
    /// Writing the arrived payload.
    pub deposit: f64,
}

impl Account {
    /// Nanoseconds of a cycle of it.
    pub fn cycle_ns(machine: &Parameters) -> f64 {
        let clock = machine.model().bus_clock.expect("its nodes count cycles of their buses");
        1e9 / clock(machine).hz() as f64
    }

    /// Account from the JSON report.
    pub fn of(report: &Value) -> Account {
        let cycles = |node: usize, name: &str| {
            let found = report["nodes"][node]["counters"][name].as_f64();
            found.expect("every card has its account")
        };
        Account {
            initiation: cycles(0, "account.initiation"),
            fetch: cycles(0, "account.fetch"),
            fetch_more: cycles(0, "account.fetch_more"),
            deposit: cycles(1, "account.deposit"),
        }
    }
    /// Sum of all cycles.
    pub fn sum(&self) -> f64 {
        self.initiation + self.fetch + self.fetch_more + self.deposit
    }
    /// Cycles from the first to the last one of writing descriptors.
    pub fn posting(&self) -> f64 {
        self.initiation - ARBITRATION
    }

    /// Measurements of marazakis2006's Fig. 4 by their names in published/marazakis2006.toml: of a message
    /// whose descriptor is written word by word, and of two that are combined.
    pub fn of_figure(single: &Account, two: &Account, cycle_ns: f64) -> [(&'static str, f64); 8] {
        let share = |part: f64, all: &Account| 100.0 * part / all.sum();
        [
            ("post.two", two.posting() * cycle_ns),
            ("post.write", single.initiation / 4.0),
            ("post.four", single.initiation),
            ("single.initiation", share(single.initiation, single)),
            ("single.dma", share(single.fetch, single)),
            ("double.initiation", share(two.posting(), two)),
            ("double.dma", share(two.fetch, two)),
            ("double.saves", 100.0 * (1.0 - two.sum() / single.sum())),
        ]
    }
}
