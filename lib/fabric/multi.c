/* Buffers for several messages (FI_MULTI_RECV): the interface puts one message behind the other. A long message,
 * which is fetched, needs a place that the interface does not use: the buffer is taken out of the match list, and goes
 * back with what is left of it. */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>

/* Buffers in which long messages have come. */
static struct op *settle_first;

static size_t left_in(const struct op *op)
{
    return op->length - op->used;
}

bool multi_fits(const struct op *op, const struct arrival *arrival)
{
    return !op->full && (arrival->length <= left_in(op) || arrival->length > op->length);
}

/* Tells that the program has the buffer back, if nothing is under way in it. */
static void release(struct op *op)
{
    if (!op->gone || op->busy > 0 || op->settling)
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

/* A message of so many bytes is in the buffer at this place. */
static void tell(struct op *op, size_t at, size_t moved, const ptl_event_t *event)
{
    const bool failed = event->ni_fail_type != PTL_NI_OK;
    const struct completion completion = {
        .entry = {op->context, arrival_flags(op->box, event->hdr_data), moved, op->buffer + at,
                  arrival_data(event->initiator, event->hdr_data), 0},
        .source = av_find(op->ep->av, event->initiator,
                          (unsigned)(event->match_bits >> SLOT_SHIFT)),
        .err = failed ? FI_EIO : 0,
        .why = failed ? WHY_DAMAGED : WHY_NOTHING,
    };
    cntr_count(op->cntr, failed);
    if (op->ep->rx && !op->ended && (op->wants || failed))
        cq_add(op->ep->rx, &completion);
}

static void settle_later(struct op *op, struct arrival *arrival)
{
    struct arrival **end = &op->longs;
    while (*end)
        end = &(*end)->next;
    arrival->next = NULL;
    *end = arrival;
    op->busy++;
    if (op->settling)
        return;
    op->settling = true;
    struct op **last = &settle_first;
    while (*last)
        last = &(*last)->later;
    op->later = NULL;
    *last = op;
}

static void multi_event(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    if (event->type == PTL_EVENT_UNLINK) {
        op->gone = op->full = true;
        op->me = PTL_INVALID_HANDLE;
        release(op);
    } else if (event->type == PTL_EVENT_PUT_END && event->hdr_data & HEAD_LONG) {
        struct arrival *arrival = need(1, sizeof *arrival);
        *arrival = (struct arrival){
            .from = event->initiator,
            .bits = event->match_bits,
            .head = event->hdr_data,
            .length = arrival_length(event->hdr_data, 0),
        };
        settle_later(op, arrival);
    } else if (event->type == PTL_EVENT_PUT_END) {
        const size_t at = op->start + event->offset;
        if (op->used < at + event->mlength)
            op->used = at + event->mlength;
        tell(op, at, event->mlength, event);
    }
}

/* Fetches a long message to the next place in the buffer, which is not in the match list now. */
static void fetch_into(struct op *op, struct arrival *arrival)
{
    struct op *part = op_new(op->ep, fetched);
    op_begin(part);
    part->parent = op;
    part->context = op->context;
    part->buffer = op->buffer + op->used;
    part->length = left_in(op);
    part->wants = op->wants;
    part->ended = op->ended;
    part->cntr = op->cntr;
    part->flags = arrival_flags(op->box, arrival->head);
    part->data = arrival_data(arrival->from, arrival->head);
    part->source = av_find(op->ep->av, arrival->from, (unsigned)(arrival->bits >> SLOT_SHIFT));
    op->used += arrival->length < part->length ? arrival->length : part->length;
    fetch(part, arrival->from, arrival->head);
}

void multi_fetched(struct op *op)
{
    op->busy--;
    if (op->full)
        release(op);
}

static void note_full(struct op *op)
{
    if (left_in(op) < op->least || left_in(op) == 0)
        op->full = true;
}

void multi_take(struct op *op, struct arrival *arrival)
{
    if (arrival->head & HEAD_LONG) {
        op->busy++;
        fetch_into(op, arrival);
    } else {
        const size_t moved = arrival->length < left_in(op) ? arrival->length : left_in(op);
        const bool lost = arrival->stored < moved;
        struct completion completion = {
            .entry = {op->context, arrival_flags(op->box, arrival->head), lost ? 0 : moved,
                      op->buffer + op->used, arrival_data(arrival->from, arrival->head), 0},
            .source = av_find(op->ep->av, arrival->from, (unsigned)(arrival->bits >> SLOT_SHIFT)),
        };
        if (lost) {
            completion.err = FI_ENOBUFS;
            completion.why = WHY_LOST;
        } else if (arrival->length > moved) {
            completion.err = FI_ETRUNC;
            completion.why = WHY_TRUNCATED;
            completion.olen = arrival->length - moved;
        }
        if (!lost && moved > 0) {
            memcpy(op->buffer + op->used, arrival->data, moved);
            op->used += moved;
        }
        cntr_count(op->cntr, completion.err != 0);
        if (op->ep->rx && !op->ended && (op->wants || completion.err))
            cq_add(op->ep->rx, &completion);
    }
    arrival_free(arrival);
    note_full(op);
    if (op->full)
        release(op);
}

/* Messages that have come go into the buffer, then the rest of it into the match list. The buffer is among the posted
 * receives, and not in the match list. An error only if that refuses it for good. */
static int go(struct op *op)
{
    struct inbox *box = op->box;
    int code;
    op->gone = true;
    do {
        progress();
        struct arrival *arrival;
        while (!op->full && (arrival = inbox_find(box, op))) {
            if (multi_fits(op, arrival)) {
                arrival_unlink(box, arrival);
                multi_take(op, arrival);
            } else {
                op->full = true; /* the message is another buffer's */
            }
        }
        if (op->full) {
            op->settling = false;
            release(op);
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

/* Takes it out of the match list, if it is there. No event names it when this returns. */
static void take_out(struct op *op)
{
    while (!op->gone) {
        if (op->queued || PtlMEUnlink(op->me) == PTL_OK)
            op->gone = true;
        progress();
    }
    op->me = PTL_INVALID_HANDLE;
    if (op->queued)
        op->box->waiting--;
    op->queued = false;
}

/* The message is the first posted receive's that matches and is not taken otherwise. */
static bool pass_on(struct inbox *box, struct arrival *arrival)
{
    for (struct op *op = box->first; op; op = op->next) {
        if (!op_matches(op, arrival->from, arrival->bits))
            continue;
        if (op->multi && op->full)
            continue;
        if (op->multi) {
            arrival_unlink(box, arrival);
            settle_later(op, arrival);
            return true;
        }
        if (!op->queued && PtlMEUnlink(op->me) != PTL_OK)
            continue;
        arrival_unlink(box, arrival);
        receive_unlink(op);
        op_begin(op);
        receive_take(op, arrival);
        return true;
    }
    return false;
}

static void settle(struct op *op)
{
    struct inbox *box = op->box;
    struct arrival *others = NULL;
    take_out(op);
    while (op->longs) {
        struct arrival *arrival = op->longs;
        op->longs = arrival->next;
        if (!others && multi_fits(op, arrival)) {
            fetch_into(op, arrival);
            arrival_free(arrival);
            note_full(op);
        } else {
            struct arrival **end = &others;
            while (*end)
                end = &(*end)->next;
            arrival->next = NULL;
            *end = arrival;
            op->full = true;
            op->busy--;
        }
    }
    /* They came before all that is kept for this buffer. */
    unsigned count = 0;
    for (struct arrival *arrival = others; arrival; arrival = arrival->next)
        count++;
    for (unsigned left = count; left > 0; left--) {
        struct arrival **last = &others;
        while ((*last)->next)
            last = &(*last)->next;
        struct arrival *arrival = *last;
        *last = NULL;
        inbox_front(box, arrival);
    }
    if (go(op))
        give_up("a buffer for several messages cannot go back into the match list");
    struct arrival *arrival = box->arrivals;
    for (; count > 0 && arrival; count--) {
        struct arrival *next = arrival->next;
        pass_on(box, arrival);
        arrival = next;
    }
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
    const bool more = op->longs != NULL;
    op->full = true;
    if (more) { /* they find another buffer */
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
