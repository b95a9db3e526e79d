//! The boot that all nodes of a run share, and later runs of the same machine too.

use super::assembly::Parts;
use super::firmware::image::FirmwareImage;
use super::node::{Boot, TAPED};
use super::shelf::Shelf;
use crate::digest::digest;
use crate::input;
use crate::parameters::Parameter;
use std::sync::Arc;

/// Nodes from which on a boot that is shared costs less than boots of their own.
const SHARED_FROM: u32 = 4;

impl Parts<'_> {
    /// The boot that all nodes share, if that is worth while and possible.
    pub(super) fn boot(&self) -> Option<Arc<Boot>> {
        if self.bench.options.cold_boot {
            return None;
        }
        let folder = self.bench.options.boots.as_deref();
        let shelf = folder.and_then(|folder| Shelf::new(folder, &self.boot_key()));
        if let Some(bytes) = shelf.as_ref().and_then(Shelf::take) {
            // A boot that cannot be shared is kept as nothing.
            match Boot::from_bytes(&bytes, self.not_booted()) {
                None if !bytes.is_empty() => {}
                boot => return boot.map(Boot::for_all),
            }
        }
        let file = shelf.as_ref().and_then(|shelf| Some((shelf, shelf.begin()?)));
        if file.is_none() && self.bench.nodes < SHARED_FROM {
            return None;
        }
        let bench = self.bench.without_ranks();
        let taping = Parts { bench: &bench, taping: true, ..*self };
        let boot = Boot::of(TAPED.map(|nid| taping.cold(0, nid)));
        if let Some((shelf, file)) = file {
            let bytes = boot.as_ref().map(|boot| boot.to_bytes(self.not_booted()));
            if let Some(bytes) = bytes.unwrap_or_else(|| Some(Vec::new())) {
                shelf.put(file, &bytes);
            }
        }
        boot.map(Boot::for_all)
    }

    /// Everything that a boot depends on but the simulator itself, a line each.
    pub(super) fn boot_key(&self) -> String {
        let FirmwareImage { elf, image, shim, .. } = self.image;
        let symbols = input::read(elf, input::WRITTEN_MAX).unwrap_or_default();
        let pools = self.bench.faults.pools(None);
        let mut key = format!("park {}\n{pools:?}\n", self.bench.options.park);
        for (what, bytes) in [("image", image), ("shim", shim), ("symbols", &symbols)] {
            key += &format!("{what} {} of {} bytes\n", digest(bytes), bytes.len());
        }
        for Parameter { key: name, text, .. } in self.bench.options.parameters.iter() {
            key += &format!("{name} = {text}\n");
        }
        key
    }

    /// What a boot that was kept is read into.
    pub(super) fn not_booted(&self) -> Boot {
        let nic = nic::SeaStar::new(&self.configuration.nic, TAPED[0]);
        let link = self.configuration.link.clone();
        Boot::not_yet(self.processor(), nic, link)
    }

    /// A processor in reset.
    pub(super) fn processor(&self) -> ppc440::Core {
        let mut core = ppc440::Core::new(&self.configuration.ppc440);
        core.set_parking(self.bench.options.park);
        if !self.bench.options.translate {
            core.set_translation(0);
        }
        core
    }
}
