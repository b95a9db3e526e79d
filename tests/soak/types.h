/* Random datatypes: each is made by MPI, and beside it the list of its entries by what the standard
 * says of its constructor. */
#ifndef TYPES_H
#define TYPES_H

#include "../mpi/say.h"
#include <stdint.h>
#include <wchar.h>

enum { BLOCKS = 6, ENTRIES = 200, SPAN = 20000, POOL = 1 << 18 };

/* `hard`: all that the standard allows, some of which MPICH does not do well. */
static int round_number, telling, wrongs, hard;
static unsigned digest;

/* SplitMix64. */
static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static long below(uint64_t *state, long bound) {
    return (long)(next(state) % (uint64_t)bound);
}

/* Something that MPI has answered. */
__attribute__((format(printf, 1, 2))) static void note(const char *format, ...) {
    char text[200];
    va_list arguments;

    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    digest = digest * 31 + hash(text, (size_t)length);
    if (telling) fprintf(stderr, "%d.%d: %s\n", rank, round_number, text);
}

static void expect(long got, long want, const char *what) {
    if (telling) fprintf(stderr, "%d.%d: %s %ld\n", rank, round_number, what, got);
    if (got != want && wrongs++ < 20)
        say("round %d: %s is %ld instead of %ld", round_number, what, got, want);
}

#define BASIC(handle, type) {handle, sizeof(type), _Alignof(type)}
static const struct {
    MPI_Datatype handle;
    long size, align;
} basics[] = {
    BASIC(MPI_INT, int), BASIC(MPI_SHORT, short), BASIC(MPI_LONG, long), BASIC(MPI_FLOAT, float),
    BASIC(MPI_DOUBLE, double), BASIC(MPI_LONG_DOUBLE, long double), BASIC(MPI_CHAR, char),
    BASIC(MPI_SIGNED_CHAR, char), BASIC(MPI_UNSIGNED_CHAR, char), BASIC(MPI_BYTE, char),
    BASIC(MPI_UNSIGNED_SHORT, short), BASIC(MPI_UNSIGNED, int), BASIC(MPI_UNSIGNED_LONG, long),
    BASIC(MPI_LONG_LONG, long long), BASIC(MPI_UNSIGNED_LONG_LONG, long long),
    BASIC(MPI_WCHAR, wchar_t), BASIC(MPI_C_BOOL, _Bool), BASIC(MPI_INT8_T, int8_t),
    BASIC(MPI_INT16_T, int16_t), BASIC(MPI_INT32_T, int32_t), BASIC(MPI_INT64_T, int64_t),
    BASIC(MPI_UINT8_T, int8_t), BASIC(MPI_UINT16_T, int16_t), BASIC(MPI_UINT32_T, int32_t),
    BASIC(MPI_UINT64_T, int64_t), BASIC(MPI_AINT, MPI_Aint), BASIC(MPI_OFFSET, MPI_Offset),
    BASIC(MPI_COUNT, MPI_Count), BASIC(MPI_C_FLOAT_COMPLEX, float _Complex),
    BASIC(MPI_C_DOUBLE_COMPLEX, double _Complex),
    BASIC(MPI_C_LONG_DOUBLE_COMPLEX, long double _Complex),
};
/* A value of the basic type with this index, and an int. */
static const struct {
    MPI_Datatype handle;
    int value;
} pairs[] = {{MPI_2INT, 0},      {MPI_SHORT_INT, 1},  {MPI_LONG_INT, 2},
             {MPI_FLOAT_INT, 3}, {MPI_DOUBLE_INT, 4}, {MPI_LONG_DOUBLE_INT, 5}};
enum { BASICS = sizeof basics / sizeof *basics, PAIRS = sizeof pairs / sizeof *pairs, BYTE = 9 };

struct entry {
    long at;
    int basic;
};
/* A type and what it should be. `marked`: its bounds were set by hand; `mixed`: its entries are of
 * several basic types; `shared`: a distributed array is in it. */
