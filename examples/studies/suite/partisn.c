/* The communication of Partisn, a code for the transport of particles. Its sources are not public; the
 * pattern is that of the published Koch-Baker-Alcouffe sweep. Ranks form a grid in two dimensions, each with
 * n^3 cells.
 *
 *     transport   sweeps from the four corners, twice (up and down): a rank waits for the faces upstream,
 *                 computes a block of PLANES planes and ANGLES angles, and sends its faces downstream
 *     diffusion   iterations of conjugate gradients: faces to four neighbours, two sums of one number
 *
 * The computation is time that passes (sunstar_compute): CELL seconds a cell and angle, assumed.
 *
 *     sunstar run -n 16 examples/studies/suite/partisn.c [cells in each dimension] */
#include "suite.h"
#include <sunstar.h>

enum { PLANES = 3, ANGLES = 6, DIFFUSIONS = 10 };
#define CELL 20e-9 /* assumed */

static MPI_Comm grid;
static int size[2], place[2];

/* Rank beside this one, or MPI_PROC_NULL. */
static int beside(int dimension, int step)
{
    int at[2] = {place[0], place[1]}, found;
    at[dimension] += step;
    if (at[dimension] < 0 || at[dimension] >= size[dimension])
        return MPI_PROC_NULL;
    MPI_Cart_rank(grid, at, &found);
    return found;
}

static void sweep(int n, int x, int y, double *faces)
{
    const int blocks = (n + PLANES - 1) / PLANES, count = n * PLANES * ANGLES;
    for (int block = 0; block < blocks; block++) {
        MPI_Recv(faces, count, MPI_DOUBLE, beside(0, -x), 0, grid, MPI_STATUS_IGNORE);
        MPI_Recv(faces + count, count, MPI_DOUBLE, beside(1, -y), 1, grid, MPI_STATUS_IGNORE);
        sunstar_compute(CELL * n * count);
        MPI_Send(faces, count, MPI_DOUBLE, beside(0, x), 0, grid);
        MPI_Send(faces + count, count, MPI_DOUBLE, beside(1, y), 1, grid);
    }
}

static void diffusion(int n, double *faces)
{
    double sums[2] = {1, 1};
    for (int dimension = 0; dimension < 2; dimension++) {
        for (int step = -1; step <= 1; step += 2)
            MPI_Sendrecv(faces, n * n, MPI_DOUBLE, beside(dimension, step), 2, faces + n * n, n * n,
                         MPI_DOUBLE, beside(dimension, -step), 2, grid, MPI_STATUS_IGNORE);
    }
    sunstar_compute(CELL * n * n * n);
    for (int i = 0; i < 2; i++)
        MPI_Allreduce(MPI_IN_PLACE, &sums[i], 1, MPI_DOUBLE, MPI_SUM, grid);
    if (sums[0] != ranks)
        fail("the sum is %g", sums[0]);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 1);
    const int n = (int)argument(argc, argv, 1, 12), periods[2] = {0, 0};
    double *faces = (double *)buffer_of((size_t)(2 * n * n * ANGLES * PLANES) * sizeof *faces);
    if (rank == 0)
        printf("%10s %12s %12s\n", "ranks", "transport_us", "diffusion_us");
    for (int used = 2; used <= ranks; used *= 2) {
        MPI_Comm some = first_ranks(used);
        if (some == MPI_COMM_NULL)
            continue;
        const int world = ranks;
        ranks = used;
        size[0] = size[1] = 0;
        MPI_Dims_create(used, 2, size);
        MPI_Cart_create(some, 2, size, periods, 0, &grid);
        MPI_Cart_coords(grid, rank, 2, place);
        MPI_Barrier(grid);
        double start = MPI_Wtime();
        for (int octant = 0; octant < 8; octant++)
            sweep(n, octant & 1 ? 1 : -1, octant & 2 ? 1 : -1, faces);
        MPI_Barrier(grid);
        const double transport = MPI_Wtime() - start;
        start = MPI_Wtime();
        for (int i = 0; i < DIFFUSIONS; i++)
            diffusion(n, faces);
        const double each = (MPI_Wtime() - start) / DIFFUSIONS;
        if (rank == 0)
            printf("%10d %12.2f %12.2f\n", used, transport * 1e6, each * 1e6);
        ranks = world;
        MPI_Comm_free(&grid);
        MPI_Comm_free(&some);
    }
    free(faces);
    MPI_Finalize();
    return 0;
}
