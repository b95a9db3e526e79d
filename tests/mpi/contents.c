/* How datatypes were made: envelopes and contents, distributed arrays, types by what they hold. */
#include "say.h"

static const char *name_of(int combiner)
{
    static const struct {
        int combiner;
        const char *name;
    } names[] = {
        {MPI_COMBINER_NAMED, "named"},
        {MPI_COMBINER_DUP, "dup"},
        {MPI_COMBINER_CONTIGUOUS, "contiguous"},
        {MPI_COMBINER_VECTOR, "vector"},
        {MPI_COMBINER_HVECTOR, "hvector"},
        {MPI_COMBINER_INDEXED, "indexed"},
        {MPI_COMBINER_HINDEXED, "hindexed"},
        {MPI_COMBINER_INDEXED_BLOCK, "indexed block"},
        {MPI_COMBINER_HINDEXED_BLOCK, "hindexed block"},
        {MPI_COMBINER_STRUCT, "struct"},
        {MPI_COMBINER_SUBARRAY, "subarray"},
        {MPI_COMBINER_DARRAY, "darray"},
        {MPI_COMBINER_RESIZED, "resized"},
        {MPI_COMBINER_F90_REAL, "f90 real"},
        {MPI_COMBINER_F90_COMPLEX, "f90 complex"},
        {MPI_COMBINER_F90_INTEGER, "f90 integer"},
    };
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (names[i].combiner == combiner)
            return names[i].name;
    return "?";
}

/* What a type was made of, and what those were made of. */
static void contents(const char *what, MPI_Datatype type, int depth)
{
    int integers, addresses, types, combiner, numbers[64];
    MPI_Aint places[16];
    MPI_Datatype made_of[16];
    MPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
    say("%s: %d integers %d addresses %d types: %s", what, integers, addresses, types,
        name_of(combiner));
    if (combiner == MPI_COMBINER_NAMED)
        return;
    MPI_Type_get_contents(type, integers, addresses, types, numbers, places, made_of);
    say_ints("integers", numbers, integers);
    for (int i = 0; i < addresses; i++)
        say("address %ld", (long)places[i]);
    for (int i = 0; i < types; i++) {
        int inner, ignored;
        MPI_Type_get_envelope(made_of[i], &ignored, &ignored, &ignored, &inner);
        if (inner == MPI_COMBINER_NAMED) {
            char name[MPI_MAX_OBJECT_NAME];
            MPI_Type_get_name(made_of[i], name, &ignored);
            say("of %s", name);
        } else if (depth < 3) {
            contents("of", made_of[i], depth + 1);
        }
        if (inner != MPI_COMBINER_NAMED && inner < MPI_COMBINER_F90_REAL)
            MPI_Type_free(&made_of[i]);
    }
}

static void constructors(void)
{
    int lengths[3] = {2, 1, 3}, places[3] = {4, 0, 9};
    MPI_Aint bytes[3] = {16, 0, 40};
    MPI_Datatype t, u, types[3] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
    MPI_Type_contiguous(3, MPI_INT, &t);
    contents("contiguous", t, 0);
    types[2] = t;
    MPI_Type_vector(4, 2, -3, t, &u);
    contents("vector", u, 0);
    MPI_Type_create_hvector(4, 2, 100, MPI_SHORT, &u);
    contents("hvector", u, 0);
    MPI_Type_indexed(3, lengths, places, MPI_INT, &u);
    contents("indexed", u, 0);
    MPI_Type_create_hindexed(3, lengths, bytes, MPI_INT, &u);
    contents("hindexed", u, 0);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &u);
    contents("indexed block", u, 0);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &u);
    contents("hindexed block", u, 0);
    MPI_Type_create_struct(3, lengths, bytes, types, &u);
    MPI_Type_free(&t);
    contents("struct of one that is freed", u, 0);
    MPI_Type_dup(u, &t);
    contents("dup", t, 0);
    MPI_Type_create_resized(t, -8, 200, &u);
    contents("resized", u, 0);
    int whole[2] = {6, 8}, part[2] = {2, 3}, start[2] = {1, 4};
    MPI_Type_create_subarray(2, whole, part, start, MPI_ORDER_FORTRAN, MPI_INT, &u);
    contents("subarray", u, 0);
    contents("int", MPI_INT, 0);
    MPI_Type_contiguous_c(3, MPI_INT, &u);
    MPI_Count integers, addresses, large, types_c, counts[4];
    int combiner, none[1];
    MPI_Aint nowhere[1];
    MPI_Type_get_envelope_c(u, &integers, &addresses, &large, &types_c, &combiner);
    say("large: %d %d %d %d %s", (int)integers, (int)addresses, (int)large, (int)types_c,
        name_of(combiner));
    MPI_Type_get_contents_c(u, integers, addresses, large, types_c, none, nowhere, counts, &t);
    say("large: %d of int %d", (int)counts[0], t == MPI_INT);
}

