/* What the bench of the whole simulator runs: 8-byte messages.
 *
 *     messages pingpong ROUND_TRIPS      two ranks
 *     messages allreduce TIMES           any number of ranks
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int pingpong(int rank, long times)
{
    long word = 0;

    for (long i = 0; i < times; i++) {
        if (rank == 0) {
            word = i;
            MPI_Send(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (word != i)
                return 1;
        } else {
            MPI_Recv(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return 0;
}

static int allreduce(int rank, int ranks, long times)
{
    for (long i = 0; i < times; i++) {
        double in = (double)rank + (double)i, out = 0;

        MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        /* Exact in a double. */
        if (out != ranks * (ranks - 1) / 2.0 + (double)i * ranks)
            return 1;
    }
    return 0;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (argc != 3)
        return 2;
    if (strcmp(argv[1], "pingpong") == 0)
        wrong = pingpong(rank, atol(argv[2]));
    else
        wrong = allreduce(rank, ranks, atol(argv[2]));
    if (wrong)
        fprintf(stderr, "rank %d received something wrong\n", rank);
    MPI_Finalize();
    return wrong;
}
