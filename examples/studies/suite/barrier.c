/* MPI_Barrier, and MPI_Allreduce of one double, for the first 2, 4, 8 ... ranks. Who does them, the hosts or
 * the network interface, is the machine's choice (mpi.barrier, mpi.allreduce).
 *
 *     sunstar run -n 16 -m redstorm-accelerated --set mpi.barrier=nic examples/studies/suite/barrier.c */
#include "suite.h"

enum { TIMES = 20 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    if (rank == 0)
        printf("%10s %12s %12s\n", "ranks", "barrier_us", "allreduce_us");
    for (int size = 2; size <= ranks; size *= 2) {
        MPI_Comm comm = first_ranks(size);
        if (comm == MPI_COMM_NULL)
            continue;
        double start = 0, barrier, one = rank + 1, sum = 0;
        for (int i = -2; i < TIMES; i++) {
            if (i == 0)
                start = MPI_Wtime();
            MPI_Barrier(comm);
        }
        barrier = MPI_Wtime() - start;
        for (int i = -2; i < TIMES; i++) {
            if (i == 0)
                start = MPI_Wtime();
            MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
        }
        const double allreduce = MPI_Wtime() - start;
        if (sum != size * (size + 1) / 2.0)
            fail("the sum is %g", sum);
        if (rank == 0)
            printf("%10d %12.3f %12.3f\n", size, barrier / TIMES * 1e6, allreduce / TIMES * 1e6);
        MPI_Comm_free(&comm);
    }
    MPI_Finalize();
    return 0;
}
