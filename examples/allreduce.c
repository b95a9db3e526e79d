/* Time of MPI_Allreduce over a few vector lengths, with the sums checked.
 *
 *     sunstar run -n 8 examples/allreduce.c
 */
#include <mpi.h>
#include <stdio.h>

enum { LENGTH_MAX = 1024, ROUNDS = 10 };

int main(int argc, char **argv)
{
    static double in[LENGTH_MAX], out[LENGTH_MAX];
    int rank, ranks, failed = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    if (rank == 0)
        printf("%10s %14s\n", "doubles", "time (us)");
    for (int length = 1; length <= LENGTH_MAX; length *= 4) {
        for (int i = 0; i < length; i++)
            in[i] = rank + i;

        MPI_Barrier(MPI_COMM_WORLD);
        double start = MPI_Wtime();
        for (int i = 0; i < ROUNDS; i++)
            MPI_Allreduce(in, out, length, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        double each = (MPI_Wtime() - start) / ROUNDS;

        /* 0 + 1 + ... + (ranks - 1), and i from every rank. All of it is exact in a double. */
        for (int i = 0; i < length; i++)
            if (out[i] != ranks * (ranks - 1) / 2.0 + (double)i * ranks)
                failed = 1;
        if (rank == 0)
            printf("%10d %14.3f\n", length, each * 1e6);
    }

    int anywhere;
    MPI_Allreduce(&failed, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0)
        printf(anywhere ? "wrong sums\n" : "all sums are right\n");
    MPI_Finalize();
    return anywhere;
}
