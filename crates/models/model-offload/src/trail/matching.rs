//! Searches of the firmware, and what matching units say.

use super::{Kept, Process, Search, Sought, Then, Trail, OLDEST, POSTED, UNITS};
use crate::lists::Scope;
use crate::message_path::{FOUND, UNIT_ANSWERED, UNIT_FOUND};
use abi::offload::unit_register::Result as ResultWord;
use abi::offload::unit_result;
use alpu::Command as UnitCommand;
use des::Time;
use machine::instruments::message_trace::Waypoint;
use machine::instruments::timeline::{Gauge, Track};

impl Trail {
    /// A search that is under way is over at `at`.
    pub(super) fn settle(&mut self, at: Time) {
        if self.search.is_none_or(|search| search.asked) {
            return;
        }
        let Some(search) = self.search.take() else { return };
        let Search { process, scope, walks_since, .. } = search;
        let ps = at.since(walks_since.min(at)).0;
        let own = &mut self.processes[process];
        let core = process as u32;
        match search.what {
            Sought::Receive(message, bits) => {
                let place = own.posted.find(bits);
                let entries = own.posted.walked(scope, place);
                if scope != Scope::Nothing {
                    self.journal.with(message, |flight| {
                        flight.entries += entries;
                        flight.mark(at, Waypoint::MATCHED);
                    });
                    self.journal.account(core, |clerk| {
                        clerk.walks(entries);
                        clerk.walked(ps);
                    });
                }
                match place.and_then(|place| own.posted.remove(place)) {
                    Some(_) => self.unposts(at, process),
                    None => {
                        own.kept.append(bits, Kept { message, buffer: 0 });
                        self.length(at, process, Gauge::Unexpected, |clerk| clerk.keeps(at));
                    }
                }
            }
            Sought::Message { request, wanted, given, then } => {
                let place = own.kept.find(wanted);
                let entries = own.kept.walked(scope, place);
                if scope != Scope::Nothing && own.kept.len() > 0 {
                    self.journal.account(core, |clerk| clerk.searched(entries.into(), ps));
                }
                let found = place.filter(|_| then != Then::Nothing);
                match (found.and_then(|place| own.kept.remove(place)), then) {
                    (Some(kept), Then::Receive) => {
                        if scope != Scope::Nothing {
                            // A walk ends here; what a unit has found needs none.
                            self.journal.mark(at, kept.message, FOUND);
                        }
                        self.meets(at, kept, given, search.since);
                        self.claims(at, process);
                    }
                    (Some(kept), _) => {
                        // Its handle comes with the completion.
                        own.taken.push((u32::MAX, kept));
                        self.claims(at, process);
                    }
                    (None, Then::Receive) => {
                        own.posted.append(wanted, request);
                        self.length(at, process, Gauge::Posted, |clerk| clerk.posts(at));
                    }
                    (None, _) => {}
                }
            }
        }
    }

    /// A message that was kept has met a receive, which was given and fetched at these times.
    pub(super) fn meets(&mut self, at: Time, kept: Kept, given: Time, fetched: Time) {
        self.journal.with(kept.message, |flight| {
            flight.mark(given, Waypoint::RECEIVE_WRITTEN);
            flight.mark(fetched, Waypoint::RECEIVE_ARRIVED);
        });
        if kept.buffer != 0 {
            self.receives(at, kept.message, Some("waits for its copy"));
            self.copies.push(kept);
        }
    }

    pub(super) fn unposts(&self, at: Time, process: usize) {
        self.length(at, process, Gauge::Posted, |clerk| clerk.unposts(at));
    }

    pub(super) fn claims(&self, at: Time, process: usize) {
        self.length(at, process, Gauge::Unexpected, |clerk| clerk.claims(at));
    }

    // ---- units -------------------------------------------------------------------------------------------

