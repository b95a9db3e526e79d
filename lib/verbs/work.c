/* Work: writes are posted, completions polled. */
#define _GNU_SOURCE
#include "verbs.h"

#include <errno.h>
#include <string.h>

uint64_t verbs_over;

static struct expected *place(struct cq *cq, uint32_t at)
{
    return &cq->ring[(cq->first + at) % (uint32_t)cq->base.entries];
}

static void expect(struct qp *qp, const struct send *work, uint32_t bytes, int status,
                   uint64_t descriptors)
{
    struct cq *cq = qp->base.send_cq;
    const struct completion completion = {.id = work->id, .status = status,
                                          .opcode = COMPLETED_WRITE, .bytes = bytes,
                                          .qp = qp->base.number};
    *place(cq, cq->used++) = (struct expected){descriptors, completion, qp};
    qp->outstanding++;
}

/* --- posting --- */

/* What the card cannot do, before anything is asked of it: an error number. */
static int check(const struct qp *qp, const struct send *work)
{
    if (qp->base.state != STATE_RTS)
        return EINVAL;
    if (work->opcode != OPCODE_WRITE)
        return verbs_refuse(EOPNOTSUPP, "ibv_post_send: the card writes to remote memory and does "
                                        "nothing else: no send, read, atomic or immediate data");
    if (work->sges_used != 1)
        return verbs_refuse(EINVAL, "ibv_post_send: a descriptor has one piece of memory, not %d",
                            work->sges_used);
    const uint32_t bytes = work->sges->bytes;
    const bool inlined = work->flags & SEND_INLINE;
    if (bytes == 0 || bytes > VERBS_MESSAGE_MAX)
        return verbs_refuse(EINVAL, "ibv_post_send: a message has 1 byte to 16 MB, not %u", bytes);
    if (inlined && bytes > qp->capacity.inline_bytes)
        return EINVAL;
    return 0;
}

static int post(struct qp *qp, const struct send *work)
{
    struct cq *cq = qp->base.send_cq;
    const bool signalled = qp->signals_all || work->flags & SEND_SIGNALED;
    if (qp->base.state == STATE_ERROR) {
        if (cq->used == (uint32_t)cq->base.entries)
            return ENOMEM;
        expect(qp, work, 0, STATUS_FLUSHED, 0);
        verbs_cq_expects(cq, 0, true);
        return 0;
    }
    const int error = check(qp, work);
    if (error)
        return error;
    if (qp->outstanding >= qp->capacity.sends || cq->used == (uint32_t)cq->base.entries)
        return ENOMEM;
    const struct sge *sge = work->sges;
    const uint64_t arguments[] = {sge->lkey, sge->address, sge->bytes, qp->address.lid - 1u,
                                  work->rkey, work->remote_address,
                                  work->flags & SEND_INLINE ? 1 : 0, signalled};
    uint64_t words[6];
    const int code = verbs_call(RANK_VERBS_CALL_WRITE, 8, arguments, words);
    if (code == -EINVAL)
        return verbs_refuse(EINVAL, "ibv_post_send: only whole words of 8 bytes can be written to "
                                    "the memory of a program that has the request queue");
    if (code < 0)
        return -code;
    if (code > 0) { /* the queue pair is in error, and says why */
        qp->base.state = STATE_ERROR;
        expect(qp, work, 0, code, 0);
    } else if (signalled) {
        expect(qp, work, sge->bytes, 0, words[0]);
    }
    cq->in_vain = false;
    if (code > 0 || signalled)
        verbs_cq_expects(cq, qp->address.lid - 1u, code > 0);
    return 0;
}

int verbs_post_send(struct qp *qp, struct send *work, struct send **bad)
{
    for (; work; work = work->next) {
        const int error = post(qp, work);
        if (error) {
            *bad = work;
            return error;
        }
    }
    return 0;
}

int verbs_post_recv(struct qp *qp, void *work, void **bad)
{
    (void)qp;
    *bad = work;
    return verbs_refuse(EOPNOTSUPP, "ibv_post_recv: the card receives into memory that the sender "
                                    "names, and knows no receive queue");
}

/* --- completions --- */

static int take(struct cq *cq, int most, struct completion *completions)
{
    int taken = 0;
    while (taken < most && cq->used > 0 && cq->ring[cq->first].descriptors <= verbs_over) {
        const struct expected *expected = &cq->ring[cq->first];
        cq->first = (cq->first + 1) % (uint32_t)cq->base.entries;
        cq->used--;
        if (!expected->qp) /* it was destroyed meanwhile */
            continue;
        expected->qp->outstanding--;
        completions[taken++] = expected->completion;
    }
    return taken;
}

/* A second look in vain, without anything in between but looks, lets time run on: docs/decisions/0088. */
int verbs_poll_cq(struct cq *cq, int most, struct completion *completions)
{
    int taken = take(cq, most, completions);
    if (taken > 0) {
        cq->in_vain = false;
        return taken;
    }
    bool waits = cq->in_vain && cq->used > 0;
    if (verbs_begin() && waits) { /* a little time passes, and another thread has its turn */
        const uint64_t nowhere[] = {0};
        verbs_call(RANK_VERBS_CALL_LOOK, 1, nowhere, NULL);
        waits = false;
    }
    const uint64_t arguments[] = {waits, verbs_over};
    uint64_t words[6];
    const int code = verbs_call(RANK_VERBS_CALL_COMPLETED, 2, arguments, words);
    verbs_end();
    if (code < 0)
        return code;
    verbs_over = words[0];
    taken = take(cq, most, completions);
    cq->in_vain = taken == 0;
    return taken;
}
