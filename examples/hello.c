/* The smallest MPI program: every rank says who and where it is.
 *
 *     sunstar run -n 4 examples/hello.c
 */
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    char node[MPI_MAX_PROCESSOR_NAME];
    int rank, ranks, length;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Get_processor_name(node, &length);
    printf("hello from rank %d of %d on %s\n", rank, ranks, node);
    MPI_Finalize();
    return 0;
}
