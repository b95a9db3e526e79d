/* A program that ends badly: SEED says how, where and when, and what is under way then. Each rank makes
 * the same plan from the seed. While one of them ends the run, the others exchange messages of all
 * lengths, so that packets, interrupts and copies are under way at that moment. */
#include <mpi.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sunstar.h>
#include <unistd.h>

enum { ROOM = 1 << 18, WINDOW = 4 };

enum {
    ABORTS,
    EXITS,
    LEAVES,
    IS_KILLED,
    CRASHES,
    RETURNS,
    ERRS,
    DEADLOCKS,
    FLOODS,
    POLLS,
    WAYS,
};

/* SplitMix64. */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int bound) { return (int)(next(state) % (uint64_t)bound); }

static int length_of(uint64_t *state) {
    static const int most[] = {1, 13, 80, 600, 9000, 9000, 40000, ROOM};

    return below(state, most[below(state, 8)] + 1);
}

/* What the run ends of. Not all ways end it: the caller goes on behind those. */
static void end_badly(int way, int rank, int size, uint64_t *state) {
    static int word;
    static volatile int *nowhere;

    switch (way) {
    case ABORTS: MPI_Abort(MPI_COMM_WORLD, 1 + below(state, 300)); break;
    case EXITS: exit(below(state, 4)); break;
    case LEAVES: _exit(5); break;
    case IS_KILLED: raise(SIGKILL); break;
    case CRASHES: *nowhere = 1; break;
    case RETURNS: break;
    case ERRS: MPI_Send(&word, 1, MPI_INT, size, 0, MPI_COMM_WORLD); break;
    case DEADLOCKS: MPI_Recv(&word, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE); break;
    case FLOODS:
        for (int i = 0; i < 3000; i++) {
            MPI_Request request;
            MPI_Isend(NULL, 0, MPI_INT, (rank + 1) % size, 98, MPI_COMM_WORLD, &request);
            MPI_Request_free(&request);
        }
        MPI_Recv(&word, 1, MPI_INT, rank, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case POLLS:
        for (int flag = 0; !flag;) {
            MPI_Iprobe(rank, 99, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        break;
    }
}

int main(int count, char **words) {
    uint64_t plan = count > 1 ? strtoull(words[1], NULL, 10) : 1;
    char *sent = calloc(WINDOW, ROOM), *received = calloc(WINDOW, ROOM);
    int rank, size;

    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int way = below(&plan, WAYS), who = below(&plan, size), when = below(&plan, 12);
    int computes = below(&plan, 3) == 0;

    for (int turn = 0;; turn++) {
        MPI_Request requests[2 * WINDOW];
        int step = 1 + below(&plan, size), window = 1 + below(&plan, WINDOW), pending = 0;
        int to = (rank + step) % size, from = (rank + size - step % size) % size;

        for (int i = 0; i < window; i++) {
            int length = length_of(&plan);
            MPI_Irecv(received + i * ROOM, ROOM, MPI_BYTE, from, i, MPI_COMM_WORLD,
                      &requests[pending++]);
            MPI_Isend(sent + i * ROOM, length, MPI_BYTE, to, i, MPI_COMM_WORLD,
                      &requests[pending++]);
        }
        /* Ranks are at different places, each for a time of its own. */
        uint64_t own = plan + (uint64_t)rank;
        if (computes) sunstar_compute(below(&own, 20000) * 1e-9);
        if (turn == when && rank == who) {
            uint64_t last = plan;
            end_badly(way, rank, size, &last);
        }
        if (turn == when && way == RETURNS) {
            MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
            break;
        }
        MPI_Waitall(pending, requests, MPI_STATUSES_IGNORE);
    }
    MPI_Finalize();
    return rank == who ? 3 : 0;
}
