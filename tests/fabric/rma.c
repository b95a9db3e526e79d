/* Remote memory: writes and reads of many lengths, with data words, injected, of oneself;
 * regions that come and go. */
#include "harness.h"

#define BYTES (1 << 20)
#define KEY 0x1234

static char memory[BYTES], local[BYTES];
static int mark;

int main(void)
{
    static const size_t lengths[] = {0, 1, 8, 13, 4096, 70000, BYTES};
    struct fid_mr *region;
    begin(FI_MSG | FI_RMA, 0);
    OK(fi_mr_reg(domain, memory, BYTES, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0, &region,
                 NULL));
    CHECK(fi_mr_key(region) == KEY);
    barrier();
    for (unsigned i = 0; i < sizeof lengths / sizeof *lengths; i++) {
        const size_t length = lengths[i], offset = BYTES - length;
        if (rank == 0) {
            fill(local, length, i);
            DO(fi_write(own.ep, local, length, NULL, own.peers[1], offset, KEY, &mark));
            CHECK(wait_for(&mark).flags & FI_WRITE);
            memset(local, 0, length);
            DO(fi_read(own.ep, local, length, NULL, own.peers[1], offset, KEY, &mark));
            CHECK(wait_for(&mark).flags & FI_READ);
            CHECK(is_filled(local, length, i), "%zu bytes read are wrong", length);
        }
        barrier();
        if (rank == 1)
            CHECK(is_filled(memory + offset, length, i), "%zu bytes written are wrong", length);
        barrier();
    }
    /* The owner is told of those with a data word, and of no others. */
    if (rank == 0) {
        for (unsigned i = 0; i < 20; i++) {
            fill(local, 500, i);
            DO(fi_writedata(own.ep, local, 500, NULL, 70 + i, own.peers[1], 500 * i, KEY, &mark));
            wait_for(&mark);
            DO(fi_inject_write(own.ep, local, 500, own.peers[1], 20000 + 500 * i, KEY));
            fill(local, 500, 100 + i);
            DO(fi_inject_writedata(own.ep, local, 500, 170 + i, own.peers[1], 40000 + 500 * i,
                                   KEY));
        }
    } else {
        for (unsigned i = 0; i < 40; i++) {
            const struct fi_cq_tagged_entry entry = next();
            const unsigned at = i / 2;
            CHECK(entry.flags & FI_REMOTE_CQ_DATA && entry.flags & FI_RMA && entry.len == 500);
            CHECK(entry.data == (i % 2 ? 170 + at : 70 + at), "data %lu",
                  (unsigned long)entry.data);
            if (i % 2)
                CHECK(is_filled(memory + 40000 + 500 * at, 500, 100 + at));
            else
                CHECK(is_filled(memory + 500 * at, 500, at));
        }
        for (unsigned i = 0; i < 20; i++)
            CHECK(is_filled(memory + 20000 + 500 * i, 500, i));
    }
    barrier();
    /* Many at a time, more than the interface answers at once. */
    if (rank == 0) {
        static int marks[200];
        for (unsigned i = 0; i < 200; i++)
            DO(fi_read(own.ep, local + 1000 * i, 100, NULL, own.peers[1], 40000, KEY, &marks[i]));
        for (unsigned i = 0; i < 200; i++) {
            wait_for(&marks[i]);
            CHECK(is_filled(local + 1000 * i, 100, 100));
        }
    }
    /* One's own memory. */
    fill(local, 3000, 5);
    DO(fi_write(own.ep, local, 3000, NULL, own.peers[rank], 900000, KEY, &mark));
    wait_for(&mark);
    CHECK(is_filled(memory + 900000, 3000, 5));
    barrier();
    OK(fi_close(&region->fid));
    OK(fi_mr_reg(domain, memory, 8, FI_REMOTE_READ, 0, KEY, 0, &region, NULL));
    OK(fi_close(&region->fid));
    end();
    return 0;
}
