/* One collective call: its arguments, which follow from a seed, its buffers, and what it left in
 * them. */
#ifndef CALLS_H
#define CALLS_H

#include "plan.h"
#include <stdlib.h>
#include <string.h>

enum { WRONG = 77, GUARD = 64, MOST = 40, GUARDED = 0xa5 };

/* What one rank sends or receives: blocks of items between guards. */
struct side {
    unsigned char *memory, *data; /* Guards included; what places count from. */
    void *base;                   /* As the call takes it: data, MPI_IN_PLACE or NULL. */
    size_t bytes;
    int counts[MOST], places[MOST];
    MPI_Count wide_counts[MOST];
    MPI_Aint wide_places[MOST];
    void *count_list, *place_list; /* As wide as the call takes them. */
    MPI_Datatype types[MOST], made[MOST];
    int types_made;
};

enum kind {
    Barrier, Bcast, Gather, Gatherv, Scatter, Scatterv, Allgather, Allgatherv, Alltoall, Alltoallv,
    Alltoallw, Reduce, Allreduce, Reduce_scatter, Reduce_scatter_block, Scan, Exscan, Reduce_local,
    Neighbor_allgather, Neighbor_allgatherv, Neighbor_alltoall, Neighbor_alltoallv,
    Neighbor_alltoallw, KINDS
};
enum layout { NONE, SINGLE, EQUAL, LISTED, EACH };
enum amount { FIXED, BY_SENDER, BY_RECEIVER, BY_PAIR };
enum significant { EVERYWHERE, OUT_AT_ROOT, IN_AT_ROOT };

static const struct {
    const char *name;
    enum layout out, in;
    enum amount amount;
    enum significant where;
    int may_be_in_place;
} kinds[KINDS] = {
    [Barrier] = {"barrier", NONE, NONE, FIXED, EVERYWHERE, 0},
    [Bcast] = {"bcast", NONE, SINGLE, FIXED, EVERYWHERE, 0},
    [Gather] = {"gather", SINGLE, EQUAL, FIXED, IN_AT_ROOT, 1},
    [Gatherv] = {"gatherv", SINGLE, LISTED, BY_SENDER, IN_AT_ROOT, 1},
    [Scatter] = {"scatter", EQUAL, SINGLE, FIXED, OUT_AT_ROOT, 1},
    [Scatterv] = {"scatterv", LISTED, SINGLE, BY_RECEIVER, OUT_AT_ROOT, 1},
    [Allgather] = {"allgather", SINGLE, EQUAL, FIXED, EVERYWHERE, 1},
    [Allgatherv] = {"allgatherv", SINGLE, LISTED, BY_SENDER, EVERYWHERE, 1},
    [Alltoall] = {"alltoall", EQUAL, EQUAL, FIXED, EVERYWHERE, 1},
    [Alltoallv] = {"alltoallv", LISTED, LISTED, BY_PAIR, EVERYWHERE, 1},
    [Alltoallw] = {"alltoallw", EACH, EACH, BY_PAIR, EVERYWHERE, 1},
    [Reduce] = {"reduce", SINGLE, SINGLE, FIXED, IN_AT_ROOT, 1},
    [Allreduce] = {"allreduce", SINGLE, SINGLE, FIXED, EVERYWHERE, 1},
    [Reduce_scatter] = {"reduce_scatter", SINGLE, SINGLE, BY_RECEIVER, EVERYWHERE, 1},
    [Reduce_scatter_block] = {"reduce_scatter_block", SINGLE, SINGLE, FIXED, EVERYWHERE, 1},
    [Scan] = {"scan", SINGLE, SINGLE, FIXED, EVERYWHERE, 1},
    [Exscan] = {"exscan", SINGLE, SINGLE, FIXED, EVERYWHERE, 1},
    [Reduce_local] = {"reduce_local", SINGLE, SINGLE, FIXED, EVERYWHERE, 0},
    [Neighbor_allgather] = {"neighbor_allgather", SINGLE, EQUAL, FIXED, EVERYWHERE, 0},
    [Neighbor_allgatherv] = {"neighbor_allgatherv", SINGLE, LISTED, BY_SENDER, EVERYWHERE, 0},
    [Neighbor_alltoall] = {"neighbor_alltoall", EQUAL, EQUAL, FIXED, EVERYWHERE, 0},
    [Neighbor_alltoallv] = {"neighbor_alltoallv", LISTED, LISTED, BY_PAIR, EVERYWHERE, 0},
    [Neighbor_alltoallw] = {"neighbor_alltoallw", EACH, EACH, BY_PAIR, EVERYWHERE, 0},
};

