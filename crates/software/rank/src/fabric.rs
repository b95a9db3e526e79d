//! A program's calls of libfabric, as the provider tells of them.

use abi::rank::{fabric_call as call, fabric_note as note};
use des::Duration;

/// Time of each call, beside the Portals calls that the provider makes in it. A row of a machine's
/// `[fabric.*]` each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A message without a tag.
    pub send: Duration,
    /// A receive for one.
    pub recv: Duration,
    /// A message with a tag.
    pub tsend: Duration,
    /// A receive for one.
    pub trecv: Duration,
    /// A write to remote memory.
    pub write: Duration,
    /// A read of it.
    pub read: Duration,
    /// An atomic operation on it.
    pub atomic: Duration,
    /// A read of a completion queue; looks that find nothing, one after the other, are one.
    pub cq_read: Duration,
    /// Each completion that it takes.
    pub completion: Duration,
    /// A call about a counter.
    pub cntr: Duration,
    /// A region of memory.
    pub mr_reg: Duration,
    /// Addresses.
    pub av_insert: Duration,
    /// Taking back a receive.
    pub cancel: Duration,
    /// Any other.
    pub call: Duration,
    /// Each kept message that a receive is compared with.
    pub unexpected_entry: Duration,
}

/// A function of libfabric.
#[derive(Clone, Copy, Debug)]
pub struct FabricCall {
    number: u32,
    name: &'static str,
    cost: fn(&Costs) -> Duration,
}

impl PartialEq for FabricCall {
    fn eq(&self, other: &FabricCall) -> bool {
        self.number == other.number
    }
}
impl Eq for FabricCall {}

/// Something that the provider says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FabricNote {
    /// The program calls a function.
    Begins(FabricCall),
    /// It returns, with so many completions.
    Ends(u64),
    /// A receive was posted that no message had come for.
    Posted,
    /// It has its message, or was cancelled.
    Unposted,
    /// A message has come for which none was posted.
    Kept,
    /// It is a receive's, or was thrown away.
    Claimed,
    /// So many kept messages were compared with a receive.
    Searched(u64),
    /// The provider has copied so many bytes.
    Copied(u64),
}

const fn row(number: u32, name: &'static str, cost: fn(&Costs) -> Duration) -> FabricCall {
    FabricCall { number, name, cost }
}

/// All, in the order of their numbers.
static CALLS: [FabricCall; 59] = [
    row(call::SEND, "fi_send", |costs| costs.send),
    row(call::SENDV, "fi_sendv", |costs| costs.send),
    row(call::SENDMSG, "fi_sendmsg", |costs| costs.send),
    row(call::INJECT, "fi_inject", |costs| costs.send),
    row(call::SENDDATA, "fi_senddata", |costs| costs.send),
    row(call::INJECTDATA, "fi_injectdata", |costs| costs.send),
    row(call::RECV, "fi_recv", |costs| costs.recv),
    row(call::RECVV, "fi_recvv", |costs| costs.recv),
    row(call::RECVMSG, "fi_recvmsg", |costs| costs.recv),
    row(call::TSEND, "fi_tsend", |costs| costs.tsend),
    row(call::TSENDV, "fi_tsendv", |costs| costs.tsend),
    row(call::TSENDMSG, "fi_tsendmsg", |costs| costs.tsend),
    row(call::TINJECT, "fi_tinject", |costs| costs.tsend),
    row(call::TSENDDATA, "fi_tsenddata", |costs| costs.tsend),
    row(call::TINJECTDATA, "fi_tinjectdata", |costs| costs.tsend),
    row(call::TRECV, "fi_trecv", |costs| costs.trecv),
    row(call::TRECVV, "fi_trecvv", |costs| costs.trecv),
    row(call::TRECVMSG, "fi_trecvmsg", |costs| costs.trecv),
    row(call::WRITE, "fi_write", |costs| costs.write),
    row(call::WRITEV, "fi_writev", |costs| costs.write),
    row(call::WRITEMSG, "fi_writemsg", |costs| costs.write),
    row(call::INJECT_WRITE, "fi_inject_write", |costs| costs.write),
    row(call::WRITEDATA, "fi_writedata", |costs| costs.write),
    row(call::INJECT_WRITEDATA, "fi_inject_writedata", |costs| costs.write),
    row(call::READ, "fi_read", |costs| costs.read),
    row(call::READV, "fi_readv", |costs| costs.read),
    row(call::READMSG, "fi_readmsg", |costs| costs.read),
    row(call::ATOMIC, "fi_atomic", |costs| costs.atomic),
    row(call::ATOMICV, "fi_atomicv", |costs| costs.atomic),
    row(call::ATOMICMSG, "fi_atomicmsg", |costs| costs.atomic),
    row(call::INJECT_ATOMIC, "fi_inject_atomic", |costs| costs.atomic),
    row(call::FETCH_ATOMIC, "fi_fetch_atomic", |costs| costs.atomic),
    row(call::FETCH_ATOMICV, "fi_fetch_atomicv", |costs| costs.atomic),
    row(call::FETCH_ATOMICMSG, "fi_fetch_atomicmsg", |costs| costs.atomic),
    row(call::COMPARE_ATOMIC, "fi_compare_atomic", |costs| costs.atomic),
    row(call::COMPARE_ATOMICV, "fi_compare_atomicv", |costs| costs.atomic),
    row(call::COMPARE_ATOMICMSG, "fi_compare_atomicmsg", |costs| costs.atomic),
    row(call::CQ_READ, "fi_cq_read", |costs| costs.cq_read),
    row(call::CQ_READFROM, "fi_cq_readfrom", |costs| costs.cq_read),
    row(call::CQ_READERR, "fi_cq_readerr", |costs| costs.cq_read),
    row(call::CQ_SREAD, "fi_cq_sread", |costs| costs.cq_read),
    row(call::CQ_SREADFROM, "fi_cq_sreadfrom", |costs| costs.cq_read),
    row(call::CQ_SIGNAL, "fi_cq_signal", |costs| costs.cq_read),
    row(call::CNTR_READ, "fi_cntr_read", |costs| costs.cntr),
    row(call::CNTR_READERR, "fi_cntr_readerr", |costs| costs.cntr),
    row(call::CNTR_ADD, "fi_cntr_add", |costs| costs.cntr),
    row(call::CNTR_SET, "fi_cntr_set", |costs| costs.cntr),
    row(call::CNTR_ADDERR, "fi_cntr_adderr", |costs| costs.cntr),
    row(call::CNTR_SETERR, "fi_cntr_seterr", |costs| costs.cntr),
    row(call::CNTR_WAIT, "fi_cntr_wait", |costs| costs.cntr),
    row(call::MR_REG, "fi_mr_reg", |costs| costs.mr_reg),
    row(call::MR_REGV, "fi_mr_regv", |costs| costs.mr_reg),
    row(call::MR_REGATTR, "fi_mr_regattr", |costs| costs.mr_reg),
    row(call::AV_INSERT, "fi_av_insert", |costs| costs.av_insert),
    row(call::AV_REMOVE, "fi_av_remove", |costs| costs.av_insert),
    row(call::CANCEL, "fi_cancel", |costs| costs.cancel),
    row(call::ENDPOINT, "fi_endpoint", |costs| costs.call),
    row(call::ENABLE, "fi_enable", |costs| costs.call),
    row(call::CLOSE, "fi_close", |costs| costs.call),
];

