/* What the benches run, on Sunstar and on SMPI: every message is a call of its own, so that both
 * carry the same ones whatever algorithms they would choose.
 *
 *     messages pingpong ROUND_TRIPS     two ranks, 8 bytes
 *     messages allreduce TIMES          a power of two of ranks, recursive doubling of 8 bytes
 *     messages barrier TIMES            any number of ranks, dissemination
 *     messages halo TIMES               a cube of ranks, 4 KiB to each of six neighbours, periodic
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifndef HALO
#define HALO 4096 /* bytes to each neighbour */
#endif

static int pingpong(int rank, int ranks, long times)
{
    long word = 0;

    (void)ranks;
    for (long i = 0; i < times; i++) {
        if (rank == 0) {
            word = i;
            MPI_Send(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
            MPI_Recv(&word, 8, MPI_BYTE, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            if (word != i)
                return 1;
        } else {
            MPI_Recv(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(&word, 8, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    return 0;
}

static int allreduce(int rank, int ranks, long times)
{
    for (long i = 0; i < times; i++) {
        double sum = (double)rank + (double)i;

        for (int step = 1; step < ranks; step *= 2) {
            double theirs;

            MPI_Sendrecv(&sum, 1, MPI_DOUBLE, rank ^ step, 0, &theirs, 1, MPI_DOUBLE,
                         rank ^ step, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            sum += theirs;
        }
        /* Exact in a double. */
        if (sum != ranks * (ranks - 1) / 2.0 + (double)i * ranks)
            return 1;
    }
    return 0;
}

static int barrier(int rank, int ranks, long times)
{
    for (long i = 0; i < times; i++)
        for (int step = 1; step < ranks; step *= 2)
            MPI_Sendrecv(NULL, 0, MPI_BYTE, (rank + step) % ranks, 0, NULL, 0, MPI_BYTE,
                         (rank + ranks - step) % ranks, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return 0;
}

static int halo(int rank, int ranks, long times)
{
    char *out = malloc(6 * HALO), *in = malloc(6 * HALO);
    int side = 1, wrong = 0;

    while (side * side * side < ranks)
        side++;
    for (long i = 0; i < times && !wrong; i++) {
        MPI_Request requests[12];

        for (int way = 0, stride = 1; way < 6; way++) {
            int at = rank / stride % side, to = (at + (way % 2 ? side - 1 : 1)) % side;
            int neighbour = rank + (to - at) * stride;

            memset(out + way * HALO, (rank + way + (int)i) % 127, HALO);
            MPI_Irecv(in + way * HALO, HALO, MPI_BYTE, neighbour, way ^ 1, MPI_COMM_WORLD,
                      &requests[way]);
            MPI_Isend(out + way * HALO, HALO, MPI_BYTE, neighbour, way, MPI_COMM_WORLD,
                      &requests[6 + way]);
            if (way % 2)
                stride *= side;
        }
        MPI_Waitall(12, requests, MPI_STATUSES_IGNORE);
        for (int way = 0, stride = 1; way < 6; way++) {
            int at = rank / stride % side, to = (at + (way % 2 ? side - 1 : 1)) % side;
            int neighbour = rank + (to - at) * stride;

            wrong |= in[way * HALO + HALO - 1] != (neighbour + (way ^ 1) + (int)i) % 127;
            if (way % 2)
                stride *= side;
        }
    }
    free(out);
    free(in);
    return wrong;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int rank, int ranks, long times);
    } workloads[] = {
        {"pingpong", pingpong}, {"allreduce", allreduce}, {"barrier", barrier}, {"halo", halo}};
    int rank, ranks, wrong = 2;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; argc == 3 && i < 4; i++)
        if (strcmp(argv[1], workloads[i].name) == 0)
            wrong = workloads[i].run(rank, ranks, atol(argv[2]));
    if (wrong)
        fprintf(stderr, "rank %d received something wrong\n", rank);
    MPI_Finalize();
    return wrong;
}
