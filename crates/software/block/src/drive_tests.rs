//! Times of drives, and what they keep when power goes.

use crate::{Array, DiskKind, DriveParams, SECTOR};

const MS: u64 = 1_000_000_000;

/// The drive of machines/forth.toml.
pub(crate) const CAVIAR: DriveParams = DriveParams {
    sectors: 156_301_488,
    heads: 2,
    track_sectors: [1100, 670],
    revolution: 8_333_333_333,
    seek: [2 * MS, 89 * MS / 10, 21 * MS],
    write_settle: 2 * MS,
    switch: MS,
    overhead: 3 * MS / 10,
    interface: 150_000_000,
    cache: 8 << 20,
    segments: 16,
};

fn array(sectors: u64) -> Array {
    Array::new(sectors, DiskKind::Drives(CAVIAR))
}

/// Numbers that look random.
fn random(state: &mut u64) -> u64 {
    *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    *state >> 33
}

/// Time of reads one after the other.
fn reads(array: &mut Array, start: u64, sectors: impl Iterator<Item = u64>) -> u64 {
    let mut data = vec![0; 8 * SECTOR as usize];
    sectors.fold(start, |now, sector| array.read(now, sector, &mut data).at)
}

#[test]
fn reads_in_order_are_faster_than_others_and_as_fast_as_the_tracks() {
    let all = 1 << 30;
    let ordered = reads(&mut array(all), 0, (0..4000).map(|number| 8 * number));
    let mut seed = 7;
    let mut drives = array(all);
    let scattered = reads(&mut drives, 0, (0..400).map(|_| random(&mut seed) % (all / 8) * 8));
    let (one, other) = (ordered / 4000, scattered / 400);
    assert!(other > 10 * one, "{one} and {other} ps");
    // A third of a stroke of what is used, and half of a revolution.
    assert!((8 * MS..20 * MS).contains(&other), "{other}");
    assert_eq!(drives.counts().hits + drives.counts().misses, 400);
    // No faster than the tracks of a drive.
    let mut data = vec![0; (crate::STRIPE * SECTOR) as usize];
    let mut single = array(all);
    let end = (0..200).fold(0, |now, row| single.read(now, row * 1024, &mut data).at);
    let rate = 200.0 * data.len() as f64 / (end as f64 * 1e-12);
    assert!((40e6..67.6e6).contains(&rate), "{rate}");
}

#[test]
fn what_was_read_is_in_the_cache() {
    let mut drives = array(1 << 24);
    let mut data = vec![0; 8 * SECTOR as usize];
    let first = drives.read(0, 5_000_000, &mut data).at;
    let again = drives.read(first, 5_000_000, &mut data).at - first;
    assert!(first > MS && again < CAVIAR.overhead + MS / 10, "{first}, {again}");
    assert_eq!((drives.counts().hits, drives.counts().misses), (1, 1));
    // What was written is no more what was read.
    let now = drives.write(first + again, 5_000_000, &vec![9; 8 * SECTOR as usize], false).at;
    drives.read(now, 5_000_000, &mut data);
    assert!(data.iter().all(|byte| *byte == 9));
}

#[test]
fn a_write_is_quick_and_its_flush_is_not() {
    let mut drives = array(1 << 24);
    let written = drives.write(0, 1_000_000, &vec![1; 64 * SECTOR as usize], false).at;
    assert!(written < MS, "{written}");
    let flushed = drives.flush(written).at - written;
    assert!(flushed > MS && flushed < CAVIAR.seek[2] + CAVIAR.write_settle + 2 * CAVIAR.revolution);
    let again = drives.flush(written + flushed).at - written - flushed;
    assert_eq!(again, CAVIAR.overhead);
    // More than the cache holds goes to the tracks first.
    let mut now = 0;
    for piece in 0..400 {
        now = drives.write(now, 1024 * 64 * piece, &vec![2; 512 * 1024], false).at;
    }
    // 200 MB less what eight caches keep, at 67.6 MB/s a drive at most.
    assert!(now > 300 * MS, "{now}");
}

#[test]
fn a_write_with_fua_takes_the_time_of_the_tracks_and_leaves_other_writes_in_the_cache() {
    let mut drives = array(1 << 24);
    let mut now = drives.write(0, 9_000_000, &vec![1; 8 * SECTOR as usize], false).at;
    // Over what the cache has of the same sectors, too.
    for (sector, value) in [(1_000_000, 2), (9_000_004, 3)] {
        let done = drives.write(now, sector, &vec![value; 8 * SECTOR as usize], true).at;
        let most = CAVIAR.seek[2] + CAVIAR.write_settle + 2 * CAVIAR.revolution;
        assert!((MS..2 * most).contains(&(done - now)), "{done} - {now}");
        now = done;
    }
    drives.set_power_cut(now + 1);
    assert!(drives.flush(now + 1).failed, "its owner is told");
    let mut data = vec![0; 12 * SECTOR as usize];
    drives.read(now + MS, 9_000_000, &mut data);
    assert!(data[4 * SECTOR as usize..].iter().all(|byte| *byte == 3));
    drives.read(now + MS, 1_000_000, &mut data);
    assert!(data[..8 * SECTOR as usize].iter().all(|byte| *byte == 2));
}

