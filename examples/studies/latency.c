/* One-way latency, averaged over the phases of the firmware's polling.
 *
 *     rank 0   pause |------- size bytes ------>         .------------>
 *     rank 1         |                         pause ---'  size bytes
 *                    |<-------------- timed, less the pause ---------->|
 *
 * A ping-pong without pauses falls into step with the loops in which firmware and hosts poll, and
 * in a simulator without jitter it stays there: a nanosecond more somewhere else then may move the
 * result by half a turn of a loop. Here every message is sent after a pause of another length, and
 * the mean is that over many phases, as jitter makes it on a real machine. Pauses, and the cost of
 * reading the clock, are taken off.
 *
 *     sunstar run -n 2 examples/studies/latency.c [largest size in bytes]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const int sizes[] = {0,   1,   2,    4,    8,     12,     13,     16,
                            64,  256, 1024, 4096, 16384, 65536, 262144, 1048576};
static const int size_count = sizeof sizes / sizeof sizes[0];

/* Pauses are 0 to PAUSES - 1 readings of the clock: longer in all than a turn of any loop. */
enum { PAUSES = 41, STRIDE = 16 };

static int rounds_of(int size)
{
    return size <= 1024 ? 2 * PAUSES : size <= 16384 ? PAUSES : 5;
}

/* Gives the time at its end. */
static double pause_for(int readings)
{
    double now = MPI_Wtime();

    for (int i = 0; i < readings; i++)
        now = MPI_Wtime();
    return now;
}

/* Time from one reading of the clock to the next. */
static double clock_cost(void)
{
    double start = MPI_Wtime();

    return (pause_for(99) - start) / 100.0;
}

/* Rank 0's part of a round: how long it took. */
static double ping(unsigned char *buffer, int size, int round)
{
    double start = pause_for(round % PAUSES);

    MPI_Send(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, size, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return MPI_Wtime() - start;
}

/* Rank 1's part of a round: how long it paused. */
static double pong(unsigned char *buffer, int size, int round)
{
    double start;

    MPI_Recv(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    start = MPI_Wtime();
    start -= pause_for(round * STRIDE % PAUSES);
    MPI_Send(buffer, size, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    return -start;
}

/* Seconds one way. Rank 1 has its pauses to tell. */
static double one_way(int rank, unsigned char *buffer, int size, double reading)
{
    int rounds = rounds_of(size);
    double sum = 0.0, pauses = 0.0;

    for (int i = -2; i < rounds; i++) { /* the first two warm caches, tables and paths */
        double time = rank == 0 ? ping(buffer, size, i + 2) : pong(buffer, size, i + 2);

        if (i >= 0)
            sum += time + (rank == 0 ? -reading : reading);
    }
    if (rank == 0)
        MPI_Recv(&pauses, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(&sum, 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    return (sum - pauses) / (2.0 * rounds);
}

int main(int argc, char **argv)
{
    int rank, ranks;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks < 2) {
        fprintf(stderr, "latency: needs two ranks\n");
        MPI_Finalize();
        return 1;
    }

    int largest = argc > 1 ? atoi(argv[1]) : sizes[size_count - 1];
    unsigned char *buffer = calloc(1, sizes[size_count - 1]);
    double reading = clock_cost();

    if (rank == 0)
        printf("%10s %14s %12s\n", "bytes", "latency (us)", "MB/s");
    for (int s = 0; s < size_count && sizes[s] <= largest && rank < 2; s++) {
        int size = sizes[s];
        double time = one_way(rank, buffer, size, reading);

        if (rank == 0 && size == 0)
            printf("%10d %14.3f %12s\n", size, time * 1e6, "-");
        else if (rank == 0)
            printf("%10d %14.3f %12.2f\n", size, time * 1e6, size / time / 1e6);
    }

    free(buffer);
    MPI_Finalize();
    return 0;
}
