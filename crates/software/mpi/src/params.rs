//! Costs of the library's work, and its limits: the machine file's `[mpi.*]`.

use des::Duration;
use host::LIBRARY_MAX;

/// Parameters of the MPI library, whatever carries its messages. The fields are the names of the machine
/// file's sections `[mpi.NAME]`.
#[derive(Clone, Debug)]
pub struct Params {
    /// Entering and leaving a call: arguments checked, objects looked up.
    pub call: Duration,
    /// Setting up a request.
    pub request: Duration,
    /// Dealing with one event of its transport.
    pub event: Duration,
    /// Reducing one predefined item of up to 16 bytes.
    pub reduce_element: Duration,
    /// Gathering or scattering one run of bytes of a datatype with holes, beside copying it.
    pub datatype_run: Duration,
    /// Most bytes to each rank for which an alltoall goes in rounds, if it is chosen by size.
    pub alltoall_short: u64,
    /// Most bytes of all ranks for which an allgather goes in rounds, if it is chosen by size.
    pub allgather_short: u64,
}

/// Its parameters over Portals, where it keeps the unexpected messages itself: `[mpi.NAME]` too.
#[derive(Clone, Copy, Debug)]
pub struct PortalsParams {
    /// Looking at one entry of the unexpected list.
    pub unexpected_entry: Duration,
    /// Longest message, in bytes, that is kept here if it arrives before its receive; a longer one is fetched
    /// then.
    pub eager_limit: u64,
    /// Longest message, in bytes, that is copied into a library buffer, so that the send completes
    /// at once.
    pub copy_limit: u64,
    /// Library buffers for copied messages.
    pub copy_buffers: u32,
    /// Blocks for messages that arrive before their receive.
    pub unexpected_blocks: u32,
    /// Bytes of such a block.
    pub unexpected_block_size: u64,
    /// Events that the queue for unexpected messages holds; 0: it grows.
    pub unexpected_events: u32,
    /// Events that a queue for unexpected messages that grows holds at first.
    pub unexpected_queue: u32,
    /// Events by which it grows whenever it is full.
    pub unexpected_growth: u32,
    /// Messages of a process to another that have not come to its library's notice; 0: any number.
    pub send_credits: u32,
    /// Events that a queue for expected messages and for sends holds; more queues are made as
    /// needed.
    pub events: u32,
}

/// Events that an operation over Portals can leave in its queue: END and UNLINK.
pub(crate) const EVENTS_PER_OPERATION: u32 = 2;

impl PortalsParams {
    /// Events of the operations under way for which a queue has room. An operation that has ended may have
    /// one left there, so it is less than all.
    pub(crate) fn event_room(&self) -> u32 {
        self.events.saturating_sub(2 * EVENTS_PER_OPERATION)
    }

    /// Checks that they fit together.
    pub fn check(&self) -> Result<(), ParamsError> {
        let PortalsParams { copy_buffers, copy_limit, events, unexpected_events, .. } = *self;
        let room = self.event_room();
        if copy_buffers > room {
            return Err(ParamsError::CopyBuffers { copy_buffers, room, events });
        }
        if (1..UNEXPECTED_EVENTS_MIN).contains(&unexpected_events) {
            return Err(ParamsError::UnexpectedEvents(unexpected_events));
        }
        let (blocks, size) = (self.unexpected_blocks, self.unexpected_block_size);
        let bytes = u64::from(blocks) * size + u64::from(copy_buffers) * copy_limit;
        if bytes > LIBRARY_MAX {
            return Err(ParamsError::Memory { bytes });
        }
        Ok(())
    }
}

/// Least room of a queue for unexpected messages that does not grow.
const UNEXPECTED_EVENTS_MIN: u32 = 16;

/// Parameters that do not fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParamsError {
    /// Copied messages may leave more events than there is room for.
    #[error(
        "mpi.copy_buffers is {copy_buffers}, each of which may leave an event, but their queue has \
         room for {room} (mpi.events = {events})"
    )]
    CopyBuffers {
        /// Buffers.
        copy_buffers: u32,
        /// Events that have room.
        room: u32,
        /// Events of the queue.
        events: u32,
    },
    /// A queue of fixed size is too short.
    #[error(
        "mpi.unexpected_events is {0}: {UNEXPECTED_EVENTS_MIN} is the least, and 0 means a queue \
         that grows"
    )]
    UnexpectedEvents(u32),
    /// Buffers take more memory than a rank has for its library.
    #[error(
        "mpi.unexpected_blocks of mpi.unexpected_block_size and mpi.copy_buffers of mpi.copy_limit \
         make {} MiB for each rank, and {} MiB is the most",
        bytes.div_ceil(1 << 20),
        LIBRARY_MAX.div_ceil(1 << 20)
    )]
    Memory {
        /// Bytes of all of them.
        bytes: u64,
    },
}
