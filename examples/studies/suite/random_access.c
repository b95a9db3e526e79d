/* HPC Challenge's RandomAccess: random 64-bit words of a table that all ranks share are updated by exclusive
 * or, 1,024 updates a rank looked ahead. Each rank sorts its updates by owner and sends one message to each;
 * it applies those that it receives. Giga-updates a second of all ranks, for tables of 2^k words a rank. All
 * updates are made twice, so the table must be as before: it is checked. To apply them takes no simulated
 * time.
 *
 *     sunstar run -n 8 examples/studies/suite/random_access.c [k] */
#include "suite.h"
#include <stdint.h>

enum { AHEAD = 1024 };

static uint64_t *table;
static long words;

/* HPCC's sequence: multiplication by x in GF(2^64), modulo x^63 + x^2 + x + 1. */
static uint64_t after(uint64_t random)
{
    return random << 1 ^ ((int64_t)random < 0 ? 7 : 0);
}

static int owner_of(uint64_t update)
{
    return (int)((update >> 32) % (uint64_t)ranks);
}

/* Sends the updates to their owners, and applies those that come. */
static void exchange(const uint64_t *updates, uint64_t *sorted, uint64_t *received, int *numbers)
{
    int *out = numbers, *in = out + ranks, *out_at = in + ranks, *in_at = out_at + ranks, total = 0;
    memset(out, 0, (size_t)ranks * sizeof *out);
    for (int i = 0; i < AHEAD; i++)
        out[owner_of(updates[i])]++;
    for (int i = 0; i < ranks; i++)
        out_at[i] = i ? out_at[i - 1] + out[i - 1] : 0;
    for (int i = 0; i < AHEAD; i++)
        sorted[out_at[owner_of(updates[i])]++] = updates[i];
    for (int i = 0; i < ranks; i++)
        out_at[i] -= out[i];
    MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, MPI_COMM_WORLD);
    for (int i = 0; i < ranks; i++, total = in_at[i - 1] + in[i - 1])
        in_at[i] = total;
    MPI_Alltoallv(sorted, out, out_at, MPI_UINT64_T, received, in, in_at, MPI_UINT64_T,
                  MPI_COMM_WORLD);
    for (int i = 0; i < total; i++)
        table[received[i] % (uint64_t)words] ^= received[i];
}

/* A quarter of HPCC's updates: as many as the table has words. */
static double update_all(uint64_t *space, int *numbers)
{
    uint64_t random = (uint64_t)rank * 0x9e3779b97f4a7c15u + 1, *sorted = space + AHEAD;
    const double start = MPI_Wtime();
    for (long done = 0; done < words; done += AHEAD) {
        for (int i = 0; i < AHEAD; i++)
            space[i] = random = after(random);
        exchange(space, sorted, sorted + AHEAD, numbers);
    }
    return largest_of(MPI_Wtime() - start);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv, 2, 1);
    const long most = argument(argc, argv, 1, 13);
    uint64_t *space = (uint64_t *)buffer_of((size_t)(2 + ranks) * AHEAD * sizeof *space);
    int *numbers = (int *)buffer_of((size_t)ranks * 4 * sizeof *numbers);
    if (most < 10)
        fail("tables of 2^10 words or more");
    table = (uint64_t *)buffer_of((sizeof *table) << most);
    if (rank == 0)
        printf("%12s %12s\n", "words", "GUP/s");
    for (long k = 10; k <= most; k++) {
        words = 1L << k;
        for (long i = 0; i < words; i++)
            table[i] = (uint64_t)i;
        const double seconds = update_all(space, numbers);
        update_all(space, numbers);
        for (long i = 0; i < words; i++)
            if (table[i] != (uint64_t)i)
                fail("rank %d: word %ld is wrong", rank, i);
        if (rank == 0)
            printf("%12ld %12.6f\n", words, 1e-9 * words * ranks / seconds);
    }
    free(space);
    free(numbers);
    free(table);
    MPI_Finalize();
    return 0;
}
