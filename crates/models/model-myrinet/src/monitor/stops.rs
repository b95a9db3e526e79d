//! Stops of the processor: checked before each instruction.

/// Why it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Why {
    /// It has just been let out of reset.
    Begins,
    /// It has come to the breakpoint of this number.
    Breakpoint(u32),
    /// It has executed what it was to.
    Stepped,
    /// It has done something wrong, and the run ends with it.
    Fault,
}

/// Way in which it goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pace {
    /// To the next breakpoint.
    Continue,
    /// Until so many instructions have been executed since reset.
    Until(u64),
}

/// Breakpoints, and how far the processor is to go.
pub(crate) struct Stops {
    /// By number.
    breakpoints: Vec<(u32, u32)>,
    number: u32,
    pace: Pace,
    /// Instructions that had been executed where it stood last: it goes past that one.
    left: Option<u64>,
    why: Why,
}

impl Stops {
    /// Stops at the first instruction of all.
    pub fn new() -> Stops {
        Stops {
            breakpoints: Vec::new(),
            number: 0,
            pace: Pace::Until(0),
            left: None,
            why: Why::Begins,
        }
    }

    /// True if the processor is to stand before the instruction at `pc`, of which `before` were executed.
    #[inline]
    pub fn halts(&mut self, pc: u32, before: u64) -> bool {
        if self.left == Some(before) {
            return false;
        }
        if let Some((number, _)) = self.breakpoints.iter().find(|(_, addr)| *addr == pc) {
            self.why = Why::Breakpoint(*number);
        } else if self.pace == Pace::Until(before) {
            self.why = if before == 0 { Why::Begins } else { Why::Stepped };
        } else {
            return false;
        }
        self.left = Some(before);
        true
    }

    /// Why it has stopped.
    pub fn why(&self) -> Why {
        self.why
    }

    /// Lets it go to the next breakpoint.
    pub fn go_on(&mut self) {
        self.pace = Pace::Continue;
    }

    /// Lets it execute `count` instructions; `before` have been since reset.
    pub fn step(&mut self, before: u64, count: u64) {
        self.pace = Pace::Until(before.saturating_add(count));
    }

    /// Stops at `addr` from now on; the number of the breakpoint, which may be there already.
    pub fn set(&mut self, addr: u32) -> u32 {
        if let Some((number, _)) = self.breakpoints.iter().find(|(_, known)| *known == addr) {
            return *number;
        }
        self.number += 1;
        self.breakpoints.push((self.number, addr));
        self.number
    }

    /// Forgets one, or all. False if there is none of this number.
    pub fn delete(&mut self, number: Option<u32>) -> bool {
        let before = self.breakpoints.len();
        self.breakpoints.retain(|(known, _)| number.is_some_and(|number| number != *known));
        number.is_none() || self.breakpoints.len() < before
    }

    /// Number and address of each.
    pub fn breakpoints(&self) -> &[(u32, u32)] {
        &self.breakpoints
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_stands_where_it_should_and_goes_past() {
        let mut stops = Stops::new();
        assert!(stops.halts(0, 0) && stops.why() == Why::Begins);
        assert!(!stops.halts(0, 0), "nobody stands there twice");
        stops.step(0, 2);
        assert!(!stops.halts(4, 1));
        assert!(stops.halts(8, 2) && stops.why() == Why::Stepped);
        assert_eq!([stops.set(0x40), stops.set(0x44), stops.set(0x40)], [1, 2, 1]);
        stops.go_on();
        assert!(!stops.halts(8, 2) && !stops.halts(12, 3));
        assert!(stops.halts(0x44, 4) && stops.why() == Why::Breakpoint(2));
        assert!(stops.delete(Some(2)) && !stops.delete(Some(2)));
        assert_eq!(stops.breakpoints(), [(1, 0x40)]);
        assert!(!stops.halts(0x44, 5) && stops.halts(0x40, 6));
        assert!(stops.delete(None) && !stops.halts(0x40, 7));
    }
}
