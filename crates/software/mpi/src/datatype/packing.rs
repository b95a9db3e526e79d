//! Packing and unpacking, many runs at a time. Takes no simulated time: the caller charges it.

use super::items::Items;
use crate::error::Result;
use crate::local::{Local, PIECE};

/// Runs that are moved together.
const RUNS_MAX: usize = 4096;

/// Runs in their order, on their way between the program's memory and packed bytes.
struct Moved {
    /// Address of the packed bytes that are next.
    packed: u64,
    /// Address and bytes of each run.
    runs: Vec<(u64, usize)>,
    /// Bytes of all of them.
    bytes: u64,
    /// The bytes themselves.
    held: Vec<u8>,
}

/// Direction of the copy.
#[derive(Clone, Copy)]
enum Way {
    Pack,
    Unpack,
}

impl Items {
    /// Packs them to `to`; the number of runs.
    pub(crate) fn pack(&self, local: &mut Local, to: u64) -> Result<u64> {
        self.move_runs(local, Way::Pack, to, self.bytes())
    }

    /// Unpacks the first `bytes` bytes at `from` into them; the number of runs.
    pub(crate) fn unpack(&self, local: &mut Local, from: u64, bytes: u64) -> Result<u64> {
        self.move_runs(local, Way::Unpack, from, bytes)
    }

    /// Moves as many of them as `bytes` bytes at `packed` are.
    fn move_runs(&self, local: &mut Local, way: Way, packed: u64, bytes: u64) -> Result<u64> {
        let held = std::mem::take(&mut local.bounce);
        let mut moved = Moved { packed, runs: Vec::new(), bytes: 0, held };
        let mut number = 0;
        let result = self.datatype.runs_of(self.count, bytes).try_for_each(|run| {
            number += 1;
            moved.add(local, self.va.wrapping_add_signed(run.offset), run.length, way)
        });
        let result = result.and_then(|()| moved.go(local, way));
        local.bounce = moved.held;
        result.map(|()| number)
    }
}

impl Moved {
    /// One more run.
    fn add(&mut self, local: &Local, mut va: u64, mut length: u64, way: Way) -> Result<()> {
        while length > 0 {
            if self.bytes == PIECE || self.runs.len() == RUNS_MAX {
                self.go(local, way)?;
            }
            let here = length.min(PIECE - self.bytes);
            self.runs.push((va, here as usize));
            self.bytes += here;
            (va, length) = (va.wrapping_add(here), length - here);
        }
        Ok(())
    }

    /// Moves the runs so far.
    fn go(&mut self, local: &Local, way: Way) -> Result<()> {
        self.held.resize(self.bytes as usize, 0);
        match way {
            Way::Pack => {
                local.read_runs(&self.runs, &mut self.held)?;
                local.write(self.packed, &self.held)?;
            }
            Way::Unpack => {
                local.read(self.packed, &mut self.held)?;
                local.write_runs(&self.runs, &self.held)?;
            }
        }
        self.packed = self.packed.wrapping_add(self.bytes);
        self.bytes = 0;
        self.runs.clear();
        Ok(())
    }
}
