/* Groups, communicators, grids, attributes of both. */
#include "say.h"

static void say_group(const char *what, MPI_Group group)
{
    int members, me, world[16], mine[16];
    MPI_Group all;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_size(group, &members);
    MPI_Group_rank(group, &me);
    for (int i = 0; i < members; i++)
        mine[i] = i;
    MPI_Group_translate_ranks(group, members, mine, all, world);
    say("%s: size %d rank %d", what, members, me == MPI_UNDEFINED ? -1 : me);
    say_ints(what, world, members);
    MPI_Group_free(&all);
}

static void say_comm(const char *what, MPI_Comm comm)
{
    if (comm == MPI_COMM_NULL) {
        say("%s: none", what);
        return;
    }
    int members, me, sum;
    MPI_Comm_size(comm, &members);
    MPI_Comm_rank(comm, &me);
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    say("%s: size %d rank %d sum %d", what, members, me, sum);
}

static const char *comparison(int result)
{
    return result == MPI_IDENT       ? "ident"
           : result == MPI_CONGRUENT ? "congruent"
           : result == MPI_SIMILAR   ? "similar"
                                     : "unequal";
}

static void grids(void)
{
    int dims[3] = {0, 0, 0}, periods[3] = {1, 0, 1}, coords[3], other;
    MPI_Dims_create(size, 2, dims);
    say_ints("dims", dims, 2);
    MPI_Comm grid, line;
    MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
    if (grid != MPI_COMM_NULL) {
        int got[2], rings[2], number, kind;
        MPI_Cart_get(grid, 2, got, rings, coords);
        say_ints("cart dims", got, 2);
        say_ints("cart periods", rings, 2);
        say_ints("cart coords", coords, 2);
        MPI_Cartdim_get(grid, &number);
        MPI_Topo_test(grid, &kind);
        say("cartdim %d topo %d", number, kind == MPI_CART);
        for (int d = 0; d < 2; d++) {
            int from, to;
            MPI_Cart_shift(grid, d, 1, &from, &to);
            say("shift %d: from %d to %d", d, from == MPI_PROC_NULL ? -1 : from,
                to == MPI_PROC_NULL ? -1 : to);
        }
        int at[2] = {coords[0] - got[0], coords[1]};
        MPI_Cart_rank(grid, at, &other);
        MPI_Cart_coords(grid, size - 1, 2, at);
        say("the same rank round the ring: %d", other);
        say_ints("coords of the last", at, 2);
        int remain[2] = {0, 1};
        MPI_Cart_sub(grid, remain, &line);
        MPI_Cartdim_get(line, &number);
        say("sub has %d dimensions", number);
        say_comm("sub", line);
        MPI_Comm_free(&line);
        MPI_Comm copy;
        MPI_Comm_dup(grid, &copy);
        MPI_Cartdim_get(copy, &number);
        say("a copy has %d dimensions", number);
        MPI_Comm_free(&copy);
        MPI_Comm_free(&grid);
    }
    int one[1] = {1}, ring[1] = {0};
    MPI_Cart_create(MPI_COMM_WORLD, 1, one, ring, 1, &grid);
    say_comm("a grid of one", grid);
    for (int nodes = 1; nodes <= 64; nodes++) {
        int three[3] = {0, 0, 0}, two[2] = {0, 0};
        MPI_Dims_create(nodes, 3, three);
        MPI_Dims_create(nodes, 2, two);
        if (nodes % 4 == 0)
            say("dims of %d: %d %d %d, %d %d", nodes, three[0], three[1], three[2], two[0], two[1]);
    }
    int some[3] = {0, 2, 0};
    MPI_Dims_create(24, 3, some);
    say_ints("some dims", some, 3);
}

