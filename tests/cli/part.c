/* One of several programs of a run: each rank tells rank 0 what it was started as, which prints that in
 * order. NAME is the program's. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#ifndef NAME
#define NAME "source"
#endif

int main(int argc, char **argv)
{
    char line[200];
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int *number, found;
    MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &number, &found);
    if (!found)
        MPI_Abort(MPI_COMM_WORLD, 1);
    int at = snprintf(line, sizeof line, "%d of %d: %d %s", rank, size, *number, NAME);
    for (int i = 1; i < argc; i++)
        at += snprintf(line + at, sizeof line - (size_t)at, " [%s]", argv[i]);
    if (rank > 0)
        MPI_Send(line, at + 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    for (int from = 0; rank == 0 && from < size; from++) {
        if (from > 0)
            MPI_Recv(line, sizeof line, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        puts(line);
    }
    MPI_Finalize();
    return 0;
}
