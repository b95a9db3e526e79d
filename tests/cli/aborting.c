/* aborting CODE: messages of several lengths go round all ranks; then rank 1 aborts, and the others, which
 * wait in a barrier, are killed. */
#include <mpi.h>
#include <stdlib.h>

int main(int count, char **words)
{
    static char sent[100000], received[100000];
    int rank, size;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int bytes = 1; bytes <= (int)sizeof sent; bytes *= 10)
        MPI_Sendrecv(sent, bytes, MPI_BYTE, (rank + 1) % size, 0, received, bytes, MPI_BYTE,
                     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Abort(MPI_COMM_WORLD, count > 1 ? atoi(words[1]) : 5);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Finalize();
    return 0;
}
