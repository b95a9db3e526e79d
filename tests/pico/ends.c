/* Ends of a program on Pico-MPI, by the first argument: those of rank 1, for which all others wait. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int word;

int main(int argc, char **argv)
{
    const char *how = argc > 1 ? argv[1] : "";
    int rank, size;
    MPI_Win window;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank == 1) {
        printf("before the end\n");
        if (strcmp(how, "abort") == 0)
            MPI_Abort(MPI_COMM_WORLD, 42);
        if (strcmp(how, "window") == 0)
            MPI_Win_create(&word, sizeof word, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
        if (strcmp(how, "exit") == 0)
            exit(0);
        if (strcmp(how, "rank") == 0)
            MPI_Send(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
        if (strcmp(how, "segv") == 0)
            *(volatile int *)8 = 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return rank == 1 && strcmp(how, "code") == 0 ? 7 : 0;
}
