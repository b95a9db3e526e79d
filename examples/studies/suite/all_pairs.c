/* Latency between all pairs of processes, one pair at a time: half of a round trip; the mean, the least and
 * the most of all pairs, for the first 2, 4, 8 ... ranks.
 *
 *     sunstar run -n 16 examples/studies/suite/all_pairs.c [bytes] */
#include "suite.h"

enum { TIMES = 10 };

static double pair(int one, int other, char *buffer, int bytes)
{
    double start = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = -1; i < TIMES; i++) {
        if (i == 0)
            start = MPI_Wtime();
        if (rank == one) {
            MPI_Send(buffer, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD);
            MPI_Recv(buffer, bytes, MPI_BYTE, other, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else if (rank == other) {
            MPI_Recv(buffer, bytes, MPI_BYTE, one, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(buffer, bytes, MPI_BYTE, one, 0, MPI_COMM_WORLD);
        }
    }
    double seconds = rank == one ? (MPI_Wtime() - start) / TIMES / 2 : 0;
    return largest_of(seconds);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const int bytes = (int)argument(argc, argv, 1, 0);
    char *buffer = buffer_of((size_t)bytes);
    double sum = 0, least = 1, most = 0;
    int pairs = 0, next = 2;
    if (rank == 0)
        printf("%10s %12s %12s %12s\n", "ranks", "mean_us", "least_us", "most_us");
    for (int other = 1; other < ranks; other++) {
        for (int one = 0; one < other; one++, pairs++) {
            const double seconds = pair(one, other, buffer, bytes);
            sum += seconds;
            least = seconds < least ? seconds : least;
            most = seconds > most ? seconds : most;
        }
        if (other + 1 == next && rank == 0)
            printf("%10d %12.3f %12.3f %12.3f\n", next, sum / pairs * 1e6, least * 1e6, most * 1e6);
        if (other + 1 == next)
            next *= 2;
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
