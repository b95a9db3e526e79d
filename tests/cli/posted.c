/* Rank 1 posts so many receives ("posted 400"); rank 0 sends what the last of them takes, and when that
 * has come what the others take. */
#include <mpi.h>
#include <stdlib.h>

enum { MOST = 4096, LAST = 24, OTHERS = 8 };

static char buffers[MOST][LAST];

int main(int argc, char **argv)
{
    int rank, posted = argc > 1 ? atoi(argv[1]) : 400;
    static MPI_Request requests[MOST];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 1)
        for (int i = 0; i < posted; i++)
            MPI_Irecv(buffers[i], LAST, MPI_BYTE, 0, i, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        MPI_Send(buffers[0], LAST, MPI_BYTE, 1, posted - 1, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Wait(&requests[posted - 1], MPI_STATUS_IGNORE);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        for (int i = posted - 1; i-- > 0;)
            MPI_Send(buffers[i], OTHERS, MPI_BYTE, 1, i, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Waitall(posted, requests, MPI_STATUSES_IGNORE);
    MPI_Finalize();
    return 0;
}
