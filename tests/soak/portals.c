/* A random user of Portals: what it does is a function of its argument, SEED, and of the number of
 * ranks. MPI only tells when a round begins and ends.
 *
 * Every rank has a window that each other may put to in a part of its own, one that all may get, a
 * number that all may add to, and a list of entries that take what they like. What is put is got
 * back, and compared; what the list makes of what it is sent is for the judge. What is wrong ends the
 * run with status 77, an operation that Portals says has failed with 76. */
#include <mpi.h>
#include <portals3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WRONG = 77, FAILED = 76, RANKS_MAX = 16, PART = 24 << 10, OPERATIONS_MAX = 40 };
enum { WINDOW = 4, SHOWN, NUMBER, LIST };

static int rank, size;
static ptl_handle_ni_t interface;
static ptl_handle_eq_t queue, list_queue;
static ptl_process_id_t ids[RANKS_MAX];
static unsigned char window[RANKS_MAX * PART], shown[PART], mirror[RANKS_MAX][PART];
static unsigned char out[OPERATIONS_MAX * PART], in[OPERATIONS_MAX * PART], any[PART];
static int64_t number, found;
static int answers, ends;
/* Puts to windows since nothing was under way. */
static struct put {
    unsigned to, place, length;
} window_puts[OPERATIONS_MAX];
static unsigned put_count;