/* Types that are reduced: bytes of an item, and of the number in it or in front of its index. */
struct basic {
    MPI_Datatype type;
    char class; /* Integer, multi-language, real, complex, logical, byte, pair (q: of a real). */
    int bytes, number;
};

enum form { BLOCKING, NONBLOCKING, PERSISTENT };

struct call {
    enum kind kind;
    enum form form;
    int large, root, in_place, me, size, scale, grain, turns, started_late, op_number;
    uint64_t seed;
    unsigned sent;
    MPI_Comm comm;
    MPI_Datatype atom;
    MPI_Op op, made_op;
    struct basic basic; /* Of a reduction; bytes are 0 elsewhere. */
    struct side out, in;
    MPI_Request request;
};

/* The neighbours of a rank in a communicator with a topology. */
struct neighbours {
    int ins, outs, sources[MOST], destinations[MOST];
};
static struct neighbours near;

/* Atoms that go from one rank to another, as many as a type of any shape has some times. */
static int atoms(const struct call *c, int from, int to) {
    int one = 0, other = 0;

    switch (kinds[c->kind].amount) {
    case FIXED: break;
    case BY_SENDER: one = from; break;
    case BY_RECEIVER: one = to; break;
    case BY_PAIR:
        one = c->in_place && to < from ? to : from;
        other = c->in_place && to < from ? from : to;
    }
    uint64_t state = mix(mix(c->seed, 1000 + one), other);
    return below(&state, 4) == 0 ? 0 : c->grain * below(&state, c->scale);
}

/* A type of so many atoms, which are the result; `room` items of it do not overlap. */
static int shape(const struct call *c, uint64_t seed, int room, struct side *side,
                 MPI_Datatype *type) {
    MPI_Aint low, a, places[2];
    MPI_Datatype inner = MPI_DATATYPE_NULL;
    int which = pick(seed, 0, c->grain == 1 ? 2 : c->grain == 2 ? 7 : 8);

    /* MPICH fails or waits for ever in some exchanges of much between other shapes. */
    if (c->scale > 400) which = 0;
    MPI_Type_get_extent(c->atom, &low, &a);
    *type = c->atom;
    switch (which) {
    case 0: return 1;
    case 1: MPI_Type_create_resized(c->atom, -a, 2 * a, type); break;
    case 2: MPI_Type_contiguous(2, c->atom, type); break;
    case 3: MPI_Type_vector(2, 1, 3, c->atom, type); break;
    case 4:
        MPI_Type_vector(2, 1, 2, c->atom, &inner);
        MPI_Type_create_resized(inner, 0, 5 * a, type);
        break;
    case 5:
        places[0] = a, places[1] = -a;
        MPI_Type_create_hindexed_block(2, 1, places, c->atom, type);
        break;
    case 6:
        MPI_Type_vector(2, 1, room > 0 ? room : 1, c->atom, &inner);
        MPI_Type_create_resized(inner, 0, a, type);
        break;
    default: {
        MPI_Datatype types[2] = {c->atom, c->atom};
        places[0] = 3 * a, places[1] = 0;
        MPI_Type_create_struct(2, (int[2]){3, 1}, places, types, type);
    }
    }
    if (inner != MPI_DATATYPE_NULL) MPI_Type_free(&inner);
    MPI_Type_commit(type);
    side->made[side->types_made++] = *type;
    return which == 1 ? 1 : which == 7 ? 4 : 2;
}

