#include "tx.h"

#include "accel.h"
#include "command.h"
#include "dmalist.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "panic.h"
#include "plant.h"
#include "recover.h"
#include "trace.h"

static pending_t *list_head; /* TX pending list: the oldest message not completed. */
static pending_t *list_tail;
static pending_t *list_next; /* First whose commands are not all in the FIFO. */
#if OPT_OVERFLOW
static pending_t *list_sent; /* The one before that. */
/* Messages without a number, because sources are few: requests and, not held up by them, answers. */
static struct { pending_t *head, *tail; } fresh[2];
#define FRESH(class) fresh[((class) & WAY_ANSWERS) != 0]
static void tx_push_list(void);
#else
#define tx_push_list tx_progress
#endif

void tx_init(void)
{
    list_head = 0;
    list_tail = 0;
    list_next = 0;
#if OPT_OVERFLOW
    list_sent = 0;
    fresh[0].head = fresh[1].head = 0;
#endif
    tx_fifo_head = io_read32(SS_TX_HEAD);
    tx_fifo_tail = io_read32(SS_TX_TAIL);
    tx_done_head = io_read32(SS_TX_DONE_HEAD);
}

#if OPT_ACCELERATED || OPT_OVERFLOW
/* Appends `pending` to the list. */
static inline void tx_link(void)
{
    if (list_head)
        pending_link(list_tail, pending);
    else
        list_head = pending;
    list_tail = pending;
    ++cached_niccb.tx_pending;
}

void tx_append(void)
{
    tx_link();
    if (!list_next) {
        list_next = pending;
        tx_push_list();
    }
}
#endif

#if OPT_OVERFLOW
/* Gives `pending` its source and number; 0: there is no source now. */
static int tx_begin(uint32_t class)
{
    uint32_t way = pending->peer | class;
    source_t *peer;

    if (!source_available_to(way))
        return 0;
    peer = source_get(way);
    pending->source = local_address(peer);
    recover_number(peer);
    pending->state = PENDING_TX_HEADER;
    return 1;
}

void tx_enter(uint32_t class)
{
    if (!FRESH(class).head && tx_begin(class)) {
        tx_append();
        return;
    }
    pending->state = PENDING_TX_NEW;
    if (FRESH(class).head)
        pending_link(FRESH(class).tail, pending);
    else
        FRESH(class).head = pending;
    FRESH(class).tail = pending;
    waiting |= WAITING_TX;
}

/* Messages that have waited for a source, in their order. */
static void tx_begin_fresh(uint32_t class)
{
    while (FRESH(class).head) {
        pending_t *next;

        pending = FRESH(class).head;
        if (!tx_begin(class))
            return;
        next = pending_next(pending);
        pending->next = 0;
        FRESH(class).head = next;
        tx_append();
    }
}
#endif

#if OPT_ACCELERATED
/* Where the engine reads the header of a slot of `process`. */
static inline uint32_t slot_header(uint32_t slot)
{
    return SS_MAILBOX_BASE + process->index * SS_MAILBOX_SIZE + slot * SS_SLOT_SIZE +
           (uint32_t)offsetof(struct ss_transmit_slot, header);
}

