//! Each bug that can be planted in card, links, switches and control program is found by what the others
//! pass.

use crate::crossbar::{self, Traffic};
use crate::trouble::Trouble;
use crate::{beats, bench, card, story};
use des::Duration;
use lanai_link::Image;
use myrinet::{set_mutant, Mutant, Params};
use std::panic::{catch_unwind, AssertUnwindSafe};

/// The first thing that goes wrong; none if all is well.
fn verdict(bug: Option<Mutant>, image: &Image) -> Option<String> {
    set_mutant(bug);
    let tried = catch_unwind(AssertUnwindSafe(|| try_all(image)));
    set_mutant(None);
    match tried {
        Ok(result) => result.err().map(|trouble| trouble.to_string()),
        Err(panic) => {
            let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
            Some(text.or(panic.downcast_ref::<String>().cloned()).unwrap())
        }
    }
}

fn try_all(image: &Image) -> Result<(), Trouble> {
    for seed in 0..6 {
        crossbar::run(&Traffic {
            seed,
            delay: Duration::from_ns(200),
            pause: Duration::from_ns(2000),
            packets: 60,
            longest: 1500,
        })?;
    }
    let one = || {
        let mut bench = bench::Bench::new(&Params::new(Duration::from_ns(50)));
        bench.add_card(Params::new(Duration::from_ns(50)));
        bench
    };
    card::chain(&mut one())?;
    card::interrupts(&mut one())?;
    beats::silence(false, Duration::from_us(33), Duration::from_ns(50))?;
    story::ping_pong(image)?;
    story::foreign_packets(image)
}

const BUGS: [Mutant; 14] = [
    Mutant::RouteByteStays,
    Mutant::OldCrc,
    Mutant::HealsCrc,
    Mutant::LateStop,
    Mutant::NoGo,
    Mutant::KeepsOutput,
    Mutant::AbsoluteRoute,
    Mutant::CoversRoute,
    Mutant::TrustsCrc32,
    Mutant::IgnoresLimit,
    Mutant::OneBlock,
    Mutant::LosesHigh,
    Mutant::IgnoresMask,
    Mutant::Deaf,
];

#[test]
fn bugs_of_card_and_network_are_found() {
    let image = bench::cards::control_program(0);
    assert_eq!(verdict(None, &image), None, "without a bug");
    for bug in BUGS {
        let found = verdict(Some(bug), &image);
        println!("{bug:?}: {}", found.as_deref().unwrap_or("not found"));
        assert!(found.is_some(), "{bug:?} is not found");
    }
}

/// Bugs of the control program, by their number, and the failures by which they are found.
#[test]
fn bugs_of_the_control_program_are_found() {
    let found_by = [
        "no terminal bit",
        "length: 20, and not 24",
        "a packet of another type does not come",
        "status: 1, and not 0",
        "a packet with a wrong CRC-32 does not come",
        "a packet with a wrong CRC-32 does not come",
        "store into the guard region at 0x040008",
    ];
    for (bug, by) in (1..).zip(found_by) {
        let image = bench::cards::control_program(bug);
        let found = story::ping_pong(&image).err().or_else(|| story::foreign_packets(&image).err());
        println!("{bug}: {found:?}");
        let found = found.unwrap_or_else(|| panic!("bug {bug} is not found")).to_string();
        assert!(found.contains(by), "bug {bug} is found by: {found}");
    }
}
