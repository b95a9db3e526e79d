/* Endpoints. */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>

/* Bytes that a buffer for several messages has at least, or goes back (FI_OPT_MIN_MULTI_RECV). */
#define LEAST 64u
/* Microseconds that closing waits for answers of peers, which may have ended. */
#define CLOSING_US 100000u

/* --- its options --- */

static int ep_getopt(fid_t fid, int level, int name, void *value, size_t *bytes)
{
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV)
        return -FI_ENOPROTOOPT;
    if (*bytes < sizeof(size_t))
        return -FI_ETOOSMALL;
    *(size_t *)value = ((struct endpoint *)fid)->least;
    *bytes = sizeof(size_t);
    return 0;
}

static int ep_setopt(fid_t fid, int level, int name, const void *value, size_t bytes)
{
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV || bytes != sizeof(size_t))
        return -FI_ENOPROTOOPT;
    const size_t least = *(const size_t *)value;
    ((struct endpoint *)fid)->least = least ? least : 1;
    return 0;
}

static ssize_t ep_cancel(fid_t fid, void *context)
{
    CALL(CANCEL);
    return receive_cancel((struct endpoint *)fid, context);
}

static int ep_tx(struct fid_ep *ep, int index, struct fi_tx_attr *attr, struct fid_ep **tx,
                 void *context)
{
    (void)ep, (void)index, (void)attr, (void)tx, (void)context;
    return refuse(-FI_ENOSYS, "fi_tx_context: there are no scalable endpoints");
}

static int ep_rx(struct fid_ep *ep, int index, struct fi_rx_attr *attr, struct fid_ep **rx,
                 void *context)
{
    (void)ep, (void)index, (void)attr, (void)rx, (void)context;
    return refuse(-FI_ENOSYS, "fi_rx_context: there are no scalable endpoints");
}

static ssize_t ep_rx_left(struct fid_ep *ep)
{
    (void)ep;
    return RX_SIZE;
}

static ssize_t ep_tx_left(struct fid_ep *ep)
{
    lock();
    const unsigned open = EP(ep)->open;
    unlock();
    return open < TX_SIZE ? TX_SIZE - open : 0;
}

static struct fi_ops_ep ep_ops = {
    .size = sizeof ep_ops,
    .cancel = ep_cancel,
    .getopt = ep_getopt,
    .setopt = ep_setopt,
    .tx_ctx = ep_tx,
    .rx_ctx = ep_rx,
    .rx_size_left = ep_rx_left,
    .tx_size_left = ep_tx_left,
};

/* --- what belongs to it --- */

static int bind_cntr(struct endpoint *ep, struct cntr *cntr, uint64_t flags)
{
    if (flags & FI_REMOTE_READ)
        return refuse(-FI_ENOSYS, "fi_ep_bind: a read does not say for which endpoint it is; "
                                  "regions count those of others");
    struct {
        uint64_t flag;
        struct cntr **at;
    } const places[] = {
        {FI_SEND, &ep->sends},
        {FI_RECV, &ep->receives},
        {FI_READ, &ep->reads},
        {FI_WRITE, &ep->writes},
        {FI_REMOTE_WRITE, &ep->remote_writes},
    };
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        if (flags & places[i].flag) {
            *places[i].at = cntr;
            cntr->users++;
        }
    }
    return 0;
}

static void bind_cq(struct endpoint *ep, struct cq *cq, uint64_t flags)
{
    if (flags & FI_TRANSMIT) {
        ep->tx = cq;
        ep->tx_selective = flags & FI_SELECTIVE_COMPLETION;
        cq->users++;
    }
    if (flags & FI_RECV) {
        ep->rx = cq;
        ep->rx_selective = flags & FI_SELECTIVE_COMPLETION;
        cq->users++;
    }
}

static int ep_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct endpoint *ep = (struct endpoint *)fid;
    int result = 0;
    lock();
    switch (other->fclass) {
    case FI_CLASS_AV:
        ep->av = (struct av *)other;
        break;
    case FI_CLASS_CQ:
        bind_cq(ep, (struct cq *)other, flags);
        break;
    case FI_CLASS_CNTR:
        result = bind_cntr(ep, (struct cntr *)other, flags);
        break;
    case FI_CLASS_EQ: /* nothing will be told there */
    case FI_CLASS_MR:
        break;
    default:
        result = refuse(-FI_ENOSYS, "fi_ep_bind: endpoints have address vectors, completion "
                                    "queues and counters, and nothing else");
    }
    unlock();
    return result;
}

static int enable(struct endpoint *ep)
{
    CALL(ENABLE);
    if (ep->enabled)
        return 0;
    if (!ep->av)
        return refuse(-FI_ENOAV, "fi_enable: the endpoint has no address vector");
    const ptl_pt_index_t portal = PORTAL_INBOXES - 2 * ep->slot;
    int error = inbox_open(&ep->tags, ep, true, portal);
    if (!error)
        error = inbox_open(&ep->messages, ep, false, portal - 1);
    if (error)
        return error;
    ep->enabled = true;
    return 0;
}

