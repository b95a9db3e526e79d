//! Functions that move data.

use super::words::{id, md, wanted};
use super::{number, Answer, Bridge};
use abi::portals::{args, code};
use portals::{Atomic, Region, Target};

/// Target among arguments.
macro_rules! target {
    ($args:ident) => {
        Target {
            id: id($args.target_id),
            pt_index: $args.pt_index,
            ac_index: $args.ac_index,
            match_bits: $args.match_bits,
            offset: $args.remote_offset,
        }
    };
}

impl Bridge {
    pub(super) fn put(&self, args: &args::Put) -> Answer {
        let (ni, ack) = (self.open(code::MD_INVALID)?, wanted(args.ack_req));
        ni.put(md(args.md_handle), ack, target!(args), args.hdr_data).map_err(number)
    }

    pub(super) fn put_region(&self, args: &args::PutRegion) -> Answer {
        let (ni, ack) = (self.open(code::MD_INVALID)?, wanted(args.ack_req));
        let region = Region { offset: args.local_offset, length: args.length };
        let done = ni.put_region(md(args.md_handle), region, ack, target!(args), args.hdr_data);
        done.map_err(number)
    }

    pub(super) fn get(&self, args: &args::Get) -> Answer {
        self.open(code::MD_INVALID)?.get(md(args.md_handle), target!(args)).map_err(number)
    }

    pub(super) fn get_region(&self, args: &args::GetRegion) -> Answer {
        let ni = self.open(code::MD_INVALID)?;
        let region = Region { offset: args.local_offset, length: args.length };
        ni.get_region(md(args.md_handle), region, target!(args)).map_err(number)
    }

    pub(super) fn get_put(&self, args: &args::GetPut) -> Answer {
        self.atomic(Atomic::Swap, args)
    }

    pub(super) fn get_add(&self, args: &args::GetAdd) -> Answer {
        self.atomic(Atomic::Add, args)
    }

    fn atomic(&self, atomic: Atomic, args: &args::GetPut) -> Answer {
        let ni = self.open(code::MD_INVALID)?;
        let (get, put) = (md(args.get_md_handle), md(args.put_md_handle));
        ni.atomic(atomic, get, put, target!(args), args.hdr_data).map_err(number)
    }

    pub(super) fn compare_get_put(&self, args: &args::CGetPut) -> Answer {
        let ni = self.open(code::MD_INVALID)?;
        let (get, put) = (md(args.get_md_handle), md(args.put_md_handle));
        ni.atomic(Atomic::CompareSwap, get, put, target!(args), args.condition).map_err(number)
    }
}
