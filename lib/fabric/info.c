/* What the provider offers, and whether that is what a program wants. */
#define _GNU_SOURCE
#include "fabric.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TX_CAPS (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE)
#define RX_CAPS                                                                                    \
    (FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE |        \
     FI_MULTI_RECV | FI_DIRECTED_RECV | FI_SOURCE)
#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM)
#define CAPS (TX_CAPS | RX_CAPS | DOMAIN_CAPS | FI_RMA_EVENT)
/* Those that cost something, and are had only if they are asked for. */
#define EXTRA FI_RMA_EVENT
#define TX_FLAGS_KNOWN                                                                             \
    (FI_INJECT | FI_COMPLETION | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE)
#define RX_FLAGS_KNOWN (FI_COMPLETION | FI_MULTI_RECV)
/* Atomic operations of up to 8 bytes are performed in the order of their requests. */
#define ORDER_BYTES 8
#define ORDER                                                                                      \
    (FI_ORDER_SAS | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |              \
     FI_ORDER_ATOMIC_WAW)
#define VERSION FI_VERSION(1, 0)

/* Programs try many hints. Whoever wants to know why none of theirs does sets
 * FI_SUNSTAR_EXPLAIN. */
static bool fit(bool does, const char *why)
{
    if (!does && getenv("FI_SUNSTAR_EXPLAIN"))
        fprintf(stderr, "sunstar: fi_getinfo: %s\n", why);
    return does;
}

static bool domain_fits(const struct fi_domain_attr *hints)
{
    if (!hints)
        return true;
    /* FI_MR_BASIC stands alone; FI_MR_SCALABLE and today's bits do not ask for anything. */
    return fit(hints->mr_mode != FI_MR_BASIC, "memory is not registered by FI_MR_BASIC") &&
           fit(hints->control_progress != FI_PROGRESS_AUTO &&
                   hints->data_progress != FI_PROGRESS_AUTO,
               "progress is made by calls alone (FI_PROGRESS_MANUAL)") &&
           fit(hints->cq_data_size <= sizeof(uint32_t), "data words have 4 bytes") &&
           fit(hints->mr_key_size <= KEY_BYTES, "keys have 7 bytes") &&
           fit((hints->caps & ~DOMAIN_CAPS) == 0, "the domain has not these capabilities") &&
           fit(!hints->name || strcmp(hints->name, "sunstar0") == 0, "the domain is sunstar0");
}

static bool tx_fits(const struct fi_tx_attr *hints)
{
    return !hints ||
           (fit((hints->caps & ~(CAPS)) == 0, "sending has not these capabilities") &&
            fit((hints->op_flags & ~TX_FLAGS_KNOWN) == 0, "sending has not these flags") &&
            fit((hints->msg_order & ~(ORDER)) == 0, "sends and atomic operations have an order") &&
            fit(hints->comp_order == 0, "completions have no order") &&
            fit(hints->inject_size <= INJECT_MAX, "4096 bytes are injected at most") &&
            fit(hints->iov_limit <= 1 && hints->rma_iov_limit <= 1, "memory is one stretch") &&
            fit(hints->size <= TX_SIZE, "512 operations are under way at most"));
}

static bool rx_fits(const struct fi_rx_attr *hints)
{
    return !hints ||
           (fit((hints->caps & ~(CAPS)) == 0, "receiving has not these capabilities") &&
            fit((hints->op_flags & ~RX_FLAGS_KNOWN) == 0, "receiving has not these flags") &&
            fit((hints->msg_order & ~(ORDER)) == 0, "sends and atomic operations have an order") &&
            fit(hints->comp_order == 0, "completions have no order") &&
            fit(hints->iov_limit <= 1, "memory is one stretch"));
}

static bool ep_fits(const struct fi_ep_attr *hints)
{
    return !hints ||
           (fit(hints->type == FI_EP_UNSPEC || hints->type == FI_EP_RDM,
                "endpoints are of type FI_EP_RDM") &&
            fit(hints->max_msg_size <= MESSAGE_MAX, "messages have less than 4 GiB") &&
            fit(hints->tx_ctx_cnt <= 1 && hints->rx_ctx_cnt <= 1,
                "endpoints have one context in each direction") &&
            fit((hints->mem_tag_format & SLOT_BITS) == 0, "tags have 60 bits"));
}

