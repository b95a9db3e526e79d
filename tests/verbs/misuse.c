/* What may go wrong with verbs, and what goes right in between. Two ranks; the keys of regions follow from
 * their order, and both have their buffers at the same addresses, so that nothing need be exchanged. */
#include "connect.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define BYTES 65536

enum { OPEN = 1, READ_ONLY, CLOSED }; /* the keys */

static _Alignas(4096) unsigned char buffers[3][BYTES];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static unsigned lid;

static struct ibv_qp *queue_pair(enum ibv_qp_type type)
{
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = type,
                                      .cap = {.max_send_wr = 4, .max_recv_wr = 1, .max_send_sge = 1,
                                              .max_recv_sge = 1, .max_inline_data = 64}};
    return ibv_create_qp(pd, &wanted);
}

static struct ibv_qp *connected(void)
{
    struct ibv_qp *qp = queue_pair(IBV_QPT_UC);
    if (!qp || connect_to(qp, 3 - lid))
        exit(3);
    return qp;
}

static int post(struct ibv_qp *qp, enum ibv_wr_opcode opcode, size_t from, uint32_t bytes,
                uint32_t lkey, uint32_t rkey, unsigned char *to, unsigned flags)
{
    struct ibv_sge piece = {(uintptr_t)&buffers[0][from], bytes, lkey};
    struct ibv_send_wr work = {.wr_id = 7, .sg_list = &piece, .num_sge = 1, .opcode = opcode,
                               .send_flags = IBV_SEND_SIGNALED | flags,
                               .wr.rdma = {(uintptr_t)to, rkey}};
    struct ibv_send_wr *bad = NULL;
    return ibv_post_send(qp, &work, &bad);
}

static const char *completed(void)
{
    static const char *const names[] = {[IBV_WC_SUCCESS] = "success",
                                        [IBV_WC_LOC_PROT_ERR] = "local protection",
                                        [IBV_WC_WR_FLUSH_ERR] = "flushed",
                                        [IBV_WC_REM_ACCESS_ERR] = "remote access"};
    struct ibv_wc wc;
    while (ibv_poll_cq(cq, 1, &wc) == 0)
        ;
    return wc.wr_id == 7 ? names[wc.status] : "another";
}

static void say(const char *what, int error)
{
    printf("%s: %s\n", what, error ? strerror(error) : "done");
}

#define WRITE IBV_WR_RDMA_WRITE

