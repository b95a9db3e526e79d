/* Runs of the program's memory, moved by the program's own process while it waits: for the simulator, each
 * page of another process costs far more than the few bytes of a run (docs/decisions/0052).
 *
 * The kernel moves them, so that memory which is not there is an answer and no signal: from the view of
 * process_vm_writev(2) the runs are the caller's own memory, which it just copies, and the packed bytes are
 * the other process's. That this is the same process does not matter to it. */
#define _GNU_SOURCE
#include "rank.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Far from where the kernel puts what a program maps: simulated time depends on where that stands. */
#define FAR_AWAY 0x200000000000u
/* Runs that the kernel gets at a time, which takes 1024 at most: so many lines stay in the second cache. */
#define RUNS_AT_A_TIME 256u
#define BYTES (RANK_CHANNEL_STRIDE - RANK_RUNS)

static char *area; /* NULL: there is none, and nothing is ever moved */

_Static_assert(sizeof(struct iovec) * RANK_RUNS_MAX == RANK_PACKED - RANK_RUNS, "layout");
_Static_assert(RANK_PACKED_MAX == RANK_CHANNEL_STRIDE - RANK_PACKED, "layout");

void rank_move_begin(int file, uint32_t number)
{
    void *at = area ? area : (void *)FAR_AWAY;
    const off_t from = (off_t)number * RANK_CHANNEL_STRIDE + RANK_RUNS;
    const int all = PROT_READ | PROT_WRITE, fixed = area ? MAP_FIXED : 0;
    void *memory = mmap(at, BYTES, all, MAP_SHARED | fixed, file, from);
    area = memory == MAP_FAILED ? NULL : memory;
}

void rank_move_look(void *copy, size_t bytes)
{
    if (area)
        memcpy(copy, area + (RANK_PACKED - RANK_RUNS), bytes);
}

/* Bytes of these runs that were moved. */
static uint64_t move_some(uint32_t way, const struct iovec *runs, uint32_t count,
                          struct iovec *packed)
{
    const long call = way == RANK_WAY_GATHER ? SYS_process_vm_writev : SYS_process_vm_readv;
    const long moved = syscall(call, syscall(SYS_getpid), runs, (long)count, packed, 1L, 0L);
    return moved < 0 ? 0 : (uint64_t)moved;
}

static uint64_t open_pages(const struct iovec *runs, uint32_t count)
{
    uint64_t all = 0;
    for (uint32_t i = 0; i < count; i++)
        if (rank_guard_open((uintptr_t)runs[i].iov_base, runs[i].iov_len))
            all += runs[i].iov_len;
    return all;
}

void rank_move(struct rank_channel *channel)
{
    const uint32_t way = channel->way, count = area ? channel->runs : 0;
    const struct iovec *runs = (const struct iovec *)area;
    struct iovec packed = {area + (RANK_PACKED - RANK_RUNS), 0};
    uint64_t all = 0;
    if (way == RANK_WAY_OPEN) {
        channel->moved = open_pages(runs, count);
        return;
    }
    for (uint32_t first = 0; first < count; first += RUNS_AT_A_TIME) {
        const uint32_t left = count - first, some = left < RUNS_AT_A_TIME ? left : RUNS_AT_A_TIME;
        packed.iov_len = 0;
        for (uint32_t i = 0; i < some; i++) {
            packed.iov_len += runs[first + i].iov_len;
            /* The kernel waits for each run's memory in turn; so it comes together. An address that is not
             * there does no harm. */
            __builtin_prefetch(runs[first + i].iov_base);
        }
        const uint64_t moved = move_some(way, &runs[first], some, &packed);
        all += moved;
        if (moved != packed.iov_len)
            break;
        packed.iov_base = (char *)packed.iov_base + moved;
    }
    channel->moved = all;
}