struct type {
    MPI_Datatype handle;
    struct entry *map;
    long entries, size, lower, upper, align;
    int marked, derived, mixed, shared;
};
struct block {
    long at, count;
    const struct type *of;
};

static struct entry pool[POOL]; /* Forgotten after each round. */
static long used;

static struct entry *entries(long count) {
    if (used + count > POOL) abort();
    return &pool[(used += count) - count];
}

static long extent(const struct type *t) { return t->upper - t->lower; }

/* Where the bytes of some items begin and end. */
static void span(const struct type *t, long count, long *low, long *high) {
    *low = *high = 0;
    for (long i = 0; count > 0 && i < t->entries; i++) {
        long first = t->map[i].at, last = first + (count - 1) * extent(t);
        long from = first < last ? first : last, to = first < last ? last : first;
        to += basics[t->map[i].basic].size;
        if (i == 0 || from < *low) *low = from;
        if (i == 0 || to > *high) *high = to;
    }
}

/* The type that consists of blocks of others. */
static struct type of_blocks(const struct block *blocks, int count) {
    struct type t = {.align = 1, .derived = 1};
    int bounded = 0;

    for (int b = 0; b < count; b++) {
        if (blocks[b].count > 0) t.marked |= blocks[b].of->marked;
        t.entries += blocks[b].count * blocks[b].of->entries;
    }
    struct entry *to = t.map = entries(t.entries);
    for (int b = 0; b < count; b++) {
        const struct type *of = blocks[b].of;
        if (blocks[b].count == 0 || (of->entries == 0 && !of->marked)) continue;
        if (of->align > t.align) t.align = of->align;
        t.size += blocks[b].count * of->size;
        for (long i = 0; i < blocks[b].count; i++) {
            long at = blocks[b].at + i * extent(of);
            for (long e = 0; e < of->entries; e++)
                *to++ = (struct entry){at + of->map[e].at, of->map[e].basic};
            t.shared |= of->shared;
            t.mixed |= of->mixed || (to > t.map && t.map[0].basic != to[-1].basic);
            if (of->marked != t.marked) continue;
            if (!bounded || at + of->lower < t.lower) t.lower = at + of->lower;
            if (!bounded || at + of->upper > t.upper) t.upper = at + of->upper;
            bounded = 1;
        }
    }
    return t;
}

static void padded(struct type *t) {
    if (!t->marked) t->upper = t->lower + (extent(t) + t->align - 1) / t->align * t->align;
}

static struct type basic_type(int basic) {
    long bytes = basics[basic].size;
    struct entry *map = entries(1);

    map[0] = (struct entry){0, basic};
    return (struct type){basics[basic].handle, map, 1, bytes, 0, bytes, basics[basic].align, 0, 0,
                         basics[basic].handle == MPI_OFFSET, 0};
}

static struct type predefined(uint64_t *s) {
    int which = (int)below(s, BASICS + PAIRS);

    if (which < BASICS) return basic_type(which);
    struct type value = basic_type(pairs[which - BASICS].value), index = basic_type(0);
    long after = (value.size + 3) / 4 * 4;
    struct type t = of_blocks((struct block[]){{0, 1, &value}, {after, 1, &index}}, 2);
    padded(&t);
    t.handle = pairs[which - BASICS].handle;
    t.derived = 0, t.mixed = 1;
    return t;
}

static void set_bounds(struct type *t, long lower, long upper) {
    t->lower = lower, t->upper = upper, t->marked = 1;
}

/* A part of an array of up to three dimensions: a box, or what one of several processes has. */
static struct type of_array(uint64_t *s, const struct type *of, int large) {
    int n = 1 + (int)below(s, 3), c = (int)below(s, 2), order = c ? MPI_ORDER_C : MPI_ORDER_FORTRAN;
    int shared = (int)below(s, 2), processes = 1, at[3], me, kind[3], share[3], grid[3];
    int whole[3], part[3], start[3];
    long whole_c[3], part_c[3], start_c[3], stride = extent(of), offset = 0;
    struct type t = *of, made;

