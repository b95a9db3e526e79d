/* Completion queues. */
#define _GNU_SOURCE
#include "fabric.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/single_threaded.h>

#define CQ(fid) ((struct cq *)(fid))

static const char *const reasons[] = {
    [WHY_NOTHING] = "nothing went wrong",
    [WHY_TRUNCATED] = "the message is longer than the receive's buffer",
    [WHY_CANCELLED] = "the operation was cancelled",
    [WHY_NO_MESSAGE] = "no message matches the peek",
    [WHY_REFUSED] = "the peer has no memory with this key, at this place, for this access",
    [WHY_LOST] = "the message came unexpectedly, and there was no memory left to keep it",
    [WHY_DAMAGED] = "the data did not survive the way, or the memory is gone",
    [WHY_WITHDRAWN] = "the sender has closed its endpoint before the message was fetched",
    [WHY_MEMORY] = "the buffer is not the process's own memory",
};

bool cq_full(const struct cq *cq)
{
    return cq->used >= cq->size;
}

void cq_add(struct cq *cq, const struct completion *completion)
{
    if (cq->used == cq->room) {
        struct completion *ring = need(cq->room * 2, sizeof *ring);
        for (size_t i = 0; i < cq->used; i++)
            ring[i] = cq->ring[(cq->first + i) & (cq->room - 1)];
        free(cq->ring);
        cq->ring = ring;
        cq->first = 0;
        cq->room *= 2;
    }
    cq->ring[(cq->first + cq->used++) & (cq->room - 1)] = *completion;
}

static size_t entry_bytes(enum fi_cq_format format)
{
    switch (format) {
    case FI_CQ_FORMAT_MSG:
        return sizeof(struct fi_cq_msg_entry);
    case FI_CQ_FORMAT_DATA:
        return sizeof(struct fi_cq_data_entry);
    case FI_CQ_FORMAT_TAGGED:
        return sizeof(struct fi_cq_tagged_entry);
    default:
        return sizeof(struct fi_cq_entry);
    }
}

/* What is there. The smaller entries are beginnings of the largest one. */
static ssize_t take(struct cq *cq, void *buffer, size_t count, fi_addr_t *sources)
{
    const size_t bytes = entry_bytes(cq->format);
    size_t taken = 0;
    while (taken < count && cq->used > 0) {
        const struct completion *next = &cq->ring[cq->first];
        if (next->err)
            break;
        memcpy((char *)buffer + taken * bytes, &next->entry, bytes);
        if (sources)
            sources[taken] = next->source;
        interface_served();
        taken++;
        cq->first = (cq->first + 1) & (cq->room - 1);
        cq->used--;
    }
    call_completes(taken);
    if (taken > 0)
        return (ssize_t)taken;
    if (count > 0 && cq->used > 0)
        return -FI_EAVAIL;
    call_in_vain();
    return -FI_EAGAIN;
}

static ssize_t cq_readfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources)
{
    CALL(CQ_READFROM);
    lock();
    if (CQ(fid)->used == 0 || count == 0) /* programs read nothing for progress alone */
        progress();
    const ssize_t taken = take(CQ(fid), buffer, count, sources);
    unlock();
    return taken;
}

static ssize_t cq_read(struct fid_cq *fid, void *buffer, size_t count)
{
    CALL(CQ_READ);
    return cq_readfrom(fid, buffer, count, NULL);
}

static ssize_t cq_readerr(struct fid_cq *fid, struct fi_cq_err_entry *entry, uint64_t flags)
{
    CALL(CQ_READERR);
    struct cq *cq = CQ(fid);
    (void)flags;
    lock();
    ssize_t taken = -FI_EAGAIN;
    if (cq->used > 0 && cq->ring[cq->first].err) {
        const struct completion *next = &cq->ring[cq->first];
        entry->op_context = next->entry.op_context;
        entry->flags = next->entry.flags;
        entry->len = next->entry.len;
        entry->buf = next->entry.buf;
        entry->data = next->entry.data;
        entry->tag = next->entry.tag;
        entry->olen = next->olen;
        entry->err = next->err;
        entry->prov_errno = next->why;
        /* Programs before 1.5 have no size, and others give room of theirs: there is nothing
         * more to tell. */
        if (!entry->err_data_size)
            entry->err_data = NULL;
        else
            entry->err_data_size = 0;
        cq->first = (cq->first + 1) & (cq->room - 1);
        cq->used--;
        taken = 1;
        call_completes(1);
    }
    unlock();
    return taken;
}

