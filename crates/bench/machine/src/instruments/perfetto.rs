//! `--trace`: events on all nodes as a trace that Perfetto opens (docs/reference/trace.md).
//!
//! Each node is a process with its tracks, and writes a sequence of packets of its own to a stream
//! (`super::spool`): descriptions of tracks and names when they are first used, slices, steps and depths as
//! they are reported ([`super::timeline`]). When the run is over, the streams follow one another in the file,
//! in the order of the nodes; so it is the same for any number of threads. Readers sort by time.

mod proto;

use super::spool::{Spool, Stream, Writer};
use super::timeline::{About, Flow, Gauge, Load, Queue, Sink, Track, Watcher, What};
use super::write_error::WriteError;
use abi::MessageId;
use des::{Interval, Time};
use proto::{field, fixed64, message, number, text};
use std::collections::{BTreeMap, HashMap};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Trace to be written.
#[derive(Debug)]
pub struct Trace {
    file: PathBuf,
    /// Description of the run, for the first track.
    description: String,
    spool: Spool,
    streams: Streams,
}

/// Streams of the nodes that are over.
type Streams = Arc<Mutex<BTreeMap<u32, Stream>>>;

impl Trace {
    /// Prepares for writing `file`; `description` is that of the run.
    pub fn to(file: &Path, description: String) -> Result<Trace, WriteError> {
        let (file, spool) = (file.to_owned(), Spool::beside(file)?);
        Ok(Trace { file, description, spool, streams: Streams::default() })
    }
}

impl Watcher for Trace {
    fn node(&self, about: About) -> Box<dyn Sink> {
        let node = Node {
            writer: self.spool.writer(),
            streams: self.streams.clone(),
            tracks: HashMap::new(),
            names: HashMap::new(),
            about,
        };
        Box::new(node.begun(&self.description))
    }

    fn finish(&self) -> Result<(), WriteError> {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let written = self.spool.read(|spool| {
            let mut out = BufWriter::new(File::create(&self.file)?);
            let mut piece = Vec::new();
            for mut stream in std::mem::take(&mut *streams).into_values() {
                loop {
                    stream.next(spool, &mut piece)?;
                    if piece.is_empty() {
                        break;
                    }
                    out.write_all(&piece)?;
                }
            }
            out.flush()
        });
        written.map_err(|why| WriteError::of(&self.file, why))
    }
}

/// Track of a node in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum TrackKey {
    /// The node itself, a process.
    Process,
    /// Group of the network interface's tracks; likewise of the router's.
    Nic,
    Router,
    Slices(Track),
    Depth(Gauge),
}

/// Names of annotations, with their numbers in each sequence.
const ANNOTATIONS: [&str; 4] = ["message", "packets", "bytes", "busy_ns"];
const MESSAGE: u64 = 1;
const PACKETS: u64 = 2;
const BYTES: u64 = 3;
const BUSY_NS: u64 = 4;

/// A track's number in the file has the node's above these bits: room for all lanes of both engines, 256
/// cores and ranks, and the rest.
const TRACK_BITS: u32 = 11;

/// Writes the packets of a node.
struct Node {
    about: About,
    writer: Writer,
    streams: Streams,
    /// Numbers of the tracks and names that the sequence has described; only looked up, never iterated over.
    tracks: HashMap<TrackKey, u64>,
    names: HashMap<Box<str>, u64>,
}

impl Node {
    /// Writes the sequence's first packets: the start of its state, names for annotations, and the process.
    fn begun(mut self, description: &str) -> Node {
        self.packet(None, |out| {
            number(out, field::packet::FIRST_ON_SEQUENCE, 1);
            number(out, field::packet::SEQUENCE_FLAGS, field::packet::STATE_CLEARED);
            message(out, field::packet::INTERNED_DATA, |out| {
                for (name, iid) in ANNOTATIONS.into_iter().zip(1..) {
                    interned(out, field::interned::ANNOTATION_NAMES, iid, name);
                }
            });
        });
        let about = (self.about.nid == 0).then_some(description);
        self.describe(TrackKey::Process, about);
        self
    }

