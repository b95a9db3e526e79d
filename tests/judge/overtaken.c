/* Receives posted while messages arrive: on a network interface that matches, some are overtaken by messages
 * of which their poster does not know. Two senders, one receiver; a quarter of the receives names no sender,
 * some are taken back, some messages are looked for before. Whatever happens, a sender's messages come in
 * their order. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

#define MESSAGES 240
#define AT_ONCE 8

static unsigned state = 1;

static unsigned below(unsigned bound)
{
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
}

static void send_all(int rank)
{
    char bytes[2000];
    memset(bytes, rank, sizeof bytes);
    for (int i = 0; i < MESSAGES; i++) {
        int flag;
        memcpy(bytes, &i, sizeof i);
        MPI_Send(bytes, 4 + (int)below(below(8) ? 10 : 1990), MPI_CHAR, 2, 0, MPI_COMM_WORLD);
        for (unsigned pause = below(20); pause > 0; pause--)
            MPI_Iprobe(2, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        if (i % 24 == 23)
            MPI_Barrier(MPI_COMM_WORLD);
    }
}

static int next[2], left[2], wrong;

/* The message of a receive that was posted behind those that were looked at before. */
static void look(const char *bytes, const MPI_Status *status)
{
    int cancelled, number;
    MPI_Test_cancelled(status, &cancelled);
    if (cancelled)
        return;
    memcpy(&number, bytes, sizeof number);
    wrong += number != next[status->MPI_SOURCE]++;
    --left[status->MPI_SOURCE];
}

/* Receives as many of each sender's messages as `left` says. */
static void receive_all(void)
{
    static char bytes[AT_ONCE][2000];
    while (left[0] + left[1] > 0) {
        MPI_Request requests[AT_ONCE];
        MPI_Status statuses[AT_ONCE];
        int count = 1 + (int)below(AT_ONCE), named[2] = {0, 0}, flag;
        if (count > left[0] + left[1])
            count = left[0] + left[1];
        if (below(4) == 0)
            MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &statuses[0]);
        for (int i = 0; i < count; i++) {
            /* Only with both senders' messages left over can a receive go to either. */
            int source = left[0] - named[0] > 0 ? 0 : 1;
            if (below(2) && left[1] - named[1] > 0)
                source = 1;
            ++named[source];
            if (below(4) == 0 && count <= left[0] && count <= left[1])
                source = MPI_ANY_SOURCE;
            MPI_Irecv(bytes[i], 2000, MPI_CHAR, source, 0, MPI_COMM_WORLD, &requests[i]);
            for (unsigned pause = below(3); pause > 0; pause--)
                MPI_Iprobe(0, 1, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
        }
        if (below(3) == 0)
            MPI_Cancel(&requests[count - 1]);
        MPI_Waitall(count, requests, statuses);
        for (int i = 0; i < count; i++)
            look(bytes[i], &statuses[i]);
    }
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    state += (unsigned)rank;
    if (rank < 2)
        send_all(rank);
    for (int round = 0; rank == 2 && round < MESSAGES / 24; round++) {
        left[0] = left[1] = 24;
        receive_all();
        MPI_Barrier(MPI_COMM_WORLD);
    }
    if (rank == 2)
        printf("%d wrong\n", wrong);
    MPI_Finalize();
    return 0;
}
