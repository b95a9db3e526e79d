#include "rx.h"

#include "accel.h"
#include "command.h"
#include "dmalist.h"
#include "drains.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "panic.h"
#include "plant.h"
#include "recover.h"
#include "relay.h"
#include "trace.h"

static source_t *stalled_head; /* Sources whose head pending found the FIFO full. */
static source_t *stalled_tail;

void rx_init(void)
{
    stalled_head = 0;
    stalled_tail = 0;
    drains_head = 0;
    drains_count = 0;
    rx_fifo_head = io_read32(SS_RX_HEAD);
    rx_fifo_tail = io_read32(SS_RX_TAIL);
    rx_done_head = io_read32(SS_RX_DONE_HEAD);
}

static void rx_alloc_pending(uint32_t nid)
{
    pending = process->rx_free;
    if (!pending)
        panic(SS_PANIC_REASON_NO_RX_PENDING, nid);
    process->rx_free = pending_next(pending);
    RX_COUNT(process, -1);
    pending->next = 0;
}

/* Writes the whole header to the upper pending, four words at a time: as many as the processor
 * has loads outstanding, and as it gathers into one write. The caller has read the first four.
 * Returns word 12. */
static inline uint32_t rx_write_header(const volatile uint32_t *header, uint32_t w0, uint32_t w1,
                                       uint32_t w2, uint32_t w3)
{
    uint32_t upper = process->upper_local +
                     pending->index * (uint32_t)sizeof(struct ss_upper_pending);

    for (uint32_t i = 4;; i += 4) {
        io_write32(upper, w0);
        io_write32(upper + 4, w1);
        io_write32(upper + 8, w2);
        io_write32(upper + 12, w3);
        if (i == SS_RX_HEADER_SIZE / 4)
            return w0;
        w0 = header[i];
        w1 = header[i + 1];
        w2 = header[i + 2];
        w3 = header[i + 3];
        upper += 16;
        if (PLANTED(PLANT_SPOILS_HEADER) && i == 4)
            w0 ^= 0x10;
    }
}

/* Announces a message that is complete, or does what a planted bug does instead. */
static inline void rx_announce_whole(void)
{
    static uint32_t count;
    static pending_t *held;

    if (OPT_PLANTED)
        ++count;
    if (PLANTED(PLANT_LOSES_INLINE) && count % 8 == 0)
        return;
    if (PLANTED(PLANT_OVERTAKES) && count % 8 == 7) {
        held = pending;
        return;
    }
    event_post(SS_EVENT_TYPE_RX_INLINE);
    if (PLANTED(PLANT_ANNOUNCES_TWICE))
        event_post(SS_EVENT_TYPE_RX_INLINE);
    if (PLANTED(PLANT_OVERTAKES) && held) {
        pending = held;
        held = 0;
        event_post(SS_EVENT_TYPE_RX_INLINE);
    }
}

#if OPT_NUMBERED
static uint32_t told_nid; /* Who sent the next notification's message, if the header cannot tell. */
_Static_assert(SS_CAM_ENTRIES == 256, "bits 7..0 are a stream, and the number is above");
#endif
#define NEW_STREAM_MASK (OPT_NUMBERED ? 0xFFu : 0xFFFFu)
#if OPT_RELAY
/* The number that the routing flit gave. */
#define ROUTING_NUMBER(word) (((word) >> 8 & 0xFF) | ((word) >> 15 & 0xFF00))
#endif

/* A message that was complete in its first packet and whose CRC is wrong: nothing in its header
 * can be trusted, so the kernel is told, and no source is involved. */
static void rx_bad_header(uint32_t stream, const volatile uint32_t *header, uint32_t word)
{
    (void)word;
    trace();
    process = &processes[SS_GENERIC_PROCESS];
    rx_alloc_pending(header[1] & 0xFFFF);
    pending->source = 0;
    pending->state = PENDING_RX_DONE;
    rx_write_header(header, header[0], header[1], header[2], header[3]);
#if OPT_RELAY
    relay_note(told_nid, ROUTING_NUMBER(word));
#endif
    event_post(SS_EVENT_TYPE_ERR_RX_HDR_CRC);
    rx_drain(stream, TAG_DRAIN_BAD);
}

static void rx_count_message(void)
{
    NICCB_ADD(rx_message, 1);
    NICCB_ADD(cam_in_use, 1);
    if (cached_niccb.cam_in_use > cached_niccb.cam_high_water)
        niccb.cam_high_water = cached_niccb.cam_high_water = cached_niccb.cam_in_use;
}

