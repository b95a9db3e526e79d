/* Half of the ranks of a row send streams to the other half, all over the link in the middle: ranks 0 and 1 to
   2 and 3. Prints the bandwidth of each stream in MB/s; with an argument rank 1 keeps quiet. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 1 << 20, ROUNDS = 4 };

int main(int argc, char **argv) {
    int rank;
    char *buffer = calloc(1, LENGTH);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc > 1 && rank % 2 == 1) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else {
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = MPI_Wtime();
        for (int i = 0; i < ROUNDS; i++) {
            if (rank < 2)
                MPI_Send(buffer, LENGTH, MPI_BYTE, rank + 2, 0, MPI_COMM_WORLD);
            else
                MPI_Recv(buffer, LENGTH, MPI_BYTE, rank - 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
        double seconds = MPI_Wtime() - begin;
        if (rank >= 2) printf("%.0f\n", LENGTH / 1e6 * ROUNDS / seconds);
    }
    MPI_Finalize();
    free(buffer);
    return 0;
}