static int ep_control(struct fid *fid, int command, void *argument)
{
    struct endpoint *ep = (struct endpoint *)fid;
    uint64_t *flags = argument;
    int result = 0;
    lock();
    if (command == FI_ENABLE)
        result = enable(ep);
    else if (command == FI_GETOPSFLAG)
        *flags = *flags & FI_RECV ? ep->rx_flags : ep->tx_flags;
    else if (command == FI_SETOPSFLAG && *flags & FI_TRANSMIT)
        ep->tx_flags = *flags & ~FI_TRANSMIT;
    else if (command == FI_SETOPSFLAG && *flags & FI_RECV)
        ep->rx_flags = *flags & ~FI_RECV;
    else
        result = no_control(fid, command, argument);
    unlock();
    return result;
}

/* --- its end --- */

static void let_go(struct endpoint *ep)
{
    struct cntr *const cntrs[] = {ep->sends, ep->receives, ep->reads, ep->writes,
                                  ep->remote_writes};
    for (unsigned i = 0; i < sizeof cntrs / sizeof *cntrs; i++)
        if (cntrs[i])
            cntrs[i]->users--;
    if (ep->tx)
        ep->tx->users--;
    if (ep->rx)
        ep->rx->users--;
    ep->domain->users--;
}

static void unheard(struct handler *handler, const ptl_event_t *event)
{
    (void)handler;
    (void)event;
}

/* Takes the descriptors of what peers have not answered from the interface: it drops answers
 * from then on. Events that it posted before name the operations still. */
static void take_away(struct endpoint *ep)
{
    struct op *next;
    for (struct op *op = ep->under_way; op; op = op->next)
        if (PtlMDUnlink(op->md) == PTL_OK) {
            op->ended = true;
            op->handler.event = unheard;
        }
    progress();
    for (struct op *op = ep->under_way; op; op = next) {
        next = op->next;
        if (op->handler.event == unheard)
            op_free(op);
    }
}

/* When this returns the interface writes to no memory that the endpoint has named: what peers
 * send is dropped, what they have not fetched is withdrawn, and answers have come or are not
 * waited for any more. */
static void close_enabled(struct endpoint *ep)
{
    for (struct op *op = ep->under_way; op; op = op->next)
        op->wants = false; /* nobody will read of it */
    inbox_close(&ep->tags);
    inbox_close(&ep->messages);
    /* Each event ends a wait, so that their number says nothing about the time. */
    const uint64_t began = now();
    bool withdrawn = false;
    for (uint64_t waited = 0; ep->under_way && waited < CLOSING_US; waited = now() - began) {
        progress();
        if (ep->under_way)
            progress_wait(1);
        if (!withdrawn && waited >= CLOSING_US / 2) {
            long_withdraw(ep);
            withdrawn = true;
        }
    }
    fetch_drop(ep);
    while (ep->under_way)
        take_away(ep);
}

static int ep_close(struct fid *fid)
{
    CALL(CLOSE);
    struct endpoint *ep = (struct endpoint *)fid;
    lock();
    if (ep->enabled)
        close_enabled(ep);
    interface_slots[ep->slot] = NULL;
    let_go(ep);
    interface_close();
    unlock();
    free(ep);
    return 0;
}

static struct fi_ops ep_fid_ops = {
    .size = sizeof ep_fid_ops,
    .close = ep_close,
    .bind = ep_bind,
    .control = ep_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

/* A program that ends without closing: its memory must stay while messages use it. Libraries
 * that this one needs end after it. */
__attribute__((destructor)) static void end(void)
{
    if (!lock_now())
        return;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        if (interface_slots[slot] && interface_slots[slot]->enabled)
            close_enabled(interface_slots[slot]);
    unlock();
}

/* Numbers are given in turn, so that what is sent to a closed endpoint does not come to the next
 * one. */
static int take_slot(struct endpoint *ep)
{
    static unsigned next;
    for (unsigned i = 0; i < SLOTS; i++) {
        const unsigned slot = (next + i) % SLOTS;
        if (!interface_slots[slot]) {
            ep->slot = slot;
            interface_slots[slot] = ep;
            next = (slot + 1) % SLOTS;
            return 0;
        }
    }
    return refuse(-FI_ENOSPC, "fi_endpoint: a process has up to %u endpoints", SLOTS);
}

int endpoint_open(struct fid_domain *domain, struct fi_info *info, struct fid_ep **fid,
                  void *context)
{
    CALL(ENDPOINT);
    if (!info || (info->ep_attr && info->ep_attr->type != FI_EP_RDM))
        return refuse(-FI_EINVAL, "fi_endpoint: endpoints are of type FI_EP_RDM");
    struct endpoint *ep = need(1, sizeof *ep);
    lock();
    int error = interface_open();
    if (!error) {
        error = take_slot(ep);
        if (error)
            interface_close();
    }
    if (!error) {
        ep->domain = (struct domain *)domain;
        ep->domain->users++;
    }
    unlock();
    if (error) {
        free(ep);
        return error;
    }
    ep->fid.fid = (struct fid){FI_CLASS_EP, context, &ep_fid_ops};
    ep->fid.ops = &ep_ops;
    ep->fid.cm = &ep_cm;
    ep->fid.msg = &msg_ops;
    ep->fid.rma = &rma_ops;
    ep->fid.tagged = &tagged_ops;
    ep->fid.atomic = &atomic_ops;
    ep->fid.collective = &absent_collective;
    ep->tx_flags = info->tx_attr ? info->tx_attr->op_flags : 0;
    ep->rx_flags = info->rx_attr ? info->rx_attr->op_flags : 0;
    ep->least = LEAST;
    *fid = &ep->fid;
    return 0;
}
