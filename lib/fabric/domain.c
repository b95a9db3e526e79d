/* Fabrics, domains and queues of events about connections (of which there are none). */
#include "fabric.h"

#include <sched.h>
#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wunused-parameter"

static int plain_close(struct fid *fid)
{
    free(fid);
    return 0;
}

static struct fi_ops plain_fid_ops = {
    .size = sizeof plain_fid_ops,
    .close = plain_close,
    .bind = no_bind,
    .control = no_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

/* --- queues of events --- */

static ssize_t eq_read(struct fid_eq *eq, uint32_t *event, void *buffer, size_t bytes,
                       uint64_t flags)
{
    return -FI_EAGAIN;
}

static ssize_t eq_readerr(struct fid_eq *eq, struct fi_eq_err_entry *entry, uint64_t flags)
{
    return -FI_EAGAIN;
}

static ssize_t eq_write(struct fid_eq *eq, uint32_t event, const void *buffer, size_t bytes,
                        uint64_t flags)
{
    return refuse(-FI_ENOSYS, "fi_eq_write: programs cannot write to event queues");
}

static ssize_t eq_sread(struct fid_eq *eq, uint32_t *event, void *buffer, size_t bytes, int timeout,
                        uint64_t flags)
{
    if (timeout < 0)
        return refuse(-FI_ENOSYS, "fi_eq_sread: no event will ever come");
    const uint64_t begin = now();
    while ((now() - begin) / 1000 < (uint64_t)timeout)
        sched_yield();
    return -FI_EAGAIN;
}

static const char *eq_strerror(struct fid_eq *eq, int why, const void *data, char *buffer,
                               size_t bytes)
{
    if (buffer && bytes)
        *buffer = 0;
    return "event queues have no errors";
}

static struct fi_ops_eq eq_ops = {
    .size = sizeof eq_ops,
    .read = eq_read,
    .readerr = eq_readerr,
    .write = eq_write,
    .sread = eq_sread,
    .strerror = eq_strerror,
};

static int fabric_eq(struct fid_fabric *fabric, struct fi_eq_attr *attr, struct fid_eq **fid,
                     void *context)
{
    if (attr && attr->wait_obj != FI_WAIT_NONE && attr->wait_obj != FI_WAIT_UNSPEC &&
        attr->wait_obj != FI_WAIT_YIELD)
        return refuse(-FI_ENOSYS, "fi_eq_open: an event queue has no descriptor to wait for");
    struct fid_eq *eq = need(1, sizeof *eq);
    eq->fid = (struct fid){FI_CLASS_EQ, context, &plain_fid_ops};
    eq->ops = &eq_ops;
    *fid = eq;
    return 0;
}

/* --- domains --- */

static int domain_sep(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                      void *context)
{
    return refuse(-FI_ENOSYS, "fi_scalable_ep: there are no scalable endpoints");
}

static int domain_poll(struct fid_domain *domain, struct fi_poll_attr *attr, struct fid_poll **poll)
{
    return refuse(-FI_ENOSYS, "fi_poll_open: there are no poll sets; read the queues");
}

static int domain_stx(struct fid_domain *domain, struct fi_tx_attr *attr, struct fid_stx **stx,
                      void *context)
{
    return refuse(-FI_ENOSYS, "fi_stx_context: endpoints do not share transmit contexts");
}

static int domain_srx(struct fid_domain *domain, struct fi_rx_attr *attr, struct fid_ep **ep,
                      void *context)
{
    return refuse(-FI_ENOSYS, "fi_srx_context: endpoints do not share receive contexts");
}

static int domain_collective(struct fid_domain *domain, enum fi_collective_op op,
                             struct fi_collective_attr *attr, uint64_t flags)
{
    return refuse(-FI_ENOSYS, "fi_query_collective: there are no collective operations");
}

static int domain_endpoint2(struct fid_domain *domain, struct fi_info *info, struct fid_ep **ep,
                            uint64_t flags, void *context)
{
    if (flags)
        return refuse(-FI_EBADFLAGS, "fi_endpoint2: these flags are not known");
    return endpoint_open(domain, info, ep, context);
}

static struct fi_ops_domain domain_ops = {
    .size = sizeof domain_ops,
    .av_open = av_open,
    .cq_open = cq_open,
    .endpoint = endpoint_open,
    .scalable_ep = domain_sep,
    .cntr_open = cntr_open,
    .poll_open = domain_poll,
    .stx_ctx = domain_stx,
    .srx_ctx = domain_srx,
    .query_atomic = atomic_query,
    .query_collective = domain_collective,
    .endpoint2 = domain_endpoint2,
};

static int domain_close(struct fid *fid)
{
    struct domain *domain = (struct domain *)fid;
    lock();
    const bool busy = domain->users > 0;
    unlock();
    if (busy)
        return -FI_EBUSY;
    free(domain);
    return 0;
}

static int domain_bind(struct fid *fid, struct fid *other, uint64_t flags)
{
    if (other->fclass == FI_CLASS_EQ && !(flags & FI_REG_MR))
        return 0; /* nothing will be told there */
    return no_bind(fid, other, flags);
}

static struct fi_ops domain_fid_ops = {
    .size = sizeof domain_fid_ops,
    .close = domain_close,
    .bind = domain_bind,
    .control = no_control,
    .ops_open = no_open,
    .tostr = no_string,
    .ops_set = no_set,
};

static int fabric_domain(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **fid,
                         void *context)
{
    struct domain *domain = need(1, sizeof *domain);
    domain->fid.fid = (struct fid){FI_CLASS_DOMAIN, context, &domain_fid_ops};
    domain->fid.ops = &domain_ops;
    domain->fid.mr = &mr_ops;
    domain->tells = info && info->caps & FI_RMA_EVENT;
    *fid = &domain->fid;
    return 0;
}

static int fabric_domain2(struct fid_fabric *fabric, struct fi_info *info, struct fid_domain **fid,
                          uint64_t flags, void *context)
{
    if (flags)
        return refuse(-FI_EBADFLAGS, "fi_domain2: these flags are not known");
    return fabric_domain(fabric, info, fid, context);
}

/* --- the fabric --- */

static int fabric_pep(struct fid_fabric *fabric, struct fi_info *info, struct fid_pep **pep,
                      void *context)
{
    return refuse(-FI_ENOSYS, "fi_passive_ep: endpoints are not connected (FI_EP_RDM)");
}

static int fabric_wait(struct fid_fabric *fabric, struct fi_wait_attr *attr, struct fid_wait **wait)
{
    return refuse(-FI_ENOSYS, "fi_wait_open: there are no wait sets; fi_cq_sread waits");
}

static int fabric_trywait(struct fid_fabric *fabric, struct fid **fids, int count)
{
    return refuse(-FI_ENOSYS, "fi_trywait: queues have no descriptors to wait for");
}

static struct fi_ops_fabric fabric_ops = {
    .size = sizeof fabric_ops,
    .domain = fabric_domain,
    .passive_ep = fabric_pep,
    .eq_open = fabric_eq,
    .wait_open = fabric_wait,
    .trywait = fabric_trywait,
    .domain2 = fabric_domain2,
};

int fabric_open(struct fi_fabric_attr *attr, struct fid_fabric **fid, void *context)
{
    struct fid_fabric *fabric = need(1, sizeof *fabric);
    fabric->fid = (struct fid){FI_CLASS_FABRIC, context, &plain_fid_ops};
    fabric->ops = &fabric_ops;
    fabric->api_version = library_version();
    *fid = fabric;
    return 0;
}
