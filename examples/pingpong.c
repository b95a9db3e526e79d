/* MPI ping-pong: rank 0 sends a message to rank 1, which sends it back.
 *
 *     rank 0 ---- size bytes ---> rank 1
 *     rank 0 <--- size bytes ---- rank 1
 *
 * Half of the round trip is the latency that is printed. Bandwidth counts one direction, and
 * 1 MB is 10^6 bytes.
 *
 *     sunstar run -n 2 --machine redstorm examples/pingpong.c [largest size in bytes]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* 12 and 13 bytes stand on either side of what fits into a message's first packet on Red Storm. */
static const int sizes[] = {0,      1,      2,      4,      8,      12,    13,    16,
                            32,     64,     128,    256,    512,    1024,  2048,  4096,
                            8192,   16384,  32768,  65536,  131072, 262144, 524288, 1048576};
static const int size_count = sizeof sizes / sizeof sizes[0];

static int iterations(int size)
{
    return size <= 1024 ? 100 : size <= 65536 ? 20 : 5;
}

static unsigned char pattern(int size, int i)
{
    return (unsigned char)(31 * i + size + (i >> 8));
}

/* One round trip. Rank 1 answers with what it received, so that rank 0 sees both ways. */
static void round_trip(int rank, unsigned char *out, unsigned char *in, int size)
{
    if (rank == 0) {
        MPI_Send(out, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        MPI_Recv(in, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
        MPI_Recv(in, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(in, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, ranks, failed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        fprintf(stderr, "pingpong: needs two ranks\n");
        MPI_Finalize();
        return 1;
    }

    int largest = argc > 1 ? atoi(argv[1]) : sizes[size_count - 1];
    unsigned char *out = malloc(sizes[size_count - 1]);
    unsigned char *in = malloc(sizes[size_count - 1]);

    if (rank == 0)
        printf("%10s %14s %12s\n", "bytes", "latency (us)", "MB/s");
    for (int s = 0; s < size_count && sizes[s] <= largest && rank < 2; s++) {
        int size = sizes[s], rounds = iterations(size);

        for (int i = 0; i < size; i++)
            out[i] = pattern(size, i);
        memset(in, 0, size);
        for (int i = 0; i < 2; i++) /* warm caches, tables and paths */
            round_trip(rank, out, in, size);

        double start = MPI_Wtime();
        for (int i = 0; i < rounds; i++)
            round_trip(rank, out, in, size);
        double one_way = (MPI_Wtime() - start) / (2.0 * rounds);

        if (memcmp(in, out, size) != 0) {
            fprintf(stderr, "pingpong: rank %d received wrong data at %d bytes\n", rank, size);
            failed = 1;
        }
        if (rank == 0 && size == 0)
            printf("%10d %14.3f %12s\n", size, one_way * 1e6, "-");
        else if (rank == 0)
            printf("%10d %14.3f %12.2f\n", size, one_way * 1e6, size / one_way / 1e6);
    }

    free(out);
    free(in);
    MPI_Finalize();
    return failed;
}
