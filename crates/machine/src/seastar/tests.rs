//! A node after a shared boot is what it would be after its own.

use super::assembly::Parts;
use super::configure::Configuration;
use super::firmware::image::FirmwareImage;
use super::firmware::symbols::Symbols;
use super::node::{Boot, TAPED};
use crate::bench::{self, Common};
use crate::faults::Faults;
use crate::parameters::Parameters;
use crate::programs::Program;
use crate::run::Options;
use des::Time;
use std::path::Path;
use std::sync::Arc;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap()
}

/// What a test assembles nodes from, with settings of the machine.
struct Bench {
    common: Common,
    configuration: Configuration,
    image: FirmwareImage,
    symbols: Arc<Symbols>,
    options: Options,
}

impl Bench {
    fn new(settings: &[&str], park: bool) -> Bench {
        let mut parameters = Parameters::load(&root().join("machines/redstorm.toml")).unwrap();
        for setting in settings {
            parameters.set(setting).unwrap();
        }
        let firmware = root().join("build/firmware");
        let image = FirmwareImage::load(&firmware).expect("make parts builds the firmware");
        let symbols = Arc::new(Symbols::load(&image.elf).unwrap());
        let options = Options {
            parameters,
            program: Program::Executables(Vec::new()),
            ranks: 2,
            threads: 1,
            compute: rank::Compute::None,
            seed: 1,
            faults: Vec::new(),
            park,
            translate: true,
            merge: true,
            cold_boot: false,
            boots: None,
            profile: false,
            judge: true,
            pcap: None,
            watchers: Vec::new(),
            debugger: None,
            meter: false,
            firmware,
            library: "/proc/none".into(),
            until: None,
            stop: Arc::default(),
            writing: Arc::default(),
        };
        let mut common = Common::new(&options.parameters, 8).unwrap();
        let configuration = Configuration::new(&options.parameters, common.placement).unwrap();
        common.placement.ranks = 2 * common.placement.per_node;
        Bench { common, configuration, image, symbols, options }
    }
    /// They live as long as the test's process.
    fn parts(&self) -> Parts<'_> {
        let options: &Options = Box::leak(Box::new(self.options.clone()));
        let nodes = self.configuration.topology.nodes();
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
        let first = parts.boot().expect("this firmware's boot can be shared");
        let bytes = first.to_bytes(parts.not_booted()).expect("it can be kept");
        let boot = Arc::new(Boot::from_bytes(&bytes, parts.not_booted()).unwrap());
        assert!(boot.is_as(&first));
        assert!(!boot.is_as(&Boot::clone(&first).with_other_write()));
        // With a rank, without one, and ids of which each bit is set once; just after the boot and later.
        for (nid, later) in [(1, 0), (5, 0), (0x5a, 13_337), (0xffa5, 700_000_003)] {
            let at = Time(boot.until().0 + later);
            let mut cold = parts.cold(1, nid);
            cold.advance_alone(at);
            for (how, boot) in [("shared", &first), ("kept", &boot)] {
                let mut warm = parts.assemble(1, nid, |_| boot.parts(nid));
                assert!(warm.follow(boot), "node {nid}, {how}");
                warm.advance_alone(at);
                for (warm, cold) in warm.state().iter().zip(cold.state()) {
                    let what = cold.0;
                    assert!(*warm == cold, "{how}, node {nid} at {at}: {what}, park {park}");
                }
            }
        }
    }
}

#[test]
fn a_node_that_does_something_else_boots_by_itself() {
    let bench = Bench::new(&[], true);
    let parts = bench.parts();
    let other = Arc::new(Boot::clone(&parts.boot().unwrap()).with_other_write());
    let mut lost = parts.assemble(1, 1, |_| other.parts(1));
    assert!(!lost.follow(&other));
    let mut node = parts.node(1, Some(&other));
    let mut cold = parts.cold(1, 1);
    for node in [&mut node, &mut cold] {
        node.advance_alone(Time(500_000_000));
    }
    assert_eq!(node.state(), cold.state());
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

/// Bytes that are no boot are refused, or make one that nobody can tell from a boot.
#[test]
fn fuzz_bytes_of_boots() {
    let bench = Bench::new(&[], true);
    let parts = bench.parts();
    let bytes = parts.boot().unwrap().to_bytes(parts.not_booted()).unwrap();
    fuzz::Target::new("bytes of boots").few(32).seed(bytes).run(|bytes| {
        Boot::from_bytes(bytes, parts.not_booted());
    });
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().path()).collect()
}

