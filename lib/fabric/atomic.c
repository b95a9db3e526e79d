/* Atomic operations: those that the machine executes, and no others. Portals adds (PtlGetAdd),
 * swaps (PtlGetPut) and swaps on a condition (PtlCGetPut); each brings what was there before. */
#include "fabric.h"

#include <stdlib.h>
#include <string.h>

enum kind { ADD, SWAP, COMPARE };

struct atomic {
    enum kind kind;
    const void *operand, *compare;
    void *result; /* or null */
    size_t length;
    fi_addr_t to;
    uint64_t offset, key, flags, completion;
    bool quiet;
    void *context;
};

unsigned atomics_open;

/* Bytes of an element. */
static size_t bytes_of(enum fi_datatype type)
{
    static const size_t sizes[] = {
        [FI_INT8] = 1,   [FI_UINT8] = 1,  [FI_INT16] = 2,         [FI_UINT16] = 2,
        [FI_INT32] = 4,  [FI_UINT32] = 4, [FI_INT64] = 8,         [FI_UINT64] = 8,
        [FI_FLOAT] = 4,  [FI_DOUBLE] = 8, [FI_FLOAT_COMPLEX] = 8, [FI_DOUBLE_COMPLEX] = 16,
        [FI_LONG_DOUBLE] = 16, [FI_LONG_DOUBLE_COMPLEX] = 32,
    };
    return (size_t)type < sizeof sizes / sizeof *sizes ? sizes[type] : 0;
}

static bool is_number(enum fi_datatype type)
{
    return type == FI_INT32 || type == FI_UINT32 || type == FI_INT64 || type == FI_UINT64;
}

/* Elements that the operation may have; 0 if it does not exist. Adding and comparing is of one
 * number of 4 or 8 bytes. Any 4 or 8 bytes are read by adding nothing; up to 64 bytes are
 * swapped. */
static size_t most_of(enum fi_datatype type, enum fi_op op, bool fetches, bool compares)
{
    const size_t bytes = bytes_of(type);
    if (bytes == 0)
        return 0;
    if (compares)
        return op == FI_CSWAP && is_number(type);
    if (op == FI_SUM)
        return is_number(type);
    if (op == FI_ATOMIC_WRITE)
        return ATOMIC_MAX / bytes;
    return op == FI_ATOMIC_READ && fetches && (bytes == 4 || bytes == 8);
}

static void leave(struct op *op)
{
    if (op->ended)
        return;
    atomics_open--;
    if (op->probe)
        op->probe->parent = NULL;
    op->probe = NULL;
    op_end(op, op->ep->tx);
}

static void refused(struct op *op)
{
    op->err = FI_EKEYREJECTED;
    op->why = WHY_REFUSED;
}

static void answered(struct handler *handler, const ptl_event_t *event)
{
    struct op *op = (struct op *)handler;
    if (event->type == PTL_EVENT_REPLY_END) {
        if (event->ni_fail_type != PTL_NI_OK) {
            op->err = FI_EIO;
            op->why = WHY_DAMAGED;
        } else if (event->mlength < op->length) {
            refused(op);
        }
        leave(op);
    } else if (event->type == PTL_EVENT_UNLINK) {
        leave(op);
        op_free(op);
    }
}

/* --- those that nobody answers --- */

/* Numbers are never truncated, so what stands behind all regions (mr.c) does not take an atomic
 * operation with a wrong key: it is dropped in silence. A get of the same bytes is answered in
 * any case. */
static void end_refused(struct op *op)
{
    if (PtlMDUnlink(op->md) != PTL_OK)
        return; /* its answer is coming */
    refused(op);
    leave(op);
    op_free(op);
}

static void probed(struct handler *handler, const ptl_event_t *event)
{
    struct op *probe = (struct op *)handler;
    struct op *op = probe->parent;
    if (op && event->type == PTL_EVENT_REPLY_END && event->mlength < probe->length)
        end_refused(op);
    else if (op && event->type == PTL_EVENT_UNLINK)
        op->answered = true;
    if (event->type == PTL_EVENT_UNLINK) {
        if (probe->parent)
            probe->parent->probe = NULL;
        op_free(probe);
    }
}

