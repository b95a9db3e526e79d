//! The card's module in Linux guests, that of Directed Point (`linux/dp`) or that of the bypass library
//! (`linux/bypass`): the bench loads it, and writes each node's routes, as an administrator does at boot.

use super::evidence;
use super::fabric::Fabric;
use machine::programs::guests::{Guests, Setup};
use std::fmt::Write;

/// The file that has the routes.
const ROUTES: &str = "/proc/net/myri_route";

/// Use of the module in a run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Module {
    /// Its name; empty if none is loaded.
    pub name: &'static str,
    /// Bytes of the card's memory that it clears and checks.
    pub check: u32,
}

impl Module {
    /// True of the bypass library's.
    pub fn is_bypass(&self) -> bool {
        self.name == "bypass"
    }
    /// For node `nid`. A judge keeps what the module has counted, and what libdp has logged.
    pub fn setup(&self, guests: &Guests, fabric: &Fabric, nid: u32, judged: bool) -> Setup {
        let kept = if judged { vec![evidence::COUNTS.into()] } else { Vec::new() };
        if self.name.is_empty() {
            return Setup { kept, log: judged, ..Setup::default() };
        }
        let options = format!("nid={nid} check={}", self.check);
        let modules = vec![(guests.kernel.module(self.name), options)];
        Setup {
            modules,
            files: vec![(ROUTES.into(), table(&fabric.routes(nid)))],
            kept,
            log: judged,
        }
    }
}

/// Routes as that file takes them: a node a line, and a byte for each switch.
fn table(routes: &[Vec<u8>]) -> String {
    let mut text = String::new();
    for (to, route) in routes.iter().enumerate().filter(|(_, route)| !route.is_empty()) {
        write!(text, "{to}").expect("a string takes everything");
        route.iter().for_each(|byte| {
            write!(text, " {byte:02x}").expect("a string takes everything");
        });
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_has_a_line_for_each_node_with_a_way() {
        assert_eq!(table(&[vec![0x80], vec![], vec![0x81, 0xBF]]), "0 80\n2 81 bf\n");
    }
}
