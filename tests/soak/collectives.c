/* Random collective calls on random communicators: what is done is a function of the arguments,
 * SEED [ROUNDS], and of the number of ranks, and so is what is printed, on every MPI.
 *
 * Every rank makes the same plan from the seed. Each round derives a communicator and does several
 * calls on it, some of them at a time; every rank says what it found, and rank 0 prints it. Whoever
 * finds a guard beside a buffer or what was sent changed ends the run with status 77. */
#include "calls.h"

enum { CALLS = 7 };

static int key, deleted;

/* Completes requests in a way of this rank's own. MPI_Testall of MPICH takes persistent collective
 * ones for no requests. */
static void complete(MPI_Request *requests, int count, int persistent, uint64_t seed) {
    int done = 0, index = 0, indices[CALLS], way = pick(seed, 1, 8);

    switch (way == 3 && persistent ? 0 : way) {
    case 0: MPI_Waitall(count, requests, MPI_STATUSES_IGNORE); break;
    case 1:
        while (index != MPI_UNDEFINED) MPI_Waitany(count, requests, &index, MPI_STATUS_IGNORE);
        break;
    case 2:
        while (done != MPI_UNDEFINED)
            MPI_Waitsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 3:
        while (!done) MPI_Testall(count, requests, &done, MPI_STATUSES_IGNORE);
        break;
    case 4:
        while (!done || index != MPI_UNDEFINED)
            MPI_Testany(count, requests, &index, &done, MPI_STATUS_IGNORE);
        break;
    case 5:
        while (done != MPI_UNDEFINED)
            MPI_Testsome(count, requests, &done, indices, MPI_STATUSES_IGNORE);
        break;
    case 6:
        for (int i = count - 1; i >= 0; i--) MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
        break;
    default:
        for (int i = 0; i < count; i++, done = 0)
            while (!done) MPI_Test(&requests[i], &done, MPI_STATUS_IGNORE);
    }
}

static void release(struct side *s) {
    while (s->types_made > 0) MPI_Type_free(&s->made[--s->types_made]);
}

/* Frees what a call needs, as MPI allows while it is under way. */
static void let_go(struct call *c) {
    release(&c->out);
    release(&c->in);
    if (c->made_op) MPI_Op_free(&c->made_op);
    c->made_op = 0;
}

/* Several calls, side by side; the communicator may be gone then. */
static void batch(uint64_t seed, MPI_Comm *comm, int may_free) {
    struct call *calls = malloc(CALLS * sizeof *calls);
    MPI_Request requests[CALLS];
    int count = 1 + pick(seed, 1, CALLS), persistent = 0, most = 1;

    for (int i = 0; i < count; i++) {
        struct call *c = &calls[i];
        prepare(c, mix(seed, 10 + i), *comm);
        begin_turn(c, 0);
        run(c);
        if (c->form == BLOCKING) end_turn(c, 0);
        if (c->form == PERSISTENT && !c->started_late) MPI_Start(&c->request);
        if (pick(c->seed, 2, 2)) let_go(c);
        persistent += c->form == PERSISTENT;
        if (c->turns > most) most = c->turns;
    }
    if (may_free && !persistent && pick(seed, 2, 3) == 0) MPI_Comm_free(comm);
    for (int turn = 0; turn < most; turn++) {
        int first = pick(mix(seed, rank), 3 + turn, count);
        for (int k = 0; k < count; k++) {
            struct call *c = &calls[(first + k) % count];
            if (c->form != PERSISTENT || turn >= c->turns) continue;
            if (turn > 0) begin_turn(c, turn);
            if (turn > 0 || c->started_late) MPI_Start(&c->request);
        }
        for (int i = 0; i < count; i++) requests[i] = calls[i].request;
        complete(requests, count, persistent, mix(mix(seed, rank), 40 + turn));
        for (int i = 0; i < count; i++) {
            struct call *c = &calls[i];
            c->request = requests[i];
            if (c->form != BLOCKING && turn < c->turns) end_turn(c, turn);
        }
    }
    for (int i = 0; i < count; i++) {
        if (calls[i].form == PERSISTENT) MPI_Request_free(&calls[i].request);
        let_go(&calls[i]);
        free(calls[i].out.memory);
        free(calls[i].in.memory);
    }
    free(calls);
}

