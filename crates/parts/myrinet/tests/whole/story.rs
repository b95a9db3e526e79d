//! Tests of cards with a control program; each story returns an error that says what went wrong, if
//! anything did.

use crate::bench::cards::{area, packet};
use crate::bench::{Bench, Node, Sender};
use crate::trouble::{expect, Trouble};
use abi::myrinet::{command_area, isr, register, status, BOARD_SPECIAL};
use des::{Duration, Random, Time};
use lanai_link::Image;
use myrinet::{check_routes, End, Params, Switch, SwitchParams, Topology};
use std::error::Error;

pub fn link() -> Params {
    // Ten metres.
    Params::new(Duration::from_ns(50))
}

fn switch() -> Node {
    let route = Duration::from_ns(100);
    Node::Switch(Switch::new(SwitchParams { ports: 8, route, link: link() }))
}

/// Two cards at ports 2 and 5 of a switch.
fn pair(image: &Image) -> Result<Bench, Trouble> {
    let mut bench = Bench::new(&link());
    let (a, b) = (bench.add_card(link()), bench.add_card(link()));
    let middle = bench.add(switch());
    bench.connect((a, 0), (middle, 2));
    bench.connect((b, 0), (middle, 5));
    for node in [a, b] {
        bench.boot(node, image)?;
    }
    bench.set_route(a, 1, &[0x83]);
    bench.set_route(b, 0, &[0x80 | (-3_i8 as u8 & 0x3f)]);
    Ok(bench)
}

/// A packet there and back; the data are checked at both ends.
fn round(bench: &mut Bench, bytes: &[u8]) -> Result<(), Trouble> {
    for (from, to) in [(0, 1), (1, 0)] {
        let packet = packet(to as u16, from as u16, bytes);
        expect("status", bench.send(from, &packet)?, status::DONE)?;
        let found = bench.receive(to)?;
        expect("length", found.len(), packet.len())?;
        expect("data", found == packet, true)?;
    }
    Ok(())
}

/// Times of the rounds, and what the cards did.
pub fn ping_pong(image: &Image) -> Result<(Vec<Time>, Vec<myrinet::Counters>), Trouble> {
    let mut bench = pair(image)?;
    let mut random = Random::new(8);
    let mut times = Vec::new();
    for size in [8, 8, 8, 8, 1500, 1501, 1502, 1503, 65520] {
        let bytes: Vec<u8> = (0..size).map(|_| random.next_u64() as u8).collect();
        round(&mut bench, &bytes)?;
        times.push(bench.now);
    }
    for node in 0..2 {
        let counters = bench.card(node).counters();
        expect("packets", (counters.packets_sent, counters.packets_received), (9, 9))?;
        expect("interrupts", bench.host(node).interrupts, 9)?;
        expect("wrong CRCs", counters.wrong_crc8 + counters.wrong_crc32, 0)?;
        expect("no route", bench.send(node, &packet(7, 0, &[]))?, status::NO_ROUTE)?;
    }
    let middle = bench.switch(2).counters();
    expect("switch", (middle.packets_in, middle.packets_out, middle.dropped), (18, 18, 0))?;
    let counters = (0..2).map(|node| bench.card(node).counters()).collect();
    Ok((times, counters))
}

/// Six switches in a row: from the first one's port 0 to the last one's port 1.
pub fn six_switches(image: &Image) -> Result<(), Trouble> {
    let mut bench = Bench::new(&link());
    let (a, b) = (bench.add_card(link()), bench.add_card(link()));
    let row: Vec<usize> = (0..6).map(|_| bench.add(switch())).collect();
    bench.connect((a, 0), (row[0], 0));
    bench.connect((row[5], 1), (b, 0));
    for pair in row.windows(2) {
        bench.connect((pair[0], 1), (pair[1], 0));
    }
    for node in [a, b] {
        bench.boot(node, image)?;
    }
    bench.set_route(a, 1, &[0x81; 6]);
    bench.set_route(b, 0, &[0xbf; 6]);
    round(&mut bench, b"far away")?;
    round(&mut bench, &[0x80; 65520])
}

/// Packets of a sender without a card arrive at a card: damaged ones, those of another type, ones that are
/// too long.
pub fn foreign_packets(image: &Image) -> Result<(), Trouble> {
    let mut bench = Bench::new(&link());
    let card = bench.add_card(link());
    let sender = bench.add(Node::Sender(Sender::new(&link())));
    let middle = bench.add(switch());
    bench.connect((card, 0), (middle, 1));
    bench.connect((sender, 0), (middle, 0));
    bench.boot(card, image)?;
    let counted = |bench: &mut Bench, what: &str, field: usize, bytes: &[u8]| {
        let before = bench.get(card, area(field));
        bench.sender(sender).send(&[0x81], bytes);
        bench.wait(what, |bench| bench.get(card, area(field)) == before + 1)
    };
    let with_crc = |bytes: &[u8]| [bytes, &myrinet::crc32(bytes).to_be_bytes()].concat();
    let good = packet(0, 9, b"whole");
    let mut other = good.clone();
    other[0] = 0x11;
    counted(&mut bench, "a packet of another type", command_area::OTHER, &with_crc(&other))?;
    // A bit of the data has changed on the way from card to card: the links' CRC-8 is right.
    let mut changed = with_crc(&good);
    changed[17] ^= 4;
    counted(&mut bench, "a packet with a wrong CRC-32", command_area::DAMAGED, &changed)?;
    expect("wrong CRC-32", bench.card(card).counters().wrong_crc32, 1)?;
    // A bit has changed on the cable before the switch.
    let mut whole = [&[0x81][..], &with_crc(&good)].concat();
    whole.push(myrinet::crc8(&whole) ^ 1);
    bench.sender(sender).send_raw(&whole);
    bench.wait("a packet with a wrong CRC-8", |bench| {
        bench.get(card, area(command_area::DAMAGED)) == 2
    })?;
    expect("wrong CRC-8", bench.card(card).counters().wrong_crc8, 1)?;
    counted(&mut bench, "a short packet", command_area::TOO_SHORT, &with_crc(b"DP"))?;
    let long = with_crc(&packet(0, 9, &vec![7; 65521]));
    counted(&mut bench, "a packet that is too long", command_area::TOO_LONG, &long)?;
    expect("a byte behind the buffer", bench.card(card).sram()[0x11_0000], 0)?;
    expect("interrupts", bench.host(card).interrupts, 0)?;
    // And a good one still comes in.
    bench.sender(sender).send(&[0x81], &with_crc(&good));
    expect("data", bench.receive(card)?, good)?;
    expect("the light", bench.get(card, BOARD_SPECIAL + register::LED), 0)?;
    expect("status", bench.get(card, BOARD_SPECIAL + register::ISR) & isr::RECV, 0)
}

