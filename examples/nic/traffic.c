/* Both ranks register a buffer at the same address as their first region, so that its key is 1 on either
 * side and nothing need be exchanged. */
#define _GNU_SOURCE
#include "traffic.h"

#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define ADDRESS ((void *)0x600000000000)
#define SIZE (64u << 10)
#define KEY 1

static void sleep_us(long us)
{
    nanosleep(&(struct timespec){.tv_nsec = us * 1000}, NULL);
}

static struct ibv_qp *connected(struct ibv_pd *pd, struct ibv_cq *cq, unsigned lid)
{
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {.max_send_wr = 64, .max_send_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &wanted);
    struct ibv_qp_attr facts = {.qp_state = IBV_QPS_INIT, .port_num = 1};
    int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
    if (!qp || ibv_modify_qp(qp, &facts, mask))
        return NULL;
    facts = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096,
                                 .dest_qp_num = 1,
                                 .ah_attr = {.dlid = (uint16_t)lid, .port_num = 1}};
    mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
    if (ibv_modify_qp(qp, &facts, mask))
        return NULL;
    facts = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS};
    return ibv_modify_qp(qp, &facts, IBV_QP_STATE | IBV_QP_SQ_PSN) ? NULL : qp;
}

int traffic(unsigned count, unsigned bytes)
{
    int devices;
    struct ibv_device **list = ibv_get_device_list(&devices);
    if (!list || devices == 0)
        return 0;
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_port_attr port;
    uint64_t *words = mmap(ADDRESS, SIZE, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (!context || words == MAP_FAILED || ibv_query_port(context, 1, &port))
        return 0;
    const int sends = port.lid == 1; /* a LID is the rank's number and 1 */
    for (unsigned i = 0; i < SIZE / 8; i++)
        words[i] = sends ? (uint64_t)i << 32 | (i + 1) : 0;
    struct ibv_pd *pd = ibv_alloc_pd(context);
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    struct ibv_mr *mr = ibv_reg_mr(pd, words, SIZE, access);
    struct ibv_cq *cq = ibv_create_cq(context, 64, NULL, NULL, 0);
    struct ibv_qp *qp = mr && cq ? connected(pd, cq, 3u - port.lid) : NULL;
    if (!qp || mr->rkey != KEY) {
        fputs("nothing can be sent: the buffer cannot be registered\n", stderr);
        return 0;
    }
    sleep_us(100); /* the other rank registers its own */
    for (unsigned i = 0; sends && i < count; i++) {
        struct ibv_sge piece = {.addr = (uintptr_t)words, .length = bytes, .lkey = mr->lkey};
        struct ibv_send_wr work = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                                   .send_flags = IBV_SEND_SIGNALED,
                                   .wr.rdma = {.remote_addr = (uintptr_t)ADDRESS, .rkey = KEY}};
        struct ibv_send_wr *bad;
        struct ibv_wc done;
        if (ibv_post_send(qp, &work, &bad))
            return 0;
        while (ibv_poll_cq(cq, 1, &done) == 0)
            ;
    }
    sleep_us(sends ? 100 : 200 + (long)count * (20 + bytes / 256));
    return 1;
}