    for (int d = 0; d < n; d++) {
        whole_c[d] = whole[d] = 1 + (int)below(s, 5);
        part_c[d] = part[d] = 1 + (int)below(s, whole[d]);
        start_c[d] = start[d] = (int)below(s, whole[d] - part[d] + 1);
        static const int kinds[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC,
                                    MPI_DISTRIBUTE_NONE};
        kind[d] = kinds[below(s, 3)];
        processes *= grid[d] = kind[d] == MPI_DISTRIBUTE_NONE ? 1 : 1 + (int)below(s, 3);
        share[d] = below(s, 2) ? MPI_DISTRIBUTE_DFLT_DARG : 1 + (int)below(s, 3);
        if (kind[d] == MPI_DISTRIBUTE_BLOCK && share[d] * grid[d] < whole[d])
            share[d] = MPI_DISTRIBUTE_DFLT_DARG;
    }
    me = (int)below(s, processes);
    for (int d = n - 1, left = me; d >= 0; left /= grid[d--]) at[d] = left % grid[d];
    for (int i = 0; i < n; i++) {
        struct block blocks[5];
        int d = c ? n - 1 - i : i, count = 0, each = share[d];
        if (each == MPI_DISTRIBUTE_DFLT_DARG)
            each = kind[d] == MPI_DISTRIBUTE_CYCLIC ? 1 : (whole[d] + grid[d] - 1) / grid[d];
        if (kind[d] == MPI_DISTRIBUTE_NONE) each = whole[d];
        made = t;
        for (int k = 0; k < whole[d]; k++)
            if (shared ? k / each % grid[d] == at[d] : k < part[d])
                blocks[count++] = (struct block){k * stride, 1, &made};
        t = of_blocks(blocks, count);
        offset += stride * start[d];
        stride *= whole[d];
    }
    made = t;
    t = of_blocks(&(struct block){shared ? 0 : offset, 1, &made}, 1);
    set_bounds(&t, 0, stride);
    t.shared |= shared;
    MPI_Datatype old = of->handle;
    if (shared && large)
        MPI_Type_create_darray_c(processes, me, n, whole_c, kind, share, grid, order, old,
                                 &t.handle);
    else if (shared)
        MPI_Type_create_darray(processes, me, n, whole, kind, share, grid, order, old, &t.handle);
    else if (large)
        MPI_Type_create_subarray_c(n, whole_c, part_c, start_c, order, old, &t.handle);
    else
        MPI_Type_create_subarray(n, whole, part, start, order, old, &t.handle);
    return t;
}

enum { VECTOR, INDEXED, INDEXED_BLOCK, HVECTOR, HINDEXED, HINDEXED_BLOCK, STRUCT };

/* A constructor that takes blocks, by its number; `places` are in items for some, else in bytes. */
static MPI_Datatype from_blocks(int how, int n, const long *lengths, const long *places,
                                long stride, const MPI_Datatype *old, int large) {
    int *short_lengths = calloc((size_t)n + 1, sizeof(int)), length = (int)lengths[0];
    int *short_places = calloc((size_t)n + 1, sizeof(int));
    MPI_Datatype t = MPI_DATATYPE_NULL;

    for (int i = 0; i < n; i++)
        short_lengths[i] = (int)lengths[i], short_places[i] = (int)places[i];
    switch (how * 2 + large) {
    case 0: MPI_Type_vector(n, length, (int)stride, *old, &t); break;
    case 1: MPI_Type_vector_c(n, length, stride, *old, &t); break;
    case 2: MPI_Type_indexed(n, short_lengths, short_places, *old, &t); break;
    case 3: MPI_Type_indexed_c(n, lengths, places, *old, &t); break;
    case 4: MPI_Type_create_indexed_block(n, length, short_places, *old, &t); break;
    case 5: MPI_Type_create_indexed_block_c(n, length, places, *old, &t); break;
    case 6: MPI_Type_create_hvector(n, length, stride, *old, &t); break;
    case 7: MPI_Type_create_hvector_c(n, length, stride, *old, &t); break;
    case 8: MPI_Type_create_hindexed(n, short_lengths, places, *old, &t); break;
    case 9: MPI_Type_create_hindexed_c(n, lengths, places, *old, &t); break;
    case 10: MPI_Type_create_hindexed_block(n, length, places, *old, &t); break;
    case 11: MPI_Type_create_hindexed_block_c(n, length, places, *old, &t); break;
    case 12: MPI_Type_create_struct(n, short_lengths, places, old, &t); break;
    default: MPI_Type_create_struct_c(n, lengths, places, old, &t);
    }
    free(short_lengths), free(short_places);
    return t;
}

