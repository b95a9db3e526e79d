/* Ranks that are away: the last one comes late, so that the first packets for it find no channel; rank 0 then
 * does something else while all others send it what it does not expect. Nothing is lost for want of room, as
 * /proc/net/dp tells. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MESSAGES = 70, WORDS = 500 };

/* A line of /proc/net/dp. */
static long count(const char *name)
{
    FILE *file = fopen("/proc/net/dp", "r");
    char own[64];
    long number, found = -1;

    while (file && fscanf(file, "%63s %ld", own, &number) == 2)
        if (strcmp(own, name) == 0)
            found = number;
    if (file)
        fclose(file);
    return found;
}

int main(int argc, char **argv)
{
    static int out[MESSAGES][WORDS], in[WORDS];
    MPI_Request requests[MESSAGES];
    int rank, size, wrong = 0;
    const char *own = getenv("PMI_RANK"), *all = getenv("PMI_SIZE");

    if (own && all && atoi(own) == atoi(all) - 1)
        usleep(20000);
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < MESSAGES; i++)
        for (int w = 0; w < WORDS; w++)
            out[i][w] = rank * 1000 + i + w;
    if (rank > 0) {
        /* A word, and each eighth time more than a packet. */
        for (int i = 0; i < MESSAGES; i++)
            MPI_Isend(out[i], i % 8 ? 1 : WORDS, MPI_INT, 0, i, MPI_COMM_WORLD, &requests[i]);
        MPI_Waitall(MESSAGES, requests, MPI_STATUSES_IGNORE);
    } else {
        usleep(200000);
        for (int from = size - 1; from > 0; from--)
            for (int i = MESSAGES - 1; i >= 0; i--) {
                MPI_Recv(in, WORDS, MPI_INT, from, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                for (int w = 0; w < (i % 8 ? 1 : WORDS); w++)
                    wrong += in[w] != from * 1000 + i + w;
            }
    }
    long lost = count("lost_no_room") + count("lost_no_memory") + count("lost_closed");
    int early = count("lost_no_channel") > 0;
    printf("rank %d: %d wrong, %ld lost, early %d\n", rank, wrong, lost, early);
    MPI_Finalize();
    return 0;
}
