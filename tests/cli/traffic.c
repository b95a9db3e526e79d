/* A little of everything that Sunstar's MPI can do so far, each result checked.
 *
 *     sunstar run -n 4 tests/cli/traffic.c
 *
 * Prints "traffic: all right" from rank 0 if every rank found everything right.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* On either side of what changes the way a message goes: inline, one packet, eager, rendezvous. */
static const int sizes[] = {0, 1, 12, 13, 64, 65, 4096, 131071, 131072, 131073, 400000};
enum { SIZES = sizeof sizes / sizeof sizes[0], ORDERED = 20 };

static int rank, ranks, wrong;

static void check(int condition, const char *what)
{
    if (!condition) {
        fprintf(stderr, "traffic: rank %d: %s\n", rank, what);
        wrong = 1;
    }
}

static void fill(unsigned char *bytes, int size, int salt)
{
    for (int i = 0; i < size; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256 + salt);
}

/* Every rank sends to its right neighbour and receives from its left one. */
static void neighbours(int size)
{
    int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks, count;
    unsigned char *out = malloc(size + 1), *in = calloc(size + 1, 1), *want = malloc(size + 1);
    MPI_Request requests[2];
    MPI_Status statuses[2];

    fill(out, size, rank);
    fill(want, size, left);
    in[size] = 0xa5; /* must stay */
    MPI_Irecv(in, size, MPI_BYTE, left, size % 100, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(out, size, MPI_BYTE, right, size % 100, MPI_COMM_WORLD, &requests[1]);
    MPI_Waitall(2, requests, statuses);
    MPI_Get_count(&statuses[0], MPI_BYTE, &count);
    check(count == size && statuses[0].MPI_SOURCE == left, "status of a receive");
    check(statuses[0].MPI_TAG == size % 100, "tag of a receive");
    check(memcmp(in, want, size) == 0, "data from a neighbour");
    check(in[size] == 0xa5, "a byte behind the buffer");
    free(out);
    free(in);
    free(want);
}

/* Messages of one sender arrive in the order of their sending, posted or unexpected. */
static void ordering(void)
{
    int values[ORDERED];

    if (rank == 1) {
        for (int i = 0; i < ORDERED; i++)
            MPI_Send(&i, 1, MPI_INT, 0, 3, MPI_COMM_WORLD);
    } else if (rank == 0) {
        MPI_Request requests[ORDERED / 2];
        for (int i = 0; i < ORDERED / 2; i++)
            MPI_Irecv(&values[i], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(ORDERED / 2, requests, MPI_STATUSES_IGNORE);
        for (int i = ORDERED / 2; i < ORDERED; i++)
            MPI_Recv(&values[i], 1, MPI_INT, 1, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (int i = 0; i < ORDERED; i++)
            check(values[i] == i, "order of messages");
    }
}

/* Rank 0 takes one message of each other rank, whoever comes first, and looks at it before. */
static void wildcards(void)
{
    if (rank != 0) {
        MPI_Send(&rank, 1, MPI_INT, 0, 100 + rank, MPI_COMM_WORLD);
        return;
    }
    int seen = 0;
    for (int i = 1; i < ranks; i++) {
        MPI_Status status;
        int from, count;
        MPI_Probe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_INT, &count);
        check(count == 1 && status.MPI_TAG == 100 + status.MPI_SOURCE, "what the probe saw");
        MPI_Recv(&from, 1, MPI_INT, status.MPI_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check(from == status.MPI_SOURCE, "what was received after the probe");
        seen += from;
    }
    check(seen == ranks * (ranks - 1) / 2, "everybody once");
}

/* MPI_Test lets time pass, so that a loop around it ends. */
static void polling(void)
{
    int value = -1, done = 0;
    MPI_Request request;

    if (rank == 0) {
        MPI_Irecv(&value, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &request);
        while (!done)
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
        check(value == 77 && request == MPI_REQUEST_NULL, "what MPI_Test completed");
    } else if (rank == 1) {
        value = 77;
        MPI_Send(&value, 1, MPI_INT, 0, 4, MPI_COMM_WORLD);
    }
}

static void collectives(void)
{
    for (int root = 0; root < ranks; root++) {
        int mine = rank == root;
        double sum = 0, value = rank + 1, word[3] = {mine ? 1.5 : 0, 0, mine ? 7 : 0};
        MPI_Bcast(word, 3, MPI_DOUBLE, root, MPI_COMM_WORLD);
        check(word[0] == 1.5 && word[2] == 7, "broadcast");
        MPI_Reduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, root, MPI_COMM_WORLD);
        check(rank != root || sum == ranks * (ranks + 1) / 2.0, "reduction");
    }
    int most[2] = {rank, -rank}, out[2];
    MPI_Allreduce(most, out, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    check(out[0] == ranks - 1 && out[1] == 0, "reduction to all");
    double before = MPI_Wtime();
    MPI_Barrier(MPI_COMM_WORLD);
    check(MPI_Wtime() > before, "time during a barrier");
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);

    for (int s = 0; s < SIZES; s++)
        neighbours(sizes[s]);
    if (ranks > 1)
        ordering();
    MPI_Barrier(MPI_COMM_WORLD);
    wildcards();
    MPI_Barrier(MPI_COMM_WORLD); /* no later message may meet the wildcards */
    if (ranks > 1)
        polling();
    collectives();

    int anywhere;
    MPI_Allreduce(&wrong, &anywhere, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (rank == 0 && !anywhere)
        printf("traffic: all right\n");
    MPI_Finalize();
    return anywhere;
}