static void probe(struct op *op)
{
    struct op *probe = op_new(op->ep, probed);
    op_begin(probe);
    probe->length = op->length;
    probe->ended = true; /* nobody is told */
    if (descriptor_bind(descriptor(probe->result, op->length, 1, 0, &probe->handler), PTL_UNLINK,
                        &probe->md)) {
        op_free(probe);
        return;
    }
    if (PtlGet(probe->md, op->peer, PORTAL_REGIONS, 0, op->key, op->offset) != PTL_OK) {
        PtlMDUnlink(probe->md);
        op_free(probe);
        return;
    }
    probe->parent = op;
    op->probe = probe;
}

void atomic_probe(void)
{
    for (unsigned slot = 0; slot < SLOTS; slot++) {
        struct op *op = interface_slots[slot] ? interface_slots[slot]->under_way : NULL;
        while (op) {
            struct op *next = op->next;
            if (op->handler.event == answered && !op->ended && !op->probe) {
                /* Requests are taken in their order: what the probe has passed will not come. */
                if (op->answered)
                    end_refused(op);
                else
                    probe(op);
            }
            op = next;
        }
    }
}

/* --- their beginning --- */

static int issue(struct op *op, const struct atomic *atomic)
{
    ptl_handle_md_t operand;
    int error = descriptor_bind(descriptor(op->buffer, op->length, 1, 0, &op->handler), PTL_UNLINK,
                                &op->md);
    if (error)
        return error;
    error = descriptor_bind(descriptor(op->operand, op->length, 1, 0, NULL), PTL_UNLINK, &operand);
    if (error) {
        PtlMDUnlink(op->md);
        return error;
    }
    uint64_t condition = 0;
    if (atomic->kind == ADD) {
        error = PtlGetAdd(op->md, operand, op->peer, PORTAL_REGIONS, 0, op->key, op->offset, 0);
    } else if (atomic->kind == SWAP) {
        error = PtlGetPut(op->md, operand, op->peer, PORTAL_REGIONS, 0, op->key, op->offset, 0);
    } else {
        memcpy(&condition, atomic->compare, op->length);
        error = PtlCGetPut(op->md, operand, op->peer, PORTAL_REGIONS, 0, op->key, op->offset,
                           condition);
    }
    if (error == PTL_OK)
        return 0;
    PtlMDUnlink(operand);
    PtlMDUnlink(op->md);
    return fabric_error(error, "an atomic operation of Portals");
}

static ssize_t start(struct endpoint *ep, const struct atomic *atomic)
{
    struct address to;
    if (!ep->enabled)
        return refuse(-FI_EOPBADSTATE, "an atomic operation is begun by an endpoint that is not "
                                       "enabled");
    if (!av_peer(ep->av, atomic->to, &to))
        return refuse(-FI_EINVAL, "an atomic operation goes to an address that is not in the "
                                  "endpoint's address vector");
    if (atomic->key >= KEY_MAX)
        return refuse(-FI_EINVAL, "a key has more than the %d bytes of mr_key_size", KEY_BYTES);
    const bool wants = !atomic->quiet && TX_WANTS(ep, atomic->flags);
    if (!op_room(ep, ep->tx, wants))
        return -FI_EAGAIN;
    struct op *op = op_new(ep, answered);
    op_begin(op);
    op->context = atomic->context;
    op->length = atomic->length;
    op->buffer = atomic->result ? atomic->result : op->result;
    if (atomic->operand)
        memcpy(op->operand, atomic->operand, atomic->length);
    op->flags = FI_ATOMIC | atomic->completion;
    op->wants = wants;
    op->cntr = atomic->completion & FI_READ ? ep->reads : ep->writes;
    op->peer = (ptl_process_id_t){to.nid, to.pid};
    op->key = atomic->key;
    op->offset = atomic->offset;
    const int error = issue(op, atomic);
    if (error) {
        op_free(op);
        if (error == -FI_EAGAIN)
            progress();
        return error;
    }
    atomics_open++;
    return 0;
}

