/* Looks at clocks and at requests again and again, as programs do that wait for a time or overlap computation
 * with messages: in long rows, in turn, behind calls that do not wait, and last of all. Prints how often. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double by_clock_gettime(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Looks until the time is up. */
static long spin(double (*clock)(void), double seconds)
{
    long looks = 0;
    double last = 0;
    for (const double began = clock(); last - began < seconds; looks++) {
        const double now = clock();
        if (now < last)
            return -1;
        last = now;
    }
    return looks;
}

int main(int argc, char **argv)
{
    int rank, size, flag = 0, word = 0, in = -1;
    MPI_Request request, sent;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int from = (rank + size - 1) % size, to = (rank + 1) % size;
    const long looks = spin(MPI_Wtime, 50e-6);
    const long others = spin(by_clock_gettime, 20e-6 * (1 + rank));
    /* Something is posted, and the clock is behind it. */
    word = rank;
    MPI_Irecv(&in, 1, MPI_INT, from, 1, MPI_COMM_WORLD, &request);
    MPI_Isend(&word, 1, MPI_INT, to, 1, MPI_COMM_WORLD, &sent);
    const long behind = spin(MPI_Wtime, 1e-6);
    long tests = 0, turns = 0;
    for (; !flag; tests++)
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
    MPI_Wait(&sent, MPI_STATUS_IGNORE);
    /* In turn with clocks, until a message comes that is sent late. */
    if (rank == 0)
        usleep(200);
    if (rank == 0)
        MPI_Send(&word, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    double before = 0, now = MPI_Wtime();
    MPI_Irecv(&in, 1, MPI_INT, from, 2, MPI_COMM_WORLD, &request);
    for (flag = 0; !flag && now > before; turns++) {
        MPI_Test(&request, &flag, MPI_STATUS_IGNORE);
        before = now;
        now = MPI_Wtime();
    }
    if (rank != 0)
        MPI_Send(&in, 1, MPI_INT, to, 2, MPI_COMM_WORLD);
    long probes = 0;
    for (flag = 0; rank == 1 && !flag; probes++)
        MPI_Iprobe(0, 3, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    if (rank == 0 && size > 1)
        MPI_Send(&word, 1, MPI_INT, 1, 3, MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Recv(&in, 1, MPI_INT, 0, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Finalize();
    const long after = spin(by_clock_gettime, 30e-6);
    printf("rank %d: %ld %ld %ld", rank, looks, others, behind);
    printf(" %ld %ld %ld %ld\n", tests, turns, probes, after);
    return in == 0 || rank > 1 ? 0 : 2;
}
