//! Pipeline state relative to the present cycle, without absolute times: wherever it is the same, the
//! following instructions issue after the same waits.

/// Pipes taken in the present cycle, and for which registers how many cycles the next instruction would
/// have to wait.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(crate) struct PipelineState {
    /// The registers, a bit each, and above them the pipes.
    late: u64,
    /// Their waits, in order, from the lowest bits on.
    waits: u64,
}

const PIPES: u32 = 60;
/// Bits of a wait, and how many waits there are at most.
const WAIT: u32 = 6;
const MOST: u32 = 10;

impl PipelineState {
    /// All registers are ready, and no pipe is taken.
    pub const NONE: PipelineState = PipelineState { late: 0, waits: 0 };

    /// State with these pipes taken and these registers not ready, for each of which `wait` gives the cycles;
    /// `None` if that does not fit.
    #[inline]
    pub fn new(pipes: u64, late: u64, wait: impl Fn(usize) -> u64) -> Option<PipelineState> {
        let (mut left, mut waits, mut shift) = (late, 0, 0);
        while left != 0 {
            let wait = wait(left.trailing_zeros() as usize);
            if wait >> WAIT != 0 || shift == WAIT * MOST {
                return None;
            }
            waits |= wait << shift;
            shift += WAIT;
            left &= left - 1;
        }
        Some(PipelineState { late: pipes << PIPES | late, waits })
    }
    /// Pipes taken.
    #[inline]
    pub fn pipes(self) -> u64 {
        self.late >> PIPES
    }
    /// A number that is mostly another one for another pipeline state.
    #[inline]
    pub fn mixed(self) -> u64 {
        (self.late ^ self.waits.rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40
    }
    /// The number of the pipeline state if every register is ready: its pipes.
    pub fn ready(self) -> Option<u32> {
        (self.waits == 0).then_some(self.pipes() as u32)
    }
    /// Registers that are not ready, a bit each.
    #[inline]
    pub fn late(self) -> u64 {
        self.late & ((1 << PIPES) - 1)
    }
    /// Tells of each of them for how long.
    #[inline]
    pub fn each(self, mut tell: impl FnMut(usize, u64)) {
        let (mut left, mut waits) = (self.late(), self.waits);
        while left != 0 {
            tell(left.trailing_zeros() as usize, waits & ((1 << WAIT) - 1));
            waits >>= WAIT;
            left &= left - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_that_are_late_come_back_in_order() {
        let late = [(0, 1), (1, 30), (31, 63), (36, 2), (43, 3)];
        let mask = late.iter().fold(0, |mask, (register, _)| mask | 1_u64 << register);
        let wait = |register| late.iter().find(|late| late.0 == register).unwrap().1;
        let pipeline_state = PipelineState::new(5, mask, wait).unwrap();
        assert_eq!(
            (pipeline_state.pipes(), pipeline_state.ready(), pipeline_state.late()),
            (5, None, mask)
        );
        let mut back = Vec::new();
        pipeline_state.each(|register, wait| back.push((register, wait)));
        assert_eq!(back, late);
        assert_eq!(PipelineState::new(5, 0, |_| 0).unwrap().ready(), Some(5));
        assert_eq!(PipelineState::new(0, 0x7ff, |_| 1), None, "ten at most");
        assert_eq!(PipelineState::new(0, 1, |_| 64), None, "a wait has six bits");
    }
}
