/* Writes to a region of many pages, most of which stay closed: large [WRITES [BYTES [change]]]. Each has a
 * page of its own, two pages apart; the receiver sleeps while they arrive, and then spins on the last one.
 * With change the sender breaks a rule: it changes a source before the write is complete. Two ranks; keys
 * and addresses are the same on both. */
#include "connect.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define KEY 1
#define PAGE 4096
#define PAGES 1024
static _Alignas(PAGE) unsigned char memory[PAGES * PAGE];

static struct ibv_cq *cq;
static struct ibv_qp *qp;

static void write_one(uint64_t at, uint32_t bytes, int changes)
{
    struct ibv_sge piece = {(uintptr_t)memory + at, bytes, KEY};
    struct ibv_send_wr *bad, work = {.sg_list = &piece, .num_sge = 1,
                                     .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
                                     .wr.rdma = {(uintptr_t)memory + at, KEY}};
    struct ibv_wc wc;
    if (ibv_post_send(qp, &work, &bad))
        exit(4);
    memory[at] ^= changes;
    while (ibv_poll_cq(cq, 1, &wc) == 0)
        ;
    if (wc.status != IBV_WC_SUCCESS)
        exit(5);
}

int main(int argc, char **argv)
{
    const int writes = argc > 1 ? atoi(argv[1]) : 100;
    const uint32_t bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 8;
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list || !list[0] || writes < 1 || writes > PAGES / 3 || bytes < 8 || bytes > PAGE)
        return 2;
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_port_attr port;
    ibv_query_port(context, 1, &port);
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {16, 1, 1, 1, 0}};
    qp = ibv_create_qp(pd, &wanted);
    for (int i = 0; port.lid == 1 && i < writes; i++)
        memset(memory + 3 * i * PAGE, i + 1, bytes);
    ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (connect_to(qp, 3 - port.lid))
        return 3;
    usleep(2000);
    const int last = writes - 1, changes = argc > 3;
    if (port.lid == 1) {
        for (int i = 0; i < last; i++)
            write_one(3 * i * PAGE, bytes, changes);
        usleep(10000); /* the receiver spins by now */
        write_one(3 * last * PAGE, bytes, 0);
        puts("written");
        return 0;
    }
    usleep(8000);
    volatile unsigned char *const end = memory + 3 * last * PAGE + bytes - 1;
    while (*end == 0)
        ;
    uint64_t wrong = 0;
    for (uint64_t at = 0; at < sizeof memory; at++) {
        const uint64_t page = at / PAGE;
        const int there = page % 3 == 0 && page / 3 < (uint64_t)writes && at % PAGE < bytes;
        wrong += memory[at] != (there ? (unsigned char)(page / 3 + 1) : 0);
    }
    printf("received: %llu bytes are wrong\n", (unsigned long long)wrong);
    return 0;
}
