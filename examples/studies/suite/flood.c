/* brightwell2007's loop of empty messages that nobody has asked for: rank 0 sends, rank 1 receives. The
 * number of messages sent and not yet received, in flight or unexpected, at twenty moments of the sender's
 * run: the receiver falls behind, or it does not.
 *
 *     sunstar run -n 2 examples/studies/suite/flood.c [messages] */
#include "suite.h"

enum { MOMENTS = 20 };

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const long messages = argument(argc, argv, 1, 10000000);
    /* Times of every `stride`-th message. */
    const long stride = messages > 100000 ? messages / 100000 : 1, noted = messages / stride;
    double *at = malloc((size_t)(noted + 1) * sizeof *at);
    double *received = malloc((size_t)(noted + 1) * sizeof *at);
    if (ranks != 2 || messages < MOMENTS || at == NULL || received == NULL)
        fail("this program needs 2 ranks and %d messages or more", MOMENTS);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (long i = 0; i < messages; i++) {
        if (rank == 0)
            MPI_Send(NULL, 0, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
        else
            MPI_Recv(NULL, 0, MPI_BYTE, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (i % stride == 0 && i / stride < noted)
            at[i / stride] = MPI_Wtime() - start;
    }
    if (rank == 1) {
        MPI_Send(at, (int)noted, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD);
    } else {
        MPI_Recv(received, (int)noted, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        printf("%12s %12s %12s\n", "ms", "sent", "behind");
        for (int moment = 1; moment <= MOMENTS; moment++) {
            const double now = at[noted - 1] * moment / MOMENTS;
            long sent = 0, got = 0;
            while (sent < noted && at[sent] <= now)
                sent++;
            while (got < noted && received[got] <= now)
                got++;
            printf("%12.4f %12ld %12ld\n", now * 1e3, sent * stride, (sent - got) * stride);
        }
    }
    free(at);
    free(received);
    MPI_Finalize();
    return 0;
}
