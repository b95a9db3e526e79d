/* Memory that a program has registered and given back, and pages that are used up. Two ranks; keys
 * follow from their order, and both have their buffers at the same addresses. */
#include "connect.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096u

enum { OPEN = 1, GONE }; /* the keys */

static _Alignas(4096) unsigned char buffer[PAGE];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp;

/* A page at an address of its own, the same on both sides. */
static unsigned char *page_at(uintptr_t at)
{
    void *page = mmap((void *)at, PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (page != (void *)at)
        exit(2);
    memset(page, 5, PAGE);
    return page;
}

static void begin(unsigned to)
{
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1,
                                              .max_recv_sge = 1, .max_inline_data = 64}};
    qp = ibv_create_qp(pd, &wanted);
    if (connect_to(qp, to))
        exit(3);
}

static int post(unsigned char *from, uint32_t lkey, uint32_t rkey, uintptr_t to, unsigned flags)
{
    struct ibv_sge piece = {(uintptr_t)from, 64, lkey};
    struct ibv_send_wr work = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                               .send_flags = IBV_SEND_SIGNALED | flags, .wr.rdma = {to, rkey}};
    struct ibv_send_wr *bad = NULL;
    return ibv_post_send(qp, &work, &bad);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    int devices;
    struct ibv_device **list = ibv_get_device_list(&devices);
    if (devices != 1)
        return 2;
    context = ibv_open_device(list[0]);
    ibv_free_device_list(list);
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_port_attr port;
    ibv_query_port(context, 1, &port);
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mr *open = ibv_reg_mr(pd, buffer, PAGE, access);
    unsigned char *page = page_at(0x10000000);
    struct ibv_mr *gone = ibv_reg_mr(pd, page, PAGE, access);
    if (!open || open->rkey != OPEN || !gone || gone->rkey != GONE)
        return 2;
    const int is_sender = port.lid == 1;
    if (strcmp(what, is_sender ? "source" : "target") == 0)
        munmap(page, PAGE);
    if (!is_sender) {
        usleep(4000);
        return 0;
    }
    usleep(2000);
    begin(2);
    if (strcmp(what, "pages") == 0) {
        void *much = mmap(NULL, 32u << 20, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (!ibv_reg_mr(pd, much, (32u << 20) - 6 * PAGE, IBV_ACCESS_LOCAL_WRITE))
            return 4;
        const int error = post(buffer, 0, OPEN, (uintptr_t)buffer, IBV_SEND_INLINE);
        printf("inline: %s\n", strerror(error));
        return 0;
    }
    const int error = post(page, gone->lkey, GONE, (uintptr_t)page, 0);
    struct ibv_wc wc;
    while (!error && ibv_poll_cq(cq, 1, &wc) == 0)
        ;
    printf("written: %s\n", error ? strerror(error) : ibv_wc_status_str(wc.status));
    return 0;
}
