/* Items of random datatypes in buffers: what MPI tells of their types, and what their bytes have to
 * be. */
#ifndef ITEMS_H
#define ITEMS_H

#include "types.h"

enum { GUARD = 24 };

/* A buffer with guards around it, and what it should be. */
struct room {
    unsigned char *all, *want, *at;
    long bytes;
    uint64_t key;
};

static void fill(struct room *r) {
    uint64_t state = r->key;

    for (long i = 0; i < r->bytes; i++) r->all[i] = (unsigned char)(next(&state) >> 20);
}

static struct room room_for(const struct type *t, long count, uint64_t key) {
    struct room r = {.key = key};
    long low, high;

    span(t, count, &low, &high);
    r.bytes = high - low + 2 * GUARD;
    r.all = malloc((size_t)r.bytes), r.want = malloc((size_t)r.bytes);
    fill(&r);
    memcpy(r.want, r.all, (size_t)r.bytes);
    r.at = r.all + (GUARD - low);
    return r;
}

/* Nobody has to keep the bytes behind the ten of an x87 number. */
static void settle(struct room *r, const struct type *t, long count) {
    for (long i = 0; i < count; i++)
        for (long e = 0; e < t->entries; e++) {
            long size = basics[t->map[e].basic].size, at = i * extent(t) + t->map[e].at + 10;
            if (basics[t->map[e].basic].align < 16) continue;
            for (at += r->at - r->all; size > 0; size -= 16, at += 16)
                memcpy(r->want + at, r->all + at, 6);
        }
}

static void check_room(struct room *r, const struct type *t, long count, const char *what) {
    long wrong = 0, first = -1;

    settle(r, t, count);
    for (long i = 0; i < r->bytes; i++)
        if (r->all[i] != r->want[i] && wrong++ == 0) first = i;
    if (telling) fprintf(stderr, "%d.%d: %s, wrong %ld\n", rank, round_number, what, wrong);
    if (wrong > 0 && wrongs++ < 20)
        say("round %d: %s: %ld of %ld bytes are wrong from %ld on: %02x instead of %02x",
            round_number, what, wrong, r->bytes, first, r->all[first], r->want[first]);
}

static void drop(struct room *r) { free(r->all), free(r->want); }

/* Copies the first `bytes` packed bytes of items out of them or into them; how many there were. */
static long copied(const struct type *t, long count, unsigned char *at, unsigned char *packed,
                   long bytes, int in) {
    long done = 0;

    for (long i = 0; i < count; i++)
        for (long e = 0; e < t->entries; e++) {
            unsigned char *here = at + i * extent(t) + t->map[e].at;
            long length = basics[t->map[e].basic].size;
            if (done + length > bytes) return done;
            if (in) memcpy(here, packed + done, (size_t)length);
            else memcpy(packed + done, here, (size_t)length);
            done += length;
        }
    return done;
}

static int overlaps(const struct type *t, long count) {
    long low, high, twice = 0;

    span(t, count, &low, &high);
    char *seen = calloc((size_t)(high - low) + 1, 1);
    for (long i = 0; i < count; i++)
        for (long e = 0; e < t->entries; e++)
            for (long b = 0; b < basics[t->map[e].basic].size; b++)
                twice += seen[i * extent(t) + t->map[e].at + b - low]++;
    free(seen);
    return twice > 0;
}

/* How a type was made, and what it was made of. */
static void contents(MPI_Datatype type, int depth) {
    MPI_Count n[4];
    int combiner, plain[3];

    MPI_Type_get_envelope_c(type, &n[0], &n[1], &n[2], &n[3], &combiner);
    note("%d: combiner %d: %ld %ld %ld %ld", depth, combiner, n[0], n[1], n[2], n[3]);
    if (combiner == MPI_COMBINER_NAMED) return;
    if (n[2] == 0) {
        MPI_Type_get_envelope(type, &plain[0], &plain[1], &plain[2], &combiner);
        note("plain: combiner %d: %d %d %d", combiner, plain[0], plain[1], plain[2]);
    }
    int *integers = calloc((size_t)n[0] + 1, sizeof(int));
    MPI_Aint *addresses = calloc((size_t)n[1] + 1, sizeof(MPI_Aint));
    MPI_Count *counts = calloc((size_t)n[2] + 1, sizeof(MPI_Count));
    MPI_Datatype *types = calloc((size_t)n[3] + 1, sizeof(MPI_Datatype));
    if (n[2] == 0 && depth % 2 == 0)
        MPI_Type_get_contents(type, plain[0], plain[1], plain[2], integers, addresses, types);
    else
        MPI_Type_get_contents_c(type, n[0], n[1], n[2], n[3], integers, addresses, counts, types);
    for (int i = 0; i < n[0]; i++) note("integer %d", integers[i]);
    for (int i = 0; i < n[1]; i++) note("address %ld", addresses[i]);
    for (int i = 0; i < n[2]; i++) note("count %ld", counts[i]);
    for (int i = 0; i < n[3]; i++) {
        MPI_Type_get_envelope_c(types[i], &n[0], &n[1], &n[2], &n[2], &combiner);
        contents(types[i], depth + 1);
        if (combiner == MPI_COMBINER_NAMED) {
            for (int b = 0; b < BASICS; b++)
                if (types[i] == basics[b].handle) note("of basic type %d", b);
            for (int p = 0; p < PAIRS; p++)
                if (types[i] == pairs[p].handle) note("of pair %d", p);
        } else {
            MPI_Type_free(&types[i]);
        }
    }
    free(integers), free(addresses), free(counts), free(types);
}