/* Memory for bytes from `low` to `high`, and the lists as wide as the call takes them. */
static void settle(const struct call *c, struct side *s, MPI_Aint low, MPI_Aint high, int blocks) {
    s->bytes = high - low + 2 * GUARD;
    s->memory = malloc(s->bytes);
    s->base = s->data = s->memory + GUARD - low;
    for (int i = 0; i < blocks; i++) {
        s->wide_counts[i] = s->counts[i];
        s->wide_places[i] = s->places[i];
    }
    s->count_list = c->large ? (void *)s->wide_counts : s->counts;
    s->place_list =
        c->large || c->kind == Neighbor_alltoallw ? (void *)s->wide_places : s->places;
}

/* Lays out blocks of so many atoms, with gaps and in any order where the call allows it. */
static void lay(const struct call *c, struct side *s, uint64_t seed, enum layout how, int blocks,
                const int *amounts) {
    MPI_Aint at = 0, low = 0, high = 0, unused, extent, first, span, a;
    int unit = 1, room = 3 * blocks, backwards = how >= LISTED && pick(seed, 1, 2);

    MPI_Type_get_extent(c->atom, &unused, &a);
    for (int i = 0; i < blocks; i++) room += amounts[i];
    if (how != EACH) unit = shape(c, seed, room, s, &s->types[0]);
    for (int i = 0; i < blocks; i++) {
        int k = backwards ? blocks - 1 - i : i, gap = how >= LISTED ? pick(seed, 10 + i, 4) : 0;
        if (how == EACH) unit = shape(c, mix(seed, 50 + i), amounts[k], s, &s->types[k]);
        MPI_Datatype type = s->types[how == EACH ? k : 0];
        MPI_Type_get_extent(type, &unused, &extent);
        MPI_Type_get_true_extent(type, &first, &span);
        s->counts[k] = amounts[k] / unit;
        if (how == EACH) at += (2 + gap) * a;
        s->places[k] = (int)(how == EACH ? at : at / extent);
        MPI_Aint end = at + (s->counts[k] - 1) * extent + first + span;
        if (s->counts[k] > 0 && at + first < low) low = at + first;
        if (s->counts[k] > 0 && end > high) high = end;
        at += s->counts[k] * extent;
        if (how == EACH && s->counts[k] > 0 && end > at) at = end;
        if (how == LISTED) at += gap * extent;
    }
    settle(c, s, low, high, blocks);
}

static void prepare_moved(struct call *c) {
    static const MPI_Datatype types[] = {MPI_BYTE, MPI_SHORT, MPI_INT, MPI_DOUBLE,
                                         MPI_C_DOUBLE_COMPLEX};
    int neighbourly = c->kind >= Neighbor_allgather, amounts[MOST];
    int outs = neighbourly ? near.outs : c->size, ins = neighbourly ? near.ins : c->size;
    enum layout out = kinds[c->kind].out, in = kinds[c->kind].in;
    uint64_t own = mix(c->seed, 100 + c->me);

    c->atom = types[pick(c->seed, 1, 5)];
    if (out == SINGLE) outs = 1;
    if (in == SINGLE) ins = 1;
    for (int i = 0; i < outs; i++)
        amounts[i] = atoms(c, c->me, neighbourly && out != SINGLE ? near.destinations[i] : i);
    if (out != NONE) lay(c, &c->out, mix(own, 1), out, outs, amounts);
    for (int i = 0; i < ins; i++)
        amounts[i] = atoms(c, neighbourly ? near.sources[i] : i, c->me);
    if (in != NONE) lay(c, &c->in, mix(own, 2), in, ins, amounts);
}

