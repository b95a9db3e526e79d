//! Two waveforms of the same time become one file (VCD: IEEE 1364-2005, clause 18).

use std::fmt::Write;

/// A waveform, and the name of the scope that its signals get.
pub(super) struct Part<'a> {
    pub scope: &'a str,
    pub text: &'a str,
}

/// Header and changes of a waveform.
fn halves(text: &str) -> Option<(&str, &str)> {
    text.split_once("$enddefinitions $end")
}

/// Both in one. `None` if one of them is no such file.
pub(super) fn join(parts: [Part<'_>; 2]) -> Option<String> {
    let [first, second] = [halves(parts[0].text)?, halves(parts[1].text)?];
    let mut joined = String::from("$timescale 1ps $end\n");
    for ((head, _), (part, mark)) in [first, second].into_iter().zip(parts.iter().zip(MARKS)) {
        writeln!(joined, "$scope module {} $end", part.scope).ok()?;
        for line in head.lines().filter(|line| !line.trim_start().starts_with("$timescale")) {
            declare(&mut joined, line, mark)?;
        }
        joined.push_str("$upscope $end\n");
    }
    joined.push_str("$enddefinitions $end\n");
    let mut sides = [first.1, second.1].map(|changes| Changes::new(changes.trim_start()));
    while let Some(next) = sides.iter().filter_map(|side| side.time).min() {
        writeln!(joined, "#{next}").ok()?;
        for (side, mark) in sides.iter_mut().zip(MARKS) {
            if side.time == Some(next) {
                side.write(&mut joined, mark);
            }
        }
    }
    Some(joined)
}

/// Put before the short names of each, so that they differ.
const MARKS: [char; 2] = ['p', 'u'];

/// A line of the header: `$var wire 1 P) clk_i $end`, say.
fn declare(joined: &mut String, line: &str, mark: char) -> Option<()> {
    let words: Vec<&str> = line.split_whitespace().collect();
    match words[..] {
        ["$var", kind, width, short, ..] => {
            let name = words[4..].join(" ");
            writeln!(joined, "$var {kind} {width} {mark}{short} {name}").ok()
        }
        ["$scope" | "$upscope", ..] => writeln!(joined, "{}", words.join(" ")).ok(),
        _ => Some(()),
    }
}

/// Changes in a waveform, time by time.
struct Changes<'a> {
    rest: &'a str,
    /// Time of the next changes.
    time: Option<u64>,
}

impl<'a> Changes<'a> {
    fn new(rest: &'a str) -> Changes<'a> {
        let mut changes = Changes { rest, time: None };
        changes.look();
        changes
    }

    fn line(&mut self) -> Option<&'a str> {
        let (line, rest) = self.rest.split_once('\n').unwrap_or((self.rest, ""));
        self.rest = rest;
        (!line.is_empty() || !rest.is_empty()).then_some(line)
    }

    /// Goes to the next time.
    fn look(&mut self) {
        self.time = None;
        while self.time.is_none() {
            let Some(line) = self.line() else { break };
            self.time = line.strip_prefix('#').and_then(|time| time.parse().ok());
        }
    }

    /// Writes what changes at this time.
    fn write(&mut self, joined: &mut String, mark: char) {
        while !self.rest.starts_with('#') {
            let Some(line) = self.line() else { break };
            // A scalar has its value in the first character; a vector's is before a blank.
            let at = match line.chars().next() {
                Some('b' | 'B' | 'r' | 'R') => line.find(' ').map(|blank| blank + 1),
                Some('0' | '1' | 'x' | 'X' | 'z' | 'Z') => Some(1),
                _ => None,
            };
            if let Some(at) = at {
                let (value, short) = line.split_at(at);
                joined.extend([value, &*String::from(mark), short, "\n"]);
            }
        }
        self.look();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_of_both_stand_in_the_order_of_time() {
        let text = |name: &str, changes: &str| {
            format!(
                "$version v $end\n$timescale 1ps $end\n $scope module TOP $end\n  $var wire  2 # \
                 {name} [1:0] $end\n  $var wire  1 1b c $end\n $upscope $end\n\
                 $enddefinitions $end\n\n\n{changes}"
            )
        };
        let (one, other) =
            (text("a", "#5\nb01 #\n01b\n#7\n11b"), text("b", "#6\nb1x #\n#7\n01b\n"));
        let parts = [Part { scope: "s", text: &one }, Part { scope: "t", text: &other }];
        let header = |scope: &str, mark: char, name: &str| {
            format!(
                "$scope module {scope} $end\n$scope module TOP $end\n$var wire 2 {mark}# {name} \
                 [1:0] $end\n$var wire 1 {mark}1b c $end\n$upscope $end\n$upscope $end\n"
            )
        };
        let (s, t) = (header("s", 'p', "a"), header("t", 'u', "b"));
        let expected = format!(
            "$timescale 1ps $end\n{s}{t}$enddefinitions $end\n#5\nb01 p#\n0p1b\n#6\nb1x u#\n#7\n\
             1p1b\n0u1b\n"
        );
        assert_eq!(join(parts), Some(expected));
        assert_eq!(join([Part { scope: "s", text: &one }, Part { scope: "t", text: "x" }]), None);
    }
}
