//! `sunstar run --gdb`, driven by packets: each has its answer, the connection stays, and a client that has
//! left may connect again.

use crate::gdb::{start, Waiting};
use crate::runner::root;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// Client of gdb's protocol.
struct Client {
    stream: TcpStream,
    heard: Vec<u8>,
}

fn packet(body: &[u8]) -> Vec<u8> {
    let sum = body.iter().fold(0u8, |sum, byte| sum.wrapping_add(*byte));
    [b"$", body, format!("#{sum:02x}").as_bytes()].concat()
}

impl Client {
    fn of(waiting: &Waiting) -> Client {
        let stream = waiting.connected();
        // However busy the machine.
        stream.set_read_timeout(Some(Duration::from_secs(300))).unwrap();
        Client { stream, heard: Vec::new() }
    }

    fn say(&mut self, bytes: &[u8]) {
        self.stream.write_all(bytes).unwrap();
    }

    /// Reads so many bytes.
    fn hear(&mut self, count: usize) -> Vec<u8> {
        while self.heard.len() < count {
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes).expect("an answer");
            assert!(read > 0, "the connection is closed behind {:?}", self.text());
            self.heard.extend_from_slice(&bytes[..read]);
        }
        self.heard.drain(..count).collect()
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.heard).into_owned()
    }

    /// The next packet's body; acknowledgements before it are skipped.
    fn answer(&mut self) -> String {
        while self.hear(1) != b"$" {}
        let mut body = Vec::new();
        loop {
            match self.hear(1)[0] {
                b'#' => break,
                byte => body.push(byte),
            }
        }
        let sum = self.hear(2);
        assert!(packet(&body).ends_with(&sum), "{}", String::from_utf8_lossy(&body));
        String::from_utf8_lossy(&body).into_owned()
    }

    fn ask(&mut self, body: &[u8]) -> String {
        self.say(&packet(body));
        self.answer()
    }
}

