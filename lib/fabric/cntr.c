/* Counters. */
#define _GNU_SOURCE
#include "fabric.h"

#include <sched.h>
#include <stdlib.h>
#include <sys/single_threaded.h>

#define CNTR(fid) ((struct cntr *)(fid))

void cntr_count(struct cntr *cntr, bool failed)
{
    if (cntr && failed)
        cntr->errors++;
    else if (cntr)
        cntr->value++;
}

static uint64_t look(struct cntr *cntr, const uint64_t *number)
{
    lock();
    progress();
    const uint64_t value = *number, told = cntr->value + cntr->errors;
    if (cntr->told == told)
        call_in_vain();
    cntr->told = told;
    unlock();
    return value;
}

static uint64_t cntr_read(struct fid_cntr *fid)
{
    CALL(CNTR_READ);
    return look(CNTR(fid), &CNTR(fid)->value);
}

static uint64_t cntr_readerr(struct fid_cntr *fid)
{
    CALL(CNTR_READERR);
    return look(CNTR(fid), &CNTR(fid)->errors);
}

static int change(uint64_t *number, uint64_t value, bool add)
{
    lock();
    *number = add ? *number + value : value;
    unlock();
    return 0;
}

static int cntr_add(struct fid_cntr *fid, uint64_t value)
{
    CALL(CNTR_ADD);
    return change(&CNTR(fid)->value, value, true);
}

static int cntr_set(struct fid_cntr *fid, uint64_t value)
{
    CALL(CNTR_SET);
    return change(&CNTR(fid)->value, value, false);
}

static int cntr_adderr(struct fid_cntr *fid, uint64_t value)
{
    CALL(CNTR_ADDERR);
    return change(&CNTR(fid)->errors, value, true);
}

static int cntr_seterr(struct fid_cntr *fid, uint64_t value)
{
    CALL(CNTR_SETERR);
    return change(&CNTR(fid)->errors, value, false);
}

static int cntr_wait(struct fid_cntr *fid, uint64_t threshold, int timeout)
{
    CALL(CNTR_WAIT);
    struct cntr *cntr = CNTR(fid);
    const uint64_t begin = now();
    lock();
    const uint64_t errors = cntr->errors;
    for (;;) {
        progress();
        const uint64_t spent = (now() - begin) / 1000;
        int result = -FI_EAGAIN;
        if (cntr->value >= threshold)
            result = 0;
        else if (cntr->errors != errors)
            result = -FI_EAVAIL;
        else if (timeout >= 0 && spent >= (uint64_t)timeout)
            result = -FI_ETIMEDOUT;
        if (result != -FI_EAGAIN) {
            unlock();
            return result;
        }
        if (__libc_single_threaded && atomics_open == 0) {
            progress_wait(timeout < 0 ? PTL_TIME_FOREVER : (ptl_time_t)(timeout - (int)spent));
        } else {
            unlock();
            sched_yield();
            lock();
        }
    }
}

static struct fi_ops_cntr cntr_ops = {
    .size = sizeof cntr_ops,
    .read = cntr_read,
    .readerr = cntr_readerr,
    .add = cntr_add,
    .set = cntr_set,
    .wait = cntr_wait,
    .adderr = cntr_adderr,
    .seterr = cntr_seterr,
};

static int cntr_close(struct fid *fid)
{
    struct cntr *cntr = CNTR(fid);
    lock();
    const bool busy = cntr->users > 0;
    if (!busy) {
        cntr->domain->users--;
        free(cntr);
    }
    unlock();
    return busy ? -FI_EBUSY : 0;
}

static struct fi_ops cntr_fid_ops = {
    .size = sizeof cntr_fid_ops,
    .close = cntr_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

int cntr_open(struct fid_domain *domain, struct fi_cntr_attr *attr, struct fid_cntr **fid,
              void *context)
{
    if (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
        attr->wait_obj != FI_WAIT_YIELD)
        return refuse(-FI_ENOSYS, "fi_cntr_open: a counter has no descriptor or condition to wait "
                                  "for; FI_WAIT_UNSPEC and fi_cntr_wait wait");
    struct cntr *cntr = need(1, sizeof *cntr);
    cntr->fid.fid = (struct fid){FI_CLASS_CNTR, context, &cntr_fid_ops};
    cntr->fid.ops = &cntr_ops;
    cntr->domain = (struct domain *)domain;
    lock();
    cntr->domain->users++;
    unlock();
    *fid = &cntr->fid;
    return 0;
}
