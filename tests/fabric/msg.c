/* Messages without tags: both orders of sending and receiving, lengths around each limit, data
 * words, sources, injection, directed receives. */
#include "harness.h"

static const size_t lengths[] = {0, 1, 12, 13, 64, 4096, 16384, 16385, 100000, 1 << 20};
#define LENGTHS (sizeof lengths / sizeof *lengths)
static char buffer[1 << 20], out[1 << 20];

static void expect(size_t length, unsigned seed, bool posted)
{
    fi_addr_t from = 0;
    int mark;
    if (!posted)
        OK(fi_recv(own.ep, buffer, sizeof buffer, NULL, FI_ADDR_UNSPEC, &mark));
    const struct fi_cq_tagged_entry entry = next_from(&own, &from);
    CHECK(entry.flags & FI_RECV && entry.flags & FI_MSG && !(entry.flags & FI_REMOTE_CQ_DATA));
    CHECK(entry.len == length, "%zu bytes have come, and not %zu", entry.len, length);
    CHECK(from == own.peers[0], "the message is from %lu", (unsigned long)from);
    CHECK(is_filled(buffer, length, seed), "the %zu bytes are wrong", length);
}

static void send_one(size_t length, unsigned seed)
{
    int mark;
    fill(out, length, seed);
    DO(fi_send(own.ep, out, length, NULL, own.peers[1], &mark));
    const struct fi_cq_tagged_entry entry = wait_for(&mark);
    CHECK(entry.flags & FI_SEND && entry.flags & FI_MSG);
}

int main(void)
{
    begin(FI_MSG | FI_SOURCE | FI_DIRECTED_RECV, 0);
    int mark;
    for (unsigned i = 0; i < LENGTHS; i++) { /* a receive is there first */
        if (rank == 1)
            OK(fi_recv(own.ep, buffer, sizeof buffer, NULL, FI_ADDR_UNSPEC, &mark));
        barrier();
        if (rank == 0)
            send_one(lengths[i], i);
        else
            expect(lengths[i], i, true);
        barrier();
    }
    for (unsigned i = 0; i < LENGTHS; i++) { /* the message is there first */
        if (rank == 0) {
            fill(out, lengths[i], i);
            DO(fi_send(own.ep, out, lengths[i], NULL, own.peers[1], &mark));
        }
        barrier();
        if (rank == 1) {
            usleep(2000);
            expect(lengths[i], i, false);
        } else {
            wait_for(&mark);
        }
        barrier();
    }
    /* Data words, also those that a long message's header has no room for. */
    static const uint64_t words[] = {0, 7, 0x7FFFF, 0x80000, 0xFFFFFFFF};
    for (unsigned i = 0; i < 5; i++) {
        for (unsigned length = 8; length <= 80000; length *= 10000) {
            if (rank == 0) {
                fill(out, length, i);
                DO(fi_senddata(own.ep, out, length, NULL, words[i], own.peers[1], &mark));
                wait_for(&mark);
            } else {
                OK(fi_recv(own.ep, buffer, sizeof buffer, NULL, own.peers[0], &mark));
                const struct fi_cq_tagged_entry entry = wait_for(&mark);
                CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.data == words[i], "data %lx",
                      (unsigned long)entry.data);
                CHECK(entry.len == length && is_filled(buffer, length, i));
            }
        }
    }
    /* Injected ones complete in silence, and their memory is free at once. */
    if (rank == 0) {
        for (unsigned i = 0; i < 100; i++) {
            fill(out, 200, i);
            DO(fi_inject(own.ep, out, 200, own.peers[1]));
        }
        for (unsigned i = 0; i < 100; i++) {
            fill(out, 100, i);
            DO(fi_injectdata(own.ep, out, 100, i, own.peers[1]));
        }
        barrier();
        look();
        CHECK(keeps == taken, "an injected message has a completion");
    } else {
        for (unsigned i = 0; i < 200; i++) {
            OK(fi_recv(own.ep, buffer, sizeof buffer, NULL, FI_ADDR_UNSPEC, &mark));
            const struct fi_cq_tagged_entry entry = wait_for(&mark);
            CHECK(entry.len == (i < 100 ? 200 : 100) && is_filled(buffer, entry.len, i % 100));
            CHECK(i < 100 || entry.data == i - 100);
        }
        barrier();
    }
    /* A receive directed to oneself does not take another's message. */
    if (rank == 1) {
        int wanted, self;
        char here[8];
        OK(fi_recv(own.ep, here, sizeof here, NULL, own.peers[1], &self));
        OK(fi_recv(own.ep, buffer, sizeof buffer, NULL, own.peers[0], &wanted));
        barrier();
        CHECK(wait_for(&wanted).len == 100);
        DO(fi_inject(own.ep, "myself", 7, own.peers[1]));
        CHECK(wait_for(&self).len == 7 && strcmp(here, "myself") == 0);
    } else {
        barrier();
        DO(fi_send(own.ep, out, 100, NULL, own.peers[1], &mark));
        wait_for(&mark);
    }
    end();
    return 0;
}