#if OPT_NUMBERED
#define rx_check_serial(serial) ((void)(serial)) /* What is refused comes again. */
#else
/* Messages of one source come in order. One that does not is counted. */
static void rx_check_serial(uint32_t serial)
{
    if (OPT_ACCELERATED && serial >> SS_SERIAL_SPACE_SHIFT)
        return; /* Each space of serials counts by itself. */
    if (source->heard && (int32_t)(serial - source->serial) <= 0)
        NICCB_ADD(sequence_errors, 1);
    source->serial = serial;
    source->heard = 1;
}
#endif

/* Payload bytes that follow the header on the wire. */
static uint32_t rx_wire_length(uint32_t word0, uint32_t length)
{
    uint32_t op = word0 & 0xFF;

    if ((word0 >> 8) & SS_HEADER_FLAG_INLINE)
        return 0;
    if (op == SS_PORTALS_OP_GET || op == SS_PORTALS_OP_ACK)
        return 0;
    return length;
}

ACCEL_SHARED void rx_message(uint32_t word)
{
    uint32_t stream = word & NEW_STREAM_MASK;
    const volatile uint32_t *header;
    const uint32_t *lines = 0; /* The same, where it is fetched by lines. */
    uint32_t word0, word1, word2, word3, serial;

    trace();
    if (stream >= SS_CAM_ENTRIES)
        panic(SS_PANIC_REASON_DMA_ERROR, word);
    if (OPT_ACCELERATED)
        lines = port_lines_came(rx_headers[stream]);
    header = OPT_ACCELERATED ? lines : rx_headers[stream];
    if (word & SS_DONE_ERROR) {
#if OPT_OVERFLOW
        if (!recover_admits(told_nid, RECOVER_ROUTING(word), &processes[SS_GENERIC_PROCESS]))
            rx_drain(stream, TAG_DRAIN_BAD); /* It has come alone. */
        else
#elif OPT_RELAY
        if (!relay_admits(told_nid, ROUTING_NUMBER(word)))
            rx_drain(stream, TAG_DRAIN_BAD);
        else
#endif
            rx_bad_header(stream, header, word);
        rx_count_message();
        return;
    }
    word0 = header[0];
    word1 = header[1];
    word2 = header[2];
    word3 = header[3];
#if OPT_OVERFLOW
    process = process_find(word2 >> 16);
    if (!recover_admits(word1 & 0xFFFF, RECOVER_ROUTING(word), process)) {
        rx_drop(stream, TAG_DRAIN_BAD, rx_wire_length(word0, word3));
        rx_count_message();
        return;
    }
#elif OPT_RELAY
    process = &processes[SS_GENERIC_PROCESS];
    if (!relay_admits(word1 & 0xFFFF, ROUTING_NUMBER(word))) {
        rx_drop(stream, TAG_DRAIN_BAD, rx_wire_length(word0, word3));
        rx_count_message();
        return;
    }
#else
    if (!OPT_ACCELERATED)
        source = source_get(word1 & 0xFFFF);
    process = process_find(word2 >> 16);
#endif
    if (OPT_ACCELERATED && process->index != SS_GENERIC_PROCESS) {
        accel_message(stream, lines);
        rx_count_message();
        return;
    }
    if (OPT_ACCELERATED || OPT_NUMBERED)
        source = source_get(word1 & 0xFFFF);
    rx_alloc_pending(word1 & 0xFFFF);
    serial = rx_write_header(header, word0, word1, word2, word3);
#if OPT_RELAY
    relay_note(word1 & 0xFFFF, ROUTING_NUMBER(word));
#endif
    if (OPT_INLINE && ((word0 >> 8) & SS_HEADER_FLAG_INLINE)) {
        pending->source = 0;
        pending->state = PENDING_RX_DONE;
        rx_announce_whole();
        rx_drain(stream, TAG_DRAIN);
        rx_check_serial(serial);
        source_put(source);
        NICCB_ADD(rx_complete, 1);
    } else {
        pending->source = local_address(source);
        pending->peer = (uint16_t)word1;
        pending->stream = (uint16_t)stream;
        pending->extra = rx_wire_length(word0, word3);
        pending->state = PENDING_RX_ANNOUNCED;
        event_post(SS_EVENT_TYPE_RX_HEADER);
        rx_check_serial(serial);
    }
    rx_count_message();
}

/* One command that deposits payload: the whole of a contiguous buffer, or the next region of
 * those that the host has computed. */
