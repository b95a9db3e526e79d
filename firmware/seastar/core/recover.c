#include "recover.h"

#include "accel.h"
#include "collective.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "panic.h"
#include "plant.h"
#include "rx.h"
#include "trace.h"
#include "tx.h"

/* What a way waits for: a process's pendings, by its index, or what belongs to none. Requests and answers
 * have a row of bits each for it. */
#define REASON_SHARED 0u
#define ROWS (2 * SS_MAILBOX_COUNT)
#define ROW(reason, way) ((reason) | ((way) & WAY_ANSWERS) / (WAY_ANSWERS / SS_MAILBOX_COUNT))
#define ROW_REASON(row) ((row) % SS_MAILBOX_COUNT)
#define ROW_CLASS(row) ((row) < SS_MAILBOX_COUNT ? 0 : WAY_ANSWERS)
#define CALLED_MAX 8u

/* Not part of the fast path: small rather than fast. */
#define SELDOM __attribute__((cold, noinline))

/* Ways that were called and have not sent again. */
static struct { uint16_t way; uint8_t row; uint8_t used; } called[CALLED_MAX];
static uint32_t called_count[ROWS];
static uint32_t waiting_count[ROWS];
static uint32_t waiting_next[ROWS]; /* The node whose turn it is. */
static uint32_t called_all, waiting_all;

uint32_t recover_room, recover_tail; /* Of the engine's command FIFO, as far as that is known. */
static uint32_t slot_head;           /* Of the slots for what comes. */
static uint32_t taken_way, taken_number, taken_due; /* The last, if its sender was not told. */

_Static_assert(SS_GENERIC_PROCESS != REASON_SHARED, "reasons are told apart");
_Static_assert(sizeof(struct ss_control_packet) == 16, "entries are indexed by shifting");
_Static_assert(SS_WAITING_NODES == WAY_ANSWERS, "nodes and classes are told apart");

void recover_init(void)
{
    /* The loader has cleared bits and slots. */
    for (uint32_t row = 0; row < ROWS; row++) {
        called_count[row] = 0;
        waiting_count[row] = 0;
        waiting_next[row] = 0;
    }
    for (uint32_t i = 0; i < CALLED_MAX; i++)
        called[i].used = 0;
    called_all = 0;
    waiting_all = 0;
    recover_tail = 0;
    recover_room = SS_DMA_FIFO_DEPTH - 1;
    slot_head = 0;
    taken_due = 0;
}

/* Looks how far the engine's FIFO is empty. */
static uint32_t control_room(void)
{
    recover_room = (io_read32(SS_TX_CONTROL_HEAD) - recover_tail - 1) & (SS_DMA_FIFO_DEPTH - 1);
    return recover_room;
}

SELDOM int recover_make_room(void)
{
    if (control_room() >= 3)
        return 1;
    /* Other nodes may stand here, too, until somebody reads. */
    recover_read();
    return 0;
}

static void control_send(uint32_t op, uint32_t way, uint32_t number)
{
    uint32_t entry = SS_TX_CONTROL_FIFO + (recover_tail << 4);

    trace_val((uint8_t)op);
    fifo_entry_write(entry, op | WAY_NID(way) << 16, number & 0xFFFF, 0, 0);
    recover_tail = FIFO_AFTER(recover_tail);
    --recover_room;
    io_write32(SS_TX_CONTROL_TAIL, recover_tail);
}

/* --- The receiver. --- */

void recover_tell_taken(void)
{
    if (taken_due)
        control_send(SS_CONTROL_OP_TAKEN, taken_way, taken_number);
    taken_due = 0;
}

static void take(uint32_t way, uint32_t number)
{
    if (taken_due && taken_way != way)
        recover_tell_taken();
    taken_way = way;
    taken_number = number;
    taken_due = 1;
}

SELDOM static int is_waiting(uint32_t way)
{
    uint32_t nid = WAY_NID(way);

    for (uint32_t reason = 0; reason < SS_MAILBOX_COUNT; reason++) {
        uint32_t row = ROW(reason, way);

        if (waiting_count[row] && ((waiting_bits[row][nid / 32] >> nid % 32) & 1))
            return 1;
    }
    return 0;
}

SELDOM static int called_find(uint32_t way)
{
    for (uint32_t i = 0; called_all && i < CALLED_MAX; i++)
        if (called[i].used && called[i].way == way)
            return (int)i;
    return -1;
}

SELDOM static void called_remove(int place)
{
    called[place].used = 0;
    --called_count[called[place].row];
    --called_all;
}

