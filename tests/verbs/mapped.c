/* Verbs beside the request queue: mapped before|after|peer. With peer the second node has its queue. */
#include "connect.h"

#include <errno.h>
#include <forth.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Alignas(4096) unsigned char memory[4096];
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;

static void say(const char *what, int error)
{
    printf("%s: %s\n", what, error ? strerror(error) : "done");
}

/* To the first region of the other node. */
static int write_bytes(unsigned lid, uint32_t bytes)
{
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {.max_send_wr = 1, .max_send_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &wanted);
    if (!qp || connect_to(qp, lid))
        return -1;
    struct ibv_sge source = {(uintptr_t)memory, bytes, mr->lkey};
    struct ibv_send_wr work = {.sg_list = &source, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                               .send_flags = IBV_SEND_SIGNALED,
                               .wr.rdma = {(uintptr_t)memory, 1}};
    struct ibv_send_wr *bad;
    const int error = ibv_post_send(qp, &work, &bad);
    struct ibv_wc done = {.status = IBV_WC_SUCCESS};
    while (!error && ibv_poll_cq(cq, 1, &done) == 0)
        ;
    return done.status ? -2 : error;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "peer";
    struct forth forth;
    struct ibv_device **list = ibv_get_device_list(NULL);
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_port_attr port;
    if (!context || ibv_query_port(context, 1, &port))
        return 2;
    pd = ibv_alloc_pd(context);
    cq = ibv_create_cq(context, 1, NULL, NULL, 0);
    const int first = port.lid == 1;
    if (!strcmp(what, first ? "before" : "peer") && forth_open(&forth) < 0)
        return 3;
    mr = ibv_reg_mr(pd, memory, sizeof memory, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    usleep(2000); /* both have registered theirs */
    if (first && !strcmp(what, "before"))
        say("verbs beside the queue", write_bytes(2, 8));
    if (first && !strcmp(what, "after")) {
        say("first by verbs", write_bytes(2, 8));
        say("the queue beside verbs", -forth_open(&forth));
    }
    if (first && !strcmp(what, "peer")) {
        say("whole words to a queue's owner", write_bytes(2, 16));
        say("bytes to a queue's owner", write_bytes(2, 12));
    }
    usleep(2000);
    return 0;
}
