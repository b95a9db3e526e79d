/* Messages of several stretches of memory arrive as one, as Intel's MPI sends them. */
#include "harness.h"

#define MOST 100000

static char all[MOST], got[MOST];
static int mark;

/* Sends all in three parts, of which one may be empty. */
static void send_parts(size_t length, size_t first, bool tagged, uint64_t flags)
{
    const struct iovec list[] = {{all, first}, {NULL, 0}, {all + first, length - first}};
    const struct fi_msg msg = {list, NULL, 3, own.peers[1], &mark, 0};
    const struct fi_msg_tagged with = {list, NULL, 3, own.peers[1], 7, 0, &mark, 0};
    if (tagged)
        DO(fi_tsendmsg(own.ep, &with, flags));
    else
        DO(fi_sendmsg(own.ep, &msg, flags));
    wait_for(&mark);
}

int main(void)
{
    static const size_t lengths[] = {0, 2, 100, 4000, 16384, MOST};
    begin(FI_MSG | FI_TAGGED, 0);
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t length = lengths[i];
        const uint64_t flags = FI_COMPLETION | (length <= 4000 && i % 2 ? FI_INJECT : 0);
        fill(all, length, i);
        if (rank == 0) {
            send_parts(length, length / 3, true, flags);
            send_parts(length, length, false, flags);
            DO(fi_sendv(own.ep, &(struct iovec){all, length}, NULL, 1, own.peers[1], &mark));
            wait_for(&mark);
            continue;
        }
        for (unsigned times = 0; times < 3; times++) {
            memset(got, 0, sizeof got);
            if (times == 0)
                OK(fi_trecv(own.ep, got, MOST, NULL, FI_ADDR_UNSPEC, 7, 0, &mark));
            else
                OK(fi_recv(own.ep, got, MOST, NULL, FI_ADDR_UNSPEC, &mark));
            const size_t came = wait_for(&mark).len;
            CHECK(came == length && is_filled(got, length, i), "%zu of %zu bytes", came, length);
        }
    }
    barrier();
    end();
    return 0;
}
