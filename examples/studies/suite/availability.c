/* Availability of the host's processor, and overhead of a message, by the post-work-wait method of Sandia's
 * benchmark of overhead:
 *
 *     base      time of post and wait without work
 *     total     the same with work between them, as long as makes the wait short: work grows until the
 *               total is more than 1.5 times the base
 *     overhead  total less the work
 *     availability   1 - overhead / base, in percent
 *
 * Rank 0 is measured, once as sender and once as receiver; rank 1 waits for its message at once.
 *
 *     sunstar run -n 2 examples/studies/suite/availability.c [largest size in bytes] */
#include "suite.h"
#include <sunstar.h>

enum { TIMES = 10 };

/* Seconds that a message takes rank 0, with so much work while it is under way. */
static double total_of(char *buffer, int bytes, int sends, double work)
{
    double seconds = 0;
    for (int i = -1; i < TIMES; i++) {
        MPI_Request request;
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        if (sends == (rank == 0))
            MPI_Isend(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, &request);
        if (rank == 0)
            sunstar_compute(work);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        if (i >= 0)
            seconds += MPI_Wtime() - start;
    }
    MPI_Bcast(&seconds, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    return seconds / TIMES;
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    if (ranks != 2)
        fail("this program needs 2 ranks");
    const int largest = (int)argument(argc, argv, 1, 1 << 20);
    char *buffer = buffer_of((size_t)largest);
    if (rank == 0)
        printf("%10s %12s %12s %12s %12s\n", "bytes", "send_%", "receive_%", "send_us",
               "receive_us");
    for (int bytes = 8; bytes <= largest; bytes *= 4) {
        double overhead[2], base[2];
        for (int sends = 0; sends < 2; sends++) {
            base[sends] = total_of(buffer, bytes, sends, 0);
            double work = base[sends], total;
            while ((total = total_of(buffer, bytes, sends, work)) < 1.5 * base[sends])
                work *= 1.25;
            overhead[sends] = total - work;
        }
        if (rank == 0)
            printf("%10d %12.1f %12.1f %12.3f %12.3f\n", bytes, 100 * (1 - overhead[1] / base[1]),
                   100 * (1 - overhead[0] / base[0]), overhead[1] * 1e6, overhead[0] * 1e6);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