/* Composition of x -> ax + b, which does not commute, or sums. The extent says where b is. */
static void compose(unsigned *in, unsigned *inout, MPI_Count count, MPI_Datatype type, int sums) {
    MPI_Aint low, extent;

    MPI_Type_get_extent(type, &low, &extent);
    int step = (int)(extent / 4), b = step - 1;
    for (; count > 0; count--, in += step, inout += step) {
        inout[b] = sums ? in[b] + inout[b] : in[0] * inout[b] + in[b];
        inout[0] = sums ? in[0] + inout[0] : in[0] * inout[0];
    }
}

static void composed(void *in, void *inout, int *count, MPI_Datatype *type) {
    compose(in, inout, *count, *type, 0);
}
static void composed_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
    compose(in, inout, *count, *type, 0);
}
static void summed(void *in, void *inout, int *count, MPI_Datatype *type) {
    compose(in, inout, *count, *type, 1);
}
static void summed_c(void *in, void *inout, MPI_Count *count, MPI_Datatype *type) {
    compose(in, inout, *count, *type, 1);
}

static void prepare_reduced(struct call *c) {
    static const struct basic basics[] = {
        {MPI_SIGNED_CHAR, 'i', 1, 1}, {MPI_UNSIGNED_CHAR, 'i', 1, 1}, {MPI_SHORT, 'i', 2, 2},
        {MPI_UNSIGNED_SHORT, 'i', 2, 2}, {MPI_INT, 'i', 4, 4}, {MPI_UNSIGNED, 'i', 4, 4},
        {MPI_LONG, 'i', 8, 8}, {MPI_UNSIGNED_LONG_LONG, 'i', 8, 8}, {MPI_INT8_T, 'i', 1, 1},
        {MPI_UINT16_T, 'i', 2, 2}, {MPI_INT32_T, 'i', 4, 4}, {MPI_UINT64_T, 'i', 8, 8},
        {MPI_AINT, 'm', 8, 8}, {MPI_COUNT, 'm', 8, 8}, {MPI_OFFSET, 'm', 8, 8},
        {MPI_FLOAT, 'r', 4, 4}, {MPI_DOUBLE, 'r', 8, 8}, {MPI_LONG_DOUBLE, 'r', 16, 10},
        {MPI_C_FLOAT_COMPLEX, 'c', 8, 4}, {MPI_C_DOUBLE_COMPLEX, 'c', 16, 8},
        {MPI_C_LONG_DOUBLE_COMPLEX, 'c', 32, 10}, {MPI_C_BOOL, 'l', 1, 1}, {MPI_BYTE, 'b', 1, 1},
        {MPI_2INT, 'p', 8, 4}, {MPI_SHORT_INT, 'p', 8, 2}, {MPI_LONG_INT, 'p', 16, 8},
        {MPI_FLOAT_INT, 'q', 8, 4}, {MPI_DOUBLE_INT, 'q', 16, 8},
        {MPI_LONG_DOUBLE_INT, 'q', 32, 10},
    };
    static const MPI_Op ops[] = {MPI_SUM, MPI_PROD, MPI_MIN, MPI_MAX, MPI_BAND, MPI_BOR, MPI_BXOR,
                                 MPI_LAND, MPI_LOR, MPI_LXOR, MPI_MINLOC, MPI_MAXLOC};
    uint64_t state = mix(c->seed, 1);
    int total = 0, own = atoms(c, 0, c->me), which = below(&state, sizeof basics / sizeof *basics);
    int of_user = below(&state, 3) == 0, sums = below(&state, 2), wide = below(&state, 2);

    for (int i = 0; i < c->size; i++) {
        total += c->in.counts[i] = atoms(c, 0, i);
        c->in.places[i] = 0;
    }
    if (c->kind != Reduce_scatter && c->kind != Reduce_scatter_block) total = own;
    c->basic = basics[which];
    if (of_user) {
        int step = 1 + below(&state, 3);
        MPI_Type_vector(2, 1, step, MPI_UNSIGNED, &c->basic.type);
        MPI_Type_commit(&c->basic.type);
        c->out.made[c->out.types_made++] = c->basic.type;
        c->basic = (struct basic){c->basic.type, 'u', 4 * (step + 1), 4 * (step + 1)};
        if (wide)
            MPI_Op_create_c(sums ? summed_c : composed_c, sums, &c->made_op);
        else
            MPI_Op_create(sums ? summed : composed, sums, &c->made_op);
        c->op = c->made_op;
        c->op_number = 12 + sums;
    } else {
        int first = 0, count = 10;
        switch (c->basic.class) {
        case 'm': count = 7; break;
        case 'r': count = 4; break;
        case 'c': count = 2; break;
        case 'l': first = 7, count = 3; break;
        case 'b': first = 4, count = 3; break;
        case 'p':
        case 'q': first = 10, count = 2;
        }
        c->op_number = first + below(&state, count);
        c->op = ops[c->op_number];
    }
    c->out.types[0] = c->in.types[0] = c->basic.type;
    c->out.counts[0] = total;
    if (c->kind != Reduce_scatter && c->kind != Reduce_scatter_block) c->in.counts[0] = own;
    settle(c, &c->out, 0, (MPI_Aint)total * c->basic.bytes, 1);
    settle(c, &c->in, 0, (MPI_Aint)(c->in_place ? total : own) * c->basic.bytes, c->size);
}