int tx_straight(uint32_t slot)
{
    uint32_t nid = pending->peer, length = pending->length;
    uint32_t tag = pending_tag(pending), word3 = (uint32_t)sizeof(struct ss_portals_header);
    source_t *peer;

    if (list_next || !tx_fifo_has_room())
        return 0;
#if OPT_OVERFLOW
    if (FRESH(0).head || !sources_plenty(nid))
        return 0;
    peer = source_get(nid);
    if (peer->peer) {
        source_put(peer);
        return 0;
    }
    word3 = (peer->number & (SS_NUMBER_ANSWER - 1)) | (nid & WAY_ANSWERS) << 1;
#else
    peer = source_get(nid);
#endif
    if (PLANTED(PLANT_ENDS_TOO_SOON) && length)
        event_post(SS_EVENT_TYPE_TX_COMPLETE);
    tx_fifo_push(DMA_WORD0(SS_DMA_OP_LOCAL_HEADER, length ? 0 : SS_DMA_FLAG_LAST, nid),
                 DMA_WORD1(tag, 0), slot_header(slot), word3);
    pending->state = PENDING_TX_SENT;
    if (length && !tx_fifo_has_room()) {
        pending->state = PENDING_TX_PAYLOAD;
        list_next = pending;
        waiting |= WAITING_TX;
    } else if (length) {
        tx_fifo_push(DMA_WORD0(SS_DMA_OP_PAYLOAD, SS_DMA_FLAG_LAST, nid),
                     DMA_WORD1(tag, pending->addr_hi),
                     pending->addr_lo + (PLANTED(PLANT_SENDS_BEHIND) ? 4 : 0), length);
    }

#if OPT_OVERFLOW
    ++peer->number;
    ++peer->flying;
    pending->stream = (uint16_t)word3;
    if (!list_next)
        list_sent = pending;
#endif
    pending->source = local_address(peer);
    pending->dma_count = (uint16_t)(slot + 1);
    ++process->slots_held;
    tx_link();
    return 1;
}
#endif

_Static_assert(offsetof(struct ss_tx_command, process_index) == 1, "word 0");
_Static_assert(offsetof(struct ss_tx_command, pending) == 2, "word 0");
_Static_assert(offsetof(struct ss_tx_command, peer) == 4, "word 1");
_Static_assert(offsetof(struct ss_tx_command, dma_count) == 6, "word 1");
_Static_assert(offsetof(struct ss_tx_command, length) == 8, "word 2");
_Static_assert(offsetof(struct ss_tx_command, addr_lo) == 12, "word 3");
_Static_assert(offsetof(struct ss_tx_command, addr_hi) == 16, "word 4");
_Static_assert(offsetof(struct ss_tx_command, dma_list) == 20, "word 5");
_Static_assert(offsetof(struct ss_tx_command, number) == 26, "word 6");

int tx_command(uint32_t word0, const volatile uint32_t *words)
{
    uint32_t index = word0 >> 16;
    uint32_t word1 = words[1];
    uint32_t length = words[2];
    uint32_t addr_lo = words[3];
    uint32_t addr_hi = words[4];
    uint32_t dma_count = word1 >> 16;

    if (index >= process->tx_limit)
        return COMMAND_BAD;
    pending = &process->pendings[index];
    if (pending->state != PENDING_IDLE || addr_hi > 0xFF)
        return COMMAND_BAD;
    if (dma_count) {
        addr_lo = words[5];
        if (!dmalist_valid(addr_lo, dma_count))
            return COMMAND_BAD;
    }
#if OPT_RELAY
    /* Nothing is kept of those that messages go to. */
    pending->source = 0;
    pending->stream = (uint16_t)(words[6] >> 16);
#elif !OPT_OVERFLOW
    source = source_get(word1 & 0xFFFF);
    pending->source = local_address(source);
#endif
    pending->peer = (uint16_t)word1;
    pending->dma_count = (uint16_t)dma_count;
    pending->length = length;
    pending->addr_lo = addr_lo;
    pending->addr_hi = (uint16_t)addr_hi;
    pending->state = PENDING_TX_HEADER;
    pending->next = 0;
#if OPT_OVERFLOW
    pending->extra = dma_count ? addr_lo : 0;
    if (PLANTED(PLANT_ENDS_TOO_SOON) && length)
        event_post(SS_EVENT_TYPE_TX_COMPLETE);
    tx_enter(0);
#else
    if (list_head)
        pending_link(list_tail, pending);
    else
        list_head = pending;
    list_tail = pending;
    ++cached_niccb.tx_pending;
    if (PLANTED(PLANT_ENDS_TOO_SOON) && length)
        event_post(SS_EVENT_TYPE_TX_COMPLETE);
    if (!list_next) {
        list_next = pending;
        tx_progress();
    }
#endif
    return 0;
}

