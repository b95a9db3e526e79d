//! The bus at its pins against the bus by transactions: the same bytes in the same cycles; and bugs
//! planted at the pins are found.

mod bench;

use bench::{Bench, REGION, REGION_BYTES};
use bus::Memory;
use des::Random;
use pci::pins::{transfers, Analyser, Board, Mutant, Waves};
use pci::{
    Agent, Burst, ConfigSpace, Cycle, HostRead, Monitor, Params, Phase, Protocol, Violation,
};

fn kinds() -> [Params; 7] {
    [
        Params::pcix_64_100(),
        Params { completion_blocks: 2, splits_max: 2, ..Params::pcix_64_100() },
        Params { width: 4, ..Params::pcix_64_100() },
        Params::pci_64_66(),
        Params::extender(),
        Params::pci_32_33(),
        Params { burst_words: 3, ..Params::pci_32_33() },
    ]
}

/// A run by transactions: all cycles, and what was there before and after them.
struct Played {
    bench: Bench,
    before: Memory,
    /// Levels that the chips wanted at the interrupt line, a bit a slot.
    interrupts: Vec<u8>,
    /// The line's level in each cycle.
    line: Vec<bool>,
}

impl Played {
    fn clock(&mut self) {
        let level = |(slot, chip): (usize, &bench::Chip)| u8::from(chip.interrupt) << slot;
        self.interrupts.push(self.bench.chips.iter().enumerate().map(level).sum());
        self.bench.clock();
        self.line.push(self.bench.bus.bridge.interrupt());
    }
}

/// Transfers of two chips from and to anywhere, and the host's accesses in between: bursts, reads, some of
/// an address that nobody has, some to a busy chip.
fn play(params: Params, seed: u64) -> Played {
    let mut random = Random::new(seed);
    let mut bench = Bench::new(params, 2);
    for word in 0..0x2000_u64 {
        let value = (word ^ seed << 32).to_le_bytes();
        bench.bus.bridge.memory.write(8 * word, &value).expect("it is memory");
    }
    let booted = bench.cycles.len();
    let before = bench.bus.bridge.memory.clone();
    let (interrupts, line) = (vec![0; booted], vec![false; booted]);
    let mut played = Played { bench, before, interrupts, line };
    for slot in 0..2_u64 {
        for tag in 0..5 {
            let most = if random.below(2) == 0 { 20 } else { 1200 };
            let (len, at) = (1 + random.below(most) as u16, random.below(0x4000));
            let chip = &mut played.bench.chips[slot as usize];
            if random.below(2) == 0 {
                chip.read_bytes(at, len, tag);
            } else {
                let data: Vec<u8> = (0..len).map(|_| random.next_u64() as u8).collect();
                let to = 0x4_0000 + slot * 0x2_0000 + u64::from(tag) * 0x2000 + at % 64;
                chip.write_bytes(to, &data);
            }
        }
        if random.below(4) == 0 {
            let to = if random.below(2) == 0 { 0x8000_0000 } else { 0x1_0000_0000 };
            played.bench.chips[slot as usize].write(to, vec![1]);
        }
    }
    for token in 0..60 {
        let bridge = &mut played.bench.bus.bridge;
        let register = REGION + 8 * random.below(0x300);
        match random.below(6) {
            0 => {
                let enables = [0xFF, 0x0F, 0xF0][random.below(3) as usize];
                bridge.read(HostRead::Memory { addr: register, enables }, token);
            }
            1 if random.below(8) == 0 => {
                bridge.read(HostRead::Memory { addr: 0xE000_0000, enables: 0xFF }, token);
            }
            2 => {
                bridge.read(HostRead::Config { slot: random.below(2) as u8, offset: 0 }, token);
            }
            _ => {
                let data = [(); 8].map(|()| random.next_u64());
                let words = 1 + random.below(8) as u8;
                bridge.post(&Burst { addr: register, data, enables: [0xFF; 8], words });
            }
        }
        for _ in 0..random.below(30) {
            let chips = &mut played.bench.chips;
            chips[0].busy = random.below(4) == 0;
            chips[0].flowing = random.below(3) != 0;
            for chip in chips.iter_mut() {
                chip.interrupt = random.below(20) == 0;
            }
            played.clock();
        }
        if random.below(20) == 0 {
            let until = played.bench.bus.now() + random.below(300);
            played.bench.bus.bridge.occupy_memory(until);
        }
    }
    for chip in &mut played.bench.chips {
        (chip.busy, chip.interrupt, chip.flowing) = (false, false, true);
    }
    let mut still = 0;
    while still < 200 {
        played.clock();
        let bench = &played.bench;
        let quiet = bench.bus.is_quiet() && bench.chips.iter().all(|c| c.script.is_empty());
        still = if quiet { still + 1 } else { 0 };
        assert!(
            played.line.len() < 100_000,
            "the bus never comes to rest: {params:?}, seed {seed}"
        );
    }
    played
}