/* A small number of the width, real or not. */
static void put(unsigned char *at, int real, int width, int value) {
    if (real && width == 4) memcpy(at, &(float){(float)value}, 4);
    if (real && width == 8) memcpy(at, &(double){value}, 8);
    if (real && width == 10) memcpy(at, &(long double){value}, 10);
    if (!real) memcpy(at, &(int64_t){value}, width);
}

static void fill(const struct call *c, struct side *s, uint64_t seed) {
    const struct basic *b = &c->basic;
    size_t inner = s->bytes - 2 * GUARD;

    memset(s->memory, GUARDED, s->bytes);
    if (b->bytes == 0 || b->class == 'u')
        for (size_t i = 0; i < inner; i++) s->memory[GUARD + i] = (unsigned char)mix(seed, i);
    else
        for (size_t at = 0; at < inner; at += b->bytes) {
            unsigned char *item = s->memory + GUARD + at;
            int value = pick(seed, at, b->class == 'l' ? 2 : 4);
            put(item, strchr("rcq", b->class) != 0, b->number, value);
            if (b->class == 'c') put(item + b->bytes / 2, 1, b->number, pick(seed, at + 1, 4) - 1);
            if (strchr("pq", b->class)) put(item + b->bytes / 2, 0, 4, pick(seed, at + 2, 20));
        }
}

#define FORM(Name, low, C, ...)                                                                    \
    (c->form == BLOCKING      ? MPI_##Name##C(__VA_ARGS__, c->comm)                                \
     : c->form == NONBLOCKING ? MPI_I##low##C(__VA_ARGS__, c->comm, &c->request)                   \
                              : MPI_##Name##_init##C(__VA_ARGS__, c->comm, MPI_INFO_NULL,          \
                                                     &c->request))
#define RUN(Name, low, ...)                                                                        \
    case Name:                                                                                     \
        (void)(c->large ? FORM(Name, low, _c, __VA_ARGS__) : FORM(Name, low, , __VA_ARGS__));      \
        break
#define ONE(s) (s).base, (s).counts[0], (s).types[0]
#define LIST(s) (s).base, (s).count_list, (s).place_list, (s).types[0]
#define LIST_EACH(s) (s).base, (s).count_list, (s).place_list, (s).types
#define BOTH c->out.base, c->in.base, c->out.counts[0], c->in.types[0], c->op

