//! Calls that a rank's library answers by itself: before a time until which nothing else happens on its
//! node, it knows the time, and that a call which found nothing finds nothing again. The simulator does the
//! same afterwards, so that nothing simulated depends on it (docs/decisions/0054).

use abi::arguments::Arguments;
use abi::mpi::{args, Function, ARGUMENTS_MAX};
use abi::rank::{deed, DEED_ROWS, DEED_SHIFT, QUEUES_MAX};
use des::{Duration, Time};

/// Permission for the library to answer calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Lease {
    /// Time before which nothing else happens on the node.
    pub until: Time,
    /// Cost of the call that was answered last if it is repeated and finds nothing, or of a look at an empty
    /// queue; 0 if that is unknown.
    pub repeat_cost: Duration,
    /// Number of event queues that are empty.
    pub empties: u32,
}

/// Something that the library has done by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deed {
    /// It told the time.
    Tell,
    /// The last MPI call was repeated.
    Repeat,
    /// PtlEQGet of one of the empty queues, by its place among them.
    Look(usize),
}

/// Deeds of the library, in their order: each row is a kind and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deeds(pub [u32; DEED_ROWS as usize]);

impl Deeds {
    /// Each row: what was done, and how often.
    pub fn rows(&self) -> impl Iterator<Item = (Deed, u32)> + '_ {
        let kind = |row: u32| match row >> DEED_SHIFT {
            deed::TELL => Deed::Tell,
            deed::REPEAT => Deed::Repeat,
            look => Deed::Look((look - deed::LOOK) as usize),
        };
        self.0.iter().map(move |row| (kind(*row), row & ((1 << DEED_SHIFT) - 1)))
    }

    /// Time that all of them take; `None` if that is too long for any lease, or calls were not to be
    /// repeated.
    pub fn time(&self, clock_read: Duration, repeat_cost: Duration) -> Option<Duration> {
        let add = |sum: Duration, (deed, count): (Deed, u32)| {
            let each = if deed == Deed::Tell { clock_read } else { repeat_cost };
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

/// Times of looks that find nothing.
#[derive(Clone, Copy, Default)]
struct Pace {
    /// Time of a look that finds nothing to do: two took as long.
    steady: Duration,
    /// Time of the last one; 0 if other things happened meanwhile, which it may have missed.
    took: Duration,
    ready: bool,
}

impl Pace {
    fn after(self, took: Duration, alone: bool) -> Pace {
        let took = if alone { took } else { Duration::ZERO };
        let ready = took > Duration::ZERO && (took == self.steady || took == self.took);
        let steady = if ready { took } else { self.steady };
        Pace { steady, took, ready }
    }

    fn disturbed(self) -> Pace {
        Pace { took: Duration::ZERO, ready: false, ..self }
    }
}

/// Event queues that have been found empty, each by a look that took as long as the others.
#[derive(Clone, Copy, Default)]
struct Empties {
    queues: [u32; QUEUES_MAX as usize],
    count: usize,
}

impl Empties {
    fn with(self, queue: u32) -> Empties {
        let Empties { mut queues, count } = self;
        if queues[..count].contains(&queue) || count == queues.len() {
            return self;
        }
        queues[count] = queue;
        Empties { queues, count: count + 1 }
    }
}

/// Calls that only look whether something has come, made one after the other: an MPI call with the same
/// arguments, or PtlEQGet of some queues.
#[derive(Clone, Copy, Default)]
pub struct Looks {
    call: Option<Call>,
    empties: Empties,
    pace: Pace,
}

impl Looks {
    /// Adds a call, during which nothing else happened on the node if it was `alone`.
    pub fn after(self, function: Function, args: &Call, took: Duration, alone: bool) -> Looks {
        if !matches!(function, Function::Test | Function::Iprobe) {
            return Looks::default();
        }
        let before = if self.call == Some(*args) { self.pace } else { Pace::default() };
        let pace = before.after(took, alone);
        Looks { call: Some(*args), pace, ..Looks::default() }
    }

    /// Adds a PtlEQGet that has found its queue empty. Those found empty before are empty still if nothing
    /// has happened, and a look at them takes as long if theirs did.
    pub fn at_queue(self, queue: u32, took: Duration, alone: bool) -> Looks {
        let before = if self.call.is_none() { self } else { Looks::default() };
        let pace = before.pace.after(took, alone);
        let same = alone && took == before.pace.took;
        let others = if same { before.empties } else { Empties::default() };
        let empties = if alone { others.with(queue) } else { others };
        Looks { call: None, empties, pace }
    }

    /// Something else may have happened since the last one.
    pub fn disturbed(self) -> Looks {
        let (empties, pace) = (Empties::default(), self.pace.disturbed());
        Looks { call: self.call, empties, pace }
    }

    /// The call that is repeated, if it may be.
    pub fn call(&self) -> Option<Call> {
        self.call.filter(|_| self.pace.ready)
    }

    /// Queues that may be looked at again.
    pub fn empties(&self) -> &[u32] {
        &self.empties.queues[..self.empties.count]
    }

    /// Time of the next call, if nothing happens before; 0 if that is not known.
    pub fn repeat_cost(&self) -> Duration {
        if self.pace.ready {
            self.pace.took
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

    #[test]
    fn queues_found_empty_stay_so_until_something_happens() {
        let look = |looks: Looks, queue, took, alone| looks.at_queue(queue, Duration(took), alone);
        let first = look(Looks::default(), 5, 70, true);
        assert_eq!((first.repeat_cost(), first.empties()), (Duration::ZERO, &[5][..]));
        let second = look(first, 6, 50, true);
        assert_eq!(second.empties(), [6], "a look at the first may take another time");
        let third = look(second, 5, 50, true);
        assert_eq!((third.repeat_cost(), third.empties()), (Duration(50), &[6, 5][..]));
        assert_eq!(look(third, 6, 50, true).empties(), [6, 5]);
        let missed = look(third, 6, 50, false);
        assert_eq!((missed.repeat_cost(), missed.empties().len()), (Duration::ZERO, 0));
        assert_eq!(third.disturbed().empties().len(), 0);
        let again = look(third.disturbed(), 6, 50, true);
        assert_eq!((again.repeat_cost(), again.empties()), (Duration(50), &[6][..]));
        let slow = look(look(third, 7, 60, true), 7, 60, true);
        assert_eq!((slow.repeat_cost(), slow.empties()), (Duration(60), &[7][..]));
        let test = third.after(Function::Test, &(Function::Test, ARGS), Duration(50), true);
        assert_eq!((test.repeat_cost(), test.empties().len()), (Duration::ZERO, 0));
        assert_eq!(look(test, 5, 50, true).repeat_cost(), Duration::ZERO);
    }

    #[test]
    fn no_more_queues_are_known_than_there_is_room_for() {
        let all = (0..20)
            .fold(Looks::default(), |looks, queue| looks.at_queue(queue, Duration(50), true));
        assert_eq!(all.empties(), (0..QUEUES_MAX).collect::<Vec<_>>());
    }

    /// The program can write anything there.
    #[test]
    fn deeds_have_a_time_or_none() {
        let mut deeds = Deeds([0; DEED_ROWS as usize]);
        let row = |deed: u32, count| (deed << DEED_SHIFT) + count;
        let kinds = [row(deed::TELL, 3), row(deed::REPEAT, 2), row(deed::LOOK + 3, 1)];
        deeds.0[..3].copy_from_slice(&kinds);
        assert_eq!(deeds.time(Duration(50), Duration(80)), Some(Duration(390)));
        assert_eq!(deeds.time(Duration(50), Duration::ZERO), None);
        let rows: Vec<_> = deeds.rows().take(3).collect();
        assert_eq!(rows, [(Deed::Tell, 3), (Deed::Repeat, 2), (Deed::Look(3), 1)]);
        deeds.0 = [u32::MAX; DEED_ROWS as usize];
        assert_eq!(deeds.time(Duration(1 << 31), Duration(1 << 40)), None);
    }
}
