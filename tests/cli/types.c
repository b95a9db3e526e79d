/* Datatypes of both sides of a message, which match or do not: one case for each argument. Rank 1 takes what
 * rank 0 gives; in reductions both do both. */
#include <mpi.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

static int rank;
static double out[16], into[16];
static MPI_Comm world;

/* One type on rank 0 and another on rank 1. */
static MPI_Datatype either(MPI_Datatype zero, MPI_Datatype one)
{
    return rank == 0 ? zero : one;
}

static void message(int count, MPI_Datatype given, int room, MPI_Datatype taken)
{
    if (rank == 0)
        MPI_Send(out, count, given, 1, 5, world);
    else if (rank == 1)
        MPI_Recv(into, room, taken, 0, 5, world, MPI_STATUS_IGNORE);
}

static MPI_Datatype structure(MPI_Datatype first, MPI_Datatype second)
{
    const int lengths[] = {1, 1};
    const MPI_Aint places[] = {0, 8};
    const MPI_Datatype types[] = {first, second};
    MPI_Datatype made;
    MPI_Type_create_struct(2, lengths, places, types, &made);
    MPI_Type_commit(&made);
    return made;
}

static MPI_Datatype vector(int count, int stride, MPI_Datatype of)
{
    MPI_Datatype made;
    MPI_Type_vector(count, 1, stride, of, &made);
    MPI_Type_commit(&made);
    return made;
}

/* Sends and receives of other kinds: rank 0 has INT, rank 1 FLOAT. */
static void other(const char *kind)
{
    MPI_Request request;
    MPI_Message handle;
    const MPI_Datatype type = either(MPI_INT, MPI_FLOAT);
    if (strcmp(kind, "nonblocking") == 0) {
        if (rank == 0)
            MPI_Isend(out, 2, type, 1, 5, world, &request);
        else
            MPI_Irecv(into, 2, type, 0, 5, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(kind, "persistent") == 0) {
        if (rank == 0)
            MPI_Send_init(out, 2, type, 1, 5, world, &request);
        else
            MPI_Recv_init(into, 2, type, 0, 5, world, &request);
        MPI_Start(&request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    } else if (strcmp(kind, "matched") == 0 && rank == 1) {
        MPI_Mprobe(0, 5, world, &handle, MPI_STATUS_IGNORE);
        MPI_Mrecv(into, 2, type, &handle, MPI_STATUS_IGNORE);
    } else if (strcmp(kind, "matched") == 0) {
        MPI_Ssend(out, 2, type, 1, 5, world);
    } else if (strcmp(kind, "replace") == 0) {
        MPI_Sendrecv_replace(out, 2, type, 1 - rank, 5, 1 - rank, 5, world, MPI_STATUS_IGNORE);
    } else if (strcmp(kind, "ireplace") == 0) {
        MPI_Isendrecv_replace(out, 2, type, 1 - rank, 5, 1 - rank, 5, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
}

static void collective(const char *kind)
{
    const MPI_Datatype type = either(MPI_INT, MPI_FLOAT);
    const int counts[] = {2, 2}, places[] = {0, 2}, bytes[] = {0, 8};
    const MPI_Datatype types[] = {type, type};
    MPI_Request request;
    if (strcmp(kind, "bcast") == 0)
        MPI_Bcast(out, 2, type, 0, world);
    else if (strcmp(kind, "ibcast") == 0) {
        MPI_Ibcast(out, 2, type, 0, world, &request);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (strcmp(kind, "reduce") == 0)
        MPI_Reduce(out, into, 2, type, MPI_SUM, 1, world);
    else if (strcmp(kind, "operation") == 0)
        MPI_Allreduce(out, into, 2, MPI_INT, rank == 0 ? MPI_SUM : MPI_MAX, world);
    else if (strcmp(kind, "allreduce") == 0)
        MPI_Allreduce(out, into, 2, type, MPI_SUM, world);
    else if (strcmp(kind, "scan") == 0)
        MPI_Scan(out, into, 2, type, MPI_SUM, world);
    else if (strcmp(kind, "gather") == 0)
        MPI_Gather(out, 2, type, into, 2, MPI_FLOAT, 1, world);
    else if (strcmp(kind, "gatherv") == 0)
        MPI_Gatherv(out, 2, type, into, counts, places, MPI_FLOAT, 1, world);
    else if (strcmp(kind, "scatter") == 0)
        MPI_Scatter(out, 2, MPI_INT, into, 2, type, 0, world);
    else if (strcmp(kind, "allgather") == 0)
        MPI_Allgather(out, 2, type, into, 2, MPI_INT, world);
    else if (strcmp(kind, "alltoall") == 0)
        MPI_Alltoall(out, 2, type, into, 2, type, world);
    else if (strcmp(kind, "alltoallw") == 0)
        MPI_Alltoallw(out, counts, bytes, types, into, counts, bytes, types, world);
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    const char *kind = argc > 1 ? argv[1] : "";
    /* Those that do not match. */
    if (strcmp(kind, "message") == 0)
        message(2, MPI_INT, 2, MPI_FLOAT);
    else if (strcmp(kind, "bytes") == 0)
        message(2, MPI_INT, 8, MPI_BYTE);
    else if (strcmp(kind, "size") == 0)
        message(1, MPI_DOUBLE, 2, MPI_INT);
    else if (strcmp(kind, "cut") == 0)
        message(3, MPI_INT, 2, MPI_DOUBLE);
    else if (strcmp(kind, "order") == 0)
        message(1, structure(MPI_INT, MPI_FLOAT), 1, structure(MPI_FLOAT, MPI_INT));
    else if (strncmp(kind, "matching", 8) != 0) {
        other(kind);
        collective(kind);
    } else { /* Those that do. */
        message(2, MPI_INT, 8, MPI_INT);
        message(6, MPI_INT, 1, vector(6, 3, MPI_INT));
        message(2, structure(MPI_INT, MPI_INT), 4, MPI_INT);
        message(2, MPI_INT, 8, MPI_PACKED);
        message(8, MPI_PACKED, 1, structure(MPI_INT, MPI_FLOAT));
        message(1, MPI_FLOAT_INT, 1, structure(MPI_FLOAT, MPI_INT));
        message(0, MPI_INT, 0, MPI_FLOAT);
        message(3, structure(MPI_INT, MPI_DOUBLE), 4, structure(MPI_INT, MPI_DOUBLE));
        MPI_Bcast(out, rank == 0 ? 4 : 1, either(MPI_INT, vector(4, 2, MPI_INT)), 0, world);
        MPI_Gather(rank == 0 ? MPI_IN_PLACE : out, 2, MPI_INT, into, 2, MPI_INT, 0, world);
        MPI_Allreduce(MPI_IN_PLACE, into, 2, MPI_INT, MPI_SUM, world);
        MPI_Sendrecv_replace(out, 2, MPI_INT, 1 - rank, 5, 1 - rank, 5, world, MPI_STATUS_IGNORE);
    }
    printf("end %d\n", rank);
    MPI_Finalize();
    return 0;
}
