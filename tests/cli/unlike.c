/* Where MPICH is wrong, so that comparing with it (tests/mpi, tests/soak) is of no use: what must
 * come is written here. */
#include <mpi.h>
#include <stdio.h>

static int rank, size;

static void expect(int got, int want, const char *what, int detail) {
    if (got == want) return;
    fprintf(stderr, "rank %d: %s %d: %d instead of %d\n", rank, what, detail, got, want);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

/* The group of a grid has its members only. */
static void part(void) {
    int dims[1] = {2}, periods[1] = {0}, relation, members;
    MPI_Comm grid, copy;
    MPI_Group group;

    MPI_Cart_create(MPI_COMM_WORLD, 1, dims, periods, 0, &grid);
    if (grid == MPI_COMM_NULL) return;
    MPI_Comm_compare(grid, MPI_COMM_WORLD, &relation);
    expect(relation, MPI_UNEQUAL, "part of", size);
    MPI_Comm_group(grid, &group);
    MPI_Group_size(group, &members);
    expect(members, 2, "group in", size);
    MPI_Comm_create(grid, group, &copy);
    MPI_Barrier(copy);
    MPI_Comm_free(&copy);
    MPI_Group_free(&group);
    MPI_Comm_free(&grid);
}

/* Testall takes persistent collective requests, also those that are not active. */
static void persistent(void) {
    int sum, done;
    MPI_Request requests[2];

    MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                       &requests[0]);
    MPI_Barrier_init(MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
    expect(done, 1, "inactive", 0);
    for (int turn = 0; turn < 3; turn++) {
        sum = -1;
        MPI_Startall(1 + turn % 2, requests);
        for (done = 0; !done;) MPI_Testall(2, requests, &done, MPI_STATUSES_IGNORE);
        expect(sum, size * (size - 1) / 2, "turn", turn);
    }
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (size > 2) part();
    persistent();
    if (rank == 0) printf("unlike: all right\n");
    MPI_Finalize();
    return 0;
}