static bool fits(const struct fi_info *hints)
{
    if (!hints)
        return true;
    const char *name = hints->fabric_attr ? hints->fabric_attr->name : NULL;
    return fit(!name || strcmp(name, "sunstar") == 0, "the fabric is sunstar") &&
           fit((hints->caps & ~(uint64_t)(CAPS)) == 0, "it has not all of these capabilities") &&
           fit(hints->addr_format == FI_FORMAT_UNSPEC, "addresses have a format of their own") &&
           domain_fits(hints->domain_attr) && tx_fits(hints->tx_attr) && rx_fits(hints->rx_attr) &&
           ep_fits(hints->ep_attr);
}

static void describe_domain(struct fi_domain_attr *domain, const struct fi_domain_attr *hints)
{
    domain->name = strdup("sunstar0");
    /* It holds for whoever promises more; some programs want their own promise back. */
    domain->threading = hints && hints->threading ? hints->threading : FI_THREAD_SAFE;
    domain->control_progress = FI_PROGRESS_MANUAL;
    domain->data_progress = FI_PROGRESS_MANUAL;
    domain->resource_mgmt = FI_RM_ENABLED;
    domain->av_type = hints && hints->av_type ? hints->av_type : FI_AV_TABLE;
    /* Nothing is needed: keys are the program's, and offsets count from the region's beginning. */
    domain->mr_mode = hints && hints->mr_mode == FI_MR_SCALABLE ? FI_MR_SCALABLE : 0;
    domain->mr_key_size = KEY_BYTES;
    domain->cq_data_size = sizeof(uint32_t);
    domain->cq_cnt = 64;
    domain->ep_cnt = SLOTS;
    domain->tx_ctx_cnt = domain->rx_ctx_cnt = SLOTS;
    domain->max_ep_tx_ctx = domain->max_ep_rx_ctx = 1;
    domain->cntr_cnt = 64;
    domain->mr_iov_limit = 1;
    domain->caps = DOMAIN_CAPS;
    domain->mr_cnt = 1024;
}

static void describe_ep(struct fi_ep_attr *ep)
{
    ep->type = FI_EP_RDM;
    ep->protocol = FI_PROV_SPECIFIC | 0x5357;
    ep->protocol_version = 1;
    ep->max_msg_size = MESSAGE_MAX;
    ep->mem_tag_format = TAG_FORMAT;
    ep->max_order_raw_size = ep->max_order_war_size = ep->max_order_waw_size = ORDER_BYTES;
    ep->tx_ctx_cnt = ep->rx_ctx_cnt = 1;
}

static struct fi_info *describe(const struct fi_info *hints)
{
    struct fi_info *info = info_new();
    if (!info)
        return NULL;
    info->caps = hints && hints->caps ? hints->caps | DOMAIN_CAPS : CAPS & ~(uint64_t)EXTRA;
    /* FI_MSG alone means both directions, and so on. */
    if (!(info->caps & (FI_SEND | FI_RECV)) && info->caps & (FI_MSG | FI_TAGGED))
        info->caps |= FI_SEND | FI_RECV;
    const uint64_t memory = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    if (!(info->caps & memory) && info->caps & (FI_RMA | FI_ATOMIC))
        info->caps |= memory;
    info->addr_format = FI_FORMAT_UNSPEC;
    struct fi_tx_attr *tx = info->tx_attr;
    tx->caps = info->caps & TX_CAPS;
    tx->op_flags = hints && hints->tx_attr ? hints->tx_attr->op_flags : 0;
    tx->msg_order = ORDER;
    const bool more = hints && hints->tx_attr && hints->tx_attr->inject_size > INJECT_GOOD;
    tx->inject_size = more ? hints->tx_attr->inject_size : INJECT_GOOD;
    tx->size = TX_SIZE;
    tx->iov_limit = tx->rma_iov_limit = 1;
    struct fi_rx_attr *rx = info->rx_attr;
    rx->caps = info->caps & RX_CAPS;
    rx->op_flags = hints && hints->rx_attr ? hints->rx_attr->op_flags : 0;
    rx->msg_order = ORDER;
    rx->size = RX_SIZE;
    rx->iov_limit = 1;
    describe_ep(info->ep_attr);
    describe_domain(info->domain_attr, hints ? hints->domain_attr : NULL);
    info->fabric_attr->name = strdup("sunstar");
    info->fabric_attr->prov_version = VERSION;
    return info;
}

int getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
            const struct fi_info *hints, struct fi_info **info)
{
    (void)version, (void)node, (void)service, (void)flags;
    if (!fits(hints))
        return -FI_ENODATA;
    *info = describe(hints);
    return *info ? 0 : -FI_ENOMEM;
}
