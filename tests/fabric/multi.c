/* Buffers for several messages: small ones, messages that do not fit any more, long ones,
 * consumed in any order, before and after they are posted. */
#include "harness.h"

#define BUFFERS 4
#define BYTES 4096
#define LARGE (1 << 20)
#define LEAST 1024 /* no message is longer: else one that fits overtakes another that does not */

static char buffers[BUFFERS][BYTES], large[LARGE];
static int posted, freed;

static void post(char *buffer, size_t bytes)
{
    const struct iovec list = {buffer, bytes};
    const struct fi_msg msg = {&list, NULL, 1, FI_ADDR_UNSPEC, buffer, 0};
    OK(fi_recvmsg(own.ep, &msg, FI_MULTI_RECV));
    posted++;
}

/* The next message; buffers that come back are posted again. */
static struct fi_cq_tagged_entry message(void)
{
    for (;;) {
        const struct fi_cq_tagged_entry entry = next();
        if (entry.flags & FI_MULTI_RECV) {
            freed++;
            if (entry.op_context != large)
                post(entry.op_context, BYTES);
        }
        if (entry.flags & FI_RECV) {
            const char *begin = entry.op_context;
            const size_t bytes = begin == large ? LARGE : BYTES;
            CHECK((char *)entry.buf >= begin && (char *)entry.buf + entry.len <= begin + bytes,
                  "a message is not in its buffer");
            return entry;
        }
    }
}

static size_t length_of(unsigned i)
{
    return (i * 97) % 900;
}

static void send_all(unsigned count)
{
    static char out[900];
    for (unsigned i = 0; i < count; i++) {
        int mark;
        fill(out, length_of(i), i);
        DO(fi_senddata(own.ep, out, length_of(i), NULL, i, own.peers[1], &mark));
        wait_for(&mark);
    }
}

/* In their order, though short messages end before longer ones ahead of them. */
static void take_all(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct fi_cq_tagged_entry entry = message();
        CHECK(entry.data == i, "message %lu comes instead of %u", (unsigned long)entry.data, i);
        CHECK(entry.len == length_of(i) && is_filled(entry.buf, entry.len, i), "message %u", i);
    }
}

int main(void)
{
    begin(FI_MSG | FI_MULTI_RECV, 0);
    const size_t least = LEAST;
    size_t told, bytes = sizeof told;
    OK(fi_setopt(&own.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least));
    OK(fi_getopt(&own.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &told, &bytes));
    CHECK(told == LEAST && bytes == sizeof told);

    if (rank == 1)
        for (int i = 0; i < BUFFERS; i++)
            post(buffers[i], BYTES);
    barrier();
    if (rank == 0)
        send_all(500);
    else
        take_all(500);
    CHECK(rank == 0 || freed > 50, "%d buffers came back", freed);
    barrier();

    /* All is there before the receiver looks. */
    if (rank == 0) {
        send_all(200);
        barrier();
    } else {
        barrier();
        usleep(3000);
        take_all(200);
    }
    barrier();

    /* Long messages need a place of their own between the short ones. */
    enum { LONG = 60000 };
    if (rank == 1) {
        post(large, LARGE);
        /* The small ones stand before it, and go: cancelled, or full and on their way back. */
        int cancelled = 0;
        for (int i = 0; i < BUFFERS; i++) {
            const ssize_t result = fi_cancel(&own.ep->fid, buffers[i]);
            CHECK(result == 0 || result == -FI_ENOENT, "fi_cancel answers %zd", result);
            cancelled += result == 0;
        }
        for (int gone = 0; gone < BUFFERS; gone++) {
            struct fi_cq_tagged_entry entry;
            struct fi_cq_err_entry error = {0};
            ssize_t got;
            while ((got = fi_cq_read(own.cq, &entry, 1)) == -FI_EAGAIN)
                ;
            if (got == 1) {
                CHECK(entry.flags == FI_MULTI_RECV, "flags %lx", (unsigned long)entry.flags);
            } else {
                CHECK(fi_cq_readerr(own.cq, &error, 0) == 1 && error.err == FI_ECANCELED);
                cancelled--;
            }
        }
        CHECK(cancelled == 0);
    }
    barrier();
    if (rank == 0) {
        static char out[12][LONG];
        static int marks[12];
        for (unsigned i = 0; i < 12; i++) {
            const size_t length = i % 2 ? LONG : 100 + i;
            fill(out[i], length, i);
            DO(fi_senddata(own.ep, out[i], length, NULL, i, own.peers[1], &marks[i]));
        }
        for (unsigned i = 0; i < 12; i++)
            wait_for(&marks[i]);
    } else {
        for (unsigned i = 0; i < 12; i++) {
            const struct fi_cq_tagged_entry entry = message();
            CHECK(entry.data == i, "message %lu comes instead of %u", (unsigned long)entry.data, i);
            CHECK(entry.len == (i % 2 ? LONG : 100 + i) && is_filled(entry.buf, entry.len, i),
                  "message %u", i);
        }
    }
    end();
    return 0;
}
