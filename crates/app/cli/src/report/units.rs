//! Numbers with their units, as people read them.

/// `12 B`, `4 KiB`, `1 MiB`.
pub fn size(bytes: u64) -> String {
    const UNITS: [(u32, &str); 4] = [(30, "GiB"), (20, "MiB"), (10, "KiB"), (0, "B")];
    let exact = |(shift, _): &&(u32, &str)| bytes >> shift > 0 && bytes % (1 << shift) == 0;
    let (shift, unit) = UNITS.iter().find(exact).unwrap_or(&UNITS[3]);
    format!("{} {unit}", bytes >> shift)
}

/// A time with a suitable unit: `63.0 ns`, `4.92 µs`.
pub fn time(ns: f64) -> String {
    match ns {
        _ if ns < 1e3 => format!("{ns:.1} ns"),
        _ if ns < 1e6 => format!("{} µs", short(ns / 1e3)),
        _ if ns < 1e9 => format!("{} ms", short(ns / 1e6)),
        _ => format!("{} s", short(ns / 1e9)),
    }
}

/// A number with about four digits: `4.920`, `49.20`, `952.4`; no digits after the point if there are more
/// before it.
pub fn short(number: f64) -> String {
    match number.abs() {
        magnitude if magnitude < 10.0 => format!("{number:.3}"),
        magnitude if magnitude < 100.0 => format!("{number:.2}"),
        magnitude if magnitude < 1000.0 => format!("{number:.1}"),
        _ => format!("{number:.0}"),
    }
}

/// A number for an axis, with as few digits as possible.
pub fn plain(number: f64) -> String {
    // Three digits after the point, and two of a number that is smaller than that.
    let zeros = if number == 0.0 { 0.0 } else { -number.abs().log10().floor() };
    let text = format!("{number:.digits$}", digits = (zeros as usize + 1).max(3));
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A part of a whole: `0.3 %`, `12 %`.
pub fn share(part: f64, whole: f64) -> String {
    let percent = if whole > 0.0 { 100.0 * part / whole } else { 0.0 };
    match percent {
        _ if percent > 0.0 && percent < 0.05 => "< 0.1 %".to_owned(),
        _ if percent < 9.95 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// A rate in bytes a second: `1.07 GB/s`.
pub fn rate(bytes_per_second: f64) -> String {
    match bytes_per_second {
        rate if rate < 1e3 => format!("{} B/s", short(rate)),
        rate if rate < 1e6 => format!("{} KB/s", short(rate / 1e3)),
        rate if rate < 1e9 => format!("{} MB/s", short(rate / 1e6)),
        rate => format!("{} GB/s", short(rate / 1e9)),
    }
}

/// `1 rank`, `2 ranks`, `1,024 ranks`.
pub fn count(number: u64, noun: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {noun}{s}", crate::summary::grouped(number))
}

/// A word, quoted for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_units() {
        let sizes = [0, 12, 1024, 1536, 1 << 20, 3 << 30].map(size);
        assert_eq!(sizes, ["0 B", "12 B", "1 KiB", "1536 B", "1 MiB", "3 GiB"]);
        let times = [63.0, 4920.0, 49_204.0, 952_368.9, 5e7, 2e9].map(time);
        assert_eq!(times, ["63.0 ns", "4.920 µs", "49.20 µs", "952.4 µs", "50.00 ms", "2.000 s"]);
        assert_eq!([0.0, 0.5, 1100.0].map(plain), ["0", "0.5", "1100"]);
        let small = [0.0001, 3.0 * 0.0001, 2e-6, -0.00025].map(plain);
        assert_eq!(small, ["0.0001", "0.0003", "0.000002", "-0.00025"]);
        assert_eq!(share(1.0, 8.0) + &share(0.001, 8.0) + &share(0.0, 0.0), "12 %< 0.1 %0.0 %");
        assert_eq!([12.0, 1.1e9].map(rate), ["12.00 B/s", "1.100 GB/s"]);
        assert_eq!(count(1, "rank") + &count(1024, "rank"), "1 rank1,024 ranks");
    }

    #[test]
    fn words_survive_a_shell() {
        let words = ["a.c", "host.x=20 ns", "it's", ""].map(quoted);
        assert_eq!(words, ["a.c", "'host.x=20 ns'", r"'it'\''s'", "''"]);
    }
}
