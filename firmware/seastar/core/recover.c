#include "recover.h"

#include "accel.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "panic.h"
#include "plant.h"
#include "rx.h"
#include "trace.h"
#include "tx.h"

/* What a node waits for: a process's pendings, by its index, or what belongs to none. */
#define REASON_SHARED 0u
#define CALLED_MAX 8u

/* Nodes that were called and have not sent again. */
static struct { uint16_t nid; uint8_t reason; uint8_t used; } called[CALLED_MAX];
static uint32_t called_count[SS_MAILBOX_COUNT];
static uint32_t called_all;
static uint32_t waiting_count[SS_MAILBOX_COUNT];
static uint32_t waiting_next[SS_MAILBOX_COUNT]; /* The node whose turn it is. */
uint32_t recover_waiting;

static uint32_t control_head, control_tail; /* Of the engine's command FIFO. */
static uint32_t slot_head;                  /* Of the slots for what comes. */

/* The last message that was taken, if its sender has not been told. */
static uint32_t taken_nid, taken_number;
static int taken_due;

_Static_assert(SS_GENERIC_PROCESS != REASON_SHARED, "reasons are told apart");
_Static_assert(sizeof(struct ss_control_packet) == 16, "entries are indexed by shifting");

void recover_init(void)
{
    /* The loader has cleared bits and slots. */
    for (uint32_t reason = 0; reason < SS_MAILBOX_COUNT; reason++) {
        called_count[reason] = 0;
        waiting_count[reason] = 0;
        waiting_next[reason] = 0;
    }
    for (uint32_t i = 0; i < CALLED_MAX; i++)
        called[i].used = 0;
    called_all = 0;
    recover_waiting = 0;
    control_head = control_tail = 0;
    slot_head = 0;
    taken_due = 0;
}

/* Packets for which the engine's FIFO has room, as far as that is known. */
static uint32_t control_room(void)
{
    return (control_head - control_tail - 1) & (SS_DMA_FIFO_DEPTH - 1);
}

int recover_can_answer(void)
{
    /* One that ends the telling of what was taken, and a refusal; a call is made when there is room. */
    if (control_room() >= 3)
        return 1;
    control_head = io_read32(SS_TX_CONTROL_HEAD);
    if (control_room() >= 3)
        return 1;
    /* Other nodes may stand here, too, until somebody reads. */
    recover_read();
    return 0;
}

static void control_send(uint32_t op, uint32_t nid, uint32_t number)
{
    uint32_t entry = SS_TX_CONTROL_FIFO + (control_tail << 4);

    trace_val((uint8_t)op);
    fifo_entry_write(entry, op | nid << 16, number & 0xFFFF, 0, 0);
    control_tail = FIFO_AFTER(control_tail);
    io_write32(SS_TX_CONTROL_TAIL, control_tail);
}

/* --- The receiver. --- */

void recover_tell_taken(void)
{
    if (taken_due)
        control_send(SS_CONTROL_OP_TAKEN, taken_nid, taken_number);
    taken_due = 0;
}

static void take(uint32_t nid, uint32_t number)
{
    if (taken_due && taken_nid != nid)
        recover_tell_taken();
    taken_nid = nid;
    taken_number = number;
    taken_due = 1;
}

static int bit_is_set(uint32_t reason, uint32_t nid)
{
    return (waiting_bits[reason][nid / 32] >> nid % 32) & 1;
}

static int is_waiting(uint32_t nid)
{
    for (uint32_t reason = 0; reason < SS_MAILBOX_COUNT; reason++)
        if (waiting_count[reason] && bit_is_set(reason, nid))
            return 1;
    return 0;
}

static int called_find(uint32_t nid)
{
    for (uint32_t i = 0; called_all && i < CALLED_MAX; i++)
        if (called[i].used && called[i].nid == nid)
            return (int)i;
    return -1;
}

static void called_remove(int place)
{
    called[place].used = 0;
    --called_count[called[place].reason];
    --called_all;
}

/* Tells a node that its message was refused; it waits from now on. */
static void refuse(uint32_t nid, uint32_t number, uint32_t reason)
{
    if (taken_due && taken_nid == nid)
        taken_due = 0; /* The refusal says so, too. */
    if (nid >= SS_WAITING_NODES)
        panic(SS_PANIC_REASON_NO_RX_PENDING, nid);
    waiting_bits[reason][nid / 32] |= 1u << nid % 32;
    ++waiting_count[reason];
    ++recover_waiting;
    NICCB_ADD(refused, 1);
    control_send(SS_CONTROL_OP_REFUSED, nid, number + PLANTED(PLANT_REFUSES_LATER));
}

