//! Observers of a card, and what fails on it: set before the run.

use super::Station;
use crate::bypass::Bypass;
use crate::evidence::Evidence;
use crate::faults::Cable;
use crate::guest_calls::GuestCalls;
use crate::monitor::Desk;
use crate::observed::Teller;
use crate::wiretap::Wiretap;
use std::rc::Rc;

impl Station {
    /// Collects evidence from now on.
    pub fn set_evidence(&mut self, evidence: Option<Evidence>) {
        self.evidence = evidence.map(Box::new);
    }

    /// Its packets are captured.
    pub fn set_tap(&mut self, tap: Wiretap) {
        self.tap = Some(Box::new(tap));
    }

    /// The host is a guest with these calls.
    pub fn set_guest_calls(&mut self, calls: Rc<GuestCalls>) {
        self.calls = Some(calls);
    }

    /// The host is a guest whose processes send messages by themselves.
    pub fn set_bypass(&mut self, bypass: Rc<Bypass>) {
        self.bypass = Some(bypass);
    }

    /// Gives the cable faults.
    pub fn set_faults(&mut self, faults: Option<Cable>) {
        self.cable = faults.map(Box::new);
    }

    /// Tells of the processor from now on.
    pub fn set_teller(&mut self, teller: Option<Teller>) {
        self.teller = teller.map(Box::new);
    }

    /// Lets somebody look at the processor from now on.
    pub fn set_desk(&mut self, desk: Option<Desk>) {
        self.desk = desk.map(Box::new);
    }
}
