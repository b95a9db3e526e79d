/* Messages of rank 2 are taken by matching probes and received, one after the other, while a receive that was
 * posted before, and would have got any of them, has met a long message of rank 1 that is still on its way.
 * Prints how many bytes are wrong. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LONG = 1 << 20, SHORT = 8, MANY = 10, READY = 1 };

static void expect(int peer)
{
    MPI_Recv(NULL, 0, MPI_BYTE, peer, READY, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void tell(int peer)
{
    MPI_Send(NULL, 0, MPI_BYTE, peer, READY, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
    int rank, wrong = 0;
    unsigned char *bytes = calloc(LONG, 1), small[SHORT];

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank == 0) {
        MPI_Request request;

        MPI_Irecv(bytes, LONG, MPI_BYTE, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &request);
        tell(1);
        expect(1);
        for (int i = 0; i < MANY; i++) {
            MPI_Message message;

            tell(2);
            MPI_Mprobe(2, 0, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
            MPI_Mrecv(small, SHORT, MPI_BYTE, &message, MPI_STATUS_IGNORE);
            for (int at = 0; at < SHORT; at++)
                wrong += small[at] != 16 * i + at;
        }
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        printf("%d wrong\n", wrong);
    } else if (rank == 1) {
        MPI_Request request;

        expect(0);
        MPI_Isend(bytes, LONG, MPI_BYTE, 0, 0, MPI_COMM_WORLD, &request);
        tell(0);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == 2) {
        for (int i = 0; i < MANY; i++) {
            for (int at = 0; at < SHORT; at++)
                small[at] = (unsigned char)(16 * i + at);
            expect(0);
            MPI_Send(small, SHORT, MPI_BYTE, 0, 0, MPI_COMM_WORLD);
        }
    }
    MPI_Finalize();
    free(bytes);
    return 0;
}
