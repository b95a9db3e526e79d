/* A rank and itself: short and long messages in both orders, memory, atomic operations. */
#include "harness.h"

int main(void)
{
    static char in[200000], out[200000];
    static uint64_t word;
    static const size_t lengths[] = {0, 5, 16384, 200000};
    int sent, got;
    struct fid_mr *region;
    begin(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SOURCE, 0);
    const fi_addr_t self = own.peers[rank];
    for (unsigned i = 0; i < 8; i++) {
        const size_t length = lengths[i / 2];
        fill(out, length, i);
        if (i % 2)
            OK(fi_trecv(own.ep, in, sizeof in, NULL, self, i, 0, &got));
        DO(fi_tsend(own.ep, out, length, NULL, self, i, &sent));
        if (!(i % 2)) {
            look();
            OK(fi_trecv(own.ep, in, sizeof in, NULL, self, i, 0, &got));
        }
        CHECK(wait_for(&got).len == length && is_filled(in, length, i), "%zu bytes", length);
        wait_for(&sent);
    }
    OK(fi_mr_reg(domain, &word, 8, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &region, NULL));
    uint64_t add = 5, old = 1;
    for (uint64_t i = 0; i < 5; i++) {
        DO(fi_fetch_atomic(own.ep, &add, 1, NULL, &old, NULL, self, 0, 1, FI_UINT64, FI_SUM, &got));
        wait_for(&got);
        CHECK(old == 5 * i && word == 5 * (i + 1));
    }
    OK(fi_close(&region->fid));
    end();
    return 0;
}