static void refused(void)
{
    struct ibv_qp *qp = queue_pair(IBV_QPT_RC);
    say("reliable connection", qp ? 0 : errno);
    struct ibv_qp_init_attr large = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                     .cap = {.max_send_wr = 4, .max_send_sge = 2}};
    say("two memory segments", ibv_create_qp(pd, &large) ? 0 : errno);
    qp = queue_pair(IBV_QPT_UC);
    say("ready to send at once", ibv_modify_qp(qp, &(struct ibv_qp_attr){.qp_state = IBV_QPS_RTS},
                                               IBV_QP_STATE));
    say("post before ready", post(qp, WRITE, 0, 8, mr->lkey, OPEN, buffers[0], 0));
    say("nobody's LID", connect_to(qp, 9));
    ibv_destroy_qp(qp);
    qp = queue_pair(IBV_QPT_UC);
    say("own LID", connect_to(qp, lid));
    ibv_destroy_qp(qp);
    qp = connected();
    say("send", post(qp, IBV_WR_SEND, 0, 8, mr->lkey, OPEN, buffers[0], 0));
    say("read", post(qp, IBV_WR_RDMA_READ, 0, 8, mr->lkey, OPEN, buffers[0], 0));
    struct ibv_recv_wr receive = {.num_sge = 0}, *bad;
    say("receive", ibv_post_recv(qp, &receive, &bad));
    say("write no bytes", post(qp, WRITE, 0, 0, mr->lkey, OPEN, buffers[0], 0));
    say("write over 16 MB", post(qp, WRITE, 0, (16u << 20) + 8, mr->lkey, OPEN, buffers[0], 0));
    say("too much inline", post(qp, WRITE, 0, 72, mr->lkey, OPEN, buffers[0], IBV_SEND_INLINE));
    struct ibv_mr *none = ibv_reg_mr(pd, (void *)0x10000, 8, IBV_ACCESS_LOCAL_WRITE);
    say("register no memory", none ? 0 : errno);
    none = ibv_reg_mr(pd, buffers[1], 8, IBV_ACCESS_REMOTE_WRITE);
    say("remote without local", none ? 0 : errno);
    none = ibv_reg_mr(pd, buffers[1], 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
    say("region for remote reads", none ? 0 : errno);
    none = ibv_reg_mr(pd, buffers[1], 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_ATOMIC);
    say("region for atomics", none ? 0 : errno);
    none = ibv_reg_mr(pd, buffers[1], 8, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_RELAXED_ORDERING);
    say("region with relaxed order", none ? 0 : errno); /* optional: ignored */
    void *much = mmap(NULL, 64u << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    none = ibv_reg_mr(pd, much, 64u << 20, IBV_ACCESS_LOCAL_WRITE);
    say("register 64 MB", none ? 0 : errno);
    say("destroy a queue in use", ibv_destroy_cq(cq));
    ibv_destroy_qp(qp);
    struct ibv_comp_channel *channels[65];
    for (int i = 0; i < 65; i++)
        channels[i] = ibv_create_comp_channel(context);
    say("65 completion channels", channels[63] && !channels[64] ? errno : 0);
    for (int i = 0; i < 64; i++)
        ibv_destroy_comp_channel(channels[i]);
    ibv_destroy_comp_channel(ibv_create_comp_channel(context)); /* there is room again */
}

static void in_error(const char *what, size_t from, uint32_t bytes, uint32_t lkey, uint32_t rkey,
                     unsigned char *to)
{
    struct ibv_qp *qp = connected();
    if (post(qp, WRITE, from, bytes, lkey, rkey, to, 0) ||
        post(qp, WRITE, 0, 8, mr->lkey, OPEN, to, 0))
        exit(4);
    printf("%s: %s", what, completed());
    printf(", then %s\n", completed());
    ibv_destroy_qp(qp);
}

static void sender(void)
{
    refused();
    in_error("bad local key", 0, 8, 77, OPEN, buffers[0]);
    in_error("beyond the region", BYTES - 8, 16, mr->lkey, OPEN, buffers[0]);
    in_error("bad remote key", 0, 8, mr->lkey, 77, buffers[0]);
    in_error("beyond the remote region", 0, 16, mr->lkey, OPEN, buffers[0] + BYTES - 8);
    in_error("not writable", 0, 8, mr->lkey, READ_ONLY, buffers[1]);
    in_error("deregistered", 0, 8, mr->lkey, CLOSED, buffers[2]);
    struct ibv_qp *qp = connected();
    for (size_t i = 0; i < BYTES; i++)
        buffers[0][i] = (unsigned char)(i * 7 + 1);
    for (int i = 0; i < 4; i++) {
        if (post(qp, WRITE, 0, BYTES - 64, mr->lkey, OPEN, buffers[0], 0))
            exit(5);
    }
    say("a fifth write of four", post(qp, WRITE, 0, 8, mr->lkey, OPEN, buffers[0], 0));
    for (int i = 0; i < 4; i++)
        printf("written: %s\n", completed());
    /* What is inline may be changed at once; a word behind tells that all is there. */
    memset(buffers[0], 1, 64);
    say("inline", post(qp, WRITE, 0, 64, 0, OPEN, buffers[0] + BYTES - 64, IBV_SEND_INLINE));
    memset(buffers[0], 2, 64);
    printf("written: %s\n", completed());
}

static void receiver(void)
{
    ibv_reg_mr(pd, buffers[1], BYTES, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_mr *closed = ibv_reg_mr(pd, buffers[2], BYTES,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    ibv_dereg_mr(closed);
    volatile unsigned char *last = &buffers[0][BYTES - 1];
    while (*last == 0)
        ;
    size_t wrong = 0;
    for (size_t i = 0; i < BYTES - 64; i++)
        wrong += buffers[0][i] != (unsigned char)(i * 7 + 1);
    for (size_t i = BYTES - 64; i < BYTES; i++)
        wrong += buffers[0][i] != 1;
    printf("received: %zu bytes are wrong\n", wrong);
}

int main(void)
{
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
    lid = port.lid;
    mr = ibv_reg_mr(pd, buffers[0], BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!mr || mr->rkey != OPEN)
        return 2;
    if (lid == 2) {
        receiver();
    } else {
        usleep(2000);
        sender();
    }
    return 0;
}
