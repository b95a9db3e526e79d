/* PMB's Sendrecv: a periodic chain, in which each process receives from its left and sends to its right
 * neighbour. MiB/s are PMB's: two messages a process by the time of the slowest.
 *
 *     sunstar run -n 4 examples/studies/suite/sendrecv.c [largest size in bytes] */
#include "suite.h"

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 1);
    const int largest = (int)argument(argc, argv, 1, 4 << 20);
    char *out = buffer_of((size_t)largest), *in = buffer_of((size_t)largest);
    const int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
    if (rank == 0)
        printf("%10s %12s %12s\n", "bytes", "time_us", "MiB/s");
    for (int bytes = 0; bytes <= largest; bytes = next_size(bytes)) {
        const int times = repetitions(bytes);
        double start = 0;
        MPI_Barrier(MPI_COMM_WORLD);
        for (int i = -1; i < times; i++) {
            if (i == 0)
                start = MPI_Wtime();
            MPI_Sendrecv(out, bytes, MPI_BYTE, right, 0, in, bytes, MPI_BYTE, left, 0,
                         MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        const double seconds = largest_of((MPI_Wtime() - start) / times);
        if (in[0] != left + 1 && bytes > 0)
            fail("rank %d: a byte is %d", rank, in[0]);
        if (rank == 0)
            printf("%10d %12.3f %12.2f\n", bytes, seconds * 1e6, 2 * bytes / MEBIBYTE / seconds);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
