#include "accel.h"

#include "accel_state.h"
#include "atomic.h"
#include "collective.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "plant.h"
#include "recover.h"
#include "rx.h"
#include "trace.h"
#include "tx.h"
#include "window.h"

struct accelerated accelerated[SS_ACCELERATED_MAX] PORT_NOINIT;

/* Headers that the transmit engine takes from here: one for each entry of its FIFO, so that a slot
 * is free again when its command is. */
volatile uint32_t tx_headers[SS_DMA_FIFO_DEPTH][SS_RX_HEADER_SIZE / 4] PORT_UNCACHED;

static uint32_t ack_serial;
static uint32_t reply_serial;

_Static_assert(ACCELERATED_FIRST + SS_ACCELERATED_MAX <= SS_MAILBOX_COUNT, "a mailbox each");
_Static_assert(ACCELERATED_FIRST > SS_GENERIC_PROCESS, "beside the kernel's");
_Static_assert(offsetof(struct ss_match_result, taken) == 16, "words of a match_result");
_Static_assert(offsetof(struct ss_match_result, answer) == 20, "words of a match_result");

void accel_init(void)
{
    window_init();
    ack_serial = 0;
    reply_serial = 0;
}

void accel_begin(uint32_t index)
{
#if OPT_COLLECTIVES
    collective_begin(index);
#endif
    struct accelerated *a = &accelerated[index - ACCELERATED_FIRST];

    match_init(&a->lists);
    a->taken = 0;
    for (uint32_t i = 0; i < SS_ACCELERATED_PENDINGS; i++)
        a->answers[i].entry = 0;
}

int accel_blocked(uint32_t word)
{
    const process_t *target;

    if ((word & SS_DONE_KIND_MASK) != SS_DONE_NEW_MESSAGE || (word & SS_DONE_ERROR))
        return 0;
    target = process_find(rx_headers[word & (SS_CAM_ENTRIES - 1)][2] >> 16);
    return target->index != SS_GENERIC_PROCESS && !target->rx_free;
}

/* The second half of the upper pending: what the user-level library is told of a match. */
static void result_write(uint32_t entry, const struct match_found *found, uint32_t handle,
                         uint32_t serial)
{
    uint32_t upper = process->upper_local +
                     pending->index * (uint32_t)sizeof(struct ss_upper_pending) +
                     (uint32_t)offsetof(struct ss_upper_pending, data);

    io_write32(upper, entry | found->visits << 16);
    io_write32(upper + 4, found->mlength);
    io_write32(upper + 8, found->offset);
    io_write32(upper + 12, handle);
    io_write32(upper + 16, own()->taken);
    io_write32(upper + 20, serial);
}

/* Lets `pending` send its answer. */
static void answer_send(void)
{
    pending->state = PENDING_TX_HEADER;
    pending->next = 0;
    pending->dma_count = 0;
#if OPT_OVERFLOW
    recover_tell_taken(); /* Before the answer, its sender hears that the request was taken. */
    tx_enter(WAY_ANSWERS);
#else
    tx_append();
#endif
}

void accel_push_header(uint32_t flags)
{
    const struct answer *answer = &own()->answers[pending->index];
    /* An answer with payload in its header has it where others have the initiator's offset. */
    int whole = ((answer->word0 >> 8) & SS_HEADER_FLAG_INLINE) && answer->length;
    volatile uint32_t *header = tx_headers[fifo_own_index(SS_TX_TAIL, tx_fifo_tail)];

    header[0] = answer->word0;
    header[1] = cached_niccb.local_nid | process->pid << 16;
    header[2] = answer->target;
    header[3] = answer->length;
    header[4] = answer->bits_lo;
    header[5] = answer->bits_hi;
    header[6] = whole ? 0 : answer->local_lo;
    header[7] = whole ? 0 : answer->local_hi;
    header[8] = answer->offset;
    header[9] = 0;
    header[10] = answer->handle;
    header[11] = process->uid;
    header[12] = answer->serial;
    header[13] = whole ? answer->local_lo : 0;
    header[14] = whole ? answer->local_hi : 0;
    header[15] = 0;
    io_order();
    tx_fifo_push(DMA_WORD0(SS_DMA_OP_LOCAL_HEADER, flags, pending->peer),
                 DMA_WORD1(pending_tag(pending), 0), local_address(header),
                 TX_HEADER_LENGTH);
}