impl FabricCall {
    /// Number of those functions.
    pub const COUNT: usize = CALLS.len();

    /// The function of this number.
    fn of(number: u64) -> Option<FabricCall> {
        let place = usize::try_from(number).ok()?.checked_sub(1)?;
        CALLS.get(place).copied()
    }
    /// Its number.
    pub fn number(self) -> u32 {
        self.number
    }
    /// Its name.
    pub fn name(self) -> &'static str {
        self.name
    }
    /// Its time.
    pub fn cost(self, costs: &Costs) -> Duration {
        (self.cost)(costs)
    }
    /// True if it sends a message of its own.
    pub fn sends(self) -> bool {
        let receives = call::RECV..=call::RECVMSG;
        let receives_tagged = call::TRECV..=call::TRECVMSG;
        let number = self.number;
        number <= call::COMPARE_ATOMICMSG
            && !receives.contains(&number)
            && !receives_tagged.contains(&number)
    }
    /// True if that is for a receive.
    pub fn is_two_sided(self) -> bool {
        self.sends() && self.number <= call::TINJECTDATA
    }
}

impl FabricNote {
    /// The note of this number; `None` if no library says so.
    pub(crate) fn of(number: u16, argument: u64) -> Option<FabricNote> {
        Some(match number {
            note::BEGIN => FabricNote::Begins(FabricCall::of(argument)?),
            note::END => FabricNote::Ends(argument),
            note::POSTED => FabricNote::Posted,
            note::UNPOSTED => FabricNote::Unposted,
            note::KEPT => FabricNote::Kept,
            note::CLAIMED => FabricNote::Claimed,
            note::SEARCHED => FabricNote::Searched(argument),
            note::COPIED => FabricNote::Copied(argument),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_have_the_numbers_of_their_places() {
        for (place, call) in CALLS.iter().enumerate() {
            assert_eq!(call.number as usize, place + 1, "{}", call.name);
            assert_eq!(FabricCall::of(call.number.into()), Some(*call));
        }
        assert_eq!(FabricCall::of(0), None);
        assert_eq!(FabricCall::of(FabricCall::COUNT as u64 + 1), None);
        assert_eq!(FabricCall::of(u64::MAX), None);
    }

    #[test]
    fn calls_that_send_are_known() {
        let named = |name: &str| CALLS.iter().find(|call| call.name == name).unwrap();
        for name in ["fi_send", "fi_injectdata", "fi_tsend", "fi_tinjectdata"] {
            assert!(named(name).sends() && named(name).is_two_sided(), "{name}");
        }
        for name in ["fi_write", "fi_readmsg", "fi_compare_atomicmsg"] {
            assert!(named(name).sends() && !named(name).is_two_sided(), "{name}");
        }
        for name in ["fi_recv", "fi_recvmsg", "fi_trecv", "fi_trecvmsg", "fi_cq_read", "fi_close"] {
            assert!(!named(name).sends(), "{name}");
        }
    }

    #[test]
    fn what_no_provider_says_is_nothing() {
        assert_eq!(FabricNote::of(note::END, 3), Some(FabricNote::Ends(3)));
        assert_eq!(FabricNote::of(note::BEGIN, 0), None);
        assert_eq!(FabricNote::of(0, 0), None);
        assert_eq!(FabricNote::of(note::COPIED + 1, 0), None);
    }
}
