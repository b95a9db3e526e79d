//! The boot that all nodes of a run share.

use super::assembly::Parts;
use super::node::{Boot, TAPED};
use std::sync::Arc;

/// Nodes from which on a boot that is shared costs less than boots of their own.
const SHARED_FROM: u32 = 4;

impl Parts<'_> {
    /// The boot that all nodes share, if that is worth while and possible.
    pub(super) fn boot(&self) -> Option<Arc<Boot>> {
        if self.bench.options.shortcuts.cold_boot {
            return None;
        }
        if self.bench.nodes < SHARED_FROM {
            return None;
        }
        let bench = self.bench.without_ranks();
        let taping = Parts { bench: &bench, taping: true, ..*self };
        Boot::of(TAPED.map(|nid| taping.cold(0, nid))).map(Boot::for_all)
    }

    /// A processor in reset.
    pub(super) fn processor(&self) -> ppc440::Core {
        let mut core = ppc440::Core::new(&self.configuration.ppc440);
        core.set_idle_fast_forward(self.bench.options.shortcuts.park);
        if !self.bench.options.shortcuts.translate {
            core.set_translation(0);
        }
        core
    }
}