    /// Reports the number of entries that a unit holds, and of requests that it has.
    pub(super) fn tell_unit(&mut self, at: Time, unit: usize) {
        let Process { posted, kept, .. } = &self.processes[0];
        let held = if unit == POSTED { posted.held } else { kept.held };
        let asked = self.units[unit].asked;
        self.depth(at, UNITS + 2 * unit, held);
        self.depth(at, UNITS + 2 * unit + 1, asked);
    }

    pub(super) fn delivered(&mut self, at: Time, unit: usize) {
        self.units[unit].asked += 1;
        if self.units[unit].asked == 1 {
            let track = Track::Matches(unit as u8);
            self.journal.watch(|watch| watch.begin(at, track, "matches", None));
        }
        self.tell_unit(at, unit);
    }

    pub(super) fn answered(&mut self, at: Time, unit: usize, result: u32) {
        let result = ResultWord(result);
        let (kind, value) = (u32::from(result.kind()), u64::from(result.payload()));
        let Process { posted, kept, .. } = &mut self.processes[0];
        if kind == unit_result::START_ACKNOWLEDGE {
            match unit {
                POSTED => posted.acknowledged(),
                _ => kept.acknowledged(),
            }
            return self.tell_unit(at, unit);
        }
        let scope = match (kind, unit) {
            (unit_result::MATCH_SUCCESS, POSTED) => posted.found(value),
            (unit_result::MATCH_SUCCESS, _) => kept.found(value),
            _ => Scope::Rest,
        };
        self.units[unit].asked = self.units[unit].asked.saturating_sub(1);
        if self.units[unit].asked == 0 {
            self.journal.watch(|watch| watch.end(at, Track::Matches(unit as u8)));
        }
        self.tell_unit(at, unit);
        let Some(search) = self.search.as_mut().filter(|search| search.asked) else { return };
        (search.asked, search.scope, search.walks_since) = (false, scope, at);
        let (search, ps) = (*search, at.since(search.since).0);
        self.journal.account(search.process as u32, |clerk| clerk.unit_answered(ps));
        match search.what {
            Sought::Receive(message, _) => {
                self.journal.mark(at, message, UNIT_ANSWERED);
            }
            Sought::Message { wanted, given, .. } => {
                // The match is a point only in the way of a message that is found.
                let kept = &mut self.processes[search.process].kept;
                let place = kept.find(wanted);
                let found = place.and_then(|place| kept.each().nth(place)).map(|kept| kept.message);
                if let Some(message) = found {
                    self.journal.with(message, |flight| {
                        flight.mark(given, Waypoint::RECEIVE_WRITTEN);
                        flight.mark(search.since, Waypoint::RECEIVE_ARRIVED);
                        flight.mark(at, UNIT_FOUND);
                    });
                }
            }
        }
    }

    pub(super) fn commanded(&mut self, at: Time, unit: usize, command: UnitCommand) {
        let Process { posted, kept, .. } = &mut self.processes[0];
        let track = Track::Inserts(unit as u8);
        match (command, unit) {
            (UnitCommand::StartInsert, _) => {
                self.units[unit].inserts = Some(at);
                self.journal.watch(|watch| watch.begin(at, track, "inserts", None));
            }
            (UnitCommand::Insert(entry), POSTED) => posted.insert(entry.tag),
            (UnitCommand::Insert(entry), _) => kept.insert(entry.tag),
            (UnitCommand::Reset, POSTED) => posted.reset(),
            (UnitCommand::Reset, _) => kept.reset(),
            (UnitCommand::StopInsert, _) => {
                if let Some(since) = self.units[unit].inserts.take() {
                    // Earlier headers have waited for something else, too.
                    let all = self.headers.with_mut(OLDEST);
                    let waiting = all.filter(|header| header.since >= since);
                    waiting.for_each(|header| header.inserts = Some(at));
                    self.journal.watch(|watch| watch.end(at, track));
                }
                self.tell_unit(at, unit);
            }
        }
    }
}
