//! Software of a host.

use crate::programs::Ranks;
use des::Time;
use host::Host;

/// Software of a host: its kernel and the ranks of the program, over Portals ([`Ranks`]) or over software of
/// a model's own.
pub trait Software {
    /// Starts it, at time 0: it is ready before `launch`, when the program itself starts.
    fn boot(&self, host: &mut Host, launch: Time);
    /// Part that is not ready for the launch, as "the kernel was"; none if all is ready.
    fn late(&self) -> Option<String>;
    /// The ranks of this node, in the order of its cores.
    fn ranks(&self) -> Vec<u32>;
    /// True once no rank of this node runs any more.
    fn all_ended(&self) -> bool;
    /// Ends of the ranks: rank, time, exit status.
    fn endings(&self) -> Vec<(u32, Time, i32)>;
    /// Exit status and sentence of the first rank that ended in a way that ends the run.
    fn failure(&self) -> Option<(i32, String)>;
    /// The same of the first rank whose process had ended when its memory was wanted.
    fn missed(&self) -> Option<(i32, String)> {
        None
    }
    /// Reasons for which the remaining ranks wait, a sentence each.
    fn waiting(&self) -> Vec<String>;
    /// Its counters for the report: by name.
    fn counters(&self) -> Option<(String, u64)> {
        None
    }
}

impl Software for Ranks {
    fn boot(&self, host: &mut Host, launch: Time) {
        Ranks::boot(self, host, launch);
    }
    fn late(&self) -> Option<String> {
        if self.booted() {
            return None;
        }
        Some(Ranks::late(self).unwrap_or_else(|| "the kernel was".into()))
    }
    fn ranks(&self) -> Vec<u32> {
        self.numbers()
    }
    fn all_ended(&self) -> bool {
        Ranks::all_ended(self)
    }
    fn endings(&self) -> Vec<(u32, Time, i32)> {
        Ranks::endings(self)
    }
    fn failure(&self) -> Option<(i32, String)> {
        Ranks::failure(self)
    }
    fn missed(&self) -> Option<(i32, String)> {
        Ranks::missed(self)
    }
    fn waiting(&self) -> Vec<String> {
        Ranks::waiting(self)
    }
    fn counters(&self) -> Option<(String, u64)> {
        Ranks::counters(self)
    }
}
