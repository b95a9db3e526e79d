/* Tagged messages: masks, wildcards, order, both directions at a time. */
#include "harness.h"

#define COUNT 200

static char in[COUNT][64], out[64];
static int marks[COUNT];

/* Receives with exact tags, posted in the opposite order of sending. */
static void exact(bool posted)
{
    if (rank == 0) {
        if (posted)
            barrier();
        for (int i = 0; i < COUNT; i++) {
            fill(out, 64, (unsigned)i);
            DO(fi_tinject(own.ep, out, 64, own.peers[1], 1000 + (uint64_t)i));
        }
        if (!posted)
            barrier();
    } else {
        if (!posted) {
            barrier();
            usleep(3000);
        }
        for (int i = COUNT - 1; i >= 0; i--)
            DO(fi_trecv(own.ep, in[i], 64, NULL, FI_ADDR_UNSPEC, 1000 + (uint64_t)i, 0, &marks[i]));
        if (posted)
            barrier();
        for (int i = 0; i < COUNT; i++) {
            const struct fi_cq_tagged_entry entry = wait_for(&marks[i]);
            CHECK(entry.tag == 1000 + (uint64_t)i && entry.flags & FI_TAGGED && entry.len == 64);
            CHECK(is_filled(in[i], 64, (unsigned)i), "message %d is wrong", i);
        }
    }
    barrier();
}

/* Wildcards take messages in the order in which they were sent, whatever their lengths. */
static void order(void)
{
    static char large[40000];
    if (rank == 0) {
        for (int i = 0; i < COUNT; i++) {
            fill(large, sizeof large, (unsigned)i);
            const size_t length = i % 3 == 2 ? 40000 : (size_t)i;
            DO(fi_tsend(own.ep, large, length, NULL, own.peers[1], (uint64_t)i << 8, &marks[i]));
            wait_for(&marks[i]);
        }
    } else {
        for (int i = 0; i < COUNT; i++) {
            DO(fi_trecv(own.ep, large, sizeof large, NULL, own.peers[0], 0, ~UINT64_C(0xFF),
                        &marks[i]));
            const struct fi_cq_tagged_entry entry = wait_for(&marks[i]);
            CHECK(entry.tag == (uint64_t)i << 8, "tag %lx and not %x", (unsigned long)entry.tag,
                  i << 8);
            CHECK(entry.len == (i % 3 == 2 ? 40000 : (size_t)i) &&
                  is_filled(large, entry.len, (unsigned)i));
        }
    }
    barrier();
}

/* A short message is there before the longer one that was sent before it. Both come
 * unexpectedly, and the first receive takes the first. */
static void overtaken(void)
{
    static char large[16000];
    int sent;
    if (rank == 0) {
        for (unsigned i = 0; i < 20; i++) {
            fill(large, sizeof large, i);
            DO(fi_tsend(own.ep, large, i % 2 ? 8 : sizeof large, NULL, own.peers[1], 3, &sent));
            if (i % 2 == 0)
                DO(fi_tinject(own.ep, large, 8, own.peers[1], 3));
            wait_for(&sent);
        }
    } else {
        for (unsigned i = 0; i < 30; i++) {
            DO(fi_trecv(own.ep, large, sizeof large, NULL, FI_ADDR_UNSPEC, 3, 0, &marks[0]));
            const size_t length = wait_for(&marks[0]).len;
            CHECK(length == (i % 3 == 0 ? sizeof large : 8), "message %u has %zu bytes", i, length);
        }
    }
    barrier();
}

/* A mask leaves what does not match for others. */
static void masks(void)
{
    if (rank == 0) {
        static const uint64_t tags[] = {0x10, 0x21, 0x12, 0x23};
        for (int i = 0; i < 4; i++)
            DO(fi_tinject(own.ep, &tags[i], 8, own.peers[1], tags[i]));
        barrier();
    } else {
        barrier();
        static const uint64_t wanted[] = {0x20, 0x20, 0x10, 0x10};
        static const uint64_t come[] = {0x21, 0x23, 0x10, 0x12};
        for (int i = 0; i < 4; i++) {
            uint64_t tag;
            DO(fi_trecv(own.ep, &tag, 8, NULL, FI_ADDR_UNSPEC, wanted[i], 0xF, &marks[i]));
            CHECK(wait_for(&marks[i]).tag == come[i] && tag == come[i], "tag %lx",
                  (unsigned long)tag);
        }
    }
    barrier();
}

/* More receives than the interface has match entries: the rest waits beside it, in order. */
static void many(void)
{
    enum { MANY = 1000 };
    static uint64_t words[MANY];
    static int contexts[MANY];
    if (rank == 1)
        for (int i = 0; i < MANY; i++)
            DO(fi_trecv(own.ep, &words[i], 8, NULL, FI_ADDR_UNSPEC, 5, 0, &contexts[i]));
    barrier();
    if (rank == 0) {
        for (uint64_t i = 0; i < MANY; i++)
            DO(fi_tinject(own.ep, &i, 8, own.peers[1], 5));
    } else {
        for (int i = 0; i < MANY; i++)
            wait_for(&contexts[i]);
        for (uint64_t i = 0; i < MANY; i++)
            CHECK(words[i] == i, "receive %lu has message %lu", (unsigned long)i,
                  (unsigned long)words[i]);
    }
    barrier();
}

/* Both send long messages to each other, before either receives. */
static void crossing(void)
{
    static char here[300000], there[300000];
    int sent, got;
    fill(here, sizeof here, 90 + (unsigned)rank);
    DO(fi_tsend(own.ep, here, sizeof here, NULL, own.peers[1 - rank], 9, &sent));
    DO(fi_trecv(own.ep, there, sizeof there, NULL, own.peers[1 - rank], 9, 0, &got));
    CHECK(wait_for(&got).len == sizeof there);
    CHECK(is_filled(there, sizeof there, 91 - (unsigned)rank));
    wait_for(&sent);
    barrier();
}

int main(void)
{
    begin(FI_TAGGED | FI_DIRECTED_RECV, 0);
    exact(true);
    exact(false);
    order();
    overtaken();
    masks();
    many();
    crossing();
    end();
    return 0;
}
