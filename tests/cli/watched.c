/* What a tool watches: three messages around a ring, checked. With TOOL it holds the tool itself. With
 * CLOCK it expects that somebody has stopped the clock at 42 s. */
#ifdef TOOL
#include "tool.h"
#endif
#include <mpi.h>
#include <time.h>

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 3; i++) {
        const int value = 10 * rank + i, from = (rank + size - 1) % size;
        int got = -1;
        MPI_Request request;
        MPI_Irecv(&got, 1, MPI_INT, from, i, MPI_COMM_WORLD, &request);
        MPI_Send(&value, 1, MPI_INT, (rank + 1) % size, i, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (got != 10 * from + i)
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
#ifdef CLOCK
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec != 42 || now.tv_nsec != 0)
        MPI_Abort(MPI_COMM_WORLD, 3);
#endif
    MPI_Finalize();
    return 0;
}