/* Names, texts and values come back byte by byte, in no more room than the standard promises. */
static void names_in_any_encoding(MPI_Comm comm)
{
    struct {
        char text[MPI_MAX_ERROR_STRING], beyond[3 * MPI_MAX_ERROR_STRING];
    } got;
    char latin[MPI_MAX_ERROR_STRING];
    int length, class, found, untouched = 0;
    memset(latin, 0xe9, sizeof latin);
    memset(&got, '.', sizeof got);
    latin[MPI_MAX_OBJECT_NAME - 1] = 0;
    MPI_Comm_set_name(comm, latin);
    MPI_Comm_get_name(comm, got.text, &length);
    say("name in Latin-1: %d %d", length, strcmp(got.text, latin));
    MPI_Type_set_name(MPI_INT, latin);
    MPI_Type_get_name(MPI_INT, got.text, &length);
    say("name of a type: %d %d", length, strcmp(got.text, latin));
    MPI_Info info;
    MPI_Info_create(&info);
    MPI_Info_set(info, "caf\xe9", "\xe9t\xe9");
    MPI_Info_get_nthkey(info, 0, got.text);
    say("key %d", strcmp(got.text, "caf\xe9"));
    MPI_Info_get(info, "caf\xe9", 10, got.text, &found);
    say("value %d %d", found, strcmp(got.text, "\xe9t\xe9"));
    MPI_Info_free(&info);
    memset(latin, 0xe9, sizeof latin);
    latin[MPI_MAX_ERROR_STRING / 2 - 1] = 0;
    MPI_Add_error_class(&class);
    MPI_Add_error_string(class, latin);
    MPI_Error_string(class, got.text, &length);
    say("error %d %d", length, strcmp(got.text, latin));
    for (size_t i = 0; i < sizeof got.beyond; i++)
        untouched += got.beyond[i] == '.';
    say("beyond: %d", untouched == sizeof got.beyond);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Group all, even, odd, some, other;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    int ranks[16], n = 0, result;
    for (int i = 0; i < size; i += 2)
        ranks[n++] = i;
    MPI_Group_incl(all, n, ranks, &even);
    say_group("even", even);
    MPI_Group_excl(all, n, ranks, &odd);
    say_group("odd", odd);
    MPI_Group_union(odd, even, &some);
    say_group("union", some);
    MPI_Group_compare(all, some, &result);
    say("union and all: %s", comparison(result));
    MPI_Group_intersection(some, even, &other);
    say_group("intersection", other);
    MPI_Group_compare(even, other, &result);
    say("even and intersection: %s", comparison(result));
    MPI_Group_difference(all, even, &other);
    say_group("difference", other);
    MPI_Group_difference(even, even, &other);
    say("nothing left: %d", other == MPI_GROUP_EMPTY);
    int range[2][3] = {{size - 1, 0, -2}, {0, 0, 1}};
    MPI_Group_range_incl(all, size % 2 ? 1 : 2, range, &other);
    say_group("range", other);
    MPI_Group_range_excl(all, 1, range, &other);
    say_group("range left out", other);

    MPI_Comm evens, reversed, copy, parts;
    MPI_Comm_create(MPI_COMM_WORLD, even, &evens);
    say_comm("create", evens);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &reversed);
    say_comm("reversed", reversed);
    MPI_Comm_compare(MPI_COMM_WORLD, reversed, &result);
    say("world and reversed: %s", comparison(result));
    MPI_Comm_dup(reversed, &copy);
    MPI_Comm_compare(copy, reversed, &result);
    say("copy and reversed: %s", comparison(result));
    MPI_Comm_compare(copy, copy, &result);
    say("copy and copy: %s", comparison(result));
    MPI_Comm_split(copy, rank % 3 == 0 ? MPI_UNDEFINED : rank % 3, 0, &parts);
    say_comm("parts", parts);
    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Comm_get_name(MPI_COMM_WORLD, name, &length);
    say("%s", name);
    MPI_Comm_get_name(MPI_COMM_SELF, name, &length);
    say("%s", name);
    MPI_Comm_set_name(copy, "my copy");
    MPI_Comm_get_name(copy, name, &length);
    say("%s %d", name, length);
    names_in_any_encoding(copy);
    MPI_Comm_test_inter(copy, &result);
    say("inter %d", result);
    say("as integers: %d %d", MPI_Comm_f2c(MPI_Comm_c2f(copy)) == copy,
        MPI_Comm_fromint(MPI_Comm_toint(MPI_COMM_SELF)) == MPI_COMM_SELF);
    if (parts != MPI_COMM_NULL)
        MPI_Comm_free(&parts);
    MPI_Comm_free(&copy);
    MPI_Comm_free(&reversed);
    say("freed: %d", reversed == MPI_COMM_NULL);
    grids();
    return end();
}
