/* Computation in simulated time: what the program says that it computes, and what it really does.
 * Prints the picoseconds that each took, the reading of the clock itself taken off. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <sunstar.h>

static double clock_cost;

static void tell(const char *what, double since)
{
    printf("%s %.0f\n", what, (MPI_Wtime() - since - clock_cost) * 1e12);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    const double said = argc > 1 ? atof(argv[1]) : 1e-3;
    double since = MPI_Wtime();
    clock_cost = MPI_Wtime() - since;
    since = MPI_Wtime();
    tell("nothing", since);
    since = MPI_Wtime();
    sunstar_compute(said);
    tell("said", since);
    since = MPI_Wtime();
    for (int i = 0; i < 1000; i++)
        sunstar_compute(2e-9);
    tell("often", since);
    since = MPI_Wtime();
    volatile unsigned long sum = 0;
    for (unsigned long i = 0; i < 20000000; i++)
        sum += i;
    tell("worked", since);
    /* Rank 1 computes while the message travels; neither waits for the other afterwards. */
    int rank, size, number = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size == 2) {
        MPI_Barrier(MPI_COMM_WORLD);
        since = MPI_Wtime();
        MPI_Request request;
        if (rank == 0) {
            MPI_Isend(&rank, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, &request);
        } else {
            MPI_Irecv(&number, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request);
        }
        sunstar_compute(1.0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        const double taken = MPI_Wtime() - since;
        if (rank == 1)
            printf("overlapped %s\n", taken > 1.0 && taken < 1.0 + 20e-6 ? "yes" : "no");
    }
    MPI_Finalize();
    return 0;
}
