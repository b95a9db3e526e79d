use super::receiver::{Delivery, Receiver};
use super::sender::{Asked, Sender};
use ::myrinet::Slot;
use abi::myrinet::{
    bypass_event_kind, dma, packet_type, BypassEvent, BypassHeader, BypassLimits, BypassSend,
    DmaBlock, BYPASS_LIMITS, BYPASS_PAGE, BYPASS_PAGES, DMA_RECEIVE_CHAIN, DMA_SEND_CHAIN,
    REGION_RECEIVE_BASE, REGION_SEND_BASE,
};
use abi::MessageId;
use des::Time;

const PORT: u32 = 3;
const LIMITS: BypassLimits = BypassLimits { open: 1, state: 1, host: 0x80_0000, bytes: 0x10000 };
const BUFFER: u32 = REGION_SEND_BASE + 24;

fn id(serial: u32) -> MessageId {
    MessageId { source_nid: 0, serial }
}

/// A process writes its message of this number by two stores; its id has the number, too.
fn write(sender: &mut Sender, number: u32, send: BypassSend) {
    let mut bytes = [0; BypassSend::SIZE];
    BypassSend { number, ..send }.emit(&mut bytes);
    let at = BYPASS_PAGES + PORT * BYPASS_PAGE + (number - 1) % 32 * 16;
    let at_time = |half: u64| Time(u64::from(number) * 100 + half);
    assert!(sender.stores(at_time(0), at, &bytes[..8]).is_none());
    let written = sender.stores(at_time(1), at + 8, &bytes[8..]).expect("it is complete");
    assert_eq!((written.begun, written.port), (at_time(0), PORT as usize));
    sender.names(&written, Some(id(number)));
}

/// The card fetches a message's bytes, and sends it.
fn sends(sender: &mut Sender, send: BypassSend, (epoch, sequence): (u16, u16)) -> Option<Asked> {
    let mut sram = vec![0; 1 << 20];
    let host = LIMITS.host + send.offset;
    let block =
        DmaBlock { length: send.length, local: BUFFER, host_lo: host, ..DmaBlock::default() };
    block.emit(&mut sram[DMA_SEND_CHAIN as usize..]);
    if send.length > 0 {
        sender.fetches(Time(10_000), &sram);
        sender.fetched(Time(10_100));
    }
    let header = BypassHeader {
        kind: packet_type::BYPASS,
        target: send.target,
        source: 0,
        target_port: send.port as u8,
        source_port: PORT as u8,
        epoch,
        sequence,
        length: send.length,
    };
    sender.asked(&header, BUFFER, &LIMITS)
}

fn to(target: u16, offset: u32) -> BypassSend {
    BypassSend { target, port: 1, offset, length: 64, number: 0 }
}

#[test]
fn a_message_sent_again_has_its_id_and_twins_have_their_own() {
    let mut sender = Sender::default();
    let twin = to(1, 0x1000);
    (1..=3).for_each(|number| write(&mut sender, number, twin));
    let fetch = Some((Time(10_000), Time(10_100)));
    let asked = |serial, again| Some(Asked { id: id(serial), target: 1, again, fetch });
    assert_eq!(sends(&mut sender, twin, (7, 0)), asked(1, false));
    assert_eq!(sends(&mut sender, twin, (7, 1)), asked(2, false));
    // The first was lost, and both come again before the third.
    assert_eq!(sends(&mut sender, twin, (7, 0)), asked(1, true));
    assert_eq!(sends(&mut sender, twin, (7, 1)), asked(2, true));
    assert_eq!(sends(&mut sender, twin, (7, 2)), asked(3, false));
    // A copy that has waited for the cable until its process knew that it is over.
    assert_eq!(sender.is_over(PORT as usize), Some(id(1)));
    assert_eq!(sends(&mut sender, twin, (7, 0)), asked(1, true));
    // Nothing that no process has written.
    assert_eq!(sends(&mut sender, twin, (7, 3)), None);
    assert_eq!(sends(&mut sender, to(2, 0x1000), (7, 0)), None);
}

#[test]
fn messages_to_several_nodes_and_those_that_are_never_sent_are_told_apart() {
    let mut sender = Sender::default();
    let outside = BypassSend { length: 64, ..to(1, LIMITS.bytes - 63) };
    let sent = [to(1, 0x1000), to(2, 0x1000), outside, to(1, 0x2000)];
    (1..).zip(sent).for_each(|(number, send)| write(&mut sender, number, send));
    let serial = |asked: Option<Asked>| asked.map(|asked| asked.id.serial);
    assert_eq!(serial(sends(&mut sender, sent[1], (9, 0))), Some(2));
    assert_eq!(serial(sends(&mut sender, sent[3], (9, 1))), Some(4), "other bytes");
    assert_eq!(serial(sends(&mut sender, sent[0], (9, 0))), Some(1));
    assert_eq!(serial(sends(&mut sender, outside, (9, 2))), None);
    let over: Vec<_> = (0..5).map(|_| sender.is_over(PORT as usize)).collect();
    assert_eq!(over, [Some(id(1)), Some(id(2)), Some(id(3)), Some(id(4)), None]);
}

