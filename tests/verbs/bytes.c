/* Writes of any length between any addresses, each with a whole word behind it that must not overtake it.
 * Two ranks; keys and addresses are the same on both. */
#include "connect.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES 65536
#define KEY 1
#define INLINE_MAX 64

static _Alignas(4096) unsigned char memory[BYTES];   /* others write here */
static _Alignas(4096) unsigned char source[BYTES];   /* the bytes that are sent */
static volatile uint64_t *const flag = (volatile uint64_t *)(memory + BYTES - 8);

static struct ibv_cq *cq;
static struct ibv_qp *qp;
static uint32_t own_lkey;

static void write_bytes(const void *from, uint32_t bytes, uint32_t key, void *to, int inlined)
{
    struct ibv_sge piece = {(uintptr_t)from, bytes, key};
    const unsigned flags = IBV_SEND_SIGNALED | (inlined ? IBV_SEND_INLINE : 0u);
    struct ibv_send_wr work = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                               .send_flags = flags, .wr.rdma = {(uintptr_t)to, KEY}};
    struct ibv_send_wr *bad;
    struct ibv_wc wc;
    if (ibv_post_send(qp, &work, &bad))
        exit(4);
    while (ibv_poll_cq(cq, 1, &wc) == 0)
        ;
    if (wc.status != IBV_WC_SUCCESS)
        exit(5);
}

static void tell(uint64_t turn)
{
    static _Alignas(8) uint64_t word;
    word = turn;
    write_bytes(&word, 8, 0, (void *)(uintptr_t)flag, 1);
}

static unsigned char pattern(uint64_t turn, uint32_t i)
{
    return (unsigned char)(turn * 31 + i * 7 + 1);
}

/* A write of so many bytes at these places: sends it, or waits for it and looks at every byte. */
static void try(int sends, uint32_t from, uint32_t to, uint32_t bytes, int inlined)
{
    static uint64_t turn;
    turn++;
    if (sends) {
        for (uint32_t i = 0; i < bytes; i++)
            source[from + i] = pattern(turn, i);
        write_bytes(source + from, bytes, own_lkey, memory + to, inlined);
        tell(turn);
        while (*flag != turn)
            ;
        return;
    }
    while (*flag != turn)
        ;
    for (uint32_t i = 0; i < BYTES - 8; i++) {
        const int within = i >= to && i < to + bytes;
        if (memory[i] != (within ? pattern(turn, i - to) : 0)) {
            printf("byte %u is wrong: %u bytes from %u to %u\n", i, bytes, from, to);
            exit(6);
        }
    }
    memset(memory, 0, BYTES - 8);
    tell(turn);
}

int main(void)
{
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list || !list[0])
        return 2;
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 16, NULL, NULL, 0);
    struct ibv_port_attr port;
    ibv_query_port(context, 1, &port);
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {16, 1, 1, 1, INLINE_MAX}};
    qp = ibv_create_qp(pd, &wanted);
    const int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    if (ibv_reg_mr(pd, memory, BYTES, access)->rkey != KEY)
        return 2;
    own_lkey = ibv_reg_mr(pd, source, BYTES, IBV_ACCESS_LOCAL_WRITE)->lkey;
    if (connect_to(qp, 3 - port.lid))
        return 3;
    usleep(2000); /* until both have registered */
    static const uint32_t lengths[] = {1, 2, 3, 7, 8, 9, 15, 16, 64, 500, 4095, 4104, 20001};
    static const uint32_t places[] = {0, 1, 5, 8, 4093};
    unsigned tried = 0;
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++)
        for (size_t t = 0; t < sizeof places / sizeof *places; t++)
            for (uint32_t from = 0; from < 4; from += 3, tried++)
                try(port.lid == 1, from, places[t], lengths[l],
                    lengths[l] <= INLINE_MAX && from > 0);
    if (port.lid == 2)
        printf("%u writes are right\n", tried);
    return 0;
}
