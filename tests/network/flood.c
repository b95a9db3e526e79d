/* All ranks but the last send it messages without payload, 20000 or as many as the argument says,
   as fast as they can. Nothing holds them back but the network, and messages without payload never
   fill it: what runs out is the receiver's memory for messages that nobody waits for yet, or its
   pendings if it has few. */
#include <mpi.h>
#include <stddef.h>
#include <stdlib.h>

int main(int argc, char **argv) {
    int rank, size;
    const int count = argc > 1 ? atoi(argv[1]) : 20000;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < count; i++) {
        if (rank < size - 1)
            MPI_Send(NULL, 0, MPI_BYTE, size - 1, 0, MPI_COMM_WORLD);
        for (int from = 0; rank == size - 1 && from < rank; from++)
            MPI_Recv(NULL, 0, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
