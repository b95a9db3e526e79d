/* Two ranks a node on two nodes: the first (or second) of each play ping-pong over the network, while
 * their siblings rest, poll, compute for 2 ms or play, too. Arguments: rest|poll|compute|talk, first|second.
 * Prints the players' half round trip and how long their siblings computed, in microseconds. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sunstar.h>

#define ROUNDS 40
#define COMPUTES 2e-3

static char out[20000], in[20000];
static int rank, wrong;

static void play(int other, int bytes, int round)
{
    for (int i = 0; i < bytes; i++)
        out[i] = (char)(rank + round * 7 + i);
    if (rank < other)
        MPI_Send(out, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank > other)
        MPI_Send(out, bytes, MPI_CHAR, other, 1, MPI_COMM_WORLD);
    for (int i = 0; i < bytes; i++)
        wrong += in[i] != (char)(other + round * 7 + i);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "rest";
    int size, all;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    const int player = rank % 2 == (argc > 2 && !strcmp(argv[2], "second"));
    const int other = (rank + 2) % 4, sibling = rank ^ 1;
    if (size != 4) {
        fprintf(stderr, "this is for 4 ranks\n");
        return 1;
    }
    /* Everybody has met everybody: who plays later finds what it needs set up. */
    play(other, 8, 0);
    play(sibling, 8, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    if (player) {
        for (int round = 0; round < ROUNDS; round++)
            play(other, 8, round);
        const double small = (MPI_Wtime() - start) / ROUNDS / 2;
        for (int round = 0; round < 4; round++)
            play(other, sizeof out, round);
        if (rank < other)
            printf("latency %.3f\n", small * 1e6);
        MPI_Send(NULL, 0, MPI_CHAR, sibling, 2, MPI_COMM_WORLD);
    } else {
        int over = 0;
        if (!strcmp(mode, "talk"))
            for (int round = 0; round < ROUNDS; round++)
                play(other, 8, round);
        if (!strcmp(mode, "compute")) {
            sunstar_compute(COMPUTES);
            printf("computed %.3f\n", (MPI_Wtime() - start) * 1e6);
        }
        while (!strcmp(mode, "poll") && !over)
            MPI_Iprobe(sibling, 2, MPI_COMM_WORLD, &over, MPI_STATUS_IGNORE);
        MPI_Recv(NULL, 0, MPI_CHAR, sibling, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Reduce(&wrong, &all, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d wrong\n", all);
    MPI_Finalize();
    return 0;
}
