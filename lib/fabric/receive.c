/* Receives: in the match list of the interface, or beside it if that has no room. */
#include "fabric.h"

#include <stdlib.h>

/* --- what a message says --- */

size_t arrival_length(uint64_t head, size_t length)
{
    return head & HEAD_LONG ? (uint32_t)head : length;
}

uint64_t arrival_data(ptl_process_id_t from, uint64_t head)
{
    if (!(head & HEAD_DATA))
        return 0;
    if (!(head & HEAD_LONG))
        return (uint32_t)head;
    if (head & HEAD_FETCH)
        return long_word(from, (unsigned)(head >> HEAD_PLACE_SHIFT) & (EXPOSED - 1));
    return head >> HEAD_WORD_SHIFT & ((1u << HEAD_WORD_BITS) - 1);
}

uint64_t arrival_flags(const struct inbox *box, uint64_t head)
{
    return FI_RECV | (box->tagged ? FI_TAGGED : FI_MSG) |
           (head & HEAD_DATA ? FI_REMOTE_CQ_DATA : 0);
}

static void describe(struct op *op, ptl_process_id_t from, uint64_t bits, uint64_t head)
{
    op->flags = arrival_flags(op->box, head);
    op->data = arrival_data(from, head);
    op->tag = op->box->tagged ? bits & ~SLOT_BITS : 0;
    op->source = av_find(op->ep->av, from, (unsigned)(bits >> SLOT_SHIFT));
}

/* --- posted ones --- */

void receive_link(struct op *op)
{
    struct inbox *box = op->box;
    op->next = NULL;
    op->previous = box->last;
    if (box->last)
        box->last->next = op;
    else
        box->first = op;
    box->last = op;
    call_notes(RANK_FABRIC_NOTE_POSTED, 1);
}

void receive_unlink(struct op *op)
{
    struct inbox *box = op->box;
    if (op->queued)
        box->waiting--;
    op->queued = false;
    if (op->next)
        op->next->previous = op->previous;
    else
        box->last = op->previous;
    if (op->previous)
        op->previous->next = op->next;
    else
        box->first = op->next;
    call_notes(RANK_FABRIC_NOTE_UNPOSTED, 1);
}

static void finish(struct op *op, size_t whole)
{
    op->whole = whole;
    if (!op->err && whole > op->length) {
        op->err = FI_ETRUNC;
        op->why = WHY_TRUNCATED;
    }
    op_end(op, op->ep->rx);
}

/* Events of a receive in the match list. */
static void received(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    if (event->type == PTL_EVENT_PUT_END) {
        receive_unlink(op);
        op_begin(op);
        describe(op, event->initiator, event->match_bits, event->hdr_data);
        op->head = event->hdr_data;
        op->moved = event->mlength;
        if (event->ni_fail_type != PTL_NI_OK) {
            op->err = FI_EIO;
            op->why = WHY_DAMAGED;
        }
        if (!(op->head & HEAD_LONG))
            finish(op, event->rlength);
    } else if (event->type == PTL_EVENT_UNLINK) {
        /* Nothing else will come for the descriptor: the operation may have another one. */
        if (op->head & HEAD_LONG)
            fetch(op, event->initiator, op->head);
        else
            op_free(op);
    }
}

void receive_take(struct op *op, struct arrival *arrival)
{
    interface_served();
    describe(op, arrival->from, arrival->bits, arrival->head);
    if (arrival->head & HEAD_LONG) {
        fetch(op, arrival->from, arrival->head);
    } else {
        op->moved = arrival->length < op->length ? arrival->length : op->length;
        if (arrival->stored < op->moved) {
            op->moved = 0;
            op->err = FI_ENOBUFS;
            op->why = WHY_LOST;
        } else {
            copy(op->buffer, arrival->data, op->moved);
        }
        finish(op, arrival->length);
        op_free(op);
    }
    arrival_free(arrival);
}

