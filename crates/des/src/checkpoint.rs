//! Checkpoints: state as bytes, to go on from in another run.
//!
//! A type says once, in [`Checkpointed::pass`], what its state is, and that writes as well as reads.
//! State is read into an object that has been built as the first one was: parameters come from who
//! builds it and are not in the bytes, and neither is what can be found out again. Bytes do not
//! describe themselves; who keeps them must see to it that they are of the same program and
//! machine, and unharmed.

use crate::{Duration, Time};

/// State on its way into bytes, or out of them.
#[derive(Debug)]
pub struct Checkpoint<'a> {
    way: Way<'a>,
    sound: bool,
}

#[derive(Debug)]
enum Way<'a> {
    Write(Vec<u8>),
    Read(&'a [u8]),
}

impl<'a> Checkpoint<'a> {
    /// Takes state in.
    pub fn writer() -> Checkpoint<'static> {
        Checkpoint { way: Way::Write(Vec::new()), sound: true }
    }
    /// Gives out the state in `bytes`.
    pub fn reader(bytes: &'a [u8]) -> Checkpoint<'a> {
        Checkpoint { way: Way::Read(bytes), sound: true }
    }
    /// True if state is given out.
    pub fn reads(&self) -> bool {
        matches!(self.way, Way::Read(_))
    }
    /// This state cannot be kept, or these bytes are none of it.
    pub fn refuse(&mut self) {
        self.sound = false;
    }
    /// Plain bytes, as many as there are.
    pub fn bytes(&mut self, bytes: &mut [u8]) {
        match &mut self.way {
            Way::Write(out) => out.extend_from_slice(bytes),
            Way::Read(left) => match left.split_at_checked(bytes.len()) {
                Some((these, others)) => {
                    bytes.copy_from_slice(these);
                    *left = others;
                }
                None => self.sound = false,
            },
        }
    }
    /// A number of things, each of at least a byte.
    pub fn count(&mut self, here: usize) -> usize {
        let mut count = here;
        count.pass(self);
        let most = match &self.way {
            Way::Write(_) => usize::MAX,
            Way::Read(left) => left.len(),
        };
        if count > most {
            self.sound = false;
            return 0;
        }
        count
    }
    /// What was written; `None` if some of the state cannot be kept.
    pub fn written(self) -> Option<Vec<u8>> {
        match self.way {
            Way::Write(out) if self.sound => Some(out),
            _ => None,
        }
    }
    /// True if all that was asked for was there, and nothing else.
    pub fn was_all(&self) -> bool {
        self.sound && matches!(self.way, Way::Read([]))
    }
}

/// Something with a state that a checkpoint can hold.
pub trait Checkpointed {
    /// Writes the state, or reads it into this object.
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>);

    /// The same of several in a row.
    fn pass_all(all: &mut [Self], checkpoint: &mut Checkpoint<'_>)
    where
        Self: Sized,
    {
        all.iter_mut().for_each(|one| one.pass(checkpoint));
    }
}

/// Makes a type of named fields [`Checkpointed`]. Each of its fields is either state, or `given`:
/// it stays what it is. A field that is neither is an error of the compiler.
#[macro_export]
macro_rules! checkpointed {
    ($type:ty { $($state:ident),* $(,)? } $(given { $($given:ident),* $(,)? })?) => {
        impl $crate::Checkpointed for $type {
            fn pass(&mut self, checkpoint: &mut $crate::Checkpoint<'_>) {
                let Self { $($state,)* $($($given: _,)*)? } = self;
                $($crate::Checkpointed::pass($state, checkpoint);)*
            }
        }
    };
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Checkpointed for $type {
            fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
                let mut bytes = self.to_le_bytes();
                checkpoint.bytes(&mut bytes);
                *self = <$type>::from_le_bytes(bytes);
            }
        }
    )*};
}

integers!(u16 u32 u64);

impl Checkpointed for u8 {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        checkpoint.bytes(std::slice::from_mut(self));
    }
    fn pass_all(all: &mut [u8], checkpoint: &mut Checkpoint<'_>) {
        checkpoint.bytes(all);
    }
}

impl Checkpointed for usize {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let mut word = *self as u64;
        word.pass(checkpoint);
        match usize::try_from(word) {
            Ok(word) => *self = word,
            Err(_) => checkpoint.refuse(),
        }
    }
}

impl Checkpointed for bool {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let mut byte = u8::from(*self);
        byte.pass(checkpoint);
        match byte {
            0 | 1 => *self = byte == 1,
            _ => checkpoint.refuse(),
        }
    }
}

