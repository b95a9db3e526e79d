/* A rank that dies while it waits in a call, before the simulator comes back to its memory:
 *
 *     sunstar run -n 2 tests/cli/dying.c SIGNAL HOW BYTES
 *
 * Rank 0 sends SIGNAL to rank 1, sees it dead, and goes on with what rank 1 waits for (HOW): receive,
 * strided, send, reduce. Signal 14 has a handler in rank 1 that calls MPI. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static char *buffer;

static void calls_mpi(int number)
{
    int rank;
    (void)number;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
}

/* A dead process keeps its number until it is waited for. */
static int lives(int process)
{
    char path[64], stat[256] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", process);
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    fread(stat, 1, sizeof stat - 1, file);
    fclose(file);
    return !strstr(stat, ") Z ");
}

static void kill_peer(int process, int number)
{
    const struct timespec until_it_waits = {0, 1000000};
    nanosleep(&until_it_waits, NULL);
    kill(process, number);
    while (lives(process))
        ;
}

static void go_on(int rank, const char *how, int bytes)
{
    if (strcmp(how, "receive") == 0) {
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "strided") == 0) {
        MPI_Datatype every_second;
        MPI_Type_vector(bytes, 1, 2, MPI_BYTE, &every_second);
        MPI_Type_commit(&every_second);
        if (rank == 0)
            MPI_Send(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(buffer, 1, every_second, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (strcmp(how, "send") == 0) {
        if (rank == 0)
            MPI_Recv(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        else
            MPI_Ssend(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
    } else {
        MPI_Allreduce(MPI_IN_PLACE, buffer, bytes, MPI_BYTE, MPI_BOR, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv)
{
    int rank, process = getpid();
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    const int number = atoi(argv[1]), bytes = atoi(argv[3]);
    buffer = calloc(2, bytes);
    signal(SIGALRM, calls_mpi);
    MPI_Bcast(&process, 1, MPI_INT, 1, MPI_COMM_WORLD);
    if (rank == 0)
        kill_peer(process, number);
    go_on(rank, argv[2], bytes);
    MPI_Finalize();
}