/* The type of a structure of so many blocks. */
static struct type structure(int n, const struct block *blocks, int large) {
    long *lengths = calloc((size_t)n + 1, sizeof(long));
    long *places = calloc((size_t)n + 1, sizeof(long));
    MPI_Datatype *old = calloc((size_t)n + 1, sizeof *old);
    struct type t = of_blocks(blocks, n);
    long upper = t.upper;
    int some = -1, several = 0;

    for (int i = 0; i < n; i++) {
        lengths[i] = blocks[i].count, places[i] = blocks[i].at, old[i] = blocks[i].of->handle;
        if (lengths[i] == 0) continue;
        const struct type *of = blocks[i].of, *other = blocks[some >= 0 ? some : i].of;
        if (of->entries == 0 || other->entries == 0) continue;
        long bytes = basics[of->map->basic].size, others = basics[other->map->basic].size;
        several |= of != other && (bytes != others || (of->derived && of->mixed));
        some = i;
    }
    padded(&t);
    t.handle = from_blocks(STRUCT, n, lengths, places, 0, old, large);
    if (!hard && t.upper != upper && !several) {
        /* MPICH pads no structure of numbers of one size. */
        MPI_Datatype bare = t.handle;
        set_bounds(&t, t.lower, upper);
        MPI_Type_create_resized(bare, t.lower, extent(&t), &t.handle);
        MPI_Type_free(&bare);
    }
    free(lengths), free(places), free(old);
    return t;
}

static struct type tree(uint64_t *s, int depth);

/* A type of blocks, which mostly do not overlap. */
static struct type of_some_blocks(uint64_t *s, const struct type *of, int depth, int large) {
    int how = (int)below(s, STRUCT + 1), n = (int)below(s, BLOCKS), orderly = below(s, 4) > 0;
    int same = how == VECTOR || how == INDEXED_BLOCK || how == HVECTOR || how == HINDEXED_BLOCK;
    long lengths[BLOCKS], places[BLOCKS], bytes[BLOCKS], align = below(s, 2) ? 16 : 1;
    long scale = how < HVECTOR ? extent(of) : 1, at = below(s, 12) - 9, stride = 0;
    struct type types[BLOCKS];
    struct block blocks[BLOCKS] = {0};
    MPI_Datatype old[BLOCKS];