/* What a message for `target` lacks; negative: nothing. */
static int lacks(uint32_t nid, const struct process *target)
{
    if (!target->rx_free)
        return (int)target->index;
    return source_available(nid) ? -1 : (int)REASON_SHARED;
}

/* Whether a message from `nid` is taken for `target`. */
static int admit(uint32_t nid, uint32_t number, const struct process *target)
{
    int reason = lacks(nid, target);

    if (recover_waiting | called_all) {
        int place = called_find(nid);

        if (place >= 0) {
            if (!(number & SS_RX_ROUTING_RESUMED) && !PLANTED(PLANT_RESUMES_ANYWHERE))
                return 0;
            called_remove(place);
        } else if (is_waiting(nid)) {
            return PLANTED(PLANT_TAKES_REFUSED) && reason < 0;
        } else if (reason < 0 && (waiting_count[target->index] ||
                                  target->rx_count <= called_count[target->index])) {
            reason = (int)target->index; /* Others were first. */
        }
    }
    if (reason >= 0) {
        refuse(nid, number, (uint32_t)reason);
        return 0;
    }
    take(nid, number & 0xFFFF);
    return 1;
}

_Static_assert(sizeof(struct ss_rx_routing) == 8, "two words");

int recover_admits(uint32_t stream, uint32_t bad)
{
    const volatile uint32_t *routing = (const volatile uint32_t *)&rx_routing[stream];
    uint32_t number = routing[0], nid = routing[1], word2 = rx_headers[stream][2];
    const process_t *target =
        bad ? &processes[SS_GENERIC_PROCESS] : process_find(word2 >> 16);

    return admit(nid & 0xFFFF, number, target);
}

static uint32_t overflow_nid;

void recover_overflow_from(uint32_t nid)
{
    overflow_nid = nid;
}

void recover_overflow(uint32_t number)
{
    uint32_t nid = overflow_nid;

    if (recover_waiting | called_all) {
        int place = called_find(nid);

        if (place >= 0) {
            if (!(number & SS_RX_ROUTING_RESUMED))
                return;
            called_remove(place);
        } else if (is_waiting(nid)) {
            return;
        }
    }
    refuse(nid, number, REASON_SHARED);
}

/* Whether a node that waits for `reason` may be called. */
static int has_room(uint32_t reason)
{
    uint32_t most;

    if (reason != REASON_SHARED)
        return !processes[reason].alive || processes[reason].rx_count > called_count[reason];
    most = cached_niccb.cam_high_water ? cached_niccb.cam_high_water : 1;
    return cached_niccb.cam_in_use + called_count[reason] < most && sources_idle;
}

/* The node whose turn it is; it waits no longer. */
static uint32_t waiting_take(uint32_t reason)
{
    uint32_t nid = waiting_next[reason] % SS_WAITING_NODES;
    uint32_t word = nid / 32;
    uint32_t bits = waiting_bits[reason][word] & (0xFFFFFFFFu << nid % 32);

    while (!bits) {
        word = (word + 1) % (SS_WAITING_NODES / 32);
        bits = waiting_bits[reason][word];
    }
    nid = word * 32 + (uint32_t)__builtin_ctz(bits);
    waiting_bits[reason][word] &= ~(1u << nid % 32);
    waiting_next[reason] = nid + 1;
    --waiting_count[reason];
    --recover_waiting;
    return nid;
}

void recover_call(void)
{
    for (uint32_t reason = 0; reason < SS_MAILBOX_COUNT; reason++) {
        while (waiting_count[reason] && called_all < CALLED_MAX && has_room(reason)) {
            uint32_t nid;

            if (control_room() < 4) {
                control_head = io_read32(SS_TX_CONTROL_HEAD);
                if (control_room() < 4)
                    return;
            }
            nid = waiting_take(reason);
            for (uint32_t i = 0; i < CALLED_MAX; i++) {
                if (called[i].used)
                    continue;
                called[i].nid = (uint16_t)nid;
                called[i].reason = (uint8_t)reason;
                called[i].used = 1;
                break;
            }
            ++called_count[reason];
            ++called_all;
            NICCB_ADD(called, 1);
            control_send(SS_CONTROL_OP_CALLED, nid, 0);
        }
    }
}

/* --- The sender. A source's kept messages are a ring in the order of their numbers; `kept` is its end. */

static int is_before(uint32_t a, uint32_t b)
{
    return (int16_t)(uint16_t)(a - b) < 0;
}

