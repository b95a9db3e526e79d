/* More operations at a time than a network interface has room for, with messages of BYTES bytes:
 *   posted N BYTES    each rank posts N receives for each rank, many with wildcards, before any message is
 *                     sent, and takes some back
 *   sends N BYTES     each rank sends N messages to the next before it receives one, and looks for them by
 *                     probes
 *   long N BYTES      the same with half of the messages longer
 *   blocking N BYTES  rank 0 sends N to rank 1, which receives them, and says what a send took
 * Each message has its number in it and comes in its order. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONG 40000

static int rank, size, count, bytes, wrong;

static void *room(size_t length)
{
    void *memory = calloc(length ? length : 1, 1);
    if (!memory)
        MPI_Abort(MPI_COMM_WORLD, 3);
    return memory;
}

static size_t place(int number)
{
    return (size_t)number * (size_t)(bytes + (int)sizeof(int));
}

/* The message numbered `number` of `from`, with so many bytes, stands at `at`. */
static void look(const char *at, int from, int number, int length)
{
    int is[1] = {from * 100000 + number};
    wrong += length >= (int)sizeof is && memcmp(at, is, sizeof is) != 0;
}

static void mark(char *at, int number, int length)
{
    int is[1] = {rank * 100000 + number};
    if (length >= (int)sizeof is)
        memcpy(at, is, sizeof is);
}

static void posted(void)
{
    int all = count * size, cancelled = 0, done = 0;
    char *in = room(place(2 * all)), *out = room(place(all));
    MPI_Request *receives = room(2 * sizeof *receives * (size_t)all);
    MPI_Request *sends = room(sizeof *sends * (size_t)all);
    int *next = room(sizeof *next * (size_t)(size * 4));
    /* Of four receives one takes any sender; each tag has as many receives as will come. */
    for (int i = 0; i < all; i++) {
        int from = i % size, tag = i / size % 4;
        MPI_Irecv(in + place(2 * i), bytes, MPI_CHAR, tag == 1 ? MPI_ANY_SOURCE : from, tag,
                  MPI_COMM_WORLD, &receives[2 * i]);
        receives[2 * i + 1] = MPI_REQUEST_NULL;
        if (i % 5 == 0)
            MPI_Irecv(in + place(2 * i + 1), bytes, MPI_CHAR, MPI_ANY_SOURCE, 9, MPI_COMM_WORLD,
                      &receives[2 * i + 1]);
    }
    /* Nobody sends those. */
    for (int i = 0; i < all; i += 5) {
        MPI_Status status;
        int was;
        MPI_Cancel(&receives[2 * i + 1]);
        MPI_Wait(&receives[2 * i + 1], &status);
        MPI_Test_cancelled(&status, &was);
        cancelled += was;
    }
    wrong += cancelled != (all + 4) / 5;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < all; i++) {
        int to = i % size, number = i / size;
        mark(out + place(i), number, bytes);
        MPI_Isend(out + place(i), bytes, MPI_CHAR, to, number % 4, MPI_COMM_WORLD, &sends[i]);
    }
    /* Receives of one sender and tag end in the order of their posts: each has the next number. */
    for (int i = 0; i < all; i++, done++) {
        MPI_Status status;
        MPI_Wait(&receives[2 * i], &status);
        int *number = &next[status.MPI_SOURCE * 4 + status.MPI_TAG];
        look(in + place(2 * i), status.MPI_SOURCE, *number * 4 + status.MPI_TAG, bytes);
        ++*number;
    }
    MPI_Waitall(all, sends, MPI_STATUSES_IGNORE);
    wrong += done != all;
}

static void sends(int longer)
{
    int next = (rank + 1) % size, before = (rank + size - 1) % size;
    char *out = room(place(count)), *in = room((size_t)bytes + LONG), *far = room(LONG);
    MPI_Request *requests = room(sizeof *requests * (size_t)count);
    for (int i = 0; i < count; i++) {
        if (longer && i % 2)
            MPI_Isend(far, LONG, MPI_CHAR, next, i % 7, MPI_COMM_WORLD, &requests[i]);
        else {
            mark(out + place(i), i, bytes);
            MPI_Isend(out + place(i), bytes, MPI_CHAR, next, i % 7, MPI_COMM_WORLD, &requests[i]);
        }
    }
    for (int i = 0; i < count; i++) {
        MPI_Status status;
        int length;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &length);
        wrong += status.MPI_TAG != i % 7 || length != (longer && i % 2 ? LONG : bytes);
        MPI_Recv(in, length, MPI_CHAR, before, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        wrong += status.MPI_TAG != i % 7;
        if (length == bytes)
            look(in, before, i, bytes);
    }
    MPI_Waitall(count, requests, MPI_STATUSES_IGNORE);
}

static void blocking(void)
{
    char *message = room((size_t)bytes + sizeof(int));
    double began = MPI_Wtime();
    for (int i = 0; i < count && rank < 2; i++)
        if (rank == 0)
            MPI_Send(message, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(message, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0)
        printf("%.0f ns a send\n", (MPI_Wtime() - began) / count * 1e9);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (argc != 4)
        MPI_Abort(MPI_COMM_WORLD, 2);
    count = atoi(argv[2]);
    bytes = atoi(argv[3]);
    if (strcmp(argv[1], "posted") == 0)
        posted();
    else if (strcmp(argv[1], "blocking") == 0)
        blocking();
    else
        sends(strcmp(argv[1], "long") == 0);
    if (wrong)
        printf("rank %d: %d wrong\n", rank, wrong);
    MPI_Finalize();
    return wrong != 0;
}
