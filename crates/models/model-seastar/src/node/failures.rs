//! Failures that end the run: of the host's software, and verdicts of the judge.

use super::*;

impl Node {
    /// The first failure of fibres and ranks ends the run.
    pub(super) fn collect_failures(&mut self, now: Time) {
        if let Some(fault) = self.host.has_fault().then(|| self.host.fault()).flatten() {
            let sentence = format!("node {}: {fault}", self.ports.nid);
            self.ports.fail(fault.at, 1, sentence);
        }
        if let Some((code, sentence)) = self.ranks.failure() {
            self.ports.fail(now, code, sentence);
        }
    }

    /// A disagreement ends the run.
    #[inline(always)]
    pub(super) fn collect_verdict(&mut self) {
        if self.ports.observers.judge.is_some() {
            self.hear_judge();
        }
    }

    #[cold]
    fn hear_judge(&mut self) {
        let verdict = self.ports.observers.judge.as_ref().and_then(|judge| judge.verdict());
        if let Some(verdict) = verdict {
            self.ports.fail(Time(verdict.at), 1, verdict.to_string());
        }
    }
}