    /// Writes a packet.
    fn packet(&mut self, at: Option<Time>, body: impl FnOnce(&mut Vec<u8>)) {
        let sequence = u64::from(self.about.nid) + 1;
        message(&mut self.writer.piece, field::trace::PACKET, |out| {
            if let Some(at) = at {
                number(out, field::packet::TIMESTAMP, nanoseconds(at));
            }
            number(out, field::packet::SEQUENCE, sequence);
            body(out);
        });
        self.writer.wrote();
    }

    /// Writes an event on a track.
    fn event(&mut self, at: Time, place: TrackKey, kind: u64, body: impl FnOnce(&mut Vec<u8>)) {
        let track = self.track(place);
        self.packet(Some(at), |out| {
            number(out, field::packet::SEQUENCE_FLAGS, field::packet::NEEDS_STATE);
            message(out, field::packet::TRACK_EVENT, |out| {
                number(out, field::event::TYPE, kind);
                number(out, field::event::TRACK, track);
                body(out);
            });
        });
    }

    /// The number of a track, which is described first if it is new.
    fn track(&mut self, place: TrackKey) -> u64 {
        match self.tracks.get(&place) {
            Some(&number) => number,
            None => self.describe(place, None),
        }
    }

    #[cold]
    fn describe(&mut self, place: TrackKey, description: Option<&str>) -> u64 {
        let parent = match place {
            TrackKey::Process => None,
            TrackKey::Nic | TrackKey::Router => Some(TrackKey::Process),
            TrackKey::Slices(Track::Rank(_) | Track::Core(_)) => Some(TrackKey::Process),
            TrackKey::Depth(Gauge::Posted(_) | Gauge::Unexpected(_)) => Some(TrackKey::Process),
            TrackKey::Slices(Track::Output(_)) | TrackKey::Depth(Gauge::Output(_)) => {
                Some(TrackKey::Router)
            }
            TrackKey::Slices(_) | TrackKey::Depth(_) => Some(TrackKey::Nic),
        };
        let parent = parent.map(|parent| self.track(parent));
        let index = self.tracks.len() as u64;
        assert!(index < 1 << TRACK_BITS, "a node has fewer tracks");
        let uuid = (u64::from(self.about.nid) + 1) << TRACK_BITS | index;
        self.tracks.insert(place, uuid);
        let (name, rank) = (self.name_of(place), rank_of(place, self.about.queues));
        let (nid, queues) = (self.about.nid, self.about.queues);
        self.packet(None, |out| {
            message(out, field::packet::TRACK_DESCRIPTOR, |out| {
                number(out, field::track::UUID, uuid);
                if let Some(parent) = parent {
                    number(out, field::track::PARENT, parent);
                    number(out, field::track::RANK, rank);
                }
                match place {
                    TrackKey::Process => message(out, field::track::PROCESS, |out| {
                        number(out, field::process::PID, u64::from(nid) + 1);
                        text(out, field::process::NAME, &name);
                    }),
                    _ => text(out, field::track::NAME, &name),
                }
                if let TrackKey::Process | TrackKey::Nic | TrackKey::Router = place {
                    number(out, field::track::CHILD_ORDERING, field::track::EXPLICIT);
                }
                if let TrackKey::Depth(gauge) = place {
                    message(out, field::track::COUNTER, |out| {
                        text(out, field::counter::UNIT_NAME, unit_of(gauge, queues));
                    });
                }
                if let Some(description) = description {
                    text(out, field::track::DESCRIPTION, description);
                }
            });
        });
        uuid
    }