/// Packets and answers while the processor is in reset; `*` at the end of an answer is any rest.
const TABLE: &[(&str, &str)] = &[
    // What gdb begins with, and what is promised is there.
    (
        "qSupported:multiprocess+;swbreak+;hwbreak+;vContSupported+",
        "PacketSize=4000;vContSupported+;QStartNoAckMode+;qXfer:features:read+;swbreak+;hwbreak+",
    ),
    ("vMustReplyEmpty", ""),
    ("vCont?", "vCont;c;C;s;S;r"),
    ("qXfer:features:read:target.xml:0,5", "m<?xml"),
    ("qXfer:features:read:target.xml:0,ffffffffffffffff", "l<?xml*"),
    ("qXfer:features:read:target.xml:ffffff,10", "E16"),
    ("qXfer:features:read:target.xml:0", "E16"),
    ("qXfer:features:read:target.xml", "E00"),
    ("qXfer:features:read:nope.xml:0,10", "E00"),
    ("?", "T05thread:01;"),
    ("??", "E16"),
    ("qAttached", "1"),
    // The one thread.
    ("qC", "QC1"),
    ("qfThreadInfo", "m1"),
    ("qsThreadInfo", "l"),
    ("Hg0", "OK"),
    ("Hc-1", "OK"),
    ("Hg1", "OK"),
    ("Hg99", "E16"),
    ("Hx1", "E16"),
    ("H", "E16"),
    ("T1", "OK"),
    ("T77", "E16"),
    ("Tzz", "E16"),
    ("T", "E16"),
    // Registers.
    ("g", "00000000*"),
    ("g1", "E16"),
    ("G00", "E16"),
    ("p20", "fcffffff"),
    ("pffff", "E0e"),
    ("p", "E16"),
    ("pffffffffffffffffff", "E16"),
    ("P3=78563412", "OK"),
    ("p3", "78563412"),
    ("P3=0000", "E16"),
    ("P3", "E16"),
    ("Pffff=00000000", "E0e"),
    // Memory: in reset the page at the top is mapped, and nothing else.
    ("mfffffffc,4", "4bfff004"),
    ("mfffffffc,ffffffff", "4bfff004"),
    ("m0,4", "E0e"),
    ("m0,ffffffff", "E0e"),
    ("m0,0", "E16"),
    ("mfffffffff,4", "E0e"),
    ("mzz,4", "E16"),
    ("m0", "E16"),
    ("m", "E16"),
    ("M0,4:zz", "E16"),
    ("M0,2:00", "E16"),
    ("M0,1:0", "E16"),
    ("M0,1:00", "E0e"),
    ("M0,1", "E16"),
    ("Mfffffffe,4:00000000", "E0e"),
    ("X0,0:", "OK"),
    ("X0,1:", "E16"),
    ("X0,1:}", "E16"),
    // Breakpoints and watchpoints, each as often as one likes.
    ("Z0,0,4", "OK"),
    ("Z0,0,4", "OK"),
    ("z0,0,4", "OK"),
    ("z0,1234,4", "OK"),
    ("Z0,1,4", "E0e"),
    ("Z1,0,2", "E16"),
    ("Z0,0,4;X1,0", "E16"),
    ("Z0,100000000,4", "E0e"),
    ("Z2,0,ffffffff", "OK"),
    ("z2,0,ffffffff", "OK"),
    ("Z2,4,ffffffff", "E16"),
    ("Z4,0,0", "E16"),
    ("Z5,0,4", ""),
    ("Z9", ""),
    ("Z", ""),
    ("Z0", "E16"),
    // Commands of ours.
    ("qRcmd,6661756c74", "6e6f7468696e6720*"),
    ("qRcmd,zz", "E16"),
    ("qRcmd,7", "E16"),
    ("qRcmd", "E16"),
    // What cannot go on does not.
    ("vCont", "E16"),
    ("vCont;", "E16"),
    ("vCont;t", "E16"),
    ("vCont;x", "E16"),
    ("vCont;s:99", "E16"),
    ("vCont;s:zz", "E16"),
    ("vCont;C", "E16"),
    ("vCont;r0", "E16"),
    ("s1", "E0e"),
    ("czz", "E16"),
    ("C", "E16"),
    ("S05;zz", "E16"),
    ("Dx", "E16"),
    ("k1", "E16"),
    ("vKill", "E16"),
    // What there is not.
    ("qXfer:memory-map:read::0,10", ""),
    ("qOffsets", ""),
    ("qSymbol::", ""),
    ("qTStatus", ""),
    ("vRun;x", ""),
    ("vFile:setfs:0", ""),
    ("R00", ""),
    ("bs", ""),
    ("bc", ""),
    ("!", ""),
    ("\u{7f}", ""),
    ("", ""),
];

#[test]
fn each_packet_has_its_answer_and_the_connection_stays() {
    let waiting = start("--quiet -n 2 --gdb 1 builtin:pingpong 8 20", &root());
    let mut client = Client::of(&waiting);
    for (body, expected) in TABLE {
        let answer = client.ask(body.as_bytes());
        let same = match expected.strip_suffix('*') {
            Some(start) => answer.starts_with(start),
            None => answer == *expected,
        };
        assert!(same, "{body}: {answer} instead of {expected}");
    }
    // A checksum of other bytes, or none at all, is asked for again; so can the answer be.
    for torn in [&b"$?#00"[..], b"$?#zz", b"$?#3$"] {
        client.say(torn);
        let heard = client.hear(1);
        assert_eq!(heard, b"-", "{}", String::from_utf8_lossy(torn));
    }
    client.say(b"no packet $m0,$qC#b4");
    assert_eq!(client.answer(), "QC1");
    client.say(b"-");
    assert_eq!(client.answer(), "QC1");
    // Longer than promised, by a little and by far.
    for length in [0x4001, 1_000_000] {
        assert_eq!(client.ask(&vec![b'x'; length]), "E07");
    }
    assert_eq!(client.ask(&[b'x'; 0x4000]), "");
    // Nothing is acknowledged any more, and what is damaged is refused.
    assert_eq!(client.ask(b"QStartNoAckMode"), "OK");
    client.say(b"+$qC#b4");
    assert_eq!(client.hear(7), b"$QC1#c5");
    client.say(b"$qC#00");
    assert_eq!(client.answer(), "E16");
    assert_eq!(client.ask(b"D"), "OK");
    waiting.ended().went_well();
}

