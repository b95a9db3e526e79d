/* loops WAY US: rank 1 aborts after so many microseconds, or with -1 waits for the others, which are in a
 * loop for ever by then. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile int flag;

/* As ScaLAPACK's tester does where it wants to be killed. */
static void turn(void)
{
    volatile int i = 1;
    do {
        i = i + 3;
        i = i - 2;
        i = i - 1;
    } while (i == 1);
}

static void spin(void)
{
    while (!flag)
        ;
}

static void address(void)
{
    MPI_Aint at = 1;
    while (at)
        MPI_Get_address(&at, &at);
}

static void clock_looks(void)
{
    while (MPI_Wtime() >= 0)
        ;
}

static void test(void)
{
    MPI_Request request;
    int word, done = 0;
    MPI_Irecv(&word, 1, MPI_INT, 1, 9, MPI_COMM_WORLD, &request);
    while (!done)
        MPI_Test(&request, &done, MPI_STATUS_IGNORE);
}

static void probe(void)
{
    for (int there = 0; !there;)
        MPI_Iprobe(1, 9, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
}

int main(int count, char **words)
{
    const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"turn", turn},         {"spin", spin}, {"address", address},
                {"clock", clock_looks}, {"test", test}, {"probe", probe}};
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1 && atoi(words[2]) < 0) {
        MPI_Barrier(MPI_COMM_WORLD);
    } else if (rank == 1) {
        usleep(atoi(words[2]));
        MPI_Abort(MPI_COMM_WORLD, 7);
    }
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (strcmp(words[1], ways[i].name) == 0)
            ways[i].run();
    MPI_Finalize();
    return 0;
}