static void run(struct call *c) {
    struct side *out = &c->out, *in = &c->in;

    switch (c->kind) {
    case Barrier:
        if (c->form == BLOCKING) MPI_Barrier(c->comm);
        if (c->form == NONBLOCKING) MPI_Ibarrier(c->comm, &c->request);
        if (c->form == PERSISTENT) MPI_Barrier_init(c->comm, MPI_INFO_NULL, &c->request);
        break;
        RUN(Bcast, bcast, ONE(*in), c->root);
        RUN(Gather, gather, ONE(*out), ONE(*in), c->root);
        RUN(Gatherv, gatherv, ONE(*out), LIST(*in), c->root);
        RUN(Scatter, scatter, ONE(*out), ONE(*in), c->root);
        RUN(Scatterv, scatterv, LIST(*out), ONE(*in), c->root);
        RUN(Allgather, allgather, ONE(*out), ONE(*in));
        RUN(Allgatherv, allgatherv, ONE(*out), LIST(*in));
        RUN(Alltoall, alltoall, ONE(*out), ONE(*in));
        RUN(Alltoallv, alltoallv, LIST(*out), LIST(*in));
        RUN(Alltoallw, alltoallw, LIST_EACH(*out), LIST_EACH(*in));
        RUN(Reduce, reduce, BOTH, c->root);
        RUN(Allreduce, allreduce, BOTH);
        RUN(Reduce_scatter, reduce_scatter, out->base, in->base, in->count_list, in->types[0],
            c->op);
        RUN(Reduce_scatter_block, reduce_scatter_block, out->base, in->base, in->counts[0],
            in->types[0], c->op);
        RUN(Scan, scan, BOTH);
        RUN(Exscan, exscan, BOTH);
    case Reduce_local: (void)(c->large ? MPI_Reduce_local_c(BOTH) : MPI_Reduce_local(BOTH)); break;
        RUN(Neighbor_allgather, neighbor_allgather, ONE(*out), ONE(*in));
        RUN(Neighbor_allgatherv, neighbor_allgatherv, ONE(*out), LIST(*in));
        RUN(Neighbor_alltoall, neighbor_alltoall, ONE(*out), ONE(*in));
        RUN(Neighbor_alltoallv, neighbor_alltoallv, LIST(*out), LIST(*in));
        RUN(Neighbor_alltoallw, neighbor_alltoallw, LIST_EACH(*out), LIST_EACH(*in));
    default: abort();
    }
}

/* Arguments that mean nothing on this rank mean nothing. */
static void ignore(struct side *s, void *base) {
    s->base = base;
    s->counts[0] = -7;
    s->types[0] = MPI_DATATYPE_NULL;
    s->count_list = s->place_list = NULL;
}

static void prepare(struct call *c, uint64_t seed, MPI_Comm comm) {
    static const int scales[] = {3, 6, 12, 12, 80, 80, 400, 3000};
    uint64_t state = mix(seed, 5);

    memset(c, 0, sizeof *c);
    c->seed = seed, c->comm = comm, c->request = MPI_REQUEST_NULL;
    MPI_Comm_rank(comm, &c->me);
    MPI_Comm_size(comm, &c->size);
    c->kind = below(&state, 4) == 0 ? KINDS - 1 - below(&state, 5) : below(&state, KINDS);
    if (near.ins < 0) c->kind %= Neighbor_allgather;
    c->form = c->kind == Reduce_local ? BLOCKING : below(&state, 3);
    c->large = below(&state, 3) == 0;
    c->scale = scales[below(&state, 8)];
    c->in_place = kinds[c->kind].may_be_in_place && below(&state, 3) == 0;
    c->grain = c->kind >= Reduce && c->kind <= Reduce_local ? 1 : 1 << below(&state, 3);
    c->turns = c->form == PERSISTENT ? 1 + below(&state, 3) : 1;
    c->started_late = below(&state, 2);
    c->root = below(&state, 1000) % c->size;
    enum significant where = kinds[c->kind].where;
    c->in_place &= where == EVERYWHERE || c->me == c->root;
    if (c->kind >= Reduce && c->kind <= Reduce_local)
        prepare_reduced(c);
    else
        prepare_moved(c);
    if (c->in_place && where == OUT_AT_ROOT) ignore(&c->in, MPI_IN_PLACE);
    if (c->in_place && where != OUT_AT_ROOT) {
        int count = c->out.counts[0];
        ignore(&c->out, MPI_IN_PLACE);
        if (c->kind >= Reduce) c->out.counts[0] = count;
    }
    if (where == OUT_AT_ROOT && c->me != c->root) ignore(&c->out, NULL);
    if (where == IN_AT_ROOT && c->me != c->root) {
        if (c->kind == Reduce) c->in.base = NULL; else ignore(&c->in, NULL);
    }
}


