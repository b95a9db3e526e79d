// Messages whose sizes and number follow from all that options give a program: variables of its
// environment, its folder, the date, the error handler, its arguments.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 4096 };

static int number_of(const char *text) { return text ? atoi(text) : 0; }

int main(int argc, char **argv)
{
    static char data[MOST];
    int rank, ranks;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    int bytes = number_of(getenv("BYTES")) + number_of(getenv("MORE")) + number_of(argv[1]);
    int rounds = 1;
    FILE *file = fopen("rounds", "r");
    if (file) {
        if (fscanf(file, "%d", &rounds) != 1)
            return 1;
        fclose(file);
    }
    time_t now = time(NULL);
    rounds += gmtime(&now)->tm_mon;
    // Nobody has this rank: with the usual error handler it is the end.
    if (argc > 2 && strcmp(argv[2], "nobody") == 0)
        MPI_Send(data, 1, MPI_BYTE, ranks, 0, MPI_COMM_WORLD);
    // All agree on the numbers of rank 0.
    int agreed[2] = { bytes, rounds };
    MPI_Bcast(agreed, 2, MPI_INT, 0, MPI_COMM_WORLD);
    for (int round = 0; round < agreed[1]; round++) {
        int right = (rank + 1) % ranks, left = (rank + ranks - 1) % ranks;
        MPI_Sendrecv_replace(data, agreed[0] % MOST, MPI_BYTE, right, round, left, round,
                             MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Finalize();
    return 0;
}
