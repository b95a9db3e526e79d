/* Numbers that promise more than the program has: each call must come back, with an error or without. */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define MANY 0x7fffffff
#define MOST INT64_MAX

static int rank;

static void said(const char *what, int code)
{
    int class, length = 7;
    char text[MPI_MAX_ERROR_STRING] = "success";
    MPI_Error_class(code, &class);
    if (class != MPI_SUCCESS)
        MPI_Error_string(class, text, &length);
    if (rank == 0)
        printf("%s: %.*s\n", what, (int)strcspn(text, ":"), text);
}

static void groups(void)
{
    MPI_Group world, group;
    int one[4] = {0}, ranges[2][3] = {{0, MANY, 1}, {MANY, -MANY, -1}};
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    said("group_incl", MPI_Group_incl(world, MANY, one, &group));
    said("group_excl", MPI_Group_excl(world, MANY, NULL, &group));
    said("range_incl", MPI_Group_range_incl(world, 2, ranges, &group));
    said("range_excl", MPI_Group_range_excl(world, MANY, ranges, &group));
    said("translate", MPI_Group_translate_ranks(world, MANY, one, world, one));
}

static void grids(void)
{
    MPI_Comm comm;
    int dims[16] = {0}, periods[16] = {0}, *volatile equal = MPI_UNWEIGHTED;
    said("dims_create", MPI_Dims_create(2095133040, 12, dims));
    if (rank == 0)
        printf("%d %d %d\n", dims[0], dims[5], dims[11]);
    said("cart_create", MPI_Cart_create(MPI_COMM_WORLD, MANY, dims, periods, 0, &comm));
    said("graph_create", MPI_Graph_create(MPI_COMM_WORLD, MANY, dims, periods, 0, &comm));
    said("dist_graph", MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, MANY, dims, equal, MANY, dims,
                                                      equal, MPI_INFO_NULL, 0, &comm));
}

static void requests(void)
{
    MPI_Request request = MPI_REQUEST_NULL;
    int number, indices[1];
    said("waitall", MPI_Waitall(MANY, &request, MPI_STATUSES_IGNORE));
    said("testsome", MPI_Testsome(MANY, &request, &number, indices, MPI_STATUSES_IGNORE));
    said("waitany", MPI_Waitany(MANY, NULL, &number, MPI_STATUS_IGNORE));
}

static int share(int processes, const MPI_Count sizes[2], const int grid[2])
{
    const int cyclic[2] = {MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_CYCLIC}, one[2] = {1, 1};
    MPI_Datatype t;
    return MPI_Type_create_darray_c(processes, 0, 2, sizes, cyclic, one, grid, MPI_ORDER_C,
                                    MPI_BYTE, &t);
}

static void types(void)
{
    MPI_Datatype t;
    const int one[2] = {1, 1};
    int grid[2] = {MANY, MANY};
    MPI_Count sizes[2] = {MOST, MOST};
    said("contiguous", MPI_Type_contiguous_c(MOST, MPI_DOUBLE, &t));
    said("vector", MPI_Type_vector_c(MOST, MOST, MOST, MPI_BYTE, &t));
    said("indexed", MPI_Type_indexed_c(MOST, sizes, sizes, MPI_BYTE, &t));
    said("struct", MPI_Type_create_struct(MANY, one, NULL, NULL, &t));
    said("subarray", MPI_Type_create_subarray(MANY, one, one, one, MPI_ORDER_C, MPI_BYTE, &t));
    said("darray", share(4, sizes, grid));
    grid[0] = grid[1] = 1;
    said("square", share(1, sizes, grid));
    sizes[1] = 1;
    said("line", share(1, sizes, grid));
}

static void packing(void)
{
    static char buffer[64];
    MPI_Count position = MOST - 8;
    said("pack", MPI_Pack_c(buffer, 1, MPI_INT, (void *)-16, MOST, &position, MPI_COMM_WORLD));
    position = MOST - 8;
    said("unpack", MPI_Unpack_c((void *)-16, MOST, &position, buffer, 1, MPI_INT, MPI_COMM_WORLD));
    said("pack_size", MPI_Pack_size_c(MOST, MPI_DOUBLE, MPI_COMM_WORLD, &position));
    MPI_Status status = {0};
    said("set_elements", MPI_Status_set_elements_c(&status, MPI_DOUBLE, MOST));
}

/* Items without data may be as many as one likes. */
static void collectives(void)
{
    MPI_Datatype none;
    int size;
    static char out[64], in[64];
    MPI_Count counts[16];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < size; i++)
        counts[i] = MOST;
    MPI_Type_contiguous(0, MPI_INT, &none);
    MPI_Type_commit(&none);
    said("gather", MPI_Gather_c(out, MOST, none, in, MOST, none, 0, MPI_COMM_WORLD));
    said("scatter", MPI_Scatter_c(out, MOST, none, in, MOST, none, 0, MPI_COMM_WORLD));
    said("allgather", MPI_Allgather_c(out, MOST, none, in, MOST, none, MPI_COMM_WORLD));
    said("alltoall", MPI_Alltoall_c(out, MOST, none, in, MOST, none, MPI_COMM_WORLD));
    said("alltoall in place",
         MPI_Alltoall_c(MPI_IN_PLACE, 0, none, in, MOST, none, MPI_COMM_WORLD));
    said("bcast", MPI_Bcast_c(out, MOST, none, 0, MPI_COMM_WORLD));
    said("reduce_scatter", MPI_Reduce_scatter_c(out, in, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    said("allreduce", MPI_Allreduce_c(out, in, MOST, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    said("send", MPI_Send_c(out, MOST, MPI_INT, 0, 0, MPI_COMM_WORLD));
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
    groups();
    grids();
    requests();
    types();
    packing();
    collectives();
    MPI_Finalize();
    return 0;
}
