/* All constructors of datatypes: bounds, and what travels. */
#include "say.h"

static int source[512], target[512];

/* Sends `count` items round and says where they came to lie; then as bytes that were packed. */
static void travel(const char *name, MPI_Datatype type, int count)
{
    MPI_Aint lower, extent, true_lower, true_extent;
    int bytes, received, elements, packed_size;
    MPI_Status status;
    MPI_Type_commit(&type);
    MPI_Type_size(type, &bytes);
    MPI_Type_get_extent(type, &lower, &extent);
    MPI_Type_get_true_extent(type, &true_lower, &true_extent);
    say("%s: size %d bounds %ld %ld true %ld %ld", name, bytes, (long)lower, (long)extent,
        (long)true_lower, (long)true_extent);
    for (int i = 0; i < 512; i++) {
        source[i] = 1000 * rank + i;
        target[i] = -1;
    }
    MPI_Sendrecv(source + 64, count, type, (rank + 1) % size, 3, target + 64, count, type,
                 (rank + size - 1) % size, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, type, &received);
    MPI_Get_elements(&status, type, &elements);
    say("%s: %d items, %d elements, %08x", name, received, elements, hash(target, sizeof target));
    memset(target, 0x11, sizeof target);
    MPI_Sendrecv(source + 64, count, type, (rank + 1) % size, 3, target, sizeof target, MPI_PACKED,
                 (rank + size - 1) % size, 3, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_INT, &received);
    say("%s: %d ints, %08x", name, received, hash(target, sizeof target));
    char *packed = calloc(1, 8192);
    int position = 0;
    MPI_Pack_size(count, type, MPI_COMM_WORLD, &packed_size);
    MPI_Pack(source + 64, count, type, packed, 8192, &position, MPI_COMM_WORLD);
    say("%s: packed %d enough %d, %08x", name, position, packed_size >= position,
        hash(packed, position));
    memset(target, 0x22, sizeof target);
    position = 0;
    MPI_Unpack(packed, 8192, &position, target + 64, count, type, MPI_COMM_WORLD);
    say("%s: unpacked %d, %08x", name, position, hash(target, sizeof target));
    free(packed);
}

