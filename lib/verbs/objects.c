/* Protection domains, memory regions, completion queues, queue pairs. */
#define _GNU_SOURCE
#include "verbs.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t pds_made;
static uint32_t qps_made;

VERBS_EXPORT struct pd *ibv_alloc_pd(struct context *context)
{
    struct pd *pd = calloc(1, sizeof *pd);
    if (pd)
        *pd = (struct pd){.context = context, .handle = ++pds_made};
    return pd;
}

VERBS_EXPORT int ibv_dealloc_pd(struct pd *pd)
{
    free(pd);
    return 0;
}

/* --- memory regions --- */

VERBS_EXPORT struct mr *ibv_reg_mr(struct pd *pd, void *address, size_t bytes, int access)
{
    if (access & ~ACCESS_KNOWN) {
        verbs_refuse(EOPNOTSUPP, "ibv_reg_mr: the card knows local and remote writes, no other "
                                 "access (0x%x)",
                     (unsigned)access & ~(unsigned)ACCESS_KNOWN);
        return NULL;
    }
    if (access & ACCESS_REMOTE_WRITE && !(access & ACCESS_LOCAL_WRITE)) {
        errno = EINVAL; /* the verbs' own rule */
        return NULL;
    }
    struct mr *mr = calloc(1, sizeof *mr);
    if (!mr)
        return NULL;
    uint64_t words[6];
    const uint64_t arguments[] = {POINTER(address), bytes, (uint64_t)access};
    const int code = verbs_call(RANK_VERBS_CALL_REGISTER, 3, arguments, words);
    if (code < 0) {
        free(mr);
        errno = -code;
        if (code == -ENOMEM)
            verbs_refuse(ENOMEM, "ibv_reg_mr: the node has %llu pages of 4 KB to pin",
                         (unsigned long long)verbs_facts.pages);
        return NULL;
    }
    const uint32_t key = (uint32_t)words[0];
    *mr = (struct mr){.context = pd->context, .pd = pd, .address = address, .bytes = bytes,
                      .handle = key, .lkey = key, .rkey = key};
    /* The card may write there while the program looks. */
    if (access & ACCESS_REMOTE_WRITE)
        rank_guard(address, bytes);
    return mr;
}

VERBS_EXPORT struct mr *ibv_reg_mr_iova2(struct pd *pd, void *address, size_t bytes, uint64_t iova,
                                         unsigned access)
{
    if (iova != POINTER(address)) {
        verbs_refuse(EOPNOTSUPP, "ibv_reg_mr_iova: the card has no addresses but a region's own");
        return NULL;
    }
    return ibv_reg_mr(pd, address, bytes, (int)(access & ~(unsigned)ACCESS_OPTIONAL));
}

VERBS_EXPORT struct mr *ibv_reg_mr_iova(struct pd *pd, void *address, size_t bytes, uint64_t iova,
                                        int access)
{
    return ibv_reg_mr_iova2(pd, address, bytes, iova, (unsigned)access);
}

VERBS_EXPORT int ibv_dereg_mr(struct mr *mr)
{
    const uint64_t arguments[] = {mr->lkey};
    const int code = verbs_call(RANK_VERBS_CALL_DEREGISTER, 1, arguments, NULL);
    if (code < 0)
        return -code;
    rank_unguard(mr->address, mr->bytes);
    free(mr);
    return 0;
}

/* --- completion queues --- */

VERBS_EXPORT struct cq *ibv_create_cq(struct context *context, int entries, void *user,
                                      void *channel, int vector)
{
    if (entries < 1 || (unsigned)entries > VERBS_CQ_MAX || vector != 0) {
        errno = EINVAL;
        return NULL;
    }
    struct cq *cq = calloc(1, sizeof *cq);
    if (cq)
        cq->ring = calloc((size_t)entries, sizeof *cq->ring);
    if (!cq || !cq->ring) {
        free(cq);
        errno = ENOMEM;
        return NULL;
    }
    cq->base.context = context;
    cq->base.user = user;
    verbs_cq_begins(cq, channel);
    cq->base.entries = entries;
    pthread_mutex_init(&cq->base.mutex, NULL);
    pthread_cond_init(&cq->base.cond, NULL);
    return cq;
}

VERBS_EXPORT int ibv_destroy_cq(struct cq *cq)
{
    if (cq->base.handle > 0) /* queue pairs that use it */
        return EBUSY;
    verbs_cq_ends(cq);
    free(cq->ring);
    free(cq);
    return 0;
}

