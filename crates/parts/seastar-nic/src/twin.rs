//! The NICs of nodes that have booted alike.

use crate::SeaStar;
use bus::{Copy16, Memory};

impl SeaStar {
    /// Lets twins that are made from now on have what their SRAM has in common with this one's only once.
    pub fn share_sram(&mut self) {
        self.fabric.sram.share();
    }

    /// This NIC as that of another node: with that node's id in its own registers. SRAM is the firmware's.
    pub fn of_node(&self, nid: u16) -> SeaStar {
        let mut twin = self.clone();
        twin.control.nid = nid;
        twin.tx.set_nid(nid);
        twin
    }

    /// Places at which the SRAM of this NIC holds the node id `mine` and that of `other`, whose firmware
    /// has done the same, holds `theirs`; `None` if anything differs except these and the registers' node
    /// id.
    pub fn copies(&self, mine: u16, other: &SeaStar, theirs: u16) -> Option<Vec<Copy16>> {
        let (sram, others) = (self.fabric.sram.all(), other.fabric.sram.all());
        let copies = bus::copies(&sram, mine, &others, theirs)?;
        (self.rest() == other.rest()).then_some(copies)
    }

    /// Everything but the node's id and SRAM.
    fn rest(&self) -> String {
        let mut rest = self.of_node(0);
        rest.fabric.sram = Memory::new(0, 0);
        format!("{rest:?}")
    }

    /// Lets the copies in SRAM hold `nid`.
    pub fn set_copies(&mut self, copies: &[Copy16], nid: u16) {
        for copy in copies {
            copy.write_memory(&mut self.fabric.sram, nid);
        }
    }
}
