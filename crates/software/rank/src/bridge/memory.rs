//! The program's memory: what calls read from it and leave in it. Layouts: `abi/portals/types.toml`.

use super::{Answer, Bridge};
use abi::portals::{code, event, handle, md, ni_limits, process_id};
use portals::{EqHandle, Event, Limits, Md, NiFail, ProcessId};

impl Bridge {
    pub(super) fn read(&self, address: u64, bytes: &mut [u8]) -> Answer {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.read(self.space, address, bytes).map_err(|_| code::SEGV)
    }

    pub(super) fn write(&self, address: u64, bytes: &[u8]) -> Answer {
        let mut memory = self.cpu.memory().borrow_mut();
        memory.write(self.space, address, bytes).map_err(|_| code::SEGV)
    }

    /// Fails if a result cannot be left at any of `addresses`: to be called before anything is done.
    pub(super) fn writable(&self, addresses: &[u64]) -> Answer {
        let mut byte = [0];
        addresses.iter().try_for_each(|address| {
            self.read(*address, &mut byte)?;
            self.write(*address, &byte)
        })
    }

    pub(super) fn write_word(&self, address: u64, word: u32) -> Answer {
        self.write(address, &word.to_le_bytes())
    }

    pub(super) fn write_id(&self, address: u64, id: ProcessId) -> Answer {
        let mut bytes = [0; process_id::SIZE];
        put(&mut bytes, process_id::NID, id.nid);
        put(&mut bytes, process_id::PID, id.pid);
        self.write(address, &bytes)
    }

    pub(super) fn write_limits(&self, address: u64, limits: Limits) -> Answer {
        let mut bytes = [0; ni_limits::SIZE];
        for (offset, limit) in [
            (ni_limits::MAX_MES, limits.max_mes),
            (ni_limits::MAX_MDS, limits.max_mds),
            (ni_limits::MAX_EQS, limits.max_eqs),
            (ni_limits::MAX_AC_INDEX, limits.max_ac_index),
            (ni_limits::MAX_PT_INDEX, limits.max_pt_index),
            (ni_limits::MAX_MD_IOVECS, limits.max_md_iovecs),
            (ni_limits::MAX_ME_LIST, limits.max_me_list),
            (ni_limits::MAX_GETPUT_MD, limits.max_getput_md),
        ] {
            put(&mut bytes, offset, limit);
        }
        self.write(address, &bytes)
    }

    /// The descriptor that a call is given. Unlike MPI's buffers, which are used at once, its memory is
    /// looked at anew: that it has gone is told by the call.
    pub(super) fn read_md(&self, address: u64) -> Result<Md, i32> {
        let mut bytes = [0; md::SIZE];
        self.read(address, &mut bytes)?;
        for space in [Some(self.space), self.in_kernel].into_iter().flatten() {
            self.cpu.memory().borrow_mut().distrust(space);
        }
        Ok(Md {
            start: long(&bytes, md::START),
            length: long(&bytes, md::LENGTH),
            threshold: word(&bytes, md::THRESHOLD) as i32,
            max_size: long(&bytes, md::MAX_SIZE),
            options: word(&bytes, md::OPTIONS),
            user_ptr: long(&bytes, md::USER_PTR),
            eq: queue(word(&bytes, md::EQ_HANDLE)),
        })
    }

    pub(super) fn write_md(&self, address: u64, described: &Md) -> Answer {
        let mut bytes = [0; md::SIZE];
        put_md(&mut bytes, described);
        self.write(address, &bytes)
    }

    pub(super) fn write_event(&self, address: u64, happened: &Event) -> Answer {
        let mut bytes = [0; event::SIZE];
        let words = [
            (event::TYPE, happened.kind as u32),
            (event::INITIATOR + process_id::NID, happened.initiator.nid),
            (event::INITIATOR + process_id::PID, happened.initiator.pid),
            (event::UID, happened.uid),
            (event::JID, happened.jid),
            (event::PT_INDEX, happened.pt_index),
            (event::MD_HANDLE, happened.md_handle.raw()),
            (event::LINK, happened.link as u32),
            (event::NI_FAIL_TYPE, u32::from(happened.fail == NiFail::Fail)),
            (event::SEQUENCE, happened.sequence as u32),
        ];
        let longs = [
            (event::MATCH_BITS, happened.match_bits),
            (event::RLENGTH, happened.rlength),
            (event::MLENGTH, happened.mlength),
            (event::OFFSET, happened.offset),
            (event::HDR_DATA, happened.hdr_data),
        ];
        for (offset, word) in words {
            put(&mut bytes, offset, word);
        }
        for (offset, long) in longs {
            put_long(&mut bytes, offset, long);
        }
        put_md(&mut bytes[event::MD..], &happened.md);
        self.write(address, &bytes)
    }
}

/// The queue that a descriptor or call names, if it names one.
pub(super) fn queue(raw: u32) -> Option<EqHandle> {
    (raw != handle::EQ_NONE).then_some(EqHandle::from_raw(raw))
}

fn put_md(bytes: &mut [u8], described: &Md) {
    put_long(bytes, md::START, described.start);
    put_long(bytes, md::LENGTH, described.length);
    put(bytes, md::THRESHOLD, described.threshold as u32);
    put_long(bytes, md::MAX_SIZE, described.max_size);
    put(bytes, md::OPTIONS, described.options);
    put_long(bytes, md::USER_PTR, described.user_ptr);
    put(bytes, md::EQ_HANDLE, described.eq.map_or(handle::EQ_NONE, EqHandle::raw));
}

fn put(bytes: &mut [u8], offset: usize, word: u32) {
    bytes[offset..offset + 4].copy_from_slice(&word.to_le_bytes());
}

fn put_long(bytes: &mut [u8], offset: usize, long: u64) {
    bytes[offset..offset + 8].copy_from_slice(&long.to_le_bytes());
}

pub(super) fn word(bytes: &[u8], offset: usize) -> u32 {
    u32::from_le_bytes(bytes[offset..offset + 4].try_into().expect("four bytes"))
}

fn long(bytes: &[u8], offset: usize) -> u64 {
    u64::from_le_bytes(bytes[offset..offset + 8].try_into().expect("eight bytes"))
}
