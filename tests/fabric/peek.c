/* Peeks, claims, discards: of short and long messages. */
#include "harness.h"

static char in[50000], out[50000];
static int mark;

static void ask(uint64_t tag, uint64_t flags, void *buffer, size_t length)
{
    const struct iovec list = {buffer, length};
    const struct fi_msg_tagged msg = {&list, NULL, 1, FI_ADDR_UNSPEC, tag, 0, &mark, 0};
    OK(fi_trecvmsg(own.ep, &msg, flags));
}

/* Peeks until the message is there. */
static struct fi_cq_tagged_entry peek(uint64_t tag, uint64_t flags)
{
    for (;;) {
        struct fi_cq_tagged_entry entry;
        ssize_t got;
        ask(tag, FI_PEEK | flags, NULL, 0);
        while ((got = fi_cq_read(own.cq, &entry, 1)) == -FI_EAGAIN)
            ;
        if (got == 1)
            return entry;
        struct fi_cq_err_entry error = {0};
        CHECK(got == -FI_EAVAIL && fi_cq_readerr(own.cq, &error, 0) == 1);
        CHECK(error.err == FI_ENOMSG && error.op_context == &mark, "error %d", error.err);
    }
}

static void receiver(size_t length)
{
    ask(77, FI_PEEK, NULL, 0);
    const struct fi_cq_err_entry error = next_error();
    CHECK(error.err == FI_ENOMSG && error.tag == 77);
    barrier();
    /* A peek leaves the message. */
    struct fi_cq_tagged_entry entry = peek(1, 0);
    CHECK(entry.len == length && entry.tag == 1 && entry.flags & FI_REMOTE_CQ_DATA &&
              entry.data == 5,
          "a peek says %zu bytes, data %lu", entry.len, (unsigned long)entry.data);
    peek(1, 0);
    OK(fi_trecv(own.ep, in, length, NULL, FI_ADDR_UNSPEC, 1, 0, &mark));
    CHECK(next().len == length && is_filled(in, length, 1));
    /* What is claimed is nobody else's. */
    CHECK(peek(2, FI_CLAIM).len == length);
    int other;
    OK(fi_trecv(own.ep, in, length, NULL, FI_ADDR_UNSPEC, 2, 0, &other));
    char claimed[50000];
    ask(2, FI_CLAIM, claimed, length);
    CHECK(wait_for(&mark).len == length && is_filled(claimed, length, 2));
    barrier(); /* the second message with tag 2 is sent after this */
    CHECK(wait_for(&other).len == length && is_filled(in, length, 4));
    /* Discarded: at once, or after it was claimed. */
    CHECK(peek(3, FI_DISCARD).len == length);
    CHECK(peek(5, FI_CLAIM).len == length);
    ask(5, FI_CLAIM | FI_DISCARD, NULL, 0);
    next();
    ask(3, FI_PEEK, NULL, 0);
    CHECK(next_error().err == FI_ENOMSG);
    ask(5, FI_PEEK, NULL, 0);
    CHECK(next_error().err == FI_ENOMSG);
    barrier();
}

static void sender(size_t length)
{
    static char of_tag[6][50000];
    static int marks[6];
    barrier();
    for (unsigned tag = 1; tag <= 5; tag++) {
        if (tag == 4)
            continue;
        fill(of_tag[tag], length, tag);
        DO(fi_tsenddata(own.ep, of_tag[tag], length, NULL, 5, own.peers[1], tag, &marks[tag]));
    }
    fill(out, length, 4);
    for (unsigned tag = 1; tag <= 2; tag++)
        wait_for(&marks[tag]);
    barrier();
    DO(fi_tsend(own.ep, out, length, NULL, own.peers[1], 2, &marks[4]));
    wait_for(&marks[4]);
    wait_for(&marks[3]);
    wait_for(&marks[5]);
    barrier();
}

int main(void)
{
    begin(FI_TAGGED, 0);
    for (unsigned i = 0; i < 2; i++) {
        const size_t length = i == 0 ? 100 : 50000;
        if (rank == 0)
            sender(length);
        else
            receiver(length);
    }
    end();
    return 0;
}