/* The header command: the engine reads the header from the upper pending. */
static void tx_push_header(void)
{
    uint32_t flags = pending->length ? 0 : SS_DMA_FLAG_LAST;
    uint32_t lo, hi;

#if OPT_OVERFLOW
    flags |= recover_header_flags();
#endif

    process = &processes[pending->process_index];
    if (OPT_ACCELERATED && pending->index >= process->tx_limit) {
        accel_push_header(flags);
        return;
    }
    lo = process->upper_lo + pending->index * (uint32_t)sizeof(struct ss_upper_pending);
    hi = process->upper_hi + (lo < process->upper_lo);
    tx_fifo_push(DMA_WORD0(SS_DMA_OP_HEADER, flags, pending->peer),
                 DMA_WORD1(pending_tag(pending), hi), lo, TX_HEADER_LENGTH);
}

/* Whether `pending` is sent from a slot, and `dma_count` says which. */
static inline int tx_is_slot(void)
{
    return OPT_ACCELERATED && pending->process_index != SS_GENERIC_PROCESS;
}

/* One payload command: the whole of a contiguous message, or the next of those that the host has
 * computed. */
static void tx_push_payload(void)
{
    struct dmalist_region region = {pending->addr_lo, pending->addr_hi, pending->length};
    uint32_t flags;

    if (pending->dma_count && !tx_is_slot())
        dmalist_take(&region);
    pending->length -= region.length;
    if (PLANTED(PLANT_SENDS_BEHIND))
        region.addr_lo += 4;
    flags = pending->length ? 0 : SS_DMA_FLAG_LAST;
    tx_fifo_push(DMA_WORD0(SS_DMA_OP_PAYLOAD, flags, pending->peer),
                 DMA_WORD1(pending_tag(pending), region.addr_hi), region.addr_lo, region.length);
}

#if OPT_OVERFLOW
/* Whether `pending` is sent from a list of regions, which only the kernel has. Its start is kept. */
static int tx_is_list(void)
{
    return pending->process_index == SS_GENERIC_PROCESS && pending->extra;
}

void tx_restore(void)
{
    uint32_t entry = pending->extra;

    if (!tx_is_list())
        return;
    for (; entry != pending->addr_lo; entry += sizeof(struct ss_dma_command)) {
        pending->length += io_read32(entry + 12);
        if (pending->dma_count != SS_DMA_COUNT_OPEN)
            ++pending->dma_count;
    }
    pending->addr_lo = pending->extra;
}
#endif

/* Pushes the commands of `pending`, going on where it stopped. Returns 0 when the FIFO is full. */
static int tx_push_commands(void)
{
    if (pending->state == PENDING_TX_HEADER) {
        if (!tx_fifo_has_room())
            return 0;
        tx_push_header();
        pending->state = PENDING_TX_PAYLOAD;
    }
#if OPT_OVERFLOW
    /* Its place and length may be wanted again. */
    if (pending->length && !tx_is_list()) {
        if (!tx_fifo_has_room())
            return 0;
        tx_fifo_push(DMA_WORD0(SS_DMA_OP_PAYLOAD, SS_DMA_FLAG_LAST, pending->peer),
                     DMA_WORD1(pending_tag(pending), pending->addr_hi),
                     pending->addr_lo + (PLANTED(PLANT_SENDS_BEHIND) ? 4 : 0), pending->length);
        pending->state = PENDING_TX_SENT;
        return 1;
    }
#endif
    while (pending->length) {
        if (!tx_fifo_has_room())
            return 0;
        tx_push_payload();
    }
    pending->state = PENDING_TX_SENT;
    return 1;
}

#if OPT_OVERFLOW
/* Takes `pending`, of which nothing has left, out of the list; `before` is the one before it. */
static void tx_unlink(pending_t *before)
{
    pending_t *next = pending_next(pending);

    if (before)
        pending_link(before, next);
    else
        list_head = next;
    if (list_tail == pending)
        list_tail = before;
    if (list_next == pending)
        list_next = next;
    --cached_niccb.tx_pending;
}
#endif

