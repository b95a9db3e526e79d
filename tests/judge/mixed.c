/* Bursts of short and long messages between two ranks: what the planted bugs of command::planted need. */
#include <mpi.h>
#include <stdio.h>

#define SHORT 8
#define LONG 3000
#define BURST 12

static unsigned char out[BURST][LONG], in[BURST][LONG];

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (int i = 0; i < BURST; i++)
        for (int at = 0; at < LONG; at++)
            out[i][at] = (unsigned char)(i * 31 + at * 7 + at / 256);
    for (int round = 0; round < 4; round++) {
        MPI_Request requests[2 * BURST];
        const int bytes = round % 2 ? LONG : SHORT;
        for (int i = 0; i < BURST; i++)
            MPI_Irecv(in[i], bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[i]);
        for (int i = 0; i < BURST; i++)
            MPI_Isend(out[i], bytes, MPI_BYTE, 1 - rank, i, MPI_COMM_WORLD, &requests[BURST + i]);
        MPI_Waitall(2 * BURST, requests, MPI_STATUSES_IGNORE);
        for (int i = 0; i < BURST; i++)
            for (int at = 0; at < bytes; at++)
                wrong += in[i][at] != out[i][at];
    }
    printf("%d wrong bytes\n", wrong);
    MPI_Finalize();
    return 0;
}