static unsigned hash(const struct side *s) {
    unsigned h = 2166136261u;
    for (size_t i = 0; i < s->bytes; i++) h = (h ^ s->memory[i]) * 16777619u;
    return h;
}

static void begin_turn(struct call *c, int turn) {
    uint64_t seed = mix(mix(c->seed, 300 + turn), rank);
    int is_read = c->out.base == MPI_IN_PLACE || c->kind == Reduce_local ||
                  (c->kind == Bcast && c->me == c->root);

    if (c->out.memory) fill(c, &c->out, seed);
    if (c->in.memory) fill(c, &c->in, seed);
    if (c->in.memory && !is_read) memset(c->in.memory, GUARDED, c->in.bytes);
    c->sent = hash(&c->out);
}

static void check_guards(const struct call *c, const struct side *s) {
    for (int i = 0; s->memory && i < GUARD; i++)
        if (s->memory[i] != GUARDED || s->memory[s->bytes - 1 - i] != GUARDED) {
            fprintf(stderr, "round %d, rank %d: %s wrote beside a buffer\n", round_number, rank,
                    kinds[c->kind].name);
            MPI_Abort(MPI_COMM_WORLD, WRONG);
        }
}

static void end_turn(struct call *c, int turn) {
    static const char *const forms[] = {"", "i", "start of "};
    const struct basic *b = &c->basic;
    size_t inner = c->in.bytes - 2 * GUARD, kept = inner;
    unsigned char *at = c->in.memory + GUARD;
    char about[80];

    if (hash(&c->out) != c->sent) {
        fprintf(stderr, "round %d, rank %d: %s changed what was sent\n", round_number, rank,
                kinds[c->kind].name);
        MPI_Abort(MPI_COMM_WORLD, WRONG);
    }
    check_guards(c, &c->out);
    check_guards(c, &c->in);
    /* Undefined are what rank 0 gets in an exclusive scan, the items beyond the result that was
     * made in place, and padding. */
    if (c->kind == Exscan && c->me == 0) kept = 0;
    if (c->kind == Reduce_scatter || c->kind == Reduce_scatter_block)
        kept = (size_t)atoms(c, 0, c->me) * b->bytes;
    if (c->in.memory && kept < inner) memset(at + kept, 0, inner - kept);
    for (size_t i = 0; b->bytes > 0 && i < kept; i++) {
        size_t half = strchr("cpq", b->class) ? b->bytes / 2 : b->bytes;
        int is_index = strchr("pq", b->class) && i % b->bytes >= half;
        if ((int)(i % half) >= (is_index ? 4 : b->number)) at[i] = 0;
        /* The sign of a zero depends on the order. */
        if (b->class == 'c' && (int)(i % half) == b->number - 1 && at[i] == 0x80) at[i] = 0;
    }
    int end = snprintf(about, sizeof about, "%s%s%s", forms[c->form], kinds[c->kind].name,
                       c->large ? "_c" : "");
    if (b->bytes > 0)
        snprintf(about + end, sizeof about - end, " type %c%d op %d", b->class, b->bytes,
                 c->op_number);
    say("%s n %d root %d%s turn %d: %08x", about, c->out.memory ? c->out.counts[0] : 0, c->root,
        c->in_place ? " in place" : "", turn, hash(&c->in));
}

#endif
