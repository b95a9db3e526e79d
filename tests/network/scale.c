/* One collective over all ranks, its result checked: barrier, allreduce or alltoall of 64 bytes. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LENGTH = 64 };

static unsigned char byte_of(int from, int to) { return (unsigned char)(from * 7 + to * 3 + 1); }

static int alltoall(int rank, int ranks)
{
    unsigned char *out = malloc((size_t)ranks * LENGTH), *in = calloc(ranks, LENGTH);
    int wrong = 0;
    for (int to = 0; to < ranks; to++)
        memset(out + (size_t)to * LENGTH, byte_of(rank, to), LENGTH);
    MPI_Alltoall(out, LENGTH, MPI_BYTE, in, LENGTH, MPI_BYTE, MPI_COMM_WORLD);
    for (int i = 0; i < ranks * LENGTH; i++)
        wrong += in[i] != byte_of(i / LENGTH, rank);
    free(out);
    free(in);
    return wrong;
}

int main(int argc, char **argv)
{
    int rank, ranks, wrong = 0, all;
    const char *what = argc > 1 ? argv[1] : "barrier";
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!strcmp(what, "barrier"))
        MPI_Barrier(MPI_COMM_WORLD);
    if (!strcmp(what, "alltoall"))
        wrong = alltoall(rank, ranks);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    long mine = rank, sum;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %d wrong bytes, sum %ld\n", ranks, all, sum);
    MPI_Finalize();
    return all != 0 || sum != (long)ranks * (ranks - 1) / 2;
}
