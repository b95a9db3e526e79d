//! The firmware's match lists, in a process of their own under sanitizers
//! (`firmware/seastar/tests/matching/main.c`).

use abi::seastar::{EntryCommand, ENTRY_NONE};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::rc::Rc;
use std::sync::OnceLock;

/// Entries of a world.
pub const ENTRIES: usize = 4;
/// Records of a batch, at most.
const BATCH: usize = 256;
/// Words of an answer.
const ANSWER_WORDS: usize = 8 + ENTRIES;
/// Steps that a report shows, at most.
const PATH_MAX: usize = 24;

/// A record that is no command, and its arguments.
#[derive(Clone, Copy, Debug)]
pub enum Act {
    Begin,
    Save,
    Restore,
    Request(Wanted),
    End(usize),
    Ack(u32),
}

/// The words of a match_request.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    pub nid: u32,
    pub pid: u32,
    pub uid: u32,
    pub bits: u64,
    pub offset: u64,
    pub length: u32,
    pub option: u32,
    pub whole: bool,
    pub portal: u32,
    pub access: u32,
}

impl Act {
    fn record(self) -> [u8; EntryCommand::SIZE] {
        let (number, words) = match self {
            Act::Begin => (0x80, vec![]),
            Act::Save => (0x81, vec![]),
            Act::Restore => (0x82, vec![]),
            Act::Request(w) => {
                let who = w.nid | w.pid << 16;
                let (bits, offset) = (w.bits, w.offset);
                let words = vec![
                    who,
                    w.uid,
                    bits as u32,
                    (bits >> 32) as u32,
                    offset as u32,
                    (offset >> 32) as u32,
                    w.length,
                    w.option,
                    w.whole.into(),
                    w.portal,
                    w.access,
                ];
                (0x83, words)
            }
            Act::End(entry) => (0x84, vec![entry as u32]),
            Act::Ack(handle) => (0x85, vec![handle]),
        };
        let mut record = [0; EntryCommand::SIZE];
        for (place, word) in record.chunks_exact_mut(4).zip([number].into_iter().chain(words)) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        record
    }
}

/// Answer of the firmware, or the one that the specification expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Result of a command; 1 if somebody takes a message.
    pub result: u32,
    /// Taker of a message, place, and entries that were looked at.
    pub entry: u32,
    pub mlength: u32,
    pub offset: u32,
    pub visits: u32,
    pub handle: u32,
    /// Entries in lists, and those with descriptors: a bit each.
    pub listed: u32,
    pub described: u32,
    pub thresholds: [u32; ENTRIES],
}

impl Answer {
    /// Nobody takes anything, and no entry is there.
    pub const NOTHING: Answer = Answer {
        result: 0,
        entry: ENTRY_NONE,
        mlength: 0,
        offset: 0,
        visits: 0,
        handle: 0,
        listed: 0,
        described: 0,
        thresholds: [0; ENTRIES],
    };

    fn parse(bytes: &[u8]) -> Answer {
        let mut words = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().expect("a word has four bytes")));
        let mut next = || words.next().expect("an answer is whole");
        Answer {
            result: next(),
            entry: next(),
            mlength: next(),
            offset: next(),
            visits: next(),
            handle: next(),
            listed: next(),
            described: next(),
            thresholds: std::array::from_fn(|_| next()),
        }
    }
}

/// The firmware does something else than the specification.
#[derive(Debug, thiserror::Error)]
pub enum Differs {
    /// It has given an answer, where another is right.
    #[error("{from}, steps {steps:?}: {:?} instead of {:?}", .answers.0, .answers.1)]
    Answer { from: Rc<str>, steps: Vec<u16>, answers: Box<(Answer, Answer)> },
    /// It has stopped.
    #[error("{from}, within steps {steps:?}: {words}")]
    Stopped { from: Rc<str>, steps: [u16; PATH_MAX], words: String },
}

