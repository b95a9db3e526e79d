/* The three atomic operations, one after the other: swap (PtlGetPut), swap if equal (PtlCGetPut), and add
 * (PtlGetAdd), each up to its reply.
 *
 *     sunstar run -n 2 examples/studies/suite/atomics.c [operations] */
#include "portals.h"
#include <stdint.h>

static int64_t number, before, operand;

static void swap(ptl_handle_md_t old, ptl_handle_md_t new)
{
    check(PtlGetPut(old, new, target, PORTAL, 0, BITS, 0, 0), "PtlGetPut");
}

static void swap_if_equal(ptl_handle_md_t old, ptl_handle_md_t new)
{
    check(PtlCGetPut(old, new, target, PORTAL, 0, BITS, 0, (ptl_hdr_data_t)operand), "PtlCGetPut");
}

static void add(ptl_handle_md_t old, ptl_handle_md_t new)
{
    check(PtlGetAdd(old, new, target, PORTAL, 0, BITS, 0, 0), "PtlGetAdd");
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const int times = (int)argument(argc, argv, 1, 20);
    open_memory(&number, 8);
    if (rank == 0) {
        void (*const operations[])(ptl_handle_md_t, ptl_handle_md_t) = {swap, swap_if_equal, add};
        printf("%10s %12s %18s %12s\n", "bytes", "swap_us", "swap_if_equal_us", "add_us");
        for (ptl_size_t bytes = 4; bytes <= 8; bytes *= 2) {
            const ptl_handle_md_t old = bind_memory(&before, bytes, 0);
            const ptl_handle_md_t new = bind_memory(&operand, bytes, 1);
            double each[3];
            operand = 5;
            for (int i = 0; i < 3; i++) {
                operations[i](old, new);
                wait_for(PTL_EVENT_REPLY_END, 1);
                const double start = MPI_Wtime();
                for (int k = 0; k < times; k++) {
                    operations[i](old, new);
                    wait_for(PTL_EVENT_REPLY_END, 1);
                }
                each[i] = (MPI_Wtime() - start) / times * 1e6;
            }
            /* Both swaps left a 5; the last add found that and all adds before it. */
            if (before != 5 + 5 * times)
                fail("%lld instead of %d", (long long)before, 5 + 5 * times);
            printf("%10d %12.3f %18.3f %12.3f\n", (int)bytes, each[0], each[1], each[2]);
            check(PtlMDUnlink(old), "PtlMDUnlink");
            check(PtlMDUnlink(new), "PtlMDUnlink");
        }
    }
    close_memory();
    return 0;
}