/* One stretch of memory at each side, and an operation that exists. */
static ssize_t begin(struct fid_ep *fid, const struct fi_msg_atomic *msg,
                     const struct fi_ioc *compare, const struct fi_ioc *result, uint64_t flags,
                     bool quiet)
{
    const size_t most = most_of(msg->datatype, msg->op, result != NULL, compare != NULL);
    if (most == 0)
        return refuse(-FI_EOPNOTSUPP, "the machine does not execute this atomic operation of this "
                                      "type; fi_query_atomic says which it does");
    if (msg->rma_iov_count != 1 || msg->iov_count > 1 || msg->rma_iov->count > most)
        return refuse(-FI_EINVAL, "an atomic operation has more elements than fi_query_atomic "
                                  "says");
    const bool reads = msg->op == FI_ATOMIC_READ;
    const struct atomic atomic = {
        .kind = compare ? COMPARE : msg->op == FI_ATOMIC_WRITE ? SWAP : ADD,
        .operand = reads || !msg->iov_count ? NULL : msg->msg_iov->addr,
        .compare = compare ? compare->addr : NULL,
        .result = result ? result->addr : NULL,
        .length = msg->rma_iov->count * bytes_of(msg->datatype),
        .to = msg->addr,
        .offset = msg->rma_iov->addr,
        .key = msg->rma_iov->key,
        .flags = flags,
        .completion = result ? FI_READ : FI_WRITE,
        .quiet = quiet,
        .context = msg->context,
    };
    if (!reads && !atomic.operand)
        return -FI_EINVAL;
    lock();
    const ssize_t started = start(EP(fid), &atomic);
    unlock();
    return started;
}

/* What the calls with single arguments say, as the others say it. */
#define AS_MESSAGE(msg, list, count, elements)                                                     \
    const struct fi_rma_ioc remote = {offset, elements, key};                                      \
    const struct fi_msg_atomic msg = {list, NULL, count, to, &remote, 1, type, op, context, 0}
#define ONE(name, address) const struct fi_ioc name = {(void *)(address), count}

static ssize_t atomic_writemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg, uint64_t flags)
{
    CALL(ATOMICMSG);
    return begin(ep, msg, NULL, NULL, flags, false);
}

static ssize_t atomic_writev(struct fid_ep *ep, const struct fi_ioc *list, void **desc,
                             size_t count, fi_addr_t to, uint64_t offset, uint64_t key,
                             enum fi_datatype type, enum fi_op op, void *context)
{
    CALL(ATOMICV);
    (void)desc;
    AS_MESSAGE(msg, list, count, count ? list->count : 0);
    return begin(ep, &msg, NULL, NULL, EP(ep)->tx_flags, false);
}

static ssize_t atomic_write(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                            fi_addr_t to, uint64_t offset, uint64_t key, enum fi_datatype type,
                            enum fi_op op, void *context)
{
    CALL(ATOMIC);
    ONE(list, buffer);
    return atomic_writev(ep, &list, &desc, 1, to, offset, key, type, op, context);
}

static ssize_t atomic_inject(struct fid_ep *ep, const void *buffer, size_t count, fi_addr_t to,
                             uint64_t offset, uint64_t key, enum fi_datatype type, enum fi_op op)
{
    CALL(INJECT_ATOMIC);
    void *const context = NULL;
    ONE(list, buffer);
    AS_MESSAGE(msg, &list, 1, count);
    return begin(ep, &msg, NULL, NULL, FI_INJECT, true);
}

static ssize_t atomic_readwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                   struct fi_ioc *results, void **result_desc, size_t result_count,
                                   uint64_t flags)
{
    CALL(FETCH_ATOMICMSG);
    (void)result_desc;
    return result_count != 1 ? -FI_EINVAL : begin(ep, msg, NULL, results, flags, false);
}

static ssize_t atomic_readwritev(struct fid_ep *ep, const struct fi_ioc *list, void **desc,
                                 size_t count, struct fi_ioc *results, void **result_desc,
                                 size_t result_count, fi_addr_t to, uint64_t offset, uint64_t key,
                                 enum fi_datatype type, enum fi_op op, void *context)
{
    CALL(FETCH_ATOMICV);
    (void)desc;
    AS_MESSAGE(msg, list, count, result_count ? results->count : 0);
    return atomic_readwritemsg(ep, &msg, results, result_desc, result_count, EP(ep)->tx_flags);
}

