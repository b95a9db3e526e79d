/* Operations under way, and their ends. */
#include "fabric.h"

#include <stdlib.h>

struct op *op_new(struct endpoint *ep, void (*event)(struct handler *, const ptl_event_t *))
{
    struct op *op = need(1, sizeof *op);
    op->handler.event = event;
    op->ep = ep;
    op->me = op->md = PTL_INVALID_HANDLE;
    op->source = FI_ADDR_NOTAVAIL;
    return op;
}

void op_begin(struct op *op)
{
    struct endpoint *ep = op->ep;
    op->next = ep->under_way;
    op->previous = NULL;
    if (op->next)
        op->next->previous = op;
    ep->under_way = op;
    ep->open++;
}

/* Of one that has begun. */
void op_free(struct op *op)
{
    struct endpoint *ep = op->ep;
    if (op->next)
        op->next->previous = op->previous;
    if (op->previous)
        op->previous->next = op->next;
    else
        ep->under_way = op->next;
    ep->open--;
    free(op->bounce);
    free(op);
}

void op_end(struct op *op, struct cq *cq)
{
    if (op->ended)
        return;
    op->ended = true;
    cntr_count(op->cntr, op->err != 0);
    if (!cq || (!op->wants && !op->err))
        return;
    const struct completion completion = {
        .entry = {op->context, op->flags, op->moved, op->buffer, op->data, op->tag},
        .source = op->source,
        .olen = op->err == FI_ETRUNC ? op->whole - op->moved : 0,
        .err = op->err,
        .why = op->why,
    };
    cq_add(cq, &completion);
}

bool op_room(struct endpoint *ep, struct cq *cq, bool wants)
{
    const bool full = ep->open >= TX_SIZE || (wants && cq && cq_full(cq));
    if (!full)
        return true;
    progress();
    return ep->open < TX_SIZE && !(wants && cq && cq_full(cq));
}