/* What answers a message whose payload has come goes to `source`, which gave it, and holds it. */
static void answer_refer(void)
{
    pending->peer = source->nid;
    pending->extra = 0;
#if !OPT_OVERFLOW
    pending->source = local_address(source);
    ++source->refs;
#endif
}

/* Sends the acknowledgement of `pending`, which `source` gave. The pending is the host's already. */
static void acknowledge(void)
{
    struct answer *answer = &own()->answers[pending->index];

    if (PLANTED(PLANT_LOSES_ACK))
        return;
    answer->serial = SS_SERIAL_ACK << SS_SERIAL_SPACE_SHIFT | (++ack_serial & 0x0FFFFFFF);
    pending->length = 0;
    answer_refer();
    answer_send();
}

/* Notes what a put or get needs when it is done. */
static void answer_note(const uint32_t *header, uint32_t op, uint32_t word0, uint32_t word1,
                        const struct match_found *found)
{
    struct answer *answer = &own()->answers[pending->index];
    uint32_t flags = op == SS_PORTALS_OP_REPLY && found->mlength ? 0 : SS_HEADER_FLAG_INLINE;

    answer->word0 = op | flags << 8 | (word0 & 0xFFFF0000u);
    answer->target = word1;
    answer->length = found->mlength;
    answer->bits_lo = header[4];
    answer->bits_hi = header[5];
    answer->local_lo = op == SS_PORTALS_OP_REPLY ? header[6] : 0;
    answer->local_hi = op == SS_PORTALS_OP_REPLY ? header[7] : 0;
    answer->offset = found->offset;
    answer->handle = header[10];
}

/* Payload bytes that follow the header on the wire. */
static uint32_t wire_length(uint32_t word0, uint32_t length)
{
    uint32_t op = word0 & 0xFF;

    if (((word0 >> 8) & SS_HEADER_FLAG_INLINE) || op == SS_PORTALS_OP_GET ||
        op == SS_PORTALS_OP_ACK)
        return 0;
    return length;
}

/* Who takes a reply, and how much of it: its descriptor takes any, cut if need be. */
static void reply_find(const uint32_t *header, uint32_t length, struct match_found *found)
{
    match_entry_t *entry = match_answer(&own()->lists, header[10]);

    found->entry = entry;
    found->visits = 0;
    found->mlength = 0;
    found->offset = 0;
    if (!entry)
        return;
    match_posts(&own()->lists, entry);
    found->offset = header[7] || header[6] > entry->length ? entry->length : header[6];
    found->mlength = entry->length - found->offset;
    if (length < found->mlength)
        found->mlength = length;
}

static void request_find(const uint32_t *header, uint32_t option, uint32_t word0,
                         uint32_t word1, uint32_t length, struct match_found *found)
{
    struct match_request request = {
        .initiator = word1,
        .uid = header[11],
        .bits_lo = header[4],
        .bits_hi = header[5],
        .offset_lo = header[8],
        .offset_hi = header[9],
        .length = length,
        .option = option,
        .portal = (word0 >> 16) & 0xFF,
        .access = word0 >> 24,
        .whole = (word0 & 0xFF) > SS_PORTALS_OP_GETPUT,
    };

    match_request(&own()->lists, &request, found);
}

/* The message in `pending` is complete but for its events: whole in its header. */
static void message_whole(const uint32_t *header, uint32_t word0,
                          const struct match_found *found)
{
    uint32_t failed = (word0 >> 8) & SS_HEADER_FLAG_FAILED;

    if (found->entry && !failed && found->mlength)
        window_store(header + 13, pending->addr_lo, pending->addr_hi,
                       found->mlength < SS_INLINE_MAX ? found->mlength : SS_INLINE_MAX);
    pending->state = PENDING_RX_DONE;
    if (found->entry)
        match_end(&own()->lists, found->entry);
    own()->answers[pending->index].entry = 0;
    event_post(failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_INLINE);
    if (found->entry && !failed && own()->answers[pending->index].word0)
        acknowledge();
}