/* --- queue pairs --- */

static bool fits(const struct capacity *wanted)
{
    return wanted->sends <= VERBS_WORK_MAX && wanted->send_sges <= 1 &&
           wanted->inline_bytes <= VERBS_INLINE_MAX;
}

VERBS_EXPORT struct qp *ibv_create_qp(struct pd *pd, struct qp_wanted *wanted)
{
    if (wanted->type != TYPE_UC) {
        verbs_refuse(EOPNOTSUPP, "ibv_create_qp: the card has unreliable connections (UC) only");
        return NULL;
    }
    if (!wanted->send_cq || !wanted->receive_cq || wanted->srq || !fits(&wanted->capacity)) {
        errno = EINVAL;
        return NULL;
    }
    struct qp *qp = calloc(1, sizeof *qp);
    if (!qp)
        return NULL;
    qp->base = (struct qp_base){.context = pd->context, .user = wanted->user, .pd = pd,
                                .send_cq = wanted->send_cq, .receive_cq = wanted->receive_cq,
                                .type = TYPE_UC, .state = STATE_RESET};
    qp->base.handle = qp->base.number = ++qps_made;
    pthread_mutex_init(&qp->base.mutex, NULL);
    pthread_cond_init(&qp->base.cond, NULL);
    wanted->capacity.send_sges = 1;
    qp->capacity = wanted->capacity;
    qp->signals_all = wanted->signals_all != 0;
    wanted->send_cq->base.handle++;
    wanted->receive_cq->base.handle++;
    return qp;
}

VERBS_EXPORT int ibv_destroy_qp(struct qp *qp)
{
    qp->base.send_cq->base.handle--;
    qp->base.receive_cq->base.handle--;
    struct cq *cq = qp->base.send_cq;
    for (uint32_t i = 0; i < cq->used; i++) { /* nobody asks for these any more */
        struct expected *expected = &cq->ring[(cq->first + i) % (uint32_t)cq->base.entries];
        if (expected->qp == qp)
            expected->qp = NULL;
    }
    free(qp);
    return 0;
}

/* Where it sends to: a node by its number in the fabric. */
static int aim(struct qp *qp, const struct qp_facts *facts)
{
    const uint32_t lid = facts->address.lid;
    if (lid < 1 || lid > verbs_facts.nodes)
        return verbs_refuse(EINVAL, "ibv_modify_qp: there is no LID %u; nodes have 1 to %llu", lid,
                            (unsigned long long)verbs_facts.nodes);
    if (lid == verbs_facts.node + 1)
        return verbs_refuse(EOPNOTSUPP,
                            "ibv_modify_qp: the card has no way to its own node (LID %u)", lid);
    qp->address = facts->address;
    return 0;
}

VERBS_EXPORT int ibv_modify_qp(struct qp *qp, struct qp_facts *facts, int mask)
{
    const int from = qp->base.state, to = mask & MASK_STATE ? facts->state : from;
    const bool forward = to == from + 1 && to <= STATE_RTS;
    if (!forward && to != STATE_RESET && to != STATE_ERROR && !(to == from && from == STATE_RTS))
        return EINVAL;
    if (to == STATE_INIT && (!(mask & MASK_PORT) || facts->port != 1))
        return EINVAL;
    if (to == STATE_RTR) {
        if (!(mask & MASK_ADDRESS) || !(mask & MASK_PEER))
            return EINVAL;
        const int error = aim(qp, facts);
        if (error)
            return error;
        qp->peer = facts->peer;
    }
    if (mask & MASK_ACCESS)
        qp->access = facts->access;
    qp->base.state = to;
    return 0;
}

VERBS_EXPORT int ibv_query_qp(struct qp *qp, struct qp_facts *facts, int mask,
                              struct qp_wanted *wanted)
{
    (void)mask;
    *facts = (struct qp_facts){.state = qp->base.state, .current = qp->base.state, .mtu = MTU_4096,
                               .peer = qp->peer, .access = qp->access, .capacity = qp->capacity,
                               .address = qp->address, .port = 1};
    *wanted = (struct qp_wanted){.user = qp->base.user, .send_cq = qp->base.send_cq,
                                 .receive_cq = qp->base.receive_cq, .capacity = qp->capacity,
                                 .type = TYPE_UC, .signals_all = qp->signals_all};
    return 0;
}
