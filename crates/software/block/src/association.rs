//! Parameters that initiator and target agree on before the first request.

/// Bytes of an [`Association`] on its connection: little endian words.
pub const ASSOCIATION_BYTES: usize = 72;
const MARK: u64 = 0x4B53_4944_434F_5301;

/// Parameters of an end: those of the initiator are wishes, the target's answer is what both have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Association {
    /// Bytes of the disk.
    pub size: u64,
    /// Bytes of a request at most.
    pub request: u64,
    /// Bytes of a sector.
    pub sector: u64,
    /// Bytes that are read ahead.
    pub read_ahead: u64,
    /// Messages of a queue.
    pub depth: u64,
    /// Requests under way.
    pub slots: u64,
    /// First page of the queue to which the other side sends.
    pub queue: u64,
    /// First page of the buffers.
    pub pool: u64,
}

/// Wishes that a target does not grant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum GrantError {
    /// Sectors of another size.
    #[error("the initiator has sectors of {theirs} bytes, and disks of {own}")]
    Sectors { theirs: u64, own: u64 },
    /// More or fewer messages, or requests under way.
    #[error("initiator and target have queues of different lengths")]
    Queues,
}

impl Association {
    fn words(&self) -> [u64; ASSOCIATION_BYTES / 8] {
        let Association { size, request, sector, read_ahead, depth, slots, queue, pool } = *self;
        [MARK, size, request, sector, read_ahead, depth, slots, queue, pool]
    }
    /// Its bytes.
    pub fn emit(&self) -> Vec<u8> {
        self.words().iter().flat_map(|word| word.to_le_bytes()).collect()
    }
    /// The association of such bytes; none if they are none.
    pub fn parse(bytes: &[u8]) -> Option<Association> {
        let word = |at: usize| {
            let bytes = bytes.get(8 * at..8 * at + 8)?;
            Some(bytes.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)))
        };
        let whole = bytes.len() == ASSOCIATION_BYTES && word(0)? == MARK;
        whole.then_some(())?;
        Some(Association {
            size: word(1)?,
            request: word(2)?,
            sector: word(3)?,
            read_ahead: word(4)?,
            depth: word(5)?,
            slots: word(6)?,
            queue: word(7)?,
            pool: word(8)?,
        })
    }

    /// Answer of a target with these limits to an initiator's wishes.
    pub fn grant(&self, wanted: &Association) -> Result<Association, GrantError> {
        if wanted.sector != self.sector {
            let (theirs, own) = (wanted.sector, self.sector);
            return Err(GrantError::Sectors { theirs, own });
        }
        if (wanted.depth, wanted.slots) != (self.depth, self.slots) {
            return Err(GrantError::Queues);
        }
        Ok(Association {
            size: self.size.min(wanted.size),
            request: self.request.min(wanted.request),
            read_ahead: self.read_ahead.min(wanted.read_ahead),
            ..*self
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Association = Association {
        size: 1 << 40,
        request: 4096,
        sector: 512,
        read_ahead: 65536,
        depth: 32,
        slots: 16,
        queue: 3,
        pool: 5,
    };

    #[test]
    fn an_association_comes_back_as_it_was() {
        assert_eq!(Association::parse(&ONE.emit()), Some(ONE));
        assert_eq!(Association::parse(&ONE.emit()[1..]), None);
        assert_eq!(Association::parse(&[0; ASSOCIATION_BYTES]), None);
    }

    #[test]
    fn a_target_grants_what_both_have() {
        let wanted = Association { size: 1 << 20, request: 8192, queue: 7, ..ONE };
        let granted = ONE.grant(&wanted).unwrap();
        assert_eq!(granted, Association { size: 1 << 20, request: 4096, ..ONE });
        let queues = "initiator and target have queues of different lengths";
        for (wrong, sentence) in [
            (
                Association { sector: 4096, ..ONE },
                "the initiator has sectors of 4096 bytes, and disks of 512",
            ),
            (Association { slots: 8, ..ONE }, queues),
            (Association { depth: 8, ..ONE }, queues),
        ] {
            assert_eq!(ONE.grant(&wrong).unwrap_err().to_string(), sentence);
        }
    }
}
