/* A token travels once around all ranks; each adds its number.
 *
 *     rank 0 ---> rank 1 ---> ... ---> rank n-1 ---> rank 0
 *
 *     sunstar run -n 8 examples/ring.c
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    int rank, ranks, token = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int next = (rank + 1) % ranks, previous = (rank + ranks - 1) % ranks;

    /* Posted first, so that the ring also closes when it has one rank only. */
    MPI_Request request;
    MPI_Irecv(&token, 1, MPI_INT, previous, 7, MPI_COMM_WORLD, &request);

    double start = MPI_Wtime();
    if (rank == 0) {
        int first = 0;
        MPI_Send(&first, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        double elapsed = MPI_Wtime() - start;
        printf("token %d after %d hops, %.3f us a hop\n", token, ranks, elapsed / ranks * 1e6);
    } else {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        token += rank;
        MPI_Send(&token, 1, MPI_INT, next, 7, MPI_COMM_WORLD);
    }

    int failed = rank == 0 && token != ranks * (ranks - 1) / 2;
    MPI_Finalize();
    return failed;
}
