//! Assignment of a message to an operation, and the check that it could have been that one.

use super::inbox::{Because, Ended, Inbox, Kept, Message, Role, Unsettled};
use super::judge::{told, Answer, Judge};
use super::kinds::{Mismatch, Side};
use super::verdict::{rule, time, Broken};

impl Judge {
    /// Settles what can be settled, the oldest first.
    pub(super) fn settle(&self, inbox: &mut Inbox) -> Answer {
        let over = inbox.unsettled.iter().filter(|(_, unsettled)| unsettled.ended.is_some());
        let over: Vec<u64> = over.map(|(number, _)| *number).collect();
        for number in over {
            let unsettled = &inbox.unsettled[&number];
            let ended = unsettled.ended.as_ref().expect("only those are looked at");
            let Some((place, message)) = inbox.due(unsettled, ended) else {
                return Err(self.none_left(inbox, unsettled, ended));
            };
            if !inbox.is_disputed(number, message.envelope) {
                self.check_place(inbox, unsettled, ended, message)?;
                self.settle_one(inbox, number, place)?;
            }
        }
        Ok(())
    }

    fn settle_one(&self, inbox: &mut Inbox, number: u64, place: usize) -> Answer {
        let mut unsettled = inbox.unsettled.remove(&number).expect("it was there");
        let ended = unsettled.ended.take().expect("it has ended");
        let way = (unsettled.wanted.context, ended.found.source);
        let messages = inbox.ways.get_mut(&way).expect("a message of it was found");
        if unsettled.role == Role::Probe {
            messages[place].seen.get_or_insert(number);
            return Ok(());
        }
        let message = messages.remove(place).expect("it was found there");
        if messages.is_empty() {
            inbox.ways.remove(&way);
        }
        self.check_meeting(&unsettled, &message)?;
        match unsettled.role {
            Role::Take(name) => self.known(inbox, name, message),
            _ => self.compare(inbox, &message, &ended, Some(&unsettled)),
        }
    }

    /// There is no message that an operation can have found.
    fn none_left(&self, inbox: &Inbox, unsettled: &Unsettled, ended: &Ended) -> Broken {
        let (rank, found) = (self.rank(), told(&ended.found));
        let last = inbox.last.get(&(unsettled.wanted.context, ended.found.source));
        let last = last.map_or("none has been received".into(), |last| {
            format!("the last that was received is {last}")
        });
        let what = format!(
            "{unsettled} of rank {rank} ended with {found}, but no message that it wants is left \
             there: {last}"
        );
        Broken { rank, at: ended.at, rule: rule::ONCE, what }
    }

    /// An operation says that it has found another message than the one that is due to it, or one that came
    /// too late for it.
    fn check_place(
        &self,
        inbox: &Inbox,
        unsettled: &Unsettled,
        ended: &Ended,
        due: &Message,
    ) -> Answer {
        let (rank, found) = (self.rank(), ended.found);
        let broken = |rule, what| Err(Broken { rank, at: ended.at, rule, what });
        let is = |message: &&Message| {
            let Message { envelope, length, .. } = message;
            (envelope.tag, *length) == (found.tag, found.bytes)
        };
        if !is(&due) {
            let way = (unsettled.wanted.context, found.source);
            return match inbox.ways[&way].iter().find(is) {
                Some(other) => broken(
                    rule::SENDERS,
                    format!("{unsettled} of rank {rank} found {other}, before {due}"),
                ),
                None => broken(
                    rule::STATUS,
                    format!(
                        "{unsettled} of rank {rank} ended with {}, but {due} was due",
                        told(&found)
                    ),
                ),
            };
        }
        let Some((by, because)) = unsettled.met.as_ref().filter(|(by, _)| due.at > *by) else {
            return Ok(());
        };
        let why = match because {
            Because::Passed(found) => {
                format!("a younger one had found {}, which it wanted, too", told(found))
            }
            Because::Kept => "it was not cancelled because it had its message".into(),
        };
        let by = time(*by);
        broken(rule::RECEIVES, format!("{unsettled} of rank {rank} got {due}, but by {by} {why}"))
    }

    /// A synchronous send must not have ended before its receive began.
    fn check_meeting(&self, unsettled: &Unsettled, message: &Message) -> Answer {
        let Some(meeting) = &message.meeting else { return Ok(()) };
        let mut meeting = meeting.lock().expect("nobody panics with it");
        meeting.begun = Some(unsettled.at);
        if meeting.is_wrong() {
            let Message { from, to, number, .. } = *message;
            self.ledger().too_late(self.too_soon(&meeting, from, to, number));
        }
        Ok(())
    }

    /// A matching probe has taken this message.
    fn known(&self, inbox: &mut Inbox, name: u64, message: Message) -> Answer {
        match inbox.early.remove(&name) {
            Some(ended) => self.compare(inbox, &message, &ended, None),
            None => {
                inbox.kept.insert(name, Kept::Known(message));
                Ok(())
            }
        }
    }

    /// Compares what was received with what was sent.
    pub(super) fn compare(
        &self,
        inbox: &mut Inbox,
        message: &Message,
        ended: &Ended,
        unsettled: Option<&Unsettled>,
    ) -> Answer {
        let way = (message.envelope.context, message.envelope.source);
        inbox.tally.received += 1;
        if let (Some(gives), Some(takes)) = (&message.kinds, &ended.kinds)
            && !takes.matches(gives)
        {
            let taker = Side { rank: message.to, kinds: takes };
            let giver = Side { rank: message.from, kinds: gives };
            let tag = Some(message.envelope.tag);
            self.ledger().mismatched(Mismatch::new(ended.at, taker, giver, tag));
        }
        let (Some(sent), Some(got)) = (&message.bytes, &ended.bytes) else {
            inbox.last.insert(way, message.to_string());
            return Ok(());
        };
        inbox.tally.bytes += got.len() as u64;
        let differs = sent.iter().zip(got).position(|(sent, got)| sent != got);
        let Some(at) = differs else {
            inbox.last.insert(way, message.to_string());
            return Ok(());
        };
        let broken = |rule, what| Err(Broken { rank: self.rank(), at: ended.at, rule, what });
        // They may be those of another message that it wants.
        let others = inbox.ways.get(&way).into_iter().flatten();
        let starts = |other: &&Message| {
            let bytes = other.bytes.as_ref();
            other.length == message.length
                && bytes.is_some_and(|bytes| !got.is_empty() && bytes.starts_with(got))
        };
        let wants = |other: &&Message| {
            unsettled.is_none_or(|unsettled| unsettled.wanted.accepts(other.envelope))
        };
        let rank = self.rank();
        if let Some(other) = others.filter(starts).find(wants) {
            let receive = unsettled.map_or("a receive".into(), Unsettled::to_string);
            return broken(
                rule::SENDERS,
                format!("{receive} of rank {rank} got {other}, before {message}"),
            );
        }
        broken(
            rule::BYTES,
            format!(
                "byte {at} of {message} is {:#04x} where rank {rank} has received it, and was \
                 {:#04x} when it was sent (or a program has changed a buffer in use)",
                got[at], sent[at]
            ),
        )
    }
}
