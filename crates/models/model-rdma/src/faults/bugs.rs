//! Bugs of the card and of its driver, a row each: those that marazakis2006 tells.

use super::STARVED;
use machine::faults::{FaultKind, Form, Harm, Scope};

/// The bug `bar`.
pub static BUG_BAR: FaultKind = FaultKind {
    name: "bug.bar",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "The card's configuration space tells half of the size that its memory region \
           has, and decodes no more. (marazakis2006 s3.2.)",
    expected: "Limits and bindings stand beyond: writes there are lost, reads are all ones. \
               No flow has a limit, and nothing is sent. Found in the stage `config`: BAR 0 \
               has not the size that the registers need.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.bar=1",
};

/// The bug `stop`.
pub static BUG_STOP: FaultKind = FaultKind {
    name: "bug.stop",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "The card's PCI core does not look at STOP#: where the bridge ends a write, \
           it takes a word more for written. (marazakis2006 s3.2, s3.3.)",
    expected: "Words are missing in memory, one where each burst ends, and keep what was \
               there. Only conventional PCI (pcix.protocol=pci) ends bursts. Found in \
               `dma`: the tracing memory behind the receive FIFO has all words, memory has \
               holes.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.stop=1",
};

/// The bug `omit`.
pub static BUG_OMIT: FaultKind = FaultKind {
    name: "bug.omit",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Where the bridge ends a read of the card's, the core goes on one word too \
           far. (marazakis2006 s3.3.)",
    expected: "A word is left out of the payload, and the last comes twice; CRCs are right, \
               as they are made behind it. Only conventional PCI ends reads. Found in \
               `dma`: the tracing memory before the sending FIFO.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.omit=1",
};

/// The bug `double`.
pub static BUG_DOUBLE: FaultKind = FaultKind {
    name: "bug.double",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Where the bridge ends a read of the card's, the core takes the last word \
           again. (marazakis2006 s3.3.)",
    expected: "A word is doubled, and the last is missing. As with bug.omit otherwise.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.double=1",
};

/// The bug `completion`.
pub static BUG_COMPLETION: FaultKind = FaultKind {
    name: "bug.completion",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "A host's read of a register while a read of memory is open leaves the DMA \
           engine's multiplexer on that register: the next word is taken from there. \
           (marazakis2006 s3.3.)",
    expected: "Now and then a word of a payload is a register's. Found in `dma`: words are \
               wrong with right parity while registers are polled, and only then.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.completion=1",
};

/// The bug `setup`.
pub static BUG_SETUP: FaultKind = FaultKind {
    name: "bug.setup",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Inputs of the card's PCI core are not stable in time above 66 MHz: of some \
           words that it reads a bit is wrong. (marazakis2006 s3.6.)",
    expected: "Payloads with wrong bits, and the status bit of wrong parity. Found in \
               `dma`: it is gone at 66 MHz.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.setup=1",
};

/// The bug `empty_fifo`.
pub static BUG_EMPTY_FIFO: FaultKind = FaultKind {
    name: "bug.empty_fifo",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "A synchronisation FIFO that runs empty within a packet gives its last item \
           again; one lane is two symbols late now and then, so that it does. \
           (marazakis2006 s3.4.)",
    expected: "From there on the halves of words do not belong together, and the payload's \
               CRC is wrong. Found in `link`: bytes of one lane lag in the tracing memory.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.empty_fifo=1",
};

/// The bug `skew`.
pub static BUG_SKEW: FaultKind = FaultKind {
    name: "bug.skew",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "One lane is ten symbols later than the other: more than its synchronisation \
           FIFO holds. (marazakis2006 s3.4.)",
    expected: "Packets of more than some words lose the lanes (rx.bond_errors); short ones \
               come. Found in `link`: the other lane's FIFO is full.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.skew=1",
};

/// The bug `attributes`.
pub static BUG_ATTRIBUTES: FaultKind = FaultKind {
    name: "bug.attributes",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "An attribute of the transceivers is wrong: clock correction takes a symbol \
           of data along with the idle one. (marazakis2006 s3.4.)",
    expected: "An error for each correction: the start of a packet is lost, or its lanes. \
               Found in `link`: errors are as many as corrections, and elastic buffers are \
               well.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.attributes=1",
};

