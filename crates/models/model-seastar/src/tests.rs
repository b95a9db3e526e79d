//! A node after a shared boot is what it would be after its own.

use super::assembly::Parts;
use super::configure::Configuration;
use super::firmware::image::FirmwareImage;
use super::node::{advance_alone, follow, state, Boot, TAPED};
use des::Time;
use machine::bench::{self, Common};
use machine::faults::Faults;
use machine::firmware::symbols::Symbols;
use machine::models::Models;
use machine::parameters::Parameters;
use machine::programs::Program;
use machine::{Options, Places};
use std::path::Path;
use std::sync::Arc;

mod bell;
mod streams;

/// This model alone.
pub(crate) static MODELS: Models = Models::new(&[&crate::MODEL]);

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(3).unwrap()
}

/// Parts from which a test assembles nodes, with settings of the machine.
struct Bench {
    common: Common,
    configuration: Configuration,
    image: FirmwareImage,
    symbols: Arc<Symbols>,
    options: Options,
}

impl Bench {
    fn new(settings: &[&str], park: bool) -> Bench {
        let mut parameters =
            Parameters::load(&MODELS, &root().join("machines/redstorm.toml")).unwrap();
        for setting in settings {
            parameters.set(setting).unwrap();
        }
        let image = FirmwareImage::load(&root().join("build/firmware"))
            .expect("make parts builds the firmware");
        let symbols = Arc::new(Symbols::load(&image.elf).unwrap());
        let program = Program::Executables(Vec::new());
        let mut options = Options::new(parameters, program, 2, Places::of_repository(root()));
        options.shortcuts.park = park;
        options.observers.judge = true;
        let mut common = Common::new(&options.parameters, 8).unwrap();
        let configuration = Configuration::new(&options.parameters, common.placement).unwrap();
        common.placement.ranks = 2 * common.placement.per_node;
        Bench { common, configuration, image, symbols, options }
    }
    fn parts(&self) -> Parts<'_> {
        self.parts_of(self.configuration.network.topology.nodes())
    }
    /// They live as long as the test's process.
    fn parts_of(&self, nodes: u32) -> Parts<'_> {
        let options: &Options = Box::leak(Box::new(self.options.clone()));
        let bench = bench::Bench::new(options, self.common.clone(), nodes, Faults::default());
        let Bench { configuration, image, symbols, .. } = self;
        let bench = Box::leak(Box::new(bench.unwrap()));
        Parts { bench, configuration, image, symbols, taping: false }
    }
}

#[test]
fn a_node_after_the_shared_boot_is_as_after_its_own() {
    let slow = ["ppc440.clock=333 MHz", "nic.sram_read=31 ns", "host.mmio_write=7 ns"];
    let two = ["host.ranks_per_node=2"];
    for (settings, park) in [(&[][..], true), (&[], false), (&slow, true), (&two, true)] {
        let bench = Bench::new(settings, park);
        let parts = bench.parts();
        let boot = parts.boot().expect("this firmware's boot can be shared");
        // With a rank, without one, and ids of which each bit is set once; just after the boot and later.
        for (nid, later) in [(1, 0), (5, 0), (0x5a, 13_337), (0xffa5, 700_000_003)] {
            let at = Time(boot.until().0 + later);
            let mut cold = parts.cold(1, nid);
            advance_alone(&mut cold, at);
            let mut warm = parts.assemble(1, boot.parts(nid));
            assert!(follow(&mut warm, &boot), "node {nid}");
            advance_alone(&mut warm, at);
            for (warm, cold) in state(&mut warm).iter().zip(state(&mut cold)) {
                let what = cold.0;
                assert!(*warm == cold, "node {nid} at {at}: {what}, park {park}");
            }
        }
    }
}

/// The console of a switch has the same processor without a machine file's rows.
#[test]
fn the_processors_own_timing_is_that_of_red_storm() {
    let timing = Bench::new(&[], true).configuration.ppc440.timing;
    assert_eq!(timing, ppc440::Timing::POWERPC_440);
}

#[test]
fn a_node_that_does_something_else_boots_by_itself() {
    let bench = Bench::new(&[], true);
    let parts = bench.parts();
    let other = Arc::new(Boot::clone(&parts.boot().unwrap()).with_other_write());
    let mut lost = parts.assemble(1, other.parts(1));
    assert!(!follow(&mut lost, &other));
    let mut node = parts.node(1, Some(&other));
    let mut cold = parts.cold(1, 1);
    for node in [&mut node, &mut cold] {
        advance_alone(node, Time(500_000_000));
    }
    assert_eq!(state(&mut node), state(&mut cold));
}

#[test]
fn a_boot_that_differs_from_node_to_node_is_not_shared() {
    let bench = Bench::new(&[], true);
    let parts = bench.parts();
    let [a, b] = TAPED;
    let without = parts.bench.without_ranks();
    let alone = Parts { bench: &without, ..parts };
    assert!(Boot::of([alone.cold(0, a), alone.cold(0, b)]).is_some());
    // Something that was made of the id, and is no copy of it.
    assert!(Boot::of([alone.cold(0, a), alone.cold(0, b ^ 1)]).is_none());
    // An image with another byte at its end, which nobody executes.
    let mut image = bench.image.clone();
    *image.image.last_mut().unwrap() ^= 1;
    let changed = Parts { image: &image, ..alone };
    assert!(Boot::of([alone.cold(0, a), changed.cold(0, b)]).is_none());
    // Too late for the launch.
    let late = Bench::new(&["machine.launch=160 us"], true);
    assert!(late.parts().boot().is_none());
}

#[test]
fn few_nodes_boot_each_by_itself() {
    let of = |ranks, cold_boot| {
        let mut bench = Bench::new(&[], true);
        bench.common = Common::new(&bench.options.parameters, ranks).unwrap();
        let placement = bench.common.placement;
        bench.configuration = Configuration::new(&bench.options.parameters, placement).unwrap();
        bench.options.shortcuts.cold_boot = cold_boot;
        bench.parts().boot().is_some()
    };
    assert_eq!([of(2, false), of(8, false), of(8, true)], [false, true, false]);
}