#[test]
fn a_boot_is_kept_for_the_next_run_of_the_same_machine() {
    let folder = tempfile::tempdir().unwrap();
    let boots = folder.path().join("boots");
    let keeping = |settings: &[&str], park| {
        let mut bench = Bench::new(settings, park);
        bench.options.boots = Some(boots.clone());
        bench
    };
    let bench = keeping(&[], true);
    let first = bench.parts().boot().unwrap();
    let [file] = &files(&boots)[..] else { panic!("one file") };
    let whole = std::fs::read(file).unwrap();
    // The next run has what the file says, and nothing else.
    let modified = || std::fs::metadata(file).unwrap().modified().unwrap();
    let written = modified();
    assert!(keeping(&[], true).parts().boot().unwrap().is_as(&first));
    assert_eq!(modified(), written);
    // Bytes that are no boot, under the right name and checksum.
    let parts = bench.parts();
    let shelf = super::shelf::Shelf::new(&boots, &parts.boot_key()).unwrap();
    shelf.put(shelf.begin().unwrap(), &[1, 2, 3]);
    assert!(parts.boot().unwrap().is_as(&first));
    assert!(std::fs::read(file).unwrap() == whole, "the file is replaced");
    for damaged in [&whole[..whole.len() - 1], &whole[1..], b""] {
        std::fs::write(file, damaged).unwrap();
        assert!(parts.boot().unwrap().is_as(&first));
        assert!(std::fs::read(file).unwrap() == whole, "the file is replaced");
    }
    // What another boot depends on is another file; `--cold-boot` looks at none.
    let slow = keeping(&["nic.sram_read=31 ns"], true);
    let slow_boot = slow.parts().boot().unwrap();
    assert!(slow_boot.until() != first.until() || !slow_boot.is_as(&first));
    keeping(&[], false).parts().boot().unwrap();
    let mut image = bench.image.clone();
    *image.image.last_mut().unwrap() ^= 1;
    assert!(Parts { image: &image, ..parts }.boot().is_some());
    assert_eq!(files(&boots).len(), 4);
    let mut cold = keeping(&[], true);
    cold.options.cold_boot = true;
    assert!(cold.parts().boot().is_none());
}

#[test]
fn a_boot_that_cannot_be_shared_is_not_tried_again() {
    let folder = tempfile::tempdir().unwrap();
    let mut late = Bench::new(&["machine.launch=160 us"], true);
    late.options.boots = Some(folder.path().to_owned());
    for _ in 0..2 {
        assert!(late.parts().boot().is_none());
        assert_eq!(files(folder.path()).len(), 1);
    }
    let shelf = super::shelf::Shelf::new(folder.path(), &late.parts().boot_key()).unwrap();
    assert_eq!(shelf.take(), Some(Vec::new()));
}

#[test]
fn few_nodes_share_a_boot_only_where_it_can_be_kept() {
    let folder = tempfile::tempdir().unwrap();
    let few = |boots: Option<std::path::PathBuf>| {
        let mut bench = Bench::new(&[], true);
        bench.common = Common::new(&bench.options.parameters, 2).unwrap();
        let placement = bench.common.placement;
        bench.configuration = Configuration::new(&bench.options.parameters, placement).unwrap();
        bench.options.boots = boots;
        bench.parts().boot().is_some()
    };
    let file = folder.path().join("file");
    std::fs::write(&file, "").unwrap();
    assert!(!few(None));
    assert!(!few(Some(file.join("below"))));
    assert!(few(Some(folder.path().join("boots"))));
}