static uint64_t next(uint64_t *state) {
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static unsigned below(uint64_t *state, unsigned bound) { return (unsigned)(next(state) % bound); }

static void stop(int status, const char *what, const char *why) {
    fprintf(stderr, "random: rank %d: %s: %s\n", rank, what, why);
    MPI_Abort(MPI_COMM_WORLD, status);
}

static void check(int code, const char *what) {
    if (code != PTL_OK) stop(WRONG, what, PtlErrorStr(code));
}

/* Lengths around what fits into a header, a packet and a page. */
static unsigned length_of(uint64_t *state) {
    static const unsigned edges[] = {0, 12, 64, 76, 128, 4095, 4096, 16000};

    return below(state, 3) ? edges[below(state, 8)] + below(state, 3) : below(state, PART);
}

static unsigned char shown_by(int who, unsigned at) {
    return (unsigned char)(who * 37u + at * 11u + at / 251u);
}

static ptl_md_t descriptor(void *start, ptl_size_t length, unsigned options, ptl_handle_eq_t eq) {
    ptl_md_t md = {.start = start,
                   .length = length,
                   .threshold = PTL_MD_THRESH_INF,
                   .options = options | PTL_MD_EVENT_START_DISABLE,
                   .eq_handle = eq};
    return md;
}

/* An entry of a portal that takes anything from anybody. */
static void open_portal(ptl_pt_index_t portal, ptl_md_t md) {
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_handle_me_t entry;
    ptl_handle_md_t handle;

    check(PtlMEAttach(interface, portal, anybody, 0, ~(ptl_match_bits_t)0, PTL_RETAIN,
                      PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    check(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
}

/* More entries for the list, as they come. */
static void grow_list(uint64_t *state) {
    for (unsigned left = 1 + below(state, 4); left > 0; left--) {
        ptl_process_id_t from = {PTL_NID_ANY, PTL_PID_ANY};
        ptl_handle_me_t entry;
        ptl_handle_md_t handle;
        unsigned start = below(state, PART), options = PTL_MD_OP_PUT;
        ptl_md_t md = descriptor(any + start, below(state, PART - start), 0, list_queue);

        if (below(state, 3) == 0) from = ids[below(state, (unsigned)size)];
        if (below(state, 2)) options |= PTL_MD_TRUNCATE;
        if (below(state, 3) == 0) options |= PTL_MD_MANAGE_REMOTE;
        if (below(state, 4) == 0) options |= PTL_MD_ACK_DISABLE;
        if (below(state, 4) == 0) options |= PTL_MD_EVENT_END_DISABLE;
        if (below(state, 2)) options |= PTL_MD_EVENT_START_DISABLE;
        if (below(state, 4) == 0) {
            options |= PTL_MD_MAX_SIZE;
            md.max_size = below(state, 600);
        }
        md.options = options;
        if (below(state, 2)) md.threshold = 1 + (int)below(state, 4);
        if (below(state, 4) == 0) md.eq_handle = PTL_EQ_NONE;
        check(PtlMEAttach(interface, LIST, from, below(state, 8), below(state, 8),
                          below(state, 2) ? PTL_UNLINK : PTL_RETAIN,
                          below(state, 2) ? PTL_INS_BEFORE : PTL_INS_AFTER, &entry),
              "PtlMEAttach");
        check(PtlMDAttach(entry, md, below(state, 2) ? PTL_UNLINK : PTL_RETAIN, &handle),
              "PtlMDAttach");
    }
}

/* Takes what the list's queue has, lost or not. */
static void drain_list(void) {
    ptl_event_t event;

    for (int code = PTL_OK; code == PTL_OK || code == PTL_EQ_DROPPED;)
        code = PtlEQGet(list_queue, &event);
}

/* Takes the events of all that is under way: so many answers, so many ends of sending. */
static void await(void) {
    while (answers > 0 || ends > 0) {
        ptl_event_t event;

        check(PtlEQWait(queue, &event), "PtlEQWait");
        if (event.ni_fail_type != PTL_NI_OK) stop(FAILED, "an event", "(PTL_NI_FAIL)");
        answers -= event.type == PTL_EVENT_ACK || event.type == PTL_EVENT_REPLY_END;
        ends -= event.type == PTL_EVENT_SEND_END;
    }
    put_count = 0;
}

/* Two puts to the same bytes are never under way at once: a short one comes with its header, and is there
 * before payload of the one ahead of it. */
static void await_overlapping(struct put put) {
    for (unsigned i = 0; i < put_count; i++) {
        const struct put *other = &window_puts[i];

        if (put.to == other->to && put.place < other->place + other->length &&
            other->place < put.place + put.length)
            await();
    }
    window_puts[put_count++] = put;
}

static int64_t add(ptl_process_id_t to, int64_t amount) {
    static int64_t operand;
    static ptl_handle_md_t get, put;
    static int bound;

    if (!bound++) {
        check(PtlMDBind(interface, descriptor(&found, 8, 0, queue), PTL_RETAIN, &get), "bind");
        check(PtlMDBind(interface, descriptor(&operand, 8, 0, queue), PTL_RETAIN, &put), "bind");
    }
    operand = amount;
    check(PtlGetAdd(get, put, to, NUMBER, 0, 0, 0, 0), "PtlGetAdd");
    answers++;
    ends++;
    await();
    return amount;
}

/* Puts, gets and additions, then gets of all that was put. */
static int64_t operate(uint64_t *state, ptl_handle_md_t source, ptl_handle_md_t sink) {
    unsigned operations = below(state, OPERATIONS_MAX), from[OPERATIONS_MAX], got[OPERATIONS_MAX];
    int64_t added = 0;

    for (unsigned i = 0; i < operations; i++) {
        unsigned to = below(state, (unsigned)size), length = length_of(state), at = i * PART;
        unsigned place = below(state, PART - length + 1);

        from[i] = RANKS_MAX;
        for (unsigned b = 0; b < length; b++) out[at + b] = (unsigned char)next(state);
        switch (below(state, 5)) {
        case 0:
            added += add(ids[0], 1 + below(state, 1000));
            break;
        case 1:
            from[i] = to;
            got[i] = length;
            check(PtlGetRegion(sink, at, length, ids[to], SHOWN, 0, 0, 0), "PtlGetRegion");
            answers++;
            break;
        case 2:
            check(PtlPutRegion(source, at, length, PTL_NOACK_REQ, ids[to], LIST, 0,
                               below(state, 8), below(state, 300), i),
                  "PtlPutRegion");
            ends++;
            break;
        default:
            await_overlapping((struct put){to, place, length});
            memcpy(mirror[to] + place, out + at, length);
            check(PtlPutRegion(source, at, length, PTL_ACK_REQ, ids[to], WINDOW, 0, 0,
                               (ptl_size_t)rank * PART + place, i),
                  "PtlPutRegion");
            answers++;
            ends++;
        }
        if (below(state, 4) == 0) await();
    }
    await();
    for (unsigned i = 0; i < operations; i++)
        for (unsigned b = 0; from[i] < RANKS_MAX && b < got[i]; b++)
            if (in[i * PART + b] != shown_by((int)from[i], b)) stop(WRONG, "a get", "wrong byte");
    for (int to = 0; to < size; to++) {
        check(PtlGetRegion(sink, 0, PART, ids[to], WINDOW, 0, 0, (ptl_size_t)rank * PART), "get");
        answers++;
        await();
        if (memcmp(in, mirror[to], PART)) stop(WRONG, "what was put", "is not what is there");
    }
    return added;
}

static void open_all(uint64_t *state) {
    int interfaces;
    const unsigned both = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;

    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlEQAlloc(interface, 512, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    check(PtlEQAlloc(interface, 1 + below(state, 40), PTL_EQ_HANDLER_NONE, &list_queue),
          "PtlEQAlloc");
    for (int r = 0; r < size; r++) check(PtlGetRankId(interface, (unsigned)r, &ids[r]), "id");
    for (unsigned b = 0; b < PART; b++) shown[b] = shown_by(rank, b);
    open_portal(WINDOW, descriptor(window, sizeof window, both, PTL_EQ_NONE));
    open_portal(SHOWN, descriptor(shown, sizeof shown, both, PTL_EQ_NONE));
    open_portal(NUMBER, descriptor(&number, sizeof number, both, PTL_EQ_NONE));
}

int main(int argc, char **argv) {
    uint64_t state = argc > 1 ? strtoull(argv[1], 0, 10) : 1;
    int rounds = 1 + (int)below(&state, 3);
    long added = 0, all = 0;
    ptl_handle_md_t source, sink;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    state += (uint64_t)rank << 32;
    open_all(&state);
    check(PtlMDBind(interface, descriptor(out, sizeof out, 0, queue), PTL_RETAIN, &source), "bind");
    check(PtlMDBind(interface, descriptor(in, sizeof in, 0, queue), PTL_RETAIN, &sink), "bind");
    for (int round = 0; round < rounds; round++) {
        grow_list(&state);
        MPI_Barrier(MPI_COMM_WORLD);
        added += operate(&state, source, sink);
        drain_list();
    }
    MPI_Allreduce(&added, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0 && all != number) stop(WRONG, "sum of additions", "is another");
    if (rank == 0) printf("%d rounds, all right\n", rounds);
    MPI_Barrier(MPI_COMM_WORLD);
    PtlNIFini(interface);
    MPI_Finalize();
    return 0;
}
