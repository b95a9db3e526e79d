/* Counters of sends, receives, writes, reads and of what others do to a region; completions only
 * where they are asked for. */
#include "harness.h"

static struct fid_cntr *open_counter(uint64_t flags)
{
    struct fid_cntr *cntr;
    struct fi_cntr_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
    OK(fi_cntr_open(domain, &attr, &cntr, NULL));
    if (flags)
        OK(fi_ep_bind(own.ep, &cntr->fid, flags));
    return cntr;
}

int main(void)
{
    static char memory[1000], bytes[100];
    static const struct iovec list = {bytes, 100};
    struct fid_mr *region;
    int mark;
    meet();
    open_domain(FI_MSG | FI_RMA | FI_RMA_EVENT);
    own = open_party(FI_SELECTIVE_COMPLETION);
    struct fid_cntr *sends = open_counter(FI_SEND), *receives = open_counter(FI_RECV);
    struct fid_cntr *writes = open_counter(FI_WRITE), *reads = open_counter(FI_READ);
    struct fid_cntr *others = open_counter(0);
    join(&own);
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 5, 0, &region,
                 NULL));
    OK(fi_mr_bind(region, &others->fid, FI_REMOTE_WRITE));
    OK(fi_mr_enable(region));
    barrier();
    for (int i = 0; i < 10; i++)
        DO(fi_recv(own.ep, memory + 100 * i, 100, NULL, FI_ADDR_UNSPEC, NULL));
    barrier();
    const fi_addr_t peer = own.peers[1 - rank];
    for (int i = 0; i < 9; i++)
        DO(fi_send(own.ep, bytes, 100, NULL, peer, NULL));
    OK(fi_cntr_wait(sends, 9, -1));
    /* The last one alone has an entry. */
    const struct fi_msg msg = {&list, NULL, 1, peer, &mark, 0};
    DO(fi_sendmsg(own.ep, &msg, FI_COMPLETION));
    const struct fi_cq_tagged_entry entry = next();
    CHECK(entry.op_context == &mark && entry.flags & FI_SEND);
    OK(fi_cntr_wait(receives, 10, -1));
    CHECK(fi_cntr_read(sends) == 10 && fi_cntr_read(receives) == 10 && fi_cntr_read(writes) == 0);
    barrier();
    for (int i = 0; i < 7; i++)
        DO(fi_write(own.ep, bytes, 10, NULL, peer, 10 * (uint64_t)i, 5, NULL));
    DO(fi_inject_write(own.ep, bytes, 10, peer, 900, 5));
    DO(fi_read(own.ep, bytes, 10, NULL, peer, 0, 5, NULL));
    OK(fi_cntr_wait(writes, 8, -1));
    OK(fi_cntr_wait(reads, 1, -1));
    OK(fi_cntr_wait(others, 8, -1));
    look();
    CHECK(keeps == taken, "there is a completion that nobody has asked for");
    /* A wait has a limit. Failures are counted beside. */
    CHECK(fi_cntr_wait(writes, 9, 2) == -FI_ETIMEDOUT);
    DO(fi_write(own.ep, bytes, 10, NULL, peer, 0, 6, &mark));
    CHECK(fi_cntr_wait(writes, 9, -1) == -FI_EAVAIL);
    CHECK(fi_cntr_readerr(writes) == 1 && fi_cntr_read(writes) == 8);
    CHECK(next_error().op_context == &mark);
    OK(fi_cntr_set(writes, 100));
    OK(fi_cntr_add(writes, 5));
    CHECK(fi_cntr_read(writes) == 105);
    CHECK(fi_close(&writes->fid) == -FI_EBUSY);
    barrier();
    OK(fi_close(&region->fid));
    OK(fi_close(&own.ep->fid));
    struct fid_cntr *const all[] = {sends, receives, writes, reads, others};
    for (int i = 0; i < 5; i++)
        OK(fi_close(&all[i]->fid));
    OK(fi_close(&own.cq->fid));
    OK(fi_close(&own.av->fid));
    close_domain();
    if (rank == 0)
        puts("ok");
    return 0;
}
