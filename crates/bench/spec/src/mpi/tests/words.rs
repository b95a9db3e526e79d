//! Sentence of each rule.

use super::{judge, Told, RANKS};
use crate::mpi::{Envelope, Found, Send, Wanted};

fn envelope(source: i32, tag: i32) -> Envelope {
    Envelope { context: 0, source, tag }
}
fn wanted(source: Option<i32>, tag: Option<i32>) -> Wanted {
    Wanted { context: 0, source, tag }
}
fn sends(id: u64, to: u32, of: Envelope, data: &[u8], synchronous: bool) -> (u32, Told) {
    let (length, bytes) = (data.len() as u64, Some(data.to_vec()));
    (
        of.source as u32,
        Told::Sends(id, Send { to, envelope: of, length, bytes, kinds: None, synchronous }),
    )
}
fn ended(rank: u32, id: u64, (source, tag): (i32, i32), data: &[u8]) -> (u32, Told) {
    let found = Found { source, tag, bytes: data.len() as u64 };
    (rank, Told::Ended(id, found, data.to_vec()))
}

fn refused(history: &[(u32, Told)], words: &[&str]) {
    let said = judge(RANKS, history).0.expect("it is refused").to_string();
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn a_message_that_overtakes_is_named_with_the_one_that_it_overtook() {
    let any = wanted(Some(0), None);
    let history = [
        sends(1, 1, envelope(0, 5), b"first", false),
        sends(2, 1, envelope(0, 6), b"second", false),
        (1, Told::Receives(9, any, 64)),
        ended(1, 9, (0, 6), b"second"),
    ];
    let first = "message 1 of rank 0 to rank 1 (tag 5, 5 bytes, context 0, sent at 1.000000 us)";
    let words = ["rank 1, at 4.000000 us", first, "message 2 of rank 0", "any tag", "s3.5 (order)"];
    refused(&history, &words);
    // The same if only the bytes tell which it was.
    let history = [
        sends(1, 1, envelope(0, 5), b"one", false),
        sends(2, 1, envelope(0, 5), b"two", false),
        (1, Told::Receives(9, any, 64)),
        ended(1, 9, (0, 5), b"two"),
    ];
    refused(&history, &["message 1 of rank 0", "got message 2 of rank 0", "s3.5 (order)"]);
}

#[test]
fn a_younger_receive_does_not_get_what_an_older_one_wants() {
    let begin = [
        (1, Told::Receives(8, wanted(None, Some(5)), 64)),
        (1, Told::Receives(9, wanted(Some(0), None), 64)),
        sends(1, 1, envelope(0, 5), b"one", false),
        ended(1, 9, (0, 5), b"one"),
    ];
    // The older one gets a message that did not exist then, or is cancelled, or waits for ever.
    let late = [sends(2, 1, envelope(2, 5), b"two", false), ended(1, 8, (2, 5), b"two")];
    refused(&[&begin[..], &late].concat(), &["message 1 of rank 2", "a younger one had found"]);
    let cancelled = [(1, Told::Cancels(8, true))];
    refused(
        &[&begin[..], &cancelled].concat(),
        &["was cancelled", "from rank 0 with tag 5", "s3.8.4"],
    );
    refused(&begin, &["must have had its message by 4.000000 us", "progress"]);
    // A message that was there explains it.
    let earlier = [sends(2, 1, envelope(2, 5), b"two", false)];
    let right = [&earlier[..], &begin, &[ended(1, 8, (2, 5), b"two")]].concat();
    assert_eq!(judge(RANKS, &right).0, None);
}

#[test]
fn other_rules_say_what_was_broken() {
    let (of, all) = (envelope(0, 5), wanted(None, None));
    let one = || sends(1, 1, of, b"one", false);
    let receives = || (1, Told::Receives(9, all, 64));
    let word = "the last that was received is message 1 of rank 0";
    let twice = [(1, Told::Receives(8, all, 64)), ended(1, 8, (0, 5), b"one")];
    refused(&[&[one(), receives(), ended(1, 9, (0, 5), b"one")][..], &twice].concat(), &[word]);
    refused(&[one(), receives()], &["waits for ever", "was never received", "progress"]);
    refused(&[one(), receives(), ended(1, 9, (0, 5), b"onE")], &["byte 2 of message 1", "0x45"]);
    refused(&[one(), receives(), ended(1, 9, (0, 5), b"on")], &["2 bytes", "was due", "s3.2.5"]);
    let other = (1, Told::Receives(9, wanted(Some(2), None), 64));
    refused(&[one(), other, ended(1, 9, (0, 5), b"one")], &["source 2", "s3.2.4"]);
    let synchronous = [sends(1, 1, of, b"one", true), (0, Told::Sent(1))];
    refused(&synchronous, &["synchronous message 1", "no receive of it has begun", "s3.4"]);
    let late = [receives(), ended(1, 9, (0, 5), b"one")];
    refused(&[&synchronous[..], &late].concat(), &["ended at 2", "began at 3", "s3.4"]);
    let found = Found { source: 0, tag: 5, bytes: 3 };
    let forgets = [one(), (1, Told::Probed(all, Some(found))), (1, Told::Probed(all, None))];
    refused(&forgets, &["found nothing", "message 1 of rank 0", "s3.8.1"]);
    let takes = (1, Told::Takes(all, 3, found));
    let again = [(1, Told::ReceivesTaken(8, 3, 64)), (1, Told::ReceivesTaken(9, 3, 64))];
    refused(&[&[one(), takes][..], &again].concat(), &["has not taken", "s3.8.2"]);
}
