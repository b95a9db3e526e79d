//! All small worlds: every list of up to four entries with every mask, every order of inserts, matches and
//! resets, and every order of commands, legal or not, and matches, in the cycle model and the RTL side by
//! side, judged by the untimed specification.

mod bench;
mod rtl;
mod stimulus;

use alpu::{Command, Config, Entry, QueueKind, Request};
use bench::Bench;
use stimulus::Program;

/// Four cells in two blocks: enough for holes, for a neighbour, and for a list that is full.
fn unit(kind: QueueKind, match_width: u32) -> Config {
    Config {
        match_width,
        tag_width: 4,
        header_depth: 4,
        command_depth: 8,
        result_depth: 4,
        ..Config::new(kind, 4, 2)
    }
}

/// All match words of a width with, if wanted, all masks; masked bits are one.
fn words(width: u32, masks: bool) -> Vec<(u64, u64)> {
    let all = 0..1u64 << width;
    let masks = if masks { all.clone() } else { 0..1 };
    let words = masks.flat_map(|mask| all.clone().map(move |bits| (bits, mask)));
    words.filter(|(bits, mask)| bits & mask == *mask).collect()
}

/// All sequences of up to `longest` symbols, each numbered below `symbols`.
fn sequences(symbols: usize, longest: usize) -> impl Iterator<Item = Vec<usize>> {
    (0..=longest).flat_map(move |length| {
        (0..symbols.pow(length as u32)).map(move |number| {
            (0..length).map(|place| number / symbols.pow(place as u32) % symbols).collect()
        })
    })
}

fn insert((bits, mask): (u64, u64), tag: usize) -> Command {
    Command::Insert(Entry { bits, mask, tag: tag as u64 + 1 })
}

/// Every list of up to four entries, and every sequence of up to `longest` requests.
fn every_list(kind: QueueKind, width: u32, longest: usize) {
    let mut bench = Bench::new(unit(kind, width));
    let entries = words(width, kind == QueueKind::Posted);
    let requests = words(width, kind == QueueKind::Unexpected);
    for list in sequences(entries.len(), 4) {
        let inserts = list.iter().enumerate().map(|(tag, word)| insert(entries[*word], tag));
        let commands: Vec<_> = [Command::StartInsert]
            .into_iter()
            .chain(inserts)
            .chain([Command::StopInsert])
            .collect();
        for asked in sequences(requests.len(), longest) {
            let header = |word: &usize| {
                let (bits, mask) = requests[*word];
                (0, Request { bits, mask })
            };
            bench.check(&Program {
                commands: commands.iter().map(|command| (0, *command)).collect(),
                headers: asked.iter().map(header).collect(),
                ..Program::default()
            });
        }
    }
    println!("{kind:?}, {width} bits: {} cycles compared", bench.cycles);
}

/// Every order of up to `longest` inserts, matches and resets; START INSERT and STOP INSERT surround each run
/// of inserts. All at once, or each when the one before has had its effect.
fn every_operation(config: Config, longest: usize) {
    let mut bench = Bench::new(config);
    let entries = words(1, config.kind == QueueKind::Posted);
    let requests = words(1, config.kind == QueueKind::Unexpected);
    for order in sequences(1 + entries.len() + requests.len(), longest) {
        for spacing in [0, 12] {
            let mut program = Program::default();
            let (mut time, mut last_command, mut last_header) = (0, 0, 0);
            let mut inserting = false;
            for (index, symbol) in order.iter().enumerate() {
                let is_insert = (1..=entries.len()).contains(symbol);
                let mut commands = Vec::new();
                if is_insert != inserting {
                    commands.push(if is_insert {
                        Command::StartInsert
                    } else {
                        Command::StopInsert
                    });
                    inserting = is_insert;
                }
                match symbol {
                    0 => commands.push(Command::Reset),
                    n if is_insert => commands.push(insert(entries[n - 1], index)),
                    n => {
                        let (bits, mask) = requests[n - 1 - entries.len()];
                        // Behind a STOP INSERT, which comes first at the same time.
                        let header = time + commands.len() as u32;
                        program.headers.push((header - last_header, Request { bits, mask }));
                        last_header = header + 1;
                    }
                }
                for command in commands {
                    program.commands.push((time.saturating_sub(last_command), command));
                    last_command = last_command.max(time) + 1;
                }
                time = last_command.max(last_header) + spacing;
            }
            bench.check(&program);
        }
    }
    println!("{config:?}: {} cycles compared", bench.cycles);
}

/// Every order of up to `longest` commands and requests, one each `spacing` cycles.
fn every_order(config: Config, longest: usize, spacings: &[usize]) {
    let mut bench = Bench::new(config);
    let entries = words(1, config.kind == QueueKind::Posted);
    let requests = words(1, config.kind == QueueKind::Unexpected);
    for order in sequences(3 + entries.len() + requests.len(), longest) {
        for spacing in spacings {
            let mut program = Program::default();
            let (mut last_command, mut last_header) = (0, 0);
            for (index, symbol) in order.iter().enumerate() {
                let time = (index + 1) * spacing;
                let command = match symbol {
                    0 => Command::StartInsert,
                    1 => Command::StopInsert,
                    2 => Command::Reset,
                    n if n - 3 < entries.len() => insert(entries[n - 3], index),
                    n => {
                        let (bits, mask) = requests[n - 3 - entries.len()];
                        let gap = time - last_header - 1;
                        program.headers.push((gap as u32, Request { bits, mask }));
                        last_header = time;
                        continue;
                    }
                };
                program.commands.push(((time - last_command - 1) as u32, command));
                last_command = time;
            }
            bench.check(&program);
        }
    }
    println!("{config:?}: {} cycles compared", bench.cycles);
}

#[test]
fn every_list_of_one_bit() {
    every_list(QueueKind::Posted, 1, 3);
    every_list(QueueKind::Unexpected, 1, 3);
}

#[test]
fn every_order_of_few() {
    every_order(unit(QueueKind::Posted, 1), 4, &[1, 2, 12]);
    every_order(unit(QueueKind::Unexpected, 1), 4, &[1, 3, 12]);
}

#[test]
fn every_operation_of_few() {
    every_operation(unit(QueueKind::Posted, 1), 4);
    every_operation(unit(QueueKind::Unexpected, 1), 4);
}

#[test]
#[ignore = "long: more than a million programs; make soak"]
fn every_operation_of_seven() {
    for kind in [QueueKind::Posted, QueueKind::Unexpected] {
        every_operation(unit(kind, 1), 7);
    }
}

#[test]
#[ignore = "long: 600,000 programs; make soak"]
fn every_list_of_two_bits_posted() {
    every_list(QueueKind::Posted, 2, 3);
}

#[test]
#[ignore = "long: 280,000 programs; make soak"]
fn every_list_of_two_bits_unexpected() {
    every_list(QueueKind::Unexpected, 2, 3);
}

#[test]
#[ignore = "long: three million programs; make soak"]
fn every_order_of_six() {
    for kind in [QueueKind::Posted, QueueKind::Unexpected] {
        for overlap in [false, true] {
            every_order(Config { overlap, ..unit(kind, 1) }, 6, &[1, 3, 12]);
        }
    }
}
