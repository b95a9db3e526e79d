/* An endpoint takes as many operations as its attributes say, and receives wait beside them. */
#include "harness.h"

#define KEY 5
#define BYTES 60000 /* which take longer to go than to be given to the card */
#define MOST 4096

static char memory[BYTES], local[BYTES], unused[MOST];
static int marks[MOST];

int main(void)
{
    struct fid_mr *region;
    begin(FI_MSG | FI_TAGGED | FI_RMA, 0);
    const size_t sends = info->tx_attr->size, receives = info->rx_attr->size;
    CHECK(sends <= MOST && receives <= MOST, "%zu and %zu", sends, receives);
    OK(fi_mr_reg(domain, memory, sizeof memory, FI_REMOTE_WRITE, 0, KEY, 0, &region, NULL));
    fill(local, BYTES, (unsigned)rank);
    barrier();
    if (rank == 0) {
        for (size_t i = 0; i < receives; i++)
            OK(fi_trecv(own.ep, &unused[i], 1, NULL, FI_ADDR_UNSPEC, i, 0, &unused[i]));
        /* Nothing looks at a queue meanwhile. */
        for (size_t i = 0; i < sends; i++)
            OK(fi_write(own.ep, local, BYTES, NULL, own.peers[1], 0, KEY, &marks[i]));
        for (size_t i = 0; i < sends; i++)
            wait_for(&marks[i]);
    }
    barrier();
    if (rank == 1)
        CHECK(is_filled(memory, BYTES, 0), "bytes written are wrong");
    OK(fi_close(&region->fid));
    end();
    return 0;
}
