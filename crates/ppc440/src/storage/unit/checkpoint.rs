//! What a checkpoint holds of the load and store unit.

use super::{Replay, Unit};

des::checkpointed!(Replay { count, bytes, len, data_at });

des::checkpointed!(Unit {
    at, resume, step, taken, replay, data_at, stall, fills, filled, loads, writes, gather,
} given { window, line_fills, load_latency });
