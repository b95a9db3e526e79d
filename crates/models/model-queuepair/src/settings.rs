//! Parameters, from a machine file's `[queuepair.*]`, which says what they are.

machine::parameters! {
    /// All of them, in the order in which they are printed.
    pub(crate) struct Params in "queuepair" {
        post: time("0 ns", "1 ms"),
        reap: time("0 ns", "1 ms"),
        submissions: power_of_two("2", "4096") as u32,
        completions: power_of_two("2", "4096") as u32,
        register: time("1 ns", "1 ms"),
        dma_start: time("0 ns", "1 ms"),
        dma_rate: rate("1 MB/s", "1000 GB/s"),
        segment: bytes("64 B", "1 MiB"),
        frame: bytes("1 B", "256 B"),
        window: count("1", "1024") as usize,
        timeout: time("1 us", "100 ms"),
        retries: count("1", "100") as u32,
        link_rate: rate("1 MB/s", "1000 GB/s"),
        link_latency: time("1 ns", "1 ms"),
    }
}
