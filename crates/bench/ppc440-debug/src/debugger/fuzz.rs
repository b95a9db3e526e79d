//! An answer comes to the next packet whatever bytes come from gdb.

use super::arch::Registers;
use super::conversation::{Conversation, Remote};
use super::framing::{packet, Frame, Framing, PACKET_MAX};
use super::{Reply, Request, Signal, Why};
use std::sync::mpsc::{channel, Receiver, Sender};
use std::sync::Arc;

/// Packets that mean something, without `$` and checksum.
const BODIES: &[&str] = &[
    "qSupported:swbreak+;hwbreak+",
    "QStartNoAckMode",
    "qXfer:features:read:target.xml:0,fff",
    "?",
    "g",
    "p20",
    "P3=78563412",
    "m0,100",
    "M10,2:abcd",
    "X10,2:}\u{3}a",
    "Z0,fffc,4",
    "z2,10,4",
    "Hg1",
    "T1",
    "c",
    "s10",
    "C05;20",
    "vCont;r10,20:1;c",
    "vCont?",
    "qRcmd,74696d65",
    "D",
    "k",
    "vKill;1",
];

/// A node that has 64 KB, all registers, and nothing to say.
fn node(requests: Receiver<Request>, replies: Sender<Reply>) {
    for request in requests {
        let reply = match request {
            Request::Registers => Reply::Registers(Box::default()),
            Request::SetRegisters(_) | Request::SetRegister(..) | Request::StopPoint(..) => {
                Reply::Done
            }
            Request::Register(number) if number > 100 => Reply::Refused,
            Request::Register(number) => Reply::Word(number as u32),
            Request::Read(addr, len) => {
                let there = 0x1_0000usize.saturating_sub(addr as usize);
                Reply::Bytes(vec![0x24; len.min(there)])
            }
            Request::Write(addr, bytes) if addr as usize + bytes.len() <= 0x1_0000 => Reply::Done,
            Request::Write(..) => Reply::Refused,
            Request::Monitor(words) => Reply::Text(words),
            Request::Go(_) | Request::Detach | Request::Kill => continue,
        };
        if replies.send(reply).is_err() {
            return;
        }
    }
}

/// Packets in the output; acknowledgements are left out.
fn packets(out: &[u8]) -> Vec<Vec<u8>> {
    let mut framing = Framing::new();
    let whole = |frame| match frame {
        Frame::Packet(body) => Some(body),
        // Asked for a packet anew.
        Frame::Again => None,
        other => panic!("{other:?} of ours"),
    };
    out.iter().filter_map(|byte| framing.push(*byte)).filter_map(whole).collect()
}

fn converse(remote: &Remote, bytes: &[u8]) {
    let mut conversation = Conversation::new(remote, Why::Signal(Signal::Trap));
    for byte in bytes {
        if conversation.hear(*byte).is_some() {
            packets(&conversation.take_out());
            return;
        }
        if conversation.stands().is_none() {
            conversation.stopped(Why::SwBreak);
        }
        for body in packets(&conversation.take_out()) {
            assert!(body.len() <= PACKET_MAX, "a packet of {} bytes", body.len());
        }
    }
    packet(b"qC").into_iter().for_each(|byte| assert_eq!(conversation.hear(byte), None));
    assert_eq!(packets(&conversation.take_out()).last().map(Vec::as_slice), Some(&b"QC1"[..]));
}

#[test]
fn fuzz_packets_of_gdb() {
    let (requests, asked) = channel();
    let (replies, answers) = channel();
    let node = std::thread::spawn(move || node(asked, replies));
    let remote = Remote { requests, replies: answers, interrupt: Arc::default() };
    let set = format!("G{}", "00".repeat(Registers::default().bytes().len()));
    let all = [BODIES, &[&set]].concat();
    let mut target =
        fuzz::Target::new("gdb's packets").words(all.iter().map(|body| body.as_bytes()));
    for body in &all {
        target = target.seed(packet(body.as_bytes()));
    }
    // As bytes, and each input as a packet with the right checksum, too.
    target.run(|bytes| {
        converse(&remote, bytes);
        let body = bytes.strip_prefix(b"$").unwrap_or(bytes);
        let body = body.strip_suffix(&bytes[bytes.len().saturating_sub(3)..]).unwrap_or(body);
        converse(&remote, &[packet(body), packet(body)].concat());
    });
    drop(remote);
    node.join().unwrap();
}