/// State of a world: its beginning, and the numbers of the steps since.
#[derive(Clone)]
struct Place {
    from: Rc<str>,
    steps: [u16; PATH_MAX],
    count: usize,
}

/// A run of the firmware's matching.
pub struct Firmware {
    child: Child,
    input: ChildStdin,
    output: ChildStdout,
    records: Vec<u8>,
    expected: Vec<(Answer, Place)>,
    place: Place,
    told: u64,
}

impl Firmware {
    pub fn start(program: &Path) -> Firmware {
        let mut command = Command::new(program);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the program was just built");
        let (input, output) = (child.stdin.take(), child.stdout.take());
        Firmware {
            input: input.expect("it is a pipe"),
            output: output.expect("it is a pipe"),
            child,
            records: Vec::new(),
            expected: Vec::new(),
            place: Place { from: "".into(), steps: [0; PATH_MAX], count: 0 },
            told: 0,
        }
    }

    /// Requests, commands and ends that it has had.
    pub fn told(&self) -> u64 {
        self.told
    }

    /// A new world.
    pub fn begin(&mut self, from: String) -> Result<(), Differs> {
        self.place = Place { from: from.into(), steps: [0; PATH_MAX], count: 0 };
        self.act(Act::Begin, Answer::NOTHING)
    }

    /// The number of the step that is done now.
    pub fn enter(&mut self, step: usize) {
        self.place.steps[self.place.count] = step as u16;
        self.place.count += 1;
    }

    pub fn leave(&mut self) {
        self.place.count -= 1;
    }

    pub fn command(&mut self, command: &EntryCommand, expected: Answer) -> Result<(), Differs> {
        let mut record = [0; EntryCommand::SIZE];
        command.emit(&mut record);
        self.tell(record, expected)
    }

    pub fn act(&mut self, act: Act, expected: Answer) -> Result<(), Differs> {
        self.tell(act.record(), expected)
    }

    fn tell(&mut self, record: [u8; EntryCommand::SIZE], expected: Answer) -> Result<(), Differs> {
        self.told += u64::from(!(0x80..0x83).contains(&record[0]));
        self.records.extend(record);
        self.expected.push((expected, self.place.clone()));
        if self.expected.len() == BATCH {
            self.flush()?;
        }
        Ok(())
    }

    /// Compares all answers that are due.
    pub fn flush(&mut self) -> Result<(), Differs> {
        let count = self.expected.len();
        let mut answers = vec![0; count * ANSWER_WORDS * 4];
        let sent = self.input.write_all(&(count as u32).to_le_bytes());
        let sent = sent.and_then(|()| self.input.write_all(&self.records));
        let got = sent.and_then(|()| self.input.flush());
        if got.and_then(|()| self.output.read_exact(&mut answers)).is_err() {
            return Err(self.stopped());
        }
        self.records.clear();
        let answers = answers.chunks_exact(ANSWER_WORDS * 4).map(Answer::parse);
        for ((expected, place), got) in self.expected.drain(..).zip(answers) {
            if got != expected {
                let Place { from, steps, count } = place;
                let steps = steps[..count].to_vec();
                return Err(Differs::Answer { from, steps, answers: Box::new((got, expected)) });
            }
        }
        Ok(())
    }

    /// The process has stopped: its standard error.
    fn stopped(&mut self) -> Differs {
        let mut words = String::new();
        if let Some(errors) = &mut self.child.stderr {
            let _ = errors.read_to_string(&mut words);
        }
        Differs::Stopped { from: self.place.from.clone(), steps: self.place.steps, words }
    }
}

impl Drop for Firmware {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The folder with the program, and with one for each bug that can be planted in match lists.
pub fn built() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let build = root.join("build/firmware");
        let mut make = Command::new("make");
        make.args(["--silent", "-C"]).arg(root.join("firmware/seastar/tests/matching"));
        make.arg(format!("BUILD={}", build.display()));
        assert!(make.env_remove("MAKEFLAGS").status().expect("there is make").success());
        build.join("native")
    })
}
