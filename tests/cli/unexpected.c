/* Rank 0 sends so many messages ("unexpected 40"); when all have come rank 1 receives them, the last
 * first. */
#include <mpi.h>
#include <stdlib.h>

enum { MOST = 4096, BYTES = 32 };

static char buffers[MOST][BYTES];

int main(int argc, char **argv)
{
    int rank, sent = argc > 1 ? atoi(argv[1]) : 40;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        for (int i = 0; i < sent; i++)
            MPI_Send(buffers[i], BYTES, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        for (int i = sent; i-- > 0;)
            MPI_Recv(buffers[i], BYTES, MPI_BYTE, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    return 0;
}
