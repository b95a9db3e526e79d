#include "accel.h"

#include "accel_state.h"
#include "atomic.h"
#include "collective.h"
#include "event.h"
#include "niccb.h"
#include "plant.h"
#include "rx.h"
#include "trace.h"
#include "window.h"

struct accelerated accelerated[SS_ACCELERATED_MAX] PORT_NOINIT;

_Static_assert(ACCELERATED_FIRST + SS_ACCELERATED_MAX <= SS_MAILBOX_COUNT, "a mailbox each");
_Static_assert(ACCELERATED_FIRST > SS_GENERIC_PROCESS, "beside the kernel's");
_Static_assert(offsetof(struct ss_match_result, taken) == 16, "words of a match_result");
_Static_assert(offsetof(struct ss_match_result, answer) == 20, "words of a match_result");

void accel_init(void)
{
    window_init();
    answer_init();
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
    target = process_find(port_lines(rx_headers[word & (SS_CAM_ENTRIES - 1)])[2] >> 16);
    return target->index != SS_GENERIC_PROCESS && !target->rx_free;
}

/* The upper pending of `pending`, through the window of its process. */
static inline uint32_t upper_of_pending(void)
{
    return process->upper_local + pending->index * (uint32_t)sizeof(struct ss_upper_pending);
}

/* Writes a header to its first half, four words at a time: as many as are gathered into one write. */
static inline void header_write(uint32_t upper, const uint32_t *header)
{
    uint32_t a = header[0], b = header[1], c = header[2], d = header[3];

    for (uint32_t i = 4;; i += 4) {
        io_write32(upper, a);
        io_write32(upper + 4, b);
        io_write32(upper + 8, c);
        io_write32(upper + 12, d);
        if (i == SS_RX_HEADER_SIZE / 4)
            return;
        a = header[i];
        b = header[i + 1];
        c = header[i + 2];
        d = header[i + 3];
        upper += 16;
    }
}

