//! Calls that move data.

use super::{Ni, Target};
use crate::kernel::Call;
use crate::library::{AckRequest, Atomic, Error, MdHandle, Region};

impl Ni {
    /// PtlPut: sends all of `md`.
    pub fn put(
        &self,
        md: MdHandle,
        ack: AckRequest,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Error> {
        self.start_put(md, None, ack, target, hdr_data)
    }

    /// PtlPutRegion: sends a part of `md`.
    pub fn put_region(
        &self,
        md: MdHandle,
        region: Region,
        ack: AckRequest,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Error> {
        self.start_put(md, Some(region), ack, target, hdr_data)
    }

    fn start_put(
        &self,
        md: MdHandle,
        region: Option<Region>,
        ack: AckRequest,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Error> {
        let call = self.call(md, region, ack, target, hdr_data);
        self.cpu.spend(self.kernel.config.costs.api_call);
        self.await_room();
        // The firmware counts only what will be done.
        let nodes = self.kernel.config.nodes;
        match call.destination(nodes).is_ok() && self.with(|own| own.may_put(md, region)) {
            true => self.count_on_nic(md),
            false => self.sync_on_nic(),
        }
        self.library(|| self.kernel.put(&self.cpu, self.slot, &call))
    }

    /// PtlGet: fills all of `md`.
    pub fn get(&self, md: MdHandle, target: Target) -> Result<(), Error> {
        self.start_get(md, None, target)
    }

    /// PtlGetRegion: fills a part of `md`.
    pub fn get_region(&self, md: MdHandle, region: Region, target: Target) -> Result<(), Error> {
        self.start_get(md, Some(region), target)
    }

    fn start_get(&self, md: MdHandle, region: Option<Region>, target: Target) -> Result<(), Error> {
        let call = self.call(md, region, AckRequest::NoAck, target, 0);
        self.cpu.spend(self.kernel.config.costs.api_call);
        self.await_room();
        self.expect_on_nic(md);
        self.library(|| self.kernel.get(&self.cpu, self.slot, &call))
    }

    /// PtlGetPut, PtlCGetPut and PtlGetAdd: all of `put` is the operand, and what the target had goes to the
    /// beginning of `get`. `hdr_data` is the condition of `Atomic::CompareSwap`.
    pub fn atomic(
        &self,
        atomic: Atomic,
        get: MdHandle,
        put: MdHandle,
        target: Target,
        hdr_data: u64,
    ) -> Result<(), Error> {
        let call = self.call(put, None, AckRequest::NoAck, target, hdr_data);
        self.cpu.spend(self.kernel.config.costs.api_call);
        self.await_room();
        self.expect_on_nic(get);
        // The firmware counts only what will be done.
        let nodes = self.kernel.config.nodes;
        match call.destination(nodes).is_ok() && self.with(|own| own.may_begin(atomic, get, put)) {
            true => self.count_on_nic(put),
            false => self.sync_on_nic(),
        }
        self.library(|| self.kernel.atomic(&self.cpu, self.slot, &call, atomic, get))
    }

    fn call(
        &self,
        md: MdHandle,
        region: Option<Region>,
        ack: AckRequest,
        target: Target,
        hdr_data: u64,
    ) -> Call {
        Call {
            md,
            region,
            target: target.id,
            pt_index: target.pt_index,
            ac_index: target.ac_index,
            match_bits: target.match_bits,
            remote_offset: target.offset,
            hdr_data,
            ack,
            entered: self.cpu.now(),
        }
    }
}