/// The same at the pins.
fn board(played: &Played) -> Board {
    let params = *played.bench.bus.params();
    let pcix = params.protocol == Protocol::Pcix;
    let space = || ConfigSpace::new(0x10EE, 0x0300, 0x02_8000, REGION_BYTES, pcix);
    let spaces = vec![space(), space()];
    let mut board = Board::new(params, played.before.clone(), spaces, REGION_BYTES as usize);
    for transfer in transfers(&params, &played.bench.cycles) {
        board.plan(&transfer);
    }
    board
}

/// Runs a board as long as the transactions took, and returns the cycles seen at its pins, and the
/// violations of the rules.
fn run(board: &mut Board, played: &Played) -> (Vec<Cycle>, Vec<Violation>) {
    let params = *played.bench.bus.params();
    let (mut analyser, mut monitor) = (Analyser::new(params), Monitor::new(params));
    let (mut cycles, mut violations) = (Vec::new(), Vec::new());
    for (levels, line) in played.interrupts.iter().zip(&played.line) {
        (0..2).for_each(|slot| board.interrupt(slot, levels >> slot & 1 == 1));
        let lines = board.clock();
        assert_eq!(lines.interrupt(), *line, "INTA# in cycle {}", lines.number);
        match analyser.judge(&lines, &mut monitor) {
            Ok(cycle) => cycles.extend(cycle),
            Err(violation) => {
                cycles.push(violation.cycle);
                violations.push(violation);
            }
        }
    }
    (cycles, violations)
}

/// A cycle, except what one of the levels does not show: whose turn it may be next, lanes of AD that do not
/// move, and the code of the attributes.
fn essence(cycle: &Cycle) -> (u64, Phase, u64, u8) {
    let lanes = (0..8).filter(|lane| cycle.cbe >> lane & 1 == 1);
    let mask = lanes.fold(0, |mask, lane| mask | 0xFF << (8 * lane));
    let (ad, cbe) = match cycle.phase {
        Phase::Address { .. } => (cycle.ad, cycle.cbe),
        Phase::Data { .. } => (cycle.ad & mask, cycle.cbe),
        _ => (0, 0),
    };
    (cycle.number, cycle.phase, ad, cbe)
}

fn compare(board: &Board, played: &Played, cycles: &[Cycle], what: &str) {
    for (pins, bus) in cycles.iter().zip(&played.bench.cycles) {
        assert_eq!(essence(pins), essence(bus), "{what}");
    }
    let bridge = board.agent(Agent::Bridge);
    let memory = bridge.memory().expect("the bridge has it");
    assert!(memory.all() == played.bench.bus.bridge.memory.all(), "memory, {what}");
    for (slot, chip) in played.bench.chips.iter().enumerate() {
        let agent = board.agent(Agent::Device(slot as u8));
        let words = agent.registers().chunks_exact(8);
        let words = words.map(|word| u64::from_le_bytes(word.try_into().expect("eight bytes")));
        assert!(words.eq(chip.registers.iter().copied()), "registers of {slot}, {what}");
        if played.bench.bus.params().width == 8 {
            // Of PCI's reads the lines have no tag.
            let pcix = played.bench.bus.params().protocol == Protocol::Pcix;
            let tag = |tag: u8| if pcix { tag } else { 0 };
            let mask = |lanes: u8| {
                let lanes = (0..8).filter(move |lane| lanes >> lane & 1 == 1);
                lanes.fold(0_u64, |mask, lane| mask | 0xFF << (8 * lane))
            };
            let taken = agent.received();
            assert_eq!(taken.len(), chip.completions.len(), "reads of {slot}, {what}");
            for (pins, (_, bus)) in taken.iter().zip(&chip.completions) {
                let of_bus = (tag(bus.tag), bus.data & mask(pins.lanes));
                assert_eq!((pins.tag, pins.data & mask(pins.lanes)), of_bus, "{what}");
            }
        }
    }
}

#[test]
fn pins_move_the_same_bytes_in_the_same_cycles() {
    for params in kinds() {
        for seed in 0..12 {
            let played = play(params, seed);
            let mut board = board(&played);
            let (cycles, violations) = run(&mut board, &played);
            let what = format!("{params:?}, seed {seed}");
            assert!(violations.is_empty(), "{what}: {:#?}", violations[0]);
            assert!(board.is_done(), "{what}");
            compare(&board, &played, &cycles, &what);
        }
    }
}