/* Other threads may have to call before anything comes: so waits of one of several are short. */
static ssize_t cq_sreadfrom(struct fid_cq *fid, void *buffer, size_t count, fi_addr_t *sources,
                            const void *condition, int timeout)
{
    CALL(CQ_SREADFROM);
    struct cq *cq = CQ(fid);
    const uint64_t begin = now();
    (void)condition;
    for (;;) {
        lock();
        progress();
        ssize_t taken = take(cq, buffer, count, sources);
        const uint64_t spent = (now() - begin) / 1000;
        const bool over = timeout >= 0 && spent >= (uint64_t)timeout;
        if (taken != -FI_EAGAIN || over || cq->signalled) {
            cq->signalled = false;
            unlock();
            return taken;
        }
        if (__libc_single_threaded && atomics_open == 0)
            progress_wait(timeout < 0 ? PTL_TIME_FOREVER : (ptl_time_t)(timeout - (int)spent));
        unlock();
        if (!__libc_single_threaded)
            sched_yield();
    }
}

static ssize_t cq_sread(struct fid_cq *fid, void *buffer, size_t count, const void *condition,
                        int timeout)
{
    CALL(CQ_SREAD);
    return cq_sreadfrom(fid, buffer, count, NULL, condition, timeout);
}

static int cq_signal(struct fid_cq *fid)
{
    CALL(CQ_SIGNAL);
    lock();
    CQ(fid)->signalled = true;
    unlock();
    return 0;
}

static const char *cq_strerror(struct fid_cq *fid, int why, const void *data, char *buffer,
                               size_t bytes)
{
    (void)fid, (void)data;
    const bool known = why >= 0 && (size_t)why < sizeof reasons / sizeof *reasons;
    const char *reason = known ? reasons[why] : "an error that is not this provider's";
    if (buffer && bytes)
        snprintf(buffer, bytes, "%s", reason);
    return reason;
}

static struct fi_ops_cq cq_ops = {
    .size = sizeof cq_ops,
    .read = cq_read,
    .readfrom = cq_readfrom,
    .readerr = cq_readerr,
    .sread = cq_sread,
    .sreadfrom = cq_sreadfrom,
    .signal = cq_signal,
    .strerror = cq_strerror,
};

static int cq_close(struct fid *fid)
{
    struct cq *cq = CQ(fid);
    lock();
    const bool busy = cq->users > 0;
    if (!busy) {
        cq->domain->users--;
        free(cq->ring);
        free(cq);
    }
    unlock();
    return busy ? -FI_EBUSY : 0;
}

static struct fi_ops cq_fid_ops = {
    .size = sizeof cq_fid_ops,
    .close = cq_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

int cq_open(struct fid_domain *domain, struct fi_cq_attr *attr, struct fid_cq **fid, void *context)
{
    if (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
        attr->wait_obj != FI_WAIT_YIELD)
        return refuse(-FI_ENOSYS, "fi_cq_open: a completion queue has no descriptor or condition "
                                  "to wait for; FI_WAIT_UNSPEC and fi_cq_sread wait");
    if (attr && attr->format > FI_CQ_FORMAT_TAGGED)
        return refuse(-FI_EINVAL, "fi_cq_open: format %d is not known", (int)attr->format);
    struct cq *cq = need(1, sizeof *cq);
    cq->fid.fid = (struct fid){FI_CLASS_CQ, context, &cq_fid_ops};
    cq->fid.ops = &cq_ops;
    cq->domain = (struct domain *)domain;
    cq->format = attr && attr->format ? attr->format : FI_CQ_FORMAT_CONTEXT;
    cq->size = attr && attr->size ? attr->size : CQ_SIZE;
    cq->room = 64;
    cq->ring = need(cq->room, sizeof *cq->ring);
    lock();
    cq->domain->users++;
    unlock();
    *fid = &cq->fid;
    return 0;
}
