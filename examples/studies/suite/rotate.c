/* Rotate latency: in a step of distance d every rank sends to the rank d above it and receives from the rank
 * d below it, all at once; the time of a step, averaged over all distances, for communicators of 2, 4, 8 ...
 * ranks. The slides that name the benchmark (brightwell2007) do not define it: this definition is ours.
 *
 *     sunstar run -n 16 examples/studies/suite/rotate.c [bytes] */
#include "suite.h"

enum { TIMES = 4 };

static double rotate(MPI_Comm comm, int size, char *out, char *in, int bytes)
{
    int me;
    double start = 0;
    MPI_Comm_rank(comm, &me);
    for (int i = -1; i < TIMES; i++) {
        if (i == 0) {
            MPI_Barrier(comm);
            start = MPI_Wtime();
        }
        for (int distance = 1; distance < size; distance++)
            MPI_Sendrecv(out, bytes, MPI_BYTE, (me + distance) % size, 0, in, bytes, MPI_BYTE,
                         (me + size - distance) % size, 0, comm, MPI_STATUS_IGNORE);
    }
    double seconds = (MPI_Wtime() - start) / TIMES / (size - 1);
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, comm);
    return seconds;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const int bytes = (int)argument(argc, argv, 1, 8);
    char *out = buffer_of((size_t)bytes), *in = buffer_of((size_t)bytes);
    if (rank == 0)
        printf("%10s %12s\n", "ranks", "step_us");
    for (int size = 2; size <= ranks; size *= 2) {
        MPI_Comm comm = first_ranks(size);
        if (comm == MPI_COMM_NULL)
            continue;
        const double seconds = rotate(comm, size, out, in, bytes);
        if (rank == 0)
            printf("%10d %12.3f\n", size, seconds * 1e6);
        MPI_Comm_free(&comm);
    }
    free(out);
    free(in);
    MPI_Finalize();
    return 0;
}
