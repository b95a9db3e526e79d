/* Message rate: each rank of the first half sends windows of messages to its peer in the second half, all
 * pairs at once. Messages a second of all pairs together.
 *
 *     sunstar run -n 4 --ranks-per-node 2 examples/studies/suite/message_rate.c [largest size in bytes] */
#include "suite.h"

enum { WINDOW = 64, WINDOWS = 8 };

static void window(char *buffer, int peer, int sends, int bytes)
{
    MPI_Request requests[WINDOW];
    for (int i = 0; i < WINDOW; i++) {
        if (sends)
            MPI_Isend(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
        else
            MPI_Irecv(buffer, bytes, MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Waitall(WINDOW, requests, MPI_STATUSES_IGNORE);
    if (sends)
        MPI_Recv(buffer, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
        MPI_Send(buffer, 0, MPI_BYTE, peer, 1, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 2);
    const int largest = (int)argument(argc, argv, 1, 8192), half = ranks / 2;
    const int sends = rank < half, peer = sends ? rank + half : rank - half;
    char *buffer = buffer_of((size_t)largest);
    if (rank == 0)
        printf("%10s %12s\n", "bytes", "messages/s");
    for (int bytes = 0; bytes <= largest; bytes = next_size(bytes)) {
        window(buffer, peer, sends, bytes);
        MPI_Barrier(MPI_COMM_WORLD);
        const double start = MPI_Wtime();
        for (int i = 0; i < WINDOWS; i++)
            window(buffer, peer, sends, bytes);
        const double seconds = largest_of(MPI_Wtime() - start);
        if (rank == 0)
            printf("%10d %12.0f\n", bytes, half * WINDOW * WINDOWS / seconds);
    }
    free(buffer);
    MPI_Finalize();
    return 0;
}
