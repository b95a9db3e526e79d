/* Remote reads and writes: gets and puts to a region's match entry. */
#include "fabric.h"

#include <stdlib.h>

struct transfer {
    bool write, quiet;
    void *buffer;
    size_t length;
    fi_addr_t to;
    uint64_t offset, key, data, flags;
    void *context;
};

static void fail(struct op *op, int err, enum why why)
{
    if (!op->err) {
        op->err = err;
        op->why = why;
    }
}

/* A write is over when it is acknowledged, a read when it is answered. An answer of fewer bytes
 * comes from where nothing is (mr.c). */
static void moved(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    if (event->ni_fail_type != PTL_NI_OK)
        fail(op, FI_EIO, WHY_DAMAGED);
    switch (event->type) {
    case PTL_EVENT_SEND_END:
        if (!op->err)
            return;
        PtlMDUnlink(op->md); /* nobody will acknowledge it */
        break;
    case PTL_EVENT_ACK:
    case PTL_EVENT_REPLY_END:
        if (event->mlength < op->length)
            fail(op, FI_EKEYREJECTED, WHY_REFUSED);
        op_end(op, op->ep->tx);
        return;
    case PTL_EVENT_UNLINK:
        break;
    default:
        return;
    }
    op_end(op, op->ep->tx);
    op_free(op);
}

static int issue(struct op *op, const struct transfer *transfer, const struct address *to)
{
    const ptl_process_id_t process = {to->nid, to->pid};
    const unsigned threshold = transfer->write ? 2 : 1; /* it and its acknowledgement; its answer */
    int error = descriptor_bind(descriptor(op->bounce ? op->bounce : op->buffer, op->length,
                                           (int)threshold, 0, &op->handler),
                                PTL_UNLINK, &op->md);
    if (error)
        return error;
    uint64_t bits = transfer->key, head = (uint64_t)to->slot << HEAD_TO_SHIFT;
    if (transfer->flags & FI_REMOTE_CQ_DATA) {
        head |= HEAD_DATA | (uint64_t)op->ep->slot << HEAD_FROM_SHIFT | (uint32_t)transfer->data;
        bits |= KEY_TOLD;
    }
    if (transfer->write)
        error = fabric_error(PtlPut(op->md, PTL_ACK_REQ, process, PORTAL_REGIONS, 0, bits,
                                    transfer->offset, head),
                             "PtlPut");
    else
        error = fabric_error(PtlGet(op->md, process, PORTAL_REGIONS, 0, bits, transfer->offset),
                             "PtlGet");
    if (error)
        PtlMDUnlink(op->md);
    return error;
}

static ssize_t start(struct endpoint *ep, const struct transfer *transfer)
{
    struct address to;
    if (!ep->enabled)
        return refuse(-FI_EOPBADSTATE, "remote memory is used by an endpoint that is not enabled");
    if (!av_peer(ep->av, transfer->to, &to))
        return refuse(-FI_EINVAL, "remote memory is used at an address that is not in the "
                                  "endpoint's address vector");
    if (transfer->length > (transfer->flags & FI_INJECT ? INJECT_MAX : MESSAGE_MAX))
        return refuse(-FI_EMSGSIZE, "a transfer of %zu bytes is longer than the limit",
                      transfer->length);
    if (transfer->key >= KEY_MAX)
        return refuse(-FI_EINVAL, "a key has more than the %d bytes of mr_key_size", KEY_BYTES);
    const bool wants = !transfer->quiet && TX_WANTS(ep, transfer->flags);
    if (!op_room(ep, ep->tx, wants))
        return -FI_EAGAIN;
    struct op *op = op_new(ep, moved);
    op_begin(op);
    op->context = transfer->context;
    op->buffer = transfer->buffer;
    op->length = transfer->length;
    op->flags = FI_RMA | (transfer->write ? FI_WRITE : FI_READ);
    op->wants = wants;
    op->cntr = transfer->write ? ep->writes : ep->reads;
    if (transfer->flags & FI_INJECT && transfer->length > 0) {
        op->bounce = need(1, transfer->length);
        copy(op->bounce, transfer->buffer, transfer->length);
    }
    const int error = issue(op, transfer, &to);
    if (error) {
        op_free(op);
        if (error == -FI_EAGAIN)
            progress();
    }
    return error;
}

static ssize_t transfer_one(struct fid_ep *fid, const struct transfer *transfer)
{
    lock();
    const ssize_t result = start(EP(fid), transfer);
    unlock();
    return result;
}

