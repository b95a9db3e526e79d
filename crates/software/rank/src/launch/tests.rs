//! The wire, the places of ranks, and the server's answers.

#![allow(clippy::single_range_in_vec_init)] // Runs of one program.

use super::group::Group;
use super::server::{Barrier, Event, Server};
use super::wire::{abort_code, Command, Inbox, Line, LINE_MAX};
use des::Time;

#[test]
fn lines_come_in_any_pieces() {
    let text = b"cmd=init pmi_version=1\r\ncmd=finalize\n\nrest";
    let lines = |text: &str| Line::Text(text.to_owned());
    let whole = [lines("cmd=init pmi_version=1"), lines("cmd=finalize"), lines("")];
    for step in 1..text.len() {
        let mut inbox = Inbox::default();
        let found: Vec<_> = text.chunks(step).flat_map(|piece| inbox.take(piece)).collect();
        assert_eq!(found, whole, "{step}");
    }
}

#[test]
fn a_line_without_an_end_is_not_kept() {
    let mut inbox = Inbox::default();
    for _ in 0..1000 {
        assert_eq!(inbox.take(&[b'x'; 1000]), []);
    }
    let next = Line::Text("cmd=init".into());
    assert_eq!(inbox.take(b"\ncmd=init\n"), [Line::Long, next]);
    let most = [vec![b'y'; LINE_MAX], vec![b'\n']].concat();
    assert!(matches!(inbox.take(&most)[..], [Line::Text(_)]));
    assert_eq!(inbox.take(b"\xff\n\x01\n"), [Line::Binary, Line::Binary]);
}

#[test]
fn a_command_is_words_and_a_value_is_the_rest() {
    let command = Command::parse("cmd=put  kvsname=kvs_0 key=a=b value=x y=z ").unwrap();
    assert_eq!((command.name, command.text("key")), ("put", Some("a=b")));
    assert_eq!((command.text("value"), command.text("y")), (Some("x y=z "), None));
    assert_eq!(Command::parse("cmd=a n=-7").unwrap().number("n"), Some(-7));
    for wrong in ["", " ", "cmd", "cmd=", "key=1 cmd=put", "cmd=put key", "cmd=a =b"] {
        assert_eq!(Command::parse(wrong), None, "{wrong}");
    }
    let code = |text: &str| abort_code(&Line::Text(text.into()));
    assert_eq!(code("cmd=abort exitcode=5"), Some(5));
    assert_eq!((code("cmd=abort exitcode=five"), code("cmd=aborted")), (Some(1), None));
}

#[test]
fn the_mapping_is_that_of_the_placement() {
    let mapping = |programs: &[_], per_node| Group::new(programs, per_node).mapping().to_owned();
    assert_eq!(mapping(&[0..4], 1), "(vector,(0,4,1))");
    assert_eq!(mapping(&[0..5], 2), "(vector,(0,2,2),(2,1,1))");
    // A server on the first node, which has another rank or has none.
    assert_eq!(mapping(&[1..6], 2), "(vector,(0,1,1),(1,2,2))");
    assert_eq!(mapping(&[2..6], 2), "(vector,(0,2,2))");
    // A server in between.
    assert_eq!(mapping(&[0..2, 3..6], 2), "(vector,(0,1,2),(1,1,1),(2,1,2))");
    let group = Group::new(&[0..2, 3..6], 2);
    assert_eq!((group.size(), group.number_of(3), group.number_of(2)), (5, Some(2), None));
    assert_eq!((group.rank_of(2), group.program_of(2), group.rank_of(5)), (Some(3), Some(1), None));
}

/// Clients of a server: number i is rank i.
struct Clients {
    server: Server,
    now: Time,
}

impl Clients {
    /// So many, which have all joined.
    fn joined(ranks: u32) -> Clients {
        let server = Server::new(Group::new(&[0..ranks], 1));
        let mut clients = Clients { server, now: Time(0) };
        for rank in 0..ranks {
            clients.server.come(rank as usize, rank);
            let all = format!(
                "cmd=initack rc=0|cmd=set size={ranks}|cmd=set rank={rank}|cmd=set debug=0|"
            );
            assert_eq!(clients.ask(rank as usize, &format!("cmd=initack pmiid={rank}")), all);
        }
        clients
    }