static ssize_t atomic_readwrite(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                                void *result, void *result_desc, fi_addr_t to, uint64_t offset,
                                uint64_t key, enum fi_datatype type, enum fi_op op, void *context)
{
    CALL(FETCH_ATOMIC);
    ONE(list, buffer);
    struct fi_ioc results = {result, count};
    return atomic_readwritev(ep, &list, &desc, 1, &results, &result_desc, 1, to, offset, key, type,
                             op, context);
}

static ssize_t atomic_compwritemsg(struct fid_ep *ep, const struct fi_msg_atomic *msg,
                                   const struct fi_ioc *compares, void **compare_desc,
                                   size_t compare_count, struct fi_ioc *results,
                                   void **result_desc, size_t result_count, uint64_t flags)
{
    CALL(COMPARE_ATOMICMSG);
    (void)compare_desc, (void)result_desc;
    if (compare_count != 1 || result_count != 1)
        return -FI_EINVAL;
    return begin(ep, msg, compares, results, flags, false);
}

static ssize_t atomic_compwritev(struct fid_ep *ep, const struct fi_ioc *list, void **desc,
                                 size_t count, const struct fi_ioc *compares, void **compare_desc,
                                 size_t compare_count, struct fi_ioc *results, void **result_desc,
                                 size_t result_count, fi_addr_t to, uint64_t offset, uint64_t key,
                                 enum fi_datatype type, enum fi_op op, void *context)
{
    CALL(COMPARE_ATOMICV);
    (void)desc;
    AS_MESSAGE(msg, list, count, count ? list->count : 0);
    return atomic_compwritemsg(ep, &msg, compares, compare_desc, compare_count, results,
                               result_desc, result_count, EP(ep)->tx_flags);
}

static ssize_t atomic_compwrite(struct fid_ep *ep, const void *buffer, size_t count, void *desc,
                                const void *compare, void *compare_desc, void *result,
                                void *result_desc, fi_addr_t to, uint64_t offset, uint64_t key,
                                enum fi_datatype type, enum fi_op op, void *context)
{
    CALL(COMPARE_ATOMIC);
    ONE(list, buffer);
    ONE(compares, compare);
    struct fi_ioc results = {result, count};
    return atomic_compwritev(ep, &list, &desc, 1, &compares, &compare_desc, 1, &results,
                             &result_desc, 1, to, offset, key, type, op, context);
}

/* --- which there are --- */

static int valid(enum fi_datatype type, enum fi_op op, size_t *count, bool fetches, bool compares)
{
    const size_t most = most_of(type, op, fetches, compares);
    if (count)
        *count = most;
    return most ? 0 : -FI_EOPNOTSUPP;
}

static int atomic_writevalid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op, size_t *count)
{
    (void)ep;
    return valid(type, op, count, false, false);
}

static int atomic_readwritevalid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op,
                                 size_t *count)
{
    (void)ep;
    return valid(type, op, count, true, false);
}

static int atomic_compwritevalid(struct fid_ep *ep, enum fi_datatype type, enum fi_op op,
                                 size_t *count)
{
    (void)ep;
    return valid(type, op, count, true, true);
}

int atomic_query(struct fid_domain *domain, enum fi_datatype type, enum fi_op op,
                 struct fi_atomic_attr *attr, uint64_t flags)
{
    (void)domain;
    if (flags & FI_TAGGED)
        return -FI_EOPNOTSUPP;
    attr->size = bytes_of(type);
    return valid(type, op, &attr->count, flags & FI_FETCH_ATOMIC, flags & FI_COMPARE_ATOMIC);
}

struct fi_ops_atomic atomic_ops = {
    .size = sizeof atomic_ops,
    .write = atomic_write,
    .writev = atomic_writev,
    .writemsg = atomic_writemsg,
    .inject = atomic_inject,
    .readwrite = atomic_readwrite,
    .readwritev = atomic_readwritev,
    .readwritemsg = atomic_readwritemsg,
    .compwrite = atomic_compwrite,
    .compwritev = atomic_compwritev,
    .compwritemsg = atomic_compwritemsg,
    .writevalid = atomic_writevalid,
    .readwritevalid = atomic_readwritevalid,
    .compwritevalid = atomic_compwritevalid,
};