#[test]
fn ctrl_c_stops_what_stands_as_soon_as_it_goes_on() {
    let waiting = start("--quiet -n 2 --gdb 0 builtin:pingpong 8 20", &root());
    let mut client = Client::of(&waiting);
    client.say(&[3]);
    assert_eq!(client.ask(b"c"), "T02thread:01;");
    assert_eq!(client.ask(b"vCont;s:0;c"), "T05thread:01;", "any thread is ours");
    assert_eq!(client.ask(b"C05"), "W00");
    waiting.ended().went_well();
}

/// Clients connect at each state of a run that takes hours.
#[test]
fn who_has_left_may_come_back_to_gdb() {
    let waiting = start("--quiet -n 2 --gdb 0 builtin:pingpong 8 1000000000", &root());
    let counter = |client: &mut Client| {
        let digits = client.ask(b"qRcmd,636f756e74657273");
        let pairs = digits.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap());
        let text: String =
            pairs.map(|pair| u8::from_str_radix(pair, 16).unwrap() as char).collect();
        text.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    let mut client = Client::of(&waiting);
    assert_eq!(client.ask(b"Z1,fffffffc,4"), "OK");
    assert_eq!(client.ask(b"QStartNoAckMode"), "OK");
    assert_eq!(counter(&mut client), 0);
    // It goes while the processor is stopped, then while it runs, says so, and says nothing.
    let mut before = 0;
    for leave in [&b"$D#44"[..], b"", b"$c#63", b"$c#63$D#44", b"$m0,4"] {
        client.say(leave);
        drop(client);
        client = Client::of(&waiting);
        let answer = client.ask(b"?");
        assert_eq!(answer, "T02thread:01;", "{}", String::from_utf8_lossy(leave));
        let now = counter(&mut client);
        assert!(now > before, "{now} instructions after {before}");
        before = now;
    }
    assert_eq!(client.ask(b"vKill;1"), "OK");
    waiting.ended().said(137, &["node 0", "gdb killed the run"]);
}

#[test]
fn while_the_processor_runs_gdb_can_go_and_ask_nothing() {
    let waiting = start("--quiet -n 2 --gdb 0 builtin:pingpong 8 1000000000", &root());
    let mut client = Client::of(&waiting);
    client.say(&packet(b"c"));
    for (body, expected) in [("g", "E10"), ("?", "E10"), ("c", "E10"), ("m", "E16"), ("bs", "")] {
        assert_eq!(client.ask(body.as_bytes()), expected, "{body}");
    }
    client.say(&[3]);
    assert_eq!(client.answer(), "T02thread:01;");
    client.say(&[packet(b"c"), packet(b"k")].concat());
    waiting.ended().said(137, &["node 0", "gdb killed the run"]);
}

#[test]
fn a_connection_that_breaks_lets_the_run_go_on() {
    let waiting = start("--quiet -n 2 --gdb 1 examples/hello.c", &root());
    drop(waiting.connected());
    waiting.ended().went_well();
}

#[test]
fn a_second_gdb_is_refused_while_the_first_is_served() {
    let waiting = start("--quiet -n 2 --gdb 1 examples/hello.c", &root());
    let mut first = Client::of(&waiting);
    for _ in 0..3 {
        assert_eq!(first.ask(b"qC"), "QC1");
        let mut second = Client::of(&waiting).stream;
        let heard = second.read(&mut [0]).map_err(|why| why.kind());
        assert!(matches!(heard, Ok(0) | Err(ErrorKind::ConnectionReset)), "{heard:?}");
    }
    assert_eq!(first.ask(b"qC"), "QC1");
    drop(first);
    waiting.ended().went_well();
}
