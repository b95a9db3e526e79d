/* Latency over the queue of unexpected messages: how long it is, and how long the message is. The time to
 * post the receive is a part of it (brightwell2005 s5.A and s6.C).
 *
 *     each rank   gets messages that it does not receive yet   meet
 *     rank 0           |-- send size bytes -->|-- post receive -->   ... |
 *     rank 1           |-- post receive --> ...      ---- send size bytes -->
 *                      |<----------------------- timed ----------------->|
 *
 * A posted receive first looks for its message among the unexpected ones. Both queues are alike, and each
 * rank posts one receive, so half of the round trip is a message with one post. As in the paper, the search
 * may overlap with the transfer. Messages and the barrier's keep their order, so behind it the queue is as
 * long as told.
 *
 * Only functions that the paper's own MPI has are used; the time is the clock's.
 *
 *     sunstar run -n 2 examples/studies/unexpected.c [bytes [longest queue [rounds]]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static const int lengths[] = {0,   1,   2,   5,   10,  20,  30,  50,  70,  100, 127, 128,
                              140, 160, 200, 255, 256, 280, 300, 350, 400, 450, 500};
static const int length_count = sizeof lengths / sizeof lengths[0];

enum { LONGEST = 500, MESSAGE = 1, READY = 2, OTHERS = 3, WARM = 1 };

/* Nanoseconds: what a rank and its network interface may still have to do, 256 inserts into a matching unit
 * included, so that the queue stands before anything is timed; and from phase to phase of a round. */
enum { SETTLE = 60000, STRIDE = 130 };

static MPI_Request sent[LONGEST];
static char *buffer, *reply;

/* Nanoseconds from a send to the end of its receive, as rank 1 knows it. */
static double flight;

static double now_ns(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return 1e9 * (double)time.tv_sec + (double)time.tv_nsec;
}

static void pause_for(double ns)
{
    double end = now_ns() + ns;

    while (now_ns() < end)
        ;
}

/* A barrier lets a rank go while the other one may still search for the barrier's message. Rank 1 says when
 * it has done so, and rank 0 has done so when it has heard that; then both go on at about the same time. */
static void meet(int rank, double phase)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1)
        MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pause_for(SETTLE + (rank == 1 ? flight : phase));
}

/* Rank 0 has its time: before that, nothing of rank 1 may follow the message. */
static void part(int rank)
{
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* One round with `length` unexpected messages; rank 0 gets nanoseconds one way. */
static double round_of(int rank, int size, int length, int round)
{
    int peer = 1 - rank;
    double start, end;

    for (int i = 0; i < length; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, peer, OTHERS + i, MPI_COMM_WORLD, &sent[i]);
    MPI_Waitall(length, sent, MPI_STATUSES_IGNORE);
    meet(rank, round * STRIDE);
    start = now_ns();
    if (rank == 0)
        MPI_Send(buffer, size, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
    MPI_Recv(reply, size, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(buffer, size, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
    end = now_ns();

    part(rank);
    for (int i = 0; i < length; i++)
        MPI_Recv(NULL, 0, MPI_BYTE, peer, OTHERS + i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return (end - start) / 2;
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 0, longest = argc > 2 ? atoi(argv[2]) : LONGEST;
    int rounds = argc > 3 ? atoi(argv[3]) : 4, rank, ranks;
    double reading;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || size < 0 || longest > LONGEST || rounds < 1) {
        if (rank == 0)
            fprintf(stderr, "unexpected: needs two ranks, and [bytes [length [rounds]]]\n");
        MPI_Finalize();
        return 1;
    }
    buffer = calloc(1, (size_t)size + 1);
    reply = calloc(1, (size_t)size + 1);
    reading = now_ns();
    reading = now_ns() - reading;
    for (int i = 0; i <= WARM; i++) {
        double start = now_ns();

        if (rank == 1)
            MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 1 - rank, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (rank == 0)
            MPI_Send(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD);
        flight = (now_ns() - start) / 2;
    }

    for (int l = 0; l < length_count && lengths[l] <= longest; l++) {
        double sum = 0.0;

        for (int round = -WARM; round < rounds; round++) {
            double time = round_of(rank, size, lengths[l], round + WARM);

            if (round >= 0)
                sum += time - reading / 2;
        }
        if (rank == 0)
            printf("unexpected %d: %d bytes, %.1f ns\n", lengths[l], size, sum / rounds);
    }

    free(buffer);
    free(reply);
    MPI_Finalize();
    return 0;
}
