/* Alltoall and allreduce, every byte checked; the argument is the number of bytes from each to each. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static char byte_of(int from, int to, int i) { return (char)(from * 3 + to * 5 + i); }

int main(int argc, char **argv) {
    int rank, size, wrong = 0, length = argc > 1 ? atoi(argv[1]) : 64;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    char *in = calloc(size, length), *out = calloc(size, length);
    for (int to = 0; to < size; to++)
        for (int i = 0; i < length; i++) out[to * length + i] = byte_of(rank, to, i);
    MPI_Alltoall(out, length, MPI_BYTE, in, length, MPI_BYTE, MPI_COMM_WORLD);
    for (int from = 0; from < size; from++)
        for (int i = 0; i < length; i++) wrong += in[from * length + i] != byte_of(from, rank, i);
    long mine = rank, sum = 0;
    MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    wrong += sum != (long)size * (size - 1) / 2;
    if (rank == 0) printf("%d ranks\n", size);
    MPI_Finalize();
    free(in);
    free(out);
    return wrong != 0;
}
