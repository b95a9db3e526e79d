/* Endpoints that are closed with operations under way: posted receives, messages that nobody has
 * asked for, long ones that nobody has fetched, reads and writes without their answers. Nothing
 * is written to memory that is free. */
#include "harness.h"

#include <sys/mman.h>

#define BYTES (1 << 20)

static char memory[BYTES];

int main(int argc, char **argv)
{
    begin(FI_MSG | FI_TAGGED | FI_RMA | FI_MULTI_RECV, 0);
    const bool leaves = argc > 1 && argv[1][0] == 'x'; /* ends without closing anything */
    struct fid_mr *region;
    OK(fi_mr_reg(domain, memory, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &region, NULL));
    barrier();
    char *gone = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const struct iovec list = {gone, 8192};
    const struct fi_msg many = {&list, NULL, 1, FI_ADDR_UNSPEC, NULL, 0};
    const fi_addr_t peer = own.peers[1 - rank];
    for (unsigned i = 0; i < 20; i++)
        DO(fi_trecv(own.ep, gone, BYTES, NULL, FI_ADDR_UNSPEC, 1000 + i, 0, NULL));
    DO(fi_recvmsg(own.ep, &many, FI_MULTI_RECV));
    for (unsigned i = 0; i < 20; i++) {
        DO(fi_tsend(own.ep, gone, 500, NULL, peer, i, NULL));
        DO(fi_send(own.ep, gone, 500, NULL, peer, NULL));
    }
    DO(fi_tsend(own.ep, gone, BYTES, NULL, peer, 5000, NULL)); /* never received */
    for (unsigned i = 0; i < 4; i++) {
        DO(fi_write(own.ep, gone, BYTES / 4, NULL, peer, 0, 1, NULL));
        DO(fi_read(own.ep, gone, BYTES / 4, NULL, peer, 0, 1, NULL));
    }
    if (leaves && rank == 0) {
        puts("ok");
        return 0;
    }
    OK(fi_close(&own.ep->fid));
    munmap(gone, BYTES);
    OK(fi_close(&own.cq->fid));
    OK(fi_close(&own.av->fid));
    usleep(2000);
    OK(fi_close(&region->fid));
    close_domain();
    if (rank == 0)
        puts("ok");
    return 0;
}
