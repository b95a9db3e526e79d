/* Put and get as GASNet's layer over Portals uses them: a blocking put ends with its acknowledgement, a
 * blocking get with its reply (latency); 16 at a time without waiting between them (bandwidth, 10^6 bytes a
 * second). The target waits in MPI_Barrier.
 *
 *     sunstar run -n 2 examples/studies/suite/put_get.c [largest size in bytes] */
#include "portals.h"

enum { AT_A_TIME = 16 };

static void put(ptl_handle_md_t memory, ptl_size_t bytes)
{
    check(PtlPutRegion(memory, 0, bytes, PTL_ACK_REQ, target, PORTAL, 0, BITS, 0, 0),
          "PtlPutRegion");
}

static void get(ptl_handle_md_t memory, ptl_size_t bytes)
{
    check(PtlGetRegion(memory, 0, bytes, target, PORTAL, 0, BITS, 0), "PtlGetRegion");
}

/* Seconds for an operation, begun so many at a time. */
static double time_of(ptl_handle_md_t memory, ptl_size_t bytes, int puts, int at_a_time)
{
    const int times = repetitions((int)bytes) / 5 + 1;
    double start = 0;
    for (int i = -1; i < times; i++) {
        if (i == 0)
            start = MPI_Wtime();
        for (int k = 0; k < at_a_time; k++) {
            if (puts)
                put(memory, bytes);
            else
                get(memory, bytes);
        }
        wait_for(puts ? PTL_EVENT_ACK : PTL_EVENT_REPLY_END, at_a_time);
    }
    return (MPI_Wtime() - start) / times / at_a_time;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const int largest = (int)argument(argc, argv, 1, 1 << 20);
    char *buffer = buffer_of((size_t)largest);
    open_memory(buffer, (ptl_size_t)largest);
    if (rank == 0) {
        const ptl_handle_md_t memory = bind_memory(buffer, (ptl_size_t)largest, 0);
        printf("%10s %12s %12s %12s %12s\n", "bytes", "put_us", "get_us", "put_MB/s", "get_MB/s");
        for (int bytes = 8; bytes <= largest; bytes *= 2) {
            double alone[2], many[2];
            for (int puts = 0; puts < 2; puts++) {
                alone[puts] = time_of(memory, (ptl_size_t)bytes, puts, 1);
                many[puts] = time_of(memory, (ptl_size_t)bytes, puts, AT_A_TIME);
            }
            if (buffer[0] != 2)
                fail("the target's bytes did not come: %d", buffer[0]);
            printf("%10d %12.3f %12.3f %12.2f %12.2f\n", bytes, alone[1] * 1e6, alone[0] * 1e6,
                   1e-6 * bytes / many[1], 1e-6 * bytes / many[0]);
            fflush(stdout);
        }
    }
    close_memory();
    free(buffer);
    return 0;
}