static void rx_push_deposit(void)
{
    struct dmalist_region region = {pending->addr_lo, pending->addr_hi, pending->length};
    uint32_t flags;

    if (pending->dma_count)
        dmalist_take(&region);
    pending->length -= region.length;
    if (PLANTED(PLANT_MISPLACES))
        region.addr_lo += 4;
    flags = pending->length == 0 && pending->extra == 0 ? SS_DMA_FLAG_LAST : 0;
    rx_fifo_push(DMA_WORD0(SS_DMA_OP_PAYLOAD, flags, pending->stream),
                 DMA_WORD1(pending_tag(pending), region.addr_hi), region.addr_lo, region.length);
    if (flags)
        pending->state = PENDING_RX_PROGRAMMED;
}

/* Gives the engine the commands of `pending`, going on where it stopped: deposit what the host
 * wants, then discard the rest. Returns 0 when the FIFO is full. */
static int rx_push_commands(void)
{
    while (pending->length) {
        if (!rx_fifo_has_room())
            return 0;
        rx_push_deposit();
    }
    if (pending->state == PENDING_RX_PROGRAMMED)
        return 1;
    if (!rx_fifo_has_room())
        return 0;
    rx_fifo_push(DMA_WORD0(SS_DMA_OP_DISCARD, SS_DMA_FLAG_LAST, pending->stream),
                 DMA_WORD1(pending_tag(pending), 0), 0, pending->extra);
    if (pending->extra)
        NICCB_ADD(packets_drained, (pending->extra + SS_PACKET_PAYLOAD - 1) / SS_PACKET_PAYLOAD);
    pending->state = PENDING_RX_PROGRAMMED;
    return 1;
}

/* Programs the head of the list of `source`, or lets the source wait for room. */
ACCEL_SHARED void rx_program(void)
{
    pending = source->rx_head;
    pending->state = PENDING_RX_DEPOSIT;
    if (rx_push_commands() || source->stalled)
        return;
    trace();
    source->stalled = 1;
    source->stall_next = 0;
    if (stalled_head)
        stalled_tail->stall_next = source;
    else
        stalled_head = source;
    stalled_tail = source;
    waiting |= WAITING_RX;
}

void rx_progress(void)
{
    if (waiting & WAITING_DRAIN)
        rx_drain_waiting();
    while (stalled_head) {
        source = stalled_head;
        pending = source->rx_head;
        if (!rx_push_commands())
            return;
        stalled_head = source->stall_next;
        source->stalled = 0;
    }
    waiting &= ~WAITING_RX;
}

_Static_assert(offsetof(struct ss_rx_command, process_index) == 1, "word 0");
_Static_assert(offsetof(struct ss_rx_command, pending) == 2, "word 0");
_Static_assert(offsetof(struct ss_rx_command, dma_count) == 6, "word 1");
_Static_assert(offsetof(struct ss_rx_command, length) == 8, "word 2");
_Static_assert(offsetof(struct ss_rx_command, addr_lo) == 12, "word 3");
_Static_assert(offsetof(struct ss_rx_command, addr_hi) == 16, "word 4");
_Static_assert(offsetof(struct ss_rx_command, dma_list) == 20, "word 5");
_Static_assert(offsetof(struct ss_release_command, pending) == 2, "word 0");

/* A receive pending of `process` in the given state. */
static int rx_find_pending(uint32_t index, enum pending_state state)
{
    if (index < process->tx_limit || index >= process->num_pendings)
        return COMMAND_BAD;
    pending = &process->pendings[index];
    return pending->state == state ? 0 : COMMAND_BAD;
}

int rx_command(uint32_t word0, const volatile uint32_t *words)
{
    uint32_t dma_count = words[1] >> 16;
    uint32_t length = words[2];
    uint32_t addr_lo = words[3];
    uint32_t addr_hi = words[4];

    if (rx_find_pending(word0 >> 16, PENDING_RX_ANNOUNCED) < 0)
        return COMMAND_BAD;
    if (length > pending->extra || addr_hi > 0xFF)
        return COMMAND_BAD;
    if (dma_count) {
        addr_lo = words[5];
        if (!dmalist_valid(addr_lo, dma_count))
            return COMMAND_BAD;
    }
    pending->addr_lo = addr_lo;
    pending->addr_hi = (uint16_t)addr_hi;
    pending->dma_count = (uint16_t)dma_count;
    pending->length = length;
    pending->extra -= length;
    if (PLANTED(PLANT_DEPOSITS_LESS) && length > 4) {
        pending->length -= 4;
        pending->extra += 4;
    }
    pending->state = PENDING_RX_QUEUED;

    source = local_pointer(pending->source);
    if (source->rx_head) {
        pending_link(source->rx_tail, pending);
        source->rx_tail = pending;
        return 0;
    }
    source->rx_head = pending;
    source->rx_tail = pending;
    rx_program();
    return 0;
}

