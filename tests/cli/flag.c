/* Rank 0 looks at a word of its memory, and for events, until rank 1 has written the word: of that
 * nobody is told. It says how late it sees it, and then how late it ends a wait by its clock. */
#include "../fabric/harness.h"

#include <time.h>

#define KEY 3
#define WRITTEN_MS 200
#define LIMIT_US 250000

static volatile uint64_t flag;

static uint64_t us(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000 + (uint64_t)time.tv_nsec / 1000;
}

int main(void)
{
    struct fid_mr *region;
    uint64_t one = 1;
    int mark;
    begin(FI_MSG | FI_RMA, 0);
    OK(fi_mr_reg(domain, (void *)&flag, sizeof flag, FI_REMOTE_WRITE, 0, KEY, 0, &region, NULL));
    barrier();
    const uint64_t began = us();
    if (rank == 0) {
        while (!flag)
            look();
        printf("seen %lu us late\n", (unsigned long)(us() - began - WRITTEN_MS * 1000));
        const uint64_t again = us();
        while (us() - again < LIMIT_US)
            look();
        printf("ended %lu us late\n", (unsigned long)(us() - again - LIMIT_US));
    } else {
        usleep(WRITTEN_MS * 1000);
        DO(fi_write(own.ep, &one, sizeof one, NULL, own.peers[0], 0, KEY, &mark));
        wait_for(&mark);
    }
    barrier();
    OK(fi_close(&region->fid));
    end();
    return 0;
}
