/* So many calls of each kind that reports of the run can be compared with this program: what rank 0 sends,
 * rank 1 receives, but for the first barrier's. */
#include "harness.h"

#define KEY 7
#define LONG (1 << 20)

static char large[LONG], memory[4096], small[8][64];
static int marks[8];

static void receive(int i, uint64_t tag)
{
    DO(fi_trecv(own.ep, small[i], sizeof small[i], NULL, FI_ADDR_UNSPEC, tag, 0, &marks[i]));
}

/* Three messages find their receives, two come before them, one is long. */
static void tagged(void)
{
    if (rank == 1)
        for (int i = 0; i < 3; i++)
            receive(i, 10);
    barrier();
    for (int i = 0; i < 3; i++) {
        if (rank == 0)
            DO(fi_tsend(own.ep, small[0], 64, NULL, own.peers[1], 10, &marks[i]));
        wait_for(&marks[i]);
    }
    if (rank == 0)
        for (int i = 0; i < 2; i++)
            DO(fi_tinject(own.ep, small[0], 64, own.peers[1], 11 + (uint64_t)i));
    usleep(1000);
    barrier();
    if (rank == 1) {
        for (int i = 0; i < 2; i++)
            receive(i, 12 - (uint64_t)i); /* the last one first */
        wait_for(&marks[0]);
        wait_for(&marks[1]);
        DO(fi_trecv(own.ep, large, LONG, NULL, FI_ADDR_UNSPEC, 13, 0, &marks[2]));
    }
    barrier();
    if (rank == 0)
        DO(fi_tsend(own.ep, large, LONG, NULL, own.peers[1], 13, &marks[2]));
    wait_for(&marks[2]);
}

static void untagged(void)
{
    if (rank == 1)
        DO(fi_recv(own.ep, small[0], 64, NULL, FI_ADDR_UNSPEC, &marks[0]));
    barrier();
    if (rank == 0)
        DO(fi_send(own.ep, small[0], 64, NULL, own.peers[1], &marks[0]));
    wait_for(&marks[0]);
}

static void remote(void)
{
    uint64_t one = 1, old;
    if (rank == 0) {
        DO(fi_write(own.ep, small, 512, NULL, own.peers[1], 0, KEY, &marks[0]));
        wait_for(&marks[0]);
        DO(fi_read(own.ep, small, 512, NULL, own.peers[1], 0, KEY, &marks[0]));
        wait_for(&marks[0]);
        DO(fi_fetch_atomic(own.ep, &one, 1, NULL, &old, NULL, own.peers[1], 1024, KEY, FI_UINT64,
                           FI_SUM, &marks[0]));
        wait_for(&marks[0]);
    }
    barrier();
}

int main(void)
{
    struct fid_mr *region;
    struct fid_cntr *counter;
    struct fi_cntr_attr attr = {.wait_obj = FI_WAIT_UNSPEC};
    begin(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC, 0);
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
                 &region, NULL));
    OK(fi_cntr_open(domain, &attr, &counter, NULL));
    barrier();
    tagged();
    untagged();
    remote();
    OK(fi_cntr_add(counter, 3));
    CHECK(fi_cntr_read(counter) == 3);
    DO(fi_trecv(own.ep, small[0], 64, NULL, FI_ADDR_UNSPEC, 99, 0, &marks[0]));
    OK(fi_cancel(&own.ep->fid, &marks[0]));
    CHECK(next_error().err == FI_ECANCELED);
    OK(fi_close(&counter->fid));
    OK(fi_close(&region->fid));
    end();
    return 0;
}
