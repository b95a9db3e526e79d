//! The lines as a value change dump (IEEE 1364), for GTKWave.

use super::lines::{Lines, CONTROLS};
use crate::{Agent, Params};
use std::fmt::Write;

/// Names of the control lines, in their order.
const NAMES: [&str; CONTROLS.len()] =
    ["FRAME_n", "IRDY_n", "TRDY_n", "DEVSEL_n", "STOP_n", "REQ64_n", "ACK64_n", "PERR_n"];
/// Names and widths of the lines in halves.
const BUSES: [(&str, usize); 6] =
    [("AD", 32), ("AD_high", 32), ("CBE_n", 4), ("CBE_high_n", 4), ("PAR", 1), ("PAR64", 1)];

/// A dump under way.
#[derive(Clone, Debug)]
pub struct Waves {
    period_ps: u64,
    text: String,
    last: Vec<String>,
}

impl Waves {
    /// A dump of a bus with so many devices.
    pub fn new(params: &Params, devices: usize) -> Waves {
        let mut text = String::from("$timescale 1ps $end\n$scope module bus $end\n");
        let mut names: Vec<(String, usize)> = vec![("CLK".into(), 1)];
        names.extend(NAMES.map(|name| (name.into(), 1)));
        names.extend(BUSES.map(|(name, bits)| (name.into(), bits)));
        names.push(("INTA_n".into(), 1));
        names.push(("GNT_bridge_n".into(), 1));
        for slot in 0..devices {
            names.push((format!("REQ{slot}_n"), 1));
            names.push((format!("GNT{slot}_n"), 1));
        }
        for (place, (name, bits)) in names.iter().enumerate() {
            let _ = writeln!(text, "$var wire {bits} {} {name} $end", id(place));
        }
        text.push_str("$upscope $end\n$enddefinitions $end\n");
        let period_ps = 1_000_000_000_000 / params.hertz;
        Waves { period_ps, text, last: vec![String::new(); names.len()] }
    }

    /// Adds a cycle. The clock rises at its end, where all agents sample.
    pub fn push(&mut self, lines: &Lines) {
        let mut values = vec!["0".to_string()];
        let bit = |level: Option<bool>| level.map_or("z", |high| if high { "1" } else { "0" });
        let low = |asserted: bool| bit(Some(!asserted)).to_string();
        values.extend(CONTROLS.map(|line| bit(lines.control(line)).to_string()));
        let wide = |value: Option<u32>, bits: usize| match value {
            Some(value) => format!("b{value:0bits$b} "),
            None => "bz ".to_string(),
        };
        values.extend(lines.ad.map(|ad| wide(ad, 32)));
        values.extend([0, 1].map(|half| wide(lines.cbe(half).map(u32::from), 4)));
        values.extend([0, 1].map(|half| bit(lines.par(half)).to_string()));
        values.push(low(lines.interrupt()));
        values.push(low(lines.grant == Agent::Bridge));
        for (slot, drive) in lines.drives.iter().skip(1).enumerate() {
            values.push(low(drive.requests));
            values.push(low(lines.grant == Agent::Device(slot as u8)));
        }
        let start = lines.number * self.period_ps;
        let _ = writeln!(self.text, "#{start}");
        for (place, value) in values.into_iter().enumerate() {
            if self.last[place] != value {
                let _ = writeln!(self.text, "{value}{}", id(place));
                self.last[place] = value;
            }
        }
        let _ = writeln!(self.text, "#{}\n1{}", start + self.period_ps / 2, id(0));
        self.last[0] = "1".into();
    }

    /// The dump.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// The name of a line in the dump.
fn id(place: usize) -> char {
    char::from(b'!' + place as u8)
}