/* Communicators. */

static MPI_Comm cartesian(uint64_t seed, MPI_Comm parent, int parent_size) {
    int dims[3], periods[3], remains[3], left = parent_size, count = pick(seed, 1, 4);
    MPI_Comm grid, part;

    for (int i = 0; i < count; i++) {
        dims[i] = 1 + pick(seed, 10 + i, left);
        left /= dims[i];
        periods[i] = pick(seed, 20 + i, 2);
        remains[i] = pick(seed, 30 + i, 2);
    }
    MPI_Cart_create(parent, count, dims, periods, 0, &grid);
    if (grid == MPI_COMM_NULL || pick(seed, 2, 3) > 0) return grid;
    MPI_Cart_sub(grid, remains, &part);
    MPI_Comm_free(&grid);
    return part;
}

static MPI_Comm graph(uint64_t seed, MPI_Comm parent, int me, int parent_size) {
    int nodes = 1 + pick(seed, 1, parent_size), ends[16], edges[16 * 16], count = 0;
    int sources[MOST], weights_in[MOST], destinations[MOST], weights_out[MOST], in = 0, out = 0;
    int weighted = pick(seed, 3, 2);
    MPI_Comm new;

    if (pick(seed, 2, 2)) {
        for (int i = 0; i < nodes; i++) {
            for (int j = nodes - 1; j >= 0; j--)
                if (pick(mix(seed, i < j ? i : j), i < j ? j : i, 2)) edges[count++] = j;
            ends[i] = count;
        }
        MPI_Graph_create(parent, nodes, ends, edges, 0, &new);
        return new;
    }
    for (int k = 0; k < parent_size; k++) {
        int other = (k + me * 5) % parent_size;
        for (int times = pick(mix(seed, 50 + other), me, 4) - 1; times > 0; times--) {
            sources[in] = other;
            weights_in[in++] = pick(mix(seed, 70 + other), me, 100);
        }
        for (int times = pick(mix(seed, 50 + me), other, 4) - 1; times > 0; times--) {
            destinations[out] = other;
            weights_out[out++] = pick(mix(seed, 70 + me), other, 100);
        }
    }
    MPI_Dist_graph_create_adjacent(parent, in, sources, weighted ? weights_in : MPI_UNWEIGHTED, out,
                                   destinations, weighted ? weights_out : MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &new);
    return new;
}

/* Members of a group in another order, without some. */
static MPI_Group chosen(uint64_t seed, MPI_Group all, int colour, int colours) {
    int count, ranks[16], kept = 0;
    MPI_Group group;

    MPI_Group_size(all, &count);
    int turned = pick(seed, 1, 100), down = pick(seed, 2, 2);
    for (int i = 0; i < count; i++) {
        int member = (turned + (down ? count - 1 - i : i)) % count;
        if (pick(seed, 10 + member, colours) == colour) ranks[kept++] = member;
    }
    MPI_Group_incl(all, kept, ranks, &group);
    return group;
}

static MPI_Comm derive(uint64_t seed, MPI_Comm parent) {
    int me, members, topology, colours = 1 + pick(seed, 1, 3), which = pick(seed, 2, 9);
    MPI_Comm new = MPI_COMM_NULL;
    MPI_Request request;
    MPI_Group all, group;

    MPI_Comm_rank(parent, &me);
    MPI_Comm_size(parent, &members);
    MPI_Topo_test(parent, &topology);
    /* In MPICH the group of a grid or graph that leaves out ranks is that of its parent. */
    if (topology != MPI_UNDEFINED && (which == 3 || which == 4)) which = 0;
    if (pick(seed, 3, 2)) MPI_Comm_set_attr(parent, key, (void *)(intptr_t)(10 + which));
    int colour = pick(seed, 100 + me, colours + 1);
    switch (which) {
    case 0: MPI_Comm_dup(parent, &new); break;
    case 1:
        MPI_Comm_idup(parent, &new, &request);
        batch(mix(seed, 3), &parent, 0);
        complete(&request, 1, 0, mix(seed, rank));
        break;
    case 2:
        if (colour == colours) colour = MPI_UNDEFINED;
        MPI_Comm_split(parent, colour, pick(seed, 200 + me, 5) - 2, &new);
        break;
    case 3:
    case 4:
        MPI_Comm_group(parent, &all);
        colour = pick(mix(seed, 5), 10 + me, colours);
        group = chosen(mix(seed, 5), all, colour, colours);
        if (which == 3)
            MPI_Comm_create(parent, group, &new);
        else if (colour != 1)
            MPI_Comm_create_group(parent, group, 3, &new);
        MPI_Group_free(&all);
        if (group != MPI_GROUP_EMPTY) MPI_Group_free(&group);
        break;
    case 5:
    case 6: return cartesian(seed, parent, members);
    default: return graph(seed, parent, me, members);
    }
    return new;
}

