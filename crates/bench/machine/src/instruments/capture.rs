//! `--pcap`: the packets of a run as a pcapng file.
//!
//! Each node has an interface in the file. A packet is recorded twice: where it enters the network (sent,
//! outbound) and where it leaves it (received, inbound), with its contents there. Nodes append finished
//! blocks of the file to a stream each ([`crate::instruments::spool`]). When the run is over, the streams are
//! merged by time and node; so the file is the same for any number of threads.
//!
//! Format: pcapng (draft-ietf-opsawg-pcapng), little endian, times in nanoseconds. A model has a link type
//! of its own ([`crate::models::Model::link_type`]).

use crate::instruments::spool::{Spool, Stream, Writer};
use crate::instruments::write_error::WriteError;
use des::Time;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Types of blocks.
const SECTION_HEADER: u32 = 0x0A0D_0D0A;
const INTERFACE: u32 = 1;
const ENHANCED_PACKET: u32 = 6;

/// Options of blocks: of all, of the section, of an interface, of a packet.
const END_OF_OPTIONS: u16 = 0;
const SECTION_HARDWARE: u16 = 2;
const SECTION_APPLICATION: u16 = 4;
const INTERFACE_NAME: u16 = 2;
const INTERFACE_RESOLUTION: u16 = 9;
const PACKET_FLAGS: u16 = 2;

/// Direction in which a packet passes the NIC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The NIC gives it to the network. The number is pcapng's for outbound.
    Sent = 2,
    /// The network gives it to the NIC. The number is pcapng's for inbound.
    Received = 1,
}

/// Capture file to be written.
pub struct Capture {
    file: PathBuf,
    link_type: u16,
    spool: Spool,
}

/// Records the packets of a node.
pub struct Tap {
    nid: u32,
    writer: Writer,
}

/// Streams of finished nodes, for models whose nodes leave nothing else.
#[derive(Clone, Debug, Default)]
pub struct Streams(Arc<Mutex<Vec<(u32, Stream)>>>);

impl Streams {
    /// Adds the stream of a finished node.
    pub fn put(&self, nid: u32, tap: Tap) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.push((nid, tap.finish()));
    }
    /// All streams, in the order of the nodes.
    pub fn take(&self) -> Vec<Stream> {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.sort_by_key(|(nid, _)| *nid);
        streams.drain(..).map(|(_, stream)| stream).collect()
    }
}

impl Capture {
    /// Prepares for writing `file`, with packets of this link type.
    pub fn to(file: &Path, link_type: u16) -> Result<Capture, WriteError> {
        Ok(Capture { file: file.to_owned(), link_type, spool: Spool::beside(file)? })
    }

    /// The tap of a node.
    pub fn tap(&self, nid: u32) -> Tap {
        Tap { nid, writer: self.spool.writer() }
    }

    /// Writes the file from the nodes' streams, which are those of all nodes in order.
    pub fn write(self, streams: Vec<Stream>, machine: &str) -> Result<(), WriteError> {
        let written = self.spool.read(|spool| {
            let mut out = BufWriter::new(File::create(&self.file)?);
            out.write_all(&heads(machine, self.link_type, streams.len() as u32))?;
            merge(streams, spool, &mut out)?;
            out.flush()
        });
        written.map_err(|why| WriteError::of(&self.file, why))
    }
}

impl Tap {
    /// Records a packet, whose bytes `emit` appends; times never go back.
    pub fn packet(&mut self, at: Time, side: Side, emit: impl FnOnce(&mut Vec<u8>)) {
        let Tap { nid, writer } = self;
        let ns = at.0 / 1000;
        block(&mut writer.piece, ENHANCED_PACKET, |out| {
            for word in [*nid, (ns >> 32) as u32, ns as u32, 0, 0] {
                out.extend_from_slice(&word.to_le_bytes());
            }
            let start = out.len();
            emit(out);
            let length = ((out.len() - start) as u32).to_le_bytes();
            out[start - 8..start - 4].copy_from_slice(&length);
            out[start - 4..start].copy_from_slice(&length);
            pad(out, start);
            option(out, PACKET_FLAGS, &(side as u32).to_le_bytes());
        });
        self.writer.wrote();
    }

    /// Stream of the finished node.
    pub fn finish(self) -> Stream {
        self.writer.finish()
    }
}

/// Reader of a stream, from its first block on.
struct Reader<'a> {
    spool: &'a File,
    stream: Stream,
    read: Vec<u8>,
    at: usize,
}

impl Reader<'_> {
    /// Reads the next block into memory. Its time; `None` at the end.
    fn next_time(&mut self) -> io::Result<Option<u64>> {
        if self.at == self.read.len() {
            self.at = 0;
            self.stream.next(self.spool, &mut self.read)?;
        }
        let block = &self.read[self.at..];
        let word = |at| block.get(at..at + 4).map(|word| u64::from(le_u32(word)));
        Ok(word(12).zip(word(16)).map(|(high, low)| high << 32 | low))
    }

    /// Takes the block that was read.
    fn block(&mut self) -> &[u8] {
        let start = self.at;
        self.at += le_u32(&self.read[start + 4..]) as usize;
        &self.read[start..self.at]
    }
}

