/* Rank 0 sends rank 1 short messages, and then long ones: "mixed SHORT LONG". Every 64 short ones it waits
 * for a word from rank 1, so that they do not pile up. */
#include <mpi.h>
#include <stdlib.h>

enum { SHORT = 24, LONG = 96 << 10, BATCH = 64 };

static char buffer[LONG];

static void message(int from, int bytes, int tag)
{
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == from)
        MPI_Send(buffer, bytes, MPI_BYTE, 1 - from, tag, MPI_COMM_WORLD);
    else
        MPI_Recv(buffer, bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    int shorts = argc > 1 ? atoi(argv[1]) : 20000, longs = argc > 2 ? atoi(argv[2]) : 300;
    for (int i = 1; i <= shorts; i++) {
        message(0, SHORT, 0);
        if (i % BATCH == 0)
            message(1, 0, 1);
    }
    for (int i = 0; i < longs; i++)
        message(0, LONG, 2);
    MPI_Finalize();
    return 0;
}
