/* Rank 0 sends messages without payload as fast as it can; rank 1 receives them. Nothing holds the
   sender back but the network, and messages without payload never fill it: what runs out is the
   receiver's memory for messages that nobody waits for yet, or its pendings if it has few. */
#include <mpi.h>
#include <stddef.h>

int main(int argc, char **argv) {
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < 20000; i++) {
        if (rank == 0)
            MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
