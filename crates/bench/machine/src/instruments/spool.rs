//! Temporary storage for what nodes write during a run, until all of it can be put in order: a file without a
//! name beside the output file. Memory holds one piece for each node, however long the run is.

use super::write_error::WriteError;
use std::collections::VecDeque;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes after which a node's piece goes to the spool.
const PIECE: usize = 1 << 14;

/// Full pieces of all nodes, in the order in which they happened to become full.
#[derive(Clone, Debug)]
pub(crate) struct Spool(Arc<Mutex<Pieces>>);

#[derive(Debug)]
struct Pieces {
    file: File,
    end: u64,
    failed: io::Result<()>,
}

/// Writer of a node's output.
#[derive(Debug)]
pub(crate) struct Writer {
    /// Bytes that are not on the spool yet.
    pub piece: Vec<u8>,
    spooled: VecDeque<(u64, usize)>,
    spool: Spool,
}

/// Output of a node: pieces on the spool, by offset and length, and the last piece.
#[derive(Debug, Default)]
pub struct Stream {
    spooled: VecDeque<(u64, usize)>,
    piece: Vec<u8>,
}

impl Spool {
    /// A spool in the folder of `file`.
    pub fn beside(file: &Path) -> Result<Spool, WriteError> {
        let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
        let spool = tempfile::tempfile_in(folder.unwrap_or(Path::new(".")));
        let spool = spool.map_err(|why| WriteError::Beside { file: file.to_owned(), why })?;
        Ok(Spool(Arc::new(Mutex::new(Pieces { file: spool, end: 0, failed: Ok(()) }))))
    }

    /// Writer for a node.
    pub fn writer(&self) -> Writer {
        Writer { piece: Vec::new(), spooled: VecDeque::new(), spool: self.clone() }
    }

    /// Passes the file to `read`, if all writes succeeded.
    pub fn read<T>(&self, read: impl FnOnce(&File) -> io::Result<T>) -> io::Result<T> {
        let mut pieces = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut pieces.failed, Ok(()))?;
        read(&pieces.file)
    }
}

impl Writer {
    /// Ends a record in the piece, which goes to the spool if it is full.
    pub fn wrote(&mut self) {
        if self.piece.len() >= PIECE {
            self.spool();
        }
    }

    #[cold]
    fn spool(&mut self) {
        let mut pieces = self.spool.0.lock().unwrap_or_else(PoisonError::into_inner);
        if pieces.failed.is_ok() {
            pieces.failed = pieces.file.write_all_at(&self.piece, pieces.end);
            self.spooled.push_back((pieces.end, self.piece.len()));
            pieces.end += self.piece.len() as u64;
        }
        self.piece.clear();
    }

    /// Stream of everything written.
    pub fn finish(self) -> Stream {
        Stream { spooled: self.spooled, piece: self.piece }
    }
}

impl Stream {
    /// True if nothing was written.
    pub fn is_empty(&self) -> bool {
        self.spooled.is_empty() && self.piece.is_empty()
    }

    /// Replaces the contents of `read` by the next piece; empty at the end.
    pub fn next(&mut self, spool: &File, read: &mut Vec<u8>) -> io::Result<()> {
        read.clear();
        if let Some((place, length)) = self.spooled.pop_front() {
            read.resize(length, 0);
            return spool.read_exact_at(read, place);
        }
        std::mem::swap(read, &mut self.piece);
        Ok(())
    }

    /// Number of pieces that are not in memory.
    #[cfg(test)]
    pub fn spooled(&self) -> usize {
        self.spooled.len()
    }
}
