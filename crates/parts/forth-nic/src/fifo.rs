//! A FIFO between two clocks, cycle by cycle as `rtl/rdma/rdma_fifo.sv`: each side sees the other's pointer
//! two of its own edges late.

/// Entries in a ring of a power of two.
#[derive(Clone, Debug)]
pub struct Fifo<T> {
    ring: Vec<T>,
    /// Free-running counts; the RTL keeps one bit more than the ring needs, in Gray code.
    written: u32,
    read: u32,
    /// The other side's count, after one and two flip-flops.
    written_at_reader: [u32; 2],
    read_at_writer: [u32; 2],
}

impl<T: Copy + Default> Fifo<T> {
    /// With room for `depth` entries, a power of two.
    pub fn new(depth: usize) -> Fifo<T> {
        assert!(depth.is_power_of_two() && depth > 1, "a FIFO between clocks has a power of two");
        Fifo {
            ring: vec![T::default(); depth],
            written: 0,
            read: 0,
            written_at_reader: [0; 2],
            read_at_writer: [0; 2],
        }
    }

    /// Writer's side: entries for which it knows that there is room.
    pub fn room(&self) -> usize {
        self.ring.len() - self.written.wrapping_sub(self.read_at_writer[1]) as usize
    }
    /// Writer's side: entries that it takes to be there.
    pub fn held(&self) -> usize {
        self.ring.len() - self.room()
    }
    /// Reader's side: entries of which it knows.
    pub fn len(&self) -> usize {
        self.written_at_reader[1].wrapping_sub(self.read) as usize
    }
    /// Reader's side: nothing is known to be there.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Reader's side: the oldest entry.
    pub fn front(&self) -> Option<T> {
        (!self.is_empty()).then(|| self.ring[self.read as usize % self.ring.len()])
    }
    /// Reader's side: edges without a pop change nothing until the writer pushes.
    pub fn is_settled_at_reader(&self) -> bool {
        self.written_at_reader == [self.written; 2] && self.read == self.written
    }
    /// Writer's side: edges without a push change nothing until the reader pops.
    pub fn is_settled_at_writer(&self) -> bool {
        self.read_at_writer == [self.read; 2]
    }
    /// The edge of the writer's clock; a push without room is lost, and false.
    pub fn write_edge(&mut self, push: Option<T>) -> bool {
        let room = self.room() > 0;
        self.read_at_writer = [self.read, self.read_at_writer[0]];
        if let (Some(entry), true) = (push, room) {
            let place = self.written as usize % self.ring.len();
            self.ring[place] = entry;
            self.written = self.written.wrapping_add(1);
        }
        push.is_none() || room
    }
    /// The edge of the reader's clock; popping what is not there does nothing.
    pub fn read_edge(&mut self, pop: bool) {
        let some = !self.is_empty();
        self.written_at_reader = [self.written, self.written_at_reader[0]];
        if pop && some {
            self.read = self.read.wrapping_add(1);
        }
    }
}