/* Size and bounds of a type. */
static void bounds(MPI_Datatype type, const struct type *t) {
    MPI_Aint lower, bytes;
    MPI_Count lower_c, bytes_c, size_c;
    long low, high;
    int some;

    span(t, 1, &low, &high);
    MPI_Type_size(type, &some);
    MPI_Type_size_c(type, &size_c);
    expect(some, t->size, "size");
    expect(size_c, t->size, "size");
    if (t->entries == 0) return; /* Nothing is said of its bounds. */
    MPI_Type_get_extent(type, &lower, &bytes);
    MPI_Type_get_extent_c(type, &lower_c, &bytes_c);
    expect(lower, t->lower, "lower bound");
    expect(lower_c, t->lower, "lower bound");
    expect(bytes, extent(t), "extent");
    expect(bytes_c, extent(t), "extent");
    if (t->shared && !hard) return; /* MPICH may tell others. */
    MPI_Type_get_true_extent(type, &lower, &bytes);
    MPI_Type_get_true_extent_c(type, &lower_c, &bytes_c);
    expect(lower, low, "true lower bound");
    expect(lower_c, low, "true lower bound");
    expect(bytes, high - low, "true extent");
    expect(bytes_c, high - low, "true extent");
}

/* Counts and elements of a status that tells of so many entries. */
static void note_status(const MPI_Status *status, MPI_Datatype type, long entries,
                        const struct type *t, long count) {
    int items, elements;
    MPI_Count items_c, elements_c;
    long each = t->entries * count;
    long want = entries == 0 ? 0 : entries % each ? MPI_UNDEFINED : entries / each;

    MPI_Get_count(status, type, &items);
    MPI_Get_count_c(status, type, &items_c);
    expect(items, want, "count");
    expect(items_c, want, "count");
    if ((t->mixed || t->shared) && !hard) return; /* MPICH may count otherwise, or crash. */
    MPI_Get_elements(status, type, &elements);
    MPI_Get_elements_c(status, type, &elements_c);
    expect(elements, entries, "elements");
    expect(elements_c, entries, "elements");
}

/* All that MPI tells of a type; it is committed then. */
static void describe(uint64_t *s, struct type *t) {
    static int named;
    char name[MPI_MAX_OBJECT_NAME], given[32];
    int length, elements = (int)below(s, 3 * t->entries + 1);
    MPI_Datatype other;
    MPI_Status status;

    note("type of %ld entries", t->entries);
    bounds(t->handle, t);
    contents(t->handle, 0);
    MPI_Type_get_name(t->handle, name, &length);
    if (t->derived) note("name '%s' %d", name, length);
    if (t->derived && below(s, 2)) {
        sprintf(given, "a type %d", named++ % 10);
        MPI_Type_set_name(t->handle, given);
        MPI_Type_get_name(t->handle, name, &length);
        expect(strcmp(name, given), 0, "name given");
    }
    MPI_Type_commit(&t->handle);
    MPI_Type_commit(&t->handle);
    MPI_Type_dup(t->handle, &other);
    MPI_Type_get_name(other, name, &length);
    note("name of the other '%s' %d", name, length);
    bounds(other, t);
    if (t->derived && below(s, 2)) {
        MPI_Type_free(&t->handle);
        t->handle = other;
    } else {
        MPI_Type_free(&other);
    }
    memset(&status, 0, sizeof status);
    if ((t->mixed || t->derived) && !hard) return; /* MPICH may set more, or crash. */
    MPI_Status_set_elements(&status, t->handle, elements);
    note_status(&status, t->handle, elements, t, 1);
}

