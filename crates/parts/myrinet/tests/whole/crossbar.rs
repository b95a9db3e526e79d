//! Traffic through switches without cards.

use crate::bench::{Bench, Node, Sender, Sink};
use crate::trouble::Trouble;
use des::{Duration, Random, Time};
use myrinet::{Params, Switch, SwitchCounters, SwitchParams};

/// Senders at ports 0 to 2 of the first of two switches in a row; sinks at ports 3 to 5 of both. The
/// cables have a delay, the sinks stop now and then.
pub struct Traffic {
    pub seed: u64,
    pub delay: Duration,
    /// Mean time until a sink changes its mind; 0 if they never stop.
    pub pause: Duration,
    pub packets: usize,
    pub longest: u64,
}

/// Use of the slack buffers.
#[derive(Debug)]
pub struct Outcome {
    /// Most bytes in a slack buffer, and how many it has.
    pub high: u32,
    pub slack: u32,
}

const SENDERS: usize = 3;
const SINKS: usize = 6;

struct Scene {
    bench: Bench,
    senders: Vec<usize>,
    switches: [usize; 2],
    sinks: Vec<usize>,
}

fn scene(traffic: &Traffic) -> Scene {
    let link = Params::new(traffic.delay);
    let mut bench = Bench::new(&link);
    let params = SwitchParams { ports: 8, route: Duration::from_ns(100), link };
    let switches = [0; 2].map(|_: i32| bench.add(Node::Switch(Switch::new(params))));
    bench.connect((switches[0], 6), (switches[1], 6));
    let senders: Vec<usize> = (0..SENDERS)
        .map(|port| {
            let sender = bench.add(Node::Sender(Sender::new(&link)));
            bench.connect((sender, 0), (switches[0], port));
            sender
        })
        .collect();
    let sinks = (0..SINKS)
        .map(|number| {
            let seed = traffic.seed * 100 + number as u64;
            let sink = bench.add(Node::Sink(Sink::new(seed, traffic.pause)));
            bench.connect((sink, 0), (switches[number / 3], 3 + number % 3));
            sink
        })
        .collect();
    Scene { bench, senders, switches, sinks }
}

fn route(sender: usize, sink: usize) -> Vec<u8> {
    let step = |from: usize, to: usize| 0x80 | ((to as isize - from as isize) as u8 & 0x3f);
    match sink / 3 {
        0 => vec![step(sender, 3 + sink)],
        _ => vec![step(sender, 6), step(6, sink)],
    }
}

/// Sends random packets, and checks that each arrives where it should, whole and in order, and that
/// no byte is lost or made. Some are damaged on the way, some have routes that lead nowhere.
pub fn run(traffic: &Traffic) -> Result<Outcome, Trouble> {
    let mut random = Random::new(traffic.seed);
    let mut scene = scene(traffic);
    // By sink and sender: the expected packets.
    let mut expected = vec![vec![Vec::new(); SENDERS]; SINKS];
    let mut lost = 0;
    for _ in 0..traffic.packets {
        let (sender, sink) = (random.below(3) as usize, random.below(SINKS as u64) as usize);
        let mut bytes: Vec<u8> =
            (0..1 + random.below(traffic.longest)).map(|_| random.next_u64() as u8).collect();
        bytes[0] = sender as u8;
        let to = scene.bench.sender(scene.senders[sender]);
        match random.below(10) {
            0 => {
                lost += 1;
                let nowhere = [[0x7f], [0x80 | 0x20], [0x80 | 0x1f]][random.below(3) as usize];
                to.send(&nowhere, &bytes);
            }
            1 => {
                let mut whole = [&route(sender, sink)[..], &bytes].concat();
                let difference = 1 << random.below(8);
                whole.push(myrinet::crc8(&whole) ^ difference);
                to.send_raw(&whole);
                bytes.push(myrinet::crc8(&bytes) ^ difference);
                expected[sink][sender].push(bytes);
            }
            _ => {
                to.send(&route(sender, sink), &bytes);
                bytes.push(myrinet::crc8(&bytes));
                expected[sink][sender].push(bytes);
            }
        }
    }
    let wanted: usize = expected.iter().flatten().map(Vec::len).sum();
    let end = Time::ZERO + Duration::from_us(100_000);
    let came = |scene: &Scene| -> usize {
        scene.sinks.iter().map(|sink| scene.bench.sink(*sink).packets.len()).sum()
    };
    while (came(&scene) < wanted || !is_done(&mut scene)) && scene.bench.now < end {
        scene.bench.pass(Duration::from_us(20));
    }
    scene.bench.pass(Duration::from_us(20));
    conserves(&mut scene, lost)?;
    for (number, sink) in scene.sinks.iter().enumerate() {
        for (sender, expected) in expected[number].iter().enumerate() {
            let packets = scene.bench.sink(*sink).packets.iter();
            let found: Vec<&Vec<u8>> = packets.filter(|p| p[0] == sender as u8).collect();
            if found != expected.iter().collect::<Vec<_>>() {
                let (found, sent) = (found.len(), expected.len());
                return Err(Trouble::Sink { sink: number, sender, found, sent });
            }
        }
    }
    let high = scene.switches.iter().map(|s| scene.bench.switch(*s).high()).max().unwrap();
    Ok(Outcome { high, slack: Params::new(traffic.delay).slack() })
}

fn is_done(scene: &mut Scene) -> bool {
    scene.senders.iter().all(|sender| scene.bench.sender(*sender).is_done())
}

/// No byte is lost or made: what came in has gone out, was a route byte, was dropped, or is still there.
fn conserves(scene: &mut Scene, lost: u64) -> Result<(), Trouble> {
    let sent: u64 = scene.senders.iter().map(|sender| scene.bench.sender(*sender).bytes).sum();
    let taken: u64 = scene.sinks.iter().map(|sink| scene.bench.sink(*sink).bytes).sum();
    let (mut dropped, mut route_bytes, mut dropped_bytes) = (0, 0, 0);
    for switch in scene.switches {
        let (held, c) = (scene.bench.switch(switch).held(), scene.bench.switch(switch).counters());
        let SwitchCounters { bytes_in, bytes_out, .. } = c;
        if bytes_in != bytes_out + c.route_bytes + c.bytes_dropped + held {
            return Err(Trouble::SwitchLoses { counters: Box::new(c), held });
        }
        if held != 0 || c.packets_in != c.packets_out + c.dropped {
            return Err(Trouble::SwitchHolds { counters: Box::new(c), held });
        }
        dropped += c.dropped;
        route_bytes += c.route_bytes;
        dropped_bytes += c.bytes_dropped;
    }
    if sent != taken + route_bytes + dropped_bytes {
        return Err(Trouble::Bytes { sent, came: taken });
    }
    match dropped == lost {
        true => Ok(()),
        false => Err(Trouble::Dropped { dropped, lost }),
    }
}
