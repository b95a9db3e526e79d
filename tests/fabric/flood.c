/* More unexpected messages than there is memory for (here 1 MiB an inbox): a receiver that looks
 * loses none, one that does not is told which are lost. */
#include "harness.h"

#define COUNT 300
#define BYTES 16000

static char bytes[BYTES];

static void send_all(void)
{
    int mark;
    for (unsigned i = 0; i < COUNT; i++) {
        fill(bytes, BYTES, i);
        DO(fi_tsend(own.ep, bytes, BYTES, NULL, own.peers[1], i, &mark));
        wait_for(&mark);
    }
}

/* Receives the last one first; the number of those that are lost. */
static unsigned take_all(void)
{
    unsigned lost = 0;
    int mark;
    for (unsigned i = COUNT; i-- > 0;) {
        struct fi_cq_tagged_entry entry;
        struct fi_cq_err_entry error = {0};
        ssize_t got;
        OK(fi_trecv(own.ep, bytes, BYTES, NULL, FI_ADDR_UNSPEC, i, 0, &mark));
        while ((got = fi_cq_read(own.cq, &entry, 1)) == -FI_EAGAIN)
            ;
        if (got == 1) {
            CHECK(entry.tag == i && entry.len == BYTES, "message %u", i);
            CHECK(is_filled(bytes, BYTES, i), "message %u", i);
        } else {
            CHECK(fi_cq_readerr(own.cq, &error, 0) == 1);
            CHECK(error.err == FI_ENOBUFS && error.tag == i, "error %d", error.err);
            lost++;
        }
    }
    return lost;
}

int main(void)
{
    setenv("FI_SUNSTAR_UNEXPECTED", "1", 1);
    begin(FI_TAGGED, 0);
    /* barrier() looks. */
    if (rank == 0)
        send_all();
    barrier();
    if (rank == 1) {
        const unsigned lost = take_all();
        CHECK(lost == 0, "%u messages are lost", lost);
    }
    barrier();
    /* A sleeper does not. */
    if (rank == 0) {
        send_all();
    } else {
        usleep(100000);
        const unsigned lost = take_all();
        /* The accelerated interface holds those back for which it has no room itself. */
        CHECK(lost >= 50 && lost <= COUNT - 50, "%u messages are lost", lost);
    }
    barrier();
    end();
    return 0;
}
