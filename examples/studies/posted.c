/* Latency over the queue of posted receives: how long it is, which part of it is walked through, and how long
 * the message is (brightwell2005 s5.A and s6.B).
 *
 *     each rank   post: [ part of the others ] [ the message's ] [ rest of the others ]   meet
 *     rank 0           |------- size bytes ------>         .------------>
 *     rank 1                                      ---------'  size bytes
 *                      |<------------------ timed ----------------->|
 *
 * Both queues are alike, so half of the round trip is a message with one walk. The others are receives of
 * messages that come after the timed part, in the order of the queue. All is done again for each round; the
 * rounds begin at different times after the two have met, so that the mean is over phases of polling loops.
 *
 * Only functions that the paper's own MPI has are used; the time is the clock's.
 *
 *     sunstar run -n 2 examples/studies/posted.c [bytes [percent walked [longest queue [rounds]]]]
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* 128 and 256 are sizes of units, which the message's own receive shares; of 400 and 500 the paper tells. */
static const int lengths[] = {0,   1,   2,   5,   10,  20,  30,  50,  70,  100, 127, 128,
                              140, 160, 200, 255, 256, 280, 300, 350, 400, 450, 500};
static const int length_count = sizeof lengths / sizeof lengths[0];

enum { LONGEST = 500, MESSAGE = 1, READY = 2, OTHERS = 3, WARM = 1 };

/* Nanoseconds: what a rank and its network interface may still have to do, 256 inserts into a matching unit
 * included, so that the queue stands before anything is timed; and from phase to phase of a round. */
enum { SETTLE = 60000, STRIDE = 130 };

static MPI_Request posted[LONGEST], sent[LONGEST], expected;
static char *buffer, *reply;

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
 * it has done so, and rank 0 has done so when it has heard that. */
static void meet(int rank, double phase)
{
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 1) {
        MPI_Send(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD);
        return;
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pause_for(SETTLE + phase);
}

/* Rank 0 has its time: before that, nothing of rank 1 may follow the message. */
static void part(int rank)
{
    if (rank == 0)
        MPI_Send(NULL, 0, MPI_BYTE, 1, READY, MPI_COMM_WORLD);
    else
        MPI_Recv(NULL, 0, MPI_BYTE, 0, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* Receives of others [from, to). */
static void post(int from, int to, int peer)
{
    for (int i = from; i < to; i++)
        MPI_Irecv(NULL, 0, MPI_BYTE, peer, OTHERS + i, MPI_COMM_WORLD, &posted[i]);
}

/* One round with `length` others, `walked` of them ahead; rank 0 gets nanoseconds one way. */
static double round_of(int rank, int size, int length, int walked, int round)
{
    int peer = 1 - rank;
    double start, end;

    post(0, walked, peer);
    MPI_Irecv(reply, size, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD, &expected);
    post(walked, length, peer);
    meet(rank, round * STRIDE);
    start = now_ns();
    if (rank == 0)
        MPI_Send(buffer, size, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
    MPI_Wait(&expected, MPI_STATUS_IGNORE);
    if (rank == 1)
        MPI_Send(buffer, size, MPI_BYTE, peer, MESSAGE, MPI_COMM_WORLD);
    end = now_ns();

    part(rank);
    for (int i = 0; i < length; i++)
        MPI_Isend(NULL, 0, MPI_BYTE, peer, OTHERS + i, MPI_COMM_WORLD, &sent[i]);
    MPI_Waitall(length, sent, MPI_STATUSES_IGNORE);
    MPI_Waitall(length, posted, MPI_STATUSES_IGNORE);
    return (end - start) / 2;
}

int main(int argc, char **argv)
{
    int size = argc > 1 ? atoi(argv[1]) : 0, percent = argc > 2 ? atoi(argv[2]) : 100;
    int longest = argc > 3 ? atoi(argv[3]) : LONGEST, rounds = argc > 4 ? atoi(argv[4]) : 4;
    int rank, ranks;
    double reading;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (ranks != 2 || size < 0 || percent < 0 || percent > 100 || longest > LONGEST || rounds < 1) {
        if (rank == 0)
            fprintf(stderr, "posted: needs two ranks, and [bytes [percent [length [rounds]]]]\n");
        MPI_Finalize();
        return 1;
    }
    buffer = calloc(1, (size_t)size + 1);
    reply = calloc(1, (size_t)size + 1);
    reading = now_ns();
    reading = now_ns() - reading;

    for (int l = 0; l < length_count && lengths[l] <= longest; l++) {
        int length = lengths[l], walked = length * percent / 100;
        double sum = 0.0;

        for (int round = -WARM; round < rounds; round++) {
            double time = round_of(rank, size, length, walked, round + WARM);

            if (round >= 0)
                sum += time - reading / 2;
        }
        if (rank == 0)
            printf("posted %d walked %d: %d bytes, %.1f ns\n", length, walked, size, sum / rounds);
    }

    free(buffer);
    free(reply);
    MPI_Finalize();
    return 0;
}
