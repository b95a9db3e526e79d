/* Buffers for several messages (FI_MULTI_RECV): the interface puts one message behind the other. A
 * long message, which is fetched, needs a place that the interface does not use: the buffer is
 * taken out of the match list, and goes back with what is left of it.
 *
 * Programs send themselves calls in these messages, and want them in order. Messages end in
 * another order than they were matched in, so START events tell that, and none is told before
 * those ahead of it. */
#include "fabric.h"

#include <stdlib.h>

/* A message that is in a buffer, or will be. */
struct part {
    struct part *next;
    struct op *op;
    size_t at, length; /* where in the buffer; bytes of the message */
    size_t moved;
    ptl_process_id_t from;
    uint64_t bits, head;
    ptl_seq_t number; /* of the event that told of it */
    unsigned waits;   /* for its end, for what is fetched */
    int err, why;
    struct part *later; /* of the long ones of a buffer that have no place yet */
};

/* Buffers that are taken out of the match list at the next progress. */
static struct op *settle_first;

static size_t left_in(const struct op *op)
{
    return op->length - op->used;
}

/* True if there is room for so many bytes, or there never would be. */
static bool fits(const struct op *op, size_t length)
{
    return !op->full && (length <= left_in(op) || length > op->length);
}

static void note_full(struct op *op)
{
    if (left_in(op) < op->least || left_in(op) == 0)
        op->full = true;
}

/* Tells that the program has the buffer back, if nothing is under way in it. */
static void release(struct op *op)
{
    if (!op->full || !op->gone || op->busy > 0 || op->settling)
        return;
    receive_unlink(op);
    op_begin(op);
    op->flags = FI_MULTI_RECV;
    op->buffer = NULL;
    op->moved = 0;
    op->cntr = NULL;
    op->wants = true;
    op_end(op, op->ep->rx);
    op_free(op);
}

/* --- messages in buffers --- */

static void tell(const struct part *part)
{
    const struct op *op = part->op;
    const struct completion completion = {
        .entry = {op->context, arrival_flags(op->box, part->head), part->moved,
                  op->buffer + part->at, arrival_data(part->from, part->head), 0},
        .source = av_find(op->ep->av, part->from, (unsigned)(part->bits >> SLOT_SHIFT)),
        .olen = part->err == FI_ETRUNC ? part->length - part->moved : 0,
        .err = part->err,
        .why = part->why,
    };
    cntr_count(op->cntr, part->err != 0);
    if (op->ep->rx && !op->ended && (op->wants || part->err))
        cq_add(op->ep->rx, &completion);
}

/* Tells of those that are complete and have nothing ahead of them. */
static void flush(struct inbox *box)
{
    while (box->parts && box->parts->waits == 0) {
        struct part *part = box->parts;
        struct op *op = part->op;
        box->parts = part->next;
        tell(part);
        free(part);
        op->busy--;
        release(op);
    }
}

static void fail(struct part *part, int err, enum why why)
{
    if (!part->err) {
        part->err = err;
        part->why = why;
    }
}

static struct part *part_new(struct op *op, ptl_process_id_t from, uint64_t bits, uint64_t head)
{
    struct part *part = need(1, sizeof *part);
    part->op = op;
    part->from = from;
    part->bits = bits;
    part->head = head;
    struct part **last = &op->box->parts;
    while (*last)
        last = &(*last)->next;
    *last = part;
    op->busy++;
    return part;
}

static void settle_later(struct op *op)
{
    if (op->settling)
        return;
    op->settling = true;
    struct op **last = &settle_first;
    while (*last)
        last = &(*last)->later;
    op->later = NULL;
    *last = op;
}

void multi_wake(struct op *op)
{
    settle_later(op);
}

/* A long message will be in this buffer, as soon as it has a place. */
static void keep_long(struct op *op, struct part *part)
{
    struct part **last = &op->longs;
    while (*last)
        last = &(*last)->later;
    part->later = NULL;
    *last = part;
    settle_later(op);
}

static void multi_event(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    struct part *part;
    switch (event->type) {
    case PTL_EVENT_PUT_START:
        part = part_new(op, event->initiator, event->match_bits, event->hdr_data);
        part->number = event->sequence;
        part->waits = 1;
        part->at = op->start + event->offset;
        part->moved = event->mlength;
        part->length = arrival_length(event->hdr_data, event->rlength);
        if (op->used < part->at + part->moved)
            op->used = part->at + part->moved;
        if (event->hdr_data & HEAD_LONG) {
            part->waits++;
            keep_long(op, part);
        }
        break;
    case PTL_EVENT_PUT_END:
        for (part = op->box->parts; part->number != event->link; part = part->next)
            ;
        part->number = 0;
        part->waits--;
        if (event->ni_fail_type != PTL_NI_OK)
            fail(part, FI_EIO, WHY_DAMAGED);
        flush(op->box);
        break;
    case PTL_EVENT_UNLINK:
        op->gone = op->full = true;
        op->me = PTL_INVALID_HANDLE;
        release(op);
        break;
    default:
        break;
    }
}

/* Fetches a long message to the next place in the buffer, which is not in the match list now. */
static void fetch_into(struct op *op, struct part *part)
{
    struct op *get = op_new(op->ep, fetched);
    op_begin(get);
    part->at = op->used;
    get->part = part;
    get->ended = true; /* the message's part is told */
    get->buffer = op->buffer + op->used;
    get->length = left_in(op);
    op->used += part->length < get->length ? part->length : get->length;
    note_full(op);
    fetch(get, part->from, part->head);
}

