//! The rungs of the ladder: builds of the firmware.

use serde::Serialize;

/// A build of the firmware that the ladder measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Rung {
    /// Name in measurements and in JSON.
    pub key: &'static str,
    /// Difference from the full firmware, for people.
    pub title: &'static str,
    /// Caches: `none`, `i` or `id`.
    pub cache: &'static str,
    /// Inline messages.
    pub inline: bool,
    /// Cached copies of FIFO indices and counters.
    pub shadow_fifos: bool,
    /// Hot globals in registers.
    pub pinned_regs: bool,
    /// Trace points.
    pub trace: bool,
}

impl Rung {
    /// Settings of the machine's `firmware.*` parameters, as after `--set`. The published ladder is of
    /// generic processes, without recovery.
    pub fn settings(&self) -> [String; 7] {
        let switch = |name, on| format!("firmware.{name}={}", if on { "on" } else { "off" });
        [
            format!("firmware.cache={}", self.cache),
            switch("inline", self.inline),
            switch("shadow_fifos", self.shadow_fifos),
            switch("pinned_regs", self.pinned_regs),
            switch("trace", self.trace),
            "firmware.accelerated=0".to_string(),
            "firmware.overflow=panic".to_string(),
        ]
    }
}

/// Firmware with all optimisations at the end of pedretti2005 s5.
pub const FULL: Rung = Rung {
    key: "full",
    title: "full firmware",
    cache: "id",
    inline: true,
    shadow_fifos: true,
    pinned_regs: true,
    trace: false,
};

/// First firmware, as far as the paper describes it.
pub const ORIGINAL: Rung = Rung {
    key: "original",
    title: "original: all off",
    cache: "none",
    inline: false,
    shadow_fifos: false,
    pinned_regs: false,
    trace: false,
};

/// The full firmware, and builds that differ from it in one option.
pub const ASIDE: [Rung; 7] = [
    FULL,
    Rung { key: "cache-i", title: "I cache only", cache: "i", ..FULL },
    Rung { key: "cache-none", title: "no caches", cache: "none", ..FULL },
    Rung { key: "inline-off", title: "inline messages off", inline: false, ..FULL },
    Rung { key: "shadow-off", title: "shadow FIFOs off", shadow_fifos: false, ..FULL },
    Rung { key: "pinned-off", title: "pinned registers off", pinned_regs: false, ..FULL },
    Rung { key: "trace-on", title: "tracing on", trace: true, ..FULL },
];

/// Builds from the original firmware to the full one, in the order of the paper's sections; the last step,
/// pinned registers, is [`FULL`].
pub const CLIMB: [Rung; 5] = [
    ORIGINAL,
    Rung { key: "climb-i", title: "+ I cache", cache: "i", ..ORIGINAL },
    Rung { key: "climb-id", title: "+ D cache", cache: "id", ..ORIGINAL },
    Rung { key: "climb-inline", title: "+ inline messages", cache: "id", inline: true, ..ORIGINAL },
    Rung {
        key: "climb-shadow",
        title: "+ shadow FIFOs",
        cache: "id",
        inline: true,
        shadow_fifos: true,
        ..ORIGINAL
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_rung_is_a_build_of_its_own() {
        // The last step of the climb but one is the full firmware without pinned registers.
        let rungs: Vec<Rung> = ASIDE.into_iter().chain(CLIMB).collect();
        let keys: BTreeSet<&str> = rungs.iter().map(|rung| rung.key).collect();
        assert_eq!(keys.len(), rungs.len());
        let builds: BTreeSet<[String; 7]> = rungs.iter().map(Rung::settings).collect();
        assert_eq!(builds.len(), rungs.len() - 1);
    }

    #[test]
    fn rungs_aside_differ_in_one_setting_and_steps_climb_by_one() {
        let different = |a: &Rung, b: &Rung| {
            a.settings().iter().zip(b.settings()).filter(|(a, b)| *a != b).count()
        };
        for rung in &ASIDE[1..] {
            assert_eq!(different(rung, &FULL), 1, "{rung:?}");
        }
        for pair in CLIMB.windows(2) {
            assert_eq!(different(&pair[0], &pair[1]), 1, "{pair:?}");
        }
        assert_eq!(different(&CLIMB[4], &FULL), 1);
    }
}
