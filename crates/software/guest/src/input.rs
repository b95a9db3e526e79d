//! Standard input of a guest's program.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Standard input of a guest's program.
#[derive(Clone, Debug, Default)]
pub enum Input {
    /// It is empty.
    #[default]
    Nothing,
    /// These bytes, which are all there when the program begins: equal runs are equal.
    All(Arc<[u8]>),
    /// A terminal, at which somebody types meanwhile. The guest's clock does not get ahead of the wall's, and
    /// runs differ.
    Terminal {
        /// Its size, in characters.
        rows: u16,
        #[allow(missing_docs)]
        columns: u16,
        /// The one who types.
        typist: Arc<dyn Typist>,
    },
}

/// Somebody who types at a terminal.
pub trait Typist: Debug + Send + Sync {
    /// Bytes that have been typed since the last call; waits for some for `wait` at most. None if
    /// nobody types any more: the terminal hangs up.
    fn typed(&self, wait: Duration) -> Option<Vec<u8>>;
}

/// Delay of the guest behind the wall's clock from which on it need not make up for it.
const BEHIND: Duration = Duration::from_millis(100);

/// Typing at a guest's terminal over time.
pub(crate) struct Typing {
    typist: Arc<dyn Typist>,
    /// An instant, and the guest's clock then, in ns.
    since: Option<(Instant, u64)>,
}

impl Typing {
    pub fn of(input: &Input) -> Option<Typing> {
        match input {
            Input::Terminal { typist, .. } => Some(Typing { typist: typist.clone(), since: None }),
            Input::Nothing | Input::All(_) => None,
        }
    }

    /// Waits, where the guest's clock is `now` and the wall's `wall`, until that has reached the guest's, or
    /// something is typed.
    pub fn attend(&mut self, now: u64, wall: Instant) -> Option<Vec<u8>> {
        let (instant, then) = *self.since.get_or_insert((wall, now));
        let (guest, wall) = (Duration::from_nanos(now - then), wall - instant);
        if wall > guest + BEHIND {
            self.since = None;
        }
        self.typist.typed(guest.saturating_sub(wall))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// Notes how long it may wait.
    #[derive(Debug, Default)]
    struct Patient(Mutex<Vec<Duration>>);

    impl Typist for Patient {
        fn typed(&self, wait: Duration) -> Option<Vec<u8>> {
            self.0.lock().ok()?.push(wait);
            Some(Vec::new())
        }
    }

    #[test]
    fn the_guests_clock_does_not_get_ahead_of_the_walls() {
        let typist = Arc::new(Patient::default());
        let input = Input::Terminal { rows: 24, columns: 80, typist: typist.clone() };
        let mut typing = Typing::of(&input).expect("a terminal");
        // A guest's second that begins now, and one in which the wall's clock has gone on.
        let (start, ms) = (Instant::now(), Duration::from_millis);
        for (guest, wall) in [(5000, 0), (6000, 100), (6000, 1101), (6500, 1101), (7000, 1201)] {
            typing.attend(guest * 1_000_000, start + ms(wall));
        }
        let waits = typist.0.lock().expect("nobody panics").clone();
        // At the third it was behind by more than it need make up for: it is reckoned from the fourth on.
        assert_eq!(waits, [0, 900, 0, 0, 400].map(ms));
    }
}