/* Says what a communicator is, and finds out who is whose neighbour. */
static void describe(MPI_Comm comm, MPI_Comm parent) {
    int me, members, kind, flag, relation, count, list[MOST], other[MOST], ranks[MOST];
    MPI_Group group, all;
    void *value = NULL;

    MPI_Comm_rank(comm, &me);
    MPI_Comm_size(comm, &members);
    MPI_Comm_compare(comm, parent, &relation);
    MPI_Topo_test(comm, &kind);
    MPI_Topo_test(parent, &flag);
    if (kind != MPI_UNDEFINED || flag != MPI_UNDEFINED) relation = MPI_UNEQUAL;
    MPI_Comm_get_attr(comm, key, &value, &flag);
    say("rank %d of %d, %s, topology %d, attribute %d", me, members,
        relation == MPI_CONGRUENT ? "congruent" : relation == MPI_SIMILAR ? "similar" : "other",
        kind == MPI_UNDEFINED ? 0 : kind == MPI_CART ? 1 : kind == MPI_GRAPH ? 2 : 3,
        flag ? (int)(intptr_t)value : -1);
    MPI_Comm_group(comm, &group);
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    for (int i = 0; i < members; i++) list[i] = i;
    MPI_Group_translate_ranks(group, members, list, all, ranks);
    say_ints("members", ranks, members);
    MPI_Group_free(&group);
    MPI_Group_free(&all);
    near.ins = -1;
    if (kind == MPI_CART) {
        MPI_Cartdim_get(comm, &count);
        MPI_Cart_get(comm, count, list, other, ranks);
        say_ints("grid", list, count);
        say_ints("periods", other, count);
        say_ints("place", ranks, count);
        near.ins = near.outs = 2 * count;
        for (int i = 0; i < count; i++) {
            int *in = near.sources + 2 * i, *out = near.destinations + 2 * i;
            MPI_Cart_shift(comm, i, 1, &in[0], &in[1]);
            out[0] = in[0], out[1] = in[1];
            MPI_Cart_shift(comm, i, 3 - 2 * members, &relation, &flag);
            say("shift in %d: %d %d, %d %d", i, in[0], in[1], relation, flag);
        }
    } else if (kind == MPI_GRAPH) {
        MPI_Graph_neighbors_count(comm, me, &near.ins);
        MPI_Graph_neighbors(comm, me, MOST, near.sources);
        near.outs = near.ins;
        memcpy(near.destinations, near.sources, sizeof near.sources);
        say_ints("neighbours", near.sources, near.ins);
    } else if (kind == MPI_DIST_GRAPH) {
        MPI_Dist_graph_neighbors_count(comm, &near.ins, &near.outs, &flag);
        MPI_Dist_graph_neighbors(comm, near.ins, near.sources, flag ? list : MPI_UNWEIGHTED,
                                 near.outs, near.destinations, flag ? other : MPI_UNWEIGHTED);
        say_ints("from", near.sources, near.ins);
        say_ints("to", near.destinations, near.outs);
        if (flag) say_ints("weights from", list, near.ins);
        if (flag) say_ints("weights to", other, near.outs);
    }
}