    fn events(&mut self, client: usize, line: &str) -> Vec<Event> {
        self.now.0 += 10;
        self.server.take(client, &Line::Text(line.into()), self.now)
    }

    /// The barrier behind all lines, if the rank is at it.
    fn at_barrier(&self, rank: u32) -> Option<Barrier> {
        self.server.barrier_of(rank, Time(self.now.0 + 1))
    }

    /// The answers to a line, which go to nobody else.
    fn ask(&mut self, own: usize, line: &str) -> String {
        let text = |event| match event {
            Event::Answer { client, line } if client == own => {
                String::from_utf8(line).unwrap().replace('\n', "|")
            }
            other => panic!("{other:?}"),
        };
        self.events(own, line).into_iter().map(text).collect()
    }
}

#[test]
fn every_command_has_its_answer() {
    let mut clients = Clients::joined(2);
    let long = "v".repeat(1024);
    for (line, answer) in [
        (
            "cmd=init pmi_version=1 pmi_subversion=1",
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0|",
        ),
        (
            "cmd=init pmi_version=2 pmi_subversion=0",
            "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=-1 msg=the_version_is_1.1|",
        ),
        ("cmd=get_maxes", "cmd=maxes kvsname_max=256 keylen_max=64 vallen_max=1024 rc=0|"),
        ("cmd=get_appnum", "cmd=appnum appnum=0 rc=0|"),
        ("cmd=get_my_kvsname", "cmd=my_kvsname kvsname=kvs_0 rc=0|"),
        ("cmd=get_universe_size", "cmd=universe_size size=2 rc=0|"),
        ("cmd=put kvsname=kvs_0 key=a value=1 2", "cmd=put_result rc=0 msg=success|"),
        ("cmd=put kvsname=kvs_0 key=b value=", "cmd=put_result rc=0 msg=success|"),
        ("cmd=get kvsname=kvs_0 key=a", "cmd=get_result rc=0 msg=success value=1 2|"),
        (
            "cmd=get kvsname=kvs_0 key=PMI_process_mapping",
            "cmd=get_result rc=0 msg=success value=(vector,(0,2,1))|",
        ),
        (
            "cmd=get kvsname=kvs_0 key=c",
            "cmd=get_result rc=-1 msg=the_key_is_unknown value=unknown|",
        ),
        (
            "cmd=get kvsname=kvs_1 key=a",
            "cmd=get_result rc=-1 msg=there_is_no_such_kvsname value=unknown|",
        ),
        ("cmd=get", "cmd=get_result rc=-1 msg=the_key_is_missing value=unknown|"),
        ("cmd=put key=a", "cmd=put_result rc=-1 msg=key_or_value_is_missing|"),
        ("cmd=put key= value=1", "cmd=put_result rc=-1 msg=the_key_has_a_wrong_length|"),
        (&format!("cmd=put key=a value={long}"), "cmd=put_result rc=-1 msg=the_value_is_too_long|"),
        ("cmd=getbyidx kvsname=kvs_0 idx=1", "cmd=getbyidx_results rc=0 nextidx=2 key=b val=|"),
        (
            "cmd=getbyidx kvsname=kvs_0 idx=2",
            "cmd=getbyidx_results rc=-1 msg=no_more_keyvals reason=no_more_keyvals|",
        ),
        ("cmd=getbyidx idx=-1", "cmd=getbyidx_results rc=-1 msg=idx_or_kvsname_is_wrong|"),
        ("cmd=publish_name service=s port=p:1", "cmd=publish_result rc=0 msg=success|"),
        (
            "cmd=publish_name service=s port=p:2",
            "cmd=publish_result rc=-1 msg=the_service_is_published_already|",
        ),
        ("cmd=publish_name service=t", "cmd=publish_result rc=-1 msg=the_port_is_missing|"),
        ("cmd=lookup_name service=s", "cmd=lookup_result rc=0 port=p:1 msg=success|"),
        ("cmd=unpublish_name service=s", "cmd=unpublish_result rc=0 msg=success|"),
        ("cmd=unpublish_name service=s", "cmd=unpublish_result rc=-1 msg=the_service_is_unknown|"),
        ("cmd=lookup_name service=s", "cmd=lookup_result rc=-1 msg=the_service_is_unknown|"),
        ("cmd=lookup_name", "cmd=lookup_result rc=-1 msg=the_service_is_missing|"),
        ("mcmd=spawn", ""),
        ("nprocs=2", ""),
        ("endcmd", "cmd=spawn_result rc=-1 msg=a_run_has_the_ranks_with_which_it_begins|"),
        ("cmd=spawn", "cmd=spawn_result rc=-1 msg=a_run_has_the_ranks_with_which_it_begins|"),
        ("cmd=fly", "cmd=unknown rc=-1 msg=the_command_is_unknown|"),
        ("hello", "cmd=error rc=-1 msg=the_line_is_no_command|"),
        ("cmd=initack pmiid=1", "cmd=initack rc=-1 msg=this_rank_has_joined_already|"),
        ("cmd=initack pmiid=2", "cmd=initack rc=-1 msg=pmiid_is_no_rank|"),
        ("cmd=initack", "cmd=initack rc=-1 msg=pmiid_is_no_rank|"),
        ("cmd=finalize", "cmd=finalize_ack rc=0|"),
        ("cmd=barrier_in", "cmd=barrier_out rc=-1 msg=only_ranks_that_have_joined_meet|"),
    ] {
        assert_eq!(clients.ask(0, line), answer, "{line}");
    }
    let long =
        Event::Answer { client: 0, line: b"cmd=error rc=-1 msg=the_line_is_too_long\n".into() };
    assert_eq!(clients.server.take(0, &Line::Long, Time(0)), [long]);
    let abort = Event::Abort { rank: 1, code: 3 };
    assert_eq!(clients.events(1, "cmd=abort exitcode=3"), [abort]);
}

