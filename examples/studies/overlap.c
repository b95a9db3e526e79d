/* Communication behind computation: post, work, wait.
 *
 *     rank 0   | Isend |  computes for WORK seconds  | Wait |
 *     rank 1   | Irecv |  computes for WORK seconds  | Wait |
 *                                                    |<---->|  what is printed
 *
 * No call of MPI is made while the ranks compute. The work is longer than any of the messages takes, so the
 * waits are short if, and only if, messages move without the library's help. In the last column the receive
 * is posted after the work: the message found none.
 *
 *     sunstar run -n 2 examples/studies/overlap.c [largest size in bytes]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sunstar.h>

#define WORK 20e-3

static const int sizes[] = {0,      1,      64,     1024,    16384,   131072,
                            131073, 262144, 524288, 1048576, 2097152, 4194304};
static const int size_count = sizeof sizes / sizeof sizes[0];

static void fill(unsigned char *buffer, int size, int seed)
{
    for (int i = 0; i < size; i++)
        buffer[i] = (unsigned char)(i * 7 + i / 251 + seed);
}

/* Ends the run unless the buffer holds what `fill` made. */
static void check(const unsigned char *buffer, int size, int seed)
{
    for (int i = 0; i < size; i++) {
        if (buffer[i] != (unsigned char)(i * 7 + i / 251 + seed)) {
            fprintf(stderr, "byte %d of %d is wrong\n", i, size);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
}

/* One message; microseconds that this rank's MPI_Wait took. */
static double wait_of(int rank, unsigned char *buffer, int size, int late)
{
    MPI_Request request;

    if (rank == 1 && !late)
        MPI_Irecv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Isend(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
    sunstar_compute(WORK);
    double start = MPI_Wtime();
    if (rank == 1 && late)
        MPI_Irecv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    return (MPI_Wtime() - start) * 1e6;
}

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int most = argc > 1 ? atoi(argv[1]) : sizes[size_count - 1];
    unsigned char *buffer = malloc(sizes[size_count - 1]);
    if (ranks != 2 || buffer == NULL) {
        fprintf(stderr, "overlap needs 2 ranks, and 4 MiB each\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    if (rank == 0)
        printf("%10s %12s %12s %12s\n", "bytes", "send us", "receive us", "late us");
    for (int i = 0; i < size_count && sizes[i] <= most; i++) {
        const int size = sizes[i];
        double waits[2], all[4];
        for (int late = 0; late < 2; late++) {
            fill(buffer, size, rank == 0 ? i + late : 99);
            waits[late] = wait_of(rank, buffer, size, late);
            check(buffer, size, i + late);
        }
        MPI_Gather(waits, 2, MPI_DOUBLE, all, 2, MPI_DOUBLE, 0, MPI_COMM_WORLD);
        if (rank == 0)
            printf("%10d %12.3f %12.3f %12.3f\n", size, all[0], all[2], all[3]);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
