//! Hardware that is there twice, as model and as RTL: the run has the one or the other, and cannot tell.

use super::settings::Settings;
use super::waveform::{NoWave, Waveform};
use crossbar::{Counters, PORTS_MAX};
use des::Time;
use forth_nic::{Arrival, HostCounters, LinkCounters, Transceiver};
use machine::console;
use machine::Options;
use pci::{Device, DeviceIn, DeviceOut};
use rtl::{Captured, DesignPaths, NicDesign, RecordError, Sign, SwitchDesign, Unbuilt};
use serial::{Elastic, LinkRx, Symbol, Symbols, Word};
use std::sync::Arc;

/// Parts of a run that are RTL, compiled.
#[derive(Debug, Default)]
pub(super) struct Designs {
    nic: Option<NicDesign>,
    switch: Option<SwitchDesign>,
    /// Waveform of a card, if one was asked for.
    pub wave: Option<Arc<Waveform>>,
}

impl Designs {
    /// Compiles what the parameters want.
    pub fn of(options: &Options, s: &Settings, launch: Time) -> Result<Designs, NoDesign> {
        let (p, mut designs) = (&options.parameters, Designs::default());
        let place = &DesignPaths {
            root: options.places.root.clone(),
            built: options.places.built.clone(),
            told: console::say_on_terminal,
        };
        if crate::rows::Card::of(p).rtl {
            designs.nic = Some(NicDesign::build(place, &s.nic(0))?);
        }
        if let Some(wave) = &options.rtl.wave {
            if designs.nic.is_none() {
                return Err(NoDesign::NoRtl);
            }
            designs.wave = Some(Arc::new(Waveform::of(wave, s, launch, place)?));
        }
        if let Some(params) = s.crossbar.filter(|_| crate::rows::Switch::of(p).rtl) {
            designs.switch = Some(SwitchDesign::build(place, &params)?);
        }
        Ok(designs)
    }

    /// A NIC.
    pub fn nic(&self, params: forth_nic::Params) -> Chip {
        match self.nic {
            Some(design) => {
                let words = Box::new(LinkRx::new(params.lanes));
                let mut nic = rtl::Nic::new(design, &params);
                if let Some(wave) = &self.wave {
                    wave.record(&mut nic, &params);
                }
                Chip::Rtl(nic, words)
            }
            None => Chip::Model(Box::new(forth_nic::Nic::new(params))),
        }
    }
    /// A crossbar.
    pub fn crossbar(&self, params: crossbar::Params) -> Crossbar {
        match self.switch {
            Some(design) => Crossbar::Rtl(rtl::Switch::new(design)),
            None => Crossbar::Model(Box::new(crossbar::Switch::new(params))),
        }
    }
}