/* The payload of the message in `pending` goes to memory, or is discarded. */
static void message_deposit(uint32_t length, const struct match_found *found)
{
    pending->dma_count = 0;
    pending->length = found->mlength;
    pending->extra = length - found->mlength;
    if (PLANTED(PLANT_DEPOSITS_LESS) && found->mlength > 4) {
        pending->length -= 4;
        pending->extra += 4;
    }
    pending->state = PENDING_RX_QUEUED;
    event_post(SS_EVENT_TYPE_RX_HEADER);
    if (source->rx_head) {
        pending_link(source->rx_tail, pending);
        source->rx_tail = pending;
        return;
    }
    source->rx_head = pending;
    source->rx_tail = pending;
    rx_program();
}

/* The message in `pending` is answered. The answer to a get leaves from the descriptor's memory. */
static void message_answer(uint32_t event)
{
    const struct answer *answer = &own()->answers[pending->index];

    pending->length = (answer->word0 >> 8) & SS_HEADER_FLAG_INLINE ? 0 : answer->length;
    event_post(event);
    answer_send();
}

/* Copies the header of a message, four words at a time: as many as the processor has loads under
 * way. */
static void header_copy(const volatile uint32_t *from, uint32_t *header)
{
    for (uint32_t i = 4; i < SS_RX_HEADER_SIZE / 4; i += 4) {
        uint32_t a = from[i], b = from[i + 1], c = from[i + 2], d = from[i + 3];

        header[i] = a;
        header[i + 1] = b;
        header[i + 2] = c;
        header[i + 3] = d;
    }
}

/* Writes it to the upper pending. */
static void header_write(const uint32_t *header)
{
    uint32_t upper = process->upper_local +
                     pending->index * (uint32_t)sizeof(struct ss_upper_pending);

    for (uint32_t i = 0; i < SS_RX_HEADER_SIZE / 4; i += 4) {
        io_write32(upper + 4 * i, header[i]);
        io_write32(upper + 4 * i + 4, header[i + 1]);
        io_write32(upper + 4 * i + 8, header[i + 2]);
        io_write32(upper + 4 * i + 12, header[i + 3]);
    }
}