#[test]
fn who_is_nobody_gets_nothing() {
    let server = Server::new(Group::new(&[0..2], 1));
    let mut clients = Clients { server, now: Time(0) };
    clients.server.come(0, 0);
    let first = "cmd=get_result rc=-1 msg=initack_comes_first|";
    assert_eq!(clients.ask(0, "cmd=get kvsname=kvs_0 key=a"), first);
    let other = "cmd=initack rc=-1 msg=pmiid_is_another_rank|";
    assert_eq!(clients.ask(0, "cmd=initack pmiid=1"), other);
    assert_eq!(clients.events(7, "cmd=init"), [], "nobody has connected");
}

#[test]
fn a_barrier_waits_for_all() {
    let mut clients = Clients::joined(3);
    for _ in 0..2 {
        assert_eq!(clients.ask(2, "cmd=barrier_in"), "");
        let again = "cmd=barrier_out rc=-1 msg=this_rank_is_at_the_barrier_already|";
        assert_eq!(clients.ask(2, "cmd=barrier_in"), again);
        assert_eq!(clients.ask(0, "cmd=barrier_in"), "");
        let barrier = Barrier { came: 2, size: 3, missing: 1, left: false };
        assert_eq!((clients.at_barrier(2), clients.at_barrier(1)), (Some(barrier), None));
        let order = |event| match event {
            Event::Answer { client, line } if line == b"cmd=barrier_out rc=0\n" => client,
            other => panic!("{other:?}"),
        };
        let gone: Vec<_> = clients.events(1, "cmd=barrier_in").into_iter().map(order).collect();
        assert_eq!(gone, [2, 0, 1]);
        assert_eq!(clients.at_barrier(2), None);
        assert!(clients.server.barrier_of(2, clients.now).is_some(), "it was just before");
    }
    clients.ask(0, "cmd=barrier_in");
    clients.ask(2, "cmd=barrier_in");
    clients.server.leave(2, Time(500));
    clients.server.leave(1, Time(500));
    let barrier = Barrier { came: 1, size: 3, missing: 1, left: true };
    assert_eq!(clients.server.barrier_of(0, Time(501)), Some(barrier));
    let before = Barrier { came: 2, size: 3, missing: 1, left: false };
    assert_eq!(clients.server.barrier_of(0, Time(500)), Some(before));
}
