/* Measurements that any MPI can make, for a comparison of two of them on the same machine:
 *
 *     sunstar run -n 8 -m redstorm two_mpis.c                 # our own MPI
 *     sunstar run -n 8 -m redstorm --mpi mpich two_mpis.c     # MPICH over libfabric
 *
 * Times are of simulated clocks, in us. Each is measured after a first time that is not counted, in which an
 * MPI opens what it needs. docs/two-mpis.md has the results. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define ROUNDS 50
#define WINDOW 64
#define LARGEST (1 << 20)

static int rank, ranks;
static _Alignas(16) char in[LARGEST], out[LARGEST];
static MPI_Request requests[WINDOW];

static void pingpong(int bytes)
{
    if (rank > 1)
        return;
    for (int half = 0; half < 2; half++) {
        if (half == rank)
            MPI_Send(out, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(in, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* A window of messages whose receives are posted, and an answer. */
static void window(int bytes)
{
    if (rank > 1)
        return;
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            MPI_Isend(out, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(in + i * bytes, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 1)
        MPI_Send(out, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    else
        MPI_Recv(in, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A message behind the receives of others: the last of a window is sent, then the rest. */
static void behind(int bytes)
{
    if (rank > 1)
        return;
    if (rank == 1)
        for (int i = 0; i < WINDOW; i++)
            MPI_Irecv(in, bytes, MPI_BYTE, 0, 10 + i, MPI_COMM_WORLD, &requests[i]);
    pingpong(0);
    for (int i = WINDOW - 1; i >= 0; i--) {
        if (rank == 0) {
            MPI_Send(out, bytes, MPI_BYTE, 1, 10 + i, MPI_COMM_WORLD);
            MPI_Recv(in, 0, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
            MPI_Send(out, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
        }
    }
}

static void allreduce(int bytes)
{
    MPI_Allreduce(out, in, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void halo(int bytes)
{
    const int left = (rank + ranks - 1) % ranks, right = (rank + 1) % ranks;
    MPI_Irecv(in, bytes, MPI_BYTE, left, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in + bytes, bytes, MPI_BYTE, right, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Isend(out, bytes, MPI_BYTE, right, 3, MPI_COMM_WORLD, &requests[2]);
    MPI_Isend(out, bytes, MPI_BYTE, left, 4, MPI_COMM_WORLD, &requests[3]);
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
}

static const struct {
    const char *name;
    void (*once)(int bytes);
    int bytes;
    double divisor; /* of a time, for one message or call */
} measurements[] = {
    {"half a round trip", pingpong, 0, 2},
    {"half a round trip", pingpong, 16, 2},
    {"half a round trip", pingpong, 256, 2},
    {"half a round trip", pingpong, 4096, 2},
    {"half a round trip", pingpong, 65536, 2},
    {"half a round trip", pingpong, LARGEST, 2},
    {"a message of 64 at once", window, 8, WINDOW},
    {"a message of 64 at once", window, 1024, WINDOW},
    {"a message behind others' receives", behind, 8, WINDOW},
    {"allreduce", allreduce, 8, 1},
    {"allreduce", allreduce, 65536, 1},
    {"exchange with two neighbours", halo, 8, 1},
    {"exchange with two neighbours", halo, 8192, 1},
};

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    memset(out, 0, sizeof out);
    if (ranks < 2) {
        fprintf(stderr, "two_mpis: needs two ranks\n");
        MPI_Finalize();
        return 1;
    }
    for (unsigned i = 0; i < sizeof measurements / sizeof *measurements; i++) {
        const int bytes = measurements[i].bytes, rounds = bytes > 100000 ? 5 : ROUNDS;
        measurements[i].once(bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        const double begin = MPI_Wtime();
        for (int round = 0; round < rounds; round++)
            measurements[i].once(bytes);
        const double us = (MPI_Wtime() - begin) * 1e6 / rounds / measurements[i].divisor;
        if (rank == 0)
            printf("%-34s %8d B %10.2f us\n", measurements[i].name, bytes, us);
    }
    MPI_Finalize();
    return 0;
}
