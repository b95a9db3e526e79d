#include "accel.h"

#include "accel_state.h"
#include "atomic.h"
#include "collective.h"
#include "command.h"
#include "event.h"
#include "niccb.h"
#include "plant.h"
#include "rx.h"
#include "trace.h"
#include "window.h"

struct accelerated accelerated[SS_ACCELERATED_MAX] PORT_NOINIT;
#if !OPT_OVERFLOW
/* Streams of the messages that wait, in their order. */
static uint8_t deferred[SS_CAM_ENTRIES];
static uint32_t deferred_head, deferred_count;
#endif

_Static_assert(ACCELERATED_FIRST + SS_ACCELERATED_MAX <= SS_MAILBOX_COUNT, "a mailbox each");
_Static_assert(ACCELERATED_FIRST > SS_GENERIC_PROCESS, "beside the kernel's");
_Static_assert(offsetof(struct ss_event_line, length) == 8, "words of an event_line");
_Static_assert(offsetof(struct ss_event_line, uid) == 28, "words of an event_line");
_Static_assert(offsetof(struct ss_event_line, serial) == 32, "words of an event_line");
_Static_assert(offsetof(struct ss_event_line, answer) == 56, "words of an event_line");

void accel_init(void)
{
    window_init();
    answer_init();
#if !OPT_OVERFLOW
    deferred_count = 0;
#endif
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

#if !OPT_OVERFLOW
/* Whether the message in `stream` is for an accelerated process, and that has no room. */
static __attribute__((cold, noinline)) int is_blocked(uint32_t stream)
{
    const process_t *target = process_find(port_lines(rx_headers[stream])[2] >> 16);

    port_lines_done();
    return target->index != SS_GENERIC_PROCESS && (deferred_count || !process_takes(target));
}

__attribute__((cold)) int accel_defers(uint32_t word)
{
    uint32_t stream = word & (SS_CAM_ENTRIES - 1);

    if ((word & SS_DONE_KIND_MASK) != SS_DONE_NEW_MESSAGE || (word & SS_DONE_ERROR) ||
        !is_blocked(stream))
        return 0;
    deferred[(deferred_head + deferred_count++) & (SS_CAM_ENTRIES - 1)] = (uint8_t)stream;
    waiting |= WAITING_MESSAGE;
    return 1;
}

__attribute__((cold)) void accel_resume(void)
{
    uint32_t left = deferred_count;

    /* The first does not wait for those behind it. */
    for (deferred_count = 0; left && !is_blocked(deferred[deferred_head]); --left) {
        uint32_t stream = deferred[deferred_head];

        deferred_head = (deferred_head + 1) & (SS_CAM_ENTRIES - 1);
        port_lines_ahead(rx_headers[stream]);
        rx_message(SS_DONE_NEW_MESSAGE | stream);
    }
    deferred_count = left;
    if (!left)
        waiting &= ~WAITING_MESSAGE;
}
#endif

/* Begins an event line with what a header says of a message: it is on its way while the list is searched. */
static inline void line_begin(uint32_t line, const uint32_t *header, uint32_t data_lo,
                              uint32_t data_hi)
{
    uint32_t a = header[0], b = header[1], c = header[3], d = header[4];

    io_write32(line, a);
    io_write32(line + 4, b);
    io_write32(line + 8, c);
    io_write32(line + 12, d);
    a = header[5];
    d = header[11];
    io_write32(line + 16, a);
    io_write32(line + 20, data_lo);
    io_write32(line + 24, data_hi);
    io_write32(line + 28, d);
}

/* And ends it with what has become of the message. `handle` is that of the descriptor. */
static inline void line_end(uint32_t line, const uint32_t *header, const struct match_found *found,
                            uint32_t handle, uint32_t answer)
{
    struct accelerated *a = own();
    uint32_t serial = header[12], entry = SS_ENTRY_NONE, taken = a->taken;
    uint32_t visits = found->visits, mlength = found->mlength, offset = found->offset;

    if (found->entry)
        entry = match_number(&a->lists, found->entry);
    io_write32(line + 32, serial);
    io_write32(line + 36, entry | visits << 16);
    io_write32(line + 40, mlength);
    io_write32(line + 44, offset);
    io_write32(line + 48, handle);
    io_write32(line + 52, taken);
    io_write32(line + 56, answer);
}

/* The handle of the descriptor that takes a message. */
static inline uint32_t handle_of(const struct match_found *found)
{
    return found->entry ? found->entry->handle : 0;
}

/* `pending` is free again. */
void accel_give(void)
{
    pending->state = PENDING_IDLE;
    pending->source = 0;
    process_give(process, pending);
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
 * way, without a pending. What the host waits for comes first. */
static void put_whole(uint32_t stream, const uint32_t *header)
{
    struct accelerated *a = own();
    uint32_t line = event_line(process);
    struct match_found found;

    line_begin(line, header, header[6], header[7]);
    match_request(&a->lists, header, SS_DESCRIPTOR_OPTION_PUT, &found);
    if (found.mlength)
        store_inlined(header, &found);
    line_end(line, header, &found, handle_of(&found), 0);
    event_end(process, SS_EVENT_TYPE_RX_INLINE, SS_EVENT_WHOLE);

    --process->event_room;
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
    uint32_t line = event_line(process);
    struct match_found found;
    int acknowledged;

    line_begin(line, header, header[6], header[7]);
    match_request(&a->lists, header, SS_DESCRIPTOR_OPTION_PUT, &found);
    acknowledged = is_acknowledged(header[0], &found);
    line_end(line, header, &found, handle_of(&found), (uint32_t)acknowledged);
    event_end(process, SS_EVENT_TYPE_RX_HEADER, pending->index);
    process->event_room -= 2;
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
    deposit(stream, header[3], found.mlength);

    answer->entry = found.entry;
}

/* The message in `pending` is answered. The answer to a get leaves from the descriptor's memory. */
static void message_answer(void)
{
    const struct answer *answer = &own()->answers[pending->index];

    pending->length = (answer->word0 >> 8) & SS_HEADER_FLAG_INLINE ? 0 : answer->length;
    answer_send();
}

/* Finds who takes a message that is no put of the two kinds above. Returns what its event says of an
 * answer. */
static uint32_t other_find(const uint32_t *header, struct match_found *found)
{
    struct accelerated *a = own();
    uint32_t word0 = header[0], op = word0 & 0xFF;
    uint32_t option = SS_DESCRIPTOR_OPTION_GET;

    switch (op) {
    case SS_PORTALS_OP_PUT:
        match_request(&a->lists, header, SS_DESCRIPTOR_OPTION_PUT, found);
        if (!is_acknowledged(word0, found))
            return 0;
        answer_note(header, SS_PORTALS_OP_ACK, found);
        return 1;
    case SS_PORTALS_OP_GETPUT:
    case SS_PORTALS_OP_CGETPUT:
    case SS_PORTALS_OP_GETADD:
        if (!atomic_takes(op, header[3]))
            return 0;
        option |= SS_DESCRIPTOR_OPTION_PUT;
        /* fallthrough */
    case SS_PORTALS_OP_GET:
        match_request(&a->lists, header, option, found);
        if (!found->entry)
            return 0;
        answer_note(header, SS_PORTALS_OP_REPLY, found);
        return a->answers[pending->index].serial;
    case SS_PORTALS_OP_REPLY:
        reply_find(header, header[3], found);
        return 0;
    case SS_PORTALS_OP_ACK: {
        match_entry_t *entry = match_answer(&a->lists, header[10]);

        ++a->lists.acks;
        if (entry)
            match_end(&a->lists, entry);
        return 0;
    }
    default:
        return 0; /* Nobody takes what is none of these. */
    }
}

static void other_message(uint32_t stream, const uint32_t *header)
{
    struct accelerated *a = own();
    struct answer *answer = &a->answers[pending->index];
    uint32_t word0 = header[0], op = word0 & 0xFF;
    uint32_t failed = (word0 >> 8) & SS_HEADER_FLAG_FAILED;
    uint32_t whole = ((word0 >> 8) & SS_HEADER_FLAG_INLINE) || op == SS_PORTALS_OP_GET ||
                     op == SS_PORTALS_OP_ACK;
    uint32_t data_lo = header[6], data_hi = header[7], handle;
    uint32_t line = event_line(process);
    struct match_found found = {0, 0, 0, 0};
    uint32_t serial; /* Of a reply; 1: an acknowledgement follows. */
    uint32_t events = 1;
    process_t *owner = process; /* An answer may let others go on. */
    int held;

    answer->word0 = 0;
    serial = other_find(header, &found);
    handle = handle_of(&found);
    if (op == SS_PORTALS_OP_REPLY || op == SS_PORTALS_OP_ACK) {
        data_lo = data_hi ? 0xFFFFFFFFu : data_lo;
        data_hi = header[8];
        handle = header[10];
    }
    line_begin(line, header, data_lo, data_hi);
    line_end(line, header, &found, handle, serial);
    if (found.entry) {
        uint32_t hi;

        pending->addr_lo = place_of(&found, &hi);
        pending->addr_hi = (uint16_t)hi;
    }
    answer->entry = found.entry;
    /* Answers of an image that recovers have a source of their own. */
    held = (serial && !OPT_OVERFLOW) || !whole;
    pending->source = 0;
    if (held) {
        source = source_get(header[1] & 0xFFFF);
        if (whole)
            pending->source = local_address(source);
    }
    pending->peer = (uint16_t)header[1];
    if (serial && atomic_is(op)) {
        if (whole)
            atomic_perform(op, header + 13, header + 6, failed != 0);
        else
            atomic_await(header);
        events += !whole;
    }
    if (serial && whole && op != SS_PORTALS_OP_PUT) {
        event_end(process, SS_EVENT_TYPE_RX_GET, pending->index);
        events = 2;
        message_answer();
        port_lines_done();
        rx_drain(stream, TAG_DRAIN);
        NICCB_ADD(rx_complete, 1);
    } else if (whole) {
        if (found.entry && !failed && found.mlength)
            store_inlined(header, &found);
        event_end(process, failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_INLINE,
                  SS_EVENT_WHOLE);
        if (found.entry)
            match_end(&a->lists, found.entry);
        if (serial && !failed)
            answer_acknowledge();
        else
            accel_give();
        port_lines_done();
        rx_drain(stream, TAG_DRAIN);
        if (held)
            source_put(source);
        NICCB_ADD(rx_complete, 1);
    } else {
        event_end(process, SS_EVENT_TYPE_RX_HEADER, pending->index);
        ++events;
        deposit(stream, header[3], found.mlength);
    }
    owner->event_room -= events;
}

void accel_message(uint32_t stream, const uint32_t *header)
{
    uint32_t kind = header[0] & 0xFFFF;

    if (kind == (SS_PORTALS_OP_PUT | SS_HEADER_FLAG_INLINE << 8)) {
        put_whole(stream, header);
        return;
    }
    pending = process_take(process);
    pending->next = 0;
    if ((kind & 0xFF) == SS_PORTALS_OP_PUT && !(kind >> 8 & SS_HEADER_FLAG_INLINE))
        put_deposit(stream, header);
    else
        other_message(stream, header);
}

void accel_deposited(uint32_t word)
{
    struct answer *answer = &own()->answers[pending->index];
    match_entry_t *entry = answer->entry;
    uint32_t failed = word & SS_DONE_ERROR;
    uint32_t type = failed ? SS_EVENT_TYPE_ERR_RX_CRC : SS_EVENT_TYPE_RX_COMPLETE;

    if ((answer->word0 & 0xFF) == SS_PORTALS_OP_REPLY) {
        /* The operand of an atomic operation. */
        atomic_deposited(failed != 0);
        answer_refer();
        event_end(process, type, pending->index);
        message_answer();
        return;
    }
    event_end(process, type, pending->index);
    answer->entry = 0;
    if (entry)
        match_end(&own()->lists, entry);
    if (entry && !failed && answer->word0)
        answer_acknowledge();
    else
        accel_give();
}

int accel_counted(uint32_t entry)
{
    return !entry || (entry <= SS_ACCELERATED_ENTRIES && own()->lists.entries[entry - 1].pending);
}

void accel_slot_read(void)
{
    process_t *owner = &processes[pending->process_index];
    uint32_t after = pending->dma_count == SS_SLOT_COUNT ? 0 : pending->dma_count;

    pending->dma_count = 0;
    mailboxes[owner->index].command_read = --owner->slots_held ? after : owner->command_head;
}
