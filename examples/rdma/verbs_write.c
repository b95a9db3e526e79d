/* RDMA writes by verbs: verbs_write [MESSAGES [BYTES]]
 *
 *     gcc examples/rdma/verbs_write.c -o verbs_write -libverbs
 *     sunstar run -m forth -n 2 verbs_write 100 4096
 *
 * The node with LID 1 writes into memory of the node with LID 2, which has told address and key by a socket.
 * Nothing here is the simulator's own. */
#include <infiniband/verbs.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define PORT "18515"

/* What a writer has to know of the memory. */
struct target {
    uint64_t address;
    uint32_t rkey, qp;
};

static _Alignas(4096) volatile unsigned char memory[1 << 20];

static void check(int works, const char *what)
{
    if (!works) {
        perror(what);
        exit(1);
    }
}

/* Tells mine to the other side and hears theirs. LID 1 listens. */
static struct target exchange(const struct target *mine, unsigned lid)
{
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
    check(getaddrinfo("node0", PORT, &hints, &found) == 0, "node0");
    int s = socket(AF_INET, SOCK_STREAM, 0);
    if (lid == 1) {
        check(bind(s, found->ai_addr, found->ai_addrlen) == 0 && listen(s, 1) == 0, "listen");
        s = accept(s, NULL, NULL);
    } else {
        while (connect(s, found->ai_addr, found->ai_addrlen) != 0) {
            close(s);
            usleep(100); /* it does not listen yet */
            s = socket(AF_INET, SOCK_STREAM, 0);
        }
    }
    freeaddrinfo(found);
    struct target theirs;
    check(write(s, mine, sizeof *mine) == sizeof *mine, "write");
    check(recv(s, &theirs, sizeof theirs, MSG_WAITALL) == sizeof theirs, "recv");
    close(s);
    return theirs;
}

/* An unreliable connection (UC): INIT, ready to receive, ready to send. */
static void connect_to(struct ibv_qp *qp, unsigned lid, uint32_t number)
{
    struct ibv_qp_attr init = {.qp_state = IBV_QPS_INIT, .port_num = 1,
                               .qp_access_flags = IBV_ACCESS_REMOTE_WRITE};
    struct ibv_qp_attr receive = {.qp_state = IBV_QPS_RTR, .path_mtu = IBV_MTU_4096,
                                  .dest_qp_num = number,
                                  .ah_attr = {.dlid = (uint16_t)lid, .port_num = 1}};
    struct ibv_qp_attr send = {.qp_state = IBV_QPS_RTS};
    check(!ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                        IBV_QP_ACCESS_FLAGS), "INIT");
    check(!ibv_modify_qp(qp, &receive, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
                                           IBV_QP_DEST_QPN | IBV_QP_RQ_PSN), "RTR");
    check(!ibv_modify_qp(qp, &send, IBV_QP_STATE | IBV_QP_SQ_PSN), "RTS");
}

static void write_to(struct ibv_qp *qp, const struct ibv_mr *mr, uint32_t bytes,
                     const struct target *theirs)
{
    struct ibv_sge source = {(uintptr_t)mr->addr, bytes, mr->lkey};
    struct ibv_send_wr work = {.sg_list = &source, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
                               .send_flags = IBV_SEND_SIGNALED,
                               .wr.rdma = {theirs->address, theirs->rkey}};
    struct ibv_send_wr *bad;
    check(!ibv_post_send(qp, &work, &bad), "ibv_post_send");
    struct ibv_wc done;
    while (ibv_poll_cq(qp->send_cq, 1, &done) == 0)
        ;
    if (done.status != IBV_WC_SUCCESS) {
        fprintf(stderr, "%s\n", ibv_wc_status_str(done.status));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const unsigned messages = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
    const uint32_t bytes = argc > 2 ? (uint32_t)atoi(argv[2]) : 4096;
    int devices = 0;
    struct ibv_device **list = ibv_get_device_list(&devices);
    if (devices == 0 || bytes < 1 || bytes > sizeof memory || messages < 1) {
        fputs("run it with `sunstar run -m forth -n 2`; messages have 1 byte to 1 MB\n", stderr);
        return 1;
    }
    struct ibv_context *context = ibv_open_device(list[0]);
    struct ibv_port_attr port;
    check(context && !ibv_query_port(context, 1, &port), "port");
    struct ibv_pd *pd = ibv_alloc_pd(context);
    struct ibv_cq *cq = ibv_create_cq(context, 1, NULL, NULL, 0);
    struct ibv_qp_init_attr wanted = {.send_cq = cq, .recv_cq = cq, .qp_type = IBV_QPT_UC,
                                      .cap = {.max_send_wr = 1, .max_send_sge = 1}};
    struct ibv_qp *qp = ibv_create_qp(pd, &wanted);
    struct ibv_mr *mr = ibv_reg_mr(pd, (void *)(uintptr_t)memory, sizeof memory,
                                   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
    check(qp && mr, "queue pair and region");
    const struct target mine = {(uintptr_t)mr->addr, mr->rkey, qp->qp_num};
    const struct target theirs = exchange(&mine, port.lid);
    connect_to(qp, 3u - port.lid, theirs.qp);
    if (port.lid == 1) {
        for (unsigned i = 1; i <= messages; i++) {
            /* The last message tells by its last byte that it is the last. */
            memory[bytes - 1] = i == messages;
            write_to(qp, mr, bytes, &theirs);
        }
        printf("%u messages of %u bytes are written\n", messages, bytes);
    } else {
        while (memory[bytes - 1] != 1)
            ;
        printf("the last of %u messages is here\n", messages);
    }
    ibv_destroy_qp(qp);
    ibv_dereg_mr(mr);
    ibv_destroy_cq(cq);
    ibv_dealloc_pd(pd);
    ibv_close_device(context);
    ibv_free_device_list(list);
    return 0;
}
