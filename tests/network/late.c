/* Everybody sends large messages to rank 0, which posts its receives late and in the wrong order: what it has no
   room for stays in the network and at the senders, and arrives whole in the end. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { LENGTH = 100000, EACH = 4 };

static unsigned char byte_of(int rank, int message, int i) {
    return (unsigned char)(rank * 31 + message * 17 + i * 7);
}

int main(int argc, char **argv) {
    int rank, size, wrong = 0;
    unsigned char *buffer = malloc(LENGTH);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (rank > 0) {
        for (int m = 0; m < EACH; m++) {
            for (int i = 0; i < LENGTH; i++) buffer[i] = byte_of(rank, m, i);
            MPI_Send(buffer, LENGTH, MPI_BYTE, 0, m, MPI_COMM_WORLD);
        }
    } else {
        double begin = MPI_Wtime();
        while (MPI_Wtime() - begin < 1e-3) continue;
        for (int m = EACH - 1; m >= 0; m--) {
            for (int from = size - 1; from > 0; from--) {
                MPI_Recv(buffer, LENGTH, MPI_BYTE, from, m, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int i = 0; i < LENGTH; i++) wrong += buffer[i] != byte_of(from, m, i);
            }
        }
        printf("%d wrong bytes\n", wrong);
    }
    MPI_Finalize();
    free(buffer);
    return wrong != 0;
}
