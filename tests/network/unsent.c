/* Rank 0 sends rank 1 a message of 6 MB in so many pages that a kernel with few DMA commands
 * cannot. Argument: wait (it waits for an answer before it looks at its send), handle (the send
 * returns its error, and the program ends) or both (send and receive return it). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES 6000000

int main(int argc, char **argv)
{
    const char *way = argc > 1 ? argv[1] : "";
    int rank, code;
    char answer;
    MPI_Request request;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    char *bytes = calloc(BYTES, 1);
    if (strcmp(way, "both") == 0) {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        if (rank == 0)
            code = MPI_Send(bytes, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            code = MPI_Recv(bytes, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("MPI_ERR_OTHER: %d\n", code == MPI_ERR_OTHER);
    } else if (rank == 1) {
        MPI_Recv(bytes, BYTES, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Send(bytes, 1, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    } else if (strcmp(way, "wait") == 0) {
        MPI_Isend(bytes, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &request);
        MPI_Recv(&answer, 1, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
        MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
        code = MPI_Send(bytes, BYTES, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        printf("MPI_ERR_OTHER: %d\n", code == MPI_ERR_OTHER);
        fflush(stdout);
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    free(bytes);
    MPI_Finalize();
    return 0;
}
