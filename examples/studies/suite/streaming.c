/* OSU's streaming bandwidth (osu_bw): windows of 64 messages, each window acknowledged by 4 bytes. MB are
 * 10^6 bytes.
 *
 *     sunstar run -n 2 examples/studies/suite/streaming.c [largest size in bytes] */
#include "suite.h"

enum { WINDOW = 64 };

static void window(char *buffer, char *answer, int bytes)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (rank == 0)
            MPI_Isend(buffer, bytes, MPI_BYTE, 1, 0, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (rank == 0)
        MPI_Recv(answer, 4, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(answer, 4, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const int largest = (int)argument(argc, argv, 1, 4 << 20);
    char *buffer = buffer_of((size_t)largest), *answer = buffer_of(4);
    if (rank == 0)
        printf("%10s %12s\n", "bytes", "MB/s");
    for (int bytes = 1; bytes <= largest && rank < 2; bytes *= 2) {
        const int windows = bytes <= 1024 ? 10 : bytes <= 65536 ? 4 : 1;
        window(buffer, answer, bytes);
        const double start = MPI_Wtime();
        for (int i = 0; i < windows; i++)
            window(buffer, answer, bytes);
        const double seconds = MPI_Wtime() - start;
        if (rank == 0)
            printf("%10d %12.2f\n", bytes, 1e-6 * bytes * WINDOW * windows / seconds);
    }
    free(buffer);
    free(answer);
    MPI_Finalize();
    return 0;
}