#[test]
fn a_turned_wire_moves_the_same_wrong_byte_and_perr_tells() {
    let mut played =
        Played { before: Memory::new(0, bench::MEMORY_BYTES), ..play(Params::pcix_64_100(), 0) };
    played.bench = Bench::new(Params::pcix_64_100(), 2);
    assert!(played.bench.bus.bridge.store(REGION, &[0; 8]));
    // Address, attribute, four cycles of response.
    let at = played.bench.bus.now() + 6;
    played.bench.bus.flip(at, 5);
    for _ in 0..40 {
        let cycle = played.bench.bus.clock(&mut played.bench.chips);
        played.bench.cycles.push(cycle);
    }
    let cycles = played.bench.cycles.len();
    (played.interrupts, played.line) = (vec![0; cycles], vec![false; cycles]);
    // The bridge drives what it has; the wire turns it.
    let turned = std::mem::take(&mut played.bench.cycles);
    let driven =
        |cycle: &Cycle| Cycle { ad: cycle.ad ^ u64::from(cycle.number == at) << 5, ..*cycle };
    played.bench.cycles = turned.iter().map(driven).collect();
    let mut board = board(&played);
    played.bench.cycles = turned;
    board.flip(at, 5);
    let (cycles, violations) = run(&mut board, &played);
    assert_eq!(violations.len(), 1, "{violations:#?}");
    assert!(violations[0].rule.starts_with("parity"), "{violations:#?}");
    compare(&board, &played, &cycles, "a turned wire");
    assert_eq!(board.agent(Agent::Device(0)).registers()[0], 1 << 5);
}

/// All bugs, with a kind of bus on which each shows, and the agent that has it.
fn mutants() -> Vec<(Mutant, Agent, Params)> {
    use Mutant::*;
    let (pcix, pci) = (Params::pcix_64_100(), Params::pci_64_66());
    let (host, card) = (Agent::Bridge, Agent::Device(0));
    vec![
        (NoTurnAround, host, pci),
        (NoTurnAround, card, pcix),
        (TwoDrivers, card, pci),
        (TwoDrivers, host, pcix),
        (OddParity, card, pcix),
        (OddParity, host, pci),
        (EarlyParity, card, pcix),
        (IgnoresStop, card, pcix),
        (IgnoresStop, card, pci),
        (EarlyFrame, card, pcix),
        (EarlyFrame, host, pcix),
        (LateFrame, host, pcix),
        (LateFrame, card, pci),
        (ReleasesLow, card, pcix),
        (LateDevsel, card, pcix),
        (LateDevsel, host, pci),
        (EarlyTrdy, card, pcix),
        (BriefStop, host, pci),
        (BriefStop, card, pcix),
        (Ungranted, card, pcix),
        (Impatient, host, pcix),
        (UnsteadyIrdy, host, pcix),
        (NoAck64, card, pcix),
        (NoAck64, host, pci),
        (ActiveHighLanes, card, pcix),
        (NoPerr, card, pcix),
        (IdlePerr, card, pcix),
        (FloatingData, card, pcix),
        (WideDecode, card, pcix),
    ]
}

#[test]
fn what_is_planted_at_the_pins_is_found() {
    for (mutant, agent, params) in mutants() {
        let played = play(params, 3);
        let mut healthy = board(&played);
        let (cycles, _) = run(&mut healthy, &played);
        let mut board = board(&played);
        board.set_mutant(agent, mutant);
        let mut allowed = "";
        if mutant == Mutant::NoPerr {
            // Something to be silent about: a bit of a word that the host writes to the card.
            let word = |cycle: &&Cycle| {
                matches!(cycle.phase, Phase::Data { addr, .. } if addr >= REGION)
                    && played.bench.chips[0].written.iter().any(|(at, _)| *at == cycle.number)
            };
            let at = cycles.iter().find(word).expect("the host writes").number;
            board.flip(at, 3);
            allowed = "parity is even";
        }
        let (_, violations) = run(&mut board, &played);
        let found = violations.iter().find(|v| allowed.is_empty() || !v.rule.starts_with(allowed));
        let found = found.unwrap_or_else(|| panic!("{mutant:?} of {agent:?} is not found"));
        println!("{mutant:?} of {agent:?}: {found}");
    }
}

#[test]
fn waves_have_every_line_and_show_what_floats() {
    let played = play(Params::pcix_64_100(), 1);
    let mut board = board(&played);
    let mut waves = Waves::new(played.bench.bus.params(), 2);
    for _ in 0..400 {
        waves.push(&board.clock());
    }
    let text = waves.text();
    for name in ["CLK", "FRAME_n", "DEVSEL_n", "AD_high", "PAR64", "PERR_n", "INTA_n", "GNT1_n"] {
        assert!(text.contains(&format!(" {name} $end")), "{name}");
    }
    assert!(
        text.contains("\nbz ") && text.contains("#5000\n1!"),
        "10 ns a cycle, lines that float"
    );
}