    fn name_of(&self, place: TrackKey) -> String {
        match place {
            TrackKey::Process => format!("node {}", self.about.nid),
            TrackKey::Nic => "NIC".into(),
            TrackKey::Router => "router".into(),
            TrackKey::Slices(Track::Rank(rank)) => format!("rank {rank}"),
            TrackKey::Slices(Track::Core(0)) if self.about.cores == 1 => "processor".into(),
            TrackKey::Slices(Track::Core(core)) => format!("core {core}"),
            TrackKey::Slices(Track::Firmware) => "firmware".into(),
            TrackKey::Slices(Track::Transmit(_)) => "TX DMA".into(),
            TrackKey::Slices(Track::Receive(_)) => "RX DMA".into(),
            TrackKey::Slices(Track::Matches(unit)) => format!("unit for {}", list_of(unit)),
            TrackKey::Slices(Track::Inserts(unit)) => {
                format!("unit for {}: inserts", list_of(unit))
            }
            TrackKey::Slices(Track::Output(output)) => {
                format!("link {}", self.message_path(output))
            }
            TrackKey::Depth(Gauge::Output(output)) => {
                format!("queue {}", self.message_path(output))
            }
            TrackKey::Depth(Gauge::Posted(rank)) => format!("rank {rank}: posted receives"),
            TrackKey::Depth(Gauge::Unexpected(rank)) => format!("rank {rank}: unexpected messages"),
            TrackKey::Depth(Gauge::Own(number)) => {
                self.queue(number).map_or("queue", |queue| queue.name).into()
            }
        }
    }

    /// The model's queue of this number.
    fn queue(&self, number: u8) -> Option<&'static Queue> {
        self.about.queues.get(usize::from(number))
    }

    /// Name of an output of the router.
    fn message_path(&self, output: u8) -> String {
        let index = usize::from(output);
        let Some(link) = self.about.links.get(index) else { return "to the NIC".into() };
        match self.about.neighbours[index] {
            None => format!("{link}, which leads nowhere"),
            Some(neighbour) => format!("{link} to node {neighbour}"),
        }
    }

    /// Number of a name, which is written first if it is new.
    fn name(&mut self, name: &str) -> u64 {
        if let Some(&iid) = self.names.get(name) {
            return iid;
        }
        let iid = self.names.len() as u64 + 1;
        self.names.insert(name.into(), iid);
        self.packet(None, |out| {
            number(out, field::packet::SEQUENCE_FLAGS, field::packet::NEEDS_STATE);
            message(out, field::packet::INTERNED_DATA, |out| {
                interned(out, field::interned::EVENT_NAMES, iid, name);
            });
        });
        iid
    }

    fn begins(&mut self, at: Time, track: Track, name: Option<&str>, id: Option<MessageId>) {
        let iid = name.map(|name| self.name(name));
        self.event(at, TrackKey::Slices(track), field::event::SLICE_BEGIN, |out| {
            match (iid, id) {
                (Some(iid), _) => number(out, field::event::NAME_IID, iid),
                // Each message has a name of its own, which nobody else needs.
                (None, Some(id)) => text(out, field::event::NAME, &id.to_string()),
                (None, None) => text(out, field::event::NAME, "unknown"),
            }
            if let Some(id) = id {
                fixed64(out, field::event::FLOWS, flow(id));
                about_message(out, id);
            }
        });
    }

    fn busy(&mut self, interval: Interval, output: u8, id: MessageId, load: Load) {
        let Interval { start, end } = interval;
        let place = TrackKey::Slices(Track::Output(output));
        self.event(start, place, field::event::SLICE_BEGIN, |out| {
            text(out, field::event::NAME, &id.to_string());
            fixed64(out, field::event::FLOWS, flow(id));
            about_message(out, id);
            let sums = [(PACKETS, load.packets), (BYTES, load.bytes)];
            for (name, value) in sums.into_iter().chain([(BUSY_NS, load.busy.0 / 1000)]) {
                message(out, field::event::ANNOTATIONS, |out| {
                    number(out, field::annotation::NAME_IID, name);
                    number(out, field::annotation::UINT, value);
                });
            }
        });
        self.event(end, place, field::event::SLICE_END, |_| {});
    }
}

