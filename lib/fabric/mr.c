/* Memory that others may read, write and change. Each region has two match entries: one for what
 * nobody is told of, and one for writes with a data word. Behind all of them stands one that
 * takes nothing, so that whoever uses a wrong key is answered. */
#include "fabric.h"

#include <stdlib.h>

struct region {
    struct fid_mr fid;
    struct handler handler;
    struct domain *domain;
    struct cntr *writes, *reads;
    ptl_handle_me_t plain, told;
};

#define REGION(at) ((struct region *)((char *)(at) - offsetof(struct region, handler)))

static const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
static ptl_handle_me_t nowhere_me;
static uint64_t next_key = 1;

int regions_open(void)
{
    ptl_handle_md_t md;
    ptl_md_t nowhere = descriptor(NULL, 0, PTL_MD_THRESH_INF,
                                  PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_TRUNCATE, NULL);
    int code = PtlMEAttach(interface_ni, PORTAL_REGIONS, anybody, 0, ~UINT64_C(0), PTL_RETAIN,
                           PTL_INS_AFTER, &nowhere_me);
    if (code == PTL_OK)
        code = PtlMDAttach(nowhere_me, nowhere, PTL_RETAIN, &md);
    return fabric_error(code, "PtlMEAttach");
}

void regions_close(void)
{
    while (PtlMEUnlink(nowhere_me) == PTL_ME_IN_USE)
        progress();
}

/* Somebody has used the region, and its owner is to know. */
static void accessed(struct handler *handler, const ptl_event_t *event)
{
    struct region *region = REGION(handler);
    const bool failed = event->ni_fail_type != PTL_NI_OK;
    if (event->type == PTL_EVENT_GET_END) {
        cntr_count(region->reads, failed);
        return;
    }
    if (event->type != PTL_EVENT_PUT_END) {
        cntr_count(region->writes, failed);
        return;
    }
    cntr_count(region->writes, failed);
    struct endpoint *ep = interface_slots[event->hdr_data >> HEAD_TO_SHIFT & (SLOTS - 1)];
    if (!ep)
        return;
    cntr_count(ep->remote_writes, failed);
    if (!(event->hdr_data & HEAD_DATA) || !ep->rx)
        return;
    const struct completion completion = {
        .entry = {.flags = FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA,
                  .len = event->mlength,
                  .data = (uint32_t)event->hdr_data},
        .source = av_find(ep->av, event->initiator,
                          event->hdr_data >> HEAD_FROM_SHIFT & (SLOTS - 1)),
        .err = failed ? FI_EIO : 0,
        .why = failed ? WHY_DAMAGED : WHY_NOTHING,
    };
    cq_add(ep->rx, &completion);
}

static int mr_close(struct fid *fid)
{
    CALL(CLOSE);
    struct region *region = (struct region *)fid;
    lock();
    while (PtlMEUnlink(region->plain) == PTL_ME_IN_USE)
        progress();
    while (PtlMEUnlink(region->told) == PTL_ME_IN_USE)
        progress();
    progress(); /* events that name it */
    if (region->writes)
        region->writes->users--;
    if (region->reads)
        region->reads->users--;
    region->domain->users--;
    interface_close();
    free(region);
    unlock();
    return 0;
}

static int mr_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    struct region *region = (struct region *)fid;
    if (other->fclass == FI_CLASS_EP)
        return 0;
    if (other->fclass != FI_CLASS_CNTR || flags & ~(FI_REMOTE_WRITE | FI_REMOTE_READ))
        return refuse(-FI_ENOSYS, "fi_mr_bind: a region has counters of remote reads and writes, "
                                  "and nothing else");
    if (!region->domain->tells)
        return refuse(-FI_EINVAL, "fi_mr_bind: counters of a region need FI_RMA_EVENT in the "
                                  "hints of fi_getinfo");
    struct cntr *cntr = (struct cntr *)other;
    lock();
    if (flags & FI_REMOTE_WRITE)
        region->writes = cntr, cntr->users++;
    if (flags & FI_REMOTE_READ)
        region->reads = cntr, cntr->users++;
    unlock();
    return 0;
}

