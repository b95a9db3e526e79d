/* Counts that no array stands behind: types of many pieces, what is asked of them, and their first bytes. */
#include "say.h"

#define MANY ((MPI_Count)1 << 40)

static void describe(const char *name, MPI_Datatype type)
{
    int small;
    MPI_Count bytes, lower, extent, true_lower, true_extent;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &small);
    MPI_Type_size_c(type, &bytes);
    MPI_Type_get_extent_c(type, &lower, &extent);
    MPI_Type_get_true_extent_c(type, &true_lower, &true_extent);
    say("%s: size %s %lld bounds %lld %lld true %lld %lld", name,
        small == MPI_UNDEFINED ? "undefined" : "told", (long long)bytes, (long long)lower,
        (long long)extent, (long long)true_lower, (long long)true_extent);
    MPI_Type_free(&type);
}

static void types(void)
{
    MPI_Datatype t, u, v;
    MPI_Type_vector_c(MANY, 1, 2, MPI_BYTE, &t);
    describe("vector", t);
    MPI_Type_create_hvector_c(MANY, 3, -64, MPI_INT, &t);
    describe("backwards", t);
    MPI_Type_create_resized(MPI_CHAR, 0, 0, &t);
    MPI_Type_contiguous_c((MPI_Count)1 << 60, t, &u);
    describe("all at one place", u);
    MPI_Type_free(&t);
    MPI_Type_vector(2, 1, 2, MPI_CHAR, &t);
    MPI_Type_contiguous_c(MANY, t, &u);
    MPI_Type_create_hvector_c(1 << 10, 1, (MPI_Count)1 << 50, u, &v);
    describe("three loops", v);
    MPI_Type_free(&u);
    MPI_Type_free(&t);
    int lengths[] = {2, 1};
    MPI_Aint places[] = {0, 8};
    MPI_Datatype members[] = {MPI_CHAR, MPI_INT};
    MPI_Type_create_struct(2, lengths, places, members, &t);
    MPI_Type_contiguous_c((MPI_Count)1 << 33, t, &u);
    describe("structures", u);
    MPI_Type_free(&t);
    MPI_Count whole[] = {1 << 18, 1 << 18, 1 << 18}, part[] = {1 << 17, 3, 1 << 16};
    MPI_Count start[] = {5, 6, 7};
    MPI_Type_create_subarray_c(3, whole, part, start, MPI_ORDER_C, MPI_BYTE, &t);
    describe("a box", t);
    int cyclic[] = {MPI_DISTRIBUTE_CYCLIC}, one[] = {1}, processes[] = {3};
    MPI_Count line[] = {100000};
    MPI_Type_create_darray_c(3, rank % 3, 1, line, cyclic, one, processes, MPI_ORDER_C, MPI_INT,
                             &t);
    describe("a share", t);
}

/* Elements beyond what an int holds. */
static void elements(void)
{
    MPI_Datatype t;
    MPI_Status status;
    int few;
    MPI_Count many;
    MPI_Type_vector_c(MANY, 1, 2, MPI_BYTE, &t);
    MPI_Type_commit(&t);
    memset(&status, 0, sizeof status);
    MPI_Status_set_elements_c(&status, t, MANY + 5);
    MPI_Get_elements(&status, t, &few);
    MPI_Get_elements_c(&status, t, &many);
    say("elements: %s %lld", few == MPI_UNDEFINED ? "undefined" : "told", (long long)many);
    MPI_Get_count_c(&status, t, &many);
    say("items: %s", many == MPI_UNDEFINED ? "undefined" : "told");
    MPI_Get_count(&status, MPI_BYTE, &few);
    say("bytes: %s", few == MPI_UNDEFINED ? "undefined" : "told");
    MPI_Type_free(&t);
}

/* What loops within loops pack, and how much of it a shorter message fills. */
static void travel(void)
{
    static int field[64][64], copy[64][64];
    int *all = &field[0][0];
    MPI_Datatype row, column, block, odd;
    MPI_Type_create_hvector(5, 2, 3 * sizeof(int), MPI_INT, &row);
    MPI_Type_create_hvector(4, 1, sizeof field[0] * 2, row, &column);
    MPI_Type_create_hvector(3, 1, -(MPI_Aint)sizeof(int) * 16, column, &block);
    MPI_Type_create_resized(block, 0, sizeof field[0] * 9, &odd);
    MPI_Type_commit(&odd);
    for (int i = 0; i < 64 * 64; i++)
        all[i] = i * 7 + rank;
    for (int ints = 1; ints < 400; ints += 57) {
        MPI_Status status;
        int received;
        memset(copy, 0x33, sizeof copy);
        MPI_Sendrecv(field, ints, MPI_INT, (rank + 1) % size, 1, &copy[0][40], 4, odd,
                     (rank + size - 1) % size, 1, MPI_COMM_WORLD, &status);
        MPI_Get_elements(&status, odd, &received);
        say("%d ints: %d, %08x", ints, received, hash(copy, sizeof copy));
    }
    memset(copy, 0x44, sizeof copy);
    MPI_Sendrecv(&field[0][40], 4, odd, (rank + 1) % size, 2, copy, 480, MPI_INT,
                 (rank + size - 1) % size, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say("as ints: %08x", hash(copy, sizeof copy));
    MPI_Type_free(&odd);
    MPI_Type_free(&block);
    MPI_Type_free(&column);
    MPI_Type_free(&row);
}

/* Types of types, as long as one likes. */
static void chain(void)
{
    MPI_Datatype t, next;
    MPI_Type_vector(2, 1, 2, MPI_INT, &t);
    for (int i = 0; i < 20000; i++) {
        MPI_Type_contiguous(1, t, &next);
        MPI_Type_free(&t);
        t = next;
    }
    describe("a chain", t);
}

/* The order of keys, also after one has gone. */
static void keys(void)
{
    MPI_Info info;
    char key[MPI_MAX_INFO_KEY];
    int number;
    MPI_Info_create(&info);
    for (int i = 0; i < 3000; i++) {
        snprintf(key, sizeof key, "%d", i * 7919 % 3001);
        MPI_Info_set(info, key, "value");
    }
    MPI_Info_delete(info, "0");
    MPI_Info_get_nkeys(info, &number);
    MPI_Info_get_nthkey(info, 1234, key);
    say("%d keys, one is %s", number, key);
    MPI_Info_free(&info);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    types();
    elements();
    travel();
    chain();
    keys();
    return end();
}