int main(int argc, char **argv)
{
    begin(&argc, &argv);
    MPI_Datatype t, u, types[3] = {MPI_INT, MPI_SHORT, MPI_DOUBLE};
    int lengths[4] = {2, 1, 3, 0}, places[4] = {4, 0, 9, 20};
    MPI_Aint bytes[4] = {16, 0, 40, 80};

    travel("int", MPI_INT, 7);
    MPI_Type_contiguous(3, MPI_INT, &t);
    travel("contiguous", t, 4);
    MPI_Type_vector(4, 2, 3, MPI_INT, &u);
    travel("vector", u, 3);
    MPI_Type_vector(3, 1, -2, MPI_INT, &u);
    travel("vector backwards", u, 2);
    MPI_Type_create_hvector(3, 2, 20, MPI_INT, &u);
    travel("hvector", u, 3);
    MPI_Type_indexed(4, lengths, places, MPI_INT, &u);
    travel("indexed", u, 2);
    MPI_Type_create_hindexed(4, lengths, bytes, MPI_INT, &u);
    travel("hindexed", u, 2);
    MPI_Type_create_indexed_block(3, 2, places, MPI_INT, &u);
    travel("indexed_block", u, 2);
    MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &u);
    travel("hindexed_block", u, 2);
    MPI_Aint fields[3] = {0, 8, 16};
    int ones[3] = {2, 2, 1};
    MPI_Type_create_struct(3, ones, fields, types, &u);
    travel("struct", u, 3);
    MPI_Aint odd[2] = {0, 8};
    MPI_Datatype padded[2] = {MPI_DOUBLE, MPI_CHAR};
    int one[2] = {1, 1};
    MPI_Type_create_struct(2, one, odd, padded, &u);
    MPI_Aint lower, extent;
    MPI_Type_get_extent(u, &lower, &extent);
    say("a struct is padded: %ld", (long)extent);
    MPI_Type_create_resized(MPI_INT, -4, 12, &u);
    travel("resized", u, 5);
    MPI_Type_contiguous(3, u, &t);
    travel("contiguous of resized", t, 2);
    int whole[3] = {4, 5, 3}, part[3] = {2, 3, 1}, start[3] = {1, 2, 1};
    MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, MPI_INT, &u);
    travel("subarray", u, 2);
    MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_FORTRAN, MPI_INT, &t);
    travel("subarray in the order of Fortran", t, 2);
    MPI_Type_dup(u, &t);
    travel("dup", t, 1);
    MPI_Type_vector(2, 1, 2, t, &u);
    travel("vector of subarrays", u, 1);
    MPI_Type_contiguous(0, MPI_INT, &u);
    travel("nothing", u, 3);
    MPI_Type_contiguous(3, u, &t);
    travel("contiguous of nothing", t, 3);
    MPI_Type_create_hvector(4, 1, -12, u, &t);
    travel("hvector of nothing", t, 3);
    MPI_Type_create_hindexed(4, lengths, bytes, u, &t);
    travel("hindexed of nothing", t, 3);
    MPI_Type_create_hindexed_block(3, 2, bytes, u, &t);
    travel("hindexed_block of nothing", t, 3);
    MPI_Type_create_struct(2, lengths, bytes, (MPI_Datatype[]){u, t}, &t);
    travel("struct of nothing", t, 3);
    MPI_Type_create_subarray(3, whole, part, start, MPI_ORDER_C, u, &t);
    travel("subarray of nothing", t, 3);
    MPI_Aint thirds[3] = {0, 4, 8}, low, high;
    MPI_Datatype hollow[3] = {MPI_INT, u, MPI_INT};
    int in[3] = {11, 22, 33}, out[3] = {-1, -1, -1}, packed[2] = {-1, -1}, position = 0;
    MPI_Type_create_struct(3, (int[]){1, 2, 1}, thirds, hollow, &t);
    MPI_Type_commit(&t);
    MPI_Sendrecv(in, 1, t, rank, 0, out, 1, t, rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    say_ints("behind an empty member", out, 3);
    MPI_Pack(in, 1, t, packed, sizeof packed, &position, MPI_COMM_WORLD);
    say_ints("behind an empty member, packed", packed, 2);
    MPI_Type_get_true_extent(t, &low, &high);
    say("behind an empty member: true %ld %ld", (long)low, (long)high);
    MPI_Type_create_resized(MPI_INT, 0, 16, &u);
    MPI_Type_create_struct(2, (int[]){2, 0}, thirds, (MPI_Datatype[]){MPI_INT, u}, &t);
    travel("struct with no item of a resized type", t, 3);
    MPI_Type_create_resized(MPI_INT, 0, -4, &u);
    travel("resized backwards", u, 3);
    for (int i = 1; i <= 3; i++) {
        MPI_Type_contiguous(i, u, &t);
        travel("contiguous of resized backwards", t, 2);
    }
    MPI_Type_vector(3, 2, 3, u, &t);
    travel("vector of resized backwards", t, 2);

    char name[MPI_MAX_OBJECT_NAME];
    int length;
    MPI_Type_get_name(MPI_DOUBLE, name, &length);
    say("name %s %d", name, length);
    MPI_Type_get_name(t, name, &length);
    say("no name '%s' %d", name, length);
    MPI_Type_set_name(t, "a box");
    MPI_Type_get_name(t, name, &length);
    say("name %s %d", name, length);
    MPI_Type_free(&t);
    say("freed %d", t == MPI_DATATYPE_NULL);

    /* Part of an item: elements but no whole count. */
    MPI_Status status;
    MPI_Type_create_struct(3, ones, fields, types, &u);
    MPI_Type_commit(&u);
    MPI_Sendrecv(source, 12, MPI_PACKED, rank, 0, target, 2, u, rank, 0, MPI_COMM_WORLD,
                 &status);
    int count, elements;
    MPI_Get_count(&status, u, &count);
    MPI_Get_elements(&status, u, &elements);
    say("undefined %d elements %d", count == MPI_UNDEFINED, elements);
    return end();
}