/* Groups made of one another. */
static void groups(uint64_t seed) {
    MPI_Group all[9];
    int count, one, ranks[MOST], places[MOST], relation, ranges[2][3];

    MPI_Comm_group(MPI_COMM_WORLD, &all[0]);
    all[1] = MPI_GROUP_EMPTY;
    for (int i = 2; i < 9; i++) {
        MPI_Group a = all[pick(seed, i, i)], b = all[pick(seed, 20 + i, i)];
        MPI_Group_size(a, &count);
        int middle = count > 0 ? 1 + pick(seed, 30 + i, count) : 0;
        for (int k = 0; k < 2; k++) {
            int start = k ? middle : 0, width = k ? count - middle : middle;
            int first = start + (width > 0 ? pick(seed, 40 + i, width) : 0);
            int last = start + (width > 0 ? pick(seed, 50 + i, width) : 0);
            int step = 1 + pick(seed, 60 + i, 3);
            ranges[k][0] = first, ranges[k][1] = last, ranges[k][2] = first > last ? -step : step;
        }
        int used = (count > 0) + (count > middle);
        switch (pick(seed, 70 + i, 6)) {
        case 0: MPI_Group_union(a, b, &all[i]); break;
        case 1: MPI_Group_intersection(a, b, &all[i]); break;
        case 2: MPI_Group_difference(a, b, &all[i]); break;
        case 3: all[i] = chosen(mix(seed, i), a, 0, 2); break;
        case 4: MPI_Group_range_incl(a, used, ranges, &all[i]); break;
        default: MPI_Group_range_excl(a, used, ranges, &all[i]);
        }
        MPI_Group_size(all[i], &count);
        MPI_Group_rank(all[i], &one);
        MPI_Group_compare(all[i], b, &relation);
        for (int k = 0; k < count; k++) ranks[k] = k;
        ranks[count] = MPI_PROC_NULL;
        MPI_Group_translate_ranks(all[i], count, ranks, all[0], places);
        say_ints("group", places, count);
        MPI_Group_translate_ranks(all[i], count + 1, ranks, b, places);
        for (int k = 0; k <= count; k++)
            if (places[k] < 0) places[k] = places[k] == MPI_UNDEFINED ? -1 : -2;
        say_ints("in another", places, count + 1);
        say("rank %d, %s", one == MPI_UNDEFINED ? -1 : one,
            relation == MPI_IDENT     ? "identical"
            : relation == MPI_SIMILAR ? "similar"
                                      : "unequal");
    }
    for (int i = 0; i < 9; i++)
        if (all[i] != MPI_GROUP_EMPTY) MPI_Group_free(&all[i]);
}

static int copy_attribute(MPI_Comm old, int which, void *extra, void *in, void *out, int *flag) {
    (void)old, (void)which, (void)extra;
    *(void **)out = (char *)in + 100;
    *flag = (intptr_t)in % 4 != 0;
    return MPI_SUCCESS;
}

static int delete_attribute(MPI_Comm comm, int which, void *value, void *extra) {
    (void)comm, (void)which, (void)extra;
    deleted += (int)(intptr_t)value;
    return MPI_SUCCESS;
}

int main(int argc, char **argv) {
    uint64_t seed = mix(argc > 1 ? strtoull(argv[1], 0, 10) : 1, 1);
    int rounds = argc > 2 ? atoi(argv[2]) : 4;

    MPI_Init(&argc, &argv);
    MPI_Comm_dup(MPI_COMM_WORLD, &plain);
    MPI_Comm_rank(plain, &rank);
    MPI_Comm_size(plain, &size);
    MPI_Comm_create_keyval(copy_attribute, delete_attribute, &key, NULL);
    for (round_number = 0; round_number < rounds; round_number++, seed = mix(seed, 2)) {
        MPI_Comm comm = MPI_COMM_WORLD;
        int depth = 1 + pick(seed, 1, 3);
        near.ins = -1;
        for (int i = 0; i < depth && comm != MPI_COMM_NULL; i++) {
            MPI_Comm parent = comm;
            comm = derive(mix(seed, 10 + i), parent);
            if (comm == MPI_COMM_NULL) say("left out");
            if (comm != MPI_COMM_NULL) describe(comm, parent);
            if (parent != MPI_COMM_WORLD) MPI_Comm_free(&parent);
        }
        if (comm != MPI_COMM_NULL) batch(mix(seed, 20), &comm, 1);
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
        if (pick(seed, 2, 4) == 0) groups(mix(seed, 30));
        say("deleted attributes %d", deleted);
        tell();
    }
    MPI_Comm_delete_attr(MPI_COMM_WORLD, key);
    MPI_Comm_free_keyval(&key);
    MPI_Comm_free(&plain);
    MPI_Finalize();
    return 0;
}
