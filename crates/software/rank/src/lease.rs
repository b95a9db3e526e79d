//! Calls that a rank's library answers by itself: before a time until which nothing else happens on its
//! node, it knows the time, and that a call which found nothing finds nothing again. The simulator does the
//! same afterwards, so that nothing simulated depends on it (docs/decisions/0054).

use abi::arguments::Arguments;
use abi::mpi::{args, Function, ARGUMENTS_MAX};
use abi::rank::DEED_ROWS;
use des::{Duration, Time};

/// Permission for the library to answer calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Time before which nothing else happens on the node.
    pub until: Time,
    /// Cost of the call that was answered last if it is repeated and finds nothing; 0 if that is unknown.
    pub repeat_cost: Duration,
}

/// Calls that the library has answered: the number of times it told the time, then the number of times the
/// last call was repeated, and so on in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deeds(pub [u32; DEED_ROWS as usize]);

impl Deeds {
    /// Each row: true if it is of calls, and how many.
    pub fn rows(&self) -> impl Iterator<Item = (bool, u32)> + '_ {
        self.0.iter().enumerate().map(|(at, count)| (at % 2 == 1, *count))
    }

    /// Time that all of them take; `None` if that is too long for any lease, or calls were not to be
    /// repeated.
    pub fn time(&self, clock_read: Duration, repeat_cost: Duration) -> Option<Duration> {
        let add = |sum: Duration, (calls, count): (bool, u32)| {
            let each = if calls { repeat_cost } else { clock_read };
            let possible = count == 0 || each > Duration::ZERO;
            let time = each.0.checked_mul(count.into()).filter(|_| possible)?;
            sum.0.checked_add(time).map(Duration)
        };
        self.rows().try_fold(Duration::ZERO, add)
    }
}

/// A call and its arguments.
pub type Call = (Function, [u64; ARGUMENTS_MAX]);

/// Address of the request that a call looks at, if it has one.
pub fn request_of((function, words): &Call) -> Option<u64> {
    (*function == Function::Test).then(|| args::Test::read(words).request)
}

/// Calls that only look whether something has come, made one after the other with the same arguments.
#[derive(Clone, Copy, Default)]
pub struct Looks {
    call: Option<Call>,
    /// Time of a call that finds nothing to do: two of its kind took as long.
    steady: Duration,
    /// Time of the last call; 0 if other things happened meanwhile, which it may have missed.
    took: Duration,
    ready: bool,
}

impl Looks {
    /// Adds a call, during which nothing else happened on the node if it was `alone`.
    pub fn after(self, function: Function, args: &Call, took: Duration, alone: bool) -> Looks {
        if !matches!(function, Function::Test | Function::Iprobe) {
            return Looks::default();
        }
        let before = if self.call == Some(*args) { self } else { Looks::default() };
        let took = if alone { took } else { Duration::ZERO };
        let ready = took > Duration::ZERO && (took == before.steady || took == before.took);
        let steady = if ready { took } else { before.steady };
        Looks { call: Some(*args), steady, took, ready }
    }

    /// Something else may have happened since the last one.
    pub fn disturbed(self) -> Looks {
        Looks { took: Duration::ZERO, ready: false, ..self }
    }

    /// The call that is repeated, if it may be.
    pub fn call(&self) -> Option<Call> {
        self.call.filter(|_| self.ready)
    }

    /// Time of the next call, if nothing happens before; 0 if that is not known.
    pub fn repeat_cost(&self) -> Duration {
        if self.ready {
            self.took
        } else {
            Duration::ZERO
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARGS: [u64; ARGUMENTS_MAX] = [7; ARGUMENTS_MAX];

    #[test]
    fn a_look_is_repeated_when_another_took_as_long() {
        let look = |looks: Looks, took, alone| {
            looks.after(Function::Test, &(Function::Test, ARGS), Duration(took), alone)
        };
        let first = look(Looks::default(), 90, true);
        assert_eq!(first.repeat_cost(), Duration::ZERO, "it may have found something to do");
        let second = look(first, 80, true);
        assert_eq!(second.repeat_cost(), Duration::ZERO);
        let third = look(second, 80, true);
        assert_eq!((third.repeat_cost(), third.call().is_some()), (Duration(80), true));
        let missed = look(third, 80, false);
        assert_eq!((missed.repeat_cost(), missed.call()), (Duration::ZERO, None));
        assert_eq!(look(missed, 80, true).repeat_cost(), Duration(80), "it takes what it took");
        assert_eq!(look(missed, 95, true).repeat_cost(), Duration::ZERO);
        assert_eq!(look(third.disturbed(), 80, true).repeat_cost(), Duration(80));
        let other =
            third.after(Function::Test, &(Function::Test, [8; ARGUMENTS_MAX]), Duration(80), true);
        assert_eq!(other.repeat_cost(), Duration::ZERO);
        let send = third.after(Function::Send, &(Function::Send, ARGS), Duration(80), true);
        assert_eq!(look(send, 80, true).repeat_cost(), Duration::ZERO);
    }

    /// The program can write anything there.
    #[test]
    fn deeds_have_a_time_or_none() {
        let mut deeds = Deeds([0; DEED_ROWS as usize]);
        (deeds.0[0], deeds.0[1], deeds.0[2]) = (3, 2, 1);
        assert_eq!(deeds.time(Duration(50), Duration(80)), Some(Duration(360)));
        assert_eq!(deeds.time(Duration(50), Duration::ZERO), None);
        deeds.0 = [u32::MAX; DEED_ROWS as usize];
        assert_eq!(deeds.time(Duration(1 << 31), Duration(1 << 40)), None);
    }
}
