/* Sends from wherever memory can be: the program's own data, the heap, what is mapped, and the stack. Prints
 * where the last two are, which depends on the libraries and on the environment of the workstation. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int own = 1;

int main(int argc, char **argv)
{
    enum { LARGE = 1 << 20 };
    int rank, stack[64] = {2}, *heap = malloc(64 * sizeof *heap);
    int *mapped = malloc(2 * LARGE); /* more than the C library keeps on its heap */

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int peer = rank ^ 1;
    heap[0] = 3;
    MPI_Sendrecv(stack, 20, MPI_INT, peer, 0, heap + 32, 20, MPI_INT, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(heap, 20, MPI_INT, peer, 0, stack + 32, 20, MPI_INT, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&own, 1, MPI_INT, peer, 0, mapped, 1, MPI_INT, peer, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(mapped, LARGE, MPI_BYTE, peer, 0, (char *)mapped + LARGE, LARGE, MPI_BYTE, peer, 0,
                 MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 0) {
        printf("mapped %p\nstack %p\n", (void *)mapped, (void *)stack);
    }
    MPI_Finalize();
    return stack[32] == 3 && heap[32] == 2 && mapped[LARGE / sizeof *mapped] == 1 ? 0 : 1;
}
