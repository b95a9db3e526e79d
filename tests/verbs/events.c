/* Sleeps until writes are complete: events [MESSAGES [poll]]. With poll the program waits in poll(2) for the
 * descriptor of the channel. Two ranks; keys and addresses are the same on both. */
#include "connect.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define KEY 1
static _Alignas(4096) unsigned char memory[65536];
static volatile unsigned char *const last = memory + sizeof memory - 1;

static struct ibv_comp_channel *channel;
static struct ibv_cq *cq;

static void write_all(struct ibv_qp *qp)
{
    struct ibv_sge piece = {(uintptr_t)memory, sizeof memory, KEY};
    struct ibv_send_wr *bad, work = {.sg_list = &piece, .num_sge = 1,
                                     .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
                                     .wr.rdma = {(uintptr_t)memory, KEY}};
    if (ibv_post_send(qp, &work, &bad))
        exit(4);
}

/* Sleeps until there is an event. */
static void await_event(int polls)
{
    struct ibv_cq *of;
    void *user;
    if (polls) {
        struct pollfd file = {channel->fd, POLLIN, 0};
        if (ibv_get_cq_event(channel, &of, &user) != -1 || errno != EAGAIN)
            exit(5); /* it does not block, and there is none yet */
        if (poll(&file, 1, 0) != 0 || poll(&file, 1, -1) != 1 || file.revents != POLLIN)
            exit(6);
    }
    if (ibv_get_cq_event(channel, &of, &user) || of != cq || user != &channel)
        exit(7);
    ibv_ack_cq_events(cq, 1);
}

int main(int argc, char **argv)
{
    const int messages = argc > 1 ? atoi(argv[1]) : 4, polls = argc > 2;
    struct ibv_device **list = ibv_get_device_list(NULL);
    if (!list || !list[0])
        return 2;
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_pd *pd = ibv_alloc_pd(context);
    channel = ibv_create_comp_channel(context);
    cq = ibv_create_cq(context, 16, &channel, channel, 0);
    if (polls)
        fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    struct ibv_port_attr port;
    ibv_query_port(context, 1, &port);
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {16, 1, 1, 1, 0}};
    struct ibv_qp *qp = ibv_create_qp(pd, &wanted);
    ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    if (connect_to(qp, 3 - port.lid))
        return 3;
    usleep(2000);
    if (port.lid == 2) {
        while (*last != messages)
            ;
        puts("received");
        return 0;
    }
    struct ibv_wc wc;
    for (int i = 1; i <= messages; i++) {
        *last = (unsigned char)i;
        /* Asked for before the write is posted, and behind it. */
        if (i % 2)
            ibv_req_notify_cq(cq, 0);
        write_all(qp);
        if (i % 2 == 0)
            ibv_req_notify_cq(cq, 0);
        await_event(polls);
        if (ibv_poll_cq(cq, 1, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
            return 8; /* the event has told of it */
    }
    printf("%d events\n", messages);
    struct pollfd file = {channel->fd, POLLIN, 0};
    ibv_req_notify_cq(cq, 0);
    if (poll(&file, 1, 3) != 0)
        return 9;
    ibv_destroy_qp(qp);
    return ibv_destroy_cq(cq) || ibv_destroy_comp_channel(channel);
}