static ssize_t transfer_list(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags,
                             bool write)
{
    if (msg->iov_count > 1 || msg->rma_iov_count > 1)
        return refuse(-FI_EINVAL, "remote reads and writes are of one stretch of memory at each "
                                  "side (iov_limit, rma_iov_limit)");
    if (flags & FI_FENCE)
        return refuse(-FI_ENOSYS, "FI_FENCE: operations do not wait for each other");
    const bool some = msg->iov_count > 0;
    const struct transfer transfer = {
        .write = write,
        .buffer = some ? msg->msg_iov->iov_base : NULL,
        .length = some ? msg->msg_iov->iov_len : 0,
        .to = msg->addr,
        .offset = msg->rma_iov_count ? msg->rma_iov->addr : 0,
        .key = msg->rma_iov_count ? msg->rma_iov->key : 0,
        .data = msg->data,
        .flags = flags,
        .context = msg->context,
    };
    return transfer_one(fid, &transfer);
}

static ssize_t rma_readmsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
    CALL(READMSG);
    return transfer_list(fid, msg, flags & ~(FI_REMOTE_CQ_DATA | FI_INJECT), false);
}

static ssize_t rma_writemsg(struct fid_ep *fid, const struct fi_msg_rma *msg, uint64_t flags)
{
    CALL(WRITEMSG);
    return transfer_list(fid, msg, flags, true);
}

static ssize_t rma_readv(struct fid_ep *fid, const struct iovec *list, void **desc, size_t count,
                         fi_addr_t from, uint64_t offset, uint64_t key, void *context)
{
    CALL(READV);
    const struct fi_rma_iov remote = {offset, 0, key};
    const struct fi_msg_rma msg = {list, desc, count, from, &remote, 1, context, 0};
    return rma_readmsg(fid, &msg, EP(fid)->tx_flags);
}

static ssize_t rma_read(struct fid_ep *fid, void *buffer, size_t length, void *desc, fi_addr_t from,
                        uint64_t offset, uint64_t key, void *context)
{
    CALL(READ);
    const struct iovec one = {buffer, length};
    return rma_readv(fid, &one, &desc, 1, from, offset, key, context);
}

static ssize_t rma_writev(struct fid_ep *fid, const struct iovec *list, void **desc, size_t count,
                          fi_addr_t to, uint64_t offset, uint64_t key, void *context)
{
    CALL(WRITEV);
    const struct fi_rma_iov remote = {offset, 0, key};
    const struct fi_msg_rma msg = {list, desc, count, to, &remote, 1, context, 0};
    return rma_writemsg(fid, &msg, EP(fid)->tx_flags);
}

static ssize_t rma_write(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
                         fi_addr_t to, uint64_t offset, uint64_t key, void *context)
{
    CALL(WRITE);
    const struct iovec one = {(void *)buffer, length};
    return rma_writev(fid, &one, &desc, 1, to, offset, key, context);
}

static ssize_t rma_writedata(struct fid_ep *fid, const void *buffer, size_t length, void *desc,
                             uint64_t data, fi_addr_t to, uint64_t offset, uint64_t key,
                             void *context)
{
    CALL(WRITEDATA);
    const struct iovec one = {(void *)buffer, length};
    const struct fi_rma_iov remote = {offset, 0, key};
    const struct fi_msg_rma msg = {&one, &desc, 1, to, &remote, 1, context, data};
    return rma_writemsg(fid, &msg, EP(fid)->tx_flags | FI_REMOTE_CQ_DATA);
}

static ssize_t rma_injectdata(struct fid_ep *fid, const void *buffer, size_t length, uint64_t data,
                              fi_addr_t to, uint64_t offset, uint64_t key)
{
    CALL(INJECT_WRITEDATA);
    const struct transfer transfer = {true, true, (void *)buffer, length, to, offset, key, data,
                                      FI_INJECT | FI_REMOTE_CQ_DATA, NULL};
    return transfer_one(fid, &transfer);
}

static ssize_t rma_inject(struct fid_ep *fid, const void *buffer, size_t length, fi_addr_t to,
                          uint64_t offset, uint64_t key)
{
    CALL(INJECT_WRITE);
    const struct transfer transfer = {true, true, (void *)buffer, length, to, offset, key, 0,
                                      FI_INJECT, NULL};
    return transfer_one(fid, &transfer);
}

struct fi_ops_rma rma_ops = {
    .size = sizeof rma_ops,
    .read = rma_read,
    .readv = rma_readv,
    .readmsg = rma_readmsg,
    .write = rma_write,
    .writev = rma_writev,
    .writemsg = rma_writemsg,
    .inject = rma_inject,
    .writedata = rma_writedata,
    .injectdata = rma_injectdata,
};