/* The part of an array that each process of a grid has, and where it lies. */
static void distributed(int order, const int *kinds, const int *arguments)
{
    static int array[5 * 7 * 6], packed[5 * 7 * 6];
    int whole[3] = {5, 7, 6}, grid[3] = {2, 3, 1}, bytes;
    for (int i = 0; i < 5 * 7 * 6; i++)
        array[i] = i;
    for (int place = 0; place < 6; place++) {
        MPI_Datatype type;
        MPI_Aint lower, extent;
        int at = 0;
        MPI_Type_create_darray(6, place, 3, whole, kinds, arguments, grid, order, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Type_size(type, &bytes);
        MPI_Type_get_extent(type, &lower, &extent);
        MPI_Pack(array, 1, type, packed, sizeof packed, &at, MPI_COMM_SELF);
        say("place %d: %d bytes, bounds %ld %ld, packed %d %08x", place, bytes, (long)lower,
            (long)extent, at, hash(packed, at));
        say_ints("first", packed, bytes / 4 < 12 ? bytes / 4 : 12);
        if (place == 1)
            contents("darray", type, 0);
        MPI_Type_free(&type);
    }
}

static void kinds_of_fortran(void)
{
    MPI_Datatype type, again;
    int wanted[][2] = {{6, 30}, {15, 300}, {7, MPI_UNDEFINED}, {MPI_UNDEFINED, 100}}, bytes;
    for (int i = 0; i < 4; i++) {
        MPI_Type_create_f90_real(wanted[i][0], wanted[i][1], &type);
        MPI_Type_create_f90_real(wanted[i][0], wanted[i][1], &again);
        MPI_Type_size(type, &bytes);
        say("real: %d bytes, the same %d", bytes, type == again);
        contents("real", type, 0);
        MPI_Type_create_f90_complex(wanted[i][0], wanted[i][1], &type);
        MPI_Type_size(type, &bytes);
        say("complex: %d bytes", bytes);
        contents("complex", type, 0);
    }
    for (int digits = 1; digits <= 18; digits++) {
        MPI_Type_create_f90_integer(digits, &type);
        MPI_Type_size(type, &bytes);
        say("integer of %d digits: %d bytes", digits, bytes);
    }
    double values[2] = {rank, -rank}, most[2];
    MPI_Type_create_f90_real(15, 300, &type);
    MPI_Allreduce(values, most, 2, type, MPI_MAX, MPI_COMM_WORLD);
    say("most %g %g", most[0], most[1]);
    MPI_Type_match_size(MPI_TYPECLASS_REAL, 8, &type);
    MPI_Type_size(type, &bytes);
    say("matched: %d", bytes);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    constructors();
    int kinds[3] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_NONE};
    int arguments[3] = {MPI_DISTRIBUTE_DFLT_DARG, 2, MPI_DISTRIBUTE_DFLT_DARG};
    distributed(MPI_ORDER_C, kinds, arguments);
    distributed(MPI_ORDER_FORTRAN, kinds, arguments);
    kinds[0] = MPI_DISTRIBUTE_CYCLIC, kinds[1] = MPI_DISTRIBUTE_BLOCK, arguments[1] = 3;
    distributed(MPI_ORDER_C, kinds, arguments);
    kinds_of_fortran();
    return end();
}
