/* Long messages are fetched from where they wait at their sender. */
#include "fabric.h"

#include <stdlib.h>

/* Those for which there was no room: the interface answers so many gets at a time. */
static struct op *first, *last;

void fetched(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    if (event->type == PTL_EVENT_REPLY_END) {
        const size_t asked = op->whole < op->length ? op->whole : op->length;
        op->moved = event->mlength;
        if (event->ni_fail_type != PTL_NI_OK) {
            op->err = FI_EIO;
            op->why = WHY_DAMAGED;
        } else if (op->moved < asked) {
            op->err = FI_ECONNABORTED;
            op->why = WHY_WITHDRAWN;
        } else if (op->whole > op->length) {
            op->err = FI_ETRUNC;
            op->why = WHY_TRUNCATED;
        }
        op_end(op, op->ep->rx);
    } else if (event->type == PTL_EVENT_UNLINK) {
        if (op->part)
            multi_fetched(op->part, op);
        op_free(op);
    }
}

/* True if it is on its way, or has failed. */
static bool start(struct op *op)
{
    const size_t asked = op->whole < op->length ? op->whole : op->length;
    op->handler.event = fetched;
    int error = descriptor_bind(descriptor(op->buffer, asked, 1, 0, &op->handler), PTL_UNLINK,
                                &op->md);
    if (!error) {
        error = fabric_error(PtlGet(op->md, op->peer, PORTAL_LONG, 0, op->place, 0), "PtlGet");
        if (error)
            PtlMDUnlink(op->md);
    }
    if (error == -FI_EAGAIN)
        return false;
    if (error) {
        op->err = -error;
        op->why = error == -FI_EFAULT ? WHY_MEMORY : WHY_WITHDRAWN;
        op_end(op, op->ep->rx);
        if (op->part)
            multi_fetched(op->part, op);
        op_free(op);
    }
    return true;
}

void fetch(struct op *op, ptl_process_id_t from, uint64_t head)
{
    op->peer = from;
    op->place = (unsigned)(head >> HEAD_PLACE_SHIFT) & (EXPOSED - 1);
    op->whole = (uint32_t)head;
    if (!first && start(op))
        return;
    op->later = NULL;
    if (first)
        last->later = op;
    else
        first = op;
    last = op;
}

void fetch_again(void)
{
    while (first) {
        struct op *op = first;
        struct op *later = op->later;
        first = later;
        if (!start(op)) {
            first = op;
            return;
        }
    }
}

void fetch_drop(struct endpoint *ep)
{
    struct op **at = &first;
    last = NULL;
    while (*at) {
        struct op *op = *at;
        if (op->ep == ep) {
            *at = op->later;
            op_free(op);
        } else {
            last = op;
            at = &op->later;
        }
    }
}

void fetch_refuse(struct endpoint *ep, ptl_process_id_t from, uint64_t head)
{
    struct op *op = op_new(ep, fetched);
    op_begin(op);
    op->ended = true; /* nobody is told */
    fetch(op, from, head);
}
