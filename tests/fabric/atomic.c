/* Atomic operations: each that fi_query_atomic names, from all ranks on the same words; and none
 * that it does not. */
#include "harness.h"

#define KEY 9
#define ROUNDS 50

static struct {
    uint64_t sum, lock, swapped[8];
    uint32_t small;
    int32_t negative;
} memory;
static int mark;

static uint64_t at(const void *place)
{
    return (uint64_t)((const char *)place - (const char *)&memory);
}

int main(void)
{
    struct fid_mr *region;
    struct fi_atomic_attr attr;
    begin(FI_MSG | FI_RMA | FI_ATOMIC, 0);
    OK(fi_query_atomic(domain, FI_UINT64, FI_SUM, &attr, FI_FETCH_ATOMIC));
    CHECK(attr.count == 1 && attr.size == 8);
    OK(fi_query_atomic(domain, FI_INT32, FI_CSWAP, &attr, FI_COMPARE_ATOMIC));
    OK(fi_query_atomic(domain, FI_UINT64, FI_ATOMIC_WRITE, &attr, 0));
    CHECK(attr.count == 8);
    CHECK(fi_query_atomic(domain, FI_UINT64, FI_PROD, &attr, 0) == -FI_EOPNOTSUPP);
    CHECK(fi_query_atomic(domain, FI_DOUBLE, FI_SUM, &attr, 0) == -FI_EOPNOTSUPP);
    size_t count;
    OK(fi_fetch_atomicvalid(own.ep, FI_DOUBLE, FI_ATOMIC_READ, &count));
    CHECK(fi_compare_atomicvalid(own.ep, FI_UINT64, FI_MSWAP, &count) == -FI_EOPNOTSUPP);
    OK(fi_mr_reg(domain, &memory, sizeof memory, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, KEY, 0,
                 &region, NULL));
    barrier();

    /* Everybody adds, each old value is seen once. */
    uint64_t one = 1, old, previous = 0;
    for (int i = 0; i < ROUNDS; i++) {
        DO(fi_fetch_atomic(own.ep, &one, 1, NULL, &old, NULL, own.peers[0], at(&memory.sum), KEY,
                           FI_UINT64, FI_SUM, &mark));
        CHECK(wait_for(&mark).flags & FI_ATOMIC);
        CHECK(i == 0 || old > previous);
        previous = old;
        DO(fi_atomic(own.ep, &one, 1, NULL, own.peers[0], at(&memory.sum), KEY, FI_UINT64, FI_SUM,
                     &mark));
        wait_for(&mark);
    }
    const int32_t minus = -3;
    DO(fi_inject_atomic(own.ep, &minus, 1, own.peers[0], at(&memory.negative), KEY, FI_INT32,
                        FI_SUM));
    /* A lock by compare-and-swap, under which one adds by a read and a write. */
    for (int i = 0; i < 5; i++) {
        uint64_t free = 0, mine = (uint64_t)rank + 1;
        uint32_t value;
        do {
            DO(fi_compare_atomic(own.ep, &mine, 1, NULL, &free, NULL, &old, NULL, own.peers[0],
                                 at(&memory.lock), KEY, FI_UINT64, FI_CSWAP, &mark));
            wait_for(&mark);
        } while (old != 0);
        DO(fi_fetch_atomic(own.ep, NULL, 1, NULL, &value, NULL, own.peers[0], at(&memory.small),
                           KEY, FI_UINT32, FI_ATOMIC_READ, &mark));
        wait_for(&mark);
        value++;
        DO(fi_atomic(own.ep, &value, 1, NULL, own.peers[0], at(&memory.small), KEY, FI_UINT32,
                     FI_ATOMIC_WRITE, &mark));
        wait_for(&mark);
        DO(fi_fetch_atomic(own.ep, &free, 1, NULL, &old, NULL, own.peers[0], at(&memory.lock), KEY,
                           FI_UINT64, FI_ATOMIC_WRITE, &mark));
        wait_for(&mark);
        CHECK(old == mine, "the lock was %lu's", (unsigned long)old);
    }
    if (rank == size - 1) { /* 64 bytes in one step */
        uint64_t eight[8] = {1, 2, 3, 4, 5, 6, 7, 8}, was[8] = {9};
        DO(fi_fetch_atomic(own.ep, eight, 8, NULL, was, NULL, own.peers[0], at(memory.swapped), KEY,
                           FI_UINT64, FI_ATOMIC_WRITE, &mark));
        wait_for(&mark);
        CHECK(was[0] == 0 && was[7] == 0);
    }
    CHECK(fi_atomic(own.ep, &one, 1, NULL, own.peers[0], 0, KEY, FI_UINT64, FI_BXOR, &mark) ==
          -FI_EOPNOTSUPP);
    CHECK(fi_atomic(own.ep, &one, 2, NULL, own.peers[0], 0, KEY, FI_UINT64, FI_SUM, &mark) ==
          -FI_EINVAL);
    barrier();
    if (rank == 0) {
        /* Nobody has waited for the injected ones. */
        while (*(volatile int32_t *)&memory.negative != -3 * size)
            usleep(10);
        CHECK(memory.sum == (uint64_t)(2 * ROUNDS * size), "sum %lu", (unsigned long)memory.sum);
        CHECK(memory.small == 5 * (uint32_t)size, "small %u", memory.small);
        CHECK(memory.negative == -3 * size, "negative %d", memory.negative);
        CHECK(memory.lock == 0 && memory.swapped[7] == 8);
    }
    barrier();
    OK(fi_close(&region->fid));
    end();
    return 0;
}
