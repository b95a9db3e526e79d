//! Parameters, from a machine file's `[queuepair.*]`.

use des::Duration;
use machine::parameters::schema::{bytes, count, power_of_two, rate, time};
use machine::parameters::{Parameters, Row};

/// The rows, in the order in which they are printed.
pub(crate) const ROWS: &[Row] = &[
    time("queuepair.post", "0 ns", "1 ms"),
    time("queuepair.reap", "0 ns", "1 ms"),
    power_of_two("queuepair.submissions", "2", "4096"),
    power_of_two("queuepair.completions", "2", "4096"),
    time("queuepair.register", "1 ns", "1 ms"),
    time("queuepair.dma_start", "0 ns", "1 ms"),
    rate("queuepair.dma_rate", "1 MB/s", "1000 GB/s"),
    bytes("queuepair.segment", "64 B", "1 MiB"),
    bytes("queuepair.frame", "1 B", "256 B"),
    count("queuepair.window", "1", "1024"),
    time("queuepair.timeout", "1 us", "100 ms"),
    count("queuepair.retries", "1", "100"),
    rate("queuepair.link_rate", "1 MB/s", "1000 GB/s"),
    time("queuepair.link_latency", "1 ns", "1 ms"),
];

/// Their values; machines/queuepair.toml says what they are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Params {
    pub post: Duration,
    pub reap: Duration,
    pub submissions: u32,
    pub completions: u32,
    pub register: Duration,
    pub dma_start: Duration,
    pub dma_rate: u64,
    pub segment: u64,
    pub frame: u64,
    pub window: usize,
    pub timeout: Duration,
    pub retries: u32,
    pub link_rate: u64,
    pub link_latency: Duration,
}

impl Params {
    pub fn of(p: &Parameters) -> Params {
        Params {
            post: p.duration("queuepair.post"),
            reap: p.duration("queuepair.reap"),
            submissions: p.number("queuepair.submissions"),
            completions: p.number("queuepair.completions"),
            register: p.duration("queuepair.register"),
            dma_start: p.duration("queuepair.dma_start"),
            dma_rate: p.number("queuepair.dma_rate"),
            segment: p.number("queuepair.segment"),
            frame: p.number("queuepair.frame"),
            window: p.number("queuepair.window"),
            timeout: p.duration("queuepair.timeout"),
            retries: p.number("queuepair.retries"),
            link_rate: p.number("queuepair.link_rate"),
            link_latency: p.duration("queuepair.link_latency"),
        }
    }
}
