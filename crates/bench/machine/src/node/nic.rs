//! The seam between a node and its network interface.

use super::{Event, Ports};
use crate::firmware::profile::Profile;
use crate::instruments::timeline::About;
use crate::report::NodeReport;
use abi::MessageId;
use des::{Announced, Duration, Envelope, Lookahead, Offers, Time, LAGS};
use std::fmt;

/// A network interface. It is passive: it is called with the time, and with the [`Ports`] for its requests.
/// Four functions are enough; all others are capabilities that some interfaces have, in groups.
pub trait Nic: Sized + 'static {
    /// Event that it has scheduled.
    type Event: Copy + fmt::Debug;
    /// Message between nodes.
    type Message: Send;
    /// Results of a run that only this interface has.
    type Left: Send + Default;

    /// Handles an event that is due.
    fn handle(&mut self, now: Time, event: Self::Event, ports: &mut Ports<Self>);
    /// A message has come from another node.
    fn receive(&mut self, now: Time, message: Self::Message, ports: &mut Ports<Self>);
    /// The host stores up to [`host::LINE`] bytes, within an aligned line, at the interface's address `addr`.
    fn store(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Self>);
    /// Word for the trace hash that distinguishes this event from others of its time.
    fn word(event: &Self::Event) -> u64;

    // Messages and the host's accesses.

    /// A message of the program is on its way here; no part of it has come yet. Messages of a node are
    /// reported in the order in which they left it.
    fn foreseen(&mut self, message: MessageId) {
        let _ = message;
    }
    /// A message is on its way and arrives at the envelope's time, when [`Nic::receive`] gets it: unless the
    /// interface keeps it in a queue of its own.
    fn expect(&mut self, envelope: Envelope<Self::Message>, ports: &mut Ports<Self>) {
        ports.keep(envelope);
    }
    /// The host loads `len` bytes, up to a line, from `addr` and waits; [`Ports::answer`] answers with as
    /// many, later than now.
    fn load(&mut self, now: Time, addr: u64, len: usize, ports: &mut Ports<Self>) {
        let _ = addr;
        ports.answer(now + Duration(1), &[0; host::LINE][..len]);
    }
    /// A store leaves the host's processor. It is at the interface at once ([`Nic::store`]), unless a link
    /// lies between them that the interface has, too, for its DMA.
    fn store_leaves(&mut self, now: Time, addr: u64, data: &[u8], ports: &mut Ports<Self>) {
        ports.deliver_store(now, addr, data);
    }
    /// The same of a load ([`Nic::load`]).
    fn load_leaves(&mut self, now: Time, addr: u64, len: usize, ports: &mut Ports<Self>) {
        ports.deliver_load(now, addr, len);
    }

    // Lookahead: how far other nodes may advance meanwhile.

    /// Earliest output time of `event`, which is due at `at`: a message that it causes leaves no sooner. `at`
    /// is always a safe bound.
    fn earliest_output(&self, at: Time, event: &Self::Event) -> Time {
        let _ = event;
        at
    }
    /// Lookahead of the whole node, of an interface that announces messages; all others have that of their
    /// events.
    fn lookahead(&self, told: &mut Vec<Announced>, ports: &Ports<Self>) -> Option<Lookahead> {
        let _ = (told, ports);
        None
    }
    /// Time at which it is known to do nothing more, if nothing happens on the node after `last`. A run in
    /// which nothing moves ends no sooner, so that its end does not depend on the windows.
    fn quiesce_time(&self, last: Time) -> Time {
        last
    }

    // A processor of its own.

    /// Time of its next action that others can see; never if there is no processor, or if that only waits.
    fn next_action(&self) -> Time {
        Time::NEVER
    }
    /// True if the processor does more than wait; one that is debugged may act at any time, even if it only
    /// waits.
    fn works(&self) -> bool {
        self.next_action() < Time::NEVER
    }
    /// Runs the processor until `until`, or until it has scheduled an event before that.
    fn run(&mut self, until: Time, ports: &mut Ports<Self>) {
        let _ = (until, ports);
    }
    /// Runs it as far as it must have come before the node's next event, or `horizon`. True if it has run:
    /// then the next event may be another, and this is asked again.
    #[inline(always)]
    fn catch_up(&mut self, horizon: Time, ports: &mut Ports<Self>) -> bool {
        let due = ports.next_time().min(horizon);
        let acts = self.next_action() < due;
        if acts {
            self.run(due, ports);
        }
        acts
    }
    /// A window begins: everything before `horizon` is done in it.
    fn enter(&mut self, horizon: Time, ports: &mut Ports<Self>) {
        let _ = (horizon, ports);
    }
    /// Reads whether it is ready for its host's kernel: the time to look again if it is not. Asked at time 0,
    /// and then as it says.
    fn look_again(&mut self, now: Time, ports: &mut Ports<Self>) -> Option<Time> {
        let _ = (now, ports);
        None
    }
    /// Reason why it is not ready yet: "the firmware was", and where it stands.
    fn late(&self) -> (&'static str, String) {
        ("the network interface was", "see machine.launch".into())
    }
    /// Time from which its idle processor is observed ([`Nic::observe`]), before the launch.
    fn observed_from(&self, launch: Time) -> Option<Time> {
        let _ = launch;
        None
    }
    /// That time has come.
    fn observe(&mut self, now: Time, ports: &mut Ports<Self>) {
        let _ = (now, ports);
    }
    /// The run ends at `at` because of [`Ports::failure`]: a debugger may examine the processor.
    fn failed(&mut self, at: Time, ports: &mut Ports<Self>) {
        let _ = (at, ports);
    }

    // A queue of its own for events that are many and small, in one order with the node's ([`Ports::place`]).

    /// Key of its next event there ([`des::EventQueue::key`]).
    #[inline(always)]
    fn own_key(&self) -> u128 {
        u128::MAX
    }
    /// Time of its next event there.
    #[inline(always)]
    fn own_time(&self) -> Time {
        Time::NEVER
    }
    /// Carries out the next event there if it is due before `horizon`: its time.
    fn carry_on(&mut self, horizon: Time, ports: &mut Ports<Self>) -> Option<Time> {
        let _ = (horizon, ports);
        None
    }

    // A host that does without events while nothing can disturb it (`host::Ports`).

    /// Time before which the interface does nothing by itself.
    #[inline(always)]
    fn quiet_until(&self) -> Time {
        self.next_action()
    }
    /// The same for what a program can notice, if nobody wants to see each event.
    #[inline(always)]
    fn undisturbed_until(&self) -> Time {
        self.quiet_until()
    }
    /// Number of events so far that were not the host's, if it counts them.
    #[inline(always)]
    fn stirs(&self) -> Option<u64> {
        None
    }
    /// Least time from a store that leaves the host to an effect on it.
    fn reaction(&self) -> Duration {
        Duration::ZERO
    }

    // Spans that repeat themselves (`des::LogicalProcess`, whose functions they are).

    /// Progress of a stream that may repeat itself.
    fn progress(&self) -> Option<u64> {
        None
    }
    /// Saves the node's state.
    fn sample(
        &mut self,
        number: u64,
        now: Time,
        began: [Time; LAGS],
        ports: &mut Ports<Self>,
    ) -> Option<Offers> {
        let _ = (number, now, began, ports);
        None
    }
    /// Repeats what it has done since a sample.
    fn repeat(&mut self, since: u64, span: Duration, times: u64, ports: &mut Ports<Self>) {
        let _ = (since, span, times, ports);
    }

    // Observers.

    /// An event of the node is due, with its word for the trace hash.
    #[inline(always)]
    fn due(&mut self, now: Time, event: &Event<Self::Event>, word: u64, ports: &mut Ports<Self>) {
        let _ = (now, event, word, ports);
    }
    /// It has been handled.
    #[inline(always)]
    fn done(&mut self, now: Time, ports: &mut Ports<Self>) {
        let _ = (now, ports);
    }
    /// The host has done without an event of its own at `at`.
    #[inline(always)]
    fn passed(&mut self, at: Time) {
        let _ = at;
    }
    /// Description of the node for observers: what it knows of its links.
    fn describe(&self, about: &mut About) {
        let _ = about;
    }
    /// The program is launched, and somebody watches ([`Ports::is_watched`]).
    fn watched(&mut self, now: Time, ports: &mut Ports<Self>) {
        ports.journal().watch(|watch| watch.launch(now, Default::default(), 0));
    }
    /// The launcher starts the program: observations count from here on.
    fn launched(&mut self, now: Time, ports: &mut Ports<Self>) {
        let _ = (now, ports);
    }
    /// Ends it at `end`, before which there is no event any more that others can see: the profile of its own
    /// processor, if one was recorded. The run itself ends at [`Ports::horizon`], which is later if it fails.
    fn finish(&mut self, end: Time, ports: &mut Ports<Self>) -> Option<Profile> {
        let _ = (end, ports);
        None
    }
    /// Counters, by name.
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
    /// Adds to the report what only this interface knows, counters under names made at run time among it.
    fn report(&mut self, report: &mut NodeReport, ports: &mut Ports<Self>) {
        let _ = (report, ports);
    }
    /// Reasons why it is stuck where nothing in the machine moves any more, a sentence each.
    fn waiting(&self) -> Vec<String> {
        Vec::new()
    }
    /// Its results beside the report, last of all.
    fn left(self) -> Self::Left {
        Self::Left::default()
    }
}
