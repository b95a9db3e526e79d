//! Progress of a long run, on terminals only: a line of its own, or, where programs write to the same
//! terminal, the title of its window. Nobody knows whether such a program has ended its line.

use crate::summary::{grouped, time_of};
use des::Duration;
use indicatif::ProgressBar;
use machine::Progress;
use std::io::{IsTerminal, Write};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration as Wall, Instant};

/// Wall time after which a run gets a progress line, and the period of its updates.
const PATIENCE: Wall = Wall::from_secs(2);
const PERIOD: Wall = Wall::from_millis(500);

/// Place of the progress on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line, where nothing else is written meanwhile.
    Line,
    /// The title of the window.
    Title,
}

impl Place {
    /// The place beside programs, if there are any: `writes` of those whose output goes where ours does.
    pub fn beside(writes: bool) -> Place {
        match writes && std::io::stdout().is_terminal() {
            true => Place::Title,
            false => Place::Line,
        }
    }
}

/// Control sequences of xterm and most others: to keep a title and to take the kept one back; before and
/// behind a title.
const KEEP_TITLE: &str = "\x1b[22;2t";
const OLD_TITLE: &str = "\x1b[23;2t";
const TITLE: [&str; 2] = ["\x1b]2;", "\x07"];

/// The progress line, as long as the run lasts.
pub struct Line(Option<(Sender<()>, JoinHandle<()>)>);

impl Line {
    /// Starts the progress line of a run, if it is wanted and there is a terminal. The launch is at `launch`.
    pub fn of(
        progress: Arc<Progress>,
        launch: Duration,
        until: Option<Duration>,
        quiet: bool,
        place: Place,
    ) -> Line {
        if quiet || !std::io::stderr().is_terminal() {
            return Line(None);
        }
        Line::told(progress, launch, until, place)
    }

    /// Starts the progress line in any case.
    fn told(
        progress: Arc<Progress>,
        launch: Duration,
        until: Option<Duration>,
        place: Place,
    ) -> Line {
        let (end, ended) = channel();
        let told = std::thread::spawn(move || {
            let started = Instant::now();
            let mut told = Told::at(place);
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                let passed = started.elapsed();
                if passed >= PATIENCE {
                    let (messages, at) = progress.now();
                    let simulated = Duration(at.0.saturating_sub(launch.0));
                    told.tell(text(simulated, messages, passed, until));
                }
            }
            told.end();
        });
        Line(Some((end, told)))
    }
}

/// The progress as it is told.
enum Told {
    Line(ProgressBar),
    /// True once it was changed.
    Title(bool),
}

impl Told {
    fn at(place: Place) -> Told {
        match place {
            Place::Line => Told::Line(ProgressBar::new_spinner()),
            Place::Title => Told::Title(false),
        }
    }

    fn tell(&mut self, text: String) {
        match self {
            Told::Line(bar) => {
                bar.set_message(text);
                bar.tick();
            }
            Told::Title(changed) => {
                let keep = if std::mem::replace(changed, true) { "" } else { KEEP_TITLE };
                write(&format!("{keep}{}sunstar: {text}{}", TITLE[0], TITLE[1]));
            }
        }
    }

    fn end(self) {
        match self {
            Told::Line(bar) => bar.finish_and_clear(),
            Told::Title(true) => write(OLD_TITLE),
            Told::Title(false) => {}
        }
    }
}

/// Writes to the terminal, which may be gone.
fn write(text: &str) {
    let mut terminal = std::io::stderr();
    let _ = terminal.write_all(text.as_bytes()).and_then(|()| terminal.flush());
}

impl Drop for Line {
    fn drop(&mut self) {
        if let Some((end, told)) = self.0.take() {
            drop(end);
            told.join().ok();
        }
    }
}

/// Simulated time, messages, rate, and time left if the run's end is known.
fn text(simulated: Duration, messages: u64, passed: Wall, until: Option<Duration>) -> String {
    let seconds = passed.as_secs_f64();
    let rate = grouped((messages as f64 / seconds.max(1e-3)).round() as u64);
    let mut text = format!(
        "{} simulated, {} messages, {rate} a second",
        time_of(simulated.as_ns()),
        grouped(messages)
    );
    if let Some(until) = until.filter(|_| simulated > Duration::ZERO) {
        let done = (simulated.0 as f64 / until.0 as f64).min(1.0);
        text += &format!(", about {:.0} s left", seconds * (1.0 - done) / done);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_tells_time_messages_rate_and_what_is_left() {
        let (at, passed) = (Duration::from_us(2500), Wall::from_secs(5));
        let line = text(at, 12_345, passed, Some(Duration::from_us(10_000)));
        assert_eq!(line, "2.500 ms simulated, 12,345 messages, 2,469 a second, about 15 s left");
        let line = text(Duration::ZERO, 0, passed, Some(at));
        assert_eq!(line, "0.0 ns simulated, 0 messages, 0 a second");
    }

    #[test]
    fn nothing_is_left_behind_the_end_and_rates_are_finite() {
        let until = Some(Duration::from_us(1000));
        let line = text(Duration::from_us(2000), 7, Wall::from_secs(7), until);
        assert!(line.ends_with("1 a second, about 0 s left"), "{line}");
        let line = text(Duration::from_us(500), 7, Wall::ZERO, until);
        assert!(line.ends_with("7 messages, 7,000 a second, about 0 s left"), "{line}");
        // At a quarter of the way three times as long is left as has passed.
        let line = text(Duration::from_us(250), 7, Wall::from_secs(60), until);
        assert!(line.ends_with("about 180 s left"), "{line}");
    }

    #[test]
    fn who_wants_no_words_has_no_line() {
        let line = Line::of(Arc::default(), Duration::ZERO, None, true, Place::Line);
        assert!(line.0.is_none());
    }

    /// The thread that writes the line ends with the run.
    #[test]
    fn the_line_goes_with_the_run() {
        let line = Line::told(Arc::default(), Duration::ZERO, None, Place::Title);
        assert!(line.0.as_ref().is_some_and(|(_, told)| !told.is_finished()));
        drop(line);
    }
}