void multi_fetched(struct part *part, const struct op *get)
{
    struct inbox *box = part->op->box;
    part->moved = get->moved;
    if (get->err)
        fail(part, get->err, (enum why)get->why);
    part->waits--;
    flush(box);
}

/* A message that has come before goes into the buffer. */
static void take(struct op *op, struct arrival *arrival)
{
    struct part *part = part_new(op, arrival->from, arrival->bits, arrival->head);
    part->length = arrival->length;
    if (arrival->head & HEAD_LONG) {
        part->waits = 1;
        fetch_into(op, part);
    } else {
        part->at = op->used;
        part->moved = arrival->length < left_in(op) ? arrival->length : left_in(op);
        if (arrival->length > part->moved)
            fail(part, FI_ETRUNC, WHY_TRUNCATED);
        if (arrival->stored < part->moved) {
            part->moved = 0;
            fail(part, FI_ENOBUFS, WHY_LOST);
        }
        if (part->moved > 0)
            copy(op->buffer + op->used, arrival->data, part->moved);
        op->used += part->moved;
        note_full(op);
    }
    arrival_free(arrival);
}

/* --- the match list --- */

/* Messages that have come go into the buffer, then the rest of it into the match list. The
 * buffer is among the posted receives, and not in the match list. An error only if that refuses
 * it for good. */
static int go(struct op *op)
{
    struct inbox *box = op->box;
    int code;
    op->gone = true;
    do {
        progress();
        struct arrival *arrival;
        while (!op->full && (arrival = inbox_find(box, op))) {
            if (fits(op, arrival->length)) {
                arrival_unlink(box, arrival);
                take(op, arrival);
            } else {
                op->full = true; /* the message is another buffer's */
            }
        }
        if (op->full) {
            op->settling = false;
            release(op);
            flush(box);
            return 0;
        }
        code = PTL_NO_SPACE;
        if (box->waiting == 0)
            code = receive_list(op);
    } while (code == PTL_MD_NO_UPDATE || code == PTL_ME_INVALID);
    op->settling = false;
    if (code == PTL_OK) {
        op->gone = false;
    } else if (code == PTL_NO_SPACE || code == PTL_ME_LIST_TOO_LONG) {
        op->queued = true;
        box->waiting++;
    } else {
        return fabric_error(code, "PtlMEMDPost");
    }
    flush(box);
    return 0;
}

ssize_t multi_post(struct endpoint *ep, const struct wanted *wanted)
{
    if (wanted->length == 0)
        return -FI_EINVAL;
    struct op *op = receive_new(ep, wanted);
    op->handler.event = multi_event;
    op->multi = true;
    op->least = ep->least;
    op->settling = true; /* what comes meanwhile waits for it */
    receive_link(op);
    const int error = go(op);
    if (error) {
        receive_unlink(op);
        free(op);
    }
    return error;
}

/* Takes it out of the match list, if it is there. No event names it when this returns, but ends
 * of what is noted. */
static void take_out(struct op *op)
{
    while (!op->gone) {
        if (PtlMEUnlink(op->me) == PTL_OK)
            op->gone = true;
        progress();
    }
    op->me = PTL_INVALID_HANDLE;
    if (op->queued)
        op->box->waiting--;
    op->queued = false;
}

/* The long message is the next buffer's that is large enough, or waits for one. */
static void pass_on(struct op *from, struct part *part)
{
    struct inbox *box = from->box;
    for (struct op *op = from->next; op; op = op->next) {
        if (!op->multi || op->full || !op_matches(op, part->from, part->bits))
            continue;
        part->op = op;
        from->busy--;
        op->busy++;
        keep_long(op, part);
        return;
    }
    struct arrival *arrival = need(1, sizeof *arrival);
    *arrival = (struct arrival){
        .from = part->from,
        .bits = part->bits,
        .head = part->head,
        .length = part->length,
    };
    inbox_front(box, arrival);
    struct part **at = &box->parts;
    while (*at != part)
        at = &(*at)->next;
    *at = part->next;
    free(part);
    from->busy--;
}

static void settle(struct op *op)
{
    take_out(op);
    while (op->longs && fits(op, op->longs->length)) {
        struct part *part = op->longs;
        op->longs = part->later;
        fetch_into(op, part);
    }
    if (op->longs)
        op->full = true;
    while (op->longs) { /* the last one first, as each goes to the front */
        struct part **last = &op->longs;
        while ((*last)->later)
            last = &(*last)->later;
        struct part *part = *last;
        *last = NULL;
        if (part->number)
            progress(); /* its end is on its way */
        pass_on(op, part);
    }
    if (go(op))
        give_up("a buffer for several messages cannot go back into the match list");
}

void multi_settle(void)
{
    while (settle_first) {
        struct op *op = settle_first;
        settle_first = op->later;
        settle(op);
    }
}

bool multi_cancel(struct op *op)
{
    if (op->settling || op->full)
        return false;
    op->settling = true;
    take_out(op);
    op->full = true;
    if (op->longs) { /* they find another buffer */
        op->later = settle_first;
        settle_first = op;
        multi_settle();
        return true;
    }
    op->settling = false;
    if (op->busy == 0) {
        op->err = FI_ECANCELED;
        op->why = WHY_CANCELLED;
    }
    release(op);
    return true;
}

void multi_drop(struct op *op)
{
    if (!multi_cancel(op))
        progress();
}