#[test]
fn a_ring_takes_what_has_its_turn() {
    let mut sender = Sender::default();
    for number in 1..=40 {
        write(&mut sender, number, to(1, number * 64));
        assert_eq!(
            sends(&mut sender, to(1, number * 64), (1, number as u16)).unwrap().id,
            id(number)
        );
        sender.is_over(PORT as usize);
    }
    // Not its turn, another page, no page.
    let mut bytes = [0; BypassSend::SIZE];
    BypassSend { number: 43, ..to(1, 0) }.emit(&mut bytes);
    let page = BYPASS_PAGES + PORT * BYPASS_PAGE;
    for at in
        [page + 10 * 16, page + 40 * 16, page + BYPASS_PAGE, BYPASS_PAGES + 8 * BYPASS_PAGE, 0]
    {
        assert!(sender.stores(Time(1), at, &bytes).is_none(), "{at:#x}");
    }
    // A cleared page, and a port that is opened again.
    assert!(sender.stores(Time(1), page, &[0; 4096]).is_none());
    sender.opens(PORT as usize);
    write(&mut sender, 1, to(1, 0));
}

// ---- receiving -------------------------------------------------------------------------------------------

const BUFFERS: [u32; 2] = [REGION_RECEIVE_BASE, REGION_RECEIVE_BASE + 0x8000];
const EVENT: u32 = DMA_SEND_CHAIN + 0x1000;

struct Card {
    receiver: Receiver,
    sram: Vec<u8>,
    now: u64,
}

impl Card {
    fn new() -> Card {
        let mut sram = vec![0; 2 << 20];
        LIMITS.emit(&mut sram[(BYPASS_LIMITS + PORT * 16) as usize..]);
        Card { receiver: Receiver::default(), sram, now: 0 }
    }

    /// A packet of two slots comes into a buffer: an answer, if it has no id.
    fn comes(&mut self, buffer: usize, message: Option<MessageId>, length: u32, good: bool) {
        self.now += 100;
        let slot = |ends, id| Slot { bytes: [0; 8], len: 8, ends, id };
        assert_eq!(self.receiver.comes(Time(self.now), &slot(false, message)), message);
        assert_eq!(self.receiver.comes(Time(self.now + 1), &slot(true, None)), None);
        let begin = BUFFERS[buffer];
        let (kind, source_port) = (packet_type::BYPASS, 5);
        let header =
            BypassHeader { kind, source: 1, source_port, length, ..BypassHeader::default() };
        header.emit(&mut self.sram[begin as usize..]);
        self.receiver.received(Time(self.now + 2), begin..begin + 16 + length, good);
    }

    /// The control program brings a message from a buffer to the host, or only an event.
    fn delivers(&mut self, data: Option<(usize, u32)>, kind: u32) -> Option<Delivery> {
        let chain = DMA_RECEIVE_CHAIN as usize;
        let mut at = chain;
        if let Some((buffer, length)) = data {
            at += DmaBlock::SIZE;
            let local = BUFFERS[buffer] + 16;
            DmaBlock { next: at as u32, length, local, ..DmaBlock::default() }
                .emit(&mut self.sram[chain..]);
        }
        let (next, host_lo) = (dma::TERMINAL | dma::WAKE, LIMITS.host + 0x40);
        DmaBlock { next, length: 32, local: EVENT, host_lo, ..DmaBlock::default() }
            .emit(&mut self.sram[at..]);
        let event = BypassEvent { kind, node: 1, port: 5, number: 3, ..BypassEvent::default() };
        event.emit(&mut self.sram[EVENT as usize..]);
        self.receiver.delivers(&self.sram)
    }
}

#[test]
fn a_message_is_delivered_from_its_buffer() {
    let mut card = Card::new();
    let message = |delivery: Option<Delivery>| {
        let delivery = delivery.expect("it is for a port");
        assert_eq!((delivery.port, delivery.event_at), (PORT as usize, 0x80_0040));
        (delivery.blocks, delivery.held.map(|held| (held.message.serial, held.came, held.had)))
    };
    let received = bypass_event_kind::RECEIVED;
    // A damaged copy, one that was not taken, and the one that was, beside an answer.
    card.comes(0, Some(id(1)), 64, false);
    card.comes(0, Some(id(1)), 64, true);
    card.comes(0, Some(id(1)), 64, true);
    card.comes(1, None, 0, true);
    let found = message(card.delivers(Some((0, 64)), received));
    assert_eq!(found, (2, Some((1, Time(300), Time(302)))));
    assert_eq!(message(card.delivers(None, bypass_event_kind::SENT)), (1, None));
    // What has no bytes is known by its header: the older one is first.
    card.comes(1, Some(id(2)), 0, true);
    card.comes(0, Some(id(3)), 0, true);
    assert_eq!(message(card.delivers(None, received)), (1, Some((2, Time(500), Time(502)))));
    assert_eq!(message(card.delivers(None, received)), (1, Some((3, Time(600), Time(602)))));
    assert_eq!(message(card.delivers(None, received)), (1, None));
    // The buffer has another packet by now.
    card.comes(0, Some(id(4)), 64, true);
    card.comes(0, None, 0, true);
    assert_eq!(message(card.delivers(Some((0, 64)), received)), (2, None));
}

#[test]
fn a_chain_that_brings_no_event_is_none() {
    let mut card = Card::new();
    assert_eq!(card.receiver.delivers(&card.sram), None, "no chain");
    card.sram[BYPASS_LIMITS as usize..][..0x80].fill(0);
    assert_eq!(card.delivers(None, bypass_event_kind::SENT), None, "no port");
}