/* Tells a node that its message was refused; it waits from now on. */
SELDOM static void refuse(uint32_t way, uint32_t number, uint32_t reason)
{
    uint32_t row = ROW(reason, way), nid = WAY_NID(way);

    if (taken_due && taken_way == way)
        taken_due = 0; /* The refusal says so, too. */
    waiting_bits[row][nid / 32] |= 1u << nid % 32;
    ++waiting_count[row];
    ++waiting_all;
    waiting |= WAITING_CALL;
    NICCB_ADD(refused, 1);
    control_send(SS_CONTROL_OP_REFUSED, way, number + PLANTED(PLANT_REFUSES_LATER));
}

/* Whether `target` has room for a message on `way` that was not called. The last ones are for answers:
 * they make no answers themselves, so that their pendings come back whatever other nodes do. */
static int takes_messages(const struct process *target, uint32_t way)
{
    uint32_t requests = called_count[target->index];
    uint32_t answers = called_count[ROW(target->index, WAY_ANSWERS)];

    if (way & WAY_ANSWERS)
        return process_room(target) > answers;
    return process_room(target) >
           requests + (answers > target->rx_answers ? answers : target->rx_answers);
}

/* What a message for `target` lacks; negative: nothing. */
static int lacks(uint32_t way, const struct process *target)
{
    if (!takes_messages(target, way))
        return (int)target->index;
    return source_available(WAY_NID(way)) ? -1 : (int)REASON_SHARED;
}

/* Whether a message may come in while others wait, or were called. */
SELDOM static int is_its_turn(uint32_t way, uint32_t number, const struct process *target)
{
    int place = called_find(way);

    if (place >= 0) {
        if (!(number & SS_DONE_RESUMED) && !PLANTED(PLANT_RESUMES_ANYWHERE))
            return 0;
        called_remove(place);
        return 1;
    }
    if (is_waiting(way))
        return 0;
    for (uint32_t reason = 0; target && reason <= target->index; reason += target->index) {
        if (waiting_count[ROW(reason, way)]) {
            refuse(way, number, reason);
            return 0;
        }
    }
    return 1;
}

int recover_admits(uint32_t nid, uint32_t number, const struct process *target)
{
    uint32_t way = WAY(nid, number);
    int reason;

    if ((waiting_all | called_all) && !is_its_turn(way, number, target))
        return PLANTED(PLANT_TAKES_REFUSED) && target->rx_free && is_waiting(way) &&
               source_available(nid);
    /* The usual message is looked at no further. */
    if (OPT_ACCELERATED && !called_all && sources_idle &&
        process_room(target) > (way & WAY_ANSWERS ? 0 : target->rx_answers))
        reason = -1;
    else
        reason = lacks(way, target);
    if (reason >= 0) {
        refuse(way, number, (uint32_t)reason);
        return 0;
    }
    take(way, number & 0xFFFF);
    return 1;
}

SELDOM void recover_overflow(uint32_t nid, uint32_t routing)
{
    uint32_t way = WAY(nid, routing);

    if (is_its_turn(way, routing, 0))
        refuse(way, routing, REASON_SHARED);
}

/* Whether a way of `row` may be called. */
SELDOM static int has_room(uint32_t row)
{
    uint32_t reason = ROW_REASON(row), most, promised;

    if (reason != REASON_SHARED)
        return !processes[reason].alive || takes_messages(&processes[reason], ROW_CLASS(row));
    most = cached_niccb.cam_high_water ? cached_niccb.cam_high_water : 1;
    promised = called_count[REASON_SHARED] + called_count[ROW(REASON_SHARED, WAY_ANSWERS)];
    return cached_niccb.cam_in_use + promised < most && sources_idle;
}

/* The node whose turn it is; it waits no longer. */
SELDOM static uint32_t waiting_take(uint32_t row)
{
    uint32_t nid = waiting_next[row] % SS_WAITING_NODES;
    uint32_t word = nid / 32;
    uint32_t bits = waiting_bits[row][word] & (0xFFFFFFFFu << nid % 32);

    while (!bits) {
        word = (word + 1) % (SS_WAITING_NODES / 32);
        bits = waiting_bits[row][word];
    }
    nid = word * 32 + (uint32_t)__builtin_ctz(bits);
    waiting_bits[row][word] &= ~(1u << nid % 32);
    waiting_next[row] = nid + 1;
    --waiting_count[row];
    if (--waiting_all == 0)
        waiting &= ~WAITING_CALL;
    return nid;
}

SELDOM void recover_call(void)
{
    /* Answers first. */
    for (uint32_t row = ROWS; row-- > 0;) {
        while (waiting_count[row] && called_all < CALLED_MAX && has_room(row)) {
            uint32_t way;

            if (recover_room < 4 && control_room() < 4)
                return;
            way = waiting_take(row) | ROW_CLASS(row);
            for (uint32_t i = 0; i < CALLED_MAX; i++) {
                if (called[i].used)
                    continue;
                called[i].way = (uint16_t)way;
                called[i].row = (uint8_t)row;
                called[i].used = 1;
                break;
            }
            ++called_count[row];
            ++called_all;
            NICCB_ADD(called, 1);
            control_send(SS_CONTROL_OP_CALLED, way, (way & WAY_ANSWERS) << 1);
        }
    }
}

