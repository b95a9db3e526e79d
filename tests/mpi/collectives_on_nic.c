/* Barriers and small allreduces of all kinds, in many communicators, blocking and not, between messages.
 * Every rank prints a line of sums over the bits of its results, which do not depend on who performs the
 * operations. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int rank, size;
static uint64_t seen = 1469598103934665603u;

static void note(const void *data, size_t bytes)
{
    const unsigned char *at = data;
    for (size_t i = 0; i < bytes; i++)
        seen = (seen ^ at[i]) * 1099511628211u;
}

static uint64_t state;
static uint64_t any(void)
{
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

/* A double of any kind but a NaN: its bits may differ. */
static double any_double(void)
{
    uint64_t bits = any();
    double value;
    if ((bits >> 52 & 0x7FF) == 0x7FF)
        bits ^= 1ull << 62;
    if (bits % 5)
        bits = (bits & 0x800FFFFFFFFFFFFFull) | (1000 + bits % 60) << 52;
    memcpy(&value, &bits, 8);
    return value;
}

static void reduce_all(MPI_Comm comm)
{
    const MPI_Op ops[] = {MPI_SUM, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR, MPI_PROD};
    const MPI_Datatype types[] = {MPI_DOUBLE,  MPI_INT,      MPI_UNSIGNED,
                                  MPI_INT64_T, MPI_UINT64_T, MPI_FLOAT};
    const int sizes[] = {8, 4, 4, 8, 8, 4};
    for (int type = 0; type < 6; type++) {
        for (int op = 0; op < 7; op++) {
            const int real = type == 0 || type == 5, count = 1 + (type * 7 + op * 5) % 24;
            uint64_t mine[24] = {0}, all[24] = {0};
            if (real && op >= 3 && op < 6)
                continue;
            for (int i = 0; i < count; i++) {
                const double value = any_double();
                const float small = (float)(any() % 1000) / 7;
                char *at = (char *)mine + i * sizes[type];
                const uint64_t word = any();
                const void *from = type == 0 ? (const void *)&value : &word;
                memcpy(at, type == 5 ? (const void *)&small : from, (size_t)sizes[type]);
            }
            if (type % 2) {
                memcpy(all, mine, sizeof all);
                MPI_Allreduce(MPI_IN_PLACE, all, count, types[type], ops[op], comm);
            } else {
                MPI_Allreduce(mine, all, count, types[type], ops[op], comm);
            }
            note(all, (size_t)(count * sizes[type]));
        }
    }
}

/* Many at a time: they are done in the order of their beginning. */
static void at_once(MPI_Comm comm)
{
    MPI_Request requests[24];
    int mine[8], all[8];
    for (int i = 0; i < 8; i++) {
        mine[i] = (int)any();
        MPI_Ibarrier(comm, &requests[3 * i]);
        MPI_Iallreduce(&mine[i], &all[i], 1, MPI_INT, i % 2 ? MPI_SUM : MPI_MAX, comm,
                       &requests[3 * i + 1]);
        MPI_Ibarrier(comm, &requests[3 * i + 2]);
    }
    MPI_Waitall(24, requests, MPI_STATUSES_IGNORE);
    note(all, sizeof all);
}

int main(int argc, char **argv)
{
    MPI_Comm half, copy, more[12];
    char buffer[4096];
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state = 88172645463325252u + (uint64_t)rank * 7919;

    MPI_Comm_dup(MPI_COMM_WORLD, &copy);
    at_once(copy);
    reduce_all(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, rank % 3, -rank, &half);
    for (int i = 0; i < 3; i++) {
        MPI_Request request;
        MPI_Status status;
        const int from = (rank + size - 1) % size, to = (rank + 1) % size;
        const char data[2000] = {(char)rank};
        MPI_Irecv(buffer, sizeof buffer, MPI_CHAR, from, i, MPI_COMM_WORLD, &request);
        if (i == 1)
            MPI_Barrier(MPI_COMM_WORLD);
        /* Its receiver may have to fetch it while it is in the barrier. */
        if (i < 2)
            MPI_Send(data, sizeof data, MPI_CHAR, to, i, MPI_COMM_WORLD);
        else
            MPI_Ssend(data, sizeof data, MPI_CHAR, to, i, MPI_COMM_WORLD);
        MPI_Barrier(half);
        MPI_Barrier(MPI_COMM_WORLD);
        MPI_Wait(&request, &status);
        note(&status.MPI_SOURCE, sizeof status.MPI_SOURCE);
        reduce_all(half);
    }
    /* More communicators than the network interface has groups; then freed, so that others may have theirs.
     * */
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < 12; i++) {
            int one = i, sum;
            MPI_Comm_dup(i % 2 ? half : MPI_COMM_WORLD, &more[i]);
            MPI_Barrier(more[i]);
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, more[i]);
            note(&sum, sizeof sum);
        }
        for (int i = 0; i < 12; i++)
            MPI_Comm_free(&more[(i * 5) % 12]);
    }
    at_once(half);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&half);
    for (int turn = 0; turn < size; turn++) {
        MPI_Barrier(MPI_COMM_WORLD);
        if (turn == rank)
            printf("rank %d: %016llx\n", rank, (unsigned long long)seen);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}