impl Sink for Node {
    fn record(&mut self, at: Time, what: What) {
        match what {
            What::Begin { track, name, message } => self.begins(at, track, name, message),
            What::End { track } => {
                self.event(at, TrackKey::Slices(track), field::event::SLICE_END, |_| {});
            }
            What::Step { track, name, message: id, flow: kind } => {
                let name = self.name(name);
                self.event(at, TrackKey::Slices(track), field::event::INSTANT, |out| {
                    number(out, field::event::NAME_IID, name);
                    let Some(id) = id else { return };
                    match kind {
                        Flow::Beside => {}
                        Flow::Step => fixed64(out, field::event::FLOWS, flow(id)),
                        Flow::Last => fixed64(out, field::event::ENDING_FLOWS, flow(id)),
                    }
                    about_message(out, id);
                });
            }
            What::Busy { output, until, message, load } => {
                self.busy(Interval { start: at, end: until }, output, message, load);
            }
            What::Depth { gauge, value } => {
                // A router has outputs that lead nowhere.
                let nowhere =
                    |output| self.about.neighbours.get(usize::from(output)) == Some(&None);
                if matches!(gauge, Gauge::Output(output) if nowhere(output)) {
                    return;
                }
                self.event(at, TrackKey::Depth(gauge), field::event::COUNTER, |out| {
                    number(out, field::event::COUNTER_VALUE, value.into());
                });
            }
        }
    }

    fn finish(self: Box<Self>, _at: Time) {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.insert(self.about.nid, self.writer.finish());
    }
}

/// Times in the file are whole nanoseconds, rounded down.
fn nanoseconds(at: Time) -> u64 {
    at.0 / 1000
}

/// The number under which the steps of a message are tied together; never 0.
fn flow(id: MessageId) -> u64 {
    (u64::from(id.source_nid) + 1) << 32 | u64::from(id.serial)
}

fn about_message(out: &mut Vec<u8>, id: MessageId) {
    message(out, field::event::ANNOTATIONS, |out| {
        number(out, field::annotation::NAME_IID, MESSAGE);
        text(out, field::annotation::STRING, &id.to_string());
    });
}

fn interned(out: &mut Vec<u8>, kind: u32, iid: u64, name: &str) {
    message(out, kind, |out| {
        number(out, field::interned::IID, iid);
        text(out, field::interned::NAME, name);
    });
}

/// The list that a matching unit serves.
fn list_of(unit: u8) -> &'static str {
    match unit {
        0 => "posted receives",
        _ => "unexpected messages",
    }
}

/// Order of a track among its siblings: from the program down to the wire.
fn rank_of(place: TrackKey, queues: &[Queue]) -> u64 {
    match place {
        TrackKey::Process => 0,
        TrackKey::Slices(Track::Rank(_)) => 1,
        TrackKey::Depth(Gauge::Posted(_) | Gauge::Unexpected(_)) => 2,
        TrackKey::Slices(Track::Core(core)) => 3 + u64::from(core),
        TrackKey::Nic => 1000,
        TrackKey::Router => 1001,
        TrackKey::Slices(Track::Firmware) => 2,
        TrackKey::Slices(Track::Transmit(_)) => 4,
        TrackKey::Slices(Track::Receive(_)) => 6,
        TrackKey::Slices(Track::Matches(unit)) => 12 + 2 * u64::from(unit),
        TrackKey::Slices(Track::Inserts(unit)) => 13 + 2 * u64::from(unit),
        TrackKey::Depth(Gauge::Own(number)) => {
            let place = queues.get(usize::from(number)).and_then(|queue| queue.order);
            place.map_or(20 + u64::from(number), u64::from)
        }
        TrackKey::Slices(Track::Output(output)) => 2 * u64::from(output),
        TrackKey::Depth(Gauge::Output(output)) => 2 * u64::from(output) + 1,
    }
}

fn unit_of(gauge: Gauge, queues: &[Queue]) -> &'static str {
    match gauge {
        Gauge::Output(_) => "packets",
        Gauge::Posted(_) => "receives",
        Gauge::Unexpected(_) => "messages",
        Gauge::Own(number) => queues.get(usize::from(number)).map_or("entries", |queue| queue.unit),
    }
}