/// Both cards send at once, as much as a packet holds: all of each link is in use both ways, and the
/// processors wait for memory.
pub fn both_ways(image: &Image) -> Result<(), Trouble> {
    let mut bench = pair(image)?;
    let mut random = Random::new(9);
    let packets = [(1, 0), (0, 1)].map(|(to, from)| {
        let bytes: Vec<u8> = (0..65520).map(|_| random.next_u64() as u8).collect();
        packet(to, from, &bytes)
    });
    for (node, packet) in packets.iter().enumerate() {
        bench.ask(node, packet);
    }
    for node in 0..2 {
        expect("data", bench.receive(node)? == packets[1 - node], true)?;
        let counters = bench.card(node).core().counters();
        expect("waits for memory", counters.memory_waits > 0, true)?;
    }
    Ok(())
}

/// Function, file and line of the fault that a control program runs into when it receives.
pub fn place_of_fault(image: &Image) -> Result<(String, String, u32), Box<dyn Error>> {
    use object::{Object, ObjectSection};
    let mut bench = pair(image)?;
    let trouble = round(&mut bench, b"whatever").err();
    let Some(myrinet::Stopped::Fault(fault)) = bench.card(1).stopped() else {
        return Err(format!("no fault, but {trouble:?}").into());
    };
    let function = image.function(fault.pc).ok_or("no function")?.name.clone();
    let file = object::File::parse(&*image.elf)?;
    let dwarf = gimli::Dwarf::load(|id| {
        let section = file.section_by_name(id.name());
        let data = section.map(|section| section.data().unwrap()).unwrap_or(&[]);
        Ok::<_, gimli::Error>(gimli::EndianSlice::new(data, gimli::RunTimeEndian::Big))
    });
    let context = addr2line::Context::from_dwarf(dwarf.unwrap()).unwrap();
    let place = context.find_location(fault.pc.into()).unwrap().ok_or("no line")?;
    Ok((function, place.file.unwrap().to_owned(), place.line.unwrap()))
}

/// Sixteen cards behind three switches in a row, with routes from the topology. Everybody sends to the
/// next one, and then all to the first. When everything was done.
pub fn sixteen_cards(image: &Image) -> Result<Time, Trouble> {
    const CARDS: usize = 16;
    let (mut bench, mut topology) = (Bench::new(&link()), Topology::new());
    let cards: Vec<usize> = (0..CARDS).map(|_| bench.add_card(link())).collect();
    let switches = [0; 3].map(|_: u8| bench.add(switch()));
    let mut cable = |a: End, b: End| {
        let place = |end| match end {
            End::Card(node) => (cards[node], 0),
            End::Port(switch, port) => (switches[switch], port),
        };
        topology.connect(a, b);
        bench.connect(place(a), place(b));
    };
    for card in 0..CARDS {
        // Six at both ends, four in the middle.
        let (switch, port) = [(0, card), (1, card.wrapping_sub(6)), (2, card.wrapping_sub(10))]
            [usize::from(card >= 6) + usize::from(card >= 10)];
        cable(End::Card(card), End::Port(switch, port));
    }
    cable(End::Port(0, 7), End::Port(1, 7));
    cable(End::Port(1, 6), End::Port(2, 7));
    let mut routes = Vec::new();
    for from in 0..CARDS {
        bench.boot(from, image)?;
        for to in 0..CARDS {
            let route = topology.route(from, to).ok_or(Trouble::NoRoute)?;
            bench.set_route(from, to as u32, &route);
            routes.push((from, route));
        }
    }
    check_routes(&topology, &routes).map_err(Trouble::Deadlock)?;
    let own = |from: usize, to: usize| packet(to as u16, from as u16, &[from as u8; 100]);
    for from in 0..CARDS {
        bench.ask(from, &own(from, (from + 1) % CARDS));
    }
    for from in 0..CARDS {
        let to = (from + 1) % CARDS;
        expect("data", bench.receive(to)?, own(from, to))?;
    }
    for from in 1..CARDS {
        bench.ask(from, &own(from, 0));
    }
    let mut left: Vec<Vec<u8>> = (1..CARDS).map(|from| own(from, 0)).collect();
    while !left.is_empty() {
        let found = bench.receive(0)?;
        let place =
            left.iter().position(|packet| *packet == found).ok_or(Trouble::UnknownPacket)?;
        left.remove(place);
    }
    Ok(bench.now)
}