fn le_u32(bytes: &[u8]) -> u32 {
    u32::from_le_bytes(*bytes.first_chunk().expect("blocks are whole"))
}

/// Writes the blocks of all streams by time; those of the same time by node, and each node's in its order.
fn merge(streams: Vec<Stream>, spool: &File, out: &mut impl Write) -> io::Result<()> {
    let reader = |stream| Reader { spool, stream, read: Vec::new(), at: 0 };
    let mut readers: Vec<Reader> = streams.into_iter().map(reader).collect();
    let mut next = BinaryHeap::new();
    for (index, reader) in readers.iter_mut().enumerate() {
        next.extend(reader.next_time()?.map(|time| Reverse((time, index))));
    }
    while let Some(Reverse((_, index))) = next.pop() {
        out.write_all(readers[index].block())?;
        next.extend(readers[index].next_time()?.map(|time| Reverse((time, index))));
    }
    Ok(())
}

/// Blocks before the packets: the section's header, and an interface for each node.
fn heads(machine: &str, link_type: u16, nodes: u32) -> Vec<u8> {
    let mut out = Vec::new();
    block(&mut out, SECTION_HEADER, |out| {
        out.extend_from_slice(&0x1A2B_3C4D_u32.to_le_bytes());
        // Version 1.0; the section's length is not told.
        out.extend_from_slice(&[1, 0, 0, 0]);
        out.extend_from_slice(&u64::MAX.to_le_bytes());
        option(out, SECTION_HARDWARE, machine.as_bytes());
        option(out, SECTION_APPLICATION, concat!("sunstar ", env!("CARGO_PKG_VERSION")).as_bytes());
    });
    for nid in 0..nodes {
        block(&mut out, INTERFACE, |out| {
            out.extend_from_slice(&link_type.to_le_bytes());
            // Reserved, and no limit of a packet's length.
            out.extend_from_slice(&[0; 6]);
            option(out, INTERFACE_NAME, format!("node {nid}").as_bytes());
            // 10 to the minus 9 seconds.
            option(out, INTERFACE_RESOLUTION, &[9]);
        });
    }
    out
}

/// Appends a block: type, length, what `body` appends, the end of its options, and the length again.
fn block(out: &mut Vec<u8>, kind: u32, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&kind.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    body(out);
    option(out, END_OF_OPTIONS, &[]);
    let length = (out.len() - start + 4) as u32;
    out[start + 4..start + 8].copy_from_slice(&length.to_le_bytes());
    out.extend_from_slice(&length.to_le_bytes());
}

fn option(out: &mut Vec<u8>, code: u16, value: &[u8]) {
    out.extend_from_slice(&code.to_le_bytes());
    out.extend_from_slice(&(value.len() as u16).to_le_bytes());
    let start = out.len();
    out.extend_from_slice(value);
    pad(out, start);
}

/// Pads a block that began at `start` to a multiple of four bytes.
fn pad(out: &mut Vec<u8>, start: usize) {
    out.resize(start + (out.len() - start).next_multiple_of(4), 0);
}

#[cfg(test)]
mod tests {
    use super::*;
    use abi::packet::Packet;

    /// Three nodes' packets, of which `size` tells the order in the file, with pieces on the spool.
    #[test]
    fn streams_are_merged_by_time_then_node() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("packets.pcapng");
        let capture = Capture::to(&file, 147).unwrap();
        let mut taps = [0, 1, 2].map(|nid| capture.tap(nid));
        const ROUNDS: u64 = 2000;
        for round in 0..ROUNDS {
            // The same nanosecond on nodes 1 and 2, and a later one on node 0.
            for (nid, ps) in [(2, 100), (1, 900), (0, 1000)] {
                let packet = Packet { source: nid, message: round as u16, ..Packet::default() };
                let at = Time(10_000 * round + ps);
                taps[usize::from(nid)].packet(at, Side::Sent, |out| packet.emit(out));
            }
        }
        let streams: Vec<Stream> = taps.map(Tap::finish).into();
        assert!(streams.iter().all(|stream| stream.spooled() > 1));
        capture.write(streams, "test").unwrap();
        let bytes = std::fs::read(&file).unwrap();
        let (mut at, mut seen) = (0, Vec::new());
        while at < bytes.len() {
            let length = le_u32(&bytes[at + 4..]) as usize;
            assert_eq!(le_u32(&bytes[at + length - 4..]) as usize, length);
            if le_u32(&bytes[at..]) == ENHANCED_PACKET {
                let data = &bytes[at + 28..];
                seen.push((
                    le_u32(&bytes[at + 16..]),
                    data[2],
                    u16::from_le_bytes([data[6], data[7]]),
                ));
            }
            at += length;
        }
        let expected = (0..ROUNDS).flat_map(|round| {
            let (ns, message) = (10 * round as u32, round as u16);
            [(ns, 1, message), (ns, 2, message), (ns + 1, 0, message)]
        });
        assert!(seen.into_iter().eq(expected));
    }

    #[test]
    fn a_folder_that_is_not_there_is_a_sentence() {
        let why = Capture::to(Path::new("/proc/none/x"), 147).err().unwrap().to_string();
        assert!(why.starts_with("cannot write beside /proc/none/x: "), "{why}");
    }
}