struct op *receive_new(struct endpoint *ep, const struct wanted *wanted)
{
    struct op *op = op_new(ep, received);
    op->box = wanted->tagged ? &ep->tags : &ep->messages;
    op->context = wanted->context;
    op->buffer = wanted->buffer;
    op->length = wanted->length;
    op->wants = RX_WANTS(ep, wanted->flags);
    op->cntr = ep->receives;
    op->from = (ptl_process_id_t){PTL_NID_ANY, PTL_PID_ANY};
    op->bits = wanted->tagged ? wanted->tag & ~SLOT_BITS : 0;
    op->ignore = wanted->tagged ? wanted->ignore | SLOT_BITS : ~UINT64_C(0);
    struct address peer;
    if (wanted->from != FI_ADDR_UNSPEC && av_peer(ep->av, wanted->from, &peer)) {
        op->from = (ptl_process_id_t){peer.nid, peer.pid};
        op->bits |= (uint64_t)peer.slot << SLOT_SHIFT;
        op->ignore &= ~SLOT_BITS;
    }
    return op;
}

/* The next one behind op that is in the match list, which op has to precede. */
static ptl_handle_me_t behind(const struct op *op)
{
    for (const struct op *next = op->next; next; next = next->next)
        if (!next->queued && !next->settling && next->me != PTL_INVALID_HANDLE)
            return next->me;
    return inbox_base(op->box);
}

int receive_list(struct op *op)
{
    ptl_md_t md = descriptor(op->buffer, op->length, 1, PTL_MD_OP_PUT | PTL_MD_TRUNCATE,
                             &op->handler);
    if (op->multi) {
        op->start = op->used;
        md.start = op->buffer + op->start;
        md.length = op->length - op->start;
        md.threshold = PTL_MD_THRESH_INF;
        md.options = PTL_MD_OP_PUT | PTL_MD_MAX_SIZE;
        md.max_size = op->least;
    }
    return PtlMEMDPost(interface_ni, behind(op), op->from, op->bits, op->ignore, PTL_UNLINK,
                       PTL_INS_BEFORE, md, PTL_UNLINK, &op->me, &op->md, interface_arrivals);
}

static ssize_t post(struct op *op)
{
    struct inbox *box = op->box;
    for (bool looked = false;; looked = true) {
        /* What has come already is older than what the queues bring. */
        if (looked || !box->arrivals)
            progress();
        struct arrival *arrival = inbox_find(box, op);
        if (arrival) {
            arrival_unlink(box, arrival);
            op_begin(op);
            receive_take(op, arrival);
            return 0;
        }
        /* Those that wait for room come first. */
        int code = PTL_NO_SPACE;
        if (!looked && box->arrivals)
            continue;
        if (box->waiting == 0)
            code = receive_list(op);
        if (code == PTL_NO_SPACE || code == PTL_ME_LIST_TOO_LONG) {
            op->queued = true;
            box->waiting++;
            code = PTL_OK;
        }
        if (code == PTL_OK) {
            receive_link(op);
            return 0;
        }
        if (code != PTL_MD_NO_UPDATE && code != PTL_ME_INVALID) {
            free(op);
            return fabric_error(code, "PtlMEMDPost");
        }
    }
}

/* Reasons not to begin with a receive. */
static int check(struct endpoint *ep, const struct wanted *wanted)
{
    struct address peer;
    if (!ep->enabled)
        return refuse(-FI_EOPBADSTATE, "a receive is posted to an endpoint that is not enabled");
    if (wanted->from != FI_ADDR_UNSPEC && !av_peer(ep->av, wanted->from, &peer))
        return refuse(-FI_EINVAL, "a receive is directed to an address that is not in the "
                                  "endpoint's address vector");
    if ((wanted->tag & ~wanted->ignore) >> SLOT_SHIFT)
        return refuse(-FI_EINVAL, "a tag has more than the %d bits of mem_tag_format", SLOT_SHIFT);
    return 0;
}

