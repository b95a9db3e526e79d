/* Messages one after the other as fast as they go: the time between the first and the last at the receiver,
   in picoseconds, over their number; the first of all is left out. Usage: stream BYTES */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { MESSAGES = 102 };

int main(int argc, char **argv)
{
    MPI_Request requests[MESSAGES];
    int rank, bytes = argc > 1 ? atoi(argv[1]) : 1;
    char *buffer = calloc(bytes + 1, MESSAGES);
    double first = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; rank == 1 && i < MESSAGES; i++)
        MPI_Irecv(buffer + (long)i * bytes, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; rank == 0 && i < MESSAGES; i++)
        MPI_Isend(buffer + (long)i * bytes, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MESSAGES; i++) {
        MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        if (i == 1)
            first = MPI_Wtime();
    }
    if (rank == 1)
        printf("%.0f\n", (MPI_Wtime() - first) * 1e12 / (MESSAGES - 2));
    MPI_Finalize();
    return 0;
}
