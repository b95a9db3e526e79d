//! Identity of messages in hardware that carries none: pins of a bus, lanes, the RTL of a card. Such a NIC
//! keeps what it has in order. Its model says where it has seen something move; the stages say which message
//! that was, mark its way, and tell observers what an engine does and how long the queues are.
//!
//! ```text
//!          enter            pass             pass                pass: it has left
//!   piece ───────► stage 0 ───────► stage 1 ───────► stage 2 ──────────────────────►
//!                     └──────────────► leave, or drop: nobody will have it
//! ```
//!
//! A part that carries an id beside its data needs no stages: it marks what it has ([`Journal::mark`]).

use super::journal::Journal;
use super::message_trace::Waypoint;
use super::timeline::{Engine, Gauge};
use abi::MessageId;
use des::Time;
use std::collections::VecDeque;
use std::rc::Rc;

/// A place in a NIC where pieces of messages stand, oldest first.
#[derive(Clone, Copy, Debug)]
pub struct Stage {
    queue: Option<u8>,
    mark: Option<Waypoint>,
    shows: Option<&'static str>,
}

impl Stage {
    /// One at which nothing is told.
    pub const SILENT: Stage = Stage { queue: None, mark: None, shows: None };

    /// It is a part of the model's queue of this number. Neighbours may share one: its depth is their sum.
    #[must_use]
    pub const fn in_queue(self, number: u8) -> Stage {
        Stage { queue: Some(number), ..self }
    }
    /// A message passes this waypoint when its first piece is there.
    #[must_use]
    pub const fn marks(self, waypoint: Waypoint) -> Stage {
        Stage { mark: Some(waypoint), ..self }
    }
    /// The engine does this from then on, until the message's last piece has left.
    #[must_use]
    pub const fn shows(self, what: &'static str) -> Stage {
        Stage { shows: Some(what), ..self }
    }
}

/// Part of a message, or something that is no message's but takes its place in the order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece<T = ()> {
    /// The message, if it is one's.
    pub message: Option<MessageId>,
    /// It is the message's first.
    pub first: bool,
    /// It is its last.
    pub last: bool,
    /// Something of the model's own that goes with it.
    pub with: T,
}

impl<T> Piece<T> {
    /// All of a message, or of something that is no message's.
    pub fn of(message: Option<MessageId>, with: T) -> Piece<T> {
        Piece { message, first: true, last: true, with }
    }
    /// All of a message.
    pub fn whole(message: MessageId, with: T) -> Piece<T> {
        Piece::of(Some(message), with)
    }
    /// Piece number `place` of `pieces` into which a message is split.
    pub fn split(message: MessageId, place: u32, pieces: u32, with: T) -> Piece<T> {
        let (first, last) = (place == 0, place + 1 == pieces);
        Piece { message: Some(message), first, last, with }
    }
    /// Something that is no message's.
    pub fn nobody(with: T) -> Piece<T> {
        Piece::of(None, with)
    }
}

/// Stages of one direction of a NIC, in the order of their table.
pub struct Stages<T = ()> {
    journal: Rc<Journal>,
    engine: Engine,
    table: &'static [Stage],
    held: Box<[VecDeque<Piece<T>>]>,
    /// Depths as they were told, by the number of a stage: that of a shared queue is with its first.
    told: Box<[u32]>,
}

impl<T: Copy> Stages<T> {
    /// Empty stages of a node with this journal.
    pub fn new(journal: Rc<Journal>, engine: Engine, table: &'static [Stage]) -> Stages<T> {
        let held = table.iter().map(|_| VecDeque::new()).collect();
        Stages { journal, engine, table, held, told: vec![0; table.len()].into() }
    }

    /// A piece comes to a stage, behind all that are there.
    pub fn enter(&mut self, at: Time, stage: usize, piece: Piece<T>) {
        if let Some(message) = piece.message.filter(|_| piece.first) {
            let Stage { mark, shows, .. } = self.table[stage];
            if let Some(waypoint) = mark {
                self.journal.mark(at, message, waypoint);
            }
            if shows.is_some() {
                self.journal.watch(|watch| watch.stage(at, self.engine, message, shows));
            }
        }
        self.held[stage].push_back(piece);
    }

    /// The oldest piece of a stage goes to the next one; from the last one it leaves the NIC.
    pub fn pass(&mut self, at: Time, stage: usize) -> Option<Piece<T>> {
        if stage + 1 == self.table.len() {
            return self.leave(at, stage);
        }
        let piece = self.held[stage].pop_front()?;
        self.enter(at, stage + 1, piece);
        Some(piece)
    }