ssize_t receive_post(struct endpoint *ep, const struct wanted *wanted)
{
    lock();
    ssize_t result = check(ep, wanted);
    if (!result)
        result = wanted->flags & FI_MULTI_RECV ? multi_post(ep, wanted)
                                               : post(receive_new(ep, wanted));
    unlock();
    return result;
}

void receive_again(struct inbox *box)
{
    struct op *op = box->waiting > 0 ? box->first : NULL;
    for (; op && box->waiting > 0; op = op->next) {
        if (!op->queued)
            continue;
        if (receive_list(op) != PTL_OK)
            return; /* no room, or something has come */
        op->queued = false;
        op->gone = false;
        box->waiting--;
    }
}

/* --- peeks and claims --- */

static struct arrival *claimed(struct inbox *box, void *context)
{
    struct arrival *arrival = box->arrivals;
    while (arrival && !(arrival->is_claimed && arrival->claimed == context))
        arrival = arrival->next;
    return arrival;
}

static void drop(struct inbox *box, struct arrival *arrival)
{
    arrival_unlink(box, arrival);
    if (arrival->head & HEAD_LONG)
        fetch_refuse(box->ep, arrival->from, arrival->head);
    arrival_free(arrival);
}

static void peek(struct op *op, uint64_t flags)
{
    struct inbox *box = op->box;
    const bool first = flags & FI_PEEK;
    struct arrival *arrival = first ? inbox_find(box, op) : claimed(box, op->context);
    if (!first && arrival && !(flags & FI_DISCARD)) {
        arrival_unlink(box, arrival);
        op_begin(op);
        receive_take(op, arrival);
        return;
    }
    op->cntr = NULL;
    op->wants = true;
    op->buffer = NULL;
    if (!arrival) {
        op->flags = FI_RECV | FI_TAGGED;
        op->tag = op->bits & ~SLOT_BITS;
        op->err = FI_ENOMSG;
        op->why = WHY_NO_MESSAGE;
    } else {
        describe(op, arrival->from, arrival->bits, arrival->head);
        op->moved = arrival->length;
        if (flags & FI_DISCARD) {
            drop(box, arrival);
        } else if (flags & FI_CLAIM) {
            arrival->is_claimed = true;
            arrival->claimed = op->context;
        }
    }
    op_end(op, op->ep->rx);
    free(op);
}

ssize_t receive_peek(struct endpoint *ep, const struct wanted *wanted)
{
    lock();
    int result = check(ep, wanted);
    if (!result) {
        struct op *op = receive_new(ep, wanted);
        if (!inbox_find(op->box, op))
            progress();
        peek(op, wanted->flags);
    }
    unlock();
    return result;
}

/* --- cancelled ones --- */

static void end_cancelled(struct op *op)
{
    receive_unlink(op);
    op_begin(op);
    op->flags = FI_RECV | (op->box->tagged ? FI_TAGGED : FI_MSG);
    op->tag = op->bits & ~SLOT_BITS;
    op->cntr = NULL;
    op->err = FI_ECANCELED;
    op->why = WHY_CANCELLED;
    op_end(op, op->ep->rx);
    op_free(op);
}

/* True if nothing has taken it, and nothing will. */
static bool take_back(struct op *op)
{
    if (op->multi)
        return multi_cancel(op);
    if (!op->queued && PtlMEUnlink(op->me) != PTL_OK)
        return false;
    end_cancelled(op);
    return true;
}

static bool cancel_in(struct inbox *box, void *context)
{
    for (struct op *op = box->first; op; op = op->next)
        if (op->context == context)
            return take_back(op);
    return false;
}

ssize_t receive_cancel(struct endpoint *ep, void *context)
{
    lock();
    progress();
    const bool done = cancel_in(&ep->tags, context) || cancel_in(&ep->messages, context);
    unlock();
    return done ? 0 : -FI_ENOENT;
}

/* All of them, without completions: the endpoint is closed. */
void receive_drop(struct inbox *box)
{
    while (box->first) {
        struct op *op = box->first;
        op->ended = true;
        if (op->multi)
            multi_drop(op);
        else if (!take_back(op))
            progress();
    }
}