#[test]
fn sectors_come_to_their_track_one_after_the_other() {
    const COUNT: u64 = 64;
    let new = |cut: u64| {
        let mut drives = array(1 << 20);
        drives.set_power_cut(cut);
        let written = drives.write(0, 0, &vec![1; (COUNT * SECTOR) as usize], false).at;
        let end = drives.flush(written).at;
        // The first operation after that fails, so that its owner knows.
        drives.flush(end.max(cut));
        let mut data = vec![0; (COUNT * SECTOR) as usize];
        drives.read(end.max(cut) + MS, 0, &mut data);
        (end, data.iter().filter(|byte| **byte == 1).count() as u64 / SECTOR)
    };
    let (end, all) = new(u64::MAX / 2);
    assert_eq!(all, COUNT);
    // A track's 64 sectors take 64 / 1,100 of a revolution.
    let took = COUNT * CAVIAR.revolution / CAVIAR.track_sectors[0];
    let some: Vec<u64> = (0..=20).map(|step| new(end - took + took * step / 20).1).collect();
    assert!(some.is_sorted() && some[0] <= 1 && some[20] == COUNT, "{some:?}");
    assert!((30..34).contains(&some[10]), "{some:?}");
}

/// Writes, flushes, and what was flushed: contents of each sector that the array may have after each step.
struct Script {
    ops: Vec<Op>,
}

#[derive(Clone, Copy)]
enum Op {
    Write { sector: u64, sectors: u64, value: u8, fua: bool },
    Zero { sector: u64, sectors: u64, fua: bool },
    Flush,
}

const AREA: u64 = 2048;

fn script(seed: u64) -> Script {
    let mut state = seed;
    let op = |_| match random(&mut state) % 6 {
        0 => Op::Flush,
        kind => {
            let sector = random(&mut state) % (AREA - 300);
            let (sectors, value) = (1 + random(&mut state) % 300, random(&mut state) as u8 | 1);
            let fua = random(&mut state) % 3 == 0;
            match kind {
                1 => Op::Zero { sector, sectors, fua },
                _ => Op::Write { sector, sectors, value, fua },
            }
        }
    };
    Script { ops: (0..14).map(op).collect() }
}

/// Runs it, with power cut at a time; the time of the end. Fails if something is lost that was flushed or
/// written with FUA, or something stands there that nobody wrote.
fn run(script: &Script, cut: Option<u64>, steps: Option<&mut Vec<u64>>) -> u64 {
    let mut drives = array(AREA);
    cut.into_iter().for_each(|at| drives.set_power_cut(at));
    // Values that a sector may have: the last one of before the last flush, and all after it.
    let mut may: Vec<Vec<u8>> = vec![vec![0]; AREA as usize];
    let (mut now, mut seen) = (0, Vec::new());
    for op in &script.ops {
        let (range, value) = match *op {
            Op::Write { sector, sectors, value, .. } => (sector..sector + sectors, value),
            Op::Zero { sector, sectors, .. } => (sector..sector + sectors, 0),
            Op::Flush => (0..0, 0),
        };
        let count = (range.end - range.start) * SECTOR;
        let done = match op {
            Op::Write { fua, .. } => {
                drives.write(now, range.start, &vec![value; count as usize], *fua)
            }
            Op::Zero { fua, .. } => drives.zero(now, range.start, range.end - range.start, *fua),
            Op::Flush => drives.flush(now),
        };
        range.clone().for_each(|sector| may[sector as usize].push(value));
        now = done.at + MS / 3;
        seen.extend([done.at - 1, done.at, done.at + 1]);
        if done.failed {
            // Whoever is told so asks again after a while.
            break;
        }
        let safe = match op {
            Op::Flush => 0..AREA,
            Op::Write { fua: true, .. } | Op::Zero { fua: true, .. } => range,
            _ => 0..0,
        };
        for values in &mut may[safe.start as usize..safe.end as usize] {
            values.drain(..values.len() - 1);
        }
    }
    let end = drives.flush(now.max(cut.unwrap_or(0))).at;
    let mut data = vec![0; (AREA * SECTOR) as usize];
    drives.read(end, 0, &mut data);
    for (sector, bytes) in data.chunks(SECTOR as usize).enumerate() {
        let whole = bytes.iter().all(|byte| *byte == bytes[0]);
        let ours = may[sector].contains(&bytes[0]);
        let newest = cut.is_some() || bytes[0] == may[sector][may[sector].len() - 1];
        assert!(whole && ours && newest, "sector {sector}, power cut at {cut:?}: {}", bytes[0]);
    }
    steps.into_iter().for_each(|steps| *steps = seen.clone());
    end
}

#[test]
fn power_that_goes_at_any_step_loses_nothing_that_was_flushed_or_written_with_fua() {
    for seed in 1..=4 {
        let script = script(seed);
        let mut cuts = Vec::new();
        let end = run(&script, None, Some(&mut cuts));
        // Each end of an operation, before and after; and between them, where sectors come to tracks.
        cuts.extend((0..150).map(|step| end / 150 * step));
        for cut in cuts {
            run(&script, Some(cut), None);
        }
    }
}
