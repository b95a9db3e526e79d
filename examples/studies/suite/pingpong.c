/* PMB's PingPong: half of a round trip, and bytes by that time in MiB/s (PMB's MByte is 2^20 bytes).
 *
 *     sunstar run -n 2 examples/studies/suite/pingpong.c [largest size in bytes] */
#include "suite.h"

static double round_trip(char *buffer, int bytes)
{
    if (rank == 0) {
        MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
    return MPI_Wtime();
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 1);
    const int largest = (int)argument(argc, argv, 1, 4 << 20);
    char *buffer = buffer_of((size_t)largest);
    if (rank == 0)
        printf("%10s %12s %12s\n", "bytes", "latency_us", "MiB/s");
    for (int bytes = 0; bytes <= largest; bytes = next_size(bytes)) {
        const int times = repetitions(bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = round_trip(buffer, bytes);
        double end = start;
        for (int i = 0; i < times; i++)
            end = round_trip(buffer, bytes);
        const double seconds = (end - start) / times / 2;
        if (rank == 0)
            printf("%10d %12.3f %12.2f\n", bytes, seconds * 1e6, bytes / MEBIBYTE / seconds);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