/* And to the second what the user-level library is told of a match. */
static inline void result_write(uint32_t upper, const struct match_found *found,
                                const struct accelerated *a, uint32_t serial)
{
    uint32_t entry = SS_ENTRY_NONE, handle = 0, taken = a->taken;
    uint32_t visits = found->visits, mlength = found->mlength, offset = found->offset;

    if (found->entry) {
        entry = match_number(&a->lists, found->entry);
        handle = found->entry->handle;
    }
    upper += (uint32_t)offsetof(struct ss_upper_pending, data);
    io_write32(upper, entry | visits << 16);
    io_write32(upper + 4, mlength);
    io_write32(upper + 8, offset);
    io_write32(upper + 12, handle);
    io_write32(upper + 16, taken);
    io_write32(upper + 20, serial);
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

/* Where an entry's memory takes a message: bits 31..0; `hi` gets the others. */
static inline uint32_t place_of(const struct match_found *found, uint32_t *hi)
{
    uint32_t lo = found->entry->addr_lo + found->offset;

    *hi = found->entry->addr_hi + (lo < found->offset);
    return lo;
}

/* Stores the payload of a message that is whole in its header. */
static inline void store_inlined(const uint32_t *header, const struct match_found *found)
{
    uint32_t hi, lo = place_of(found, &hi);

    window_store(header + 13, lo, hi,
                 found->mlength < SS_INLINE_MAX ? found->mlength : SS_INLINE_MAX);
}

/* A put that is whole in its header and wants no acknowledgement, as most are that are short: its whole
 * way. What the host waits for comes first. */
static void put_whole(uint32_t stream, const uint32_t *header)
{
    struct accelerated *a = own();
    uint32_t upper = upper_of_pending();
    struct match_found found;

    header_write(upper, header);
    match_request(&a->lists, header, SS_DESCRIPTOR_OPTION_PUT, &found);
    if (found.mlength)
        store_inlined(header, &found);
    result_write(upper, &found, a, 0);
    event_store(SS_EVENT_TYPE_RX_INLINE);

    pending->state = PENDING_RX_DONE;
    pending->source = 0;
    if (found.entry)
        match_end(&a->lists, found.entry);
    port_lines_done();
    rx_drain(stream, TAG_DRAIN);
    NICCB_ADD(rx_complete, 1);
}

/* Gives the engine the payload of `pending`, `length` bytes from `source`, in its turn: to memory, or to
 * be discarded. Then the header's place may have another message's. */
static inline void deposit(uint32_t stream, uint32_t length, uint32_t mlength)
{
    pending->source = local_address(source);
    pending->stream = (uint16_t)stream;
    pending->dma_count = 0;
    pending->length = mlength;
    pending->extra = length - mlength;
    if (PLANTED(PLANT_DEPOSITS_LESS) && mlength > 4) {
        pending->length -= 4;
        pending->extra += 4;
    }
    pending->state = PENDING_RX_QUEUED;
    port_lines_done();
    if (source->rx_head) {
        pending_link(source->rx_tail, pending);
        source->rx_tail = pending;
        return;
    }
    source->rx_head = pending;
    source->rx_tail = pending;
    rx_program();
}

/* Whether the sender of a put hears of it, who `found` takes it. */
static inline int is_acknowledged(uint32_t word0, const struct match_found *found)
{
    return found->entry && ((word0 >> 8) & SS_HEADER_FLAG_ACK_REQUESTED) &&
           !(found->entry->options & SS_DESCRIPTOR_OPTION_ACK_DISABLE);
}

/* A put with a payload behind its header: its way up to there. The host is told who takes it before the
 * engine moves any of it. */
static void put_deposit(uint32_t stream, const uint32_t *header)
{
    struct accelerated *a = own();
    struct answer *answer = &a->answers[pending->index];
    uint32_t upper = upper_of_pending();
    struct match_found found;
    int acknowledged;

    header_write(upper, header);
    match_request(&a->lists, header, SS_DESCRIPTOR_OPTION_PUT, &found);
    acknowledged = is_acknowledged(header[0], &found);
    result_write(upper, &found, a, (uint32_t)acknowledged);
    if (found.entry) {
        uint32_t hi;

        pending->addr_lo = place_of(&found, &hi);
        pending->addr_hi = (uint16_t)hi;
    }
    answer->word0 = 0;
    if (acknowledged)
        answer_note(header, SS_PORTALS_OP_ACK, &found);
    source = source_get(header[1] & 0xFFFF);
    pending->peer = (uint16_t)header[1];
    event_store(SS_EVENT_TYPE_RX_HEADER);
    deposit(stream, header[3], found.mlength);

    answer->entry = found.entry;
}

/* The message in `pending` is complete but for its events: whole in its header. */
static void message_whole(const uint32_t *header, const struct match_found *found)
{
    struct accelerated *a = own();
    uint32_t failed = (header[0] >> 8) & SS_HEADER_FLAG_FAILED;

    if (found->entry && !failed && found->mlength)
        store_inlined(header, found);
    event_store(failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_INLINE);
    pending->state = PENDING_RX_DONE;
    a->answers[pending->index].entry = 0;
    if (found->entry)
        match_end(&a->lists, found->entry);
    if (found->entry && !failed && a->answers[pending->index].word0)
        answer_acknowledge();
}

/* The message in `pending` is answered. The answer to a get leaves from the descriptor's memory. */
static void message_answer(uint32_t event)
{
    const struct answer *answer = &own()->answers[pending->index];

    pending->length = (answer->word0 >> 8) & SS_HEADER_FLAG_INLINE ? 0 : answer->length;
    event_store(event);
    answer_send();
}

/* A message that is no put of the two kinds above. */
static void other_message(uint32_t stream, const uint32_t *header)
{
    struct accelerated *a = own();
    struct answer *answer = &a->answers[pending->index];
    uint32_t word0 = header[0], op = word0 & 0xFF;
    uint32_t payload = wire_length(word0, header[3]);
    uint32_t option = SS_DESCRIPTOR_OPTION_GET;
    uint32_t whole = (word0 >> 8) & SS_HEADER_FLAG_INLINE;
    struct match_found found = {0, 0, 0, 0};
    uint32_t upper = upper_of_pending();
    uint32_t serial = 0; /* Of a reply; 1: an acknowledgement follows. */
    int held;

    header_write(upper, header);
    answer->word0 = 0;
    switch (op) {
    case SS_PORTALS_OP_PUT:
        match_request(&a->lists, header, SS_DESCRIPTOR_OPTION_PUT, &found);
        serial = (uint32_t)is_acknowledged(word0, &found);
        if (serial)
            answer_note(header, SS_PORTALS_OP_ACK, &found);
        break;
    case SS_PORTALS_OP_GETPUT:
    case SS_PORTALS_OP_CGETPUT:
    case SS_PORTALS_OP_GETADD:
        if (!atomic_takes(op, header[3]))
            break;
        option |= SS_DESCRIPTOR_OPTION_PUT;
        /* fallthrough */
    case SS_PORTALS_OP_GET:
        match_request(&a->lists, header, option, &found);
        if (found.entry) {
            answer_note(header, SS_PORTALS_OP_REPLY, &found);
            serial = answer->serial;
        }
        break;
    case SS_PORTALS_OP_REPLY:
        reply_find(header, header[3], &found);
        break;
    case SS_PORTALS_OP_ACK: {
        match_entry_t *entry = match_answer(&a->lists, header[10]);

        ++a->lists.acks;
        if (entry)
            match_end(&a->lists, entry);
        break;
    }
    default:
        break; /* Nobody takes what is none of these. */
    }
    if (found.entry) {
        uint32_t hi;

        pending->addr_lo = place_of(&found, &hi);
        pending->addr_hi = (uint16_t)hi;
    }
    answer->entry = found.entry;
    result_write(upper, &found, a, serial);
    /* Answers of an image that recovers have a source of their own. */
    held = (serial && !OPT_OVERFLOW) ||
           !(whole || op == SS_PORTALS_OP_GET || op == SS_PORTALS_OP_ACK);
    pending->source = 0;
    if (held) {
        source = source_get(header[1] & 0xFFFF);
        pending->source = local_address(source);
    }
    pending->peer = (uint16_t)header[1];
    if (serial && atomic_is(op)) {
        if (whole)
            atomic_perform(op, header + 13, header + 6, (word0 >> 8) & SS_HEADER_FLAG_FAILED);
        else
            atomic_await();
    }
    if (serial && (op == SS_PORTALS_OP_GET || (whole && atomic_is(op)))) {
        message_answer(SS_EVENT_TYPE_RX_GET);
        port_lines_done();
        rx_drain(stream, TAG_DRAIN);
        NICCB_ADD(rx_complete, 1);
    } else if (whole || op == SS_PORTALS_OP_GET || op == SS_PORTALS_OP_ACK) {
        message_whole(header, &found);
        port_lines_done();
        rx_drain(stream, TAG_DRAIN);
        if (held)
            source_put(source);
        NICCB_ADD(rx_complete, 1);
    } else {
        event_store(SS_EVENT_TYPE_RX_HEADER);
        deposit(stream, payload, found.mlength);
    }
}

void accel_message(uint32_t stream, const uint32_t *header)
{
    uint32_t kind = header[0] & 0xFFFF;

    pending = process_take(process);
    pending->next = 0;
    if (kind == (SS_PORTALS_OP_PUT | SS_HEADER_FLAG_INLINE << 8))
        put_whole(stream, header);
    else if ((kind & 0xFF) == SS_PORTALS_OP_PUT && !(kind >> 8 & SS_HEADER_FLAG_INLINE))
        put_deposit(stream, header);
    else
        other_message(stream, header);
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
    event_store(failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_COMPLETE);
    answer->entry = 0;
    if (entry)
        match_end(&own()->lists, entry);
    if (entry && !failed && answer->word0)
        answer_acknowledge();
}

int accel_counted(uint32_t entry)
{
    return !entry || (entry <= SS_ACCELERATED_ENTRIES && own()->lists.entries[entry - 1].pending);
}