    for (int i = 0; i < BLOCKS; i++) {
        long low, high;
        types[i] = i == 0 || how != STRUCT || i >= n ? *of : tree(s, depth - 1);
        /* In a structure, MPICH lets bounds that were set by hand count no more than others, and
         * what is empty widen the true bounds. */
        if (!hard && how == STRUCT && (types[i].entries == 0 || types[i].marked)) {
            if (i > 0 && i < n && types[i].derived) MPI_Type_free(&types[i].handle);
            types[i] = predefined(s);
        }
        old[i] = types[i].handle;
        lengths[i] = same && i > 0 ? lengths[0] : below(s, 4);
        span(&types[i], lengths[i], &low, &high);
        long step = !orderly ? below(s, 7) : how < HVECTOR ? lengths[i] : high - low;
        step += below(s, how < HVECTOR ? 3 : 20);
        if (how >= HVECTOR) step = (step + align - 1) / align * align;
        if (i == 0) stride = step;
        places[i] = at, at += step;
    }
    if (how == VECTOR || how == HVECTOR) {
        if (below(s, 3) == 0) stride = -stride;
        for (int i = 0; i < n; i++) places[i] = i * stride;
    } else if (below(s, 3) == 0) {
        for (int i = 0; i < n; i++) places[i] = -places[i];
    }
    for (int i = 0; i < n; i++) {
        bytes[i] = places[i] * scale;
        blocks[i] = (struct block){bytes[i], lengths[i], how == STRUCT ? &types[i] : of};
    }
    struct type t = how == STRUCT ? structure(n, blocks, large) : of_blocks(blocks, n);
    if (how != STRUCT) t.handle = from_blocks(how, n, lengths, places, stride, old, large);
    for (int i = 1; i < n && how == STRUCT; i++)
        if (types[i].derived) MPI_Type_free(&old[i]);
    return t;
}

static struct type tree(uint64_t *s, int depth) {
    if (depth == 0 || below(s, 8) == 0) return predefined(s);
    struct type of = tree(s, depth - 1), t;
    int large = below(s, 4) == 0, n = (int)below(s, 5);
    long low, high;

    switch (below(s, 8)) {
    case 0:
        t = of_blocks(&(struct block){0, n, &of}, 1);
        if (large) MPI_Type_contiguous_c(n, of.handle, &t.handle);
        else MPI_Type_contiguous(n, of.handle, &t.handle);
        break;
    case 1:
        t = of;
        span(&of, 1, &low, &high);
        low += below(s, 2) * (below(s, 40) - 20);
        high = below(s, 3) ? high + below(s, 12) - 4 : below(s, 60) - 30;
        /* MPICH sends other bytes where items go down. */
        if (!hard && high <= low) high = low + 1;
        set_bounds(&t, low, high);
        if (large) MPI_Type_create_resized_c(of.handle, low, high - low, &t.handle);
        else MPI_Type_create_resized(of.handle, low, high - low, &t.handle);
        break;
    case 2:
        t = of;
        MPI_Type_dup(of.handle, &t.handle);
        break;
    case 3: t = of_array(s, &of, large); break;
    default: t = of_some_blocks(s, &of, depth, large);
    }
    t.derived = 1;
    span(&t, 4, &low, &high);
    /* What bounds without data are worth in another type, libraries do not agree on. */
    if (t.entries > ENTRIES || high - low > SPAN || (!hard && t.marked && t.entries == 0)) {
        MPI_Type_free(&t.handle);
        return of;
    }
    if (of.derived) MPI_Type_free(&of.handle);
    return t;
}

/* A type of entries with these basic types, in this order, somewhere each. */
static struct type respelled(uint64_t *s, const int *list, long count) {
    struct block *blocks = calloc((size_t)count + 1, sizeof *blocks);
    struct type *types = calloc((size_t)count + 1, sizeof *types), t;
    long at = below(s, 64) - 32;
    int n = 0, back = (int)below(s, 2);

    for (long i = 0, run = 1; i < count; i += run, run = 1, n++) {
        long most = 1 + below(s, 6), bytes;
        while (i + run < count && run < most && list[i + run] == list[i]) run++;
        types[n] = basic_type(list[i]);
        bytes = run * types[n].size + below(s, 2) * below(s, 20);
        if (back) at -= bytes;
        blocks[n] = (struct block){at, run, &types[n]};
        if (!back) at += bytes;
    }
    t = structure(n, blocks, below(s, 4) == 0);
    free(blocks), free(types);
    return t;
}

#endif