impl Checkpointed for Time {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        self.0.pass(checkpoint);
    }
}

impl Checkpointed for Duration {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        self.0.pass(checkpoint);
    }
}

impl<A: Checkpointed, B: Checkpointed> Checkpointed for (A, B) {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        self.0.pass(checkpoint);
        self.1.pass(checkpoint);
    }
}

impl<T: Checkpointed, const N: usize> Checkpointed for [T; N] {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        T::pass_all(self, checkpoint);
    }
}

impl<T: Checkpointed> Checkpointed for [T] {
    /// The length is a parameter.
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        if checkpoint.count(self.len()) == self.len() {
            T::pass_all(self, checkpoint);
        } else {
            checkpoint.refuse();
        }
    }
}

impl<T: Checkpointed + ?Sized> Checkpointed for Box<T> {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        T::pass(self, checkpoint);
    }
}

impl<T: Checkpointed + Default> Checkpointed for Vec<T> {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let count = checkpoint.count(self.len());
        self.resize_with(count, T::default);
        T::pass_all(self, checkpoint);
    }
}

impl<T: Checkpointed + Default> Checkpointed for Option<T> {
    fn pass(&mut self, checkpoint: &mut Checkpoint<'_>) {
        let mut there = self.is_some();
        there.pass(checkpoint);
        if checkpoint.reads() {
            *self = there.then(T::default);
        }
        if let Some(value) = self {
            value.pass(checkpoint);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Debug, Default, PartialEq)]
    struct Part {
        words: [u16; 3],
        bytes: Vec<u8>,
        at: Time,
        span: Duration,
        flag: bool,
        perhaps: Option<(u32, usize)>,
        fixed: Box<[u64]>,
        parameter: u8,
    }
    checkpointed!(Part { words, bytes, at, span, flag, perhaps, fixed } given { parameter });

    fn part() -> Part {
        Part {
            words: [1, 0x8000, 3],
            bytes: vec![7; 300],
            at: Time(u64::MAX),
            span: Duration(5),
            flag: true,
            perhaps: Some((9, 1 << 40)),
            fixed: vec![1, 2].into(),
            parameter: 3,
        }
    }

    fn written(part: &mut impl Checkpointed) -> Option<Vec<u8>> {
        let mut checkpoint = Checkpoint::writer();
        part.pass(&mut checkpoint);
        checkpoint.written()
    }

    fn read(bytes: &[u8], built: &mut impl Checkpointed) -> bool {
        let mut checkpoint = Checkpoint::reader(bytes);
        built.pass(&mut checkpoint);
        checkpoint.was_all()
    }

    #[test]
    fn state_comes_back_and_parameters_stay() {
        let mut first = part();
        let bytes = written(&mut first).unwrap();
        assert_eq!(first, part(), "writing changes nothing");
        let mut second = Part { parameter: 4, fixed: vec![0; 2].into(), ..Part::default() };
        assert!(read(&bytes, &mut second));
        assert_eq!(second, Part { parameter: 4, ..part() });
        let nothing = Part { perhaps: None, bytes: Vec::new(), ..part() };
        let bytes = written(&mut nothing.clone()).unwrap();
        assert!(read(&bytes, &mut second));
        assert_eq!(second, Part { parameter: 4, ..nothing });
    }

    /// Whatever bytes are read, no more memory is taken than they say something of.
    #[test]
    fn fuzz_checkpoints() {
        let bytes = written(&mut part()).unwrap();
        fuzz::Target::new("checkpoints").few(1024).seed(bytes).run(|bytes| {
            let mut built = part();
            let sound = read(bytes, &mut built);
            assert!(built.bytes.len() <= bytes.len().max(part().bytes.len()));
            assert!(!sound || written(&mut built).as_deref() == Some(bytes));
        });
    }

    #[test]
    fn bytes_of_something_else_are_refused() {
        let bytes = written(&mut part()).unwrap();
        for end in 0..bytes.len() {
            assert!(!read(&bytes[..end], &mut part()), "{end} of {} bytes", bytes.len());
        }
        assert!(!read(&[&bytes[..], &[0]].concat(), &mut part()));
        let mut longer = Part { fixed: vec![0; 3].into(), ..part() };
        assert!(!read(&bytes, &mut longer), "another length");
        let mut flag = false;
        assert!(!read(&[2], &mut flag));
        let mut endless = Vec::<u8>::new();
        assert!(!read(&[0xff; 16], &mut endless) && endless.is_empty());
        let mut writer = Checkpoint::writer();
        writer.refuse();
        assert_eq!(writer.written(), None);
    }
}
