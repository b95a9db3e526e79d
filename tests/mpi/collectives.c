/* Every collective, blocking, nonblocking and persistent, with parts of different lengths. */
#include "say.h"

static int in[4096], out[4096], counts[16], places[16], counts2[16], places2[16];

static void reset(void)
{
    for (int i = 0; i < 4096; i++) {
        in[i] = 10000 * rank + i;
        out[i] = -1;
    }
}

static void done(const char *what, MPI_Request *request)
{
    if (request)
        MPI_Wait(request, MPI_STATUS_IGNORE);
    say("%s: %08x", what, hash(out, sizeof out));
    reset();
}

static void twice(const char *what, MPI_Request *request)
{
    for (int round = 0; round < 2; round++) {
        MPI_Start(request);
        MPI_Wait(request, MPI_STATUS_IGNORE);
        say("%s, start %d: %08x", what, round, hash(out, sizeof out));
        for (int i = 0; i < 4096; i++)
            in[i] += 3;
    }
    MPI_Request_free(request);
    reset();
}

/* The three forms of a collective. */
#define ALL(name, ...)                                                                             \
    do {                                                                                           \
        MPI_Request request;                                                                       \
        MPI_##name(__VA_ARGS__, MPI_COMM_WORLD);                                                   \
        done(#name, NULL);                                                                         \
        MPI_I##name(__VA_ARGS__, MPI_COMM_WORLD, &request);                                        \
        done("I" #name, &request);                                                                 \
    } while (0)
#define MPI_IBcast MPI_Ibcast
#define MPI_IReduce MPI_Ireduce
#define MPI_IAllreduce MPI_Iallreduce
#define MPI_IGather MPI_Igather
#define MPI_IGatherv MPI_Igatherv
#define MPI_IScatter MPI_Iscatter
#define MPI_IScatterv MPI_Iscatterv
#define MPI_IAllgather MPI_Iallgather
#define MPI_IAllgatherv MPI_Iallgatherv
#define MPI_IAlltoall MPI_Ialltoall
#define MPI_IAlltoallv MPI_Ialltoallv
#define MPI_IAlltoallw MPI_Ialltoallw
#define MPI_IReduce_scatter MPI_Ireduce_scatter
#define MPI_IReduce_scatter_block MPI_Ireduce_scatter_block
#define MPI_IScan MPI_Iscan
#define MPI_IExscan MPI_Iexscan

static void rooted(int root)
{
    ALL(Bcast, rank == root ? memcpy(out, in, 400) : out, 100, MPI_INT, root);
    ALL(Reduce, in, rank == root ? out : NULL, 70, MPI_INT, MPI_SUM, root);
    ALL(Gather, in, 5, MPI_INT, out, 5, MPI_INT, root);
    ALL(Scatter, in, 6, MPI_INT, out, 6, MPI_INT, root);
    ALL(Gatherv, in, counts[rank], MPI_INT, out, counts, places, MPI_INT, root);
    ALL(Scatterv, in, counts, places, MPI_INT, out, counts[rank], MPI_INT, root);
    if (rank == root)
        memcpy(out + 5 * root, in, 20);
    ALL(Gather, rank == root ? MPI_IN_PLACE : in, 5, MPI_INT, out, 5, MPI_INT, root);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    reset();
    for (int i = 0; i < size; i++) {
        counts[i] = (i * 3 + 1) % 7;
        places[i] = 10 * (size - 1 - i);
    }
    for (int root = 0; root < size; root += 2)
        rooted(root);
    ALL(Allreduce, in, out, 33, MPI_INT, MPI_MAX);
    ALL(Allreduce, in, out, 4000, MPI_INT, MPI_BXOR);
    ALL(Allgather, in, 4, MPI_INT, out, 4, MPI_INT);
    ALL(Allgatherv, in, counts[rank], MPI_INT, out, counts, places, MPI_INT);
    ALL(Alltoall, in, 3, MPI_INT, out, 3, MPI_INT);
    ALL(Scan, in, out, 20, MPI_INT, MPI_SUM);
    MPI_Barrier(MPI_COMM_WORLD);
    ALL(Exscan, in, out, 20, MPI_INT, MPI_SUM);
    ALL(Reduce_scatter, in, out, counts, MPI_INT, MPI_SUM);
    ALL(Reduce_scatter_block, in, out, 4, MPI_INT, MPI_MIN);
    /* To rank j go (rank + j) % 4 ints. */
    for (int i = 0; i < size; i++) {
        counts[i] = counts2[i] = (rank + i) % 4;
        places[i] = 5 * i;
        places2[i] = 7 * (size - 1 - i);
    }
    ALL(Alltoallv, in, counts, places, MPI_INT, out, counts2, places2, MPI_INT);
    /* Two short ones with a gap between them, and without. */
    MPI_Datatype types[16], gaps, pair;
    MPI_Type_vector(2, 1, 3, MPI_SHORT, &gaps);
    MPI_Type_commit(&gaps);
    MPI_Type_contiguous(2, MPI_SHORT, &pair);
    MPI_Type_commit(&pair);
    MPI_Datatype to[16];
    for (int i = 0; i < size; i++) {
        types[i] = pair;
        to[i] = gaps;
        places[i] *= 4;
        places2[i] = 40 * i;
    }
    ALL(Alltoallw, in, counts, places, types, out, counts2, places2, to);
    for (int i = 0; i < 4 * size; i++)
        out[i] = 100 * rank + i;
    MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INT, out, 4, MPI_INT, MPI_COMM_WORLD);
    done("alltoall in place", NULL);
    memcpy(out, in, 400);
    MPI_Allreduce(MPI_IN_PLACE, out, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    done("allreduce in place", NULL);
    memcpy(out, in, 400);
    MPI_Scan(MPI_IN_PLACE, out, 100, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    done("scan in place", NULL);

    /* Several at a time, waited for in another order than they began. */
    MPI_Request many[5];
    static int other[4096], third[4096];
    MPI_Iallreduce(in, out, 50, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &many[0]);
    MPI_Ibarrier(MPI_COMM_WORLD, &many[1]);
    MPI_Ialltoall(in, 2, MPI_INT, other, 2, MPI_INT, MPI_COMM_WORLD, &many[2]);
    MPI_Ibcast(third, 300, MPI_INT, size - 1, MPI_COMM_WORLD, &many[3]);
    MPI_Iallgather(in, 2, MPI_INT, out + 100, 2, MPI_INT, MPI_COMM_WORLD, &many[4]);
    MPI_Wait(&many[3], MPI_STATUS_IGNORE);
    int flag = 0;
    while (!flag)
        MPI_Test(&many[1], &flag, MPI_STATUS_IGNORE);
    MPI_Waitall(5, many, MPI_STATUSES_IGNORE);
    say("many: %08x %d", hash(other, sizeof other), many[0] == MPI_REQUEST_NULL);
    done("many", NULL);

    MPI_Request request;
    MPI_Allreduce_init(in, out, 10, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    twice("persistent allreduce", &request);
    MPI_Bcast_init(rank ? out : in, 10, MPI_INT, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    twice("persistent bcast", &request);
    MPI_Alltoall_init(in, 3, MPI_INT, out, 3, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    twice("persistent alltoall", &request);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &request);
    twice("persistent barrier", &request);
    return end();
}
