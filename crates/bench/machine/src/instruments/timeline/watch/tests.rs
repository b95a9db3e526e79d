//! Tests of what a watch reports to its sinks.

use super::*;
use std::cell::RefCell;
use std::rc::Rc;

/// Keeps the records as short texts.
#[derive(Clone, Default)]
struct Notes(Rc<RefCell<Vec<String>>>);

impl Sink for Notes {
    fn record(&mut self, at: Time, what: What) {
        let at = at.0;
        self.0.borrow_mut().push(match what {
            What::Begin { track, name, message } => {
                let message = message.map_or(String::new(), |id| format!(" {id}"));
                format!("{at} {track:?} [{}{message}", name.unwrap_or_default())
            }
            What::End { track } => format!("{at} {track:?} ]"),
            What::Step { track, name, message, flow } => {
                let message = message.map_or(String::new(), |id| format!(" {id}"));
                format!("{at} {track:?} {name}{message} {flow:?}")
            }
            What::Depth { gauge, value } => format!("{at} {gauge:?} {value}"),
            What::Busy { output, until, .. } => format!("{at} {output} until {}", until.0),
        });
    }
    fn finish(self: Box<Self>, at: Time) {
        self.0.borrow_mut().push(format!("{} over", at.0));
    }
}

/// Records of a watch that gets these reports.
fn told(tell: impl FnOnce(&mut Watch)) -> Vec<String> {
    let notes = Notes::default();
    let mut watch = Watch::new(vec![Box::new(notes.clone())], 1);
    tell(&mut watch);
    watch.finish(Time(100));
    notes.0.take()
}

fn id(serial: u32) -> MessageId {
    MessageId { source_nid: 3, serial }
}

#[test]
fn cores_have_slices_without_those_of_no_length() {
    let records = told(|watch| {
        for (at, class) in [
            (0, Class::Idle),
            (1, Class::User),
            (10, Class::Kernel),
            (12, Class::Stall),
            (15, Class::Kernel),
            (20, Class::User),
            (20, Class::Kernel),
            (30, Class::Polling),
            (40, Class::Interrupt),
            (50, Class::Interrupt),
            (60, Class::Idle),
            (70, Class::User),
        ] {
            watch.core_does(0, Time(at), class);
        }
    });
    let expected =
        "1 [user;10 ];10 [kernel;12 [reads the NIC;15 ];20 ];20 [kernel;30 ];30 [polling;40 ];\
                    40 [interrupt;50 ];50 [interrupt;60 ];70 [user;100 ];100 over";
    let records: Vec<_> = records.iter().map(|line| line.replace("Core(0) ", "")).collect();
    assert_eq!(records.join(";"), expected);
}

#[test]
fn steps_stand_within_what_the_core_does() {
    let records = told(|watch| {
        let placed = Placed { core: 0, rank: 4 };
        watch.core_does(0, Time(5), Class::Interrupt);
        watch.passes(Time(7), placed, id(1), portals::TracePoint::HeaderDrained);
        watch.passes(Time(8), placed, id(1), portals::TracePoint::EventReturned(EventKind::PutEnd));
        watch.passes(
            Time(9),
            placed,
            id(2),
            portals::TracePoint::EventReturned(EventKind::SendEnd),
        );
    });
    let expected = [
        "5 Core(0) [interrupt",
        "7 Core(0) event: header 3:1 Step",
        "8 Rank(4) PUT_END 3:1 Last",
        "9 Rank(4) SEND_END 3:2 Beside",
        "100 Core(0) ]",
        "100 over",
    ];
    assert_eq!(records, expected);
}

#[test]
fn messages_in_an_engine_have_lanes_and_notifications_their_messages() {
    let records = told(|watch| {
        watch.launch(Time(0), &[(Gauge::Own(0), 0)], 1);
        for (at, serial, point) in [
            (1, 1, Point::Arrived),
            (2, 2, Point::Arrived),
            (3, 1, Point::Announced),
            (4, 1, Point::Commanded),
            (6, 1, Point::Completed),
            // Came before anybody watched.
            (7, 9, Point::Completed),
        ] {
            watch.engine(Time(at), id(serial), point);
        }
        watch.takes_notifications(Time(8), 3);
    });
    let expected = [
        "1 Receive(0) [ 3:1",
        "1 Receive(0) [header to SRAM",
        "2 Receive(1) [ 3:2",
        "2 Receive(1) [header to SRAM",
        "3 Receive(0) ]",
        "3 Receive(0) [waits for its command",
        "4 Receive(0) ]",
        "4 Receive(0) [deposits",
        "6 Receive(0) ]",
        "6 Receive(0) ]",
        "8 Firmware takes notification Step",
        "8 Firmware takes notification 3:1 Step",
        "8 Firmware takes notification 3:1 Step",
        "100 Receive(1) ]",
        "100 Receive(1) ]",
        "100 over",
    ];
    assert_eq!(records[1..], expected);
}

#[test]
fn the_event_ring_has_a_depth_also_when_it_wraps() {
    let records = told(|watch| {
        watch.set_ring(0x1000..0x1010, 3);
        let mut depths = |at: u64, written: Option<u64>, slot| {
            written.into_iter().for_each(|phys| watch.host_written(phys));
            watch.set_slot(Some(slot));
            let events = watch.events();
            watch.depths(Time(at), &[(Gauge::Own(0), events)]);
        };
        depths(1, Some(0x100c), 3);
        depths(2, Some(0x1000), 3);
        // Somewhere else.
        depths(3, Some(0x1010), 3);
        depths(4, None, 0);
        depths(5, None, 1);
    });
    assert_eq!(records, ["1 Own(0) 1", "2 Own(0) 2", "4 Own(0) 1", "5 Own(0) 0", "100 over"]);
}