    /// The oldest piece of a stage leaves the NIC.
    pub fn leave(&mut self, at: Time, stage: usize) -> Option<Piece<T>> {
        let piece = self.held[stage].pop_front()?;
        if let Some(message) = piece.message.filter(|_| piece.last) {
            self.journal.watch(|watch| watch.stage(at, self.engine, message, None));
        }
        Some(piece)
    }

    /// The oldest piece of a stage is lost, and its message with it: nobody will have it.
    pub fn drop(&mut self, at: Time, stage: usize) {
        let Some(piece) = self.held[stage].pop_front() else { return };
        if let Some(message) = piece.message {
            self.journal.watch(|watch| watch.stage(at, self.engine, message, None));
            self.journal.dropped(message);
        }
    }

    /// All that is in the NIC is lost.
    pub fn reset(&mut self, at: Time) {
        for stage in 0..self.table.len() {
            while !self.held[stage].is_empty() {
                self.drop(at, stage);
            }
        }
    }

    /// The message of which a piece is the oldest of a stage.
    pub fn message(&self, stage: usize) -> Option<MessageId> {
        self.held[stage].front()?.message
    }
    /// Pieces at a stage, oldest first.
    pub fn pieces(&self, stage: usize) -> &VecDeque<Piece<T>> {
        &self.held[stage]
    }
    /// Additions to the pieces at a stage.
    pub fn with_mut(&mut self, stage: usize) -> impl Iterator<Item = &mut T> {
        self.held[stage].iter_mut().map(|piece| &mut piece.with)
    }

    /// The message of which a piece is the oldest of a stage passes a waypoint there.
    pub fn mark(&self, at: Time, stage: usize, waypoint: Waypoint) {
        if let Some(message) = self.message(stage) {
            self.journal.mark(at, message, waypoint);
        }
    }