/* Items as an argument: with a type of their own that has their address in it, or not. */
struct items {
    void *buffer;
    int count, absolute;
    MPI_Datatype type;
};

static struct items items(uint64_t *s, const struct type *t, int count, const struct room *r) {
    struct items u = {r->at, count, below(s, 3) == 0, t->handle};
    MPI_Aint address;
    MPI_Datatype type = t->handle;

    if (!hard && t->size * count == 0) u.absolute = 0; /* As above. */
    if (!u.absolute) return u;
    MPI_Get_address(r->at, &address);
    if (below(s, 2)) MPI_Type_create_hindexed_block(1, count, &address, type, &u.type);
    else MPI_Type_create_struct(1, &count, &address, &type, &u.type);
    MPI_Type_commit(&u.type);
    u.buffer = MPI_BOTTOM, u.count = 1;
    return u;
}

static void let_go(struct items *u) {
    if (u->absolute) MPI_Type_free(&u->type);
}

static int pack_size(const struct items *u) {
    int bytes;

    MPI_Pack_size(u->count, u->type, MPI_COMM_WORLD, &bytes);
    return bytes;
}

/* The basic types of some items, and some more. */
static int *signature(uint64_t *s, const struct type *t, long count, long more) {
    long n = t->entries * count;
    int *list = malloc(sizeof(int) * (size_t)(n + more + 1));

    for (long i = 0; i < n; i++) list[i] = t->map[i % t->entries].basic;
    for (long i = n; i < n + more; i++) list[i] = (int)below(s, BASICS);
    return list;
}

/* A message: on one side a tree, on the other too, or its entries in another order. */
struct message {
    int from, to, sending, receiving, persistent, counts[2], full;
    long entries, bytes;
    struct type types[2];
    struct room rooms[2];
    struct items items[2];
    unsigned char *stream, *packed[2];
    uint64_t seed;
};

static void make(struct message *m) {
    uint64_t *s = &m->seed;
    struct type t = tree(s, (int)below(s, 4)), other;
    int count = (int)(below(s, 9) ? below(s, 4) : below(s, 2000 / (t.entries + 1)));
    int more = (int)below(s, 2) * (int)below(s, 6), part = hard || !t.mixed;
    /* MPICH cannot end a piece of a long message amid a number, or a message amid a pair. */
    while (!hard && t.size * count > 8000) count /= 2;
    int way = overlaps(&t, count + more) ? 0 : (int)below(s, 3);
    long total = t.entries * count;
    int *list = signature(s, &t, count, more);

    m->entries = way == 1 && below(s, 2) && part ? below(s, total + 1) : total;
    m->counts[0] = way == 1 ? 1 : count;
    m->counts[1] = way == 0 ? 1 : way == 1 ? count : count + more;
    if (way == 0) other = respelled(s, list, total + more);
    else if (way == 1) other = respelled(s, list, m->entries);
    else other = t;
    m->types[0] = way == 1 ? other : t, m->types[1] = way == 1 ? t : other;
    m->full = m->entries == m->types[1].entries * m->counts[1];
    describe(s, &m->types[way == 1]);
    if (way == 2) m->types[1] = m->types[0], m->types[1].derived = 0;
    else describe(s, &m->types[way != 1]);
    if (!hard && m->types[1].size == 0) { /* MPICH may divide by it. */
        if (m->types[1].derived) MPI_Type_free(&m->types[1].handle);
        m->types[1] = basic_type(BYTE), m->counts[1] = 0;
    }
    for (int i = 0; i < 2; i++) {
        m->rooms[i] = room_for(&m->types[i], m->counts[i], next(s));
        m->items[i] = items(s, &m->types[i], m->counts[i], &m->rooms[i]);
    }
    m->stream = malloc((size_t)(m->types[0].size * m->counts[0]) + 1);
    m->bytes = copied(&m->types[0], m->counts[0], m->rooms[0].at, m->stream, 1 << 30, 0);
    /* What comes shall be there. */
    unsigned char *at = m->rooms[1].want + (m->rooms[1].at - m->rooms[1].all);
    copied(&m->types[1], m->counts[1], at, m->stream, m->bytes, 1);
    m->packed[0] = m->packed[1] = 0;
    free(list);
}

static void unmake(struct message *m) {
    for (int i = 0; i < 2; i++) {
        let_go(&m->items[i]);
        if (m->types[i].derived) MPI_Type_free(&m->types[i].handle);
        drop(&m->rooms[i]);
    }
    free(m->stream), free(m->packed[0]), free(m->packed[1]);
}

#endif