static int mr_control(struct fid *fid, int command, void *argument)
{
    if (command == FI_ENABLE)
        return 0;
    return no_control(fid, command, argument);
}

static struct fi_ops mr_fid_ops = {
    .size = sizeof mr_fid_ops,
    .close = mr_close,
    .bind = mr_bind,
    .control = mr_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

static int attach(struct region *region, uint64_t bits, ptl_md_t md, ptl_handle_me_t *me)
{
    ptl_handle_md_t handle;
    int code = PtlMEAttach(interface_ni, PORTAL_REGIONS, anybody, bits, 0, PTL_RETAIN,
                           PTL_INS_BEFORE, me);
    if (code != PTL_OK)
        return fabric_error(code, "PtlMEAttach");
    code = PtlMDAttach(*me, md, PTL_RETAIN, &handle);
    if (code == PTL_OK)
        return 0;
    PtlMEUnlink(*me);
    (void)region;
    return fabric_error(code, "PtlMDAttach");
}

static int reg(struct domain *domain, void *buffer, size_t length, uint64_t access, uint64_t key,
               struct fid_mr **fid, void *context)
{
    if (key == FI_KEY_NOTAVAIL)
        key = next_key++;
    if (key >= KEY_MAX)
        return refuse(-FI_EINVAL, "fi_mr_reg: a key has more than the %d bytes of mr_key_size",
                      KEY_BYTES);
    struct region *region = need(1, sizeof *region);
    region->handler.event = accessed;
    region->domain = domain;
    unsigned options = PTL_MD_MANAGE_REMOTE;
    if (access & FI_REMOTE_WRITE)
        options |= PTL_MD_OP_PUT;
    if (access & FI_REMOTE_READ)
        options |= PTL_MD_OP_GET;
    ptl_md_t md = descriptor(buffer, length, PTL_MD_THRESH_INF, options, &region->handler);
    if (!domain->tells)
        md.eq_handle = PTL_EQ_NONE;
    int error = attach(region, key, md, &region->plain);
    if (!error) {
        md.eq_handle = interface_eq;
        error = attach(region, key | KEY_TOLD, md, &region->told);
        if (error)
            PtlMEUnlink(region->plain);
    }
    if (error) {
        free(region);
        return error == -FI_EAGAIN ? -FI_ENOSPC : error;
    }
    region->fid.fid = (struct fid){FI_CLASS_MR, context, &mr_fid_ops};
    region->fid.mem_desc = region;
    region->fid.key = key;
    domain->users++;
    *fid = &region->fid;
    return 0;
}

static int mr_reg(struct fid *fid, const void *buffer, size_t length, uint64_t access,
                  uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    CALL(MR_REG);
    (void)offset, (void)flags;
    lock();
    int error = interface_open();
    if (!error) {
        error = reg((struct domain *)fid, (void *)buffer, length, access, key, mr, context);
        if (error)
            interface_close();
    }
    unlock();
    return error;
}

static int mr_regv(struct fid *fid, const struct iovec *list, size_t count, uint64_t access,
                   uint64_t offset, uint64_t key, uint64_t flags, struct fid_mr **mr, void *context)
{
    CALL(MR_REGV);
    if (count != 1)
        return refuse(-FI_EINVAL, "fi_mr_regv: a region is one stretch of memory (mr_iov_limit)");
    return mr_reg(fid, list->iov_base, list->iov_len, access, offset, key, flags, mr, context);
}

static int mr_regattr(struct fid *fid, const struct fi_mr_attr *attr, uint64_t flags,
                      struct fid_mr **mr)
{
    CALL(MR_REGATTR);
    return mr_regv(fid, attr->mr_iov, attr->iov_count, attr->access, attr->offset,
                   attr->requested_key, flags, mr, attr->context);
}

struct fi_ops_mr mr_ops = {
    .size = sizeof mr_ops,
    .reg = mr_reg,
    .regv = mr_regv,
    .regattr = mr_regattr,
};
