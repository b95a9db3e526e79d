/* Rank 0 waits for a message that nobody sends, in a function of its own; the others have ended. */
#include <mpi.h>

static int __attribute__((noinline)) await(void)
{
    int number;
    MPI_Recv(&number, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return number;
}

int main(int count, char **words)
{
    int rank, result = 0;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0)
        result = await();
    MPI_Finalize();
    return result;
}