#if OPT_OVERFLOW
void tx_progress(void)
{
    waiting &= ~WAITING_TX;
    tx_begin_fresh(WAY_ANSWERS);
    tx_begin_fresh(0);
    tx_push_list();
    if (fresh[0].head || fresh[1].head)
        waiting |= WAITING_TX;
}
#endif

#if OPT_OVERFLOW
static void tx_push_list(void)
#else
void tx_progress(void)
#endif
{
    while (list_next) {
        pending = list_next;
#if OPT_OVERFLOW
        if (recover_keeps()) {
            tx_unlink(list_sent);
            recover_keep();
            continue;
        }
#endif
        if (!tx_push_commands()) {
            trace();
            waiting |= WAITING_TX;
            return;
        }
#if OPT_OVERFLOW
        list_sent = pending;
#endif
        list_next = pending_next(pending);
    }
#if !OPT_OVERFLOW
    waiting &= ~WAITING_TX;
#endif
}

#if OPT_OVERFLOW
void tx_keep_unsent(source_t *peer)
{
    pending_t *before = list_sent, *at = list_next;

    while (at) {
        pending_t *next = pending_next(at);

        pending = at;
        if (at->state == PENDING_TX_HEADER && local_pointer(at->source) == peer) {
            tx_unlink(before);
            recover_keep();
        } else {
            before = at;
        }
        at = next;
    }
}

void tx_finish(uint32_t word)
{
    source = local_pointer(pending->source);
    source_put(source);
    pending->state = PENDING_IDLE;
    process = &processes[pending->process_index];
    if (OPT_ACCELERATED && process->index != SS_GENERIC_PROCESS)
        accel_sent(word);
    else
        event_post(word & SS_DONE_ERROR ? SS_EVENT_TYPE_ERR_TX : SS_EVENT_TYPE_TX_COMPLETE);
    NICCB_ADD(tx_complete, 1);
}
#endif

/* A message has left, or failed. The engine sends in order, so it can only be the oldest. */
static void tx_complete(uint32_t word)
{
    trace();
    pending = list_head;
    if (!pending || pending->state != PENDING_TX_SENT || pending_tag(pending) != (word & 0xFFFF) ||
        (word & SS_DONE_KIND_MASK) != SS_DONE_COMPLETE)
        panic(SS_PANIC_REASON_DMA_ERROR, word);
    list_head = pending_next(pending);
    --cached_niccb.tx_pending;
#if OPT_ACCELERATED
    if (tx_is_slot() && pending->dma_count)
        accel_slot_read();
#endif
#if OPT_OVERFLOW
    {
        source_t *peer = local_pointer(pending->source);

        if (list_sent == pending)
            list_sent = 0;
        if (!recover_sent(word))
            tx_finish(word);
        recover_resume(peer);
        return;
    }
#endif
#if !OPT_RELAY
    source = local_pointer(pending->source);
    source_put(source);
#endif
    pending->state = PENDING_IDLE;
    process = &processes[pending->process_index];
    if (OPT_ACCELERATED && process->index != SS_GENERIC_PROCESS) {
        accel_sent(word);
        NICCB_ADD(tx_complete, 1);
        return;
    }
    event_post(word & SS_DONE_ERROR ? SS_EVENT_TYPE_ERR_TX : SS_EVENT_TYPE_TX_COMPLETE);
    NICCB_ADD(tx_complete, 1);
}

void tx_complete_all(uint32_t tail)
{
    uint32_t head = fifo_own_index(SS_TX_DONE_HEAD, tx_done_head);

    while (head != tail) {
        uint32_t word = io_read32(SS_TX_DONE_FIFO + (head << 2));

        head = DONE_AFTER(head);
        tx_done_head = head;
        io_write32(SS_TX_DONE_HEAD, head);
        tx_complete(word);
    }
}
