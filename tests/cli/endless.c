/* endless WAY: never ends. Each rank starts a child of its own first, in a session of its own, that would
 * live on for ever, and holds what the rank has open; then it prints "ready". */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES (4 << 20)
#define WINDOW 8

static int rank;

/* Long messages, many at a time. */
static void stream(void)
{
    static char sent[BYTES], received[BYTES];
    MPI_Request requests[2 * WINDOW];
    for (;;) {
        for (int i = 0; i < WINDOW; i++) {
            MPI_Irecv(received, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, &requests[i]);
            MPI_Isend(sent, BYTES, MPI_BYTE, rank ^ 1, 0, MPI_COMM_WORLD, &requests[WINDOW + i]);
        }
        MPI_Waitall(2 * WINDOW, requests, MPI_STATUSES_IGNORE);
    }
}

static void barriers(void)
{
    for (;;)
        MPI_Barrier(MPI_COMM_WORLD);
}

/* No call, and no ear for signals. */
static void deaf(void)
{
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_IGN);
    for (volatile unsigned turns = 0;; turns++)
        ;
}

/* Rank 0 waits for one that waits for something outside of the simulation. */
static void outside(void)
{
    if (rank == 0)
        MPI_Barrier(MPI_COMM_WORLD);
    for (;;)
        pause();
}

int main(int count, char **words)
{
    const struct {
        const char *name;
        void (*run)(void);
    } ways[] = {{"stream", stream}, {"barriers", barriers}, {"deaf", deaf}, {"outside", outside}};
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (fork() == 0) {
        setsid();
        if (fork() == 0)
            for (;;)
                pause();
        _exit(0);
    }
    printf("ready\n");
    fflush(stdout);
    MPI_Barrier(MPI_COMM_WORLD); /* while one does nothing else, no other gets its turn */
    for (unsigned i = 0; i < sizeof ways / sizeof *ways; i++)
        if (count > 1 && strcmp(words[1], ways[i].name) == 0)
            ways[i].run();
    return 1;
}