    /// Tells the depths of the queues that have changed: once for an edge of a clock, at its end.
    pub fn tell(&mut self, at: Time) {
        let Stages { journal, table, held, told, .. } = self;
        journal.watch(|watch| {
            let mut stage = 0;
            while let Some(Stage { queue, .. }) = table.get(stage) {
                let shared =
                    table[stage..].iter().take_while(|other| other.queue == *queue).count();
                let depth = held[stage..stage + shared].iter().map(VecDeque::len).sum::<usize>();
                if let Some(queue) = *queue
                    && std::mem::replace(&mut told[stage], depth as u32) != depth as u32
                {
                    watch.length(at, Gauge::Own(queue), depth as u32);
                }
                stage += shared;
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::message_trace::Tallies;
    use super::super::timeline::{Sink, Watch, What};
    use super::*;
    use des::Random;
    use std::cell::RefCell;
    use std::sync::Arc;

    const READ: Waypoint = Waypoint::own(0);
    const SENT: Waypoint = Waypoint::own(1);

    /// Two stages that share a queue, and one that has its own.
    const TABLE: [Stage; 4] = [
        Stage::SILENT,
        Stage::SILENT.in_queue(0).marks(READ).shows("reads"),
        Stage::SILENT.in_queue(0),
        Stage::SILENT.in_queue(1).marks(SENT).shows("sends"),
    ];

    #[derive(Clone, Default)]
    struct Notes(Rc<RefCell<Vec<String>>>);

    impl Sink for Notes {
        fn record(&mut self, at: Time, what: What) {
            let note = match what {
                What::Begin { name, .. } => format!("{} {}", at.0, name.unwrap_or("message")),
                What::End { .. } => format!("{} end", at.0),
                What::Depth { gauge, value } => format!("{} {gauge:?} {value}", at.0),
                What::Step { .. } | What::Busy { .. } => return,
            };
            self.0.borrow_mut().push(note);
        }
        fn finish(self: Box<Self>, _at: Time) {}
    }

    struct World {
        journal: Rc<Journal>,
        stages: Stages<u32>,
        notes: Notes,
    }

    fn world() -> World {
        let tallies = Arc::new(Tallies::new(0, None, &Arc::default(), 1, 1));
        let journal = Rc::new(Journal::new(0, Time::ZERO, tallies));
        let notes = Notes::default();
        journal.set_watch(Watch::new(vec![Box::new(notes.clone())], 1));
        journal.begin_watch();
        let stages = Stages::new(journal.clone(), Engine::Transmit, &TABLE);
        World { journal, stages, notes }
    }

    impl World {
        fn begins(&self, serial: u32) -> MessageId {
            let message = MessageId { source_nid: 0, serial };
            self.journal.begin_in_system(Time(1), message, 0, 0, 8);
            message
        }
        fn at(&self, message: MessageId, waypoint: Waypoint) -> Option<Time> {
            self.journal.with(message, |flight| flight.at(waypoint)).flatten()
        }
        fn notes(&self) -> Vec<String> {
            self.notes.0.take()
        }
    }

    /// Its first piece marks the way of a message, and its last one ends it.
    #[test]
    fn a_message_of_two_pieces_passes_each_waypoint_once() {
        let mut world = world();
        let message = world.begins(0);
        for place in 0..2 {
            world.stages.enter(Time(1), 0, Piece::split(message, place, 2, place));
        }
        for (at, stage) in [(10, 0), (11, 0), (20, 1), (30, 2), (31, 3), (40, 1), (50, 2), (60, 3)]
        {
            world.stages.pass(Time(at), stage);
            world.stages.tell(Time(at));
        }
        assert_eq!([READ, SENT].map(|at| world.at(message, at)), [Some(Time(10)), Some(Time(30))]);
        let engine = ["10 message", "10 reads", "30 end", "30 sends", "60 end", "60 end"];
        let depths = [
            "10 Own(0) 1",
            "11 Own(0) 2",
            "30 Own(0) 1",
            "30 Own(1) 1",
            "31 Own(1) 0",
            "50 Own(0) 0",
            "50 Own(1) 1",
            "60 Own(1) 0",
        ];
        let (told, shown): (Vec<_>, Vec<_>) =
            world.notes().into_iter().partition(|note| note.contains("Own"));
        assert_eq!(
            (shown, told),
            (engine.map(String::from).into(), depths.map(String::from).into())
        );
    }

    /// Pieces of no message keep their places, so that the next one is not taken for it.
    #[test]
    fn something_that_is_no_messages_takes_its_place() {
        let mut world = world();
        let message = world.begins(0);
        world.stages.enter(Time(1), 1, Piece::nobody(7));
        world.stages.enter(Time(2), 1, Piece::whole(message, 8));
        assert_eq!(world.stages.pass(Time(3), 1), Some(Piece::nobody(7)));
        assert_eq!(world.stages.message(1), Some(message));
        world.stages.drop(Time(4), 2);
        assert_eq!(world.journal.finish(Time(5)).unfinished.dropped, 0);
    }

    /// A reset loses each message once, in however many pieces it was, and leaves nothing behind.
    #[test]
    fn what_is_lost_is_counted_once() {
        let mut world = world();
        let [first, second] = [0, 1].map(|serial| world.begins(serial));
        (0..3).for_each(|place| world.stages.enter(Time(1), 0, Piece::split(first, place, 3, 0)));
        world.stages.pass(Time(2), 0);
        world.stages.enter(Time(3), 3, Piece::whole(second, 0));
        world.stages.tell(Time(3));
        world.stages.reset(Time(4));
        world.stages.tell(Time(4));
        assert!((0..TABLE.len()).all(|stage| world.stages.pieces(stage).is_empty()));
        assert_eq!(world.journal.finish(Time(5)).unfinished.dropped, 2);
        let open = world.notes().iter().fold(0, |open, note| match note {
            _ if note.contains("Own") => open,
            _ if note.ends_with("end") => open - 1,
            _ => open + 1,
        });
        assert_eq!(open, 0, "an engine still does something");
    }

    /// Pieces leave in the order in which they came, wherever each is at a time.
    #[test]
    fn random_walks_keep_the_order() {
        for seed in 0..50 {
            let mut random = Random::new(seed);
            let mut world = world();
            let (mut came, mut left) = (0, 0);
            for at in 0..2000 {
                match random.below(5) as usize {
                    0 => {
                        world.stages.enter(Time(at), 0, Piece::nobody(came));
                        came += 1;
                    }
                    stage => {
                        let passed = world.stages.pass(Time(at), stage - 1);
                        if let Some(piece) = passed.filter(|_| stage == TABLE.len()) {
                            assert_eq!(piece.with, left);
                            left += 1;
                        }
                    }
                }
                let held: usize = (0..TABLE.len()).map(|at| world.stages.pieces(at).len()).sum();
                assert_eq!(held as u32, came - left);
            }
            assert!(left > 100, "{left}");
        }
    }
}