int rx_release(uint32_t word0)
{
    if (rx_find_pending(word0 >> 16, PENDING_RX_DONE) < 0)
        return COMMAND_BAD;
    pending->state = PENDING_IDLE;
    pending_link(pending, process->rx_free);
    process->rx_free = pending;
    RX_COUNT(process, 1);
    return 0;
}

/* A payload has been deposited, or failed its CRC. The next message of the source takes its
 * place. */
static void rx_complete(uint32_t word)
{
    uint32_t tag = word & 0xFFFF;

    trace();
    if (tag >= LOWER_PENDINGS)
        panic(SS_PANIC_REASON_DMA_ERROR, word);
    pending = &lower_pendings[tag];
    source = local_pointer(pending->source);
    if (pending->state != PENDING_RX_PROGRAMMED || source->rx_head != pending)
        panic(SS_PANIC_REASON_DMA_ERROR, word);
    source->rx_head = pending_next(pending);
    pending->state = PENDING_RX_DONE;
    pending->source = 0;
    pending->next = 0;
    process = &processes[pending->process_index];
    if (PLANTED(PLANT_CRIES_WOLF))
        word |= SS_DONE_ERROR;
    if (OPT_ACCELERATED && process->index != SS_GENERIC_PROCESS) {
        accel_deposited(word);
        source_put(source);
        if (source->rx_head)
            rx_program();
        NICCB_ADD(rx_complete, 1);
        return;
    }
    event_post(word & SS_DONE_ERROR ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_COMPLETE);
    source_put(source);
    if (source->rx_head)
        rx_program();
    NICCB_ADD(rx_complete, 1);
}

static void rx_notification(uint32_t word)
{
    switch (word & SS_DONE_KIND_MASK) {
    case SS_DONE_NEW_MESSAGE:
        rx_message(word);
        break;
    case SS_DONE_COMPLETE:
        NICCB_ADD(cam_in_use, (uint32_t)-1);
        if ((word & 0xFFFF) == TAG_DRAIN_BAD)
            break;
        if ((word & 0xFFFF) == TAG_DRAIN && !(word & SS_DONE_ERROR))
            break;
        rx_complete(word);
        break;
    case SS_DONE_CAM_OVERFLOW:
        NICCB_ADD(cam_ovf, 1);
#if OPT_NUMBERED
        /* fallthrough */
    case SS_DONE_SOURCE:
        told_nid = word & 0xFFFF;
        break;
    case SS_DONE_OVERFLOW_ROUTING:
#if OPT_RELAY
        relay_overflow(told_nid, word);
#else
        recover_overflow(told_nid, word & (0xFFFFu | SS_DONE_RESUMED));
#endif
        break;
    case SS_DONE_CONTROL:
#if OPT_RELAY
        relay_read_slot(word & (SS_CONTROL_SLOTS - 1));
#else
        recover_read_slot(word & (SS_CONTROL_SLOTS - 1));
#endif
        break;
#else
        panic(SS_PANIC_REASON_CAM_OVERFLOW, word & 0xFFFF);
#endif
    default:
        panic(SS_PANIC_REASON_DMA_ERROR, word);
    }
}

void rx_take_all(uint32_t tail)
{
    uint32_t head = fifo_own_index(SS_RX_DONE_HEAD, rx_done_head);
#if OPT_ACCELERATED
    uint32_t ahead = head != tail ? io_read32(SS_RX_DONE_FIFO + (head << 2)) : 0;
#endif
    while (head != tail) {
#if OPT_ACCELERATED
        uint32_t word = ahead;
#else
        uint32_t word = io_read32(SS_RX_DONE_FIFO + (head << 2));
#endif

#if OPT_OVERFLOW
        if (!recover_can_answer())
            break;
#elif OPT_RELAY
        if (!relay_room)
            break; /* Until the kernel has taken some events. */
#endif

        head = DONE_AFTER(head);
        rx_done_head = head;
#if OPT_ACCELERATED
        /* A header, if it tells of one, and the next are on their way while it is taken. */
        port_lines_ahead(rx_headers[word & (SS_CAM_ENTRIES - 1)]);
        if (head != tail)
            ahead = io_read32(SS_RX_DONE_FIFO + (head << 2));
#endif
        io_write32(SS_RX_DONE_HEAD, head);
#if OPT_ACCELERATED
#if !OPT_OVERFLOW
        if (((waiting & WAITING_MESSAGE) || accel_exhausted()) && accel_defers(word))
            continue;
#endif
        /* A stream is free whose message has long been taken. */
        if (word == (SS_DONE_COMPLETE | TAG_DRAIN)) {
            NICCB_ADD(cam_in_use, (uint32_t)-1);
            continue;
        }
#endif
        rx_notification(word);
    }
#if OPT_OVERFLOW
    recover_tell_taken();
#endif
}
