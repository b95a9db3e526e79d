/* Ranks of this program answer with the double of what they are sent, until SIGTERM; with a number on the
 * command line it asks rank 0 so often. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static volatile sig_atomic_t over;

static void end(int signal)
{
    over = signal;
}

static long serve(void)
{
    long served = 0;
    signal(SIGTERM, end);
    while (!over) {
        int there, number;
        MPI_Status status;
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &there, &status);
        if (!there) {
            usleep(1);
            continue;
        }
        MPI_Recv(&number, 1, MPI_INT, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        number *= 2;
        MPI_Send(&number, 1, MPI_INT, status.MPI_SOURCE, 2, MPI_COMM_WORLD);
        served++;
    }
    return served;
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 2)
        printf("served %ld\n", serve());
    for (int i = 0; argc > 1 && i < atoi(argv[1]); i++) {
        int number = 10 * rank + i;
        MPI_Send(&number, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
        MPI_Recv(&number, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        wrong += number != 2 * (10 * rank + i);
    }
    MPI_Finalize();
    if (argc > 1)
        printf("rank %d: %d wrong\n", rank, wrong);
    return wrong != 0;
}