/// Reason for which parts that are to be RTL are not there.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoDesign {
    #[error("nic.rtl and switch.rtl (--rtl): {0}")]
    Unbuilt(#[from] Unbuilt),
    #[error("--rtl-wave shows a card that is RTL: set nic.rtl=on")]
    NoRtl,
    #[error(transparent)]
    Wave(#[from] NoWave),
}

/// A NIC.
pub(super) enum Chip {
    Model(Box<forth_nic::Nic>),
    /// With what pairs the halves of words as it does inside, for who observes.
    Rtl(rtl::Nic, Box<LinkRx>),
}

/// A crossbar with its lanes.
pub(super) enum Crossbar {
    Model(Box<crossbar::Switch>),
    Rtl(rtl::Switch),
}

/// The same of both.
macro_rules! either {
    ($self:ident, $part:ident => $what:expr) => {
        match $self {
            Self::Model($part, ..) => $what,
            Self::Rtl($part, ..) => $what,
        }
    };
}

impl Chip {
    pub fn link_clock(&mut self, symbols: Symbols) -> Symbols {
        if let Chip::Rtl(nic, words) = self
            && !nic.lanes_are_held()
        {
            words.clock(symbols);
        }
        either!(self, nic => nic.link_clock(symbols))
    }
    /// The word that came with the last edge of the lanes.
    pub fn word(&self) -> Option<Word> {
        match self {
            Chip::Model(nic) => nic.word(),
            Chip::Rtl(_, words) => words.word(),
        }
    }
    pub fn arrival(&self) -> Option<Arrival> {
        either!(self, nic => nic.arrival())
    }
    pub fn host_counters(&self) -> HostCounters {
        match self {
            Chip::Model(nic) => *nic.host_counters(),
            Chip::Rtl(nic, _) => nic.host_counters(),
        }
    }
    pub fn link_counters(&self) -> LinkCounters {
        either!(self, nic => nic.link_counters())
    }
    pub fn outstanding(&self, flow: u8) -> u16 {
        either!(self, nic => nic.outstanding(flow))
    }
    /// Edges of the bus's clock, or of the lanes', were left out.
    pub fn pass(&mut self, lanes: bool, edges: u64) {
        either!(self, nic => nic.pass(lanes, edges));
    }
    /// Edges from now on are at `now`, for waveforms.
    pub fn set_time(&mut self, now: Time) {
        if let Chip::Rtl(nic, _) = self {
            nic.set_time(now.0);
        }
    }
    /// Something has been that the card's ports do not show, for waveforms.
    pub fn sign(&mut self, sign: Sign, now: Time) {
        if let Chip::Rtl(nic, _) = self {
            nic.sign(sign, now.0);
        }
    }
    /// Ends the recording, if there is one, at the end of the run.
    pub fn recorded(&mut self) -> Result<Option<Captured>, RecordError> {
        match self {
            Chip::Model(_) => Ok(None),
            Chip::Rtl(nic, _) => nic.recorded(),
        }
    }
    /// Passes on the counts of the transceivers.
    pub fn set_transceivers(&mut self, lanes: &[Elastic]) {
        for (place, lane) in lanes.iter().enumerate() {
            let (dropped, repeated) = lane.corrections();
            let corrections = dropped + repeated;
            let status = Transceiver { buffer_errors: lane.errors(), corrections };
            either!(self, nic => nic.set_transceiver(place, status));
        }
    }
    pub fn bus_rests(&self) -> bool {
        either!(self, nic => nic.bus_rests())
    }
    pub fn lanes_rest(&self) -> bool {
        either!(self, nic => nic.lanes_rest())
    }
}

impl Device for Chip {
    fn outputs(&self) -> DeviceOut {
        either!(self, nic => nic.outputs())
    }
    fn clock(&mut self, inputs: &DeviceIn) {
        either!(self, nic => nic.clock(inputs));
        if let Chip::Rtl(nic, words) = self
            && nic.lanes_are_held()
        {
            words.clear();
        }
    }
}

impl Crossbar {
    pub fn clock(&mut self, symbols: &[Symbol]) -> [Symbol; PORTS_MAX] {
        either!(self, switch => switch.clock(symbols))
    }
    pub fn rests(&self) -> bool {
        either!(self, switch => switch.rests())
    }
    pub fn bond_errors(&self) -> u64 {
        either!(self, switch => switch.bond_errors())
    }
    /// The inside, if it is the model: the RTL does not count how long packets take.
    pub fn model(&self) -> Option<&crossbar::Crossbar> {
        match self {
            Crossbar::Model(switch) => Some(&switch.crossbar),
            Crossbar::Rtl(_) => None,
        }
    }
    pub fn counters(&self) -> Counters {
        match self {
            Crossbar::Model(switch) => switch.crossbar.counters(),
            Crossbar::Rtl(switch) => switch.counters(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_for_no_design_is_one_sentence() {
        for (reason, sentence) in [
            (
                NoDesign::from(Unbuilt::Files("no room".into())),
                "nic.rtl and switch.rtl (--rtl): RTL cannot be compiled: no room",
            ),
            (NoDesign::NoRtl, "--rtl-wave shows a card that is RTL: set nic.rtl=on"),
            (
                NoWave::from(Unbuilt::Files("no room".into())).into(),
                "--rtl-wave: RTL cannot be compiled: no room",
            ),
        ] {
            assert_eq!(reason.to_string(), sentence);
        }
    }
}
