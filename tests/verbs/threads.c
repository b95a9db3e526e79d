/* Threads with queue pairs of their own, each of which plays ping-pong:
 * threads [THREADS [MESSAGES [BYTES]]]. Two ranks; keys and addresses are the same on both. One more thread
 * waits for asynchronous events all the time. */
#include "connect.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KEY 1
#define THREADS 8
#define ROOM 8192
static _Alignas(4096) volatile unsigned char out[THREADS][ROOM], in[THREADS][ROOM];
static struct ibv_qp *qps[THREADS];
static struct ibv_context *context;
static unsigned messages, bytes, lid;

static void fail(const char *what, unsigned thread)
{
    printf("thread %u: %s\n", thread, what);
    exit(1);
}

static void send(unsigned thread, unsigned char value)
{
    memset((void *)(uintptr_t)out[thread], value, bytes);
    struct ibv_sge piece = {(uintptr_t)out[thread], bytes, KEY};
    struct ibv_send_wr *bad, work = {.wr_id = value, .sg_list = &piece, .num_sge = 1,
                                     .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
                                     .wr.rdma = {(uintptr_t)in[thread], KEY + 1}};
    if (ibv_post_send(qps[thread], &work, &bad))
        fail("cannot post", thread);
    struct ibv_wc done;
    int count;
    while ((count = ibv_poll_cq(qps[thread]->send_cq, 1, &done)) == 0)
        ;
    if (count != 1 || done.status != IBV_WC_SUCCESS || done.wr_id != value)
        fail("another completion", thread);
}

static void receive(unsigned thread, unsigned char value)
{
    while (in[thread][bytes - 1] != value)
        ;
    for (unsigned i = 0; i < bytes; i++)
        if (in[thread][i] != value)
            fail("wrong bytes", thread);
}

static void *play(void *number)
{
    const unsigned thread = (unsigned)(uintptr_t)number;
    for (unsigned i = 0; i < messages; i++) {
        const unsigned char value = (unsigned char)(1 + thread + THREADS * (i % 30));
        if (lid == 2)
            receive(thread, value);
        send(thread, value);
        if (lid == 1)
            receive(thread, value);
    }
    return NULL;
}

static void *await_events(void *unused)
{
    (void)unused;
    struct ibv_async_event event;
    const int code = ibv_get_async_event(context, &event);
    printf("an event came: %d\n", code);
    exit(1);
}

int main(int argc, char **argv)
{
    const unsigned threads = argc > 1 ? (unsigned)atoi(argv[1]) : 2;
    messages = argc > 2 ? (unsigned)atoi(argv[2]) : 4;
    bytes = argc > 3 ? (unsigned)atoi(argv[3]) : 64;
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list || !list[0] || threads > THREADS || bytes > ROOM)
        return 2;
    context = ibv_open_device(list[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_port_attr port;
    ibv_query_port(context, 1, &port);
    lid = port.lid;
    struct ibv_mr *source =
        ibv_reg_mr(pd, (void *)(uintptr_t)out, sizeof out, IBV_ACCESS_LOCAL_WRITE);
    struct ibv_mr *target = ibv_reg_mr(pd, (void *)(uintptr_t)in, sizeof in,
                                       IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (!source || !target || source->lkey != KEY || target->rkey != KEY + 1)
        return 3;
    for (unsigned i = 0; i < threads; i++) {
        struct ibv_cq *cq = ibv_create_cq(context, 16, NULL, NULL, 0);
        struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                          .cap = {.max_send_wr = 4, .max_send_sge = 1}};
        qps[i] = ibv_create_qp(pd, &wanted);
        if (!qps[i] || connect_to(qps[i], 3 - lid))
            return 4;
    }
    struct ibv_async_event event;
    const int flags = fcntl(context->async_fd, F_GETFL);
    fcntl(context->async_fd, F_SETFL, flags | O_NONBLOCK);
    if (ibv_get_async_event(context, &event) != -1 || errno != EAGAIN)
        return 5;
    fcntl(context->async_fd, F_SETFL, flags);
    pthread_t events, players[THREADS];
    pthread_create(&events, NULL, await_events, NULL);
    for (unsigned i = 0; i < threads; i++)
        pthread_create(&players[i], NULL, play, (void *)(uintptr_t)i);
    for (unsigned i = 0; i < threads; i++)
        pthread_join(players[i], NULL);
    printf("LID %u: %u threads have played\n", lid, threads);
    return 0;
}