void recover_number(void)
{
    pending->stream = source->number++;
}

int recover_keeps(void)
{
    const source_t *peer = local_pointer(pending->source);

    return pending->state == PENDING_TX_HEADER && (peer->peer & PEER_REFUSED);
}

/* Puts `pending` among the kept messages of `peer`. */
static void keep(source_t *peer)
{
    pending_t *at = peer->kept;

    if (at && PLANTED(PLANT_KEEPS_BACKWARDS)) {
        pending->next = at->next;
        pending_link(at, pending);
        return;
    }
    if (!at) {
        pending_link(pending, pending);
        peer->kept = pending;
        return;
    }
    if (is_before(at->stream, pending->stream)) {
        pending->next = at->next;
        pending_link(at, pending);
        peer->kept = pending;
        return;
    }
    while (is_before(pending_next(at)->stream, pending->stream))
        at = pending_next(at);
    pending->next = at->next;
    pending_link(at, pending);
}

void recover_keep(void)
{
    pending->state = PENDING_TX_KEPT;
    keep(local_pointer(pending->source));
}

/* Messages of `peer` before `number` have been taken. */
static void peer_took(source_t *peer, uint32_t number)
{
    peer->taken = (uint16_t)number;
    while (peer->kept) {
        pending_t *last = peer->kept;
        pending_t *first = pending_next(last);
        int failed;

        if (!is_before(first->stream, number))
            return;
        if (first == last)
            peer->kept = 0;
        else
            last->next = first->next;
        pending = first;
        failed = pending->state == PENDING_TX_KEPT_BAD;
        tx_finish(failed ? SS_DONE_ERROR : 0);
    }
}

void recover_resume(source_t *peer)
{
    pending_t *last, *at;

    if (!(peer->peer & PEER_CALLED) || peer->flying)
        return;
    tx_keep_unsent(peer);
    peer->peer = PEER_RESUMES;
    last = peer->kept;
    if (!last)
        return;
    peer->kept = 0;
    at = pending_next(last);
    last->next = 0;
    while (at) {
        pending_t *next = pending_next(at);

        pending = at;
        pending->state = PENDING_TX_HEADER;
        pending->next = 0;
        tx_restore();
        NICCB_ADD(repeated, 1);
        tx_append();
        at = next;
    }
}

int recover_sent(uint32_t word)
{
    source_t *peer = local_pointer(pending->source);

    --peer->flying;
    if (is_before(pending->stream, peer->taken) || PLANTED(PLANT_FREES_EARLY))
        return 0;
    pending->state = word & SS_DONE_ERROR ? PENDING_TX_KEPT_BAD : PENDING_TX_KEPT;
    keep(peer);
    return 1;
}

uint32_t recover_header_flags(void)
{
    source_t *peer = local_pointer(pending->source);

    ++peer->flying;
    if (!(peer->peer & PEER_RESUMES))
        return 0;
    peer->peer = 0;
    return SS_DMA_FLAG_RESUMED;
}

static void control_obey(uint32_t op, uint32_t nid, uint32_t number)
{
    source_t *peer = source_find(nid);

    if (!peer)
        panic(SS_PANIC_REASON_DMA_ERROR, op << 16 | nid); /* Nobody answers what nobody sent. */
    switch (op) {
    case SS_CONTROL_OP_TAKEN:
        peer_took(peer, number + 1);
        break;
    case SS_CONTROL_OP_REFUSED:
        peer->peer = PEER_REFUSED;
        if (!PLANTED(PLANT_REPEATS_TAKEN))
            peer_took(peer, number);
        break;
    case SS_CONTROL_OP_CALLED:
        peer->peer |= PEER_CALLED;
        recover_resume(peer);
        break;
    default:
        panic(SS_PANIC_REASON_DMA_ERROR, op << 16 | nid);
    }
}

void recover_read(void)
{
    uint32_t head = slot_head;

    for (;;) {
        const volatile uint32_t *words = (const volatile uint32_t *)&control_slots[head];
        uint32_t word0 = words[0], word1 = words[1];

        if (!(word0 & 0xFF))
            break;
        control_slots[head].op = 0;
        head = (head + 1) % SS_CONTROL_SLOTS;
        control_obey(word0 & 0xFF, word0 >> 16, word1 & 0xFFFF);
    }
    if (head == slot_head)
        return; /* A notification of what was read before. */
    slot_head = head;
    io_order();
    io_write32(SS_RX_CONTROL_HEAD, head);
}
