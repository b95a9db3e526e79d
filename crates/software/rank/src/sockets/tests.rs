use super::network::{Answer::*, *};
use super::records::Name;
use super::SocketError;
use des::{Duration, Time};

const LATENCY: u64 = 100;
const COSTS: Costs = Costs {
    call: Duration(1),
    latency: Duration(LATENCY),
    rate: 1_000_000_000_000, // a byte a picosecond
    buffer: 10,
    segment: 4,
    launcher: Duration(7),
};
const THERE: Name = Name { node: 1, port: 80 };

/// Two ranks on two nodes; the second one listens at 0.
fn network() -> (Network, u64, u64) {
    let network = Network::default();
    network.begin(COSTS, Duration(30), 2, 1);
    let mut state = network.lock();
    let (client, server) = (state.open(0, 0), state.open(1, 1));
    assert_eq!(state.bind(server, THERE.port), Done(0));
    assert_eq!(state.listen(server, Time(0)), Done(0));
    drop(state);
    (network, client, server)
}

/// Nothing is seen before the latency has passed, and what comes soon is known before.
#[test]
fn each_end_sees_the_other_later() {
    let (network, client, server) = network();
    let mut state = network.lock();
    assert_eq!(state.connect(client, THERE, false, Time(20)), Later(None));
    assert_eq!(state.connect(client, THERE, true, Time(40)), Later(Some(Time(100))));
    assert_eq!(state.connect(client, THERE, true, Time(100)), Later(Some(Time(300))));
    assert_eq!(state.accept(server, Time(199)), Later(Some(Time(200))));
    let Done(accepted) = state.accept(server, Time(200)) else { panic!("nobody has connected") };
    assert_eq!(state.connect(client, THERE, true, Time(300)), Done(0));
    assert_eq!(state.send(client, b"sixteen letters.", Time(300)), Done(10), "no room for more");
    // A segment of four bytes leaves in four picoseconds.
    assert_eq!(state.available(accepted, Time(403)), Done(0));
    assert_eq!(state.receive(accepted, 9, false, Time(404)), Ok(b"sixt".to_vec()));
    assert_eq!(state.receive(accepted, 9, true, Time(408)), Ok(b"een ".to_vec()));
    assert_eq!(state.send(client, b"!", Time(500)), Later(Some(Time(504))), "it is told");
    assert_eq!(state.send(client, b"!", Time(504)), Done(1));
    state.close(client, Time(504));
    assert_eq!(state.receive(accepted, 9, false, Time(700)), Ok(b"een le!".to_vec()));
    assert_eq!(state.receive(accepted, 9, false, Time(700)), Ok(Vec::new()), "the end");
    assert_eq!(state.send(accepted, b"!", Time(700)), Failed(libc::EPIPE));
}

#[test]
fn who_has_gone_refuses() {
    let (network, client, server) = network();
    let mut state = network.lock();
    state.close(server, Time(10));
    assert_eq!(state.connect(client, THERE, false, Time(200)), Later(None));
    state.end_rank(1, Time(200));
    assert_eq!(state.connect(client, THERE, true, Time(299)), Later(None));
    assert_eq!(state.connect(client, THERE, true, Time(300)), Failed(libc::ECONNREFUSED));
    let nowhere = Name { node: 2, port: 80 };
    assert_eq!(state.connect(client, nowhere, false, Time(300)), Failed(libc::EHOSTUNREACH));
}

/// Two clients are accepted in the order of time and node, whichever the threads have run first.
#[test]
fn the_order_of_threads_does_not_matter() {
    let order = |turns: [u32; 2]| {
        let network = Network::default();
        network.begin(COSTS, Duration(30), 3, 1);
        let mut state = network.lock();
        let server = state.open(1, 1);
        state.bind(server, THERE.port);
        state.listen(server, Time(0));
        for node in turns {
            let client = state.open(node, node);
            state.connect(client, THERE, false, Time(200));
        }
        let mut accept = || match state.accept(server, Time(400)) {
            Done(number) => state.names(number).unwrap().1.unwrap().node,
            answer => panic!("{answer:?}"),
        };
        [accept(), accept()]
    };
    assert_eq!((order([0, 2]), order([2, 0])), ([0, 2], [0, 2]));
}

#[test]
fn each_error_of_a_call_is_a_sentence() {
    let cases = [
        (
            SocketError::Latency {
                rank: 3,
                notice: Duration::from_ns(200),
                latency: Duration::from_ns(100),
            },
            "rank 3: sockets need a network on which a message takes more than the 200.000 ns in \
             which a run ends, and admin.latency is 100.000 ns",
        ),
        (
            SocketError::Barrier { rank: 3, came: 2, size: 4, missing: 1, left: false },
            "rank 3 has waited in the launcher's barrier (PMI) for a day of simulated time: 2 of 4 \
             ranks came, and rank 1 did not",
        ),
        (
            SocketError::Barrier { rank: 3, came: 2, size: 4, missing: 1, left: true },
            "rank 3 has waited in the launcher's barrier (PMI) for a day of simulated time: 2 of 4 \
             ranks came, and rank 1 left without finalize",
        ),
        (
            SocketError::Deadlock { rank: 3 },
            "rank 3 has waited at a socket for a day of simulated time, and nothing came: the \
             program is deadlocked",
        ),
    ];
    for (error, sentence) in cases {
        assert_eq!(error.to_string(), sentence);
    }
}