/* --- The sender. A source's kept messages are a ring in the order of their numbers; `kept` is its end. */

void recover_number(source_t *peer)
{
    uint32_t number = peer->number++ & (SS_NUMBER_ANSWER - 1);

    pending->stream = (uint16_t)(number | (peer->nid & WAY_ANSWERS) << 1);
}

/* Whether a message is beyond what is sent to a peer that has refused some. */
static int is_beyond(const source_t *peer, uint32_t number)
{
    if (!(peer->peer & PEER_BURST))
        return 1;
    return !is_before(number, (peer->taken | burst_mask(peer)) + 1) &&
           !PLANTED(PLANT_KEEPS_BACKWARDS);
}

int recover_keeps(void)
{
    const source_t *peer = local_pointer(pending->source);

    return pending->state == PENDING_TX_HEADER && (peer->peer & PEER_REFUSED) &&
           is_beyond(peer, pending->stream);
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

/* Sends again the messages kept for `peer` that are in its burst. */
SELDOM static void repeat(source_t *peer)
{
    tx_keep_unsent(peer);
    while (peer->kept) {
        pending_t *last = peer->kept;

        pending = pending_next(last);
        if (is_beyond(peer, pending->stream))
            return;
        if (pending == last)
            peer->kept = 0;
        else
            last->next = pending->next;
        pending->state = PENDING_TX_HEADER;
        pending->next = 0;
        tx_restore();
        NICCB_ADD(repeated, 1);
        tx_append();
    }
}

/* Not before what was sent after it has left: it would come behind. */
SELDOM static void resume(source_t *peer)
{
    peer->peer = PEER_REFUSED | PEER_RESUMES | PEER_BURST;
    repeat(peer);
}

/* Messages that `peer` may have again were taken. Those behind them follow in bursts that grow: it may refuse the
 * next one, and what was sent behind that in vain. */
SELDOM static void go_on(source_t *peer)
{
    if (!peer->kept) {
        peer->peer = 0;
        return;
    }
    if (peer->taken & burst_mask(peer))
        return; /* There are more of this one. */
    if (!(peer->peer & PEER_LONGEST))
        peer->peer += 1 << PEER_SHIFT;
    repeat(peer);
}

void recover_resume(source_t *peer)
{
    if ((peer->peer & PEER_CALLED) && !peer->flying)
        resume(peer);
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
    peer->peer &= (uint8_t)~PEER_RESUMES;
    return SS_DMA_FLAG_RESUMED;
}

static void control_obey(uint32_t op, uint32_t nid, uint32_t number)
{
    source_t *peer = source_find(WAY(nid, number));

    if (OPT_COLLECTIVES && op == SS_CONTROL_OP_COLLECTIVE)
        return; /* It has been heard. */
    if (!peer)
        panic(SS_PANIC_REASON_DMA_ERROR, op << 16 | nid); /* Nobody answers what nobody sent. */
    switch (op) {
    case SS_CONTROL_OP_TAKEN:
        peer_took(peer, number + 1);
        if (peer->peer)
            go_on(peer);
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

void recover_read_slot(uint32_t slot)
{
    const volatile uint32_t *words = (const volatile uint32_t *)&control_slots[slot];
    uint32_t word0, word1;

    if (slot != slot_head)
        return; /* It was read before. */
    word0 = words[0];
    word1 = words[1];
    if (!(word0 & 0xFF))
        return; /* So was it, and one more round. */
    COLLECTIVE_HEARS(word0, words);
    control_slots[slot].op = 0;
    slot_head = (slot + 1) % SS_CONTROL_SLOTS;
    io_order();
    io_write32(SS_RX_CONTROL_HEAD, slot_head);
    control_obey(word0 & 0xFF, word0 >> 16, word1 & 0xFFFF);
}

SELDOM void recover_read(void)
{
    uint32_t head = slot_head;

    for (;;) {
        const volatile uint32_t *words = (const volatile uint32_t *)&control_slots[head];
        uint32_t word0 = words[0], word1 = words[1];

        if (!(word0 & 0xFF))
            break;
        COLLECTIVE_HEARS(word0, words);
        control_slots[head].op = 0;
        head = (head + 1) % SS_CONTROL_SLOTS;
        control_obey(word0 & 0xFF, word0 >> 16, word1 & 0xFFFF);
    }
    if (head == slot_head)
        return;
    slot_head = head;
    io_order();
    io_write32(SS_RX_CONTROL_HEAD, head);
}