/// The bug `drift`.
pub static BUG_DRIFT: FaultKind = FaultKind {
    name: "bug.drift",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Clock correction is off: the elastic buffer runs over or dry, after long. \
           (marazakis2006 s3.4.)",
    expected: "Data are lost or doubled after thousands of words without a pause. Found in \
               `link`: elastic buffers have errors, and there are no corrections.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.drift=1",
};

/// The bug `first_credit`.
pub static BUG_FIRST_CREDIT: FaultKind = FaultKind {
    name: "bug.first_credit",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "The first credit of each flow is twice the buffer at the other end. \
           (marazakis2006 s3.5.)",
    expected: "With receive DMA off for a while, the receive FIFO runs over. Found in \
               `loopback`: CREDITS shows the limit.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.first_credit=1",
};

/// The bug `wrap`.
pub static BUG_WRAP: FaultKind = FaultKind {
    name: "bug.wrap",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Counters of flow control are compared as if they never wrapped. \
           (marazakis2006 s3.5.)",
    expected: "When the sent words have wrapped, and the credited ones have not, anything \
               may be sent: the receive FIFO runs over, but never before. Found in \
               `loopback`: overflows come late, with the right limit.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.wrap=1",
};

/// The bug `header_crc`.
pub static BUG_HEADER_CRC: FaultKind = FaultKind {
    name: "bug.header_crc",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "The CRC of some headers is wrong. (marazakis2006 s3.5.)",
    expected: "Such packets are lost with their words: counters of flow control slip, \
               slowly, up to the end of all sending. Found in `loopback`: header errors \
               alone, and words that no credit tells of.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.header_crc=1",
};

/// The bug `credit`.
pub static BUG_CREDIT: FaultKind = FaultKind {
    name: "bug.credit",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Another module flips bits of some credits; their parity shows it. \
           (marazakis2006 s3.5.)",
    expected: "They are discarded, and the next tells all: time, unless it was the last \
               one. Found in `loopback`: rx.credit_errors.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.credit=1",
};

/// The bug `credit_flip`.
pub static BUG_CREDIT_FLIP: FaultKind = FaultKind {
    name: "bug.credit_flip",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Another module flips bits of some credits, and their parity is made behind \
           it. (marazakis2006 s3.5.)",
    expected: "Counts go back for a while. Found in `loopback`: credits in the payload go \
               back, and nothing counts an error.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.credit_flip=1",
};

/// The bug `round_trip`.
pub static BUG_ROUND_TRIP: FaultKind = FaultKind {
    name: "bug.round_trip",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "The sender takes it that a whole buffer is freed while a packet travels. \
           (marazakis2006 s3.5, s4.3.)",
    expected: "With receive DMA off the receive FIFO runs over, although the limit is \
               right. Found in `loopback`: overflows come at once.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.round_trip=1",
};

/// The bug `second_look`.
pub static BUG_SECOND_LOOK: FaultKind = FaultKind {
    name: "bug.second_look",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "The interrupt's handler does not look again once it has enabled interrupts. \
           (marazakis2006 s4.1.)",
    expected: "A doorbell that rings between its look and the enabling is not seen: the \
               same as rdma.second_look=off. Found in `link`: a doorbell in memory that the \
               handler does not know, and a line that is low.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.second_look=1",
};

/// The bug `line`.
pub static BUG_LINE: FaultKind = FaultKind {
    name: "bug.line",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "Enabling and disabling interrupts does not clear the card's line. \
           (marazakis2006 s4.1.)",
    expected: "The first interrupt is the last. Found in `link`: the line stays high.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.line=1",
};

/// The bug `crosspoint`.
pub static BUG_CROSSPOINT: FaultKind = FaultKind {
    name: "bug.crosspoint",
    value: Form::Node,
    scope: Scope::Hardware,
    what: "A crosspoint of the card's row in the crossbar does not count a packet's \
           last word that leaves as another word comes in. Only machines with a \
           crossbar (forth-switch) have crosspoints. (marazakis2006 s2.3, s3.7.)",
    expected: "Counters of flow control slip by a word at a time. Found in `switch`: words \
               that no credit tells of, and no error anywhere.",
    counter: "",
    endings: STARVED,
    misleads: true,
    harm: Harm::None,
    example: "bug.crosspoint=1",
};
