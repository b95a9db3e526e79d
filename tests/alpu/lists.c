/* Queues of MPI that a matching unit of 32 cells has to work for, each result checked.
 *
 *     sunstar run -n 2 --machine alpu --set nic.alpu=32 tests/alpu/lists.c [PART]
 *
 * Rank 1 sends, rank 0 receives. PART is one of the names below; all of them if none. Prints "lists: all
 * right" from rank 0.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { MANY = 80, READY = 1000 };

static int rank, wrong;

static void check(int condition, const char *what, int at)
{
    if (!condition) {
        fprintf(stderr, "lists: %s, at %d\n", what, at);
        wrong = 1;
    }
}

static void send(int tag, int value)
{
    MPI_Send(&value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
}

static void post(int *value, int source, int tag, MPI_Request *request)
{
    *value = -1;
    MPI_Irecv(value, 1, MPI_INT, source, tag, MPI_COMM_WORLD, request);
}

/* Tells rank 1 that the receives are posted. */
static void ready(void)
{
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_INT, 1, READY, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_INT, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Receives with the same tag: the oldest is the one, each time. */
static void equal(void)
{
    int values[MANY];
    MPI_Request requests[MANY];

    if (rank == 0)
        for (int i = 0; i < MANY; ++i)
            post(&values[i], 1, 7, &requests[i]);
    ready();
    if (rank == 1) {
        for (int i = 0; i < MANY; ++i)
            send(7, i);
        return;
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
        check(values[i] == i, "equal receives", values[i]);
}

/* Receives of all tags among those of one. */
static void wild(void)
{
    int values[MANY], tags[MANY];
    MPI_Request requests[MANY];

    for (int i = 0; i < MANY; ++i)
        tags[i] = i % 3 == 0 ? MPI_ANY_TAG : 100 + i;
    if (rank == 0)
        for (int i = 0; i < MANY; ++i)
            post(&values[i], i % 2 ? 1 : MPI_ANY_SOURCE, tags[i], &requests[i]);
    ready();
    if (rank == 1) {
        /* What no receive names takes the next of all tags. */
        for (int i = 0; i < MANY; ++i)
            send(i % 3 == 0 ? 5000 + i : 100 + i, i);
        return;
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
        check(values[i] == i, "receives of all tags", i);
}

/* From the youngest receive to the oldest, and from the middle: holes everywhere. */
static void holes(void)
{
    int values[MANY];
    MPI_Request requests[MANY];

    for (int round = 0; round < 3; ++round) {
        if (rank == 0)
            for (int i = 0; i < MANY; ++i)
                post(&values[i], 1, 200 + i, &requests[i]);
        ready();
        for (int i = 0; i < MANY; ++i) {
            int at = round == 0 ? MANY - 1 - i : round == 1 ? (i * 37 + 16) % MANY : i ^ 1;

            if (rank == 1)
                send(200 + at, at + round);
        }
        if (rank == 1)
            continue;
        MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < MANY; ++i)
            check(values[i] == i + round, "receives out of order", i);
    }
}

/* Messages that nobody has asked for, of which receives of all kinds choose; and headers without receive
 * while others are posted. */
static void unexpected(void)
{
    int value;
    MPI_Status status;

    if (rank == 1)
        for (int i = 0; i < MANY; ++i)
            send(300 + i % 40, i);
    ready();
    if (rank == 1) {
        MPI_Recv(NULL, 0, MPI_INT, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return;
    }
    for (int i = MANY / 2; i > 0; --i) {
        /* The older of two. */
        MPI_Recv(&value, 1, MPI_INT, MPI_ANY_SOURCE, 299 + i, MPI_COMM_WORLD, &status);
        check(value == i - 1, "the older of two messages", i);
    }
    for (int i = 0; i < MANY / 2; ++i) {
        MPI_Recv(&value, 1, MPI_INT, 1, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
        check(value == 40 + i && status.MPI_TAG == 300 + i, "any message", i);
    }
    MPI_Send(NULL, 0, MPI_INT, 1, READY, MPI_COMM_WORLD);
}

/* Receives that are taken back stay in the unit, dead, until it is emptied and filled again. */
static void cancelled(void)
{
    int values[MANY];
    MPI_Request requests[MANY];

    if (rank == 0) {
        for (int i = 0; i < MANY; ++i)
            post(&values[i], 1, 400 + i, &requests[i]);
        for (int i = 0; i < MANY; i += 2) {
            MPI_Cancel(&requests[i]);
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            post(&values[i], 1, 400 + i, &requests[i]);
        }
    }
    ready();
    if (rank == 1) {
        for (int i = 0; i < MANY; ++i)
            send(400 + (i * 7 + 3) % MANY, i);
        return;
    }
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
        check(values[(i * 7 + 3) % MANY] == i, "receives beside cancelled ones", i);
}

/* Messages come while their receives are being posted: headers are held in insert mode. */
static void meanwhile(void)
{
    int values[MANY];
    MPI_Request requests[MANY];

    ready();
    for (int i = 0; i < MANY; ++i) {
        if (rank == 1)
            send(500 + (i ^ 3), i ^ 3);
        else
            post(&values[i], MPI_ANY_SOURCE, 500 + i, &requests[i]);
    }
    if (rank == 1)
        return;
    MPI_Waitall(MANY, requests, MPI_STATUSES_IGNORE);
    for (int i = 0; i < MANY; ++i)
        check(values[i] == i, "receives beside their messages", i);
}

static const struct {
    const char *name;
    void (*play)(void);
} parts[] = {{"equal", equal},           {"wild", wild},           {"holes", holes},
             {"unexpected", unexpected}, {"cancelled", cancelled}, {"meanwhile", meanwhile}};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (size_t i = 0; i < sizeof parts / sizeof parts[0]; ++i) {
        if (argc > 1 && strcmp(argv[1], parts[i].name) != 0)
            continue;
        parts[i].play();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 0 && !wrong)
        puts("lists: all right");
    MPI_Finalize();
    return wrong;
}
