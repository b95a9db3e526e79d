/* Collectives, and a window, in which each rank adds one to a word of rank 0. */
#include <mpi.h>
#include <stdio.h>

int main(int count, char **words)
{
    int rank, ranks, sum = 0, numbers[64], received[64], *word;
    const int one = 1;
    int before;
    MPI_Win window;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 64; i++)
        numbers[i] = 100 * rank + i;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Alltoall(numbers, 1, MPI_INT, received, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++)
        if (received[i] != 100 * i + rank)
            MPI_Abort(MPI_COMM_WORLD, 3);
    MPI_Win_allocate(sizeof *word, sizeof *word, MPI_INFO_NULL, MPI_COMM_WORLD, &word, &window);
    *word = 0;
    MPI_Win_fence(0, window);
    MPI_Fetch_and_op(&one, &before, MPI_INT, 0, 0, MPI_SUM, window);
    MPI_Win_fence(0, window);
    if (rank == 0)
        printf("sum %d, window %d\n", sum, *word);
    MPI_Win_free(&window);
    MPI_Finalize();
    return 0;
}