void accel_message(uint32_t stream, const volatile uint32_t *slot, uint32_t word0, uint32_t word1,
                   uint32_t word2, uint32_t word3)
{
    uint32_t header[SS_RX_HEADER_SIZE / 4] = {word0, word1, word2, word3};
    uint32_t op = word0 & 0xFF;
    uint32_t payload = wire_length(word0, word3);
    uint32_t option = SS_DESCRIPTOR_OPTION_GET;
    uint32_t whole = (word0 >> 8) & SS_HEADER_FLAG_INLINE;
    struct match_found found = {0, 0, 0, 0};
    struct answer *answer;
    uint32_t number = SS_ENTRY_NONE;
    uint32_t serial = 0; /* Of a reply; 1: an acknowledgement follows. */

    header_copy(slot, header);
    pending = process_take(process);
    pending->next = 0;
    answer = &own()->answers[pending->index];
    answer->word0 = 0;
    switch (op) {
    case SS_PORTALS_OP_PUT:
        request_find(header, SS_DESCRIPTOR_OPTION_PUT, word0, word1, word3, &found);
        if (found.entry && ((word0 >> 8) & SS_HEADER_FLAG_ACK_REQUESTED) &&
            !(found.entry->options & SS_DESCRIPTOR_OPTION_ACK_DISABLE))
            answer_note(header, SS_PORTALS_OP_ACK, word0, word1, &found);
        serial = answer->word0 != 0;
        break;
    case SS_PORTALS_OP_GETPUT:
    case SS_PORTALS_OP_CGETPUT:
    case SS_PORTALS_OP_GETADD:
        if (!atomic_takes(op, word3))
            break;
        option |= SS_DESCRIPTOR_OPTION_PUT;
        /* fallthrough */
    case SS_PORTALS_OP_GET:
        request_find(header, option, word0, word1, word3, &found);
        if (found.entry) {
            serial = SS_SERIAL_REPLY << SS_SERIAL_SPACE_SHIFT | (++reply_serial & 0x0FFFFFFF);
            answer_note(header, SS_PORTALS_OP_REPLY, word0, word1, &found);
            answer->serial = serial;
        }
        break;
    case SS_PORTALS_OP_REPLY:
        reply_find(header, word3, &found);
        break;
    case SS_PORTALS_OP_ACK: {
        match_entry_t *entry = match_answer(&own()->lists, header[10]);

        ++own()->lists.acks;
        if (entry)
            match_end(&own()->lists, entry);
        break;
    }
    default:
        break; /* Nobody takes what is none of these. */
    }
    if (found.entry) {
        uint32_t lo = found.entry->addr_lo + found.offset;

        number = match_number(&own()->lists, found.entry);
        pending->addr_hi = (uint16_t)(found.entry->addr_hi + (lo < found.offset));
        pending->addr_lo = lo;
    }
    answer->entry = found.entry;
    header_write(header);
    result_write(number, &found, found.entry ? found.entry->handle : 0, serial);
    pending->source = local_address(source);
    pending->peer = (uint16_t)word1;
    pending->stream = (uint16_t)stream;
    if (serial && atomic_is(op)) {
        if (whole)
            atomic_perform(op, header + 13, header + 6, (word0 >> 8) & SS_HEADER_FLAG_FAILED);
        else
            atomic_await();
    }
    if (serial && (op == SS_PORTALS_OP_GET || (whole && atomic_is(op)))) {
        message_answer(SS_EVENT_TYPE_RX_GET);
        rx_drain(stream, TAG_DRAIN);
        if (OPT_OVERFLOW)
            source_put(source); /* Answers have their own. Else it is in use until that has left. */
        NICCB_ADD(rx_complete, 1);
    } else if (whole || op == SS_PORTALS_OP_GET || op == SS_PORTALS_OP_ACK) {
        message_whole(header, word0, &found);
        rx_drain(stream, TAG_DRAIN);
        source_put(source);
        NICCB_ADD(rx_complete, 1);
    } else {
        message_deposit(payload, &found);
    }
}

void accel_deposited(uint32_t word)
{
    struct answer *answer = &own()->answers[pending->index];
    match_entry_t *entry = answer->entry;
    uint32_t failed = word & SS_DONE_ERROR;

    if ((answer->word0 & 0xFF) == SS_PORTALS_OP_REPLY) {
        /* The operand of an atomic operation. */
        atomic_deposited(failed != 0);
        answer_refer();
        message_answer(failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_COMPLETE);
        return;
    }
    answer->entry = 0;
    if (entry)
        match_end(&own()->lists, entry);
    event_post(failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_COMPLETE);
    if (entry && !failed && answer->word0)
        acknowledge();
}

int accel_counted(uint32_t entry)
{
    return !entry || (entry <= SS_ACCELERATED_ENTRIES && own()->lists.entries[entry - 1].pending);
}

void accel_sent(uint32_t word)
{
    struct answer *answer;
    uint32_t op;

    if (pending->index < process->tx_limit) {
        /* What the host sent from a descriptor that is here. */
        if (pending->extra) {
            match_end(&own()->lists, &own()->lists.entries[pending->extra - 1]);
            pending->extra = 0;
        }
        event_post(word & SS_DONE_ERROR ? SS_EVENT_TYPE_ERR_TX : SS_EVENT_TYPE_TX_COMPLETE);
        return;
    }
    answer = &own()->answers[pending->index];
    op = answer->word0 & 0xFF;
    answer->word0 = 0;
    pending->source = 0;
    pending->state = PENDING_RX_DONE;
    if (op == SS_PORTALS_OP_REPLY) {
        match_end(&own()->lists, answer->entry);
        answer->entry = 0;
        event_post(word & SS_DONE_ERROR ? SS_EVENT_TYPE_ERR_TX : SS_EVENT_TYPE_TX_COMPLETE);
    } else if (pending->extra) {
        /* The host has released it before its acknowledgement had left. */
        pending->extra = 0;
        pending->state = PENDING_IDLE;
        process_give(process, pending);
    }
}
